"""Write the tables of the README and the docs: python -m benchmarks.tables.

A table stands between the lines <!-- table: NAME --> and <!-- end -->. Everything is
computed from the result files; a table without results stays as it is.
"""

import re
from pathlib import Path

import numpy as np

from benchmarks import _defaults_tables as of_defaults
from benchmarks import _domain_tables as of_domains
from benchmarks import _manifold_tables as of_manifolds
from benchmarks import _mixed_tables as of_mixed
from benchmarks import _paper_tables as of_papers
from benchmarks import _probability_tables as of_probabilities
from benchmarks import _rival_tables as of_rivals
from benchmarks import _scale_tables as of_scale
from benchmarks._markdown import (
    Missing,
    best_marked,
    column,
    markdown,
    measured,
    multiple,
    read,
)
from benchmarks._methods import is_ours
from benchmarks._mixed_tables import lead
from benchmarks._statistics import (
    average_ranks,
    median_ratio,
    with_most_sets,
)


def peers(*sets: str) -> str:
    """A table for each data set; in brackets the multiple of LLSVMClassifier's."""
    tables = []
    for data, results in read("peers").items():
        if sets and data not in sets:
            continue
        found = measured(results)
        base = found.get("LLSVMClassifier", {})
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
                found.items(), key=lambda item: not is_ours(item[0])
            )
        ]
        tables.append(markdown([data.upper(), "error %", *PEER_COLUMNS], rows))
    if not tables:
        raise Missing("peers")
    return "\n\n".join(tables)


PEER_COLUMNS = {
    "fit, s": ("fit_seconds", 1),
    "batch, us/row": ("batch_microseconds_per_row", 1),
    "one row, us": ("one_row_microseconds", 1),
    "model, MB": ("model_bytes", 1e-6),
    "memory of a fit, MB": ("peak_memory_bytes", 1e-6),
}


def regression() -> str:
    """Root mean square error of every set and method, and coverage of intervals."""
    errors = column("rmse", "regression")
    covered = column("coverage", "regression")[OUR_REGRESSOR]

    def cell(found, data, digits):
        return format(found[data], digits) if data in found else ""

    sets = {data: None for found in errors.values() for data in found}
    rows = [
        [
            data,
            *best_marked([cell(found, data, ".3g") for found in errors.values()]),
            cell(covered, data, ".3f"),
        ]
        for data in sets
    ]
    return markdown(["RMSE", *errors, "90 % intervals: covered"], rows)


def regression_summary() -> str:
    """Average ranks, how much smaller errors are, and the price of a row."""
    errors = column("rmse", "regression")
    ranks = average_ranks(with_most_sets(errors))
    # Errors of different units: what counts is by how much one is larger than another.
    logarithms = {
        method: {data: float(np.log(error)) for data, error in found.items()}
        for method, found in errors.items()
    }
    prices = {
        "fit, s (median)": column("fit_seconds", "regression"),
        "us/row (median)": column("batch_microseconds_per_row", "regression"),
        "model, kB (median)": in_thousands(column("model_bytes", "regression")),
    }
    rows = [
        [
            method,
            ranks.get(method, ""),
            f"{median_ratio(errors[method], errors[OUR_REGRESSOR]):.3g}",
            lead(logarithms, method, OUR_REGRESSOR),
            *(middle(found, method) for found in prices.values()),
        ]
        for method in errors
    ]
    head = ["", "average rank, RMSE", "RMSE / ours (median)", "ours ahead (p)"]
    return markdown([*head, *prices], rows)


def in_thousands(found):
    return {m: {d: value / 1e3 for d, value in of.items()} for m, of in found.items()}


def middle(found, method: str) -> str:
    """Median over sets."""
    values = list(found.get(method, {}).values())
    return f"{np.median(values):.3g}" if values else ""


OUR_REGRESSOR = "LocallyLinearRegressor"


def loess() -> str:
    """Error of a curve and time of a fit, by the number of rows."""
    results = read("loess")
    sizes = list(results)
    methods = list(results[sizes[0]])
    lines = []
    for method in methods:
        line = [method]
        for size in sizes:
            entry = results[size].get(method, {})
            known = "curve_rmse" in entry
            line.append(
                f"{entry['curve_rmse']:.3f}, {entry['fit_seconds']:.2g} s"
                if known
                else "–"
            )
        lines.append(line)
    return markdown(["", *(f"{int(size):,} rows" for size in sizes)], lines)


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


def weak_penalty() -> str:
    rows = []
    for data, numbers in read("weak_penalty").items():
        for anchors, factors in numbers.items():
            for factor, entry in factors.items():
                dual, newton = entry["dual"], entry["newton"]
                pairs = (
                    [f"{solver[key]:{form}}" for solver in (dual, newton)]
                    for key, form in (
                        ("gap", ".2g"),
                        ("objective", ".4f"),
                        ("test_error", ".2f"),
                        ("cpu_seconds", ".1f"),
                    )
                )
                name = f"{data.upper()}, {anchors.split()[0]}"
                rows.append([name, factor, *(" / ".join(pair) for pair in pairs)])
    quantities = "gap", "objective", "error %", "seconds"
    return markdown(["", "", *(f"{q}, dual / Newton" for q in quantities)], rows)


def objectives() -> str:
    """Ratio of objectives and test error for each number of anchors."""
    found = read("objectives")
    numbers = sorted({m for entry in found.values() for m in entry}, key=int)
    rows = []
    for data, entry in found.items():
        cells = [
            f"{one['ratio']:.2f}, {one['test_error']:.2f}" if "ratio" in one else ""
            for one in (entry.get(m, {}) for m in numbers)
        ]
        rows.append([data.split("_")[0].upper(), *cells])
    return markdown(["ratio, error %", *(f"m = {m}" for m in numbers)], rows)


def groups() -> str:
    rows = []
    for m, found in read("groups").items():
        for name, entry in found.items():
            rows.append(
                [
                    f"{m}, {name}",
                    f"{entry['test_error']:.2f}",
                    f"{entry['predict_microseconds_per_row']:.1f}",
                    f"{entry['epoch_microseconds_per_row']:.1f}",
                ]
            )
    head = ["anchors", "error %", "prediction, us/row", "pass of training, us/row"]
    return markdown(head, rows)


def threads() -> str:
    rows = []
    for name, entry in read("threads").items():
        foreseen = [f"{value:.1f}" for value in entry["foreseen"].values()]
        seconds = [f"{value:.2f}" for value in entry["seconds"].values()]
        share = f"{100 * entry['serial_part']:.0f} %"
        rows.append([name, *seconds, f"{entry['speed_up']:.2f}", share, *foreseen])
    head = ["", "1 thread, s", "2 threads, s", "speed-up", "serial part"]
    return markdown([*head, "4 threads would give", "16"], rows)


def covtype() -> str:
    rows = []
    for name, entry in read("covtype").items():
        if "skipped" in entry:
            continue
        bare = entry.get("bare_microseconds_per_row")
        rows.append(
            [
                name,
                f"{entry['test_error']:.2f}",
                f"{entry['fit_seconds']:.0f}",
                f"{entry['batch_microseconds_per_row']:.1f}",
                "" if bare is None else f"{bare:.1f}",
                f"{entry['peak_memory_bytes'] / 1e6:.0f}",
            ]
        )
    head = ["", "error %", "fit, s", "prediction, us/row", "its bare products"]
    return markdown([*head, "memory of a fit, MB"], rows)


TABLES = {
    "papers": of_papers.papers,
    "llsvm": of_papers.llsvm,
    "joint, short": lambda: of_papers.joint(of_papers.JOINT[:4]),
    "joint": of_papers.joint,
    "ml3": of_papers.ml3,
    "ml3, small sets": of_papers.ml3_small,
    "atlas": of_papers.atlas,
    "atlas, noise": of_papers.atlas_noise,
    "few labels": of_papers.few_labels,
    "papers, own": of_rivals.own,
    "papers, retries": of_rivals.retries,
    "papers, 2015": of_rivals.of_2015,
    "papers, 2015, times": of_rivals.times_of_2015,
    "papers, 2018": of_rivals.of_2018,
    "rivals": of_rivals.checked,
    "embeddings": of_manifolds.embeddings,
    "atlas, parts": of_manifolds.time_parts,
    "atlas, classes": of_manifolds.chart_classes,
    "shares of labels": of_manifolds.shares,
    "ml3, others": of_manifolds.ml3_others,
    "ml3, small sets, others": of_manifolds.ml3_small_others,
    "ml3, p": of_manifolds.exponents,
    "ml3, iterations": of_manifolds.iterations,
    "additive": of_manifolds.additive,
    "speed": of_papers.speed,
    "untuned": of_defaults.untuned,
    "untuned, summary": of_defaults.summary,
    "untuned, slow peers": of_defaults.with_slow_peers,
    "untuned, pairs": of_defaults.pairs,
    "untuned, speed": of_defaults.speed,
    "untuned, grown": of_defaults.grown,
    "mixed": of_mixed.every_set,
    "mixed, summary": of_mixed.summary,
    "mixed, slow peers": of_mixed.slow_peers,
    "mixed, aims": of_mixed.aims,
    "domains": of_domains.domains,
    "domains, EBM": of_domains.domains_and_ebm,
    "beside boosters": of_domains.boosters,
    "beside SVC": of_domains.machines,
    "serving": of_domains.serving,
    "encoding": of_domains.encoding,
    "loess": loess,
    "regression": regression,
    "regression, summary": regression_summary,
    "peers": peers,
    "peers, mnist": lambda: peers("mnist"),
    "alpha path": alpha_path,
    "weak penalty": weak_penalty,
    "objectives": objectives,
    "groups": groups,
    "threads": threads,
    "covtype": covtype,
    "probabilities": of_probabilities.calibration,
    "probabilities, peers": of_probabilities.beside_peers,
    "probabilities, smoothing": of_probabilities.smoothing,
    "prediction sets": of_probabilities.coverage,
    "distill": of_probabilities.distill,
    "scaling": of_scale.scaling,
    "compilation": of_scale.compilation,
    "stream": of_scale.stream,
    "stream, a billion rows": of_scale.billion,
    "cluster, errors": of_scale.cluster_errors,
    "cluster, pieces": of_scale.cluster_pieces,
    "cluster, costs": of_scale.cluster_costs,
    "files, time": of_scale.file_times,
    "files, memory": of_scale.file_memory,
}


ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "paper" / "paper.md",
]
PLACE = re.compile(r"(<!-- table: (.+?) -->\n)(.*?)(<!-- end -->)", re.S)


def filled(text: str) -> str:
    """A page with its tables as the results have them."""

    def table(place) -> str:
        head, name, old, end = place.groups()
        if name not in TABLES:
            raise SystemExit(f"no table {name!r}: choose from {sorted(TABLES)}")
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
