"""Files that are complete or not there, and what the header of an array tells."""

import errno
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

# What a full disk says: it names no file.
_NO_ROOM = errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A file to write; it takes the place of ``path`` when the block succeeds.

    It is on the disk before it has its name: a crash leaves the old file or the new
    one. A device or a pipe is written to as it is.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with _named(path, path):
            yield path
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder of {path} does not exist: make it, or name another one"
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _named(path, temporary):
            yield temporary
            with open(temporary, "r+b") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _named(path: Path, written: Path) -> Iterator[None]:
    """Make errors about the file that is written name the one that was asked for."""
    try:
        yield
    except OSError as error:
        about_it = error.filename is not None and Path(error.filename) == written
        if error.errno is None or not (about_it or error.errno in _NO_ROOM):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


class NpyHeader(NamedTuple):
    """An array as the header of a .npy file declares it."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        """Bytes that must follow the header."""
        return math.prod(self.shape) * self.dtype.itemsize


def npy_header(file: IO[bytes]) -> NpyHeader:
    """Read the header of a .npy file; what is none is a ValueError.

    Nothing is allocated for the array, however large it says it is.
    """
    readers = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }
    try:
        version = npy_format.read_magic(file)
        header = NpyHeader(*readers[version](file))
    except Exception as error:  # the parser of Python is in there, too
        raise ValueError("the header of the array is damaged") from error
    if any(size < 0 for size in header.shape):
        raise ValueError(f"the array says that its shape is {header.shape}")
    return header
