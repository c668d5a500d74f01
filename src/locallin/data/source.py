"""Files of rows: errors, options, opening them, guessing formats."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

FORMATS = ("libsvm", "csv", "parquet", "arrow", "npz", "npy")

_EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
    ".npy": "npy",
}
_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_SIGNATURES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
}
# Files that others write, by their extensions, and how to come from there to here.
_OTHERS = {
    "JSON": (".json", ".jsonl", ".ndjson", "pandas.read_json(...).to_csv(...)"),
    "a spreadsheet": (".xlsx", ".xls", ".ods", "save the sheet as CSV there"),
    "an archive": (".zip", ".7z", ".rar", ".tar", "unpack it"),
    "a file of a statistics program": (
        ".sav", ".dta", ".sas7bdat", "pandas.read_spss, read_stata or read_sas",
    ),
}  # fmt: skip
_LIBSVM_LINE = re.compile(rb"\S+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")
HEAD = 1 << 16
# Bytes in memory that each byte of a packed file may stand for, where it is read as a
# whole: more than that, gzip cannot pack.
MOST_UNPACKED = 1100

_UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


class DataError(ValueError):
    """A file that cannot be read as rows; the message says where and what to do.

    See Also
    --------
    read : Raises it where a file is wrong.
    batches : Raises it when the block is read.
    """


class NoNumbersError(DataError):
    """Text or gaps where numbers are wanted: what a table can hold."""


@dataclass(frozen=True)
class Options:
    """Options of reading a file: those of ``batches``, and whether labels matter."""

    format: str | None = None
    label: str | int | None = "auto"
    features: int | Sequence[str] | None = None
    delimiter: str | None = None
    header: bool | None = None
    zero_based: bool = False
    with_labels: bool = True
    labels: Any = None
    weights: Any = None
    weight: str | int | None = None
    # Columns as Arrow tables, of text where the file is CSV, and not as numbers.
    table: bool = False
    # Columns that are no features; that are read beside them; and that are where they
    # exist.
    ignore: tuple[str | int, ...] = ()
    keep: tuple[str | int, ...] = ()
    carry: tuple[str | int, ...] = ()
    # Words that stand for missing values in tables; None are the usual ones of CSV.
    na: tuple[str, ...] | None = None
    # Signs in numbers: of decimals, and between thousands.
    decimal: str = "."
    thousands: str = ""

    @property
    def n_features(self) -> int | None:
        """The number of features that is expected."""
        if self.features is None or isinstance(self.features, int):
            return self.features
        return len(self.features)


@dataclass
class Source:
    """An open file: its name for messages, its format, its head and its bytes."""

    name: str
    format: str
    head: bytes
    stream: BinaryIO
    path: Path | None
    most: int | None = None

    def seekable(self) -> Any:
        """A path or a file in memory, for readers that jump about."""
        if self.path is not None:
            return self.path
        with reading_errors(self.name):
            content = self.stream.read(-1 if self.most is None else self.most + 1)
        if self.most is not None and len(content) > self.most:
            raise DataError(
                f"{self.name} unpacks to more than {MOST_UNPACKED} times its size: "
                "unpack it first if you trust it."
            )
        return io.BytesIO(content)


class _Rewound(io.RawIOBase):
    """A stream whose head was read already."""

    def __init__(self, head: bytes, rest: Any):
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if not self._head:
            return self._rest.readinto(buffer)
        chunk = self._head[: len(buffer)]
        self._head = self._head[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


def rewound(head: bytes, stream: BinaryIO) -> BinaryIO:
    """A stream that begins with what was read of it already."""
    return io.BufferedReader(_Rewound(head, stream), HEAD)


def check_format(format: str | None) -> None:
    """Refuse a format that is not known."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is not one of {', '.join(FORMATS)}.")


@contextmanager
def open_source(path, format: str | None) -> Iterator[Source]:
    """Open a file, or standard input for "-", and find out its format."""
    check_format(format)
    if str(path) == "-":
        yield _source("standard input", Path(), sys.stdin.buffer, format)
        return
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder: give one file.")
    with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as stream:
        yield _source(str(path), path, stream, format)


def _source(name, path, stream, format) -> Source:
    packed = path.suffix.lower() in _OPENERS
    try:
        head = stream.read(HEAD)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"{name} cannot be unpacked: {error}. Fetch or pack it again."
        ) from error
    if not head.strip():
        raise DataError(f"{name} is empty.")
    suffix = Path(path.stem).suffix if packed else path.suffix
    if format is None:
        _refuse_others(name, suffix.lower(), head)
    format = format or _EXTENSIONS.get(suffix.lower()) or _guess(name, head)
    if format in ("csv", "libsvm") and head.startswith(_UTF_16):
        raise DataError(
            f"{name} is UTF-16 text: convert it, for example with "
            "iconv -f utf-16 -t utf-8 OLD > NEW."
        )
    if format in ("csv", "libsvm") and b"\0" in head:
        raise DataError(
            f"{name} is not text, so not {format.upper()}: name its format "
            f"({', '.join(FORMATS)}) or write it as one of them."
        )
    plain = path if path.name and not packed else None
    most = MOST_UNPACKED * path.stat().st_size if packed else None
    return Source(name, format, head, rewound(head, stream), plain, most)


def _refuse_others(name: str, suffix: str, head: bytes) -> None:
    """Say what to do with a file that is none of the formats."""
    for kind, (*suffixes, remedy) in _OTHERS.items():
        if suffix in suffixes or (suffix not in _EXTENSIONS and _is(kind, head)):
            raise DataError(
                f"{name} is {kind}, which is not read: {remedy}, and give the CSV or "
                "Parquet file."
            )


def _is(kind: str, head: bytes) -> bool:
    """Whether the first bytes are those of JSON, of a spreadsheet or of an archive."""
    if kind == "JSON":
        return bool(re.match(rb'\s*[\[{]\s*["{]', head))
    if not head.startswith(b"PK\x03\x04") or b".npy" in head[:512]:
        return False
    sheet = b"[Content_Types].xml" in head
    return sheet if kind == "a spreadsheet" else kind == "an archive" and not sheet


def _guess(name: str, head: bytes) -> str:
    for signature, format in _SIGNATURES.items():
        if head.startswith(signature):
            return format
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    return "libsvm" if _LIBSVM_LINE.fullmatch(first) else "csv"


@contextmanager
def reading_errors(name: str) -> Iterator[None]:
    """Say which file broke off or holds bytes that are no text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} is not UTF-8 text: convert it, for example with "
            "iconv -f windows-1252 -t utf-8 OLD > NEW."
        ) from error
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{name} cannot be unpacked to its end: {error}. Fetch or pack it again."
        ) from error
