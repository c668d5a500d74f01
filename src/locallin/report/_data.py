"""Data of a report: figures of all rows, and explanations of some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import cycle
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from locallin.engine.input import sound_matrix
from locallin.inspection import GlobalEffects, Regions, global_effects, regions
from locallin.inspection.columns import count_rows, index_names, rows_at, some_rows
from locallin.inspection.quality import wilson
from locallin.inspection.unwrap import by_score, classifier_in, is_regressor, model_in
from locallin.methods.atlas import AtlasClassifier
from locallin.methods.skeleton import ScoringEstimator
from locallin.report._numbers import NumberEvaluation, evaluated_numbers
from locallin.report._rows import ExplainedRows, explain_rows
from locallin.report._whatif import WhatIf, what_if

_BLOCK_BYTES = 1 << 25
_LARGEST_BLOCK = 16384
_REGION_BYTES = 1 << 27
_MOST_REGION_ROWS = 10_000
# The order in which kinds of rows are taken, again and again.
_TURNS = ("wrong", "narrow", "any", "wrong", "narrow", "clear")
_NUMBER_TURNS = ("off", "any", "off", "low", "any", "high")
N_PARTS = 5  # that ``collect`` tells of


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Decisions on all rows.

    ``labels`` are the classes and then labels that the classifier does not know;
    ``predicted`` and ``truth`` are positions in it, and a truth of -1 is no label.
    """

    labels: list
    n_classes: int
    predicted: np.ndarray
    margin: np.ndarray
    truth: np.ndarray | None
    chances: np.ndarray | None = None

    @property
    def judged_chances(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether rows of known classes are of each class, and their probabilities."""
        if self.truth is None or self.chances is None:
            nothing = np.empty((0, self.n_classes))
            return nothing.astype(bool), nothing
        known = (self.truth >= 0) & (self.truth < self.n_classes)
        is_class = self.truth[known, None] == np.arange(self.n_classes)
        return is_class, self.chances[known]

    @cached_property
    def wrong(self) -> np.ndarray:
        """Whether a row has a label that was not predicted."""
        if self.truth is None:
            return np.zeros(len(self.predicted), bool)
        return (self.truth >= 0) & (self.truth != self.predicted)

    @cached_property
    def confusion(self) -> np.ndarray:
        """Number of rows by label and by prediction."""
        size = len(self.labels)
        if self.truth is None:
            return np.zeros((size, size), int)
        known = self.truth >= 0
        cells = self.truth[known] * size + self.predicted[known]
        return np.bincount(cells, minlength=size * size).reshape(size, size)

    @property
    def labelled(self) -> np.ndarray:
        """Whether rows have a label."""
        if self.truth is None:
            return np.zeros(len(self.predicted), bool)
        return self.truth >= 0

    @property
    def n_labelled(self) -> int:
        """Number of rows that have a label."""
        return int(self.labelled.sum())

    def labels_at(self, rows: np.ndarray) -> list | None:
        """Labels of some rows, None for those without, and where there are none."""
        if self.truth is None:
            return None
        return [None if at < 0 else self.labels[at] for at in self.truth[rows]]

    def queues(self) -> dict[str, np.ndarray]:
        """Rows in orders of interest."""
        clear = np.argsort(-self.margin, kind="stable")
        narrow = np.argsort(self.margin, kind="stable")
        return {"wrong": clear[self.wrong[clear]], "narrow": narrow, "clear": clear}

    @property
    def accuracy(self) -> float | None:
        """Share of the labelled rows that are predicted right."""
        if self.truth is None:
            return None
        return float(np.trace(self.confusion) / self.n_labelled)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the accuracy, 95 %."""
        return wilson(int(np.trace(self.confusion)), self.n_labelled)

    @property
    def per_class(self) -> list[tuple[float, float, float, int]]:
        """Precision, recall, F1 and number of rows of every label."""
        right = np.diag(self.confusion)
        called = self.confusion.sum(axis=0)
        there = self.confusion.sum(axis=1)
        columns = (
            _ratio(right, called), _ratio(right, there),
            _ratio(2 * right, called + there), there.astype(float),
        )  # fmt: skip
        return [
            (float(p), float(r), float(f), int(n))
            for p, r, f, n in zip(*columns, strict=True)
        ]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return part / np.maximum(whole, 1)


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that a report shows."""

    estimator: Any
    classifier: ScoringEstimator
    n_rows: int
    n_features: int
    evaluation: Evaluation | NumberEvaluation
    regions: Regions
    n_region_rows: int
    effects: GlobalEffects | None
    explained: ExplainedRows
    what_if: WhatIf


def collect(
    estimator,
    X,
    y,
    *,
    feature_names,
    rows: int | None,
    random_state,
    first_row: int,
    row_names: list[str] | None = None,
    say: Callable[[str], None],
) -> ReportData:
    """Evaluate, ask the local models, explain some rows; ``say`` what is begun."""
    classifier = model_in(estimator, "report")[1]
    if sparse.issparse(X):
        X = sound_matrix(X).tocsr()
    n_rows = count_rows(X)
    rng = check_random_state(random_state)
    evaluation: Evaluation | NumberEvaluation
    say(f"predicting {n_rows:,} rows")
    if is_regressor(classifier):
        blocks = partial(_blocks, classifier, X)
        evaluation = evaluated_numbers(estimator, classifier, blocks, y)
        y = evaluation.truth
    else:
        evaluation, y = _evaluated(estimator, classifier, X, y)
    chosen = chosen_rows(evaluation, n_rows if rows is None else rows, rng)
    places = _region_rows(classifier, evaluation, rng)
    sample = rows_at(X, places)
    say(f"describing the local models on {len(places):,} rows")
    labels = None if y is None else y[places]
    table = regions(estimator, sample, labels, feature_names=feature_names)
    say("summing up the columns' effects")
    effects = _effects(estimator, sample, feature_names, rng)
    say(f"explaining {len(chosen):,} rows")
    explained = explain_rows(
        estimator,
        rows_at(X, chosen),
        sample,
        numbers=chosen + first_row,
        names=_names_at(X, chosen, first_row, row_names),
        labels=evaluation.labels_at(chosen),
        feature_names=feature_names,
    )
    say("writing the model down")
    return ReportData(
        estimator=estimator,
        classifier=classifier,
        n_rows=n_rows,
        n_features=X.shape[1] if hasattr(X, "shape") else len(X[0]),
        evaluation=evaluation,
        regions=table,
        n_region_rows=len(places),
        effects=effects,
        explained=explained,
        what_if=what_if(estimator, rows_at(X, chosen), sample, feature_names),
    )


def _effects(estimator, sample, feature_names, rng) -> GlobalEffects | None:
    """Effects of the columns; None where local models have no weights."""
    if not hasattr(model_in(estimator, "report")[1], "local_coef"):
        return None
    return global_effects(
        estimator, sample, feature_names=feature_names, random_state=rng
    )


def _evaluated(estimator, classifier, X, y) -> tuple[Evaluation, np.ndarray | None]:
    predicted, margin, chances = _decisions(estimator, X)
    labels, truth = classifier.classes_.tolist(), None
    if y is not None:
        y = column_or_1d(y)
        check_consistent_length(predicted, y)
        labels, truth = _known_labels(classifier, y)
        if truth.max() < 0:
            y = truth = None
    n_classes = len(classifier.classes_)
    return Evaluation(labels, n_classes, predicted, margin, truth, chances), y


def _blocks(model, X) -> Iterator[Any]:
    """Rows in blocks that are not too large."""
    size = _BLOCK_BYTES // (8 * max(1, model.n_features_in_))
    size = max(1, min(_LARGEST_BLOCK, size))
    for start in range(0, count_rows(X), size):
        yield some_rows(X, start, start + size)


def _decisions(estimator, X) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Position of the predicted class, lead of its score, and probabilities."""
    steps, classifier = classifier_in(estimator, "report")
    predicted, margins, chances = [], [], []
    for block in _blocks(classifier, X):
        decided = estimator.predict(block)
        predicted.append(np.searchsorted(classifier.classes_, decided))
        if hasattr(estimator, "predict_proba"):
            chances.append(np.asarray(estimator.predict_proba(block), float))
        for _, step in steps:
            block = step.transform(block)
        scores = by_score(np.asarray(classifier.decision_function(block)))
        if scores.shape[1] == 1:
            margins.append(2 * np.abs(scores[:, 0]))
        else:
            highest = np.partition(scores, -2, axis=1)
            margins.append(highest[:, -1] - highest[:, -2])
    return (
        np.concatenate(predicted),
        np.concatenate(margins).astype(float),
        np.concatenate(chances) if chances else None,
    )


def _known_labels(classifier, y: np.ndarray) -> tuple[list, np.ndarray]:
    """Classes and further labels, and the position of each row's label."""
    labels = classifier.classes_.tolist()
    n_classes = len(labels)
    places = {label: place for place, label in enumerate(labels)}
    if isinstance(classifier, AtlasClassifier):
        places.setdefault(-1, -1)
    truth = np.empty(len(y), dtype=np.intp)
    for row, label in enumerate(y.tolist()):
        truth[row] = place = places.setdefault(label, len(labels))
        if place == len(labels):
            labels.append(label)
    if truth.min() >= n_classes:
        unknown, known = labels[n_classes:], labels[:n_classes]
        raise ValueError(
            f"y holds no class of the classifier: its labels are "
            f"{_some_labels(unknown)}, the classes {_some_labels(known)}."
        )
    return labels, truth


def _some_labels(labels: list) -> str:
    shown = ", ".join(map(repr, labels[:5]))
    return f"{shown}, ..." if len(labels) > 5 else shown


def chosen_rows(
    evaluation: Evaluation | NumberEvaluation, limit: int, rng
) -> np.ndarray:
    """Rows to explain, by turns from the evaluation's orders of interest and any."""
    n = len(evaluation.predicted)
    if n <= limit:
        return np.arange(n)
    queues = {name: iter(rows) for name, rows in evaluation.queues().items()}
    queues["any"] = iter(rng.permutation(n))
    turns = _TURNS if isinstance(evaluation, Evaluation) else _NUMBER_TURNS
    taken: set[int] = set()
    for turn in cycle(turns):
        if len(taken) == limit:
            break
        fresh = (int(row) for row in queues[turn] if int(row) not in taken)
        taken.update([row for row in [next(fresh, None)] if row is not None])
    return np.array(sorted(taken))


def _region_rows(classifier, evaluation, rng) -> np.ndarray:
    """Rows for the table of local models: labelled ones, and not too many."""
    rows = np.arange(len(evaluation.predicted))
    if evaluation.truth is not None:
        rows = rows[evaluation.labelled]
    width = max(classifier.n_features_in_, len(getattr(classifier, "anchors_", ())))
    most = max(100, min(_MOST_REGION_ROWS, _REGION_BYTES // (8 * width)))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    return rows


def _names_at(X, rows: np.ndarray, first_row: int, given) -> list[str]:
    """Names of rows: given ones, the frame's index, and otherwise their numbers."""
    named = index_names(X) if given is None else given
    return [str(row + first_row) if named is None else named[row] for row in rows]
