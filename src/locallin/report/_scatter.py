"""Points of two numbers, drawn as SVG."""

from __future__ import annotations

import numpy as np

from locallin.inspection.text import escaped, number
from locallin.report._curves import ticks

_WIDTH, _HEIGHT = 360, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 14, 12, 40
_MOST_POINTS = 800


class _Scale:
    """Places of numbers between two ends of a picture."""

    def __init__(self, values: np.ndarray, first: float, last: float):
        low, high = float(values.min()), float(values.max())
        room = 0.04 * (high - low) or 0.04 * abs(high) or 1.0
        self.low, self.high = low - room, high + room
        self._first, self._last = first, last

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self._first + share * (self._last - self._first)


def scatter(
    title: str, below: str, beside: str, x: np.ndarray, y: np.ndarray, *, equal: bool
) -> str:
    """A figure of points; with equal ends and a diagonal, or with a line at zero."""
    order = np.argsort(x, kind="stable")
    if len(order) > _MOST_POINTS:  # evenly over x, ends included
        places = np.linspace(0, len(order) - 1, _MOST_POINTS).astype(int)
        order = order[places]
    x, y = x[order], y[order]
    both = np.concatenate([x, y])
    across = _Scale(both if equal else x, _LEFT, _WIDTH - _RIGHT)
    down = _Scale(both if equal else np.append(y, 0.0), _HEIGHT - _BOTTOM, _TOP)
    parts = [_level(down(tick), tick) for tick in ticks(down.low, down.high)]
    for tick in ticks(across.low, across.high):
        parts.append(
            f'<text x="{across(tick):.1f}" y="{_HEIGHT - _BOTTOM + 16}" '
            f'text-anchor="middle">{number(tick)}</text>'
        )
    ends = (across.low, across.high)
    line = [(across(end), down(end if equal else 0.0)) for end in ends]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in line)
    parts.append(f'<polyline class="gap" points="{path}"/>')
    parts += [
        f'<circle class="dot" cx="{across(a):.1f}" cy="{down(b):.1f}" r="2.2"/>'
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 4}" '
        f'text-anchor="middle">{escaped(below)}</text>'
    )
    about = escaped(
        f"{title}: {beside} by {below}, {len(x)} points. {beside.capitalize()} "
        f"from {number(y.min())} to {number(y.max())}, {below} from "
        f"{number(x.min())} to {number(x.max())}."
    )
    return (
        f"<figure><figcaption>{escaped(title)} "
        f'<span class="quiet">{escaped(beside)}</span></figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{about}">'
        f"{''.join(parts)}</svg></figure>"
    )


def _level(y: float, tick: float) -> str:
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>'
    )
