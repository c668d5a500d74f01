"""Files that are complete or not there, and what the header of an array tells."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy_format


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A file to write; it takes the place of ``path`` when the block succeeds.

    It is on the disk before it has its name: a crash leaves the old file or the new
    one. A device or a pipe is written to as it is.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        yield path
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder of {path} does not exist: make it, or name another one"
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is None or Path(error.filename) != temporary:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


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
