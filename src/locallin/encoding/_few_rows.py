"""A few rows of a table, cell by cell.

A library's own way from a table to columns is made for many rows: for one it takes
longer than all that follows. Cells that are not plain values are left to it.
"""

from collections.abc import Callable
from datetime import date
from math import isfinite, nan

import numpy as np

from locallin.encoding._columns import DATE, level_name
from locallin.encoding._dates import weekdays
from locallin.encoding._fitting import CATEGORY, CONSTANT, IGNORED, Raw
from locallin.encoding._levels import LevelPlaces

# Rows up to which cells are faster.
MOST = 16
_NUMBERS = (int, float, np.integer, np.floating)
_DAY = 8.64e10  # microseconds


class _Other(Exception):
    """A cell is none of the plain values."""


def read_cells(X) -> list[list] | None:
    """Rows as lists of plain values: of an array, or of a pandas frame; or None."""
    if X.shape[0] > MOST:
        return None
    if not isinstance(X, np.ndarray):
        if not hasattr(X, "iloc"):
            return None
        X = X.values
    return X.tolist() if X.dtype.kind in "biufO" else None


def few_rows(rows: list[list], kinds: list[str], levels: list[LevelPlaces]):
    """Columns of rows in numbers, as ``raw_rows`` makes them; None where it has to."""
    try:
        return [
            _column([row[j] for row in rows], kind, levels[j])
            for j, kind in enumerate(kinds)
        ]
    except (_Other, OverflowError):
        return None


def _column(cells: list, kind: str, levels: LevelPlaces) -> Raw:
    if kind in (CONSTANT, IGNORED):
        return Raw()
    if kind == CATEGORY:
        return Raw(codes=np.array([_code(c, levels) for c in cells], np.int32))
    read: Callable = _days if kind == DATE else _number
    values = np.array([read(cell) for cell in cells])
    return Raw(values, weekdays(values) if kind == DATE else None)


def _code(cell, levels: LevelPlaces) -> int:
    if cell is None or (isinstance(cell, _NUMBERS) and cell != cell):
        return -1
    if not isinstance(cell, str):
        if not isinstance(cell, (*_NUMBERS, bool, np.bool_)):
            raise _Other
        cell = level_name(cell)
    return levels.of_name.get(cell, levels.other)


def _number(cell) -> float:
    if cell is None:
        return nan
    if not isinstance(cell, (*_NUMBERS, np.bool_)):
        raise _Other
    number = float(cell)
    if isfinite(number) or number != number:
        return number
    raise _Other


def _days(cell) -> float:
    if cell is None:
        return nan
    if not isinstance(cell, date):
        raise _Other
    if cell != cell:  # NaT
        return nan
    if getattr(cell, "tzinfo", None) is not None:
        raise _Other
    exact = getattr(cell, "to_datetime64", None)
    stamp = np.datetime64(cell) if exact is None else exact()
    return int(stamp.astype("datetime64[us]").astype(np.int64)) / _DAY
