"""Whole files."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from locallin.data._origins import files_of, open_table
from locallin.data.batching import make_batches
from locallin.data.blocks import joined
from locallin.data.columns import Columns, as_labels, label_kind
from locallin.data.source import DataError, Options

_BLOCK = 4096


class Data(NamedTuple):
    """Rows, their labels or None, and the names of the features or None.

    See Also
    --------
    read : Makes it from a file.
    Batches : The same in blocks.
    """

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
    format : {"libsvm", "csv", "parquet", "arrow", "npz", "npy"} or None, default=None
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

    See Also
    --------
    batches : The same files in blocks, larger than memory.
    Data : What it returns.
    sklearn.datasets.load_svmlight_file : One of the formats, by scikit-learn.

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


def load(path, options: Options, classes=None) -> tuple[Data, Columns, Any]:
    """Read a file; also tell which columns were taken, and weights or None."""
    with open_table(path, options) as table:
        X, y, *weights = joined(
            list(table.blocks(table.n_rows or _BLOCK)) or [(None, None)]
        )
        if X is None:
            raise DataError(f"{table.name} has no rows.")
        if y is not None:
            y = as_labels(table.name, y, label_kind(y if classes is None else classes))
        data = Data(X, y, table.columns.names)
        return data, table.columns, weights[0] if weights else None


def head(source, options: Options) -> tuple[Any, Columns]:
    """The first rows of files, and which columns were taken."""
    with open_table(files_of(source)[0], options) as table:
        X, *_ = next(iter(table.blocks(_BLOCK)), (None,))
        if X is None:
            raise DataError(f"{table.name} has no rows.")
        return X, table.columns


def blocks(path, size: int, options: Options, classes=None) -> Iterator[tuple]:
    """Blocks of rows and labels of whatever gives rows."""
    yield from make_batches(path, size, options, classes)
