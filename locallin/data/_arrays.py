"""Rows of Parquet, .npz and .npy files."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import numpy as np
from scipy import sparse

from locallin.data._columns import Columns, choose_columns
from locallin.data._source import DataError, Options, Source


class ParquetTable:
    """A Parquet file, read block by block."""

    def __init__(self, source: Source, options: Options):
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise ImportError(
                "Parquet files need pyarrow: pip install 'locallin[io]'."
            ) from error
        self._name = source.name
        self._error = pyarrow.ArrowException
        with self._damage():
            self._file = parquet.ParquetFile(source.seekable())
        header = self._file.schema_arrow.names
        self.columns = choose_columns(self._name, header, len(header), options)
        used = [*self.columns.features]
        self._has_labels = self.columns.label is not None and options.with_labels
        if self._has_labels:
            used.append(self.columns.label)
        self._used = [header[column] for column in used]
        numbers = pyarrow.types
        for name in self._used[: len(self.columns.features)]:
            kind = self._file.schema_arrow.field(name).type
            if not (
                numbers.is_integer(kind)
                or numbers.is_floating(kind)
                or numbers.is_boolean(kind)
                or numbers.is_decimal(kind)
            ):
                raise DataError(
                    f"{self._name}, column {name!r}: holds {kind}, not numbers. Encode "
                    "or remove it, or name it as the label if it is."
                )

    @contextmanager
    def _damage(self):
        try:
            yield
        except (self._error, OSError) as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            reason = str(error).splitlines()[0].rstrip(".")
            raise DataError(
                f"{self._name} is not a whole Parquet file: {reason}. Write or fetch "
                "it again."
            ) from error

    def blocks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Blocks of rows and of labels."""
        start = 0
        batches = self._file.iter_batches(size, columns=self._used)
        while True:
            with self._damage():
                batch = next(batches, None)
            if batch is None:
                return
            if not batch.num_rows:
                continue
            X = np.empty((batch.num_rows, len(self.columns.features)))
            for place in range(X.shape[1]):
                name = self._used[place]
                X[:, place] = self._complete(batch, name, start).to_numpy(
                    zero_copy_only=False
                )
            check_finite(self._name, X, start, self.columns.names)
            labels = None
            if self._has_labels:
                column = self._complete(batch, self._used[-1], start)
                labels = np.array(column.to_pylist())
            start += len(X)
            yield X, labels

    def _complete(self, batch, name, start):
        column = batch.column(name)
        if column.null_count:
            row = start + column.is_null().to_pylist().index(True) + 1
            raise DataError(
                f"{self._name}, row {row}, column {name!r}: the value is missing. Fill "
                "it or remove the row or the column."
            )
        return column


class NpzTable:
    """X, and y if it is there, of an .npz file, or the X of an .npy file.

    A CSR matrix saved by ``scipy.sparse.save_npz`` is also read, as a whole; its
    labels can be appended as y.
    """

    def __init__(self, source: Source, options: Options):
        self._name = source.name
        self._place = source.seekable()
        with self._damage():
            if source.format == "npy":
                self._keys = {"X"}
                self._archive = None
                X = np.load(self._place, mmap_mode="r" if source.path else None)
                self._X, shape = X, X.shape
            else:
                self._archive = zipfile.ZipFile(self._place)
                self._keys = {
                    name.removesuffix(".npy") for name in self._archive.namelist()
                }
                self._X = None
                if {"indptr", "shape"} <= self._keys:
                    self._X = sparse.load_npz(self._place).tocsr()
                    shape = self._X.shape
                elif "X" not in self._keys:
                    raise DataError(
                        f"{self._name} has no array X but {sorted(self._keys)}: save "
                        "it with np.savez(file, X=X, y=y)."
                    )
                else:
                    shape = self._member_shape("X")
        if len(shape) != 2:
            raise DataError(
                f"{self._name}: X has the shape {tuple(shape)}; rows x features is "
                "needed."
            )
        expected = options.n_features
        if expected is not None and expected != shape[1]:
            raise DataError(
                f"{self._name}: X has {shape[1]} features where {expected} are "
                "expected."
            )
        if not shape[0]:
            raise DataError(f"{self._name} has no rows.")
        names = None
        if "names" in self._keys:
            with self._damage():
                names = self._whole("names").tolist()
            known = options.features
            if known is not None and not isinstance(known, int) and [*known] != names:
                raise DataError(
                    f"{self._name}: names are not those of the features that are "
                    "expected, in their order."
                )
        wanted = options.with_labels and options.label is not None
        self._has_labels = "y" in self._keys and wanted
        self.columns = Columns(list(range(shape[1])), None, names, None)
        self._n_rows = shape[0]

    @contextmanager
    def _damage(self):
        try:
            yield
        except DataError:
            raise
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(
                f"{self._name} cannot be read: {str(error).rstrip('.')}. Arrays of "
                "numbers or of text (not of objects) are needed; save it again."
            ) from error

    def _whole(self, key) -> np.ndarray:
        with self._archive.open(f"{key}.npy") as file:
            return np.lib.format.read_array(file, allow_pickle=False)

    def _member_shape(self, key) -> tuple:
        with self._archive.open(f"{key}.npy") as file:
            shape, fortran, dtype = _npy_header(file)
        if fortran or dtype.hasobject:
            self._X = self._whole(key)
        return shape

    def _member_blocks(self, size) -> Iterator[np.ndarray]:
        """Rows of X as they come out of the archive."""
        with self._archive.open("X.npy") as file:
            shape, _, dtype = _npy_header(file)
            row = dtype.itemsize * shape[1]
            for start in range(0, shape[0], size):
                rows = min(size, shape[0] - start)
                chunk = file.read(rows * row)
                if len(chunk) < rows * row:
                    raise EOFError("X is cut off")
                yield np.frombuffer(chunk, dtype).reshape(rows, shape[1])

    def blocks(self, size: int) -> Iterator[tuple]:
        """Blocks of rows and of labels."""
        y = None
        if self._has_labels:
            with self._damage():
                y = self._whole("y")
            if y.shape != (self._n_rows,):
                raise DataError(
                    f"{self._name}: y has the shape {y.shape} for {self._n_rows} rows."
                )
        blocks = (
            self._slices(size) if self._X is not None else self._member_blocks(size)
        )
        for start in count(step=size):
            with self._damage():
                X = next(blocks, None)
            if X is None:
                return
            if X.dtype.kind not in "fiub":
                raise DataError(f"{self._name}: X holds {X.dtype}, not numbers.")
            if X.dtype not in (np.float32, np.float64):
                X = X.astype(np.float64)
            check_finite(self._name, X, start, self.columns.names)
            yield X, None if y is None else y[start : start + X.shape[0]]

    def _slices(self, size):
        for start in range(0, self._n_rows, size):
            part = self._X[start : start + size]
            yield part if sparse.issparse(part) else np.ascontiguousarray(part)


def _npy_header(file) -> tuple:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


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
    raise DataError(
        f"{name}, row {start + row + 1}, column {label}: the value is {value}. Fill it "
        "or remove the row or the column."
    )
