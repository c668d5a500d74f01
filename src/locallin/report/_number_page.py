"""Sections of a report about predicted numbers."""

from __future__ import annotations

import numpy as np

from locallin.inspection.quality import middle_of
from locallin.inspection.text import number
from locallin.report._chances import unit_figure
from locallin.report._elements import percent, table
from locallin.report._numbers import COVERAGE, NumberEvaluation
from locallin.report._scatter import scatter

NAMES = {
    "r2": "R2, share of the variance that is explained",
    "rmse": "Root mean squared error",
    "mae": "Mean absolute error",
    "pinball": "Pinball loss",
}


def number_tiles(evaluation: NumberEvaluation) -> list[tuple[str, str, str]]:
    """The figures that stand first."""
    tiles = []
    for name, short in (("r2", "R2"), ("rmse", "RMSE"), ("mae", "MAE")):
        value = evaluation.figures.get(name)
        if value is not None:
            tiles.append((short, number(value), _between(evaluation, name)))
    return tiles


def _between(evaluation: NumberEvaluation, name: str) -> str:
    if name not in evaluation.intervals:
        return ""
    low, high = evaluation.intervals[name]
    return f"95% interval {number(low)} to {number(high)}"


def errors_section(evaluation: NumberEvaluation) -> str:
    """Predictions against the truth, and what is missing to it."""
    if not evaluation.n_labelled:
        return ""
    known = evaluation.labelled
    assert evaluation.truth is not None
    truth, predicted = evaluation.truth[known], evaluation.predicted[known]
    errors = evaluation.errors[known]
    lines = []
    for name, value in evaluation.figures.items():
        if value is not None and name in NAMES:
            low, high = evaluation.intervals.get(name, (np.nan, np.nan))
            between = f"{number(low)} to {number(high)}" if np.isfinite(low) else "–"
            lines.append([NAMES[name], number(value), between])
    half, most = np.quantile(np.abs(errors), [0.5, 0.9])
    level = ""
    if evaluation.levels is not None:
        middle = evaluation.levels[middle_of(evaluation.levels)]
        level = f"<p>What is called predicted here is the quantile {middle:g}.</p>"
    return (
        f"{level}"
        f"<p>Half of the {len(truth):,} rows are predicted to within "
        f"<b>{number(half)}</b>, nine in ten to within <b>{number(most)}</b>. Always "
        f"answering the mean, {number(truth.mean())}, would be wrong by "
        f"{number(truth.std())} (root mean square).</p>"
        '<p class="note">Intervals are for new rows like these, and only where the '
        "model was not fitted to these.</p>"
        + table(
            f"Figures of {len(truth):,} rows, with 95% intervals",
            ["Figure", "#Value", "#Interval"],
            lines,
        )
        + '<div class="curves">'
        + scatter("Predictions", "true", "predicted", truth, predicted, equal=True)
        + scatter(
            "Residuals", "predicted", "true less predicted", predicted, errors,
            equal=False,
        )
        + "</div>"
    )  # fmt: skip


def _promise(evaluation: NumberEvaluation) -> str:
    if evaluation.levels is None:
        return f"An interval of {percent(COVERAGE)} should hold nine true values in ten"
    return "Between two quantiles should lie as many rows as their levels are apart"


def quantiles_section(evaluation: NumberEvaluation) -> str:
    """Whether quantiles have as many rows below them as their levels say."""
    if evaluation.quantiles is None or not evaluation.n_labelled:
        return ""
    lines = [
        [f"{level:g}", percent(share), f"{percent(low)} to {percent(high)}",
         number(loss)]
        for level, share, low, high, loss in evaluation.shares_below
    ]  # fmt: skip
    crossed = evaluation.figures.get("crossing", 0.0)
    told = f"of {percent(crossed)} of the rows they cross" if crossed else (
        "they cross in no row"
    )  # fmt: skip
    return (
        "<p>A quantile of level 0.9 should have nine true values in ten below it. "
        f"Several are predicted side by side: {told}.</p>"
        + table(
            f"Quantiles of {evaluation.n_labelled:,} rows",
            ["Level", "#Rows below", "#95% interval", "#Pinball loss"],
            lines,
        )
    )


def intervals_section(evaluation: NumberEvaluation) -> str:
    """Whether intervals hold as many rows as promised."""
    if not evaluation.ends or not evaluation.n_labelled:
        return ""
    found = evaluation.coverages
    lines = [
        [percent(promised), percent(share), f"{percent(low)} to {percent(high)}",
         number(width)]
        for promised, share, low, high, width in found
    ]  # fmt: skip
    figure = unit_figure(
        "Coverage", "promised share", "share of rows within",
        [(promised, share) for promised, share, *_ in found],
        bars=[(promised, low, high) for promised, _, low, high, _ in found],
        diagonal=True,
    )  # fmt: skip
    return (
        f"<p>{_promise(evaluation)}: points on the diagonal keep that promise. Bars "
        "are 95% intervals.</p>"
        + table(
            f"Intervals of {evaluation.n_labelled:,} rows",
            ["Promised", "#Within", "#95% interval", "#Mean width"],
            lines,
        )
        + f'<div class="curves">{figure}</div>'
    )
