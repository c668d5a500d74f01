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
