"""What a user should know of a column before trusting a model of it."""

import re

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from locallin.encoding._columns import TEXT, Column
from locallin.encoding._fitting import Raw
from locallin.encoding._targets import is_number_target

_ID_NAME = re.compile(r"(^|[_\W])(id|ids|key|uuid|guid|index)$|[a-z]I[dD]$", re.I)
# Rows, levels and area under the curve that decide whether a column gives y away.
_ROWS, _BINS, _AREA = 5000, 64, 0.995
_LEAST_ROWS = 20


def notes_on(
    columns: list[Column | None], raws: list[Raw], names: list[str], y, target_type: str
) -> list[str]:
    """Notes on the columns; None stands for one that is left out."""
    classes = None
    if y is not None and not is_number_target(y, target_type):
        chosen = np.random.RandomState(0).permutation(len(y))[:_ROWS]
        classes = np.unique(np.asarray(y)[chosen], return_inverse=True)[1]
    notes = []
    for name, column, raw in zip(names, columns, raws, strict=True):
        if column is None:
            continue
        found = _identifier_note(name, column)
        if found is None and classes is not None and len(raw.codes):
            found = _leak_note(name, raw, classes, chosen)
        if found is not None:
            notes.append(found)
    return notes


def _identifier_note(name: str, column: Column) -> str | None:
    """A note where each row has a value of its own that is no measurement."""
    if column.kind == TEXT:
        assert column.codes is not None
        there = column.codes[column.codes >= 0]
    else:
        assert column.values is not None
        there = column.values[~np.isnan(column.values)]
    if len(there) < _LEAST_ROWS or _repeats(there[:_ROWS]) or _repeats(there):
        return None
    if column.kind == TEXT:
        return (
            f"{name!r} has another level in every row: it looks like an identifier or "
            "like free text, and nothing is made of it. Leave it out with ignore=[...]."
        )
    if column.is_integer and _ID_NAME.search(name):
        return (
            f"{name!r} looks like an identifier: integers, each once. It is taken as a "
            "number; leave it out with ignore=[...]."
        )
    return None


def _repeats(values: np.ndarray) -> bool:
    return len(np.unique(values)) < len(values)


def _leak_note(name: str, raw: Raw, y: np.ndarray, chosen) -> str | None:
    """A note where the column alone nearly tells a class from all others.

    Half of the chosen rows, whose classes are y, estimate their shares at levels or in
    the leaves of a small tree, the other half is ranked by them.
    """
    half = len(chosen) // 2
    bins = np.clip(raw.codes[chosen], -1, _BINS) + 1
    if raw.values is not None:
        bins = _leaves(raw.values[chosen], y, half)
    for c in range(int(y.max(initial=0)) + 1):
        is_c = y == c
        if min(_fewest(is_c[:half]), _fewest(is_c[half:])) < _LEAST_ROWS:
            continue
        n_bins = bins.max() + 1
        hits = np.bincount(bins[:half], is_c[:half], minlength=n_bins)
        rows = np.bincount(bins[:half], minlength=n_bins)
        share = (hits + is_c[:half].mean()) / (rows + 1)
        if _area(share[bins[half:]], is_c[half:]) > _AREA:
            return (
                f"{name!r} alone nearly decides the target: make sure that it is known "
                "before the target is, or leave it out with ignore=[...]."
            )
    return None


def _leaves(values: np.ndarray, y: np.ndarray, n_fit: int) -> np.ndarray:
    """Leaf of each number in a small tree of the first rows; 0 where it is missing."""
    is_missing = np.isnan(values)
    known = np.flatnonzero(~is_missing)
    if len(known) == 0 or known[0] >= n_fit:
        return np.zeros(len(values), np.int64)
    ranks = np.searchsorted(np.unique(values[known]), values)[:, None]
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)
    first = known[known < n_fit]
    leaves = tree.fit(ranks[first], y[first]).apply(ranks)
    return np.where(is_missing, 0, leaves)


def _fewest(flags: np.ndarray) -> int:
    n = int(np.count_nonzero(flags))
    return min(n, len(flags) - n)


def _area(scores: np.ndarray, is_c: np.ndarray) -> float:
    """Area under the ROC curve, ties counted half."""
    ordered = np.sort(scores[~is_c])
    below = np.searchsorted(ordered, scores[is_c], side="left")
    upto = np.searchsorted(ordered, scores[is_c], side="right")
    return float((below + upto).mean() / 2 / len(ordered))
