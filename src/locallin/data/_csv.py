"""Rows of CSV files."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from locallin.data._csv_arrow import arrow_parser
from locallin.data._csv_layout import (
    SNIFFED_ROWS,
    find_delimiter,
    has_header,
    is_finite,
)
from locallin.data._lines import Lines
from locallin.data.blocks import regrouped
from locallin.data.columns import Columns, choose_columns
from locallin.data.source import (
    DataError,
    NoNumbersError,
    Options,
    Source,
    reading_errors,
)

_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
_NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " "}
_LONE_RETURN = re.compile(rb"\r(?!\n)")
# Whether a line that begins with a byte may be blank.
_MAY_BEGIN_BLANK = np.array(
    [i > 127 or chr(i) == '"' or chr(i).isspace() for i in range(256)]
)
NumberedRow = tuple[int, list[str]]


class CsvTable:
    """A CSV file, read block by block.

    The first line is a header if a cell of it is text above a column of numbers.

    pyarrow reads some thousand lines at once. What it refuses is read again by the csv
    module, which takes what Python takes for a number and knows the line of an error;
    without pyarrow everything is. Where cells stand apart by spaces, or lines do not
    end where rows do, only the csv module can tell rows apart, from there to the end.
    """

    n_rows = None

    def __init__(self, source: Source, options: Options):
        self.name = source.name
        self._delimiter = _delimiter(source, options)
        self._in_one_line = _in_one_line(self._delimiter)
        self._lines = Lines(source, mark=codecs.BOM_UTF8, n_chunks=2)
        self._rows: Iterator[NumberedRow] | None = None
        first = self._first_rows(source.head)
        if not first:
            raise DataError(f"{self.name} is empty.")
        self._width = len(first[0])
        self._header = options.header
        if self._header is None:
            self._header = self._has_header(first)
        names = None
        if self._header:
            names = [cell.strip() for cell in first[0]]
            self.skip(1)
        self._given_names = names
        self.columns = self._choose_columns(names, options)
        self.n_features: int | None = len(self.columns.features)
        self.has_labels = self.columns.label is not None and options.with_labels
        self._label = self.columns.label if self.has_labels else None
        self._numbers = self.columns.numbers
        self._parse: Callable[[memoryview, bool], Any] = arrow_parser(
            self._delimiter, self._width, self._numbers, self._label
        )

    def _has_header(self, first: list[list[str]]) -> bool:
        return has_header(self.name, first)

    def _choose_columns(self, names: list[str] | None, options: Options) -> Columns:
        try:
            return choose_columns(self.name, names, self._width, options)
        except DataError as error:
            if self._width > 1:
                raise
            raise DataError(
                f"{error} It was read with the delimiter {self._delimiter!r}."
            ) from None

    def _first_rows(self, head: bytes) -> list[list[str]]:
        """The cells of the first rows, which stay to be read."""
        plain = self._delimiter.isascii() and self._delimiter != " "
        returns = head.count(b"\r", 0, -1) > head.count(b"\r\n")
        if plain and not returns and self._lines_are_rows(least=SNIFFED_ROWS + 1):
            with reading_errors(self.name):
                first = list(islice(self._rows_in_memory(), SNIFFED_ROWS))
                return [cells for _, cells in first]
        rows = self._rows or self._read_carefully()
        with reading_errors(self.name):
            first = list(islice(rows, SNIFFED_ROWS))
        self._rows = chain(first, rows)
        return [cells for _, cells in first]

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind."""
        return replace(options, delimiter=self._delimiter, header=self._header)

    def _lines_are_rows(self, least: int = 1) -> bool:
        """Whether there are lines in memory, and all of them are rows or blank."""
        if self._rows is not None or not self._lines.more(least):
            return False
        if self._has_lone_return() or self._has_open_quote():
            self._read_carefully()
            return False
        return True

    def _has_lone_return(self) -> bool:
        lines = self._lines
        return lines.holds(b"\r") and bool(_LONE_RETURN.search(lines.left))

    def _has_open_quote(self) -> bool:
        """Whether there are quotes but those around whole cells."""
        lines = self._lines
        return lines.holds(b'"') and b'"' in self._in_one_line.sub(b"", lines.left)

    def _read_carefully(self) -> Iterator[NumberedRow]:
        """Leave the rest to the csv module."""
        lines: Iterable[str] = io.TextIOWrapper(
            self._lines.rest(), "utf-8-sig", newline=""
        )
        if self._delimiter == " ":
            lines = (" ".join(line.split()) for line in lines)
        self._rows = self._numbered(lines, self._lines.n_read)
        return self._rows

    def _rows_in_memory(self) -> Iterator[NumberedRow]:
        return self._numbered(self._lines.texts(), self._lines.n_read)

    def _numbered(self, lines: Iterable[str], before: int) -> Iterator[NumberedRow]:
        """Line numbers and cells; blank lines are left out."""
        reader = csv.reader(lines, delimiter=self._delimiter)
        try:
            for cells in reader:
                if len(cells) > 1 or (cells and cells[0].strip()):
                    yield before + reader.line_num, cells
        except csv.Error as error:
            raise DataError(
                f"{self.name}, line {before + reader.line_num}: {error}. Is a quote "
                "open?"
            ) from error

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        passed = 0
        with reading_errors(self.name):
            while passed < rows and self._lines_are_rows():
                passed += self._skip_lines(rows - passed)
            if self._rows is not None:
                passed += sum(1 for _ in islice(self._rows, rows - passed))
        return passed

    def _skip_lines(self, rows: int) -> int:
        lines = self._lines
        text = lines.text[lines.place :]
        ends = np.flatnonzero(text == ord("\n"))
        beginnings = text[np.append(0, ends[:-1] + 1)]
        if len(ends) > rows or _MAY_BEGIN_BLANK[beginnings].any():
            return lines.skip(rows, self._is_row)
        lines.take()
        return len(ends)

    def _is_row(self, line: bytes) -> bool:
        """Whether a line is not blank, as in ``_numbered``."""
        if self._delimiter.encode() in line:
            return True
        return bool(line.decode().replace('"', "").strip())

    def blocks(self, size: int) -> Iterator[tuple]:
        """Blocks of rows, of labels as text and, if there is a column, of weights."""
        return regrouped(self._pieces(size), size)

    def _pieces(self, size: int) -> Iterator[tuple]:
        while self._lines_are_rows():
            parsed = self._parsed_text(self._lines.left, self._lines.holds(b'"'))
            if parsed is None:
                yield from self._parsed(self._rows_in_memory(), size)
            else:
                yield self._block(*parsed)
            self._lines.take()
        if self._rows is not None:
            yield from self._parsed(self._rows, size)

    def _parsed_text(self, text: memoryview, quoted: bool) -> tuple | None:
        """What a block is made of; None where lines have to be looked at one by one."""
        return self._parse(text, quoted)

    def _block(self, numbers: np.ndarray, labels: np.ndarray | None) -> tuple:
        if self.columns.weight is None:
            return numbers, labels
        return np.ascontiguousarray(numbers[:, :-1]), labels, numbers[:, -1].copy()

    def _parsed(self, rows: Iterator[NumberedRow], size: int) -> Iterator[tuple]:
        """Blocks of rows whose cells are known."""
        while True:
            with reading_errors(self.name):
                block = list(islice(rows, size))
            if not block:
                return
            parsed = self._converted([cells for _, cells in block])
            if parsed is None:
                raise self._first_error(block)
            yield self._block(*parsed)

    def _converted(self, rows: list[list[str]]) -> tuple | None:
        """Numbers and labels; None where a row is not as it should be."""
        if any(len(cells) != self._width for cells in rows):
            return None
        labels = None
        if self._label is not None:
            labels = np.array([cells[self._label].strip() for cells in rows])
            if "" in labels:
                return None
        numbers = (float(cells[column]) for cells in rows for column in self._numbers)
        try:
            values = np.fromiter(numbers, np.float64, len(rows) * len(self._numbers))
        except ValueError:
            return None
        if not np.isfinite(values).all():
            return None
        return values.reshape(len(rows), -1), labels

    def _first_error(self, block: list[NumberedRow]) -> DataError:
        for line, cells in block:
            if problem := self._problem(cells):
                return DataError(f"{self.name}, line {line}: {problem}")
            if problem := self._number_problem(cells):
                return NoNumbersError(f"{self.name}, line {line}, {problem}")
        raise AssertionError("a block is refused where a row is")

    def _problem(self, cells: list[str]) -> str | None:
        """What is wrong with the width or the label of a row."""
        if len(cells) != self._width:
            return (
                f"{len(cells)} cells where the lines before have {self._width}. Mend "
                f"the line, or check the delimiter ({self._delimiter!r})."
            )
        if self._label is not None and not cells[self._label].strip():
            name = self.columns.label_name
            shown = "" if name is None else f" ({name!r})"
            return (
                f"the label in column {self._label + 1}{shown} is empty. Fill it or "
                "remove the line, or name another column as the label (--label)."
            )
        return None

    def _number_problem(self, cells: list[str]) -> str | None:
        """The first cell of a row that should be a number and is none."""
        for place, column in enumerate(self._numbers):
            if not is_finite(cells[column]):
                return f"{self._column(place)}: {self._cell_problem(cells[column])}"
        return None

    def _cell_problem(self, cell: str) -> str:
        if cell.strip().lower() in _MISSING:
            return (
                f"the value is missing ({cell!r}). Fill it or remove the line or the "
                "column."
            )
        return (
            f"{cell[:40]!r} is not a finite number. Features are numbers: encode or "
            "remove the column, or check which column is the label and that "
            f"{self._delimiter!r} is the delimiter."
        )

    def _column(self, place: int) -> str:
        """The name of a column of numbers in messages."""
        column = f"column {self._numbers[place] + 1}"
        if place == self.n_features:
            return f"{column} (the weight)"
        if self.columns.names:
            return f"{column} ({self.columns.names[place]!r})"
        return column


def _delimiter(source: Source, options: Options) -> str:
    given = options.delimiter or find_delimiter(source.head)
    delimiter = _NAMED_DELIMITERS.get(given, given)
    if len(delimiter) != 1:
        raise ValueError(f"delimiter={given!r} is not one character.")
    return delimiter


def _in_one_line(delimiter: str) -> re.Pattern[bytes]:
    """Cells in quotes that end in the line in which they begin, without others."""
    beside = re.escape(delimiter.encode())
    return re.compile(rb'(?<![^%b\n])"[^"\r\n]*"(?=[%b\r\n])' % (beside, beside))
