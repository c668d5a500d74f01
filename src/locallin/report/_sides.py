"""Two models on the same rows: figures, differences, and rows that tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from locallin.inspection import GlobalEffects, explain, global_effects
from locallin.inspection.columns import count_rows, index_names, rows_at, some_rows
from locallin.inspection.quality import (
    are_probabilities,
    intervals,
    middle_of,
    number_scores,
    quantile_scores,
    ranking_scores,
)
from locallin.inspection.text import shown_value, signed
from locallin.inspection.unwrap import labels_of, model_in

_BLOCK = 16384
_EFFECT_ROWS = 2000
_REASONS = 3
# Figures of quantiles that depend on which there are.
_OF_ALL_LEVELS = "pinball", "interval_coverage", "interval_width"


@dataclass(frozen=True, eq=False)
class Side:
    """One of the models, and what it says of all rows.

    ``chances`` are probabilities of the classes, or else their scores, or None;
    ``effects`` are those of a model that can be taken apart. Of quantiles with these
    ``levels``, ``quantiles`` has a column of each, and ``predicted`` is the middle one.
    """

    name: str
    estimator: Any
    X: Any
    predicted: np.ndarray
    chances: np.ndarray | None
    effects: GlobalEffects | None
    levels: np.ndarray | None = None
    quantiles: np.ndarray | None = None

    @property
    def classes(self) -> np.ndarray:
        """Classes of a classifier."""
        return np.asarray(self.estimator.classes_)

    @property
    def is_explained(self) -> bool:
        """Whether reasons are known."""
        return self.effects is not None

    @property
    def confidence(self) -> np.ndarray | None:
        """Probability of what is predicted."""
        if self.chances is None or not are_probabilities(self.chances):
            return None
        return self.chances.max(axis=1)

    def reasons(self, rows: np.ndarray, feature_names) -> list[str]:
        """The largest contributions to what is predicted, in words."""
        labels = labels_of(model_in(self.estimator, "compare")[1])
        if self.levels is not None:
            labels = labels[[middle_of(self.levels)]]
        told = explain(
            self.estimator,
            rows_at(self.X, rows),
            classes=labels,
            feature_names=feature_names,
            top=_REASONS,
        )
        found = []
        for i in range(len(rows)):
            terms = told.ranked(i)[:_REASONS]
            found.append(
                ", ".join(
                    f"{name} {shown_value(value)} ({signed(part)})"
                    for name, value, part in terms
                    if not name.startswith("(")
                )
            )
        return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two sides, the truth or None, and names of the rows."""

    sides: tuple[Side, Side]
    truth: np.ndarray | None
    of_numbers: bool
    row_names: list[str]

    @cached_property
    def _known(self) -> np.ndarray:
        """Rows whose truth both models can be held against."""
        if self.truth is None:
            return np.empty(0, int)
        if self.of_numbers:
            return np.flatnonzero(np.isfinite(self.truth))
        known = [np.isin(self.truth, side.classes) for side in self.sides]
        return np.flatnonzero(known[0] & known[1])

    @property
    def n_known(self) -> int:
        """Number of rows with a truth that both models know."""
        return len(self._known)

    def _figures(self, side: Side) -> Callable[[np.ndarray], dict[str, Any]]:
        truth = np.asarray(self.truth)[self._known]
        predicted = side.predicted[self._known]
        if side.quantiles is not None:
            quantiles, levels = side.quantiles[self._known], np.asarray(side.levels)
            hidden = () if self._same_levels else _OF_ALL_LEVELS
            return lambda rows: {
                name: value
                for name, value in quantile_scores(
                    truth[rows], quantiles[rows], levels
                ).items()
                if name not in hidden
            }
        if self.of_numbers:
            return lambda rows: number_scores(truth[rows], predicted[rows])
        right = truth == predicted
        if side.chances is None:
            return lambda rows: {"accuracy": float(right[rows].mean())}
        chances = side.chances[self._known]
        is_class = truth[:, None] == side.classes

        def figures(rows):
            found = {"accuracy": float(right[rows].mean())}
            return found | ranking_scores(is_class[rows], chances[rows])

        return figures

    @property
    def _same_levels(self) -> bool:
        """Whether both predict the same quantiles."""
        one, two = (side.levels for side in self.sides)
        return one is not None and two is not None and np.array_equal(one, two)

    @cached_property
    def figures(self) -> list[tuple[str, float, float, tuple[float, float]]]:
        """Name, both values, and the interval of the second less the first, 95 %.

        The interval is paired: both models are asked about the same draws of rows.
        """
        if not self.n_known:
            return []
        first, second = map(self._figures, self.sides)
        every = np.arange(self.n_known)
        values, others = first(every), second(every)

        def differences(rows):
            return _differences(first(rows), second(rows))

        between = intervals(differences, self.n_known, bounded=False)
        return [
            (name, value, others[name], between.get(name, (np.nan, np.nan)))
            for name, value in values.items()
            if value is not None and others.get(name) is not None
        ]

    @property
    def right_and_wrong(self) -> np.ndarray | None:
        """Rows by whether the first (down) and the second (across) are right."""
        if self.of_numbers or not self.n_known:
            return None
        truth = np.asarray(self.truth)[self._known]
        right = [side.predicted[self._known] == truth for side in self.sides]
        return np.array(
            [[np.sum((right[0] == a) & (right[1] == b)) for b in (True, False)]
             for a in (True, False)]
        )  # fmt: skip

    @cached_property
    def apart(self) -> np.ndarray:
        """How far apart the predictions of each row are."""
        one, two = self.sides
        if self.of_numbers:
            return np.abs(two.predicted - one.predicted)
        differs = (one.predicted != two.predicted).astype(float)
        same = np.array_equal(one.classes, two.classes)
        if not same or one.confidence is None or two.confidence is None:
            return differs
        assert one.chances is not None
        # Another class counts for more than any gap of probabilities.
        return differs + 0.5 * np.abs(one.chances - two.chances).sum(axis=1)

    @property
    def n_differ(self) -> int:
        """Number of rows that are predicted differently."""
        one, two = self.sides
        if self.of_numbers:
            scale = np.std(np.concatenate([one.predicted, two.predicted])) or 1.0
            return int(np.count_nonzero(self.apart > 0.1 * scale))
        return int(np.count_nonzero(one.predicted != two.predicted))

    def rows_apart(self, limit: int | None) -> np.ndarray:
        """Rows whose predictions are farthest apart, those first."""
        order = np.argsort(-self.apart, kind="stable")
        return order[self.apart[order] > 0][:limit]


def _differences(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """Figures of the second less those of the first, None where one is missing."""
    both = {name: (one[name], two[name]) for name in one if name in two}
    return {
        name: None if None in pair else pair[1] - pair[0] for name, pair in both.items()
    }


def compared(
    estimators,
    tables,
    y,
    *,
    names,
    feature_names,
    random_state,
    row_names,
    first_row,
    say: Callable[[str], None],
) -> Comparison:
    """Ask two models about the same rows, each as it takes them; ``say`` whom."""
    for estimator in estimators:
        check_is_fitted(estimator)
    kinds = {is_regressor(estimator) for estimator in estimators}
    if len(kinds) > 1 or not all(map(_predicts, estimators)):
        raise ValueError(
            "compare needs two classifiers, or two regressors, but the models are "
            f"{' and '.join(type(one).__name__ for one in estimators)}."
        )
    of_numbers = kinds.pop()
    if len({count_rows(X) for X in tables}) > 1:
        raise ValueError("compare needs the same rows for both models.")
    n = count_rows(tables[0])
    rng = check_random_state(random_state)
    sample = np.sort(rng.permutation(n)[:_EFFECT_ROWS])
    sides = []
    for name, estimator, X in zip(names, estimators, tables, strict=True):
        say(f"asking {name} about {n:,} rows")
        sides.append(_side(name, estimator, X, sample, feature_names, of_numbers))
    truth = None
    if y is not None:
        truth = column_or_1d(y)
        check_consistent_length(truth, sides[0].predicted)
        truth = truth.astype(float) if of_numbers else truth
    if row_names is None:
        row_names = index_names(tables[0])
    if row_names is None:
        row_names = [str(first_row + row) for row in range(n)]
    return Comparison((sides[0], sides[1]), truth, of_numbers, row_names)


def _predicts(estimator) -> bool:
    return is_classifier(estimator) or is_regressor(estimator)


def _side(name, estimator, X, sample, feature_names, of_numbers) -> Side:
    predicted = _in_blocks(estimator.predict, X)
    levels, quantiles = _levels_of(estimator) if of_numbers else None, None
    if levels is not None:
        quantiles = predicted.reshape(len(predicted), -1).astype(float)
        predicted = quantiles[:, middle_of(levels)]
    if of_numbers and predicted.ndim > 1:
        raise ValueError(
            f"compare shows one target, but {type(estimator).__name__} has "
            f"{predicted.shape[1]}."
        )
    chances = None
    for method in ("predict_proba", "decision_function"):
        if not of_numbers and chances is None and hasattr(estimator, method):
            chances = _in_blocks(getattr(estimator, method), X).astype(float)
    effects = None
    try:
        model = model_in(estimator, "compare")[1]
    except (TypeError, ValueError):  # of another library, or a mean of classifiers
        model = None
    if hasattr(model, "local_coef"):
        effects = global_effects(
            estimator, rows_at(X, sample), feature_names=feature_names, random_state=0
        )
    predicted = predicted.astype(float) if of_numbers else predicted
    return Side(name, estimator, X, predicted, chances, effects, levels, quantiles)


def _levels_of(estimator) -> np.ndarray | None:
    """Levels of the quantiles, or of the one, that a regressor predicts."""
    try:
        model = model_in(estimator, "compare")[1]
    except (TypeError, ValueError):  # of another library
        return None
    if model.quantile_levels is not None:
        return model.quantile_levels
    own = getattr(model, "loss", None) == "pinball"
    return np.array([model.quantile], float) if own else None


def _in_blocks(ask, X) -> np.ndarray:
    starts = range(0, count_rows(X), _BLOCK)
    return np.concatenate(
        [np.asarray(ask(some_rows(X, start, start + _BLOCK))) for start in starts]
    )
