"""Tables about raw tables: every set, ranks, each peer alone, and what was aimed at."""

import numpy as np

from benchmarks import mixed as benchmark
from benchmarks._markdown import Missing, best_marked, column, markdown, read
from benchmarks._statistics import (
    average_ranks,
    compare,
    median_ratio,
    with_most_sets,
)

OURS = "LocallyLinearClassifier"
LIGHTGBM, EBM = "LGBMClassifier", "ExplainableBoostingClassifier"
MEASURES = {
    "AUC": ("aucs", -1),
    "log loss": ("log_losses", 1),
    "error": ("test_errors", 1),
}
# What `domains` calls what it measured on the same splits, by the same peers.
IN_DOMAINS = {
    "aucs": "auc",
    "log_losses": "log_loss",
    "fit_seconds": "fit_cpu_seconds",
    "model_bytes": "model_bytes",
}
# Slow methods that are set against ours on the sets that both have.
SLOW = ("CatBoostClassifier", EBM)
MOST_BEHIND, POINT, ADULT_ERROR = 3, 0.01, 13.2


def results(key: str) -> dict[str, dict[str, float]]:
    """Means by method and set; where `mixed` has none, those of `domains`.

    That benchmark trains the peers of `mixed` on its splits, but has more minutes.
    """
    found = column(key, "mixed")
    try:
        more = column(IN_DOMAINS[key], "domains") if key in IN_DOMAINS else {}
    except Missing:
        return found
    for method, values in more.items():
        own = found.get(method, {})
        shared = {name: of for name, of in values.items() if name in benchmark.SETS}
        found[method] = shared | own
    return found


def every_set() -> str:
    """AUC where there are two classes, and log loss, the least of which is marked."""
    aucs, losses = results("aucs"), results("log_losses")

    def cell(method, data):
        if data not in losses[method]:
            return ""
        auc = aucs.get(method, {}).get(data)
        return (f"{auc:.3f}, " if auc else "") + f"{losses[method][data]:.3f}"

    known = {data for found in losses.values() for data in found}
    rows = [
        [data, *best_marked([cell(method, data) for method in losses], place=-1)]
        for data in benchmark.SETS
        if data in known
    ]
    return markdown(["AUC, log loss", *losses], rows)


def summary() -> str:
    """Average ranks over the sets that all methods have, and the price of a row.

    A method that leaves out more than a tenth of the sets has no ranks; every peer is
    set against ours on the sets that both have, if it has a quarter of them.
    """
    ranks = {
        measure: average_ranks(with_most_sets(as_errors(key, sign)))
        for measure, (key, sign) in MEASURES.items()
    }
    times = column("batch_microseconds_per_row", "mixed")
    fits, losses = results("fit_seconds"), results("log_losses")
    rows = [
        [
            method,
            *(ranks[measure].get(method, "") for measure in MEASURES),
            lead(losses, method),
            f"{np.median(list(fits[method].values())):.2g}",
            f"{np.median(list(times[method].values())):.2g}",
        ]
        for method, found in times.items()
        if 4 * len(found) >= max(map(len, times.values()))
    ]
    head = [f"average rank, {measure}" for measure in MEASURES]
    head += ["ours ahead, log loss (p)", "fit, s (median)", "us/row (median)"]
    return markdown(["", *head], rows)


def as_errors(key: str, sign: int) -> dict[str, dict[str, float]]:
    """What was measured, so that less is better."""
    return {
        method: {data: sign * value for data, value in values.items()}
        for method, values in results(key).items()
    }


def lead(losses, peer: str, ours: str = OURS) -> str:
    """On how many sets ours has the smaller loss, with Wilcoxon's p."""
    if peer == ours:
        return ""
    beside = compare(losses[ours], losses[peer])
    return f"{beside['ahead']} of {beside['sets']} ({beside['p']:.2g})"


def slow_peers() -> str:
    """Ours and each slow peer alone, on the sets that both have."""
    rows = []
    known = results("log_losses")
    for peer in (name for name in SLOW if name in known):
        cells = []
        for key, sign in (MEASURES["AUC"], MEASURES["log loss"]):
            errors = of_both(key, sign, peer)
            ours, theirs = average_ranks(errors).values()
            beside = compare(errors[OURS], errors[peer])
            cells += [
                f"{ours} / {theirs}",
                lead(errors, peer),
                f"{sign * beside['mean_difference']:+.3f}",
            ]
        fits = results("fit_seconds")
        rows.append([peer, *cells, f"{median_ratio(fits[peer], fits[OURS]):.2g}x"])
    if not rows:
        raise Missing("mixed")
    head = [
        f"{measure}: {what}"
        for measure in ("AUC", "log loss")
        for what in ("average ranks, ours / theirs", "ours ahead (p)", "difference")
    ]
    return markdown(["ours beside", *head, "its time to fit"], rows)


def of_both(key: str, sign: int, peer: str) -> dict[str, dict[str, float]]:
    """What ours and a peer have, over the splits of `mixed` that both have."""
    errors = as_errors(key, sign)
    if peer not in errors:
        raise Missing(peer)
    both = {method: dict(errors[method]) for method in (OURS, peer)}
    for data, measured in read("mixed").items():
        runs = {method: measured.get(method, {}).get(key) for method in both}
        if None in runs.values():
            continue
        n_shared = min(map(len, runs.values()))
        for method, values in runs.items():
            both[method][data] = sign * float(np.mean(values[:n_shared]))
    return both


def aims() -> str:
    """What the tables were to show, what they show, and whether that is it."""
    rows = []
    for peer, name in ((LIGHTGBM, "LightGBM's"), (EBM, "EBM's")):
        errors = of_both(*MEASURES["AUC"], peer)
        ours, theirs = average_ranks(errors).values()
        beside = compare(errors[OURS], errors[peer])
        rows.append(
            [
                f"average rank in AUC ahead of {name} defaults",
                f"{ours} against {theirs} on {beside['sets']} tables, "
                f"p = {beside['p']:.2g}",
                said(ours < theirs),
            ]
        )
    behind = far_behind(as_errors(*MEASURES["AUC"]))
    listed = ", ".join(f"{data} ({peer})" for data, peer in behind.items())
    rows.append(
        [
            f"more than a point of AUC behind the best on at most {MOST_BEHIND} tables",
            listed or "none",
            said(len(behind) <= MOST_BEHIND),
        ]
    )
    adult = column("test_errors", "mixed")[OURS].get("adult")
    if adult is not None:
        rows.append(
            [
                f"an error of at most {ADULT_ERROR} % on adult",
                f"{adult:.2f} %",
                said(adult <= ADULT_ERROR),
            ]
        )
    return markdown(["aim", "found", ""], rows)


def far_behind(errors) -> dict[str, str]:
    """Sets where another is more than a point of AUC ahead, and which one is best."""
    found = {}
    for data, ours in errors[OURS].items():
        best = min((of[data], peer) for peer, of in errors.items() if data in of)
        if ours - best[0] > POINT:
            found[data] = best[1]
    return found


def said(is_met: bool) -> str:
    return "met" if is_met else "missed"
