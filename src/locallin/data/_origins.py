"""Origins of the blocks of a stream: files, arrays, iterables."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from glob import glob
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from locallin.data._arrays import ArrayTable, NpyTable, NpzTable
from locallin.data._arrow import Dataset, DatasetTable, IpcTable, ParquetTable
from locallin.data._csv import CsvTable
from locallin.data._csv_cells import CsvCells
from locallin.data._libsvm import LibsvmTable, largest_index
from locallin.data._tables import About, Block, Table
from locallin.data.blocks import (
    after,
    check_skipped,
    column_names,
    count,
    has_columns,
    regrouped,
)
from locallin.data.source import (
    DataError,
    NoNumbersError,
    Options,
    Source,
    check_format,
    open_source,
)
from locallin.engine.input import sound_matrix
from locallin.engine.optional import install_hint

_TABLES: dict[str, Callable[[Source, Options], Table]] = {
    "csv": CsvTable,
    "libsvm": LibsvmTable,
    "parquet": ParquetTable,
    "arrow": IpcTable,
    "npz": NpzTable,
    "npy": NpyTable,
}
_BLOCK = 4096
_WITH_COLUMNS = ("csv", "parquet", "arrow")


@contextmanager
def open_table(path, options: Options) -> Iterator[Table]:
    """A file as a table that can skip rows and be read in blocks."""
    with open_source(path, options.format) as source:
        _check_beside(source.name, source.format, options)
        if options.table and source.format == "csv" and find_spec("pyarrow"):
            yield CsvCells(source, options)
        else:
            with _advice(options):
                yield _TABLES[source.format](source, options)


@contextmanager
def _advice(options: Options) -> Iterator[None]:
    """Say what reads text and gaps where a table was wanted."""
    try:
        yield
    except NoNumbersError as error:
        if not options.table:
            raise
        raise NoNumbersError(
            f"{error} Tables with text and gaps are read by pyarrow: "
            f"{install_hint('io')}."
        ) from None


def _check_beside(name: str, format: str, options: Options) -> None:
    """Refuse labels and weights in places where they cannot be."""
    beside = options.labels is not None or options.weights is not None
    if beside and format != "npy":
        raise ValueError(
            f"{name}: labels and weights stand in files of their own only beside .npy "
            "files."
        )
    if options.weight is not None and format not in _WITH_COLUMNS:
        raise ValueError(
            f"{name}: a weight column is for {', '.join(_WITH_COLUMNS)} files, not for "
            f"{format}."
        )


def files_of(source) -> list:
    """The files that a path, a folder, a pattern or a list stands for."""
    if isinstance(source, list | tuple):
        files = [file for one in source for file in files_of(one)]
        return _filled(source, files) if len(files) > 1 else files
    path = Path(source)
    if str(source) == "-" or path.is_file():
        return [source]
    if path.is_dir():
        found = [file for file in path.iterdir() if file.name[0] not in "._"]
        if any(file.is_dir() for file in found):
            raise DataError(
                f"{path} holds folders: give it alone, or a pattern (such as "
                f"'{path}/*/*.parquet'), or a list of files."
            )
    elif any(sign in str(source) for sign in "*?["):
        found = [Path(file) for file in glob(str(source)) if Path(file).is_file()]
    else:
        path.stat()  # raises where there is nothing
        return [source]  # a pipe or a device
    return sorted(_filled(source, found))


def dataset_of(source, options: Options) -> Dataset | None:
    """A dataset of pyarrow, or a folder that holds folders, as a dataset."""
    arrow = sys.modules.get("pyarrow.dataset")
    if arrow and isinstance(source, arrow.Dataset):
        return Dataset("the dataset", source)
    if not isinstance(source, str | PathLike) or not Path(source).is_dir():
        return None
    inside = Path(source).iterdir()
    if any(place.is_dir() and place.name[0] not in "._" for place in inside):
        return Dataset.of_folder(Path(source), options.format)
    return None


def _filled(source, files: list) -> list:
    files = [file for file in files if Path(file).stat().st_size]
    if not files:
        raise DataError(f"{source} holds no files with rows.")
    return files


class FileRows:
    """The rows of files, one after the other, or of standard input."""

    typed = used = False
    default_size = _BLOCK

    def __init__(self, source, options: Options):
        check_format(options.format)
        self._files = files_of(source)
        self._options = options
        self.once = [str(file) for file in self._files] == ["-"]
        self.name = "standard input" if self.once else str(source)
        if len(self._files) > 1 and isinstance(source, list | tuple):
            self.name = f"{self._files[0]} and {len(self._files) - 1} more files"
        self._width: int | None = None

    @cached_property
    def about(self) -> About:
        """Facts from the heads of the files, which must have the same columns."""
        if self.once:
            return About(None, self._options.n_features)
        with open_table(self._files[0], self._options) as first:
            self._options = first.settled(self._options)
        n_rows = [first.n_rows]
        for file in self._files[1:]:
            with open_table(file, self._options) as table:
                self._check_part(file, table, first)
                n_rows.append(table.n_rows)
        known = [n for n in n_rows if n is not None]
        total = sum(known) if len(known) == len(n_rows) else None
        return About(total, first.n_features, first.columns.names)

    def _check_part(self, file, table: Table, first: Table) -> None:
        before = self._files[0]
        if type(table) is not type(first):
            raise DataError(f"{file} has another format than {before}.")
        if table.n_features != first.n_features:
            raise DataError(
                f"{file} has {table.n_features} features where {before} has "
                f"{first.n_features}."
            )
        ours, theirs = table.columns, first.columns
        if (ours.names, ours.label_name) != (theirs.names, theirs.label_name):
            different = _first_difference(ours, theirs)
            raise DataError(f"{file} has other columns than {before}: {different}.")
        if table.has_labels != first.has_labels:
            kind = ("no labels", "labels")[table.has_labels]
            raise DataError(f"{file} has {kind}, unlike {before}.")

    def blocks(self, size: int, skip: int) -> Iterator[Block]:
        """A new pass."""
        if len(self._files) == 1:
            return self._blocks(size, skip)
        _ = self.about  # all files are as they should be
        return regrouped(self._blocks(size, skip), size)

    def _blocks(self, size: int, skip: int) -> Iterator[Block]:
        left = skip
        for file in self._files:
            with open_table(file, self._options) as table:
                if table.n_features is None:
                    table.n_features = self.width()
                left -= table.skip(left)
                if not left:
                    yield from table.blocks(size)
        check_skipped(self.name, skip, left)

    def width(self) -> int:
        """The number of features of LIBSVM files, by a pass over them."""
        if self.once:
            raise DataError(
                "A LIBSVM stream that is read in blocks needs the number of features."
            )
        if self._width is None:
            self._width = max(map(self._width_of, self._files))
        return self._width

    def _width_of(self, file) -> int:
        with open_source(file, self._options.format) as source:
            return max(0, largest_index(source) + self._options.zero_based)


def _first_difference(ours, theirs) -> str:
    names = [*(ours.names or ()), ours.label_name]
    others = [*(theirs.names or ()), theirs.label_name]
    for name, other in zip(names, others, strict=False):
        if name != other:
            return f"{name!r} where {other!r} should be"
    return "one has a header"


class _TableRows:
    """Rows of one table, which ``_make_table`` opens anew for each pass."""

    name: str
    once = used = False
    default_size = _BLOCK
    _make_table: Callable[[], Table]

    def blocks(self, size: int, skip: int) -> Iterator[Block]:
        """A new pass."""
        table = self._make_table()
        check_skipped(self.name, skip, skip - table.skip(skip))
        yield from table.blocks(size)


class DatasetRows(_TableRows):
    """The rows of a dataset of pyarrow."""

    typed = False

    def __init__(self, source: Dataset, options: Options):
        self.name = source.name
        _check_beside(self.name, "parquet", options)
        self._make_table = lambda: DatasetTable(source, options)
        table = self._make_table()
        self.about = About(table.n_rows, table.n_features, table.columns.names)


class ArrayRows(_TableRows):
    """The rows of arrays in memory."""

    typed = True

    def __init__(self, parts: tuple):
        X, y, weights = (*parts, None, None)[:3]
        self.name = "the arrays"
        columns = getattr(X, "columns", None)
        names = None if columns is None else [str(name) for name in columns]
        X = _matrix(X, self.name)
        y, weights = (None if v is None else np.asarray(v) for v in (y, weights))
        self._make_table = lambda: ArrayTable(self.name, X, y, weights, names)
        self.about = About(X.shape[0], X.shape[1], names)
        self._make_table()


class BlockRows:
    """Blocks that a callable, an iterable or an iterator gives.

    Rows that are tables stay what they are where ``tables``, and are else matrices.
    """

    typed, used = True, False
    default_size = None
    about = About()

    def __init__(self, source: Callable | Iterable, *, tables: bool = False):
        self._source, self._tables = source, tables
        self.once = not callable(source) and hasattr(source, "__next__")
        self.name = getattr(source, "__name__", "the stream")

    def blocks(self, size: int | None, skip: int) -> Iterator[Block]:
        """A new pass."""
        source = self._source() if callable(self._source) else self._source
        blocks = self._checked(source)
        if skip:
            blocks = after(self.name, blocks, skip)
        return blocks if size is None else regrouped(blocks, size)

    def _checked(self, source: Iterable) -> Iterator[Block]:
        first = None
        for number, block in enumerate(source, 1):
            where = f"{self.name}, block {number}"
            block = _as_block(where, block, self._tables)
            if not count(block):
                continue
            if first is None:
                first = _kind(block)
            _check_alike(where, _kind(block), first)
            yield block


def _matrix(X, where: str):
    X = sound_matrix(X, f"{where}: X")
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)


def _as_block(where: str, block, tables: bool) -> Block:
    parts = block if isinstance(block, tuple | list) else (block, None)
    if not 2 <= len(parts) <= 3:
        raise DataError(
            f"{where}: a block is (X, y) or (X, y, weights), not {len(parts)} parts."
        )
    X, *beside = parts
    X = X if tables and has_columns(X) else _matrix(X, where)
    if len(X.shape) != 2:
        raise DataError(f"{where}: X has the shape {X.shape}, not rows x features.")
    beside = [None if part is None else np.asarray(part) for part in beside]
    for name, part in zip(("y", "weights"), beside, strict=False):
        if part is not None and part.shape != X.shape[:1]:
            raise DataError(
                f"{where}: {name} has the shape {part.shape} for {X.shape[0]} rows."
            )
    return X, *beside


def _kind(block: Block) -> dict[str, Any]:
    """Facts that all blocks of a stream have in common."""
    X, y, *weights = block
    numbers = y is not None and y.dtype.kind in "fiub"
    return {
        "features": X.shape[1],
        "a sparse X": sparse.issparse(X),
        "columns": column_names(X),
        "labels": y is not None,
        "labels that are numbers": numbers,
        "weights": any(part is not None for part in weights),
    }


def _check_alike(where: str, kind: dict[str, Any], first: dict[str, Any]) -> None:
    for what, value in kind.items():
        if value == first[what]:
            continue
        if what == "features":
            has, had = f"{value} features", first[what]
        elif what == "columns":
            has, had = (
                "no names of columns" if v is None else f"the columns {_few(v)}"
                for v in (value, first[what])
            )
        else:
            has, had = (f"{what}" if v else f"no {what}" for v in (value, first[what]))
        raise DataError(f"{where} has {has} where the blocks before have {had}.")


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
