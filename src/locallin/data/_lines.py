"""Text in large chunks that end at line ends."""

from collections.abc import Iterator
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
    n_lines : int
        Lines of the text.
    quoted : bool
        Whether there is a quotation mark in the text.
    """

    def __init__(self, source: Source, mark: bytes = b""):
        self._name, self._stream = source.name, source.stream
        self._bytes = b""
        self._mark = mark
        self._lines_before = self.n_lines = 0
        self.text = np.frombuffer(b"", np.uint8)
        self.place = 0
        self.quoted = False

    def more(self, least: int = 1) -> bool:
        """Whether there are lines left to read, after taking in some if need be."""
        if self.place < len(self.text):
            return True
        self._lines_before += self.n_lines
        pieces = [self._bytes[self.place :]]
        while least > 0:
            with reading_errors(self._name):
                piece = self._stream.read(CHUNK)
            if not piece:
                break
            least -= piece.count(b"\n")
            pieces.append(piece)
        self._bytes = b"".join(pieces).removeprefix(self._mark)
        self._mark = b""
        end = self._bytes.rfind(b"\n") + 1
        if not end and self._bytes:
            self._bytes += b"\n"
            end = len(self._bytes)
        self.text = np.frombuffer(self._bytes, np.uint8, end)
        self.place = 0
        self.n_lines = self._bytes.count(b"\n")
        self.quoted = self._bytes.find(b'"', 0, end) >= 0
        return end > 0

    @property
    def n_read(self) -> int:
        """The number of lines that were read."""
        return self._lines_before + self._bytes.count(b"\n", 0, self.place)

    def texts(self) -> Iterator[str]:
        """The lines in memory that were not read, one by one."""
        start = self.place
        while start < len(self.text):
            end = self._bytes.index(b"\n", start) + 1
            yield self._bytes[start:end].decode()
            start = end

    def rest(self) -> BinaryIO:
        """All that was not read, as a stream."""
        return rewound(self._bytes[self.place :], self._stream)

    def cell(self, start: int, end: int) -> str:
        """Text between two places."""
        return self._bytes[start:end].decode()

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
