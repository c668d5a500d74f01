"""Levels of a category: which have a component, and what the target is at each."""

from typing import NamedTuple

import numpy as np

from locallin.encoding._columns import Column

# Rows of the whole target that are added to those of each level: with few rows of its
# own, a level has nearly the mean of all.
_PRIOR_ROWS = 10


class Levels(NamedTuple):
    """Names of levels by falling frequency: the first ``n_kept`` have a component.

    ``pools`` tells whether training rows had others.
    """

    names: np.ndarray
    n_kept: int
    pools: bool


def find_levels(column: Column, max_levels: int, min_rows: int, *, all_names: bool):
    """Levels of a column; those without a component only where all are wanted."""
    names, codes = column.levels, column.codes
    assert names is not None
    assert codes is not None
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = np.lexsort((names.astype(str), -counts))
    order = order[counts[order] > 0]
    n_kept = min(max_levels, int(np.count_nonzero(counts >= max(min_rows, 1))))
    # The mean of a level with a single row is that of all, nearly.
    n_named = int(np.count_nonzero(counts >= 2)) if all_names else 0
    kept = names[order[: max(n_kept, n_named)]]
    return Levels(kept, n_kept, len(order) > n_kept)


def level_codes(column: Column, names: np.ndarray) -> np.ndarray:
    """Places of a column's rows among the names: -1 missing, ``len(names)`` another."""
    assert column.levels is not None
    places = {name: place for place, name in enumerate(names)}
    table = [*(places.get(level, len(names)) for level in column.levels), -1]
    return np.array(table)[column.codes]


class Target(NamedTuple):
    """What level means are taken of: one column, or one of each class.

    Values have a mean of zero and are in units of their deviation. ``folds`` tells the
    fold of each row.
    """

    values: np.ndarray  # (n, n_targets)
    folds: np.ndarray


def level_means(codes: np.ndarray, n_levels: int, target: Target) -> np.ndarray:
    """Shrunk mean of the target at each level, (n_levels, n_targets)."""
    sums, counts = _totals(codes, n_levels, target.values)
    return sums / (counts + _PRIOR_ROWS)


def cross_fitted_means(codes: np.ndarray, n_levels: int, target: Target) -> np.ndarray:
    """The mean at each row's level by rows of the other folds, (n, n_targets)."""
    n_folds, n_targets = int(target.folds.max()) + 1, target.values.shape[1]
    known = (codes >= 0) & (codes < n_levels)
    # A level within a fold is a level of its own.
    both = np.where(known, target.folds * n_levels + codes, -1)
    own_sums, own_counts = _totals(both, n_folds * n_levels, target.values)
    own_sums = own_sums.reshape(n_folds, n_levels, n_targets)
    own_counts = own_counts.reshape(n_folds, n_levels, 1)
    others = own_counts.sum(axis=0) - own_counts
    # Centred anew: the fold's own rows also moved the mean of all, which is zero.
    fold_sums, fold_rows = _totals(target.folds, n_folds, target.values)
    rest = np.maximum(len(codes) - fold_rows, 1)
    centers = (fold_sums.sum(axis=0) - fold_sums) / rest
    sums = own_sums.sum(axis=0) - own_sums - others * centers[:, None]
    means = (sums / (others + _PRIOR_ROWS)).reshape(n_folds * n_levels, n_targets)
    out = np.zeros_like(target.values)
    out[known] = means[both[known]]
    return out


def _totals(codes, n_levels: int, values) -> tuple[np.ndarray, np.ndarray]:
    known = (codes >= 0) & (codes < n_levels)
    codes = codes[known]
    sums = np.empty((n_levels, values.shape[1]))
    for t in range(values.shape[1]):
        sums[:, t] = np.bincount(codes, values[known, t], minlength=n_levels)
    return sums, np.bincount(codes, minlength=n_levels)[:, None]
