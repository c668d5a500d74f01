"""Rows of LIBSVM (SVMlight) files."""

import re
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from locallin.data._lines import Lines
from locallin.data.columns import Columns
from locallin.data.source import DataError, Options, Source
from locallin.kernels.text import (
    LARGEST_INDEX,
    ParsedLines,
    is_hard,
    largest_libsvm_index,
    parse_libsvm,
    place_of,
    skip_libsvm,
)

_PAIR = re.compile(r"\d+:\S+")


class LibsvmTable:
    """A LIBSVM file, read block by block as CSR; features count from one."""

    columns = Columns([], None, None, None)
    n_rows = None

    def __init__(self, source: Source, options: Options):
        self.name = source.name
        self.n_features = options.n_features
        self.has_labels = options.with_labels
        self._first = 0 if options.zero_based else 1
        self._lines = Lines(source)
        self._room = _Room(0)

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind."""
        return options

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        lines, passed = self._lines, 0
        while passed < rows and lines.more():
            lines.place, more = skip_libsvm(lines.text, lines.place, rows - passed)
            passed += more
        return passed

    def blocks(self, size: int) -> Iterator[tuple]:
        """Blocks of rows and of labels."""
        pieces, rows = [], 0
        while self._lines.more():
            pieces.append(self._parsed(size - rows))
            rows += len(pieces[-1][0])
            if rows == size:
                yield self._block(pieces)
                pieces, rows = [], 0
        if rows:
            yield self._block(pieces)

    def _parsed(self, n_rows: int) -> list[np.ndarray]:
        """Labels, lengths, indices and values of rows of the text in memory."""
        lines = self._lines
        if self._room.size < len(lines.text):
            self._room = _Room(len(lines.text) * 3 // 2)
        width = LARGEST_INDEX if self.n_features is None else self.n_features
        place, rows, entries, good = parse_libsvm(
            lines.text, lines.place, n_rows, self._first, width, self._room.arrays
        )
        labels, ends, indices, values = self._room.arrays
        labels, values = labels[:rows].copy(), values[:entries].copy()
        for numbers in (labels, values):
            self._read_hard(numbers)
        if not good:
            self._complain(place)
        lines.place = place
        lengths = np.diff(ends[:rows], prepend=0)
        return [
            labels.view(np.float64),
            lengths,
            indices[:entries].copy(),
            values.view(np.float64),
        ]

    def _read_hard(self, numbers: np.ndarray) -> None:
        """Read what the kernel has left."""
        for i in np.flatnonzero(is_hard(numbers)):
            place = place_of(numbers[i])
            value = _as_number(self._lines.word(place))
            if not np.isfinite(value):
                self._complain(place)
            numbers.view(np.float64)[i] = value

    def _block(self, pieces) -> tuple[sparse.csr_matrix, np.ndarray | None]:
        columns = zip(*pieces, strict=True)
        labels, lengths, indices, values = (
            parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in columns
        )
        width = self.n_features
        if width is None:
            width = int(indices.max(initial=-1)) + 1
        ends = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=ends[1:])
        X = sparse.csr_matrix((values, indices, ends), (len(lengths), width))
        return X, labels if self.has_labels else None

    def _complain(self, place: int) -> None:
        """Say what is wrong with the line at a place."""
        number, line = self._lines.line(place)
        problem = self._problem(line.decode("utf-8", errors="replace"))
        raise DataError(f"{self.name}, line {number}: {problem}")

    def _problem(self, line: str) -> str:
        label, *pairs = line.split("#")[0].split() or [""]
        if pairs and pairs[0].startswith("qid:"):
            pairs = pairs[1:]
        if not np.isfinite(_as_number(label)):
            advice = "begin the line with one number (0 where the class is not known)"
            return f"{label[:40]!r} is not a label: {advice}."
        last = -1
        for pair in pairs:
            if not _PAIR.fullmatch(pair):
                return f"{pair[:40]!r} is not a pair index:value."
            index, value = pair.split(":", 1)
            if not np.isfinite(_as_number(value)):
                return f"the value of feature {index}, {value[:40]!r}, is not finite."
            if int(index) < self._first:
                return (
                    "features are counted from 0: say so (zero_based=True; "
                    "--zero-based)."
                )
            if int(index) <= last:
                return f"feature {index} comes after feature {last}: sort them."
            last = int(index)
            if last > LARGEST_INDEX:
                return f"feature {index} is beyond what a sparse matrix can hold."
        if self.n_features is not None and last - self._first >= self.n_features:
            return (
                f"feature {last} is beyond the {self.n_features} features that are "
                "expected: train with as many features as all files have "
                "(features=...; --n-features)."
            )
        return "it is no line of this format."


class _Room:
    """Room for the rows of a text of some size, used again for the next text."""

    def __init__(self, size: int):
        self.size = size
        n_rows, n_entries = size // 2 + 1, size // 4 + 1
        self.arrays = ParsedLines(
            np.empty(n_rows, np.uint64),
            np.empty(n_rows, np.int64),
            np.empty(n_entries, np.int32),
            np.empty(n_entries, np.uint64),
        )


def largest_index(source: Source) -> int:
    """The largest index of a feature in a file, -1 where there is none."""
    lines, largest = Lines(source), -1
    while lines.more():
        largest = max(largest, largest_libsvm_index(lines.text))
        lines.place = len(lines.text)
    return largest


def _as_number(text) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
