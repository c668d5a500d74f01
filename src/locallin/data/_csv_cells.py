"""CSV files as Arrow tables of text."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from locallin.data._csv import CsvTable
from locallin.data._csv_layout import is_finite, names_above_text
from locallin.data.frames import (
    Signs,
    as_missing,
    column_labels,
    written_plainly,
)
from locallin.data.source import Options, Source
from locallin.engine.optional import import_optional

_BLOCK = 1 << 20
# Words for missing values. "none" is a level in many tables, and no gap.
MISSING = ("NA", "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>",
           "#N/A", "?")  # fmt: skip


class CsvCells(CsvTable):
    """A CSV file, in blocks: tables of trimmed text, null for what is missing.

    A table has the features, and after them the columns that are kept beside them.
    """

    def __init__(self, source: Source, options: Options):
        import_optional("pyarrow", "io", "tables")
        super().__init__(source, options)
        columns = self.columns
        self._signs = Signs(options.decimal, options.thousands)
        self._missing = MISSING if options.na is None else options.na
        self._places = columns.read
        self._names = column_labels(columns, options, self._given_names)
        # Beside the label, only weights have to be numbers.
        self._numbers = [] if columns.weight is None else [columns.weight]
        self._parse = _cell_parser(self._delimiter, self._width)

    def _has_header(self, first: list[list[str]]) -> bool:
        return names_above_text(first) or super()._has_header(first)

    def _converted(self, rows: list[list[str]]) -> tuple | None:
        if any(len(cells) != self._width for cells in rows):
            return None
        return self._checked(_table(list(zip(*rows, strict=True))))

    def _parsed_text(self, text: memoryview, quoted: bool) -> tuple | None:
        table = self._parse(text, quoted)
        return None if table is None else self._checked(table)

    def _checked(self, cells: Any) -> tuple | None:
        """The rows, the labels and weights; None where one of these is not there."""
        from pyarrow import compute

        labels = weights = None
        if self._label is not None:
            trimmed = compute.utf8_trim_whitespace(cells.column(self._label))
            labels = np.array(written_plainly(trimmed, self._signs).to_pylist())
            if "" in labels:
                return None
        if self.columns.weight is not None:
            cell = compute.utf8_trim_whitespace(cells.column(self.columns.weight))
            texts = written_plainly(cell, self._signs).to_pylist()
            if not all(map(is_finite, texts)):
                return None
            weights = np.array(texts, dtype=float)
        table = cells.select(self._places).rename_columns(self._names)
        return as_missing(table, self._missing), labels, weights

    def _block(self, table, labels, weights=None) -> tuple:
        return (table, labels) if weights is None else (table, labels, weights)

    def _column(self, place: int) -> str:
        return f"column {self._numbers[place] + 1} (the weight)"


def _table(columns: Sequence[Sequence[str]]) -> Any:
    import pyarrow

    names = [str(place) for place in range(len(columns))]
    arrays = [pyarrow.array(column, pyarrow.string()) for column in columns]
    return pyarrow.table(arrays, names)


def _cell_parser(
    delimiter: str, width: int
) -> Callable[[memoryview, bool], Any | None]:
    """A function from lines, and whether they hold quotes, to a table of text.

    It returns None where pyarrow finds rows of another width.
    """
    import pyarrow
    from pyarrow import csv

    names = [str(place) for place in range(width)]
    conversion = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pyarrow.string()),
        null_values=[],
        strings_can_be_null=False,
    )

    def parse(text: memoryview, quoted: bool) -> Any | None:
        layout = csv.ParseOptions(
            delimiter=delimiter, quote_char='"' if quoted else False
        )
        reading = csv.ReadOptions(column_names=names, block_size=max(_BLOCK, len(text)))
        try:
            return csv.read_csv(pyarrow.BufferReader(text), reading, layout, conversion)
        except pyarrow.ArrowInvalid:
            return None

    return parse
