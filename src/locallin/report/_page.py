"""A report as a page: one file that needs no other."""

from __future__ import annotations

from typing import Any

import numpy as np

from locallin.inspection.histories import recorded_histories
from locallin.inspection.text import escaped as text
from locallin.inspection.text import number, plain
from locallin.inspection.unwrap import target_steps
from locallin.report._chances import chance_figures, chance_lines
from locallin.report._curves import figure
from locallin.report._data import Evaluation, ReportData
from locallin.report._elements import (
    as_json,
    percent,
    resource,
    table,
    template,
    tile_list,
    whole_page,
)
from locallin.report._model import changed_parameters, chooser_in, fitted_facts
from locallin.report._number_page import (
    errors_section,
    intervals_section,
    number_tiles,
    quantiles_section,
)
from locallin.report._numbers import NumberEvaluation
from locallin.report._overview import (
    differs_by_region,
    effect_figures,
    importance_lines,
)

_LONGEST_NAMES = 40
_MOST_IN_MATRIX = 25
_MOST_PAIRS = 20
_MOST_REGIONS = 20
_CLASSES_OF_REGION = 3
_SCRIPTS = ("model.js", "flips.js", "whatif.js", "report.js")
_PICKS = {
    "clear": "Most confident",
    "narrow": "Least confident",
    "wrong": "Wrong",
}
_NUMBER_PICKS = {"high": "Highest", "low": "Lowest", "off": "Farthest off"}
_NEED_TRUTH = ("wrong", "off")
_PANEL = (
    '<section id="what-if" class="what-if" aria-labelledby="what-if-title" hidden>'
    '<h3 id="what-if-title">What if?</h3></section>'
)


def page(data: ReportData, title: str) -> str:
    """The whole page."""
    sections = {
        "columns": ("What matters", _columns_section(data)),
        **_quality_sections(data.evaluation),
        "regions": ("Local models", _regions_section(data)),
        "rows": ("Single rows", _rows_section(data)),
        "training": ("Training", _training_section(data)),
        "model": ("The model", _model_section(data)),
    }
    return whole_page(
        title,
        sections,
        subtitle=_subtitle(data),
        tiles=_tiles(data),
        script="".join(map(resource, _SCRIPTS)),
    )


def _quality_sections(evaluation) -> dict[str, tuple[str, str]]:
    """How good the model is."""
    if isinstance(evaluation, NumberEvaluation):
        return {
            "errors": ("Errors", errors_section(evaluation)),
            "quantiles": ("Quantiles", quantiles_section(evaluation)),
            "intervals": ("Intervals", intervals_section(evaluation)),
        }
    return {
        "accuracy": ("Accuracy", _accuracy_section(evaluation)),
        "chances": ("Probabilities", _chances_section(evaluation)),
        "confusion": ("Confusions", _confusions_section(evaluation)),
    }


def _subtitle(data: ReportData) -> str:
    """What the page is about, for those who do not know the library."""
    local, kinds = len(data.regions), ""
    models = "one linear model" if local == 1 else f"{local:,} local linear models"
    if isinstance(data.evaluation, Evaluation):
        kinds = f" {data.evaluation.n_classes} classes,"
    return f"{models},{kinds} asked about {data.n_rows:,} rows".capitalize()


def _tiles(data: ReportData) -> str:
    evaluation = data.evaluation
    tiles: list[tuple[str, str, str]] = []
    if isinstance(evaluation, NumberEvaluation):
        tiles += number_tiles(evaluation)
    elif evaluation.truth is not None:
        low, high = evaluation.interval
        interval = f"95% interval {100 * low:.1f}–{percent(high)}"
        tiles.append(("Accuracy", percent(evaluation.accuracy), interval))
    local = len(data.regions)
    tiles += [
        ("Rows", f"{data.n_rows:,}", ""),
        ("Columns", f"{data.n_features:,}", ""),
    ]
    if isinstance(evaluation, Evaluation):
        names = ", ".join(map(plain, evaluation.labels[: evaluation.n_classes]))
        more = text(names) if len(names) <= _LONGEST_NAMES else ""
        tiles.append(("Classes", f"{evaluation.n_classes:,}", more))
    tiles.append(("Local models", f"{local:,}", _kind_of_models(data)))
    return tile_list(tiles)


def _kind_of_models(data: ReportData) -> str:
    if data.regions[0].owner is not None:
        return f"{len(data.regions) // len(data.regions.class_labels)} for each class"
    return "charts" if hasattr(data.classifier, "atlas_") else ""


def _columns_section(data: ReportData) -> str:
    effects = data.effects
    if effects is None:
        return ""
    header, by_region = ["Column", "#Adds on average", ""], ""
    if differs_by_region(effects):
        header += ["#Differs between local models", "Most at"]
        by_region = (
            " Coloured lines and points belong to the rows of one local model: where "
            "they lie apart, the effect of a value depends on the other columns."
        )
    caption = f"Mean absolute contribution over {effects.n_rows:,} rows"
    what = "prediction" if data.explained.of_numbers else "score"
    return (
        f"<p>A {what} is the sum of what each column adds. Bars show how much a column "
        "adds or takes away on average, charts what it adds at each of its values."
        f"{by_region}</p>"
        + table(caption, header, importance_lines(effects), kind="wide matters")
        + effect_figures(effects, "the prediction" if what == "prediction" else None)
    )


def _model_section(data: ReportData) -> str:
    parts = []
    changed = changed_parameters(data.estimator)
    if changed:
        lines = [[f"<code>{text(cell)}</code>" for cell in line] for line in changed]
        header = ["Parameter", "Value", "Default"]
        parts.append(table("Parameters that are not the defaults", header, lines))
    else:
        parts.append("<p>All parameters have their defaults.</p>")
    chosen = getattr(chooser_in(data.estimator), "chosen_", {})
    if chosen:
        lines = [[text(name), text(value)] for name, value in chosen.items()]
        header = ["Setting", "#Value"]
        parts.append(table("Chosen on held-out rows", header, lines))
    facts = [[text(name), text(value)] for name, value in fitted_facts(data)]
    parts.append(table("What fitting gave", ["Fitted", "#Value"], facts))
    return f'<div class="beside">{"".join(parts)}</div>'


def _accuracy_section(evaluation: Evaluation) -> str:
    if evaluation.truth is None:
        return ""
    n, right = evaluation.n_labelled, int(np.trace(evaluation.confusion))
    low, high = evaluation.interval
    share = evaluation.confusion.sum(axis=1)
    largest = int(share.argmax())
    sentence = (
        f"<p><b>{right:,}</b> of <b>{n:,}</b> labelled rows are predicted right: "
        f"<b>{percent(evaluation.accuracy)}</b>, 95% interval {percent(low)} to "
        f"{percent(high)} (Wilson). Always answering "
        f"{text(evaluation.labels[largest])} would give {percent(share[largest] / n)}."
        '</p><p class="note">The interval is for new rows like these, and only where '
        "the model was not fitted to these.</p>"
    )
    lines = []
    for label, (precision, recall, f1, rows) in zip(
        evaluation.labels, evaluation.per_class, strict=True
    ):
        shares = [percent(value) for value in (precision, recall, f1)]
        lines.append([text(label), *shares, f"{rows:,}"])
    there = [line for line in evaluation.per_class if line[3]]
    means = [percent(mean) for mean in np.mean(there, axis=0)[:3]]
    foot = [["Mean of the classes", *means, f"{n:,}"]]
    header = ["Class", "#Precision", "#Recall", "#F1", "#Rows"]
    return sentence + table("Class by class", header, lines, foot=foot)


def _chances_section(evaluation: Evaluation) -> str:
    is_class, _ = evaluation.judged_chances
    if not len(is_class):
        return ""
    caption = f"Probabilities of {len(is_class):,} rows, with 95% intervals"
    return (
        "<p>Four in five of the rows with a probability of 80% should be of the class: "
        "points on the diagonal keep that promise. Bars are 95% intervals.</p>"
        + table(caption, ["Figure", "#Value", "#Interval"], chance_lines(evaluation))
        + chance_figures(evaluation)
    )


def _confusions_section(evaluation: Evaluation) -> str:
    if evaluation.truth is None:
        return ""
    if len(evaluation.labels) > _MOST_IN_MATRIX:
        return _pairs(evaluation)
    return _matrix(evaluation)


def _matrix(evaluation: Evaluation) -> str:
    totals = np.maximum(evaluation.confusion.sum(axis=1), 1)
    predicted = evaluation.labels[: evaluation.n_classes]
    head = "".join(f'<th scope="col">{text(label)}</th>' for label in predicted)
    lines = []
    for i, label in enumerate(evaluation.labels):
        cells = []
        for j, count in enumerate(evaluation.confusion[i].tolist()[: len(predicted)]):
            kind = " ".join(["hit"] * (i == j) + ["none"] * (count == 0))
            share = f"{(count / totals[i]) ** 0.5:.3f}"
            cells.append(f'<td class="{kind}" style="--share:{share}">{count}</td>')
        lines.append(f'<tr><th scope="row">{text(label)}</th>{"".join(cells)}</tr>')
    caption = "Rows by label (down) and prediction (across)"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        f'<table class="confusion"><caption>{caption}</caption><thead><tr>'
        f'<td class="corner"></td>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _pairs(evaluation: Evaluation) -> str:
    wrong = evaluation.confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    lines = [
        [text(evaluation.labels[i]), text(evaluation.labels[j]), f"{wrong[i, j]:,}"]
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j]
    ]
    if not lines:
        return "<p>No row is predicted wrong.</p>"
    header = ["Label", "Predicted", "#Rows"]
    return table("The most frequent confusions", header, lines)


def _rows_section(data: ReportData) -> str:
    explained = data.explained
    if explained.missing is not None:
        return f"<p>Predictions are not taken apart. {text(explained.missing)}</p>"
    numbers = explained.of_numbers
    which = "All rows are here."
    if len(explained.rows) < data.n_rows:
        kinds = "wrong ones, narrow and clear decisions"
        if numbers:
            kinds = "those that are farthest off, the lowest and the highest"
        which = (
            f"{len(explained.rows):,} of {data.n_rows:,} rows are here: {kinds}, and "
            "some drawn at random."
        )
    note = ""
    if explained.no_changes is not None:
        note = (
            "<p class='note'>What would change a decision is not shown: "
            f"{text(explained.no_changes)}.</p>"
        )
    bent = numbers and getattr(data.classifier, "has_log_link", False)
    if bent or (numbers and target_steps(data.estimator)):
        note += (
            "<p class='note'>The model learned a transformed target: what columns add "
            "is in the unit of that, and predictions are in the unit of the data.</p>"
        )
    store: dict[str, Any] = {
        "rows": explained.rows,
        "side": explained.side,
        "noChanges": explained.no_changes,
        "numbers": numbers,
    }
    asked = data.what_if
    if asked.missing is None:
        panel = _PANEL
        store["whatIf"] = {
            "model": asked.model,
            "columns": asked.columns,
            "classes": asked.classes,
            "rows": asked.rows,
            "interval": asked.interval,
        }
    else:
        panel = (
            "<p class='note'>A panel to change values and ask the model again is left "
            f"out: {text(asked.missing)}.</p>"
        )
    picks = _NUMBER_PICKS if numbers else _PICKS
    if data.evaluation.truth is None:
        picks = {name: told for name, told in picks.items() if name not in _NEED_TRUTH}
    buttons = "\n".join(
        f'<button type="button" data-pick="{name}">{told}</button>'
        for name, told in picks.items()
    )
    return template("rows.html").substitute(
        what="prediction" if numbers else "score",
        which=which,
        note=note,
        picks=buttons,
        store=as_json(store),
        what_if=panel,
    )


def _regions_section(data: ReportData) -> str:
    filled = [region for region in data.regions if region.rows]
    shown = filled[:_MOST_REGIONS]
    labelled = data.evaluation.truth is not None
    named = any(region.top for region in shown)
    numbers = data.explained.of_numbers
    header = ["Model", "#Rows", ""]
    if labelled:
        header.append("#R2" if numbers else "#Accuracy")
    header.append("#Mean" if numbers else "Classes")
    header += ["Columns that move its scores most"] * named
    most = max(1, shown[0].rows)
    lines = []
    for region in shown:
        bar = f'<i style="width:{100 * region.rows / most:.1f}%"></i>'
        line = [
            text(region.name),
            f"{region.rows:,}",
            f'<td class="bar" aria-hidden="true">{bar}</td>',
        ]
        if labelled:
            good = _figure(region.r2) if numbers else percent(region.accuracy)
            line.append(good)
        line.append(_figure(region.mean) if numbers else _classes_of(region))
        if named:
            line.append(_features_of(region))
        lines.append(line)
    caption = "Local models, those with the most rows first"
    if data.n_region_rows < data.n_rows:
        caption += f", on {data.n_region_rows:,} rows"
    rest = filled[_MOST_REGIONS:]
    more = ""
    if len(rest):
        rows = sum(region.rows for region in rest)
        more = (
            f'<p class="note">{len(rest):,} more local models have {rows:,} rows.</p>'
        )
    empty = len(data.regions) - len(filled)
    if empty:
        have = "model has" if empty == 1 else "models have"
        more += f'<p class="note">{empty:,} local {have} none of these rows.</p>'
    good = "R2" if numbers else "accuracy"
    return (
        "<p>A row belongs to the local model that counts most for it. A local model "
        f"with many rows and a low {good} shows where labels may be wrong, or where "
        "more local models are needed.</p>"
        + table(caption, header, lines, kind="wide")
        + more
    )


def _figure(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else _minus(value)


def _classes_of(region) -> str:
    counts = list(region.classes.items())
    shown = "".join(
        f'<span>{text(label)} <span class="quiet">({count:,})</span></span>'
        for label, count in counts[:_CLASSES_OF_REGION]
    )
    more = "<span>…</span>" if len(counts) > _CLASSES_OF_REGION else ""
    return f'<td class="classes">{shown}{more}</td>'


def _features_of(region) -> str:
    names = "".join(
        f'<span>{text(name)} <span class="quiet">{_minus(size)}</span></span>'
        for name, size in region.top
    )
    return f'<td class="features">{names}</td>'


def _minus(size: float) -> str:
    return number(size).replace("-", "\u2212")


def _training_section(data: ReportData) -> str:
    recorded = getattr(data.classifier, "atlas_", data.classifier)
    panels, unit = recorded_histories(recorded)
    figures = "".join(figure(name, curves, unit) for name, curves in panels.items())
    return figures and f'<div class="curves">{figures}</div>'
