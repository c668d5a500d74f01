"""Explanations of single rows, as data that JSON can hold."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from locallin.inspection import (
    Counterfactuals,
    Explanation,
    counterfactual,
    explain,
)
from locallin.inspection.unwrap import (
    classifier_in,
    column_names,
    count_rows,
    has_map,
    local_features,
    names_out,
    require_local_models,
    some_rows,
    unwrap,
)

_TOP = 12
_SCORES = 5
_BLOCK_BYTES = 1 << 25
_SMALLEST_IMAGE, _LARGEST_IMAGE = 64, 4096


@dataclass(frozen=True)
class ExplainedRows:
    """Explanations in the form of JSON.

    ``missing`` says why there are none, ``no_changes`` why no row has a change that
    would change its decision, and ``side`` is that of rows which may be pictures.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    missing: str | None = None
    no_changes: str | None = None
    side: int | None = None


def explain_rows(
    estimator, X, sample, *, numbers, labels, feature_names
) -> ExplainedRows:
    """Explain the rows of X; ``sample`` tells how much features vary."""
    classifier = classifier_in(estimator, "report")[1]
    try:
        require_local_models(classifier, "An explanation")
    except ValueError as error:
        return ExplainedRows(missing=str(error))
    explainer = RowExplainer(estimator, sample, feature_names)
    size = max(1, _BLOCK_BYTES // (8 * explainer.n_weights))
    found = []
    for start in range(0, count_rows(X), size):
        block = some_rows(X, start, start + size)
        own = None if labels is None else labels[start : start + size]
        found += explainer.explain(block, numbers[start : start + size], own)
    return ExplainedRows(found, None, explainer.no_changes, explainer.side)


class RowExplainer:
    """Explains rows in the form of JSON; a sample tells how much features vary."""

    def __init__(self, estimator, sample, feature_names):
        self.estimator = estimator
        self.before, self.classifier = classifier_in(estimator, "report")
        self.feature_names = feature_names
        unwrapped = unwrap(estimator, some_rows(sample, 0, 1), "report")
        names = local_features(unwrapped, feature_names)[1]
        self.n_weights = len(self.classifier.classes_) * len(names)
        self.same_columns = not has_map(self.classifier) and _keeps_columns(
            estimator, self.before, sample
        )
        self.no_changes = _no_changes(self.classifier)
        self.scale = None
        if self.no_changes is None:
            features, _ = local_features(unwrap(estimator, sample, "report"))
            spread = features.std(axis=0, dtype=float)
            self.scale = np.where(spread > 0, spread, 1.0)
        self.side = _side_of_pictures(names, self.classifier)

    def explain(self, X, numbers, labels) -> list[dict[str, Any]]:
        classes = self.classifier.classes_
        found = explain(
            self.estimator, X, feature_names=self.feature_names, classes=classes
        )
        found = replace(found, top=_TOP)
        values = _as_array(X) if self.same_columns else found.values
        entries = []
        for i, number in enumerate(numbers):
            label = None if labels is None else labels[i]
            entries.append({"row": int(number), **self._row(found, i, values, label)})
        self._add_probabilities(entries, X)
        if self.no_changes is None:
            self._add_changes(entries, X, found, values)
        return entries

    def _row(self, found: Explanation, i: int, values, label) -> dict[str, Any]:
        scores = found.scores[i].astype(float)
        own = int(np.flatnonzero(found.classes == found.predicted[i])[0])
        order = np.argsort(-scores, kind="stable")
        order = np.concatenate([[own], order[order != own]])
        next_one = int(order[1])
        predicted = found.classes.tolist()[own]
        row = {
            "predicted": str(predicted),
            "label": None if label is None else str(label),
            "wrong": label is not None and label != predicted,
            "runner_up": str(found.classes[next_one]),
            "margin": float(scores[own] - scores[next_one]),
            "scores": [
                {"class": str(found.classes[c]), "score": float(scores[c])}
                for c in order[:_SCORES]
            ],
            "views": self._views(found, i, values, own, next_one, label),
        }
        if self.side:
            numeric = np.issubdtype(values.dtype, np.number)
            row["image"] = _shades(values[i] if numeric else found.values[i])
        return row

    def _views(self, found, i, values, own, next_one, label) -> list[dict[str, Any]]:
        """Scores to be taken apart; the one score of two classes says it all."""
        names = [str(name) for name in found.classes]
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
        return [self._view(name, one, values[i]) for name, one in shown]

    def _view(self, name: str, one: Explanation, values) -> dict[str, Any]:
        parts = one.contributions[0, 0].astype(float)
        order = np.argsort(-np.abs(parts), kind="stable")
        rest = order[_TOP:]
        view = {
            "name": name,
            "score": float(one.scores[0, 0]),
            "bias": float(one.bias[0, 0]),
            "terms": [
                [str(one.feature_names[j]), _json_value(values[j]), float(parts[j])]
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

    def _add_changes(self, entries, X, found: Explanation, values) -> None:
        changes = counterfactual(
            self.estimator, X, scale=self.scale, feature_names=self.feature_names
        )
        reached = self._in_given_units(changes, found.values, values)
        for i, row in enumerate(entries):
            if changes.feature[i] >= 0:
                row["change"] = _change(changes, i, values, reached)

    def _in_given_units(self, changes: Counterfactuals, features, values):
        """The changed values as the data has them, or None where they are not known."""
        if not self.same_columns:
            return None
        rows, moved = np.arange(len(features)), features.astype(float)
        moved[rows, changes.feature] += np.nan_to_num(changes.change)
        try:
            known = np.asarray(values, dtype=float)
            back = _undone(self.before, features.astype(float))
            if not np.allclose(back, known, rtol=1e-4, atol=1e-6, equal_nan=True):
                return None
            return np.asarray(_undone(self.before, moved), dtype=float)
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return None


def _change(changes: Counterfactuals, i: int, values, reached) -> dict[str, Any]:
    j = changes.feature[i]
    start, end = changes.value[i], changes.value[i] + changes.change[i]
    if reached is not None:
        start, end = values[i][j], reached[i, j]
    return {
        "feature": str(changes.names[i]),
        "from": float(start),
        "to": float(end),
        "size": float(changes.size[i]),
        "target": str(changes.target[i]),
        "reached": str(changes.reached[i]),
        "given_units": reached is not None,
    }


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


def _keeps_columns(estimator, before, X) -> bool:
    """Whether every step before the classifier gives each column back as one."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = column_names(X)
    if names is None:
        names = [f"x{i}" for i in range(np.shape(X)[1])]
    return all(names_out(steps, names) == list(map(str, names)) for steps in before)


def _undone(before, features: np.ndarray) -> np.ndarray:
    for steps in reversed(before):
        features = steps.inverse_transform(features)
    return features


def _no_changes(classifier) -> str | None:
    if has_map(classifier):
        return "the local models see the features of a map, not those of the data"
    if getattr(classifier, "local_model", "linear") == "constant":
        return "constant local models have no weights"
    return None


def _side_of_pictures(names, classifier) -> int | None:
    n = len(names)
    side = round(n**0.5)
    square = side * side == n and _SMALLEST_IMAGE <= n <= _LARGEST_IMAGE
    nameless = list(names) == [f"x{i}" for i in range(n)]
    return side if square and nameless and not has_map(classifier) else None


def _as_array(X):
    """Rows as an array of what they hold."""
    if sparse.issparse(X):
        return X.toarray()
    return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)


def _json_value(value) -> float | str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if np.isfinite(number) else str(value)


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
