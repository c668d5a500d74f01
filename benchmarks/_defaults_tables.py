"""Defaults, ours and the peers': errors, ranks, and whether a lead is chance."""

import numpy as np

from benchmarks._data import RANDOM_SPLITS, SETS
from benchmarks._markdown import (
    Missing,
    best_marked,
    column,
    markdown,
    multiple,
    on_same_splits,
    read,
)
from benchmarks._methods import VARIANTS, is_ours
from benchmarks._statistics import (
    Errors,
    average_ranks,
    common,
    compare,
    mean_normalised,
    median_ratio,
    with_most_sets,
)

FIRST = "LocallyLinearClassifier"
LARGE = ("letter", "w8a", "ijcnn1", "connect4", "mnist", "skin", "covtype")
# Ranks are over the sets that all methods have: these methods leave out many.
NOT_RANKED = ("AtlasClassifier", *VARIANTS)
# Sets that two methods are compared on, at the least.
FEWEST_SETS = 5
SPEED = (FIRST, "DULLSVMClassifier", "LGBMClassifier", "SVC()", "SVC, tuned")


def measured(key: str) -> dict[str, Errors]:
    """Means by method and data set, ours first; without methods of few sets."""
    found = column(key, "untuned")
    half = max(map(len, found.values()), default=0) / 2
    names = [name for name in found if len(found[name]) >= half]
    names.sort(key=lambda m: (m != FIRST, not is_ours(m)))
    return {name: found[name] for name in names}


def ranked(key: str = "test_errors") -> dict[str, Errors]:
    """The same, of the methods that have nearly all sets."""
    found = measured(key)
    return with_most_sets({m: found[m] for m in found if m not in NOT_RANKED})


def untuned() -> str:
    """Errors with defaults, in brackets those on rows not among the training rows."""
    errors, unseen = measured("test_errors"), column("unseen_errors", "untuned")

    def cell(method, data):
        if data not in errors[method]:
            return ""
        more = unseen.get(method, {}).get(data)
        return f"{errors[method][data]:.2f}" + (f" ({more:.2f})" if more else "")

    there = [s for s in SETS if any(s in found for found in errors.values())]
    rows = [
        [s.split("_")[0].upper(), *best_marked([cell(m, s) for m in errors])]
        for s in there
    ]
    return markdown(["", *errors], rows)


def summary() -> str:
    """Average ranks, errors between the best and the worst of each set, and prices."""
    errors, losses = ranked(), ranked("log_losses")
    times = ranked("batch_microseconds_per_row")
    sizes = ranked("model_bytes")
    ranks, normalised = average_ranks(errors), mean_normalised(errors)
    loss_ranks = average_ranks(losses) if len(losses) > 2 else {}
    rows = []
    for method in sorted(errors, key=ranks.get):
        size, time = (list(of.get(method, {}).values()) for of in (sizes, times))
        rows.append(
            [
                method,
                ranks[method],
                f"{normalised[method]:.2f}",
                loss_ranks.get(method, ""),
                f"{np.median(time):.2g}" if time else "",
                f"{np.median(size) / 1e3:.3g}" if size else "",
            ]
        )
    head = ["", "average rank, error", "normalised error", "average rank, log loss"]
    return markdown([*head, "us/row (median)", "model, kB (median)"], rows)


def with_slow_peers() -> str:
    """Ranks and errors over the sets that slower peers have, too."""
    errors = measured("test_errors")
    errors = {m: errors[m] for m in errors if m not in NOT_RANKED}
    ranks, normalised = average_ranks(errors), mean_normalised(errors)
    rows = [
        [method, ranks[method], f"{normalised[method]:.2f}"]
        for method in sorted(errors, key=ranks.get)
    ]
    n_sets = common(*errors.values()).shape[1]
    return markdown(["", f"average rank, {n_sets} sets", "normalised error"], rows)


def pairs() -> str:
    """Ours against each peer: errors over data sets and splits, and prediction time."""
    found = column("test_errors", "untuned")
    errors = {m: found[m] for m in found if len(found[m]) >= FEWEST_SETS}
    times = column("batch_microseconds_per_row", "untuned")
    rows = []
    for method in (m for m in (FIRST, "DULLSVMClassifier") if m in errors):
        for peer in (m for m in errors if not is_ours(m)):
            beside = _beside("test_errors", method, peer)
            losses = _beside("log_losses", method, peer)
            rows.append(
                [
                    method,
                    peer,
                    f"{beside['mean_difference']:+.2f}",
                    *_ahead(beside),
                    *_ahead(losses),
                    f"{median_ratio(times[peer], times[method]):.2g}"
                    if method in times and peer in times
                    else "",
                ]
            )
    head = ["", "peer", "difference of errors", "ahead", "Wilcoxon's p"]
    head += ["log loss: ahead", "Wilcoxon's p"]
    return markdown([*head, "prediction time of the peer / ours"], rows)


def _beside(key: str, method: str, peer: str) -> dict[str, float]:
    return compare(*on_same_splits(key, method, peer, RANDOM_SPLITS))


def _ahead(beside) -> list[str]:
    if beside["sets"] < FEWEST_SETS:
        return ["", ""]
    return [f"{beside['ahead']} of {beside['sets']}", f"{beside['p']:.3g}"]


def speed() -> str:
    """Prediction in microseconds a row on the large sets, in brackets the multiple."""
    times = column("batch_microseconds_per_row", "untuned")
    there = [m for m in SPEED if set(LARGE) & set(times.get(m, ()))]
    if not there:
        raise Missing("untuned")
    base = times[there[0]]
    rows = [
        [
            data.upper(),
            f"{base[data]:.1f}",
            *(
                f"{times[m][data]:.1f}{multiple(times[m][data], base[data])}"
                if data in times[m]
                else ""
                for m in there[1:]
            ),
        ]
        for data in (s for s in LARGE if s in base)
    ]
    return markdown(["us/row", *there], rows)


def grown() -> str:
    """The number of anchors from the data beside the rule by rows, on the same runs."""
    results = read("untuned")
    rows = []
    for data, methods in results.items():
        cells = []
        for variant in VARIANTS:
            auto, usual = (methods.get(m) for m in (variant, variant.split(",")[0]))
            if auto is None or "test_errors" not in auto:
                cells += ["", ""]
                continue
            errors = auto["test_errors"]
            base = usual["test_errors"][: len(errors)]
            deviation = np.std(usual["test_errors"], ddof=1)
            cells.append(f"{np.mean(errors):.2f} / {np.mean(base):.2f}")
            cells.append(f"{np.mean(errors) - np.mean(base):+.2f} ({deviation:.2f})")
        if any(cells):
            rows.append([data.split("_")[0].upper(), *cells])
    if not rows:
        raise Missing("grown")
    head = [""]
    for variant in VARIANTS:
        head += [f"{variant.split('Classifier')[0]}, auto / rule", "difference"]
    return markdown(head, rows)
