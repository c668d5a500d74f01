"""Rows of Parquet files, of Arrow (Feather) files and of pyarrow's datasets."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from locallin.data.blocks import check_finite, regrouped
from locallin.data.columns import choose_columns
from locallin.data.frames import as_missing, column_labels
from locallin.data.source import DataError, NoNumbersError, Options, Source
from locallin.engine.optional import import_optional

# Bytes of a column that are read ahead; pages stay packed until they are needed.
_BUFFER = 1 << 16


class _ArrowColumns:
    """Typed columns in record batches, as Parquet and Arrow files have them."""

    kind: str

    def __init__(self, source: "Source | Dataset", options: Options):
        pyarrow = import_optional("pyarrow", "io", f"{self.kind} files")
        self.name = source.name
        self._start = 0
        with self._damage():
            schema = self._open(source)
            header = schema.names
        self.columns = choose_columns(self.name, header, len(header), options)
        self.n_features: int | None = len(self.columns.features)
        self._features = [header[column] for column in self.columns.features]
        self._label = None
        if self.columns.label is not None and options.with_labels:
            self._label = header[self.columns.label]
        self.has_labels = self._label is not None
        numbers = [header[column] for column in self.columns.numbers]
        self._weight = None if self.columns.weight is None else numbers[-1]
        self._options = options
        self._table_names = column_labels(self.columns, options, header)
        used = [*numbers, *([self._label] if self.has_labels else [])]
        self._used = list(dict.fromkeys([*used, *self._table_names]))
        if options.table:
            numbers = [] if self._weight is None else [self._weight]
        for name in numbers:
            self._check_type(name, schema.field(name).type, pyarrow.types)

    def _open(self, source: Any) -> Any:
        """Open the file; return its schema."""
        raise NotImplementedError

    def _record_batches(self, size: int) -> Iterator:
        """Record batches of the rows that are left."""
        raise NotImplementedError

    def _check_type(self, name, kind, types) -> None:
        if not (
            types.is_integer(kind)
            or types.is_floating(kind)
            or types.is_boolean(kind)
            or types.is_decimal(kind)
        ):
            raise NoNumbersError(
                f"{self.name}, column {name!r}: holds {kind}, not numbers. Encode or "
                "remove it, or name it as the label if it is."
            )

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (DataError, FileNotFoundError, PermissionError):
            raise
        except Exception as error:  # whatever pyarrow makes of damage
            lines = str(error).splitlines() or [type(error).__name__]
            reason = lines[0].rstrip(".")
            raise DataError(
                f"{self.name} is not a whole {self.kind} file: {reason}. Write or "
                "fetch it again."
            ) from error

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind."""
        return options

    def blocks(self, size: int) -> Iterator[tuple]:
        """Blocks of rows, of labels and, if there is a column, of weights."""
        return regrouped(self._converted(size), size)

    def _converted(self, size: int) -> Iterator[tuple]:
        batches = self._record_batches(size)
        while True:
            with self._damage():
                batch = next(batches, None)
                if batch is None:
                    return
                # Offsets within its buffers, text that is UTF-8: Arrow does not look.
                batch.validate(full=True)
            for start in range(0, batch.num_rows, size):
                with self._damage():
                    block = self._block(batch.slice(start, size))
                yield block

    def _block(self, batch) -> tuple:
        X = self._table(batch) if self._options.table else self._matrix(batch)
        labels = None
        if self._label is not None:
            labels = np.array(self._complete(batch, self._label).to_pylist())
        beside = [labels]
        if self._weight is not None:
            weights = self._numbers(batch, self._weight).astype(np.float64)
            check_finite(self.name, weights[:, None], self._start, [self._weight])
            beside.append(weights)
        self._start += batch.num_rows
        return X, *beside

    def _matrix(self, batch) -> np.ndarray:
        X = np.empty((batch.num_rows, len(self._features)))
        for place, name in enumerate(self._features):
            X[:, place] = self._numbers(batch, name)
        check_finite(self.name, X, self._start, self.columns.names)
        return X

    def _table(self, batch):
        """The features and, after them, the columns that are kept."""
        import pyarrow

        arrays = [batch.column(name) for name in self._table_names]
        table = pyarrow.table(arrays, names=self._table_names)
        words = self._options.na
        return table if words is None else as_missing(table, words)

    def _numbers(self, batch, name: str) -> np.ndarray:
        return self._complete(batch, name).to_numpy(zero_copy_only=False)

    def _complete(self, batch, name: str):
        column = batch.column(name)
        if column.null_count:
            row = self._start + column.is_null().to_pylist().index(True) + 1
            raise NoNumbersError(
                f"{self.name}, row {row}, column {name!r}: the value is missing. Fill "
                "it or remove the row or the column."
            )
        return column


class ParquetTable(_ArrowColumns):
    """A Parquet file, read block by block."""

    kind = "Parquet"

    def _open(self, source: Source):
        from pyarrow import parquet

        self._file = parquet.ParquetFile(
            source.seekable(), buffer_size=_BUFFER, pre_buffer=False
        )
        self._groups = list(range(self._file.num_row_groups))
        self._dropped = 0
        self.n_rows: int = self._file.metadata.num_rows
        return self._file.schema_arrow

    def skip(self, rows: int) -> int:
        """Pass over rows, row groups first; return how many there were."""
        rows = min(rows, self.n_rows)
        left, self._start = rows, rows
        while self._groups:
            group = self._file.metadata.row_group(self._groups[0]).num_rows
            if group > left:
                break
            left -= group
            self._groups.pop(0)
        self._dropped = left
        return rows

    def _record_batches(self, size: int) -> Iterator:
        if not self._groups:
            return
        drop = self._dropped
        for batch in self._file.iter_batches(
            size, row_groups=self._groups, columns=self._used
        ):
            yield batch.slice(drop)
            drop = max(0, drop - batch.num_rows)


class IpcTable(_ArrowColumns):
    """An Arrow file (Feather), or an Arrow stream, read block by block."""

    kind = "Arrow"

    def _open(self, source: Source):
        import pyarrow
        from pyarrow import dataset, ipc

        self.n_rows: int | None = None
        place = source.seekable()
        if source.path is not None:
            place = pyarrow.memory_map(str(place))
        if not source.head.startswith(b"ARROW1"):
            stream = ipc.open_stream(place)
            self._all = iter(stream)
            return stream.schema
        file = ipc.open_file(place)
        self._all = (file.get_batch(i) for i in range(file.num_record_batches))
        if source.path is not None:
            self.n_rows = dataset.dataset(source.path, format="ipc").count_rows()
        return file.schema

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        left = rows
        while left:
            with self._damage():
                batch = next(self._all, None)
            if batch is None:
                break
            if batch.num_rows > left:
                self._all = chain([batch.slice(left)], self._all)
            left -= min(left, batch.num_rows)
        self._start += rows - left
        return rows - left

    def _record_batches(self, size: int) -> Iterator:
        return self._all


class Dataset(NamedTuple):
    """A dataset of pyarrow, and its name for messages."""

    name: str
    content: Any

    @classmethod
    def of_folder(cls, path: Path, format: str | None) -> "Dataset":
        """Files in folders of folders, whose names may be values: name=value."""
        advice = f"give a pattern (such as '{path}/*/*.csv') or a list of files."
        if format not in (None, "parquet", "arrow"):
            raise DataError(f"{path} holds folders: {advice}")
        pyarrow = import_optional("pyarrow", "io", f"the folders in {path}")
        from pyarrow import dataset

        kind = "ipc" if format == "arrow" else "parquet"
        try:
            content = dataset.dataset(path, format=kind, partitioning="hive")
        except (pyarrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise DataError(
                f"{path} holds folders, but cannot be read as {kind} files: {reason}. "
                f"For other files {advice}"
            ) from error
        if not content.schema.names:
            raise DataError(f"{path} holds no {kind} files with rows.")
        return cls(str(path), content)


class DatasetTable(_ArrowColumns):
    """A dataset of pyarrow, in its order."""

    kind = "Parquet or Arrow"

    def _open(self, source: Dataset):
        self._content = source.content
        self.n_rows: int = self._content.count_rows()
        return self._content.schema

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        self._start = min(rows, self.n_rows)
        return self._start

    def _record_batches(self, size: int) -> Iterator:
        drop = self._start
        for batch in self._content.to_batches(
            columns=self._used,
            batch_size=size,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        ):
            yield batch.slice(drop)
            drop = max(0, drop - batch.num_rows)
