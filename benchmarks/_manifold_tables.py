"""Tables of the Atlas paper beyond its own machines, of ML3's rivals, of histograms."""

from benchmarks._markdown import (
    Missing,
    best_marked,
    columns_marked,
    markdown,
    measured,
    plus_minus,
    read,
)
from benchmarks._rival_tables import times, with_deviation
from benchmarks.papers import additive as of_additive
from benchmarks.papers import labels as of_labels
from benchmarks.papers import latent, manifolds


def part(name: str, key: str) -> dict:
    """One part of the results of a benchmark."""
    results = read(name)
    if key not in results:
        raise Missing(key)
    return results[key]


def embeddings() -> str:
    """Errors behind embeddings, and in brackets what is printed."""
    results = part("papers-manifolds", "embeddings")
    rows = []
    for kind in ("as they are", *manifolds.EMBEDDINGS, "Atlas"):
        for machine in manifolds.MACHINES:
            cells = []
            for data, forms in results.items():
                entry = forms.get(kind, {}).get(machine)
                printed = manifolds.PRINTED[data][kind].get(machine)
                beside = "" if printed is None else f" ({printed:.2f})"
                cells.append(with_deviation(entry) + beside if entry else "")
            if any(cells):
                rows.append([f"{kind}, {machine}", *cells])
    return markdown(["error %", *map(str.upper, results)], columns_marked(rows))


def time_parts() -> str:
    results = part("papers-manifolds", "parts")
    return markdown(
        ["times LIBSVM's training", "ours", "printed"],
        [
            [name, f"{value:.3f}", f"{manifolds.PRINTED_PARTS[name]:.3f}"]
            for name, value in results.items()
        ],
    )


def chart_classes() -> str:
    results = part("papers-manifolds", "classes")
    head, rows = [""], []
    for data in results:
        head += [data.upper(), "printed"]
    for quantity in next(iter(results.values())):
        row = [quantity]
        for data, entry in results.items():
            printed = manifolds.PRINTED_CLASSES[data].get(quantity, "")
            row += [f"{entry[quantity]:g}", str(printed)]
        rows.append(row)
    return markdown(head, rows)


def shares() -> str:
    """Table 1 of the Atlas paper: errors by the share of labels."""
    results = read("papers-labels")
    rows = []
    for method, printed in of_labels.PRINTED.items():
        cells = []
        for share, figure in zip(of_labels.SHARES, printed, strict=True):
            entry = results.get(method, {}).get(f"1/{share}")
            cells.append(f"{with_deviation(entry)} ({figure:.2f})" if entry else "")
        rows.append([method, *cells])
    head = ["error %", *(f"1/{share}" for share in of_labels.SHARES)]
    return markdown(head, columns_marked(rows))


def ml3_others() -> str:
    """Table 1 of the ML3 paper: errors, and times as multiples of a linear SVM's."""
    rows = []
    for data, found in part("papers-latent", "table 1").items():
        seconds, known = latent.PRINTED_SECONDS[data], measured(found)
        entries = {m: known[m] for m in latent.PRINTED[data] if m in known}
        if (base := entries.get("Linear SVM")) is None:
            continue
        errors = best_marked([with_deviation(entry) for entry in entries.values()])
        for (method, entry), shown in zip(entries.items(), errors, strict=True):
            rows.append(
                [
                    data.upper(),
                    method,
                    f"{shown} ({latent.PRINTED[data][method]:.2f})",
                    *(
                        f"{times(ours)} ({times(theirs)})"
                        for ours, theirs in zip(
                            over(costs(entry), costs(base)),
                            over(seconds[method], seconds["Linear SVM"]),
                            strict=True,
                        )
                    ),
                ]
            )
    head = ["", "method", "error %", "training / linear SVM", "test / linear SVM"]
    return markdown(head, rows)


def costs(entry) -> tuple[float, float]:
    return entry["fit_cpu_seconds"], entry["test_cpu_seconds"]


def over(values, base) -> list[float]:
    return [value / unit for value, unit in zip(values, base, strict=True)]


def ml3_small_others() -> str:
    """Two more columns of Table 2 of the ML3 paper."""
    rows = []
    for data, entries in part("papers-latent", "table 2").items():
        cells = [
            f"{plus_minus(entries[method])} ({printed:.2f})"
            if method in entries
            else ""
            for method, printed in zip(latent.OTHERS, latent.SMALL[data], strict=True)
        ]
        rows.append([data.split("_")[0].upper(), *best_marked(cells)])
    return markdown(["error %", *latent.OTHERS], rows)


def exponents() -> str:
    """Figure 2 of the ML3 paper, top left."""
    results = part("papers-latent", "p")
    sizes = list(next(iter(results.values())))
    rows = [
        [f"p = {p}", *(plus_minus(e[m]) if m in e else "" for m in sizes)]
        for p, e in results.items()
    ]
    return markdown(["error %", *(f"m = {m}" for m in sizes)], columns_marked(rows))


def iterations() -> str:
    """The rest of Figure 2: the test error after some of the iterations."""
    results = part("papers-latent", "iterations")
    last = max(len(entry["errors"]) for entry in results.values())
    shown = [i for i in (1, 2, 5, 10, 20, 30) if i <= last]
    rows = [
        [data.upper(), *(f"{entry['errors'][i - 1]:.2f}" for i in shown)]
        for data, entry in results.items()
    ]
    return markdown(["iteration", *map(str, shown)], rows)


def additive() -> str:
    results = read("papers-additive")
    rows = []
    for method, accuracy in of_additive.PRINTED.items():
        cells = [plus_minus(e[method]) if method in e else "" for e in results.values()]
        rows.append([method, *cells, f"{100 - accuracy:.1f}"])
    head = ["error %", *map(str.upper, results), "CALTECH-101, printed"]
    return markdown(head, columns_marked(rows))
