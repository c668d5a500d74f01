"""Tables as plain text and as HTML, and the values that they hold.

Names of columns, classes and levels come from data, and may be anything. ``plain``
makes them text of one line, ``escaped`` text of a page.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, time
from html import escape
from typing import Any

from locallin.inspection.columns import is_missing, is_number

_MARKS = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
_ISOLATES = "\u2066\u2067\u2068\u2069\ufeff"
# Larger numbers are written with an exponent.
_LARGEST_PLAIN = 1e15
# Letters that move the cursor, end a line or turn the direction of writing.
_CONTROLS = {code: f"\\x{code:02x}" for code in [*range(0x20), *range(0x7F, 0xA0)]} | {
    ord(mark): f"\\u{ord(mark):04x}" for mark in _MARKS + _ISOLATES
}
_CONTROLS |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def plain(value) -> str:
    """Anything as text of one line, with controls written out."""
    return str(value).encode("utf-8", "replace").decode().translate(_CONTROLS)


def escaped(value) -> str:
    """Anything as text of a page."""
    return escape(plain(value))


def shown_value(value: Any) -> str:
    """A value of a table: numbers short, "missing" for what is not there."""
    if is_missing(value):
        return "missing"
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if not is_number(value):
        return plain(value)
    whole = float(value).is_integer() and abs(value) < _LARGEST_PLAIN
    return f"{int(value)}" if whole else number(value, 6)


def html_table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: Collection[str],
) -> str:
    """A table for a notebook; columns named in ``words`` are flush left."""
    sides = ["left" if name in words else "right" for name in header]

    def line(tag: str, cells: Sequence[str]) -> str:
        made = "".join(
            f'<{tag} style="text-align:{side}">{escaped(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{made}</tr>"

    body = "".join(line("td", cells) for cells in rows)
    return (
        f'<table><caption style="text-align:left">{escaped(caption)}</caption>'
        f"<thead>{line('th', header)}</thead><tbody>{body}</tbody></table>"
    )


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[str]
) -> str:
    """Columns of text; those named in ``words`` are flush left, the others right."""
    lines = [[plain(cell) for cell in line] for line in (header, *rows)]
    columns = []
    for name, cells in zip(header, zip(*lines, strict=True), strict=True):
        width = max(map(len, cells))
        side = str.ljust if name in words else str.rjust
        columns.append([side(cell, width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """Significant digits; those before the point are all written."""
    whole = 10**digits - 0.5 <= abs(value) < _LARGEST_PLAIN
    return f"{value:{sign}.0f}" if whole else f"{value:{sign}.{digits}g}"


def signed(value: float) -> str:
    """Four significant digits with a sign."""
    return number(value, sign="+")
