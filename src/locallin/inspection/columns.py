"""Columns of tables: values as they are shown, and rows with other values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def column_names(X) -> list[str] | None:
    """Names of the columns of a frame, None for anything else."""
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    return None if columns is None else [str(name) for name in columns]


def count_columns(X) -> int:
    """Number of columns of a table; 0 for a list of texts."""
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    return shape[1] if len(shape) == 2 else 0


def is_missing(value) -> bool:
    """Whether a cell holds nothing."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True  # pandas.NA is neither equal nor different
    except ValueError:
        return False  # an array in a cell


def is_number(value) -> bool:
    """Whether a cell holds a number, and not a truth value."""
    plain = isinstance(value, int | float | np.integer | np.floating)
    return plain and not isinstance(value, bool)


def column(X, place: int) -> np.ndarray:
    """One column as an array: of numbers, or of objects in which NaN is missing."""
    if hasattr(X, "iloc"):
        cells = X.iloc[:, place]
    elif hasattr(X, "get_column"):
        cells = X.get_column(X.columns[place])
    elif hasattr(X, "column_names"):
        cells = np.array([*X.column(int(place)).to_pylist(), None], dtype=object)[:-1]
    else:
        cells = (X if hasattr(X, "dtype") else np.array(X, dtype=object))[:, place]
    numbers = np.asarray(cells)
    if numbers.dtype.kind in "iuf":
        return numbers
    cells = cells.to_list() if hasattr(cells, "to_list") else cells.tolist()
    made = np.empty(len(cells), dtype=object)
    made[:] = [np.nan if is_missing(cell) else cell for cell in cells]
    present = [cell for cell in made if cell == cell]
    if present and all(map(is_number, present)):
        return made.astype(float)
    return made


def each_column(X, places: np.ndarray) -> list[np.ndarray]:
    """Some columns of a table as arrays of their own."""
    if sparse.issparse(X):
        return list(X.tocsc()[:, places].toarray().T)
    return [column(X, place) for place in places]


def cells_of(X, places: np.ndarray) -> np.ndarray:
    """Some columns of a table as one array, of numbers where all of them are."""
    if sparse.issparse(X):
        return X.tocsc()[:, places].toarray()
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return X[:, places]
    return side_by_side(each_column(X, places), count_rows(X))


def side_by_side(columns: list[np.ndarray], n_rows: int) -> np.ndarray:
    """Arrays beside each other, of numbers where all of them are."""
    if not columns:
        return np.empty((n_rows, 0))
    if all(one.dtype.kind in "iuf" for one in columns):
        return np.column_stack(columns)
    table = np.empty((n_rows, len(columns)), dtype=object)
    for place, one in enumerate(columns):
        table[:, place] = one
    return table


def rows_at(X, rows):
    """Some rows of a matrix, a frame or a list, by an array of positions."""
    if sparse.issparse(X):
        return X.tocsr()[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.take(rows) if hasattr(X, "column_names") else X[rows]


def some_rows(X, start: int, stop: int):
    """The rows start..stop of a matrix, a frame or a list."""
    if hasattr(X, "column_names"):
        return X.slice(start, stop - start)
    return X.tocsr()[start:stop] if sparse.issparse(X) else X[start:stop]


def count_rows(X) -> int:
    """Number of rows of a matrix, a frame or a list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def index_names(X) -> list[str] | None:
    """Names of the rows of a pandas frame that are not just their numbers."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc"):
        return None
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:
        return None
    return [str(name) for name in index]


def as_frame_like(given, values: np.ndarray):
    """The values, as a frame with the columns of ``given`` where that is one."""
    if column_names(given) is None:
        return values
    columns = list(given.columns)
    if hasattr(given, "iloc"):
        return type(given)(values, columns=columns)
    return type(given)(values, schema=columns)


def with_values(X, place, values):
    """A copy of the rows in which row i has ``values[i]`` in column ``place[i]``.

    Rows whose place is -1 stay as they are. Sparse rows become dense.
    """
    place = np.asarray(place)
    touched = {int(c): np.flatnonzero(place == c) for c in np.unique(place) if c >= 0}
    if hasattr(X, "iloc"):
        X = X.copy()
        for c, rows in touched.items():
            X.isetitem(c, _pandas_cells(X.iloc[:, c], rows, [values[i] for i in rows]))
        return X
    if hasattr(X, "get_column"):
        for c, rows in touched.items():
            cells = X.get_column(X.columns[c])
            X = X.with_columns(_polars_cells(cells, rows, [values[i] for i in rows]))
        return X
    if hasattr(X, "column_names"):
        for c, rows in touched.items():
            cells = X.column(c).to_pylist()
            for i in rows:
                cells[i] = _plain(values[i])
            X = X.set_column(c, X.column_names[c], [cells])
        return X
    table = X.toarray() if sparse.issparse(X) else np.array(X)
    if not hasattr(X, "dtype") and table.dtype.kind not in "iuf":
        table = np.array(X, dtype=object)
    if table.dtype.kind in "iub":
        table = table.astype(float)
    for c, rows in touched.items():
        for i in rows:
            table[i, c] = values[i]
    return table


def _pandas_cells(cells, rows, values: list):
    """A column with other values, of its own kind where that can hold them."""
    made = cells.astype(object)
    made.iloc[rows] = values
    if getattr(cells.dtype, "kind", "O") in "iu":
        if all(float(value).is_integer() for value in values):
            return made.astype(cells.dtype)
        return made.astype(float)
    try:
        same = made.astype(cells.dtype)
    except (TypeError, ValueError):
        return made
    return made if same.isna().sum() > made.isna().sum() else same


def _polars_cells(cells, rows, values: list):
    made: list[Any] = cells.to_list()
    for i, value in zip(rows, values, strict=True):
        made[i] = _plain(value)
    return type(cells)(cells.name, made, strict=False)


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value
