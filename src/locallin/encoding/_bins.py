"""Bins of one feature: by its quantiles, or where a small tree splits it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from locallin.encoding._targets import Told
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import (
    Seen,
    bin_moments,
    capped_quantiles,
    count_integers,
    count_repeated,
    count_sorted,
)

# A bin of a tree has at least this share of the rows of an average bin.
_LEAST_SHARE = 0.1
# Places for distinct values that are looked up instead of sorted: twice as many.
_FEW = 16384
# Range of whole numbers within which they are counted even if there are few.
_CLOSE = 1000


class Distinct(NamedTuple):
    """Values of one feature, ascending and each once, and how often each occurs."""

    values: np.ndarray
    counts: np.ndarray


def distinct_values(column: np.ndarray, seen: Seen) -> Distinct:
    """Values in double precision, but for NaN; ``seen`` is what was found of them."""
    if seen.n_missing == len(column):
        return Distinct(np.empty(0), np.empty(0, np.int64))
    low, high = seen.low, seen.high
    # Whole numbers that lie close together are counted, not sorted.
    if low / 2 + len(column) + _CLOSE > high / 2 and np.rint(low) == low:
        counts = np.zeros(int(high - low) + 1, np.int32)
        if count_integers(read_only(column), low, counts):
            found = np.flatnonzero(counts)
            return Distinct(low + found, counts[found].astype(np.int64))
    keys, counts = np.zeros(_FEW, np.uint64), np.zeros(_FEW, np.int64)
    if count_repeated(read_only(column), keys, counts):
        values, counts = keys.view(float)[counts > 0], counts[counts > 0]
        order = np.argsort(values)
        return Distinct(values[order], counts[order])
    values, counts = np.empty(len(column)), np.empty(len(column), np.int64)
    n_found = count_sorted(read_only(column), values, counts)
    return Distinct(values[:n_found], counts[:n_found])


def quantile_edges(feature: Distinct, n_bins: int) -> np.ndarray:
    """Edges of bins that hold about the same number of rows.

    Values that fill more than a bin count as one, so that their repetitions leave
    bins to the others: 95 % of zeros do not end in a single bin.
    """
    values = feature.values
    if len(values) <= n_bins + 1:
        return values
    places = np.empty(n_bins - 1, np.int64)
    counts = read_only(feature.counts)
    capped_quantiles(counts, n_bins, np.empty(len(values)), places)
    return values[np.unique([0, *places, len(values) - 1])]


def tree_edges(
    feature: Distinct, column: np.ndarray, told: Told, n_bins: int
) -> np.ndarray:
    """Edges where a tree of at most ``n_bins`` leaves splits the feature.

    The tree sees ranks, which its single precision tells apart.
    """
    values = feature.values
    if len(values) < 2:
        return values
    kind = DecisionTreeRegressor if told.is_number else DecisionTreeClassifier
    is_there = ~np.isnan(column)
    ranks = np.searchsorted(values, column[is_there])
    least = max(1, int(_LEAST_SHARE * len(ranks) / n_bins))
    tree = kind(max_leaf_nodes=max(n_bins, 2), min_samples_leaf=least, random_state=0)
    tree.fit(ranks[:, None], told.values[is_there])
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
