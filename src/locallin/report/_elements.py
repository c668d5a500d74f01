"""Pieces that pages are made of: tables, shares, data for scripts, files."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template

import numpy as np
import sklearn

import locallin
from locallin.inspection.text import escaped

_TALL = 25
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; {scripts}img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def whole_page(
    title: str, sections: dict, *, subtitle: str, tiles: str, script: str = ""
) -> str:
    """A page of sections, {name: (heading, HTML)}; empty ones are left out."""
    shown = {name: section for name, section in sections.items() if section[1]}
    links = "".join(
        f'<a href="#{name}">{heading}</a>' for name, (heading, _) in shown.items()
    )
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>'
        f"{content}</section>\n"
        for name, (heading, content) in shown.items()
    )
    scripts = "script-src 'unsafe-inline'; " if script else ""
    return template("page.html").substitute(
        policy=_POLICY.format(scripts=scripts),
        title=escaped(title),
        style=resource("report.css") + resource("whatif.css"),
        subtitle=subtitle,
        links=links,
        tiles=tiles,
        sections=body,
        version=escaped(locallin.__version__),
        sklearn_version=escaped(sklearn.__version__),
        script=f"<script>\n{script}</script>\n" if script else "",
    )


def tile_list(tiles: list[tuple[str, str, str]]) -> str:
    """Figures that stand first: what, how much, and more about it."""
    written = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd>"
        + (f"<dd>{more}</dd>" if more else "")
        + "</div>"
        for name, value, more in tiles
    )
    return f'<dl class="tiles">{written}</dl>'


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
