"""Whole files, and files block by block."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from locallin.data._arrays import NpzTable, ParquetTable
from locallin.data._columns import Columns, as_labels, label_kind
from locallin.data._csv import CsvTable
from locallin.data._libsvm import LibsvmTable
from locallin.data._source import DataError, Options, open_source

_TABLES = {
    "csv": CsvTable,
    "libsvm": LibsvmTable,
    "parquet": ParquetTable,
    "npz": NpzTable,
    "npy": NpzTable,
}
_BLOCK = 4096


class Data(NamedTuple):
    """Rows, their labels or None, and the names of the features or None."""

    X: Any
    y: np.ndarray | None
    names: list[str] | None


def read(
    path,
    *,
    format: str | None = None,
    label: str | int | None = "auto",
    features: int | Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    zero_based: bool = False,
    classes=None,
) -> Data:
    r"""Read a file of rows.

    Parameters
    ----------
    path : str or path-like
        The file, or "-" for standard input. Text may be packed (.gz, .bz2, .xz).
    format : {"libsvm", "csv", "parquet", "npz", "npy"} or None, default=None
        None goes by the extension, or else by the first bytes.
    label : str, int or None, default="auto"
        Name or position (from 0, negative from the end) of the label column of CSV
        and Parquet files; None where there is none. "auto" is the column named
        label, class, target or y, or else the last one.
    features : int, list of str or None, default=None
        Number or names of the features that are expected. A label is then optional,
        named columns are found by name, and other columns are left out.
    delimiter : str or None, default=None
        Delimiter of CSV files; None finds it.
    header : bool or None, default=None
        Whether the first line of a CSV file is a header; None looks whether a cell of
        it is text above numbers.
    zero_based : bool, default=False
        Whether the features of a LIBSVM file are counted from 0.
    classes : array-like or None, default=None
        Classes that are expected: labels then have their type. None makes labels
        that are all numbers numbers.

    Returns
    -------
    Data
        A named tuple ``(X, y, names)``: an array or CSR matrix, labels or None, names
        of the features or None.

    Raises
    ------
    DataError
        Where the file cannot be read as rows of numbers with labels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from locallin.data import read
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "flowers.csv")
    ...     _ = file.write_text("width,length,class\n1,2,rose\n3,4,lily\n")
    ...     X, y, names = read(file)
    >>> X
    array([[1., 2.],
           [3., 4.]])
    >>> y.tolist(), names
    (['rose', 'lily'], ['width', 'length'])
    """
    options = Options(format, label, features, delimiter, header, zero_based)
    return load(path, options, classes)[0]


def load(path, options: Options, classes=None) -> tuple[Data, Columns]:
    """Read a file; also tell which columns were taken."""
    with open_source(path, options.format) as source:
        table = _TABLES[source.format](source, options)
        parts = list(table.blocks(_BLOCK))
        if not parts:
            raise DataError(f"{source.name} has no rows.")
        X = _stacked([X for X, _ in parts])
        y = None
        if parts[0][1] is not None:
            y = np.concatenate([y for _, y in parts])
            y = as_labels(source.name, y, _kind(y, classes))
        return Data(X, y, table.columns.names), table.columns


def batches(
    path,
    size: int = _BLOCK,
    *,
    format: str | None = None,
    label: str | int | None = "auto",
    features: int | Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    zero_based: bool = False,
    classes=None,
) -> Iterator[tuple[Any, np.ndarray | None]]:
    """Read a file block by block, in memory for a block.

    The labels of all blocks have one type: that of ``classes`` where these are given,
    otherwise that of the first block. A LIBSVM file whose number of features is not
    given is read twice. A sparse .npz file is loaded as a whole.

    Parameters
    ----------
    path : str or path-like
        The file, or "-" for standard input.
    size : int, default=4096
        Rows of a block.
    format, label, features, delimiter, header, zero_based, classes
        As in :func:`read`.

    Yields
    ------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)
        A block of rows.
    y : ndarray of shape (n_rows,) or None
        Their labels.

    Raises
    ------
    DataError
        Where the file cannot be read as rows of numbers with labels.
    """
    options = Options(format, label, features, delimiter, header, zero_based)
    yield from blocks(path, size, options, classes)


def blocks(path, size: int, options: Options, classes=None) -> Iterator[tuple]:
    """Blocks of a file, with labels of one type."""
    with open_source(path, options.format) as source:
        if source.format == "libsvm" and options.features is None:
            options = replace(options, features=_width(path, size, options))
        table = _TABLES[source.format](source, options)
        kind, empty = None, True
        for X, y in table.blocks(size):
            empty = False
            if y is not None:
                kind = kind or _kind(y, classes)
                y = as_labels(source.name, y, kind)
            yield X, y
        if empty:
            raise DataError(f"{source.name} has no rows.")


def _width(path, size: int, options: Options) -> int:
    """The number of features of a LIBSVM file."""
    if str(path) == "-":
        raise DataError(
            "A LIBSVM stream that is read in blocks needs the number of features."
        )
    with open_source(path, options.format) as source:
        table = LibsvmTable(source, options)
        return max((X.shape[1] for X, _ in table.blocks(size)), default=0)


def _kind(y, classes) -> str:
    return label_kind(y if classes is None else classes)


def _stacked(parts):
    if len(parts) == 1:
        return parts[0]
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], width)
    return sparse.vstack(parts, format="csr")
