"""What a user should know of a column before trusting a model of it."""

import re

import numpy as np

from locallin.encoding._bins import distinct_values, quantile_edges
from locallin.encoding._columns import TEXT, Column
from locallin.encoding._fitting import Raw

_ID_NAME = re.compile(r"(^|[_\W])(id|ids|key|uuid|guid|index)$|[a-z]I[dD]$", re.I)
# Rows, levels, bins of numbers and area under the curve that decide whether a column
# gives y away.
_ROWS, _LEVELS, _BINS, _AREA = 5000, 64, 256, 0.995
_LEAST_ROWS = 20


def notes_on(
    columns: list[Column | None], raws: list[Raw], names: list[str], y
) -> list[str]:
    """Notes on the columns; None stands for one that is left out.

    y are classes, or None.
    """
    classes = None
    if y is not None:
        chosen = np.random.RandomState(0).permutation(len(y))[:_ROWS]
        classes = np.unique(np.asarray(y)[chosen], return_inverse=True)[1]
    notes = []
    for name, column, raw in zip(names, columns, raws, strict=True):
        if column is None:
            continue
        found = _identifier_note(name, column)
        if found is None and classes is not None and not raw.is_empty:
            found = _leak_note(name, raw, classes, chosen)
        if found is not None:
            notes.append(found)
    return notes


def _identifier_note(name: str, column: Column) -> str | None:
    """A note where each row has a value of its own that is no measurement."""
    if column.kind == TEXT:
        assert column.codes is not None
        assert column.levels is not None
        there = column.codes[column.codes >= 0]
        repeats = len(column.levels) < len(there)
    elif column.is_integer and _ID_NAME.search(name):
        assert column.values is not None
        there = column.values[~np.isnan(column.values)]
        repeats = _repeats(there[:_ROWS])
    else:
        return None
    if repeats or len(there) < _LEAST_ROWS or _repeats(there):
        return None
    if column.kind == TEXT:
        return (
            f"{name!r} has another level in every row: it looks like an identifier or "
            "like free text, and nothing is made of it. Leave it out with ignore=[...]."
        )
    return (
        f"{name!r} looks like an identifier: integers, each once. It is taken as a "
        "number; leave it out with ignore=[...]."
    )


def _repeats(values: np.ndarray) -> bool:
    return len(np.unique(values)) < len(values)


def _leak_note(name: str, raw: Raw, y: np.ndarray, chosen) -> str | None:
    """A note where the column alone nearly tells a class from all others.

    Half of the chosen rows, whose classes are y, estimate their shares at levels or in
    bins, the other half is ranked by them.
    """
    half = len(chosen) // 2
    if raw.values is not None:
        bins = _number_bins(raw.values[chosen], half)
    else:
        bins = np.clip(raw.places()[chosen], -1, _LEVELS) + 1
    n_bins = bins.max() + 1
    n_classes = int(y.max(initial=0)) + 1
    # What tells one of two classes tells the other.
    for c in range(n_classes == 2, n_classes):
        is_c = y == c
        if min(_fewest(is_c[:half]), _fewest(is_c[half:])) < _LEAST_ROWS:
            continue
        rows, hits = _counts(bins[:half], is_c[:half], n_bins)
        share = (hits + is_c[:half].mean()) / (rows + 1)
        if _area(share, *_counts(bins[half:], is_c[half:], n_bins)) > _AREA:
            return (
                f"{name!r} alone nearly decides the target: make sure that it is known "
                "before the target is, or leave it out with ignore=[...]."
            )
    return None


def _number_bins(values: np.ndarray, n_fit: int) -> np.ndarray:
    """Bin of each number by quantiles of the first rows; 0 where it is missing."""
    n_bins = min(_BINS, max(n_fit // 4, 2))
    edges = quantile_edges(distinct_values(values[:n_fit], with_inverse=False), n_bins)
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, "right") + 1)


def _counts(bins: np.ndarray, is_c: np.ndarray, n_bins: int) -> tuple:
    """Rows in each bin, and those of the class."""
    return np.bincount(bins, minlength=n_bins), np.bincount(
        bins[is_c], minlength=n_bins
    )


def _fewest(flags: np.ndarray) -> int:
    n = int(np.count_nonzero(flags))
    return min(n, len(flags) - n)


def _area(share: np.ndarray, rows: np.ndarray, hits: np.ndarray) -> float:
    """Area under the ROC curve of shares of bins, ties counted half."""
    _, rank = np.unique(share, return_inverse=True)
    others = np.bincount(rank, rows - hits)
    upto = np.cumsum(others)
    both = upto[rank] - others[rank] / 2
    return float((hits * both).sum() / hits.sum() / upto[-1])
