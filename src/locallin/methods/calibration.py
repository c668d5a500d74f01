"""Held-out rows for the probabilities of a classifier, inside of its fit."""

import warnings
from contextlib import contextmanager
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from locallin.engine.sklearn_api import clone_without_callbacks, fitted_attributes
from locallin.methods.conformal import Conformity
from locallin.methods.links import Link, fit_link, without_class_weights
from locallin.methods.preparation import FitInput

# Up to so many rows each is held out once; of more, a share is, and the fit goes on
# with all rows from where it stood without them.
_FOLDED_ROWS = 1000
_FOLDS = 5
_SHARE = 0.2
_MOST_HELD = 20_000
# Passes over all rows, as a share of those before, where no tolerance tells the end.
_MORE_PASSES = 0.2
# How much earlier than the last fit the first one ends, by its tolerance.
_LOOSER = 3.0
# Attributes that tell of the rows as they were given.
_OF_INPUT = ("n_features_in_", "feature_names_in_", "classes_")


class Calibration(NamedTuple):
    """What held-out rows tell of scores."""

    link: Link
    conformity: Conformity


def fit_calibrated(estimator, given: FitInput) -> tuple[bool, Calibration | None]:
    """Fit an estimator, and learn of its scores from rows held out meanwhile.

    Returns whether Ctrl-C ended it, and what they tell, None where that stays as it
    was.
    """
    if given.resume:  # its models have seen the rows
        return estimator._fit(given), None
    if given.held_out is not None:
        interrupted = estimator._fit(given)
        X, labels, weights = given.held_out
        return interrupted, calibrate(given, estimator._scores(X), labels, weights)
    rng = deepcopy(given.rng)  # so that folds leave the last fit what it draws
    folds = draw_folds(given.encoded, given.weights, rng)
    interrupted, scores = fit_holding_out(estimator, given, folds, rng)
    held = np.concatenate(folds)
    found = calibrate(given, scores, given.encoded[held], given.weights[held])
    return interrupted, found


def fit_holding_out(
    estimator, given: FitInput, folds: list[np.ndarray], rng
) -> tuple[bool, np.ndarray]:
    """Fit an estimator, and score rows by models that have not seen them.

    Returns whether Ctrl-C ended it, and the scores, one fold after the other.
    """
    if len(folds) == 1:
        return _hold_out_once(estimator, given, folds[0])
    scores = np.concatenate([_fold_scores(estimator, given, h, rng) for h in folds])
    return estimator._fit(given), scores


def _hold_out_once(estimator, given: FitInput, held) -> tuple[bool, np.ndarray]:
    """Fit without some rows, look at them, and go on with all."""
    first, interrupted = _clone(estimator, given.rng), False
    if getattr(first, "tol", None):
        first.tol *= _LOOSER
    try:
        _fit_quietly(first, given, held)
    except KeyboardInterrupt:
        if not hasattr(first, "coef_"):
            raise
        interrupted = True
    learned = fitted_attributes(first)
    for name in {*fitted_attributes(estimator)} - {*learned, *_OF_INPUT}:
        delattr(estimator, name)  # of an earlier fit
    estimator._set({n: value for n, value in learned.items() if n not in _OF_INPUT})
    if isinstance(estimator.alpha, str):  # a rule of the rows
        estimator.alpha_ *= _alpha_ratio(estimator, given, len(held))
    scores = first._scores(given.X[held])
    if not interrupted:
        with _fewer_passes(estimator):
            interrupted = estimator._fit(given._replace(resume=True))
    return interrupted, scores


def _alpha_ratio(estimator, given: FitInput, n_held: int) -> float:
    """What alpha's rule says of all rows, over what it says without some."""
    n_all, n_classes = given.n_planned, len(given.classes)
    of_all, of_some = (
        estimator.rules.alpha(n_rows, n_classes) / n_rows
        for n_rows in (n_all, n_all - n_held)
    )
    return float(of_all / of_some)


def _fold_scores(estimator, given: FitInput, held, rng) -> np.ndarray:
    model = _clone(estimator, rng)
    _fit_quietly(model, given, held)
    return model._scores(given.X[held])


def _clone(estimator, rng):
    model = clone_without_callbacks(estimator)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    settings = {"random_state": seed, "class_weight": None, "probability": False}
    # What the last fit goes on from is kept with warm_start only.
    return model.set_params(**settings, warm_start=True)


def _fit_quietly(model, given: FitInput, held) -> None:
    kept = given.weights.copy()
    kept[held] = 0.0
    with warnings.catch_warnings():
        # The fit to all rows warns, where it has to.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(given.X, given.y, kept)


@contextmanager
def _fewer_passes(estimator):
    """Let a fit that goes on make a part of the passes, unless it has a tolerance."""
    passes = estimator.max_iter
    if getattr(estimator, "tol", None) is None:
        estimator.max_iter = max(1, round(_MORE_PASSES * passes))
    try:
        yield
    finally:
        estimator.max_iter = passes


def calibrate(given: FitInput, scores, labels, weights) -> Calibration:
    """What held-out scores tell; ``weights`` are those with class weights in them."""
    weights = without_class_weights(weights, labels, given.class_weights)
    return calibration_of(
        scores, labels, weights, given.class_weights, len(given.classes)
    )


def calibration_of(
    scores, labels, weights, class_weights, n_classes: int
) -> Calibration:
    """What held-out scores tell; ``weights`` are those without class weights."""
    link = fit_link(scores, labels, weights, class_weights, n_classes)
    flat = scores[:, 0] if scores.shape[1] == 1 else scores
    return Calibration(link, Conformity.of(link.probabilities(flat), labels, weights))


def draw_folds(labels: np.ndarray, weights: np.ndarray, rng) -> list[np.ndarray]:
    """Rows to hold out, class by class; of no class all, so that none is unknown."""
    counted = np.flatnonzero(weights > 0)
    few = len(counted) <= _FOLDED_ROWS
    share = min(_SHARE, _MOST_HELD / max(len(counted), 1))
    folds: list[list[np.ndarray]] = [[] for _ in range(_FOLDS if few else 1)]
    start = 0
    for label in np.unique(labels[counted]):
        rows = rng.permutation(counted[labels[counted] == label])
        if len(rows) < 2:
            continue
        if not few:
            folds[0].append(rows[: int(share * len(rows))])
            continue
        for place, fold in enumerate(folds):
            fold.append(rows[(place - start) % _FOLDS :: _FOLDS])
        start += len(rows)
    found = [np.sort(np.concatenate(fold or [counted[:0]])) for fold in folds]
    found = [fold for fold in found if len(fold)]
    if not found:
        raise ValueError(
            f"probability=True holds out rows, but y has {len(counted)} rows, with no "
            "class of two: set probability=False."
        )
    return found
