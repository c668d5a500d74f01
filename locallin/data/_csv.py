"""Rows of CSV files."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from locallin.data._columns import choose_columns
from locallin.data._source import DataError, Options, Source, reading_errors

_DELIMITERS = (",", "\t", ";", "|", " ")
_SNIFFED_ROWS = 50
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


class CsvTable:
    """A CSV file, read block by block.

    The first line is a header if a cell of it is text above a column of numbers.
    """

    n_rows = None

    def __init__(self, source: Source, options: Options):
        self.name = source.name
        text = io.TextIOWrapper(source.stream, "utf-8-sig", newline="")
        delimiter = options.delimiter or _sniff(source.head)
        self._delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(
            delimiter, delimiter
        )
        if len(self._delimiter) != 1:
            raise ValueError(f"delimiter={delimiter!r} is not one character.")
        if self._delimiter == " ":
            text = (" ".join(line.split()) for line in text)
        self._rows = self._numbered(csv.reader(text, delimiter=self._delimiter))
        with reading_errors(self.name):
            first = list(islice(self._rows, _SNIFFED_ROWS))
        self._width = len(first[0][1])
        self._header = options.header
        if self._header is None:
            self._header = _has_header(self.name, [cells for _, cells in first])
        names = None
        if self._header:
            names = [cell.strip() for cell in first.pop(0)[1]]
        self._rows = chain(first, self._rows)
        try:
            self.columns = choose_columns(self.name, names, self._width, options)
        except DataError as error:
            if self._width > 1:
                raise
            raise DataError(
                f"{error} It was read with the delimiter {self._delimiter!r}."
            ) from None
        self.n_features = len(self.columns.features)
        self.has_labels = self.columns.label is not None and options.with_labels

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind."""
        return replace(options, delimiter=self._delimiter, header=self._header)

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        with reading_errors(self.name):
            return sum(1 for _ in islice(self._rows, rows))

    def _numbered(self, reader) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and cells; blank lines are left out."""
        try:
            for cells in reader:
                if cells and (len(cells) > 1 or cells[0].strip()):
                    yield reader.line_num, cells
        except csv.Error as error:
            raise DataError(
                f"{self.name}, line {reader.line_num}: {error}. Is a quote open?"
            ) from error

    def blocks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Blocks of rows and of labels as text."""
        while True:
            with reading_errors(self.name):
                block = list(islice(self._rows, size))
            if not block:
                return
            yield self._parsed(block)

    def _parsed(self, block):
        width, columns = self._width, self.columns
        for line, cells in block:
            if len(cells) != width:
                raise DataError(
                    f"{self.name}, line {line}: {len(cells)} cells where the lines "
                    f"before have {width}. Mend the line, or check the delimiter "
                    f"({self._delimiter!r})."
                )
        labels = None
        if self.has_labels:
            labels = [cells[columns.label].strip() for _, cells in block]
            if "" in labels:
                line = block[labels.index("")][0]
                raise DataError(
                    f"{self.name}, line {line}: the label in column "
                    f"{columns.label + 1} is empty. Fill it or remove the line."
                )
            labels = np.array(labels)
        cells = [cells for _, cells in block]
        if columns.features != list(range(width)):
            cells = [[row[column] for column in columns.features] for row in cells]
        try:
            X = np.array(cells, dtype=np.float64)
        except ValueError:
            X = None
        if X is None or not np.isfinite(X).all():
            self._complain([line for line, _ in block], cells)
        return X, labels

    def _complain(self, lines, rows) -> None:
        """Name the first cell that is no finite number."""
        for line, cells in zip(lines, rows, strict=True):
            for place, cell in enumerate(cells):
                if _is_number(cell) and np.isfinite(float(cell)):
                    continue
                column = f"column {self.columns.features[place] + 1}"
                if self.columns.names:
                    column += f" ({self.columns.names[place]!r})"
                where = f"{self.name}, line {line}, {column}"
                if cell.strip().lower() in _MISSING:
                    raise DataError(
                        f"{where}: the value is missing ({cell!r}). Fill it or remove "
                        "the line or the column."
                    )
                raise DataError(
                    f"{where}: {cell[:40]!r} is not a finite number. Features are "
                    "numbers: encode or remove the column, or check which column is "
                    f"the label and that {self._delimiter!r} is the delimiter."
                )


def _sniff(head: bytes) -> str:
    """The delimiter that splits every line into the same number of cells."""
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        lines.pop()  # may be cut off
    lines = lines[:_SNIFFED_ROWS]

    def fit(delimiter):
        if delimiter == " ":
            counts = [len(line.split()) - 1 for line in lines]
        else:
            rows = csv.reader(lines, delimiter=delimiter)
            counts = [len(cells) - 1 for cells in rows]
        common = max(set(counts), key=counts.count)
        return (common > 0) * counts.count(common) / len(counts), common

    return max(_DELIMITERS, key=fit)


def _has_header(name: str, rows: list[list[str]]) -> bool:
    """Whether the first row names the columns."""
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not others:
        return not any(map(_is_number, first))
    numeric = [
        column
        for column in range(len(first))
        if all(_is_number(row[column]) for row in others)
    ]
    text = [column for column in numeric if not _is_number(first[column])]
    # Columns without names may be numbered, above labels that are words.
    words = [column for column in range(len(first)) if column not in numeric]
    new = [c for c in words if all(row[c] != first[c] for row in others)]
    if text and len(text) == len(numeric):
        return True
    if not text and not (new and _counts([first[column] for column in numeric])):
        return False
    column = (text or new)[0]
    raise DataError(
        f"{name}, line 1: {first[column]!r} above column {column + 1} looks like a "
        "name, but other columns begin with a number. Say whether the first line is a "
        "header (header=True or False; --header yes or no)."
    )


def _counts(cells: list[str]) -> bool:
    """Whether cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    counted = [[str(i + first) for i in range(len(cells))] for first in (0, 1)]
    return len(cells) > 1 and cells in counted


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
