"""Bins of one feature: by its quantiles, or where a small tree splits it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from locallin.encoding._targets import Told
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import bin_moments, count_integers, count_repeated

# A bin of a tree has at least this share of the rows of an average bin.
_LEAST_SHARE = 0.1
# Places for distinct values that are looked up instead of sorted: twice as many.
_FEW = 16384
# Range of whole numbers within which they are counted even if there are few.
_CLOSE = 1000


class Distinct(NamedTuple):
    """Values of one feature, ascending and each once, and how often each occurs.

    ``inverse`` tells the place among them of every value that is not missing, where
    that is asked for.
    """

    values: np.ndarray
    counts: np.ndarray
    inverse: np.ndarray | None
    is_missing: np.ndarray


def distinct_values(column: np.ndarray, *, with_inverse: bool) -> Distinct:
    """Values of a column in double precision, without those that are NaN."""
    is_missing = np.isnan(column)
    there = column[~is_missing] if is_missing.any() else column
    values, counts = _counted(there)
    inverse = np.searchsorted(values, there) if with_inverse else None
    return Distinct(values, counts, inverse, is_missing)


def _counted(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values in double precision, ascending, and how often each occurs."""
    numbers = np.ascontiguousarray(column, dtype=float)
    if len(numbers):
        low, high = numbers.min(), numbers.max()
        # Whole numbers that lie close together are counted, not sorted.
        if low / 2 + len(numbers) + _CLOSE > high / 2 and np.rint(low) == low:
            counts = np.zeros(int(high - low) + 1, np.int64)
            if count_integers(read_only(numbers), low, counts):
                found = np.flatnonzero(counts)
                return low + found, counts[found]
    found, counts = np.zeros(_FEW, np.uint64), np.zeros(_FEW, np.int64)
    keys = (numbers + 0.0).view(np.uint64)  # both zeros become one
    if count_repeated(read_only(keys), found, counts):
        values, counts = found.view(float)[counts > 0], counts[counts > 0]
        order = np.argsort(values)
        return values[order], counts[order]
    return np.unique(numbers, return_counts=True)


def quantile_edges(feature: Distinct, n_bins: int) -> np.ndarray:
    """Edges of bins that hold about the same number of rows.

    Values that fill more than a bin count as one, so that their repetitions leave
    bins to the others: 95 % of zeros do not end in a single bin.
    """
    values = feature.values
    if len(values) <= n_bins + 1:
        return values
    weights = feature.counts.astype(float)
    cap = weights.sum() / n_bins
    for _ in range(50):  # falls to the root of sum(min(weights, cap)) = n_bins cap
        weights = np.minimum(weights, cap)
        cap, before = weights.sum() / n_bins, cap
        if cap >= before * (1 - 1e-6):
            break
    reached = np.cumsum(weights)
    inside = np.arange(1, n_bins) * reached[-1] / n_bins
    places = np.searchsorted(reached, inside * (1 - 1e-9))
    return values[np.unique([0, *places, len(values) - 1])]


def tree_edges(feature: Distinct, told: Told, n_bins: int) -> np.ndarray:
    """Edges where a tree of at most ``n_bins`` leaves splits the feature.

    The tree sees ranks, which its single precision tells apart.
    """
    values = feature.values
    if len(values) < 2:
        return values
    kind = DecisionTreeRegressor if told.is_number else DecisionTreeClassifier
    assert feature.inverse is not None
    least = max(1, int(_LEAST_SHARE * len(feature.inverse) / n_bins))
    tree = kind(max_leaf_nodes=max(n_bins, 2), min_samples_leaf=least, random_state=0)
    tree.fit(feature.inverse[:, None], told.values[~feature.is_missing])
    splits = tree.tree_.threshold[tree.tree_.feature == 0]
    below = np.unique(np.floor(splits).astype(int))
    halves = values[below] / 2 + values[below + 1] / 2
    if n_bins == 1:
        halves = halves[:0]
    return np.unique([values[0], *halves, values[-1]])


def separated(edges: np.ndarray) -> np.ndarray:
    """Ascending edges without those whose distance no number can divide by."""
    kept: list[float] = []
    for edge in edges.tolist():
        if not kept or edge / 2 - kept[-1] / 2 > np.finfo(float).tiny:
            kept.append(edge)
    return np.array(kept)


def component_moments(found: Distinct, edges: np.ndarray) -> np.ndarray:
    """Mean and standard deviation of each component, over values that are there."""
    moments = np.zeros((max(len(edges) - 1, 0), 2))
    bin_moments(
        read_only(found.values), read_only(found.counts), read_only(edges), moments
    )
    return moments


@dataclass(frozen=True)
class Feature:
    """Bins of one feature, with mean and deviation of each."""

    edges: np.ndarray
    tells_missing: bool
    missing_share: float
    moments: np.ndarray  # (n_bins, 2)
