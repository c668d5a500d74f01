"""Text in large chunks that end at line ends."""

import numpy as np

from locallin.data._source import Source, reading_errors

CHUNK = 1 << 20


class Lines:
    """The whole lines of a text that are in memory, and how far they were read.

    Attributes
    ----------
    text : array of uint8
        Lines; the last one ends with a newline.
    place : int
        Where the next line begins.
    """

    def __init__(self, source: Source):
        self._name, self._stream = source.name, source.stream
        self._bytes = b""
        self._lines_before = 0
        self.text = np.frombuffer(b"", np.uint8)
        self.place = 0

    def more(self) -> bool:
        """Whether there are lines left to read, after taking in some if need be."""
        if self.place < len(self.text):
            return True
        self._lines_before += self._bytes.count(b"\n", 0, self.place)
        pieces = [self._bytes[self.place :]]
        while b"\n" not in pieces[-1] or len(pieces) == 1:
            with reading_errors(self._name):
                piece = self._stream.read(CHUNK)
            if not piece:
                break
            pieces.append(piece)
        self._bytes = b"".join(pieces)
        end = self._bytes.rfind(b"\n") + 1
        if not end and self._bytes:
            self._bytes += b"\n"
            end = len(self._bytes)
        self.text = np.frombuffer(self._bytes, np.uint8, end)
        self.place = 0
        return end > 0

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
