"""Who is ahead, by how much, and is it more than chance? Errors over data sets."""

import numpy as np
from scipy.stats import rankdata, studentized_range, wilcoxon

Errors = dict[str, float]  # of one method, by data set


def common(*methods: Errors) -> np.ndarray:
    """Errors of several methods on the data sets that all of them have."""
    shared = sorted(set.intersection(*map(set, methods)))
    return np.array([[errors[name] for name in shared] for errors in methods])


def with_most_sets(methods: dict[str, Errors]) -> dict[str, Errors]:
    """The methods that have nine tenths of the sets: ranks are over common sets."""
    most = max(map(len, methods.values()), default=0)
    return {name: of for name, of in methods.items() if len(of) >= 0.9 * most}


def average_ranks(methods: dict[str, Errors]) -> dict[str, float]:
    """Mean rank of each method, 1 being the lowest error, over the common sets."""
    ranks = rankdata(common(*methods.values()), axis=0).mean(axis=1)
    return {m: round(float(r), 2) for m, r in zip(methods, ranks, strict=True)}


def mean_normalised(methods: dict[str, Errors]) -> dict[str, float]:
    """Mean over the common sets of errors as 0 for the best method, 1 for the worst."""
    errors = common(*methods.values())
    spread = np.ptp(errors, axis=0)
    scaled = (errors - errors.min(axis=0)) / np.where(spread > 0, spread, 1)
    return dict(zip(methods, map(float, scaled.mean(axis=1)), strict=True))


def critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Average ranks that differ by less may differ by chance (Nemenyi's test)."""
    quantile = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def compare(ours: Errors, peer: Errors) -> dict[str, float]:
    """Our errors beside a peer's; p is that of Wilcoxon's signed-rank test."""
    first, second = common(ours, peer)
    difference = first - second
    if not len(difference):
        return {"sets": 0, "mean_difference": 0.0, "ahead": 0, "p": 1.0}
    return {
        "sets": len(difference),
        "mean_difference": round(float(difference.mean()), 3),
        "ahead": int((difference < 0).sum()),
        "p": float(wilcoxon(difference).pvalue) if difference.any() else 1.0,
    }


def median_ratio(above: Errors, below: Errors) -> float:
    """Median over data sets of the ratio of two methods' times."""
    first, second = common(above, below)
    return float(np.median(first / second))
