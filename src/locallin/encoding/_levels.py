"""Levels of a category: which have a component, and what the target is at each."""

from typing import NamedTuple

import numpy as np

from locallin.encoding._columns import Column
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import (
    add_by_level,
    count_codes,
    replace_codes,
    take_by_level,
)

# Rows of the whole target that are added to those of each level: with few rows of its
# own, a level has nearly the mean of all.
_PRIOR_ROWS = 10


class Levels(NamedTuple):
    """Names of levels by falling frequency: the first ``n_kept`` have a component.

    ``pools`` tells whether training rows had others, ``has_means`` whether the target
    has a mean at each.
    """

    names: np.ndarray
    n_kept: int
    pools: bool
    has_means: bool = False


def find_levels(
    column: Column, max_levels: int, min_rows: int, means: str
) -> tuple[Levels, np.ndarray, np.ndarray]:
    """Levels of a column, the numbers of rows of all by falling frequency, and codes.

    Those without a component are named only where there are means of the target:
    ``means`` are "all", "none", or "auto": where some pool. Codes of rows are places
    among the names, that behind the last for all others, and -1 where missing.
    """
    names, codes = column.levels, column.codes
    assert names is not None
    assert codes is not None
    counts = np.zeros((2, len(names)), np.int64)
    count_codes(read_only(codes), counts)
    counts = counts.sum(axis=0)
    by_name = sorted(range(len(names)), key=names.tolist().__getitem__)
    order = np.array(by_name, dtype=np.intp)
    order = order[np.argsort(-counts[order], kind="stable")]
    order = order[: np.count_nonzero(counts)]
    n_kept = min(max_levels, int(np.count_nonzero(counts >= max(min_rows, 1))))
    pools = len(order) > n_kept
    with_means = means == "all" or (means == "auto" and pools)
    # The mean of a level with a single row is that of all, nearly.
    n_named = int(np.count_nonzero(counts >= 2)) if with_means else 0
    named = order[: max(n_kept, n_named)]
    found = Levels(names[named], n_kept, pools, with_means)
    places = np.full(len(names) + 1, len(named), dtype=np.int32)
    places[named] = np.arange(len(named))
    places[-1] = -1
    return found, counts[order], _replaced(codes, places)


def _replaced(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """What a table has at codes, its last value at -1."""
    found = np.empty(len(codes), np.int32)
    replace_codes(read_only(codes), read_only(table), found)
    return found


class LevelPlaces(NamedTuple):
    """Places of levels by name, and the one of any other level."""

    of_name: dict[str, int]
    other: int


def places_of(names: np.ndarray) -> LevelPlaces:
    """Places of the levels of a column."""
    return LevelPlaces({name: at for at, name in enumerate(names.tolist())}, len(names))


def level_codes(column: Column, places: LevelPlaces) -> np.ndarray:
    """Places of a column's rows among known levels, -1 where the value is missing."""
    assert column.levels is not None
    find, other = places.of_name.get, places.other
    table = [*(find(level, other) for level in column.levels.tolist()), -1]
    assert column.codes is not None
    return _replaced(column.codes, np.array(table, dtype=np.int32))


def level_means(codes: np.ndarray, n_levels: int, target: np.ndarray) -> np.ndarray:
    """Shrunk mean of the target at each level, (n_levels, n_targets).

    The target has a mean of zero and is in units of its deviation, (n, n_targets).
    """
    together = np.zeros(len(codes), np.int64)
    sums, counts = _totals(codes, n_levels, target, together)
    return sums[0] / (counts[0] + _PRIOR_ROWS)


class Folds:
    """Parts of the rows: the mean at a row's level is taken from the other parts.

    ``target`` has the shape (n, n_targets), ``parts`` are numbers from 0 on.
    """

    def __init__(self, target: np.ndarray, parts: np.ndarray):
        self._target, self._parts = target, parts
        nowhere = np.zeros(len(parts), np.int32)
        sums, rows = (t[:, 0] for t in _totals(nowhere, 1, target, parts))
        # A fold's own rows also moved the mean of all, which is zero.
        rest = np.maximum(len(parts) - rows, 1)
        self._centers = (sums.sum(axis=0) - sums) / rest

    def means(self, codes: np.ndarray, n_levels: int) -> np.ndarray:
        """The shrunk mean at each row's level by rows of other folds, (n, n_targets).

        It is zero at the code -1, and at codes that are no level.
        """
        own_sums, own_counts = _totals(codes, n_levels, self._target, self._parts)
        others = own_counts.sum(axis=0) - own_counts
        sums = own_sums.sum(axis=0) - own_sums - others * self._centers[:, None]
        table = sums / (others + _PRIOR_ROWS)
        found = np.zeros_like(self._target)
        take_by_level(_as_codes(codes), read_only(self._parts), table, found)
        return found


def _totals(
    codes: np.ndarray, n_levels: int, target: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the target and numbers of rows by part and level."""
    n_parts = int(parts.max()) + 1
    sums = np.zeros((n_parts, n_levels, target.shape[1]))
    counts = np.zeros((n_parts, n_levels), np.int64)
    add_by_level(_as_codes(codes), read_only(parts), read_only(target), sums, counts)
    return sums, counts[:, :, None]


def _as_codes(codes: np.ndarray) -> np.ndarray:
    return read_only(codes.astype(np.int32, copy=False))
