"""Streams of blocks that can be gone through again and again."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from locallin.data._origins import (
    ArrayRows,
    BlockRows,
    DatasetRows,
    FileRows,
    dataset_of,
)
from locallin.data._tables import Origin
from locallin.data._typed import TypedRows
from locallin.data.blocks import after, has_columns, regrouped
from locallin.data.columns import as_labels, label_kind
from locallin.data.frames import Signs
from locallin.data.source import DataError, Options


class Batches:
    """Rows in blocks, in memory for a block.

    Made by :func:`batches` and :func:`as_batches`. Every ``iter()`` begins a new pass
    from the first row; standard input, and an iterator that is used up, give one pass
    and then a :class:`DataError`. ``next()`` moves one pass of the object's own on.

    Attributes
    ----------
    size : int or None
        Rows of a block; None are blocks as they come.
    once : bool
        Whether there is one pass only.

    See Also
    --------
    batches : Makes them from files.
    as_batches : Makes them from arrays, iterators and datasets.
    """

    def __init__(self, origin: Origin, size: int | None = None, classes=None):
        if size is not None and size < 1:
            raise ValueError(f"size={size!r} is not a number of rows.")
        self._origin = origin
        self.size = origin.default_size if size is None else size
        self.once: bool = origin.once
        self._classes = classes
        self._kind = None if classes is None else label_kind(classes)
        self._width: int | None = None
        self._own_pass: Iterator[tuple] | None = None

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return self._origin.name

    @property
    def n_rows(self) -> int | None:
        """The number of rows, or None where only a pass would tell."""
        return self._origin.about.n_rows

    @property
    def n_features(self) -> int | None:
        """The number of features, or None where it is not known yet."""
        return self._origin.about.n_features or self._width

    @property
    def names(self) -> list[str] | None:
        """The names of the features, or None."""
        return self._origin.about.names

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns of tables are, by name; empty where files tell nothing."""
        return getattr(self._origin, "kinds", {})

    def __repr__(self) -> str:
        return f"Batches({self.name!r}, size={self.size})"

    def __iter__(self) -> Iterator[tuple]:
        return self.iterate()

    def __next__(self) -> tuple:
        if self._own_pass is None:
            self._own_pass = self.iterate()
        return next(self._own_pass)

    def iterate(self, skip: int = 0) -> Iterator[tuple]:
        """Begin a pass after some rows.

        Rows are skipped without being parsed where the format allows it: by position
        in .npy files, by row groups in Parquet files, by lines in text.

        Parameters
        ----------
        skip : int, default=0
            Rows to pass over. A pass that skips all rows is empty; more than that is
            a DataError.

        Yields
        ------
        X : {ndarray, CSR matrix, table} of shape (n_rows, n_features)
            A block of rows.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets), or None
            Their labels.
        weights : ndarray of shape (n_rows,)
            Their weights, where the source has any: blocks are then of three parts.
        """
        if skip < 0:
            raise ValueError(f"skip={skip!r} is negative.")
        if self.once:
            self._use_up()
        return self._pass(skip)

    def _use_up(self) -> None:
        if self._origin.used:
            raise DataError(
                f"{self.name} can be read once only, and was: give a file, or a "
                "function that returns a new iterator."
            )
        self._origin.used = True

    def _pass(self, skip: int) -> Iterator[tuple]:
        empty = True
        for X, y, *weights in self._blocks(skip):
            empty = False
            self._width = X.shape[1]
            yield X, self._labels(y), *weights
        if empty and not skip:
            raise DataError(f"{self.name} has no rows.")

    def _blocks(self, skip: int) -> Iterator[tuple]:
        if not skip or self._kind is not None or self._origin.typed:
            return self._origin.blocks(self.size, skip)
        # The labels of the first block say what the labels of all others are.
        from_start = self._kept(self._origin.blocks(self.size, 0))
        if self.once:
            rows = after(self.name, from_start, skip)
            return rows if self.size is None else regrouped(rows, self.size)
        next(from_start, None)
        return self._origin.blocks(self.size, skip)

    def _kept(self, blocks: Iterator[tuple]) -> Iterator[tuple]:
        """The same blocks, whose kind of labels is remembered."""
        for block in blocks:
            self._labels(block[1])
            yield block

    def _labels(self, y) -> np.ndarray | None:
        if y is None or (self._origin.typed and self._classes is None):
            return y
        if self._kind is None:
            self._kind = label_kind(y)
        return as_labels(self.name, y, self._kind)


def batches(
    source,
    size: int | None = 4096,
    *,
    format: str | None = None,
    label: str | int | None = "auto",
    weight: str | int | None = None,
    labels=None,
    weights=None,
    features: int | Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    zero_based: bool = False,
    classes=None,
    table: bool = False,
) -> Batches:
    r"""Rows in blocks, from files or folders of any size, arrays or iterators.

    The labels of all blocks have one type: that of ``classes`` where these are given,
    otherwise that of the first block (those of arrays and iterators stay as they are).
    A LIBSVM file whose number of features is not given is searched for it once, before
    the first block. A sparse .npz file is loaded as a whole.

    Parameters
    ----------
    source : path, list of paths, tuple of arrays, iterable or callable
        - A file, or "-" for standard input.
        - A folder, a pattern such as "parts/\*.parquet", or a list: its files are one
          stream, those of a folder or a pattern in sorted order. All have the same
          columns.
        - A folder of folders with Parquet files (Arrow: ``format="arrow"``), which may
          be named by values ("year=2020"), or a dataset of pyarrow.
        - Arrays in memory: X, (X, y) or (X, y, weights), X dense or CSR.
        - An iterable of blocks (X, y) or (X, y, weights), or a callable that returns
          one for each pass.
    size : int or None, default=4096
        Rows of a block; only the last may have less. None takes the blocks of an
        iterable as they come, and is 4096 for files and arrays.
    format, label, features, delimiter, header, zero_based, classes
        As in :func:`read`.
    weight : str, int or None, default=None
        Name or position (from 0, negative from the end) of a column with the weights
        of the rows, in CSV, Parquet and Arrow files.
    labels, weights : path, array or None, default=None
        Labels and weights of a .npy file: .npy files as well, or arrays.
    table : bool, default=False
        Whether rows are tables, with columns of any kind and gaps, for estimators that
        take such: pandas frames from files (Arrow tables where there is no pandas),
        and the tables of others as they are. What the columns of CSV are, numbers,
        text, truth values or dates, is found in one pass over all rows.

    Returns
    -------
    Batches
        An object that can be iterated again and again, see there. A block is (X, y),
        or (X, y, weights) where there are weights; y is None where there are no
        labels.

    Raises
    ------
    DataError
        Here or while iterating, where the source cannot be read as rows of numbers
        with labels.

    See Also
    --------
    read : A file as a whole.
    as_batches : Arrays, iterators and datasets as blocks.
    write_predictions : Predictions for a file, in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin.data import batches
    >>> X, y = np.arange(10.0).reshape(5, 2), np.array([0, 1, 0, 1, 0])
    >>> blocks = batches((X, y), size=2)
    >>> [len(labels) for _, labels in blocks]
    [2, 2, 1]
    >>> blocks.n_rows, blocks.n_features
    (5, 2)
    >>> next(blocks.iterate(skip=3))
    (array([[6., 7.],
           [8., 9.]]), array([1, 0]))
    """
    options = Options(
        format,
        label,
        features,
        delimiter,
        header,
        zero_based,
        labels=labels,
        weights=weights,
        weight=weight,
        table=table,
    )
    if table:
        return make_tables(source, size, options, classes)
    return make_batches(source, size, options, classes)


def as_batches(source, size: int | None = None, **options: Any) -> Batches:
    """Whatever gives rows, as an object that gives blocks in passes.

    Parameters
    ----------
    source : Batches, path, list of paths, tuple of arrays, iterable or callable
        As in :func:`batches`; a Batches object comes back as it is, or with blocks of
        another size.
    size : int or None, default=None
        Rows of a block; None takes blocks as they come, and is 4096 for files and
        arrays.
    **options
        As in :func:`batches`.

    Returns
    -------
    Batches
        See :func:`batches`.

    See Also
    --------
    batches : Files as blocks.
    Batches : What it returns.
    locallin.DULLSVMClassifier.fit_stream : Learns from them.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin.data import as_batches
    >>> def stream():
    ...     for label in (0, 1):
    ...         yield np.full((2, 3), label), np.full(2, label)
    >>> blocks = as_batches(stream)
    >>> [y.tolist() for _, y in blocks], [y.tolist() for _, y in blocks]
    ([[0, 0], [1, 1]], [[0, 0], [1, 1]])
    """
    if not isinstance(source, Batches):
        return batches(source, size, **options)
    if options:
        raise TypeError(f"{source!r} has been opened: it takes no {sorted(options)}.")
    if size is None or size == source.size:
        return source
    return Batches(source._origin, size, source._classes)


def make_batches(source, size: int | None, options: Options, classes=None) -> Batches:
    """Batches of whatever gives rows."""
    if dataset := dataset_of(source, options):
        return Batches(DatasetRows(dataset, options), size, classes)
    if is_files(source):
        return Batches(FileRows(source, options), size, classes)
    if options != Options(with_labels=options.with_labels, table=options.table):
        raise TypeError("Only files are read with options: arrays and blocks are rows.")
    if _is_matrix(source):
        source = (source,)
    if isinstance(source, tuple) and source and _is_matrix(source[0]):
        if options.table and has_columns(source[0]):
            parts = (*source, None) if len(source) == 1 else source
            return Batches(BlockRows([parts], tables=True), size, classes)
        return Batches(ArrayRows(source), size, classes)
    if not (callable(source) or isinstance(source, Iterable)):
        raise TypeError(
            f"rows come from files, arrays, iterables or callables, not from a "
            f"{type(source).__name__}."
        )
    return Batches(BlockRows(source, tables=options.table), size, classes)


def make_tables(
    source,
    size: int | None,
    options: Options,
    classes=None,
    given: Mapping[str, str] | None = None,
    signs: Signs | None = None,
) -> Batches:
    """Batches of tables, with columns of the kinds that a pass over files finds.

    ``given`` are kinds of columns that are known, ``signs`` those in numbers.
    """
    found = make_batches(source, size, options, classes)
    if not (is_files(source) or dataset_of(source, options)):
        return found
    return Batches(TypedRows(found._origin, given, signs), size, classes)


def is_files(source) -> bool:
    """Whether a source is a path, or a list of paths."""
    if isinstance(source, list | tuple):
        return bool(source) and is_files(source[0])
    return isinstance(source, str | os.PathLike)


def _is_matrix(value) -> bool:
    return len(getattr(value, "shape", ())) == 2
