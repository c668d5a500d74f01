"""How a CSV file is laid out: its delimiter, and whether it begins with names."""

import csv
import math

from locallin.data.source import DataError

SNIFFED_ROWS = 50
_DELIMITERS = (",", "\t", ";", "|", " ")


def find_delimiter(head: bytes) -> str:
    """The delimiter that splits every line into the same number of cells."""
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        lines.pop()  # may be cut off
    lines = lines[:SNIFFED_ROWS]

    def fit(delimiter: str) -> tuple[float, int]:
        if delimiter == " ":
            counts = [len(line.split()) - 1 for line in lines]
        else:
            rows = csv.reader(lines, delimiter=delimiter)
            counts = [len(cells) - 1 for cells in rows]
        common = max(set(counts), key=counts.count)
        return (common > 0) * counts.count(common) / len(counts), common

    return max(_DELIMITERS, key=fit)


def has_header(name: str, rows: list[list[str]]) -> bool:
    """Whether the first row names the columns."""
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not others:
        return not any(map(is_number, first))
    columns = list(zip(*others, strict=True))
    numeric = [i for i, cells in enumerate(columns) if all(map(is_number, cells))]
    named = [i for i in numeric if not is_number(first[i])]
    if named and len(named) == len(numeric):
        return True
    named = named or _words_above_words(first, columns, numeric)
    if not named:
        return False
    raise DataError(
        f"{name}, line 1: {first[named[0]]!r} above column {named[0] + 1} looks like a "
        "name, but other columns begin with a number. Say whether the first line is a "
        "header (header=True or False; --header yes or no)."
    )


def names_above_text(rows: list[list[str]]) -> bool:
    """Whether words that occur once stand above columns, of which some are text.

    For tables, in which columns of numbers may have gaps and there may be none.
    """
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not others or any(map(is_number, first)) or len({*first, ""}) <= len(first):
        return False
    columns = zip(*others, strict=True)
    return not any(name in cells for name, cells in zip(first, columns, strict=True))


def _words_above_words(
    first: list[str], columns: list[tuple[str, ...]], numeric: list[int]
) -> list[int]:
    """Columns of words that may have names, where those of numbers are numbered."""
    if not _counts([first[i] for i in numeric]):
        return []
    words = [i for i in range(len(first)) if i not in numeric]
    return [i for i in words if first[i] not in columns[i]]


def _counts(cells: list[str]) -> bool:
    """Whether cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    counted = [[str(i + first) for i in range(len(cells))] for first in (0, 1)]
    return len(cells) > 1 and cells in counted


def is_number(cell: str) -> bool:
    """Whether Python takes a cell for a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_finite(cell: str) -> bool:
    """Whether a cell is a finite number."""
    return is_number(cell) and math.isfinite(float(cell))
