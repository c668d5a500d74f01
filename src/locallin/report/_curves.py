"""Curves of training, drawn as SVG."""

from html import escape
from math import ceil, floor, isfinite, log10

import numpy as np

from locallin.inspection.text import number

_WIDTH, _HEIGHT = 360, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 34
_MOST_POINTS = 300


def ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers between two others."""
    span = high - low
    if span <= 0:
        return [low]
    rough = span / wanted
    power = 10.0 ** floor(log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def figure(panel: str, curves: dict[str, np.ndarray], unit: str) -> str:
    """A figure with its caption, and a legend where there are several curves."""
    title = panel if len(curves) > 1 else next(iter(curves))
    legend = ""
    if len(curves) > 1:
        entries = "".join(
            f'<span><i class="key line{place}"></i>{escape(name)}</span>'
            for place, name in enumerate(curves)
        )
        legend = f'<p class="legend">{entries}</p>'
    caption = f"<figcaption>{escape(title.capitalize())}</figcaption>"
    return f"<figure>{caption}{_svg(title, curves, unit)}{legend}</figure>"


def _svg(title: str, curves: dict[str, np.ndarray], unit: str) -> str:
    values = np.concatenate(list(curves.values()))
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = float(low - room), float(high + room)
    longest = max(map(len, curves.values()))

    def across(epoch):
        share = (epoch - 1) / max(longest - 1, 1)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def down(value):
        share = (value - low) / (high - low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    words = "; ".join(f"{name}: {_course(line)}" for name, line in curves.items())
    about = escape(f"{title.capitalize()} by {unit}. {words}.")
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{about}">',
        *(_horizontal(down(tick), number(tick)) for tick in ticks(low, high)),
        *(
            f'<text x="{across(tick):.1f}" y="{_HEIGHT - _BOTTOM + 16}" '
            f'text-anchor="middle">{number(tick)}</text>'
            for tick in _epochs(longest)
        ),
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 3}" '
        f'text-anchor="middle">{escape(unit)}</text>',
        *(
            _curve(place, [(across(e), down(v)) for e, v in _line_points(line)])
            for place, line in enumerate(curves.values())
        ),
        "</svg>",
    ]
    return "".join(parts)


def _course(line: np.ndarray) -> str:
    if len(line) == 1:
        return number(line[0])
    return f"from {number(line[0])} to {number(line[-1])} in {len(line)} steps"


def _epochs(longest: int) -> list[float]:
    whole = [tick for tick in ticks(1, longest) if tick == round(tick)]
    return whole if whole and whole[0] == 1 else [1, *whole]


def _horizontal(y: float, text: str) -> str:
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    )


def _line_points(line: np.ndarray) -> list[tuple[int, float]]:
    places = np.arange(len(line))
    if len(line) > _MOST_POINTS:
        places = np.unique(np.linspace(0, len(line) - 1, _MOST_POINTS).astype(int))
    return [(int(i) + 1, float(line[i])) for i in places if isfinite(line[i])]


def _curve(place: int, points: list[tuple[float, float]]) -> str:
    if not points:
        return ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<polyline class="line{place}" points="{path}"/>'
        f'<circle class="line{place}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    )
