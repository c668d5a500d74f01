"""Explanations of single rows, as data that JSON can hold."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from locallin.inspection import (
    Counterfactuals,
    Explanation,
    counterfactual,
    explain,
)
from locallin.inspection.columns import count_rows, is_missing, is_number, some_rows
from locallin.inspection.quality import middle_of
from locallin.inspection.text import number, plain, shown_value
from locallin.inspection.unwrap import (
    View,
    has_map,
    is_regressor,
    labels_of,
    model_in,
    require_local_models,
)

_TOP = 12
_SCORES = 5
_BLOCK_BYTES = 1 << 25
_SMALLEST_IMAGE, _LARGEST_IMAGE = 64, 4096


@dataclass(frozen=True)
class ExplainedRows:
    """Explanations in the form of JSON.

    ``missing`` says why there are none, ``no_changes`` why no row has a change that
    would change its decision, ``side`` is that of rows which may be pictures, and
    ``of_numbers`` tells whether numbers are predicted.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    missing: str | None = None
    no_changes: str | None = None
    side: int | None = None
    of_numbers: bool = False


def explain_rows(
    estimator, X, sample, *, numbers, names, labels, feature_names
) -> ExplainedRows:
    """Explain the rows of X; ``sample`` tells which values are valid."""
    model = model_in(estimator, "report")[1]
    try:
        require_local_models(model, "An explanation")
    except ValueError as error:
        return ExplainedRows(missing=str(error))
    kind = NumberExplainer if is_regressor(model) else RowExplainer
    explainer = kind(estimator, sample, feature_names)
    size = max(1, _BLOCK_BYTES // (8 * explainer.n_weights))
    found = []
    for start in range(0, count_rows(X), size):
        block = some_rows(X, start, start + size)
        own = None if labels is None else labels[start : start + size]
        part = slice(start, start + size)
        found += explainer.explain(block, numbers[part], names[part], own)
    return ExplainedRows(
        found, None, explainer.no_changes, explainer.side, is_regressor(model)
    )


class RowExplainer:
    """Explains rows in the form of JSON; a sample tells which values are valid."""

    def __init__(self, estimator, sample, feature_names):
        self.estimator, self.sample = estimator, sample
        self.classifier = model_in(estimator, "report")[1]
        self.feature_names = feature_names
        view = View(estimator, some_rows(sample, 0, 1), "report", feature_names)
        self.n_weights = len(labels_of(self.classifier)) * len(view.origins)
        self.given = [one.stage == 0 for one in view.columns]
        self.no_changes = _no_changes(view)
        self.side = _side_of_pictures(view)

    def explain(self, X, numbers, names, labels) -> list[dict[str, Any]]:
        classes = labels_of(self.classifier)
        found = explain(
            self.estimator, X, feature_names=self.feature_names, classes=classes
        )
        entries = []
        for i, (place, name) in enumerate(zip(numbers, names, strict=True)):
            label = None if labels is None else labels[i]
            row = {"row": int(place), "name": plain(name)}
            entries.append(row | self._row(found, i, label))
        self._add_probabilities(entries, X)
        if self.no_changes is None:
            self._add_changes(entries, X)
        return entries

    def _row(self, found: Explanation, i: int, label) -> dict[str, Any]:
        scores = found.scores[i].astype(float)
        own = int(np.flatnonzero(found.classes == found.predicted[i])[0])
        order = np.argsort(-scores, kind="stable")
        order = np.concatenate([[own], order[order != own]])
        next_one = int(order[1])
        predicted = found.classes.tolist()[own]
        row = {
            "predicted": plain(predicted),
            "label": None if label is None else plain(label),
            "wrong": label is not None and label != predicted,
            "runner_up": plain(found.classes[next_one]),
            "margin": float(scores[own] - scores[next_one]),
            "scores": [
                {"class": plain(found.classes[c]), "score": float(scores[c])}
                for c in order[:_SCORES]
            ],
            "views": self._views(found, i, own, next_one, label),
        }
        if self.side:
            row["image"] = _shades(found.values[i])
        return row

    def _views(self, found, i, own, next_one, label) -> list[dict[str, Any]]:
        """Scores to be taken apart; the one score of two classes says it all."""
        names = [plain(name) for name in found.classes]
        shown = [(f"Score of {names[own]}, predicted", _score(found, i, own))]
        if len(names) > 2:
            shown.append(
                (f"Score of {names[next_one]}, runner-up", _score(found, i, next_one))
            )
            lead = _lead(found, i, own, next_one)
            shown.append((f"Lead of {names[own]} over {names[next_one]}", lead))
            labelled = found.classes.tolist()
            if label in labelled and labelled.index(label) not in (own, next_one):
                place = labelled.index(label)
                shown.append(
                    (f"Score of {names[place]}, the label", _score(found, i, place))
                )
        return [self._view(name, one) for name, one in shown]

    def _view(self, name: str, one: Explanation) -> dict[str, Any]:
        parts = one.contributions[0, 0].astype(float)
        order = np.argsort(-np.abs(parts), kind="stable")
        rest = order[_TOP:]
        view = {
            "name": name,
            "score": float(one.scores[0, 0]),
            "bias": float(one.bias[0, 0]),
            "terms": [
                [plain(one.feature_names[j]), _cell(one.values[0, j]), float(parts[j])]
                for j in order[:_TOP]
            ],
            "others": [len(rest), float(parts[rest].sum())] if len(rest) else None,
        }
        if self.side:
            view["weights"] = _signs(one.weights[0, 0])
            view["parts"] = _signs(parts)
        return view

    def _add_probabilities(self, entries, X) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            return
        for row, chances in zip(entries, self.estimator.predict_proba(X), strict=True):
            row["probability"] = float(chances.max())

    def _add_changes(self, entries, X) -> None:
        changes = counterfactual(
            self.estimator,
            X,
            X_reference=self.sample,
            feature_names=self.feature_names,
        )
        for i, row in enumerate(entries):
            if changes.feature[i] >= 0:
                row["change"] = self._change(changes, i)

    def _change(self, changes: Counterfactuals, i: int) -> dict[str, Any]:
        value = changes.value[i]
        return {
            "feature": plain(changes.names[i]),
            "from": _cell(value),
            "to": _cell(changes.to[i]),
            "size": float(changes.size[i]),
            "counted": is_number(value) and not is_missing(value),
            "target": plain(changes.target[i]),
            "reached": plain(changes.reached[i]),
            "given_units": self.given[changes.feature[i]],
        }


class NumberExplainer(RowExplainer):
    """The same for predicted numbers, which the page itself is asked to change."""

    def __init__(self, estimator, sample, feature_names):
        super().__init__(estimator, sample, feature_names)
        self.no_changes = None
        levels = self.classifier.quantile_levels
        self.titles = {0: "Prediction"}
        if levels is not None:
            middle = middle_of(levels)
            order = [middle, *(p for p in range(len(levels)) if p != middle)]
            self.titles = {p: f"Quantile {levels[p]:g}" for p in order}

    def _row(self, found: Explanation, i: int, label) -> dict[str, Any]:
        predicted = float(np.ravel(found.predicted[i])[next(iter(self.titles))])
        row = {
            "predicted": number(predicted),
            "value": predicted,
            "label": None if label is None else number(label),
            "error": None if label is None else float(label - predicted),
            "views": [
                self._view(title, _score(found, i, place))
                for place, title in self.titles.items()
            ],
        }
        if self.side:
            row["image"] = _shades(found.values[i])
        return row

    def _add_changes(self, entries, X) -> None:
        pass


def _score(found: Explanation, i: int, place: int) -> Explanation:
    """One score of one row."""
    one, scores = found.row(i), slice(place, place + 1)
    return replace(
        one,
        scores=one.scores[:, scores],
        bias=one.bias[:, scores],
        contributions=one.contributions[:, scores],
        weights=one.weights[:, scores],
        classes=one.classes[scores],
    )


def _lead(found: Explanation, i: int, own: int, other: int) -> Explanation:
    """The difference of two scores of a row."""
    high, low = _score(found, i, own), _score(found, i, other)
    return replace(
        high,
        scores=high.scores - low.scores,
        bias=high.bias - low.bias,
        contributions=high.contributions - low.contributions,
        weights=high.weights - low.weights,
    )


def _no_changes(view: View) -> str | None:
    if getattr(view.classifier, "local_model", "linear") == "constant":
        return "constant local models have no weights"
    if all(one.stage >= len(view.stages) for one in view.columns):
        return "the local models see a map that mixes the columns of the data"
    return None


def _side_of_pictures(view: View) -> int | None:
    """Side of rows that may be pictures: a square of pixels without names."""
    n = len(view.columns)
    side = round(n**0.5)
    square = side * side == n and _SMALLEST_IMAGE <= n <= _LARGEST_IMAGE
    nameless = list(view.names) == [f"x{i}" for i in range(n)]
    straight = bool(np.isfinite(view.slopes).all()) and not has_map(view.classifier)
    return side if square and nameless and straight else None


def _cell(value) -> float | str:
    """A value for the page: a number, or text."""
    if is_number(value) and np.isfinite(value):
        return float(value)
    return shown_value(value)


def _shades(values) -> str:
    """Values as bytes, 0 for the smallest and 255 for the largest."""
    values = np.nan_to_num(np.asarray(values, dtype=float))
    low, high = values.min(), values.max()
    scaled = (values - low) / ((high - low) or 1)
    return b64encode(np.round(255 * scaled).astype(np.uint8)).decode()


def _signs(values) -> str:
    """Values as signed bytes, 127 for the largest size."""
    values = np.asarray(values, dtype=float)
    scaled = values / (np.abs(values).max() or 1)
    return b64encode(np.round(127 * scaled).astype(np.int8)).decode()
