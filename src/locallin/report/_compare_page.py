"""Two models on one page."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest

from locallin.inspection.text import escaped as text
from locallin.inspection.text import number, shown_value
from locallin.report._elements import percent, table, tile_list, whole_page
from locallin.report._scatter import scatter
from locallin.report._sides import Comparison, Side

_NAMES = {
    "accuracy": "Accuracy",
    "auc": "Area under the ROC curve",
    "average_precision": "Average precision",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "calibration_error": "Calibration error",
    "r2": "R2",
    "rmse": "Root mean squared error",
    "mae": "Mean absolute error",
    "pinball": "Mean pinball loss",
    "crossing": "Rows whose quantiles cross",
    "interval_coverage": "Rows between the outer quantiles",
    "interval_width": "Width between the outer quantiles",
}
_SMALLER_IS_BETTER = {"log_loss", "brier", "calibration_error", "rmse", "mae"}
# A narrow interval is better only where it holds as many rows.
_NEITHER_IS_BETTER = {"interval_coverage", "interval_width"}
_MOST_LABELS = 25
_MOST_COLUMNS = 20


def comparison_page(
    data: Comparison, title: str, rows: int | None, feature_names
) -> str:
    """The whole page."""
    sections = {
        "figures": ("How good they are", _figures_section(data)),
        "agreement": ("Where they agree", _agreement_section(data)),
        "apart": (
            "Where they differ",
            _rows_section(data, rows, feature_names),
        ),
        "columns": ("What matters to each", _columns_section(data)),
    }
    one, two = (text(side.name) for side in data.sides)
    n = len(data.row_names)
    return whole_page(
        title,
        sections,
        subtitle=f"{one} and {two}, asked about the same {n:,} rows",
        tiles=_tiles(data),
    )


def _tiles(data: Comparison) -> str:
    tiles = [("Rows", f"{len(data.row_names):,}", "")]
    share = percent(data.n_differ / len(data.row_names))
    how = "by more than a tenth of a deviation" if data.of_numbers else "another class"
    tiles.append(("Predicted differently", share, f"{data.n_differ:,} rows, {how}"))
    wanted = ("r2", "rmse") if data.of_numbers else ("accuracy", "auc")
    for name, first, second, _ in data.figures:
        if name in wanted:
            shown = f"{number(first)} → {number(second)}"
            tiles.append((_name_of(name), shown, "first → second"))
    return tile_list(tiles)


def _figures_section(data: Comparison) -> str:
    if not data.figures:
        return ""
    one, two = (text(side.name) for side in data.sides)
    lines = []
    for name, first, second, (low, high) in data.figures:
        lines.append(
            [
                _name_of(name),
                number(first),
                number(second),
                _plus(second - first),
                f"{_plus(low)} to {_plus(high)}" if np.isfinite(low) else "–",
                _verdict(name, low, high, one, two),
            ]
        )
    header = ["Figure", f"#{one}", f"#{two}", "#Difference", "#95% interval", "Better"]
    return (
        "<p>The difference is the second model less the first. Its interval is paired: "
        "both models are judged on the same resampled rows. If it contains zero, these "
        "rows do not show which is better.</p>"
        '<p class="note">This holds only for rows that neither model was fitted to.</p>'
        + table(f"Figures of {data.n_known:,} rows", header, lines, kind="wide")
        + _right_and_wrong(data, one, two)
    )


def _name_of(figure: str) -> str:
    level = figure.removeprefix("pinball_q")
    return _NAMES[figure] if level == figure else f"Pinball loss of quantile {level}"


def _plus(value: float) -> str:
    return f"{value:+.3g}".replace("-", "\u2212")


def _verdict(name: str, low: float, high: float, one: str, two: str) -> str:
    if name in _NEITHER_IS_BETTER:
        return "–"
    if not np.isfinite(low) or low <= 0 <= high:
        return '<span class="quiet">undecided</span>'
    smaller = name in _SMALLER_IS_BETTER or name.startswith("pinball")
    return two if (low > 0) != smaller else one


def _right_and_wrong(data: Comparison, one: str, two: str) -> str:
    counts = data.right_and_wrong
    if counts is None:
        return ""
    lines = [
        [f"{one} is {word}", f"{counts[i, 0]:,}", f"{counts[i, 1]:,}"]
        for i, word in enumerate(("right", "wrong"))
    ]
    header = ["", f"#{two} is right", f"#{two} is wrong"]
    only = counts[0, 1] + counts[1, 0]
    note = ""
    if only:
        chance = binomtest(int(counts[0, 1]), int(only)).pvalue
        note = (
            f'<p class="note">On {only:,} rows only one model is right: {one} on '
            f"{counts[0, 1]:,} of them. Two equally good models would be as far "
            f"apart with a probability of {number(chance)} (McNemar's exact test).</p>"
        )
    return table("Rows that each model predicts right or wrong", header, lines) + note


def _agreement_section(data: Comparison) -> str:
    one, two = data.sides
    if data.of_numbers:
        return (
            '<div class="curves">'
            + scatter(
                "Predictions", one.name, two.name, one.predicted, two.predicted,
                equal=True,
            )
            + _error_scatter(data)
            + "</div>"
        )  # fmt: skip
    labels = np.union1d(one.predicted, two.predicted)
    if len(labels) > _MOST_LABELS:
        return ""
    lines = []
    for label in labels:
        here = one.predicted == label
        counts = [int(np.sum(here & (two.predicted == other))) for other in labels]
        cells = [
            f'<td class="{"hit" if other == label else ""} {"none" if not c else ""}" '
            f'style="--share:{(c / max(here.sum(), 1)) ** 0.5:.3f}">{c}</td>'
            for other, c in zip(labels, counts, strict=True)
        ]
        lines.append([text(label), *cells])
    header = ["", *(f"#{text(label)}" for label in labels)]
    caption = f"Rows by what {one.name} (down) and {two.name} (across) predict"
    return table(caption, header, lines, kind="confusion")


def _error_scatter(data: Comparison) -> str:
    if not data.n_known:
        return ""
    truth = np.asarray(data.truth, float)
    known = np.isfinite(truth)
    one, two = (truth[known] - side.predicted[known] for side in data.sides)
    names = [f"true less {side.name}" for side in data.sides]
    return scatter("Residuals", names[0], names[1], one, two, equal=True)


def _rows_section(data: Comparison, limit: int | None, feature_names) -> str:
    rows = data.rows_apart(limit)
    if not len(rows):
        return "<p>Both models say the same of all rows.</p>"
    header, columns = ["Row"], [[text(data.row_names[row]) for row in rows]]
    if data.truth is not None:
        header.append("#Truth" if data.of_numbers else "Truth")
        columns.append([text(shown_value(value)) for value in data.truth[rows]])
    for side in data.sides:
        mark = "#" if data.of_numbers else ""
        header.append(f"{mark}{text(side.name)}")
        columns.append(_told(side, rows))
    for side in data.sides:
        if side.is_explained:
            header.append(f"Reasons of {text(side.name)}")
            reasons = side.reasons(rows, feature_names)
            columns.append([text(words) for words in reasons])
    lines = [list(line) for line in zip(*columns, strict=True)]
    told = "those that are farthest apart first"
    return (
        f"<p>{len(rows):,} rows, {told}, with the three largest contributions to what "
        "each model predicts.</p>"
        + table("Rows that are predicted differently", header, lines, kind="wide")
    )


def _told(side: Side, rows: np.ndarray) -> list[str]:
    """What is predicted, and how sure that is."""
    found = [text(shown_value(value)) for value in side.predicted[rows]]
    if side.confidence is None:
        return found
    return [
        f'{word} <span class="quiet">{percent(chance)}</span>'
        for word, chance in zip(found, side.confidence[rows], strict=True)
    ]


def _columns_section(data: Comparison) -> str:
    shares = [_shares(side) for side in data.sides if side.is_explained]
    if not shares:
        return ""
    named = [side for side in data.sides if side.is_explained]
    total: dict[str, float] = {}
    for own in shares:
        for name, share in own.items():
            total[name] = total.get(name, 0.0) + share
    order = sorted(total, key=lambda name: -total[name])[:_MOST_COLUMNS]
    most = max(max(own.values(), default=0.0) for own in shares) or 1.0
    lines = []
    for name in order:
        line = [text(name)]
        for own in shares:
            known = own.get(name)
            width = 0.0 if known is None else 100 * known / most
            line += [
                percent(known),
                f'<td class="bar" aria-hidden="true"><i style="width:{width:.1f}%">'
                "</i></td>",
            ]
        lines.append(line)
    header = ["Column"]
    for side in named:
        header += [f"#{text(side.name)}", ""]
    rows = named[0].effects.n_rows if named[0].effects is not None else 0
    caption = f"Share of what all columns add, in absolute value, over {rows:,} rows"
    return (
        "<p>A prediction is the sum of what each column adds; this is how much comes "
        "from each column, on average. A dash is a column that a model does not "
        "use.</p>" + table(caption, header, lines, kind="wide")
    )


def _shares(side: Side) -> dict[str, float]:
    assert side.effects is not None
    sizes = {one.name: float(one.importance.mean()) for one in side.effects.effects}
    total = sum(sizes.values()) or 1.0
    return {name: size / total for name, size in sizes.items()}
