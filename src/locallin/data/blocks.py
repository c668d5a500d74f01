"""Blocks of rows: tuples of rows, labels and, where there are any, weights."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse

from locallin.data.source import DataError, NoNumbersError


def count(block: tuple) -> int:
    """Number of rows of a block."""
    return block[0].shape[0]


def cut(block: tuple, start: int, stop: int | None = None) -> tuple:
    """The rows start..stop of a block."""
    return tuple(_cut(part, start, stop) for part in block)


def _cut(part, start: int, stop: int | None):
    return None if part is None else taken(part, slice(start, stop))


def is_table(part) -> bool:
    """Whether rows are an Arrow table."""
    return hasattr(part, "column_names")


def _is_pandas(part) -> bool:
    return hasattr(part, "iloc")


def _is_polars(part) -> bool:
    return hasattr(part, "get_columns")


def has_columns(part) -> bool:
    """Whether rows are a table of pandas, polars or Arrow."""
    return is_table(part) or _is_pandas(part) or _is_polars(part)


def column_names(part) -> list[str] | None:
    """Names of the columns of a table; None where rows are a matrix."""
    if not has_columns(part):
        return None
    found = part.column_names if is_table(part) else part.columns
    return [str(name) for name in found]


def taken(part, rows):
    """Some rows of a matrix or a table: a slice, or indices."""
    if _is_pandas(part):
        return part.iloc[rows]
    if not is_table(part):
        return part[rows]
    if not isinstance(rows, slice):
        return part.take(rows)
    start, stop, _ = rows.indices(part.num_rows)
    return part.slice(start, max(0, stop - start))


def as_values(part):
    """Rows as arrays or lists, in a form that depends on their values alone."""
    if _is_pandas(part):
        return part.astype(object).to_numpy().tolist()
    if _is_polars(part):
        return part.rows()
    if is_table(part):
        return part.to_pylist()
    return part.toarray() if sparse.issparse(part) else part


def joined(blocks: Sequence[tuple]) -> tuple:
    """Blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    return tuple(stacked(parts) for parts in zip(*blocks, strict=True))


def stacked(parts):
    """Arrays, tables, or CSR matrices in the width of the widest, as one."""
    if parts[0] is None:
        return None
    if has_columns(parts[0]):
        return _stacked_tables(parts)
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return sparse.vstack([_widened(part, width) for part in parts], format="csr")


def _stacked_tables(parts):
    """Tables of one kind as one; types that differ give way to what holds both."""
    if _is_pandas(parts[0]):
        import pandas

        return pandas.concat(_with_common_categories(parts), ignore_index=True)
    if _is_polars(parts[0]):
        import polars

        return polars.concat(parts, how="vertical_relaxed")
    import pyarrow

    return pyarrow.concat_tables(parts, promote_options="permissive")


def _with_common_categories(frames) -> list:
    """The frames, with the categories of all in each: else they would be no more."""
    from pandas import CategoricalDtype

    kinds = {}
    for name in frames[0].columns:
        dtypes = [frame[name].dtype for frame in frames]
        if not all(isinstance(dtype, CategoricalDtype) for dtype in dtypes):
            continue
        if any(dtype != dtypes[0] for dtype in dtypes):
            levels = dict.fromkeys(
                level for dtype in dtypes for level in dtype.categories
            )
            kinds[name] = CategoricalDtype(list(levels))
    return [frame.astype(kinds) for frame in frames] if kinds else list(frames)


def _widened(X, width: int):
    """A CSR matrix with more columns; the one that is given may be the caller's."""
    if X.shape[1] == width:
        return X
    return sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))


def regrouped(blocks: Iterable[tuple], size: int) -> Iterator[tuple]:
    """The same rows in blocks of one size; only the last may be shorter."""
    held, rows = [], 0
    for block in blocks:
        n_rows, start = count(block), 0
        while start < n_rows:
            stop = min(n_rows, start + size - rows)
            whole = start == 0 and stop == n_rows
            held.append(block if whole else cut(block, start, stop))
            rows, start = rows + stop - start, stop
            if rows == size:
                yield joined(held)
                held, rows = [], 0
    if held:
        yield joined(held)


def after(name: str, blocks: Iterable[tuple], skip: int) -> Iterator[tuple]:
    """The blocks without their first rows."""
    left = skip
    for block in blocks:
        n_rows = count(block)
        if left < n_rows:
            yield cut(block, left) if left else block
        left = max(0, left - n_rows)
    check_skipped(name, skip, left)


def check_skipped(name: str, skip: int, left: int) -> None:
    """Refuse to skip more rows than there are."""
    if left:
        raise DataError(
            f"{name} has {skip - left} rows, so {skip} cannot be skipped: is it the "
            "source that was read before?"
        )


def check_finite(name: str, X, start: int, names: list[str] | None) -> None:
    """Name the first entry that is NaN or infinite."""
    values = X.data if sparse.issparse(X) else X
    if np.isfinite(values).all():
        return
    if sparse.issparse(X):
        X = X.tocoo()
        bad = np.flatnonzero(~np.isfinite(X.data))[0]
        row, column, value = X.row[bad], X.col[bad], X.data[bad]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
        value = X[row, column]
    label = f"{column + 1}" if names is None else repr(names[column])
    raise NoNumbersError(
        f"{name}, row {start + row + 1}, column {label}: the value is {value}. Fill it "
        "or remove the row or the column."
    )
