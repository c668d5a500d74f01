"""Who is ahead, by how much, and is it more than chance? Errors over data sets."""

import numpy as np
from scipy.stats import rankdata, wilcoxon

Errors = dict[str, float]  # of one method, by data set


def common(*methods: Errors) -> np.ndarray:
    """Errors of several methods on the data sets that all of them have."""
    shared = sorted(set.intersection(*map(set, methods)))
    return np.array([[errors[name] for name in shared] for errors in methods])


def average_ranks(methods: dict[str, Errors]) -> dict[str, float]:
    """Mean rank of each method, 1 being the lowest error, over the common sets."""
    ranks = rankdata(common(*methods.values()), axis=0).mean(axis=1)
    return {m: round(float(r), 2) for m, r in zip(methods, ranks, strict=True)}


def compare(ours: Errors, peer: Errors) -> dict[str, float]:
    """Our errors beside a peer's; p is that of Wilcoxon's signed-rank test."""
    first, second = common(ours, peer)
    difference = first - second
    return {
        "sets": len(difference),
        "mean_difference": round(float(difference.mean()), 3),
        "ahead": int((difference < 0).sum()),
        "p": round(float(wilcoxon(difference).pvalue), 4) if difference.any() else 1.0,
    }


def best_of(*methods: Errors) -> Errors:
    """The lowest of several methods' errors on each data set."""
    return {name: min(m[name] for m in methods if name in m) for name in methods[0]}


def median_ratio(above: Errors, below: Errors) -> float:
    """Median over data sets of the ratio of two methods' times."""
    first, second = common(above, below)
    return float(np.median(first / second))
