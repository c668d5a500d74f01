"""How good the probabilities of a report are: figures, and curves as SVG."""

from __future__ import annotations

import numpy as np

from locallin.inspection.quality import (
    judged_chances,
    precision_curve,
    ranking_and_intervals,
    reliability,
    roc_curve,
)
from locallin.inspection.text import escaped, number
from locallin.report._data import Evaluation

_NAMES = {
    "auc": "Area under the ROC curve",
    "average_precision": "Average precision",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "calibration_error": "Calibration error",
}
_SIZE, _LEFT, _RIGHT, _TOP, _BOTTOM = 240, 40, 10, 10, 36
_MOST_POINTS = 200


def chance_lines(evaluation: Evaluation) -> list[list[str]]:
    """Cells of a table of figures with their intervals."""
    found, known = ranking_and_intervals(*evaluation.judged_chances)
    lines = []
    for name, value in found.items():
        if value is not None:
            low, high = known.get(name, (np.nan, np.nan))
            between = f"{low:.3f} to {high:.3f}" if np.isfinite(low) else "–"
            lines.append([_NAMES[name], f"{value:.3f}", between])
    return lines


def chance_figures(evaluation: Evaluation) -> str:
    """Reliability and, for two classes, the ROC and precision-recall curves."""
    is_class, chances = evaluation.judged_chances
    chance, right = judged_chances(is_class, chances)
    bins = reliability(chance, right)
    of = "the predicted class" if chances.shape[1] > 2 else evaluation.labels[1]
    figures = [
        unit_figure(
            "Reliability", f"probability of {of}", "share that came true",
            [(one["probability"], one["share"]) for one in bins],
            bars=[(one["probability"], one["low"], one["high"]) for one in bins],
            diagonal=True,
        )
    ]  # fmt: skip
    if chances.shape[1] == 2 and right.any() and not right.all():
        falls, hits = roc_curve(right, chance)
        roc = _thinned(falls, hits)
        figures.append(
            unit_figure(
                "ROC curve",
                f"share of others taken for {of}",
                f"share of {of} found",
                roc,
                diagonal=True,
            )
        )
        precision, recall = precision_curve(right, chance)
        points = _thinned(recall, precision)
        figures.append(
            unit_figure(
                "Precision by recall",
                f"recall: share of {of} found",
                f"share right among those called {of}",
                points,
            )
        )
    return f'<div class="curves">{"".join(figures)}</div>'


def _thinned(x: np.ndarray, y: np.ndarray) -> list[tuple[float, float]]:
    places = np.unique(np.linspace(0, len(x) - 1, _MOST_POINTS).astype(int))
    return [(float(x[i]), float(y[i])) for i in places]


def _across(share: float) -> float:
    return _LEFT + share * (_SIZE - _LEFT - _RIGHT)


def _down(share: float) -> float:
    return _SIZE - _BOTTOM - share * (_SIZE - _TOP - _BOTTOM)


def unit_figure(title, below, beside, points, *, bars=(), diagonal=False) -> str:
    """A curve in the unit square."""
    course = "; ".join(
        f"{number(x)}: {number(y)}" for x, y in points[:: 1 + len(points) // 10]
    )
    about = escaped(f"{title}: {beside} by {below}. {course}.")
    parts = []
    for tick in (0.0, 0.5, 1.0):
        y, x = _down(tick), _across(tick)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_SIZE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}'
            f'</text><text x="{x:.1f}" y="{_SIZE - _BOTTOM + 15}" '
            f'text-anchor="middle">{number(tick)}</text>'
        )
    if diagonal:
        parts.append(_polyline("gap", [(0.0, 0.0), (1.0, 1.0)]))
    for x, low, high in bars:
        parts.append(_polyline("all", [(x, low), (x, high)]))
    parts.append(_polyline("line0", points))
    for x, y in points if bars else ():
        parts.append(
            f'<circle class="line0" cx="{_across(x):.1f}" cy="{_down(y):.1f}" r="2.5"/>'
        )
    middle = (_LEFT + _SIZE - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_SIZE - 3}" text-anchor="middle">{escaped(below)}'
        "</text>"
    )
    caption = (
        f"<figcaption>{escaped(title)} "
        f'<span class="quiet">{escaped(beside)}</span></figcaption>'
    )
    return (
        f'<figure>{caption}<svg class="unit" viewBox="0 0 {_SIZE} {_SIZE}" role="img" '
        f'aria-label="{about}">{"".join(parts)}</svg></figure>'
    )


def _polyline(kind: str, points) -> str:
    path = " ".join(f"{_across(x):.1f},{_down(y):.1f}" for x, y in points)
    return f'<polyline class="{kind}" points="{path}"/>'
