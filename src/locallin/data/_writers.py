"""Tables that are written block by block: text, JSON lines, .npy and Parquet."""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
)
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from locallin.data.source import DataError
from locallin.engine.files import replacing
from locallin.engine.optional import import_optional

_TEXT = ("csv", "json")
_EXTENSIONS = {".npy": "npy", ".parquet": "parquet", ".pq": "parquet"}
_ROW_GROUP = 1 << 16


class TableWriter(Protocol):
    """A table that is written block by block."""

    def write(self, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
        """Append names and columns of a block; names are those of the first."""
        ...

    def close(self) -> None:
        """Write the end, but leave the file open."""
        ...


@contextmanager
def table_writer(output, format: str | None) -> Iterator[TableWriter]:
    """A writer to a path or an open text file.

    A file is there when the block ends without an error.
    """
    stream = hasattr(output, "write")
    format = format_of(output, format)
    if format not in _WRITERS:
        raise ValueError(f"{format!r} is not one of {', '.join(_WRITERS)}.")
    if stream and format not in _TEXT:
        raise ValueError(f"{format} needs a path to write to, not an open file.")
    with ExitStack() as stack:
        if not stream:
            path = stack.enter_context(replacing(output))
            output = stack.enter_context(_opened(path, format))
        writer = _WRITERS[format](output)
        # Entered last, so that files are complete before they are closed.
        stack.callback(writer.close)
        yield writer


def format_of(output, format: str | None) -> str:
    """The format to write: as given, or by the ending of a path."""
    if format is not None:
        return format
    suffix = "" if hasattr(output, "write") else Path(output).suffix.lower()
    return _EXTENSIONS.get(suffix, "csv")


def _opened(path: Path, format: str) -> AbstractContextManager[Any]:
    """A file, or a path where pyarrow opens it."""
    if format in _TEXT:
        return open(path, "w", encoding="utf-8", newline="")
    return open(path, "wb") if format == "npy" else nullcontext(path)


class _CsvWriter:
    """Lines of cells; a header where there is more than one column."""

    def __init__(self, file):
        self._writer = csv.writer(file, lineterminator="\n")
        self._begun = False

    def write(self, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
        if not self._begun and len(names) > 1:
            self._writer.writerow(names)
        self._begun = True
        self._writer.writerows(_rows_of(columns))

    def close(self) -> None:
        """Nothing is left to do."""


class _JsonWriter:
    """A JSON object per line."""

    def __init__(self, file):
        self._file = file

    def write(self, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
        self._file.writelines(
            json.dumps(dict(zip(names, row, strict=True)), default=str) + "\n"
            for row in _rows_of(columns)
        )

    def close(self) -> None:
        """Nothing is left to do."""


def _rows_of(columns: Sequence[np.ndarray]):
    return zip(*(column.tolist() for column in columns), strict=True)


class _NpyWriter:
    """An array of one column, or of columns of one type; fields beside labels.

    The header says how many rows there are when all are written: it has room for that.
    """

    def __init__(self, file):
        self._file, self._n_rows = file, 0
        # An array without rows, as wide as there are columns; None before a block.
        self._no_rows: np.ndarray | None = None

    def write(self, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
        if self._no_rows is None:
            self._no_rows = _without_rows(names, columns)
            self._write_header(self._no_rows)
        width, dtype = self._no_rows.shape[1:], self._no_rows.dtype
        rows = np.empty((len(columns[0]), *width), dtype)
        for place, (name, column) in enumerate(zip(names, columns, strict=True)):
            if dtype.names:
                rows[name] = _fitting(column, dtype[name])
            else:
                target = rows[:, place] if width else rows
                target[...] = _fitting(column, dtype)
        self._n_rows += len(rows)
        self._file.write(rows.tobytes())

    def _write_header(self, no_rows: np.ndarray) -> None:
        descr = np.lib.format.dtype_to_descr(no_rows.dtype)
        shape = (self._n_rows, *no_rows.shape[1:])
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(self._file, header)

    def close(self) -> None:
        """Write the number of rows."""
        if self._no_rows is not None:
            self._file.seek(0)
            self._write_header(self._no_rows)


def _without_rows(names: Sequence[str], columns: Sequence[np.ndarray]) -> np.ndarray:
    """No rows, of the type and the width that the columns have together."""
    kinds = [column.dtype for column in columns]
    if len(columns) == 1:
        return np.empty(0, kinds[0])
    if "label" not in names and len(set(kinds)) == 1:
        return np.empty((0, len(columns)), kinds[0])
    return np.empty(0, np.dtype(list(zip(names, kinds, strict=True))))


def _fitting(column: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if not np.can_cast(column.dtype, dtype, "same_kind") or (
        dtype.kind in "US" and column.dtype.itemsize > dtype.itemsize
    ):
        raise DataError(
            f"a block of predictions holds {column.dtype} where {dtype} came before: "
            "write text or Parquet."
        )
    return column


class _ParquetWriter:
    """Columns, in row groups of many blocks."""

    def __init__(self, path):
        parquet = import_optional("pyarrow.parquet", "io", "Parquet files")
        self._make = parquet.ParquetWriter
        self._path = path
        self._writer: Any = None
        self._held: list = []

    def write(self, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
        import pyarrow

        arrays = [
            pyarrow.array(column.tolist() if column.dtype.kind in "USO" else column)
            for column in columns
        ]
        batch = pyarrow.record_batch(arrays, list(names))
        if self._writer is None:
            self._writer = self._make(self._path, batch.schema)
        self._held.append(batch)
        if sum(batch.num_rows for batch in self._held) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_batches(self._held))
        self._held = []

    def close(self) -> None:
        """Write what is held, and the end of the file."""
        if self._writer is not None:
            if self._held:
                self._flush()
            self._writer.close()


_WRITERS: dict[str, Callable[[Any], TableWriter]] = {
    "csv": _CsvWriter,
    "json": _JsonWriter,
    "npy": _NpyWriter,
    "parquet": _ParquetWriter,
}
