"""Files that are complete or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
