"""Tables that set the papers' own algorithms, and others' machines, beside ours."""

from benchmarks._markdown import (
    Missing,
    best_marked,
    columns_marked,
    markdown,
    measured,
    plus_minus,
    read,
    spread,
)
from benchmarks._paper_tables import FEW_LABELS, KERNELS, SOFT
from benchmarks.papers import joint, latent, losses, ml3, rivals

OWN_LLSVM = "paper's setting (inverse distance, k=8, hinge, 10 epochs of SGD)"


def own() -> str:
    """Each paper's own algorithm beside our recipe, and what is printed."""
    rows = []
    for data, method, entry, ours, printed in own_figures():
        cells = [with_deviation(entry), plus_minus(ours) if ours else ""]
        cells.append("" if printed is None else f"{printed:.2f}")
        rows.append([data.upper(), method, *best_marked(cells)])
    if not rows:
        raise Missing("papers-own")
    head = ["", "method", "the paper's own algorithm", "our recipe", "printed"]
    return markdown(head, rows)


def own_figures():
    for data, results in read_or_nothing("papers-llsvm").items():
        if OWN_LLSVM in results and SOFT in results:
            printed = results["error printed in the paper"]
            yield data, "LL-SVM", results[OWN_LLSVM], results[SOFT], printed
    # Some sets are in the table of the 2018 paper alone.
    recipes = read_or_nothing("papers-losses") | read_or_nothing("papers-joint")
    latent = read_or_nothing("papers-ml3").get("table 1", {})
    for data, results in read_or_nothing("papers-own").items():
        for method, entry in results.items():
            if method == "ML3":
                printed = ml3.PRINTED.get(data, (0, None))[1]
                yield data, method, entry, latent.get(data), printed
            else:
                printed = printed_error(data, method)
                yield data, method, entry, recipes.get(data, {}).get(method), printed


def printed_error(data: str, method: str) -> float | None:
    known = joint.PRINTED.get(data, {})
    if method in known:
        return known[method]
    accuracy = losses.PRINTED.get(data, {}).get(method)
    return accuracy and 100 - accuracy[1]


def retries() -> str:
    """What was missed, before and after another try."""
    rows = []
    for data, method, entry, before in retried_figures():
        cells = [with_deviation(before) if before else "", with_deviation(entry)]
        cells = best_marked([f"{entry['printed']:.2f}", *cells])
        verdict = "met" if entry["mean"] <= entry["printed"] else "missed"
        rows.append([data, method, *cells, verdict])
    head = ["", "method", "printed", "first", "another try", ""]
    return markdown(head, rows)


def retried_figures():
    anchored = read_or_nothing("papers-joint")
    latent = read_or_nothing("papers-ml3").get("table 2", {})
    charted = read_or_nothing("papers-atlas").get("usps", {})
    found = read("papers-retries")
    for data, entry in found.get("SAPL", {}).items():
        yield data.upper(), "SAPL", entry, anchored.get(data, {}).get("SAPL")
    for data, entry in found.get("ML3", {}).items():
        before = latent.get(data, {}).get("test_errors", {}).get("ML3")
        name = data.split("_")[0].upper() + (", 400 ROWS" if data == "banana" else "")
        yield name, "ML3, 10 models", entry, spread(before) if before else None
    for kernel, entry in found.get("Atlas", {}).items():
        before = charted.get(kernel, {}).get("transductive")
        yield "USPS", f"{KERNELS[kernel]}, five atlases", entry, before


def with_lcc() -> dict:
    """Results of the machines of the 2015 paper, by data set."""
    coded = read_or_nothing("papers-lcc")
    return {
        data: measured(
            {**entries, **({"LCC+SVM": coded[data]} if data in coded else {})}
        )
        for data, entries in read("papers-rivals").items()
    }


METHODS = (*rivals.MACHINES, "LCC+SVM")


def of_2015() -> str:
    """Errors of all machines of the 2015 paper, and in brackets what is printed."""
    results = with_lcc()
    known = {method for entries in results.values() for method in entries}
    methods = [method for method in METHODS if method in known]
    rows = [[m, *(cell(results[d], d, m) for d in results)] for m in methods]
    return markdown(["error %", *map(str.upper, results)], columns_marked(rows))


def cell(entries, data, method) -> str:
    printed = rivals.PRINTED[data].get(method)
    beside = "" if printed is None else f" ({printed:.2f})"
    return with_deviation(entries[method]) + beside if method in entries else ""


def with_deviation(entry) -> str:
    several = isinstance(entry, list) or "deviation" in entry
    return plus_minus(entry) if several else f"{mean(entry['test_errors']):.2f}"


def times_of_2015() -> str:
    """Time of prediction as a multiple of a linear SVM's, beside what is printed."""
    results = with_lcc()
    rows = []
    for method in METHODS:
        cells = [method]
        for data, entries in results.items():
            printed = rivals.PRINTED_SECONDS[data]
            found = times(entries[method]["test_time"]) if method in entries else ""
            if found and method in printed:
                found += f" ({times(printed[method] / printed['Linear SVM'])})"
            cells.append(found)
        if any(cells[1:]):
            rows.append(cells)
    return markdown(["times a linear SVM", *map(str.upper, results)], rows)


def times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def of_2018() -> str:
    """Test loss, error and time of Table 2 of the 2018 paper."""
    own_results = read_or_nothing("papers-own")
    rows = []
    for data, entries in read("papers-losses").items():
        for method, entry in entries.items():
            loss, accuracy, time = losses.PRINTED[data].get(method, (None,) * 3)
            theirs = own_results.get(data, {}).get(method, {})
            found = [
                f"{mean(entry['test_losses']):.4f}",
                f"{mean(theirs['test_losses']):.4f}" if theirs else "",
                "" if loss is None else f"{loss:.4f}",
            ]
            errors = [
                plus_minus(entry),
                with_deviation(theirs) if theirs else "",
                "" if accuracy is None else f"{100 - accuracy:.2f}",
            ]
            costs = [times(entry["test_time"]), "" if time is None else times(time)]
            cells = [*best_marked(found), *best_marked(errors), *costs]
            rows.append([data.upper(), method, *cells])
    head = ["", "method", "loss", "own algorithm", "printed", "error %"]
    head += ["own algorithm", "printed", "time / linear SVM", "printed"]
    return markdown(head, rows)


def checked() -> str:
    """Machines of others, on every set for which a paper prints their errors."""
    shown: dict[tuple[str, str], list[str]] = {}
    for machine, year, data, entry, printed in rival_figures():
        error = f"{data.upper()} {with_deviation(entry)} ({printed:.2f})"
        shown.setdefault((machine, year), []).append(error)
    if not shown:
        raise Missing("papers-rivals")
    head = ["", "in the paper of", "error %, and what it prints"]
    return markdown(head, [[*key, "; ".join(cells)] for key, cells in shown.items()])


def rival_figures():
    found = read_or_nothing("papers-rivals")
    for machine in ("LDKL", "SVM-KNN", "CSVM"):
        for data, entries in found.items():
            printed = rivals.PRINTED[data].get(machine)
            if printed is not None and machine in measured(entries):
                yield machine, "2015", data, entries[machine], printed
    column = latent.OTHERS.index("L-MKL")
    for data, entries in read_or_nothing("papers-latent").get("table 2", {}).items():
        if "L-MKL" in entries:
            name, printed = data.split("_")[0], latent.SMALL[data][column]
            yield "L-MKL", "2013", name, entries["L-MKL"], printed
    few = read_or_nothing("few_labels")
    for machine in ("AnchorGraphReg", "PVM", "EigenFunction"):
        for n_labels, entries in few.items():
            if machine in entries:
                printed = FEW_LABELS[machine][n_labels]
                name = f"mnist, {n_labels} labels,"
                yield machine, "2014", name, entries[machine], printed


def read_or_nothing(name: str) -> dict:
    try:
        return read(name)
    except Missing:
        return {}


def mean(values) -> float:
    return sum(values) / len(values)
