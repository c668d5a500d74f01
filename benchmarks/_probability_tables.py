"""Tables of probabilities, prediction sets and distillation."""

import numpy as np

from benchmarks._markdown import markdown, read


def calibration() -> str:
    """Costs, errors and log losses with probabilities, beside scikit-learn's way."""
    rows = []
    for data, methods in read("probabilities-calibration").items():
        for method, entry in methods.items():
            mean = {key: float(np.mean(values)) for key, values in entry.items()}
            times = [
                mean[f"{key}_seconds"] / mean["plain_seconds"]
                for key in ("own", "wrapped")
            ]
            rows.append(
                [
                    data.upper(),
                    method,
                    f"{times[0]:.2f} / {times[1]:.2f}",
                    f"{mean['plain_error']:.2f} / {mean['own_error']:.2f}",
                    f"{mean['own_log_loss']:.3f} / {mean['wrapped_log_loss']:.3f}",
                ]
            )
    head = ["", "", "time of a fit, own / wrapper", "error %, without / with"]
    return markdown([*head, "log loss, own / wrapper"], rows)


def coverage() -> str:
    """Shares of rows whose sets held their class, means over repetitions."""
    rows = []
    for data, entry in read("probabilities-coverage").items():
        for share in (key.split()[1] for key in entry if key.startswith("covered ")):
            values = [
                np.mean(entry[f"{key} {share}"])
                for key in ("covered", "size", "covered_by_class", "size_by_class")
            ]
            deviation = np.std(entry[f"covered {share}"], ddof=1)
            rows.append(
                [
                    data.upper(),
                    share,
                    f"{values[0]:.3f} +- {deviation:.3f}",
                    f"{values[1]:.2f}",
                    f"{values[2]:.3f}",
                    f"{values[3]:.2f}",
                ]
            )
    head = ["", "promised", "kept", "classes in a set"]
    return markdown([*head, "by class: kept", "classes in a set"], rows)


def beside_peers() -> str:
    """Log loss, Brier score and calibration error of each method."""
    found = read("probabilities-peers")
    methods = list(dict.fromkeys(m for entry in found.values() for m in entry))

    def cell(entry):
        if "log_loss" not in entry:
            return ""
        keys = ("log_loss", "brier", "calibration_error")
        return " / ".join(f"{np.mean(entry[key]):.3f}" for key in keys)

    rows = [
        [method, *(cell(entry.get(method, {})) for entry in found.values())]
        for method in methods
    ]
    head = ["log loss / Brier / calibration error", *(data.upper() for data in found)]
    return markdown(head, rows)


def smoothing() -> str:
    """Held-out error and log loss with labels smoothed, and calibrated instead."""
    rows = []
    for data, entry in read("probabilities-smoothing").items():
        ways = [key.removesuffix(" error") for key in entry if key.endswith(" error")]
        cells = [
            f"{np.mean(entry[f'{way} error']):.2f}, "
            f"{np.mean(entry[f'{way} log loss']):.3f}"
            for way in ways
        ]
        rows.append([data.upper(), *cells])
    head = ["none" if way == "1e-06" else way for way in ways]
    return markdown(["error %, log loss", *head], rows)


def distill() -> str:
    """Teachers, pupils, and the pupil's kind without a teacher."""
    rows = []
    for data, teachers in read("distill").items():
        for teacher, entry in teachers.items():
            errors = (entry[f"{k}_error"] for k in ("teacher", "pupil", "alone"))
            faster = entry["teacher_microseconds"] / entry["pupil_microseconds"]
            rows.append(
                [
                    data.upper(),
                    teacher,
                    *(f"{value:.2f}" for value in errors),
                    f"{entry['agreement']:.1f}",
                    f"{faster:.2g}x",
                ]
            )
    head = ["", "teacher", "its error %", "pupil's", "labels alone", "agreement %"]
    return markdown([*head, "faster by"], rows)
