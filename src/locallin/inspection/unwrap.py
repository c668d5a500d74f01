"""Unwrapping of fitted estimators: the model inside, and what its features are.

A :class:`View` holds everything between a user's table and the local models: rows as
the classifier is given them, the features that local models see, and for each of these
the column that it comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from locallin.engine.input import sound_matrix
from locallin.inspection.columns import (
    cells_of,
    column_names,
    count_columns,
    count_rows,
)
from locallin.inspection.origins import MIXED, Trace, followed_by, names_out, trace
from locallin.methods.anchored import row_views
from locallin.methods.base import ScoringClassifier
from locallin.methods.ensemble_regressor import names_of_targets
from locallin.methods.regression import ScoringRegressor
from locallin.methods.skeleton import ScoringEstimator, validated_rows
from locallin.methods.tables import TableEstimator

Steps = list[tuple[str, Any]]


def split_pipeline(estimator) -> tuple[Steps, Any]:
    """Named steps before the last, and the last.

    Pipelines, searches, frozen estimators, classifiers that choose a threshold or
    calibrate another, and regressors of a transformed target are opened.
    """
    before: Steps = []
    while True:
        if isinstance(estimator, Pipeline):
            before += _steps_of(estimator[:-1]) if len(estimator.steps) > 1 else []
            estimator = estimator.steps[-1][1]
            continue
        if isinstance(estimator, TableEstimator):
            estimator = estimator.to_pipeline()
            continue
        inner = _inside(estimator)
        if inner is None:
            return before, estimator
        estimator = inner


def _steps_of(pipeline: Pipeline) -> Steps:
    found: Steps = []
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            found += _steps_of(step)
        elif step is not None and not isinstance(step, str):
            found.append((name, step))
    return found


def _inside(estimator):
    """The fitted estimator that another one asks; None if there is none."""
    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator
    if isinstance(estimator, FixedThresholdClassifier | TunedThresholdClassifierCV):
        check_is_fitted(estimator)
        return estimator.estimator_
    if isinstance(estimator, TransformedTargetRegressor):
        check_is_fitted(estimator)
        return estimator.regressor_
    if isinstance(estimator, CalibratedClassifierCV):
        check_is_fitted(estimator)
        copies = estimator.calibrated_classifiers_
        if len(copies) > 1:
            raise ValueError(
                f"CalibratedClassifierCV averages {len(copies)} classifiers, which "
                "have no score in common: fit it with ensemble=False, or to a frozen "
                "classifier, FrozenEstimator(clf)."
            )
        return copies[0].estimator
    return getattr(estimator, "best_estimator_", None)


def classifier_in(estimator, caller: str) -> tuple[Steps, ScoringClassifier]:
    """Steps before the classifier, and the fitted classifier."""
    return _model_in(estimator, caller, ScoringClassifier, "a classifier")


def model_in(estimator, caller: str) -> tuple[Steps, ScoringEstimator]:
    """Steps before the classifier or regressor, and that."""
    kind = "a classifier or regressor"
    return _model_in(estimator, caller, ScoringEstimator, kind)


def _model_in(estimator, caller: str, kind: type, words: str) -> tuple[Steps, Any]:
    before, model = split_pipeline(estimator)
    if not isinstance(model, kind):
        raise TypeError(
            f"{caller} needs {words} of locallin, or a fitted pipeline or search "
            f"that ends in one, but estimator={type(model).__name__}."
        )
    check_is_fitted(model)
    return before, model


def target_steps(estimator) -> list:
    """Transformers of y between what a user gives and what the regressor learns."""
    found = []
    while estimator is not None:
        if isinstance(estimator, TransformedTargetRegressor):
            found.append(estimator.transformer_)
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        else:
            estimator = _inside(estimator)
    return found


def interval_function(estimator) -> Callable[..., np.ndarray] | None:
    """What tells intervals of rows, also at the end of pipelines and searches."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "predict_interval"):
        return estimator.predict_interval
    if not isinstance(estimator, Pipeline):
        return None
    ask, before = interval_function(estimator.steps[-1][1]), estimator[:-1]
    if ask is None or not len(before):
        return ask
    return lambda X, coverage=0.9: ask(before.transform(X), coverage)


def is_regressor(model) -> bool:
    """Whether the scores of a model are numbers that it predicts."""
    return isinstance(model, ScoringRegressor)


def scores_of(model, rows) -> np.ndarray:
    """Scores of rows that reach a model, one column for each."""
    if is_regressor(model):
        return model.linear_predictor(rows)
    return by_score(model.decision_function(rows))


def labels_of(model) -> np.ndarray:
    """Classes of a classifier; names of the targets of a regressor."""
    if not is_regressor(model):
        return model.classes_
    return np.array(names_of_targets(model))


def require_local_models(classifier, caller: str) -> None:
    """Refuse classifiers without weights in the data's space."""
    try:
        classifier.local_coef  # noqa: B018
    except AttributeError as error:
        raise ValueError(
            f"{caller} needs the local weights of "
            f"{type(classifier).__name__}: {error.__cause__ or error}"
        ) from None


class Column(NamedTuple):
    """A column that reaches the local models.

    ``stage`` is the number of steps before it, 0 for a column of the user's table, and
    ``place`` its position there.
    """

    name: str
    stage: int
    place: int


class View:
    """Some rows of a table, and what the local models of an estimator see of them.

    Features that come from one column of the table belong to it. Where a step mixes
    columns, what it puts out are columns of their own.

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted estimator with a classifier or regressor of the library inside.
    X : {array-like, frame, sparse matrix}
        Rows, as the estimator takes them.
    caller : str
        Who asks, for errors.
    feature_names : sequence of str, default=None
        Names of the columns of X.

    Attributes
    ----------
    steps : list of (str, transformer)
        The steps before the classifier.
    classifier : ScoringEstimator
        The classifier or regressor.
    stages : list
        The rows, before all steps and after each; the last are the classifier's.
    columns : list of Column
        Columns that reach the local models.
    origins : ndarray of shape (n_local_features,)
        Position in ``columns`` of the column of each feature.
    slopes : ndarray of shape (n_local_features,)
        Change of a feature by that of its column, NaN where it is not the same
        everywhere.
    """

    def __init__(self, estimator, X, caller: str, feature_names=None):
        self.estimator = estimator
        self.steps, self.classifier = model_in(estimator, caller)
        self.stages = [sound_matrix(X)]
        names = _first_names(estimator, X, feature_names)
        columns = [Column(name, 0, place) for place, name in enumerate(names)]
        found = Trace(np.arange(len(names)), np.ones(len(names)))
        self._traces: list[Trace] = []
        for _, step in self.steps:
            made = step.transform(self.stages[-1])
            self.stages.append(made)
            then = trace(step, len(names), names)
            n_out = count_columns(made)
            names = _next_names(step, names, column_names(made), n_out)
            found = self._add(columns, found, then, names)
        if has_map(self.classifier):
            mapping = self.classifier.feature_map_
            then = trace(mapping, len(names), names)
            n_out = self.features.shape[1]
            names = names_out(mapping, names) or []
            if len(names) != n_out:
                names = [f"phi{i}" for i in range(n_out)]
            found = self._add(columns, found, then, names, stage=len(self.stages))
        used, self.origins = np.unique(found.origins, return_inverse=True)
        self.slopes = found.slopes
        self.columns = self._with_own_names([columns[place] for place in used])

    def _add(self, columns, found: Trace, then: Trace | None, names, stage=None):
        """The trace after one more step, whose own columns are appended."""
        n_out = len(names)
        if then is None or len(then.origins) != n_out:
            then = Trace(np.full(n_out, MIXED), np.ones(n_out))
        self._traces.append(then)
        origins, slopes = followed_by(found, then)
        own = np.flatnonzero(origins == MIXED)
        origins[own] = len(columns) + np.arange(len(own))
        slopes[own] = 1.0
        stage = len(self.stages) - 1 if stage is None else stage
        columns += [Column(names[place], stage, int(place)) for place in own]
        return Trace(origins, slopes)

    def _with_own_names(self, columns: list[Column]) -> list[Column]:
        """Columns made by steps, with the step's name where theirs is taken."""
        counts = Counter(one.name for one in columns)
        places = [name for name, _ in self.steps] + ["feature_map"]
        return [
            one._replace(name=f"{places[one.stage - 1]}__{one.name}")
            if one.stage and counts[one.name] > 1
            else one
            for one in columns
        ]

    def __len__(self) -> int:
        return count_rows(self.stages[0])

    @property
    def rows(self):
        """Rows that reach the classifier."""
        return self.stages[-1]

    @property
    def names(self) -> np.ndarray:
        """Names of the columns."""
        return np.array([one.name for one in self.columns], dtype=object)

    @cached_property
    def features(self) -> np.ndarray:
        """Rows as the local models see them, dense."""
        return local_rows(self.classifier, self.rows)

    @property
    def local_slopes(self) -> np.ndarray:
        """Change of a feature by that of its column at each row.

        As ``slopes``, but with bends that a step knows by ``get_local_slopes(X)``: NaN
        where a column is no number.
        """
        steps = [step for _, step in self.steps]
        if has_map(self.classifier):
            steps.append(self.classifier.feature_map_)
        found = np.ones((len(self), count_columns(self.stages[0])))
        for step, X, then in zip(steps, self.stages, self._traces, strict=False):
            made = np.ones((len(self), len(then.origins)))
            known = then.origins >= 0
            here = then.slopes[None]
            if hasattr(step, "get_local_slopes"):
                here = np.asarray(step.get_local_slopes(X), dtype=float)
            made[:, known] = found[:, then.origins[known]] * here[:, known]
            found = made
        return found

    @cached_property
    def values(self) -> np.ndarray:
        """Values of the columns: of numbers, or of objects where NaN is missing."""
        parts, order = [], []
        mapped = self.features if has_map(self.classifier) else None
        for stage, X in enumerate([*self.stages, mapped]):
            here = [i for i, one in enumerate(self.columns) if one.stage == stage]
            if here:
                places = np.array([self.columns[i].place for i in here])
                parts.append(cells_of(X, places))
                order += here
        if len(parts) == 1:
            return parts[0]
        kinds = {part.dtype.kind for part in parts}
        whole = np.hstack([p if "O" not in kinds else p.astype(object) for p in parts])
        return whole[:, np.argsort(order)]

    def by_column(self, parts: np.ndarray) -> np.ndarray:
        """Sums over the features of each column, on the last axis."""
        n = len(self.columns)
        if len(self.origins) == n and np.array_equal(self.origins, np.arange(n)):
            return parts
        order = np.argsort(self.origins, kind="stable")
        starts = np.searchsorted(self.origins[order], np.arange(n))
        return np.add.reduceat(parts[..., order], starts, axis=-1)

    def through(self, X, stage: int = 0):
        """Other rows of a stage, as the classifier is given them."""
        for _, step in self.steps[stage:]:
            X = step.transform(X)
        return X

    def local_rows(self, X, stage: int = 0) -> np.ndarray:
        """Other rows of a stage, as the local models see them."""
        return local_rows(self.classifier, self.through(X, stage))


def _first_names(estimator, X, feature_names) -> list[str]:
    n = count_columns(X)
    if feature_names is not None:
        given = [str(name) for name in feature_names]
        if len(given) != n:
            raise ValueError(
                f"feature_names has {len(given)} names, but X has {n} columns: give "
                "one name for each, or feature_names=None."
            )
        return given
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = column_names(X)
    if names is None:
        names = getattr(split_pipeline(estimator)[1], "feature_names_in_", None)
    if names is None or len(names) != n:
        names = [f"x{i}" for i in range(n)]
    return list(map(str, names))


def _next_names(step, names, framed, n_out: int) -> list[str]:
    for found in (names_out(step, names), names_out(step, None), framed):
        if found is not None and len(found) == n_out:
            return found
    return [f"x{i}" for i in range(n_out)]


def has_map(classifier) -> bool:
    """Whether the local models see a feature map of the data."""
    mapped = getattr(classifier, "feature_map_", None) is not None
    return mapped and classifier.local_model != "constant"


def local_rows(classifier, X) -> np.ndarray:
    """Rows of a classifier as its local models see them, dense."""
    features = validated_rows(classifier, X)
    if has_map(classifier):
        features = row_views(classifier, features)[1]
    return features.toarray() if sparse.issparse(features) else features


def check_count(name: str, value) -> None:
    """Refuse numbers of things that are not positive integers."""
    if value is not None and (
        not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1
    ):
        raise ValueError(f"{name}={value!r}: choose an integer of at least 1, or None.")


def by_score(scores: np.ndarray) -> np.ndarray:
    """Scores with one column for each, also for two classes."""
    return scores.reshape(len(scores), -1)


def import_package(name: str, caller: str):
    """A package that need not be there, or an error that says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{caller} needs {name}: pip install {name}.") from error
