"""Pieces that pages are made of: tables, shares, data for scripts, files."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template

import numpy as np

_TALL = 25
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


def as_json(value) -> str:
    """JSON that can stand in a script element."""
    plain = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        plain = plain.replace(letter, f"\\u{ord(letter):04x}")
    return plain


def resource(name: str) -> str:
    """Text of a file beside this one."""
    return (files("locallin.report") / name).read_text(encoding="utf-8")


def template(name: str) -> Template:
    """A file with places to be filled."""
    return Template(resource(name))


def percent(value: float | None) -> str:
    """A share with one decimal."""
    return "–" if value is None or np.isnan(value) else f"{100 * value:.1f}%"


def table(caption: str, header: list, lines: list, *, kind="", foot=()) -> str:
    """A table; cells are HTML, and a header that begins with # is one of numbers."""
    numeric = [name.startswith("#") for name in header]
    marks = [' class="num"' if is_number else "" for is_number in numeric]
    head = "".join(
        f'<th scope="col"{mark}>{name.removeprefix("#")}</th>'
        for name, mark in zip(header, marks, strict=True)
    )

    def written(line):
        first, *others = line
        cells = "".join(
            cell if cell.startswith("<td") else f"<td{mark}>{cell}</td>"
            for cell, mark in zip(others, marks[1:], strict=True)
        )
        return f'<tr><th scope="row">{first}</th>{cells}</tr>'

    body = "".join(map(written, lines))
    foot = f"<tfoot>{''.join(map(written, foot))}</tfoot>" if foot else ""
    tall = " tall" if len(lines) > _TALL else ""
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table class="{kind}">'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody>{foot}</table></div>"
    )
