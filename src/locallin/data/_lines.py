"""Text in large chunks that end at line ends."""

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np

from locallin.data.source import Source, reading_errors, rewound

CHUNK = 1 << 20


class Lines:
    """The whole lines of a text that are in memory, and how far they were read.

    Attributes
    ----------
    text : array of uint8
        Lines; the last one ends with a newline. What follows it is kept for later.
    place : int
        Where the next line begins.
    """

    def __init__(self, source: Source, mark: bytes = b"", n_chunks: int = 1):
        self._name, self._stream = source.name, source.stream
        self._bytes = b""
        self._mark, self._n_chunks = mark, n_chunks
        self._lines_before = self._n_lines = 0
        self.text = np.frombuffer(b"", np.uint8)
        self.place = 0

    def more(self, least: int = 1) -> bool:
        """Whether there are lines left to read, after taking in some if need be."""
        if self.place < len(self.text):
            return True
        self._lines_before += self._n_lines
        self._n_lines = 0
        pieces = [self._bytes[self.place :]]
        while self._n_lines < least:
            with reading_errors(self._name):
                piece = self._stream.read(self._n_chunks * CHUNK)
            if not piece:
                break
            # NumPy counts faster than bytes do.
            newlines = np.frombuffer(piece, np.uint8) == 10
            self._n_lines += int(np.count_nonzero(newlines))
            pieces.append(piece)
        self._bytes = b"".join(pieces).removeprefix(self._mark)
        self._mark = b""
        end = self._bytes.rfind(b"\n") + 1
        if not end and self._bytes:
            self._bytes += b"\n"
            end = len(self._bytes)
            self._n_lines = 1
        self.text = np.frombuffer(self._bytes, np.uint8, end)
        self.place = 0
        return end > 0

    @property
    def n_read(self) -> int:
        """The number of lines that were read."""
        return self._lines_before + self._bytes.count(b"\n", 0, self.place)

    @property
    def left(self) -> memoryview:
        """The lines in memory that were not read."""
        return memoryview(self._bytes)[self.place : len(self.text)]

    def holds(self, sign: bytes) -> bool:
        """Whether a sign is in the lines in memory that were not read."""
        return self._bytes.find(sign, self.place, len(self.text)) >= 0

    def texts(self) -> Iterator[str]:
        """The lines in memory that were not read, one by one."""
        return (line.decode() for line in io.BytesIO(self.left))

    def take(self) -> None:
        """Count the lines in memory as read."""
        self.place = len(self.text)

    def skip(self, n_rows: int, is_row: Callable[[bytes], bool]) -> int:
        """Pass over rows in memory; return how many there were to pass over."""
        rows = 0
        for line in io.BytesIO(self.left):
            if rows == n_rows:
                break
            rows += is_row(line)
            self.place += len(line)
        return rows

    def rest(self) -> BinaryIO:
        """All that was not read, as a stream."""
        return rewound(self._bytes[self.place :], self._stream)

    def line(self, place: int) -> tuple[int, bytes]:
        """Number and content of the line at a place."""
        start = self._bytes.rfind(b"\n", 0, place) + 1
        end = self._bytes.find(b"\n", place)
        number = self._lines_before + self._bytes.count(b"\n", 0, place) + 1
        return number, self._bytes[start:end]

    def word(self, place: int) -> bytes:
        """The word that begins at a place of a LIBSVM line."""
        end = self._bytes.find(b"\n", place)
        return self._bytes[place:end].split(b"#")[0].split()[0]
