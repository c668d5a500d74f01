"""Anchors, coding and scales of a method, chosen from rows before a solver runs.

An estimator is not changed here: its parameters and rules are read, and what was
chosen is returned.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from locallin.anchors import choose_anchors
from locallin.coding import (
    AdaptiveCoding,
    Coding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.engine.matrix import as_rows
from locallin.methods.preparation import FitInput, Scales, choose_scales
from locallin.solvers.growth import Growth, Stage, grow_anchors, held_out_folds

CODINGS = {
    "inverse-distance": InverseDistanceCoding,
    "soft": SoftAssignmentCoding,
    "adaptive": AdaptiveCoding,
}

# Anchors at the most, where n_anchors=None.
_USUAL_ANCHORS = 100
# Rows that growing looks at, and up to which each is held out once.
_GROWING_ROWS = 20_000
_CROSS_VALIDATED_ROWS = 5000


class Space(NamedTuple):
    """Where local models sit and what they see."""

    feature_map: Any  # a fitted transformer, or None
    scales: Scales
    coding: Coding
    anchor_path: np.ndarray | None  # with n_anchors="auto"


def fit_space(estimator, given: FitInput) -> tuple[Space, tuple]:
    """Choose feature map, scales, anchors and coding.

    Returns them, and the rows as anchors and as local models see them.
    """
    X, encoded, weights, rng = given.X, given.encoded, given.weights, given.rng
    feature_map = None
    if estimator.feature_map is not None:
        feature_map = clone(estimator.feature_map).fit(X, encoded)
    views = views_of(estimator, feature_map, X)
    n_rows = given.n_planned
    scales = choose_scales(estimator, views[1], weights, n_rows)
    anchors, path = estimator.anchors, None
    if not isinstance(anchors, str):
        _check_number(estimator.n_anchors, anchors)
    if estimator.n_anchors == "auto":
        anchors, path = _grow(estimator, given, views[0])
    coding = _new_coding(estimator, anchors, n_rows, rng)
    uniform = weights.min() == weights.max()
    coding.fit(views[0], encoded, None if uniform else weights)
    return Space(feature_map, scales, coding, path), views


def views_of(estimator, feature_map, X) -> tuple:
    """Rows as anchors see them (x or phi(x)), and as local models do (phi(x))."""
    mapped = X
    if feature_map is not None:
        mapped = check_array(
            feature_map.transform(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            input_name="feature_map's output",
        )
    anchor_view = mapped if estimator.coding_space == "mapped" else X
    if estimator.local_model == "constant":
        return anchor_view, np.empty((X.shape[0], 0), X.dtype)
    return anchor_view, mapped


def _check_number(n_anchors, anchors) -> None:
    if n_anchors not in (None, len(anchors)):
        raise ValueError(
            f"n_anchors={n_anchors!r}, but {len(anchors)} anchors are given: "
            "leave n_anchors=None."
        )


def _rule_of_rows(estimator, n_rows: int, most: int) -> int:
    share = n_rows // estimator.rules.rows_per_anchor
    return int(np.clip(share, len(estimator.classes_), most))


def _new_coding(estimator, anchors, n_rows: int, rng) -> Coding:
    """The coding an estimator asks for, not fitted yet."""
    seed = rng.randint(np.iinfo(np.int32).max)
    if not isinstance(estimator.coding, str):
        coding = clone(estimator.coding)
        if coding.random_state is None:
            coding.set_params(random_state=seed)
        return coding
    n_anchors = len(anchors)
    if isinstance(anchors, str):
        usual = _rule_of_rows(estimator, n_rows, _USUAL_ANCHORS)
        n_anchors = estimator.n_anchors or usual
    coding = CODINGS[estimator.coding](n_anchors, anchors=anchors, random_state=seed)
    _set_neighbors(coding, estimator.n_neighbors, n_anchors)
    names = estimator.rules.coding_parameters
    return coding.set_params(**{name: getattr(estimator, name) for name in names})


def _set_neighbors(coding: Coding, k: int | None, n_anchors: int) -> None:
    if not isinstance(coding, AdaptiveCoding):
        coding.n_neighbors = min(coding.n_neighbors, n_anchors) if k is None else k
    elif k is not None:
        raise ValueError(
            f"n_neighbors={k}, but coding='adaptive' chooses the number of "
            "neighbors for each row: leave n_neighbors=None, or choose "
            "coding='soft'."
        )


def _grow(estimator, given: FitInput, anchor_view) -> Growth:
    """As many anchors as held-out rows profit from."""
    encoded, weights, rng = given.encoded, given.weights, given.rng
    chosen = np.flatnonzero(weights > 0)
    if len(chosen) > _GROWING_ROWS:
        chosen = np.sort(rng.choice(chosen, _GROWING_ROWS, replace=False))
    X, anchor_view = given.X[chosen], anchor_view[chosen]
    encoded, weights = encoded[chosen], weights[chosen]
    n_rows = given.n_planned
    usual = choose_anchors(
        anchor_view, _rule_of_rows(estimator, n_rows, _USUAL_ANCHORS),
        estimator.anchors, y=encoded, sample_weight=weights, random_state=rng,
    )  # fmt: skip
    cross_validated = len(chosen) <= _CROSS_VALIDATED_ROWS
    folds = held_out_folds(encoded, 5 if cross_validated else 1, rng)
    if not folds:
        return Growth(usual, np.empty((0, 3)))
    seed = rng.randint(np.iinfo(np.int32).max)

    def measure(anchors) -> Stage:
        model = _model_while_growing(estimator, anchors, seed)
        wrong = np.zeros(len(encoded))
        for held in folds:
            seen = ~held
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X[seen], encoded[seen], weights[seen])
            rows = held if cross_validated else slice(None)
            wrong[rows] = model.predict(X[rows]) != encoded[rows]
        codes = model.coding_.encode(as_rows(anchor_view), estimator.n_jobs)
        return Stage(anchors, model.anchors_, codes, wrong)

    held = np.flatnonzero(np.logical_or.reduce(folds))
    limit = _rule_of_rows(estimator, n_rows, estimator.rules.most_anchors)
    return grow_anchors(measure, usual, anchor_view, weights, held, limit, rng)


def _model_while_growing(estimator, anchors, seed: int):
    """A clone that starts from the given anchors, with the settings for growing."""
    model = estimator._growing_model().set_params(
        **estimator.rules.while_growing,
        n_anchors=None, anchors=anchors, class_weight=None,
        random_state=seed, verbose=0,
    )  # fmt: skip
    for name in ("n_neighbors", "perplexity"):
        if (value := getattr(estimator, name, None)) is not None:
            model.set_params(**{name: min(value, len(anchors))})
    return model
