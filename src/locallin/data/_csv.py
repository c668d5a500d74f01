"""Rows of CSV files."""

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from locallin.data._lines import Lines
from locallin.data.blocks import regrouped
from locallin.data.columns import choose_columns
from locallin.data.source import DataError, Options, Source, reading_errors
from locallin.kernels.text import parse_csv, skip_csv

_DELIMITERS = (",", "\t", ";", "|", " ")
_SNIFFED_ROWS = 50
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


class CsvTable:
    """A CSV file, read block by block.

    The first line is a header if a cell of it is text above a column of numbers. Lines
    of plain cells are read by a kernel. From the first quote on, and where cells stand
    apart by spaces, the csv module splits them.
    """

    n_rows = None

    def __init__(self, source: Source, options: Options):
        self.name = source.name
        delimiter = options.delimiter or _sniff(source.head)
        self._delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(
            delimiter, delimiter
        )
        if len(self._delimiter) != 1:
            raise ValueError(f"delimiter={delimiter!r} is not one character.")
        self._lines = Lines(source, mark=codecs.BOM_UTF8)
        self._rows: Iterator[tuple[int, list[str]]] | None = None
        first = self._first_rows(source.head)
        if not first:
            raise DataError(f"{self.name} is empty.")
        self._width = len(first[0])
        self._header = options.header
        if self._header is None:
            self._header = _has_header(self.name, first)
        names = [cell.strip() for cell in first[0]] if self._header else None
        if self._header:
            self.skip(1)
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
        self._places = np.full(self._width, -1)
        self._numbers = self.columns.numbers
        self._places[self._numbers] = range(len(self._numbers))
        if self.has_labels:
            self._places[self.columns.label] = -2

    def _first_rows(self, head: bytes) -> list[list[str]]:
        """The cells of the first rows, which stay to be read."""
        plain = self._delimiter.isascii() and self._delimiter != " "
        returns = head.count(b"\r", 0, -1) > head.count(b"\r\n")
        if plain and not returns and self._plain(least=_SNIFFED_ROWS + 1):
            with reading_errors(self.name):
                rows = csv.reader(self._lines.texts(), delimiter=self._delimiter)
                rows = (cells for _, cells in self._numbered(rows))
                return list(islice(rows, _SNIFFED_ROWS))
        self._read_carefully()
        with reading_errors(self.name):
            first = list(islice(self._rows, _SNIFFED_ROWS))
        self._rows = chain(first, self._rows)
        return [cells for _, cells in first]

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind."""
        return replace(options, delimiter=self._delimiter, header=self._header)

    def _plain(self, least: int = 1) -> bool:
        """Whether the kernel can read what comes next."""
        if self._rows is not None or not self._lines.more(least):
            return False
        if self._lines.quoted:
            self._read_carefully()
            return False
        return True

    def _read_carefully(self) -> None:
        """Leave the rest to the csv module."""
        lines = io.TextIOWrapper(self._lines.rest(), "utf-8-sig", newline="")
        if self._delimiter == " ":
            lines = (" ".join(line.split()) for line in lines)
        reader = csv.reader(lines, delimiter=self._delimiter)
        self._rows = self._numbered(reader, self._lines.n_read)

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        lines, passed = self._lines, 0
        while passed < rows and self._plain():
            lines.place, more = skip_csv(
                lines.text, lines.place, rows - passed, ord(self._delimiter)
            )
            passed += more
        if self._rows is not None:
            with reading_errors(self.name):
                passed += sum(1 for _ in islice(self._rows, rows - passed))
        return passed

    def _numbered(self, reader, before: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and cells; blank lines are left out."""
        try:
            for cells in reader:
                if cells and (len(cells) > 1 or cells[0].strip()):
                    yield before + reader.line_num, cells
        except csv.Error as error:
            raise DataError(
                f"{self.name}, line {before + reader.line_num}: {error}. Is a quote "
                "open?"
            ) from error

    def blocks(self, size: int) -> Iterator[tuple]:
        """Blocks of rows, of labels as text and, if there is a column, of weights."""
        return regrouped(self._pieces(size), size)

    def _pieces(self, size: int) -> Iterator[tuple]:
        while self._plain():
            yield self._read_plain(size)
        while self._rows is not None:
            with reading_errors(self.name):
                block = list(islice(self._rows, size))
            if not block:
                return
            yield self._parsed(block)

    def _block(self, numbers: np.ndarray, labels: np.ndarray | None) -> tuple:
        if self.columns.weight is None:
            return numbers, labels
        return np.ascontiguousarray(numbers[:, :-1]), labels, numbers[:, -1].copy()

    def _read_plain(self, size: int) -> tuple:
        """Rows of the text in memory; a line that needs care comes alone."""
        lines = self._lines
        n_rows = min(size, lines.n_lines)
        numbers = np.empty((n_rows, len(self._numbers)), np.uint64)
        spans = np.empty((n_rows if self.has_labels else 0, 2), np.int64)
        place, rows, good = parse_csv(
            lines.text,
            lines.place,
            ord(self._delimiter),
            self._places,
            numbers,
            spans,
        )
        if not rows and not good:
            number, line = lines.line(place)
            lines.place = place + len(line) + 1
            with reading_errors(self.name):
                cells = csv.reader([line.decode()], delimiter=self._delimiter)
                return self._parsed([*self._numbered(cells, number - 1)])
        lines.place = place
        labels = None
        if self.has_labels:
            with reading_errors(self.name):
                labels = np.array([lines.cell(*span) for span in spans[:rows].tolist()])
        return self._block(numbers[:rows].view(np.float64), labels)

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
        if self._numbers != list(range(width)):
            cells = [[row[column] for column in self._numbers] for row in cells]
        try:
            X = np.array(cells, dtype=np.float64)
        except ValueError:
            X = None
        if X is None or not np.isfinite(X).all():
            self._complain([line for line, _ in block], cells)
        return self._block(X, labels)

    def _complain(self, lines, rows) -> None:
        """Name the first cell that is no finite number."""
        for line, cells in zip(lines, rows, strict=True):
            for place, cell in enumerate(cells):
                if _is_number(cell) and np.isfinite(float(cell)):
                    continue
                column = f"column {self._numbers[place] + 1}"
                if place == self.n_features:
                    column += " (the weight)"
                elif self.columns.names:
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
