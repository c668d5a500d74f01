"""Rows of arrays: in memory, of .npy files and of .npz files."""

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from scipy import sparse

from locallin.data.blocks import check_finite
from locallin.data.columns import Columns
from locallin.data.source import MOST_UNPACKED, DataError, Options, Source
from locallin.engine.files import NpyHeader, npy_header
from locallin.engine.input import sound_matrix


class ArrayTable:
    """Arrays, or what gives slices like arrays, as a table.

    ``X`` can be a dense array, a CSR matrix or an object with ``shape``, ``dtype`` and
    slices; ``y`` and ``weights`` are arrays or None; y may hold several numbers a row.
    """

    def __init__(self, name: str, X, y=None, weights=None, names=None):
        if len(X.shape) != 2:
            raise DataError(
                f"{name}: X has the shape {tuple(X.shape)}; rows x features is needed."
            )
        if X.dtype.kind not in "fiub":
            raise DataError(f"{name}: X holds {X.dtype}, not numbers.")
        if not X.shape[0]:
            raise DataError(f"{name} has no rows.")
        for what, part, most in (("y", y, 2), ("weights", weights, 1)):
            if part is None:
                continue
            if tuple(part.shape[:1]) != (X.shape[0],) or len(part.shape) > most:
                raise DataError(
                    f"{name}: {what} has the shape {tuple(part.shape)} for "
                    f"{X.shape[0]} rows."
                )
        self.name, self._X = name, X
        self._beside = [y] if weights is None else [y, weights]
        self._start = 0
        self.n_rows: int = X.shape[0]
        self.n_features: int | None = X.shape[1]
        self.has_labels = y is not None
        self.columns = Columns(range(X.shape[1]), None, names, None)

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind."""
        return options

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        rows = min(rows, self.n_rows - self._start)
        self._start += rows
        return rows

    def blocks(self, size: int) -> Iterator[tuple]:
        """Blocks of rows, of labels and, where there are any, of weights."""
        for start in range(self._start, self.n_rows, size):
            stop = min(start + size, self.n_rows)
            X = self._X[start:stop]
            if X.dtype not in (np.float32, np.float64):
                X = X.astype(np.float64)
            if not sparse.issparse(X):
                X = np.ascontiguousarray(X)
            check_finite(self.name, X, start, self.columns.names)
            beside = (None if b is None else b[start:stop] for b in self._beside)
            yield X, *beside


class NpyTable(ArrayTable):
    """A .npy file, with labels and weights that stand elsewhere."""

    def __init__(self, source: Source, options: Options):
        place = source.seekable()
        X: Any
        if source.path is None:
            with _damage(source.name):
                X = _array(place, len(place.getbuffer()))
        else:
            X = _Mapped(place)
        labels = options.labels if options.with_labels else None
        beside = (_mapped(part) for part in (labels, options.weights))
        super().__init__(source.name, X, *beside)
        _check_width(self, options)


class _Mapped:
    """A .npy file that is never loaded: slices are copies.

    Each slice is taken from a map of its own, so that the pages that were read do not
    stay in memory.
    """

    def __init__(self, path):
        self._path = path
        array = self[:0]
        self.dtype, self.shape = array.dtype, self._shape

    def __getitem__(self, rows: slice) -> np.ndarray:
        with _damage(str(self._path)), open(self._path, "rb") as file:
            shape, fortran, dtype = _header(file, os.fstat(file.fileno()).st_size)
            self._shape = shape
            if 0 in shape:
                return np.empty(shape, dtype)[rows]
            order: Literal["C", "F"] = "F" if fortran else "C"
            place = os.fspath(self._path)
            array = np.memmap(place, dtype, "r", file.tell(), shape, order)
            return np.array(array[rows], order="C")


def _mapped(part) -> Any:
    if part is None or not isinstance(part, str | os.PathLike):
        return None if part is None else np.asarray(part)
    return _Mapped(part)


class NpzTable(ArrayTable):
    """X, and y if it is there, of an .npz file.

    A CSR matrix saved by ``scipy.sparse.save_npz`` is also read, as a whole; its
    labels can be appended as y.
    """

    def __init__(self, source: Source, options: Options):
        place, names, y = source.seekable(), None, None
        with _damage(source.name):
            archive = zipfile.ZipFile(place)
            keys = {name.removesuffix(".npy") for name in archive.namelist()}
            if len(archive.namelist()) > len(set(archive.namelist())):
                raise ValueError("several members have one name")
            if {"format", "shape"} <= keys:
                X = _sparse(archive)
            elif "X" in keys:
                X = _Member(source.name, archive, "X")
            else:
                raise DataError(
                    f"{source.name} has no array X but {sorted(keys)}: save it with "
                    "np.savez(file, X=X, y=y)."
                )
            if "names" in keys:
                names = _whole(archive, "names").tolist()
            if "y" in keys and options.with_labels and options.label is not None:
                y = _whole(archive, "y")
        known = options.features
        if names and isinstance(known, Sequence) and list(known) != names:
            raise DataError(
                f"{source.name}: names are not those of the features that are "
                "expected, in their order."
            )
        super().__init__(source.name, X, y, names=names)
        _check_width(self, options)


class _Member:
    """An array in an archive, unpacked slice by slice, from the first row on."""

    def __init__(self, name: str, archive: zipfile.ZipFile, key: str):
        self._name, self._whole, self._row = name, None, 0
        self._file = archive.open(f"{key}.npy")
        size = archive.getinfo(f"{key}.npy").file_size
        self.shape, fortran, self.dtype = _header(self._file, size)
        if fortran:
            self._whole = _whole(archive, key)

    def __getitem__(self, rows: slice) -> np.ndarray:
        if self._whole is not None:
            return self._whole[rows]
        width = self.dtype.itemsize * self.shape[1]
        with _damage(self._name):
            if rows.start > self._row:
                self._file.seek((rows.start - self._row) * width, os.SEEK_CUR)
            expected = (rows.stop - rows.start) * width
            chunk = self._file.read(expected)
            if len(chunk) < expected:
                raise EOFError("X is cut off")
        self._row = rows.stop
        return np.frombuffer(chunk, self.dtype).reshape(-1, self.shape[1])


@contextmanager
def _damage(name: str) -> Iterator[None]:
    try:
        yield
    except (DataError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # whatever numpy, scipy and zipfile make of damage
        reason = str(error).rstrip(".") or type(error).__name__
        raise DataError(
            f"{name} cannot be read: {reason}. Arrays of numbers or of text (not of "
            "objects) are needed; save it again."
        ) from error


def _check_width(table: ArrayTable, options: Options) -> None:
    expected = options.n_features
    if expected is not None and expected != table.n_features:
        raise DataError(
            f"{table.name}: X has {table.n_features} features where {expected} are "
            "expected."
        )


def _whole(archive: zipfile.ZipFile, key: str) -> np.ndarray:
    size = archive.getinfo(f"{key}.npy").file_size
    with archive.open(f"{key}.npy") as file:
        return _array(file, size)


def _array(file, size: int) -> np.ndarray:
    """The array of an open .npy file of ``size`` bytes."""
    shape, fortran, dtype = _header(file, size)
    values = np.frombuffer(file.read(), dtype)
    return values.reshape(shape, order="F" if fortran else "C")


def _header(file, size: int) -> NpyHeader:
    """The header of an array of numbers or text that a file of so many bytes holds."""
    header = npy_header(file)
    if header.dtype.kind not in "fiubUS":
        raise ValueError(f"an array holds {header.dtype}")
    if header.nbytes != size - file.tell():
        raise ValueError(
            f"an array says that its shape is {header.shape}, which takes "
            f"{header.nbytes} bytes, but there are {size - file.tell()}"
        )
    return header


def _sparse(archive: zipfile.ZipFile) -> Any:
    """What ``scipy.sparse.save_npz`` wrote, as a CSR matrix that is sound."""
    format = _whole(archive, "format").item()
    format = format.decode() if isinstance(format, bytes) else format
    shape = tuple(_whole(archive, "shape").tolist())
    n_entries = archive.getinfo("data.npy").file_size
    if format in ("csr", "csc", "bsr"):
        parts = (_whole(archive, key) for key in ("data", "indices", "indptr"))
        kind = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}
        X = kind.get(format, sparse.bsr_matrix)(tuple(parts), shape)
    elif format == "coo":
        values, row, col = (_whole(archive, key) for key in ("data", "row", "col"))
        X = sparse.coo_matrix((values, (row, col)), shape)
    else:
        raise ValueError(f"its format is {format!r}, not csr, csc, coo or bsr")
    if X.dtype == np.float16:  # scipy makes such a matrix, and then knows no more
        X.data = X.data.astype(np.float32)
    X = sound_matrix(X, "it")
    if format != "csr" and shape[0] > MOST_UNPACKED * n_entries:
        raise ValueError(f"it says that it has {shape[0]} rows")
    return X if format == "csr" else sound_matrix(X.tocsr(), "it")
