"""What a user should know of a column before trusting a model of it."""

import re
from typing import NamedTuple

import numpy as np

from locallin.encoding._columns import TEXT, Column
from locallin.encoding._fitting import Raw
from locallin.encoding._targets import Told
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import held_out_area

_ID_NAME = re.compile(r"(?i:(^|[_\W])(id|ids|key|uuid|guid|index)$)|[a-z]I[dD]$")
# Rows, those of a class, levels, bins of numbers and area under the curve that decide
# whether a column gives y away. More rows of a frequent class would not tell more.
_ROWS, _OF_CLASS, _LEVELS, _BINS, _AREA = 5000, 1000, 64, 256, 0.995
_LEAST_ROWS = 20
# Rows that are enough to see that most columns repeat, and how many times as many
# values as rows a count may run over: a part of the rows leaves gaps.
_FEW_ROWS, _GAPS = 100, 2
# Free text: so many words a level in the mean of some, and levels for each row.
_WORDS, _READ, _DISTINCT = 4, 200, 0.5
# Levels that rows have to have if so many of them are distinct.
_LEAST_LEVELS = _DISTINCT * _LEAST_ROWS


def notes_on(
    columns: list[Column | None], raws: list[Raw], names: list[str], told: Told | None
) -> list[str]:
    """Notes on the columns; None stands for one that is left out."""
    sample = None
    if told is not None and not told.is_number:
        sample = _sample(told.values)
    notes = []
    for name, column, raw in zip(names, columns, raws, strict=True):
        if column is None:
            continue
        found = None
        if column.levels is None or len(column.levels) >= _LEAST_LEVELS:
            found = _text_note(name, column) or _identifier_note(name, column)
        if found is None and sample is not None and not raw.is_empty:
            found = _leak_note(name, raw, sample)
        if found is not None:
            notes.append(found)
    return notes


def _text_note(name: str, column: Column) -> str | None:
    """A note where most rows have a text of their own, of several words."""
    if column.kind != TEXT:
        return None
    assert column.codes is not None
    assert column.levels is not None
    n_known, n_levels = np.count_nonzero(column.codes >= 0), len(column.levels)
    if n_known < _LEAST_ROWS or n_levels < _DISTINCT * n_known:
        return None
    some = column.levels[:: max(n_levels // _READ, 1)].tolist()
    if np.mean([len(str(text).split()) for text in some]) < _WORDS:
        return None
    return (
        f"{name!r} looks like free text: few rows share a level, and nearly nothing is "
        f"made of it. Its words tell more: ColumnTransformer([('text', "
        f"TfidfVectorizer(), {name!r})], remainder=TableEncoder(), "
        "sparse_threshold=1) goes before the model; or leave it out with ignore=[...]."
    )


def _identifier_note(name: str, column: Column) -> str | None:
    """A note where each row has a value of its own that is no measurement."""
    if column.kind == TEXT:
        assert column.codes is not None
        assert column.levels is not None
        if len(column.levels) < np.count_nonzero(column.codes >= 0):
            return None
        there = column.codes[column.codes >= 0]
    elif column.is_integer:
        assert column.values is not None
        if any(_repeats(_known(column.values[:n])) for n in (_FEW_ROWS, _ROWS)):
            return None
        there = _known(column.values)
    else:
        return None
    if len(there) < _LEAST_ROWS or _repeats(there):
        return None
    if column.kind == TEXT:
        return (
            f"{name!r} has another level in every row: it looks like an identifier, "
            "and nothing is made of it. Leave it out with ignore=[...]."
        )
    if not _ID_NAME.search(name) and not _counts(there):
        return None
    return (
        f"{name!r} looks like an identifier: integers, each once. It is taken as a "
        "number; leave it out with ignore=[...]."
    )


def _counts(values: np.ndarray) -> bool:
    """Whether distinct values are a count in even steps, perhaps with gaps.

    Draws from so narrow a range would repeat: among twice as many values as there are
    rows, no amounts are all distinct by chance.
    """
    steps = np.diff(np.sort(values))
    return steps.sum() < _GAPS * len(values) * steps.min()


def _known(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]


def _repeats(values: np.ndarray) -> bool:
    return len(np.unique(values)) < len(values)


class _Sample(NamedTuple):
    """Rows that tell whether a column gives the target away.

    ``classes`` are flags of those classes that enough of both halves belong to.
    """

    rows: np.ndarray
    classes: list[np.ndarray]


def _sample(codes: np.ndarray) -> _Sample:
    n_rows = min(len(codes), _ROWS)
    rows = np.random.default_rng(0).choice(len(codes), n_rows, replace=False)
    n_classes = int(codes.max(initial=0)) + 1
    own = (np.flatnonzero(codes[rows] == c)[:_OF_CLASS] for c in range(n_classes))
    rows = rows[np.sort(np.concatenate([*own]))]
    codes, half = codes[rows], len(rows) // 2
    # What tells one of two classes tells the other.
    every = (codes == c for c in range(n_classes == 2, n_classes))
    return _Sample(
        rows,
        [
            read_only(flags)
            for flags in every
            if min(_fewest(flags[:half]), _fewest(flags[half:])) >= _LEAST_ROWS
        ],
    )


def _fewest(flags: np.ndarray) -> int:
    n = int(np.count_nonzero(flags))
    return min(n, len(flags) - n)


def _leak_note(name: str, raw: Raw, sample: _Sample) -> str | None:
    """A note where the column alone nearly tells a class from all others.

    Half of the rows estimate the shares of classes at levels or in bins, the other half
    is ranked by them.
    """
    half = len(sample.rows) // 2
    if raw.values is not None:
        bins = _number_bins(raw.values[sample.rows], half)
    else:
        bins = np.minimum(raw.places()[sample.rows], _LEVELS) + np.intp(1)
    n_bins = int(bins.max()) + 1
    areas = (held_out_area(bins, flags, half, n_bins) for flags in sample.classes)
    if not any(area > _AREA for area in areas):
        return None
    return (
        f"{name!r} alone nearly decides the target: make sure that it is known "
        "before the target is, or leave it out with ignore=[...]."
    )


def _number_bins(values: np.ndarray, n_fit: int) -> np.ndarray:
    """Bin of each number: those of the first rows, as many distinct ones in each.

    NaN is above all numbers.
    """
    distinct = np.unique(values[:n_fit])
    n_bins = min(_BINS, max(n_fit // 4, 2), len(distinct))
    edges = distinct[np.arange(n_bins) * (len(distinct) - 1) // max(n_bins - 1, 1)]
    return np.searchsorted(edges, values, "right")
