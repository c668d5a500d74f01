"""Unwrapping of fitted pipelines: the classifier inside, its rows and their names."""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from locallin.methods.anchored import row_views
from locallin.methods.base import ScoringClassifier, validated_rows


class Unwrapped(NamedTuple):
    """A classifier, the rows that reach it, and the names of their columns."""

    classifier: ScoringClassifier
    X: Any
    names: list[str]


def split_pipeline(estimator) -> tuple[list[Pipeline], Any]:
    """Steps before the last, and the last: through pipelines, searches, freezers."""
    before = []
    while True:
        if isinstance(estimator, Pipeline):
            if len(estimator.steps) > 1:
                before.append(estimator[:-1])
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return before, estimator


def classifier_in(estimator, caller: str) -> tuple[list[Pipeline], ScoringClassifier]:
    """Steps before the classifier, and the fitted classifier."""
    before, classifier = split_pipeline(estimator)
    if not isinstance(classifier, ScoringClassifier):
        raise TypeError(
            f"{caller} needs a classifier of locallin, or a fitted pipeline or search "
            f"that ends in one, but estimator={type(classifier).__name__}."
        )
    check_is_fitted(classifier)
    return before, classifier


def require_local_models(classifier, caller: str) -> None:
    """Refuse classifiers without weights in the data's space."""
    try:
        classifier.local_coef  # noqa: B018
    except AttributeError as error:
        raise ValueError(
            f"{caller} needs the local weights of "
            f"{type(classifier).__name__}: {error.__cause__ or error}"
        ) from None


def unwrap(estimator, X, caller: str) -> Unwrapped:
    """Pass X through the steps before the classifier."""
    before, classifier = classifier_in(estimator, caller)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = column_names(X)
    for steps in before:
        names = names_out(steps, names)
        X = steps.transform(X)
    if names is None:
        names = getattr(classifier, "feature_names_in_", None)
    n_features = classifier.n_features_in_
    if names is None or len(names) != n_features:
        names = [f"x{i}" for i in range(n_features)]
    return Unwrapped(classifier, X, list(map(str, names)))


def names_out(transformer, names) -> list[str] | None:
    """Names of a transformer's output, None where it cannot tell."""
    try:
        return list(map(str, transformer.get_feature_names_out(names)))
    except (AttributeError, NotImplementedError, ValueError):
        return None


def column_names(X) -> list[str] | None:
    """Names of the columns of a frame, None for anything else."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def has_map(classifier) -> bool:
    """Whether the local models see a feature map of the data."""
    mapped = getattr(classifier, "feature_map_", None) is not None
    return mapped and classifier.local_model != "constant"


def local_features(
    unwrapped: Unwrapped, feature_names=None
) -> tuple[np.ndarray, np.ndarray]:
    """Features that the local models see, dense, and their names.

    The names are those given, where there are as many as features.
    """
    classifier, X, names = unwrapped
    features = validated_rows(classifier, X)
    if has_map(classifier):
        features = row_views(classifier, features)[1]
        names = names_out(classifier.feature_map_, names) or [
            f"phi{i}" for i in range(features.shape[1])
        ]
    if sparse.issparse(features):
        features = features.toarray()
    return features, _chosen_names(feature_names, names)


def _chosen_names(feature_names, names: list[str]) -> np.ndarray:
    if feature_names is None:
        return np.array(names, dtype=object)
    given = [str(name) for name in feature_names]
    if len(given) != len(names):
        raise ValueError(
            f"feature_names has {len(given)} names, but the local models see "
            f"{len(names)} features: give one name for each, or feature_names=None."
        )
    return np.array(given, dtype=object)


def check_count(name: str, value) -> None:
    """Refuse numbers of things that are not positive integers."""
    if value is not None and (
        not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1
    ):
        raise ValueError(f"{name}={value!r}: choose an integer of at least 1, or None.")


def by_score(scores: np.ndarray) -> np.ndarray:
    """Scores with one column for each, also for two classes."""
    return scores.reshape(len(scores), -1)


def import_pandas(caller: str):
    """Pandas, or an error that says how to get it."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(f"{caller} needs pandas: pip install pandas.") from error


def as_frame_like(given, values: np.ndarray):
    """The values, as a frame with the columns of ``given`` where that is one."""
    if column_names(given) is None:
        return values
    columns = list(given.columns)
    if hasattr(given, "iloc"):
        return type(given)(values, columns=columns)
    return type(given)(values, schema=columns)


def some_rows(X, start: int, stop: int):
    """The rows start..stop of a matrix, a frame or a list."""
    return X.tocsr()[start:stop] if sparse.issparse(X) else X[start:stop]


def count_rows(X) -> int:
    """Number of rows of a matrix, a frame or a list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)
