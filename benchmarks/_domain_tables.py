"""Tables for those who come from elsewhere: named domains, SVC, LightGBM, EBM."""

from benchmarks import domains as named
from benchmarks._markdown import Missing, column, markdown, read
from benchmarks._statistics import compare, median_ratio

OURS, LIGHTGBM, EBM = named.METHODS
SHORT = {OURS: "ours", LIGHTGBM: "LightGBM", EBM: "EBM"}
# What was measured, its unit, and how it is written.
MEASURES = {
    "AUC": ("auc", 1, ".3f"),
    "CPU time of a row, us": ("cpu_microseconds_per_row", 1, ".2g"),
    "model, kB": ("model_bytes", 1e-3, ".0f"),
}
MORE_MEASURES = {
    "AUC": ("auc", 1, ".3f"),
    "log loss": ("log_loss", 1, ".3f"),
    "fit, CPU s": ("fit_cpu_seconds", 1, ".2g"),
    "CPU time of a row, us": ("cpu_microseconds_per_row", 1, ".2g"),
    "model, kB": ("model_bytes", 1e-3, ".0f"),
}


def written(value: float, digits: str) -> str:
    """Two digits at least, and no exponent."""
    return f"{value:.0f}" if digits == ".2g" and value >= 10 else f"{value:{digits}}"


def domains(methods=named.METHODS, measures=MEASURES) -> str:
    """Each measure of ours and of the others, by domain."""
    results = read("domains")
    rows = []
    for domain, data in named.DOMAINS.items():
        found = [results.get(data, {}).get(method, {}) for method in methods]
        if any("auc" not in entry for entry in found[:2]):
            continue
        cells = (
            " / ".join(
                written(factor * entry[key], digits) if key in entry else "-"
                for entry in found
            )
            for key, factor, digits in measures.values()
        )
        rows.append([domain, *cells])
    if not rows:
        raise Missing("domains")
    names = " / ".join(SHORT[method] for method in methods)
    return markdown([names, *measures], rows)


def domains_and_ebm() -> str:
    """Only ours and EBM, and more of them."""
    if not any(EBM in found for found in read("domains").values()):
        raise Missing(EBM)
    return domains((OURS, EBM), MORE_MEASURES)


BOOSTER_MEASURES = {
    "AUC": ("aucs", -1, "{:+.3f}"),
    "log loss": ("log_losses", 1, "{:+.3f}"),
    "error %": ("test_errors", 1, "{:+.2f}"),
}


def boosters() -> str:
    """Ours against each booster on the raw tables."""
    known = column("log_losses", "mixed")
    rows = []
    for peer in (LIGHTGBM, "HistGradientBoostingClassifier"):
        if peer not in known:
            raise Missing(peer)
        cells = []
        for key, sign, form in BOOSTER_MEASURES.values():
            found = column(key, "mixed")
            signed = [
                {data: sign * value for data, value in found[method].items()}
                for method in (OURS, peer)
            ]
            beside = compare(*signed)
            difference = form.format(sign * beside["mean_difference"])
            cells.append(f"{beside['ahead']} of {beside['sets']} ({difference})")
        for key in ("fit_seconds", "batch_microseconds_per_row"):
            times = column(key, "mixed")
            cells.append(f"{median_ratio(times[OURS], times[peer]):.2g}x")
        rows.append([peer, *cells])
    head = [f"{name}: ahead (mean difference)" for name in BOOSTER_MEASURES]
    return markdown(["ours beside", *head, "time to fit", "time of a row"], rows)


def machines() -> str:
    """DU-LLSVM against each SVC with defaults."""
    ours = "DULLSVMClassifier"
    errors = column("test_errors")
    rows = []
    for peer in ("SVC()", "SVC(C=10)", LIGHTGBM):
        if peer not in errors:
            raise Missing(peer)
        beside = compare(errors[ours], errors[peer])
        ahead = f"{beside['ahead']} of {beside['sets']}"
        difference = f"{beside['mean_difference']:+.2f}"
        rows.append([peer, ahead, difference, f"{beside['p']:.2g}"])
    head = [f"`{ours}()` beside", "ahead", "error, points", "Wilcoxon's p"]
    return markdown(head, rows)


def serving() -> str:
    """One row at a time, with everything that a service answers."""
    rows = [
        [
            data,
            way,
            *(f"{entry['one_row_microseconds'][k]:.0f}" for k in ("least", "median")),
            f"{entry['bytes'] / 1000:.0f}",
        ]
        for data, ways in read("serving").items()
        for way, entry in ways.items()
    ]
    return markdown(["", "", "one row, us: least", "median", "file, kB"], rows)


def encoding() -> str:
    """What a raw table costs beside reading it, and a row of it in C."""
    rows = []
    for data, entry in read("encoding").items():
        whole, bare = entry.get("c_microseconds"), entry.get("bare_c_microseconds")
        in_c = [f"{whole:.2f}", f"{bare:.2f}", f"{whole / bare:.2f}"] if bare else []
        rows.append(
            [
                data,
                f"{entry['rows']:,}",
                entry["columns"],
                f"{entry['fit_transform_by_read_csv']:.2f}",
                f"{entry['transform_by_read_csv']:.2f}",
                *(in_c or ["", "", ""]),
            ]
        )
    head = ["", "rows", "columns", "fit_transform / read_csv", "transform / read_csv"]
    return markdown([*head, "row in C, us", "bare model, us", "ratio"], rows)
