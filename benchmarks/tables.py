"""Write the tables of the README and the docs: python -m benchmarks.tables.

A table stands between the lines <!-- table: NAME --> and <!-- end -->. Everything is
computed from the result files; a table without results stays as it is.
"""

import json
import re
from pathlib import Path

import numpy as np

from benchmarks._common import RESULTS
from benchmarks._data import SETS
from benchmarks._methods import is_ours
from benchmarks._statistics import average_ranks, best_of, compare, median_ratio


class Missing(Exception):
    """There are no results for a table."""


def read(name: str) -> dict:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise Missing(name)
    return json.loads(path.read_text())["results"]


def markdown(head, rows) -> str:
    line, *lines = (
        "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row)
        for row in (head, *rows)
    )
    return "\n".join([line, "|" + "---|" * len(head), *lines])


def plus_minus(entry) -> str:
    entry = spread(entry) if isinstance(entry, list) else entry
    return f"{entry['mean']:.2f} +- {entry['deviation']:.2f}"


def spread(errors) -> dict:
    return {"mean": np.mean(errors), "deviation": np.std(errors, ddof=1)}


SOFT = "soft assignment, squared hinge, dual"


def llsvm() -> str:
    results = read("papers-llsvm")
    printed = "error printed in the paper"
    methods = [m for m in next(iter(results.values())) if m != printed]
    rows = [
        [m, *(plus_minus(r[m]) if m in r else "" for r in results.values())]
        for m in methods
    ]
    figures = [f"{r[printed]:.2f}" for r in results.values()]
    rows.append(["printed in the 2011 paper", *figures])
    return markdown(["", *map(str.upper, results)], rows)


def speed() -> str:
    rows = []
    for name, entry in read("speed").items():
        fit = entry.get("fit_seconds", entry.get(f"{MODELS_START}, seconds"))
        if fit is not None:
            rows.append(
                [
                    name,
                    f"{entry['test_error']:.2f}",
                    f"{fit:.1f} s",
                    f"{entry['batch_microseconds_per_row']:.1f} us/row",
                    f"{entry['one_row_microseconds']:.0f} us",
                ]
            )
    return markdown(["", "error %", "fit", "predict, batch", "predict, one row"], rows)


MODELS_START = "blocks, shrinking, k-means start"
JOINT = ("LL-SVM", "SAPL", "U-LLSVM", "DU-LLSVM", "LCC+SVM", "SAPL_lcc")


def joint(methods=JOINT) -> str:
    rows = []
    for data, results in read("papers-joint").items():
        cells = [with_unseen(results[m]) if m in results else "" for m in methods]
        printed = (f"{m} {v:.2f}" for m, v in results["printed"].items())
        printed = ", ".join(p for p in printed if p.split()[0] in methods)
        rows.append([data.upper(), *cells, printed])
    return markdown(["", *methods, "printed"], rows)


def with_unseen(entry) -> str:
    """An error, and in brackets that on rows which are not among the training rows."""
    unseen = entry.get("mean_on_unseen_rows")
    return plus_minus(entry) + ("" if unseen is None else f" ({unseen:.2f})")


def ml3() -> str:
    rows = [
        [data.upper(), entry["n_models"], plus_minus(entry), f"{entry['printed']:.2f}"]
        for data, entry in read("papers-ml3").get("table 1", {}).items()
    ]
    return markdown(["", "models", "ML3", "printed"], rows)


def ml3_small() -> str:
    results = read("papers-ml3")
    if "table 2, all" not in results:
        raise Missing("table 2")
    ranks = results["table 2, all"]["average rank"]
    rows = []
    for data, entry in results["table 2"].items():
        cells = [
            f"{entry['mean'][m]:.2f} +- {entry['deviation'][m]:.2f}" for m in ranks
        ]
        rows.append([data.split("_")[0].upper(), *cells, f"{entry['printed']:.2f}"])
    rows.append(["average rank", *(f"{rank:.2f}" for rank in ranks.values()), ""])
    return markdown(["", *ranks, "ML3, printed"], rows)


KERNELS = {
    "rbf": "AtlasRBF",
    "linear": "AtlasLinear",
    "quadratic": "AtlasQuad",
    "quadratic-cross": "AtlasQuadCross",
}
CHARTED = ("usps", "usps, roots", "letter", "semeion", "mnist")


def atlas() -> str:
    rows = []
    results = read("papers-atlas")
    for data in CHARTED:
        found = results.get(data, {})
        for kernel in KERNELS:
            entry = found.get(kernel)
            if entry is None:
                continue
            if data == "semeion":
                rough = found.get(f"{kernel}, hard", {})
                kinds = entry, found.get(f"{kernel}, inductive"), rough
                rough_printed = rough.get("printed")
            else:
                names = "transductive", "inductive", "hard, transductive"
                kinds = map(entry.get, names)
                rough_printed = entry.get("hard, printed")
            soft, within, rough = (plus_minus(e) if e else "" for e in kinds)
            printed = f"{entry['printed']:.2f}"
            rough_printed = f"{rough_printed:.2f}" if rough_printed else ""
            rows.append(
                [data.upper(), kernel, soft, within, printed, rough, rough_printed]
            )
        if "RBF SVC" in found:
            peer = found["RBF SVC"]
            peer = plus_minus(peer) if "mean" in peer else f"{peer['test_error']:.2f}"
            rows.append([data.upper(), "RBF SVC, no charts", "", peer, "", "", ""])
    return markdown(
        [
            "",
            "kernel",
            "transductive",
            "inductive",
            "printed",
            "hard",
            "hard, printed",
        ],
        rows,
    )


def atlas_noise() -> str:
    results = read("papers-atlas").get("usps, noise", {})
    if not results:
        raise Missing("usps, noise")
    methods = next(iter(results.values()))
    return markdown(
        ["noise", *methods],
        [
            [f"{level} %", *(plus_minus(entry[m]) for m in methods)]
            for level, entry in results.items()
        ],
    )


def few_labels() -> str:
    results = read("few_labels")
    methods = next(iter(results.values()))
    return markdown(
        ["", *(f"{n} labels" for n in results)],
        [
            [
                m,
                *(plus_minus(r[m]) if m in r else "" for r in results.values()),
            ]
            for m in methods
        ],
    )


# Errors that the 2018 paper prints for the methods of others, the 2013 paper for
# LL-SVM on 400 rows, and the 2014 paper with few labels.
OF_OTHERS = {
    "ijcnn1": {"LL-SVM": 5.49},
    "magic04": {"LL-SVM": 20.4},
    "phishing": {"LL-SVM": 7.34, "SAPL": 6.08},
    "connect4": {"LL-SVM": 12.7, "SAPL": 11.81},
}
LLSVM_ON_400_ROWS = 12.58
FEW_LABELS = {"100": 8.10, "1000": 3.68}


def papers() -> str:
    """One row for each figure that is printed and was measured."""
    rows = []
    for part in (llsvm_figures, joint_figures, ml3_figures, atlas_figures, few_figures):
        try:
            rows += part()
        except Missing:
            continue
    if not rows:
        raise Missing("papers")
    return markdown(
        ["data", "method", "printed", "ours", "", "command"],
        [
            [
                data.upper(),
                method,
                f"{printed:.2f}",
                plus_minus(entry),
                "met" if entry["mean"] <= printed else "missed",
                f"`python -m benchmarks {command} --data DIR`",
            ]
            for data, method, printed, entry, command in rows
        ],
    )


def llsvm_figures():
    for data, results in read("papers-llsvm").items():
        if SOFT in results:
            printed = results["error printed in the paper"]
            command = f"papers --only llsvm --sets {data}"
            yield data, "LL-SVM", printed, results[SOFT], command


def joint_figures():
    for data, results in read("papers-joint").items():
        command = f"papers --only joint --sets {data}"
        printed = {**OF_OTHERS.get(data, {}), **results["printed"]}
        for method in (m for m in JOINT if m in printed and m in results):
            yield data, method, printed[method], results[method], command


def ml3_figures():
    results = read("papers-ml3")
    command = "papers --only ml3 --sets"
    for data, entry in results.get("table 1", {}).items():
        yield data, "ML3", entry["printed"], entry, f"{command} {data}"
    for data, entry in results.get("table 2", {}).items():
        printed = {"ML3": entry["printed"]}
        if data == "banana":
            printed["LL-SVM"] = LLSVM_ON_400_ROWS
        for method, figure in printed.items():
            ours = spread(entry["test_errors"][method])
            rows = ", 400 rows" if data == "banana" else ""
            name = data.split("_")[0] + rows
            yield name, f"{method}, 10 models", figure, ours, f"{command} {data}"


def atlas_figures():
    results = read("papers-atlas")
    for data in (d for d in CHARTED if d != "usps, roots"):
        command = f"papers --only atlas --sets {data}"
        for kernel, method in KERNELS.items():
            entry = results.get(data, {}).get(kernel)
            if entry is not None:
                ours = entry.get("transductive", entry)
                yield data, method, entry["printed"], ours, command


def few_figures():
    for n_labels, results in read("few_labels").items():
        if "AtlasRBF" in results:
            data, printed = f"mnist, {n_labels} labels", FEW_LABELS[n_labels]
            ours = spread(results["AtlasRBF"])
            yield data, "AtlasRBF", printed, ours, "few_labels --only AtlasRBF"


def peers(*sets: str) -> str:
    """A table for each data set; in brackets the multiple of LLSVMClassifier's."""
    tables = []
    for data, results in read("peers").items():
        if sets and data not in sets:
            continue
        measured = {m: e for m, e in results.items() if "skipped" not in e}
        base = measured.get("LLSVMClassifier", {})
        rows = [
            [
                method,
                f"{entry['test_error']:.2f}",
                *(
                    f"{entry[key] * factor:.3g}" + multiple(entry[key], base.get(key))
                    for key, factor in PEER_COLUMNS.values()
                ),
            ]
            for method, entry in sorted(
                measured.items(), key=lambda item: not is_ours(item[0])
            )
        ]
        tables.append(markdown([data.upper(), "error %", *PEER_COLUMNS], rows))
    if not tables:
        raise Missing("peers")
    return "\n\n".join(tables)


def multiple(value, base) -> str:
    if not base:
        return ""
    ratio = value / base
    return f" ({ratio:.0f}x)" if ratio >= 10 else f" ({ratio:.2g}x)"


PEER_COLUMNS = {
    "fit, s": ("fit_seconds", 1),
    "batch, us/row": ("batch_microseconds_per_row", 1),
    "one row, us": ("one_row_microseconds", 1),
    "model, MB": ("model_bytes", 1e-6),
    "memory of a fit, MB": ("peak_memory_bytes", 1e-6),
}


def column(key: str) -> dict[str, dict[str, float]]:
    """Means of what was measured, by method and data set."""
    found: dict[str, dict[str, float]] = {}
    for data, results in read("untuned").items():
        for method, entry in results.items():
            if key in entry:
                found.setdefault(method, {})[data] = float(np.mean(entry[key]))
    return found


def untuned() -> str:
    """Errors with defaults, in brackets those on rows not among the training rows."""
    errors, unseen = column("test_errors"), column("unseen_errors")

    def cell(method, data):
        if data not in errors[method]:
            return ""
        more = unseen.get(method, {}).get(data)
        return f"{errors[method][data]:.2f}" + (f" ({more:.2f})" if more else "")

    there = [s for s in SETS if any(s in found for found in errors.values())]
    rows = [[s.split("_")[0].upper(), *(cell(m, s) for m in errors)] for s in there]
    return markdown(["", *errors], rows)


SVCS = ("SVC()", "SVC(C=10)")


def untuned_summary() -> str:
    """Ours beside the better of two SVCs on each set, and ranks of all."""
    errors = column("test_errors")
    svcs = [errors[m] for m in SVCS if m in errors]
    if not svcs:
        raise Missing("SVC")
    without = {m: e for m, e in errors.items() if m != "AtlasClassifier"}
    ranks, more = average_ranks(without), average_ranks(errors)
    best = best_of(*svcs)
    rows = []
    for method, found in errors.items():
        cells = ["", ""]
        if is_ours(method):
            beside = compare(found, best)
            cells = [
                f"{beside['mean_difference']:+.2f}",
                f"{beside['ahead']} of {beside['sets']}",
            ]
        rows.append([method, *cells, ranks.get(method, ""), more[method]])
    head = ["", "error - best SVC", "ahead of the best SVC", "average rank"]
    return markdown([*head, "average rank, sets with an atlas"], rows)


def untuned_pairs() -> str:
    """Each of ours against each peer: errors over data sets, and prediction time."""
    errors, times = column("test_errors"), column("batch_microseconds_per_row")
    rows = []
    for method in filter(is_ours, errors):
        for peer in (m for m in errors if not is_ours(m)):
            beside = compare(errors[method], errors[peer])
            rows.append(
                [
                    method,
                    peer,
                    f"{beside['mean_difference']:+.2f}",
                    f"{beside['ahead']} of {beside['sets']}",
                    f"{beside['p']:.3g}",
                    f"{median_ratio(times[peer], times[method]):.2g}",
                ]
            )
    head = ["", "peer", "difference of errors", "ahead", "Wilcoxon's p"]
    return markdown([*head, "prediction time of the peer / ours"], rows)


LARGE = ("letter", "w8a", "ijcnn1", "connect4", "mnist", "skin", "covtype")


def untuned_speed() -> str:
    """Prediction in microseconds a row on the large sets, in brackets the multiple."""
    times = column("batch_microseconds_per_row")
    ours, *peers = (times[m] for m in ("DULLSVMClassifier", *SVCS) if m in times)
    rows = [
        [
            data.upper(),
            f"{ours[data]:.1f}",
            *(f"{p[data]:.1f}{multiple(p[data], ours[data])}" for p in peers),
        ]
        for data in (s for s in LARGE if s in ours)
    ]
    return markdown(["us/row", "DULLSVMClassifier", *SVCS[: len(peers)]], rows)


def scaling() -> str:
    results = read("scaling").get("growth", {})
    if not results:
        raise Missing("growth")
    sizes = list(next(iter(results.values())))
    rows = []
    for method, found in results.items():
        exponents = (f"{found[s]['exponent']:.2f}" if s in found else "" for s in sizes)
        rows.append([method, *exponents])
    return markdown(["exponent of fit time in", *sizes], rows)


def alpha_path() -> str:
    rows = []
    for data, entry in read("alpha_path").items():
        path, grid = entry["LLSVMClassifierCV"], entry["GridSearchCV"]
        rows.append(
            [
                data.upper(),
                f"{path['fit_seconds']:.1f} s",
                f"{grid['fit_seconds']:.1f} s",
                f"{entry['ratio']:.1f}",
                f"{path['test_error']:.2f}",
                f"{grid['test_error']:.2f}",
            ]
        )
    head = ["", "path", "grid search", "ratio", "error %, path", "error %, grid"]
    return markdown(head, rows)


TABLES = {
    "papers": papers,
    "llsvm": llsvm,
    "joint, short": lambda: joint(JOINT[:4]),
    "joint": joint,
    "ml3": ml3,
    "ml3, small sets": ml3_small,
    "atlas": atlas,
    "atlas, noise": atlas_noise,
    "few labels": few_labels,
    "untuned": untuned,
    "untuned, summary": untuned_summary,
    "untuned, pairs": untuned_pairs,
    "untuned, speed": untuned_speed,
    "peers": peers,
    "peers, mnist": lambda: peers("mnist"),
    "alpha path": alpha_path,
    "speed": speed,
    "scaling": scaling,
}


ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACE = re.compile(r"(<!-- table: (.+?) -->\n)(.*?)(<!-- end -->)", re.S)


def filled(text: str) -> str:
    """A page with its tables as the results have them."""

    def table(place) -> str:
        head, name, old, end = place.groups()
        try:
            return f"{head}\n{TABLES[name]()}\n\n{end}"
        except Missing:
            return head + old + end

    return PLACE.sub(table, text)


def main() -> None:
    for page in PAGES:
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
