"""What matters over all rows: importances of columns, and their effects as SVG."""

from __future__ import annotations

from math import floor, log10

import numpy as np

from locallin.inspection import Effect, GlobalEffects
from locallin.inspection.columns import is_missing, is_number
from locallin.inspection.text import escaped, number, shown_value
from locallin.report._curves import ticks

_WIDTH, _HEIGHT = 360, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 38
_MOST_COLUMNS = 12
_MOST_FIGURES = 6
_LONGEST_LEVEL = 12


def differs_by_region(effects: GlobalEffects) -> bool:
    """Whether what a value adds depends on the region, of columns that are shown."""
    return any(one.interaction.mean() > 0 for one in effects.effects[:_MOST_COLUMNS])


def importance_lines(effects: GlobalEffects) -> list[list[str]]:
    """Cells of a table of the most important columns.

    The last two tell how they differ by region; they are left out where none does.
    """
    shown = effects.effects[:_MOST_COLUMNS]
    by_region = differs_by_region(effects)
    most = max((one.importance.mean() for one in shown), default=0.0) or 1.0
    places = max(0, 3 - floor(log10(most)))
    lines = []
    for one in shown:
        score = int(one.interaction.argmax())
        size = one.importance.mean()
        bar = f'<i style="width:{100 * size / most:.1f}%"></i>'
        differs = one.interaction.mean()
        at = escaped(_shown(one, one.widest(score))) if differs > 0 else "–"
        line = [
            escaped(one.name),
            f"{size:.{places}f}",
            f'<td class="bar" aria-hidden="true">{bar}</td>',
        ]
        lines.append([*line, f"{differs:.{places}f}", at] if by_region else line)
    return lines


def effect_figures(effects: GlobalEffects, whole: str | None = None) -> str:
    """Figures of the most important columns, and a legend.

    ``whole`` is what columns add to; None takes the class that a score speaks for.
    """
    shown = effects.effects[:_MOST_FIGURES]
    if not shown:
        return ""
    figures = "".join(_figure(one, effects, whole) for one in shown)
    if not differs_by_region(effects):
        return f'<div class="curves">{figures}</div>'
    keys = "".join(
        f'<span><i class="key region{place}"></i>local model {escaped(name)}</span>'
        for place, name in enumerate(effects.regions)
    )
    legend = f'<span><i class="key all"></i>all rows</span>{keys}'
    return f'<p class="legend">{legend}</p><div class="curves">{figures}</div>'


def _figure(effect: Effect, effects: GlobalEffects, whole: str | None) -> str:
    score = int(effect.importance.argmax())
    label = effects.classes.tolist()[score]
    added_to = f"the score of {label}" if whole is None else whole
    draw = _levels if effect.kind == "category" else _numbers
    about = escaped(_course(effect, score, added_to))
    return (
        f"<figure><figcaption>{escaped(effect.name)} "
        f'<span class="quiet">adds to {escaped(whole or label)}</span></figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{about}">'
        f"{draw(effect, score)}</svg></figure>"
    )


def _course(effect: Effect, score: int, whole: str) -> str:
    mean = effect.mean[score]
    low, high = int(mean.argmin()), int(mean.argmax())
    return (
        f"What {effect.name} adds to {whole}: least, {number(mean[low])}, at "
        f"{_shown(effect, effect.values[low])}; most, {number(mean[high])}, at "
        f"{_shown(effect, effect.values[high])}. Local models differ most at "
        f"{_shown(effect, effect.widest(score))}."
    )


def _shown(effect: Effect, value) -> str:
    """A value of the column; the places at which a date is asked for are days."""
    if effect.kind == "date" and not is_missing(value):
        return value.date().isoformat()
    known = is_number(value) and not is_missing(value)
    return number(value) if known else shown_value(value)


class _Heights:
    """Heights of contributions: a scale that holds zero and everything drawn."""

    def __init__(self, effect: Effect, score: int):
        mean, spread = effect.mean[score], effect.spread[score]
        every = [mean - spread, mean + spread, effect.by_region[score].ravel(), [0.0]]
        values = np.concatenate(every)
        values = values[np.isfinite(values)]
        room = 0.05 * np.ptp(values) or 1.0
        self.low, self.high = values.min() - room, values.max() + room

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def lines(self) -> str:
        """Horizontal lines with their numbers, the one of zero darker."""
        made = []
        for tick in ticks(float(self.low), float(self.high)):
            y, kind = self(tick), ' class="zero"' if tick == 0 else ""
            made.append(
                f'<line{kind} x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" '
                f'y2="{y:.1f}"/><text x="{_LEFT - 6}" y="{y + 4:.1f}" '
                f'text-anchor="end">{number(tick)}</text>'
            )
        return "".join(made)


def _numbers(effect: Effect, score: int) -> str:
    values = effect.positions
    known = np.flatnonzero(np.isfinite(values))
    down = _Heights(effect, score)
    if not len(known):
        return down.lines()
    low, high = values[known].min(), values[known].max()

    def across(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    x = [across(values[i]) for i in known]
    mean, spread = effect.mean[score, known], effect.spread[score, known]
    above = [(a, down(b)) for a, b in zip(x, mean + spread, strict=True)]
    below = [(a, down(b)) for a, b in zip(x, mean - spread, strict=True)]
    parts = [
        down.lines(),
        f'<polygon class="band" points="{_path(above + below[::-1])}"/>',
    ]
    for place, curve in enumerate(effect.by_region[score][:, known]):
        points = [(a, down(b)) for a, b in zip(x, curve, strict=True) if np.isfinite(b)]
        parts.append(_line(f"region{place}", points))
    parts.append(_line("all", [(a, down(b)) for a, b in zip(x, mean, strict=True)]))
    for i in np.flatnonzero(~np.isfinite(values)):
        y = down(effect.mean[score, i])
        parts.append(
            f'<line class="gap" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" '
            f'y2="{y:.1f}"/><text x="{_WIDTH - _RIGHT}" y="{y - 3:.1f}" '
            'text-anchor="end">missing</text>'
        )
    if effect.kind == "date":
        ends = {known[0]: _LEFT + 30, known[-1]: _WIDTH - _RIGHT - 30}
        for place, middle in ends.items():
            parts.append(_below(middle, _shown(effect, effect.values[place])))
        return "".join(parts)
    for tick in ticks(float(low), float(high)):
        parts.append(_below(across(tick), shown_value(tick)))
    return "".join(parts)


def _levels(effect: Effect, score: int) -> str:
    down, n = _Heights(effect, score), len(effect.values)
    width = (_WIDTH - _LEFT - _RIGHT) / n
    parts = [down.lines()]
    for i, value in enumerate(effect.values):
        middle = _LEFT + (i + 0.5) * width
        ends = sorted([down(0.0), down(effect.mean[score, i])])
        parts.append(
            f'<rect class="level" x="{middle - 0.35 * width:.1f}" y="{ends[0]:.1f}" '
            f'width="{0.7 * width:.1f}" height="{max(ends[1] - ends[0], 0.5):.1f}"/>'
        )
        for place, mean in enumerate(effect.by_region[score][:, i]):
            if np.isfinite(mean):
                parts.append(
                    f'<circle class="region{place}" cx="{middle:.1f}" '
                    f'cy="{down(mean):.1f}" r="3"/>'
                )
        name = shown_value(value)
        if len(name) > _LONGEST_LEVEL or (n > 6 and len(name) > 4):
            name = name[: 4 if n > 6 else _LONGEST_LEVEL - 1] + "…"
        if n <= 12 or is_missing(value):
            parts.append(_below(middle, name))
    return "".join(parts)


def _below(x: float, text: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">'
        f"{escaped(text)}</text>"
    )


def _path(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _line(kind: str, points: list[tuple[float, float]]) -> str:
    if not points:
        return ""
    if len(points) == 1:
        (x, y), *_ = points
        return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    return f'<polyline class="{kind}" points="{_path(points)}"/>'
