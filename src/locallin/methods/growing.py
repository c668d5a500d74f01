"""The number of anchors, where held-out rows decide it."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from locallin.anchors import choose_anchors
from locallin.engine.matrix import as_rows
from locallin.engine.scales import FeatureScaleWarning
from locallin.methods.preparation import (
    USUAL_ANCHORS,
    USUAL_COMPONENTS,
    FitInput,
    rule_of_rows,
)
from locallin.solvers.growth import Growth, Stage, grow_anchors, held_out_folds

# Rows that growing looks at, and up to which each is held out once.
_GROWING_ROWS = 20_000
_CROSS_VALIDATED_ROWS = 5000


def grow_for(estimator, given: FitInput, anchor_view) -> Growth:
    """As many anchors as held-out rows profit from."""
    _check_metric(estimator, anchor_view.shape[1])
    encoded, weights, rng = given.encoded, given.weights, given.rng
    chosen = np.flatnonzero(weights > 0)
    if len(chosen) > _GROWING_ROWS:
        chosen = np.sort(rng.choice(chosen, _GROWING_ROWS, replace=False))
    X, anchor_view = given.X[chosen], anchor_view[chosen]
    encoded, weights = encoded[chosen], weights[chosen]
    usual = choose_anchors(
        anchor_view, rule_of_rows(estimator, given, USUAL_ANCHORS),
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
                for told in (ConvergenceWarning, FeatureScaleWarning):
                    warnings.simplefilter("ignore", told)
                model.fit(X[seen], encoded[seen], weights[seen])
            rows = held if cross_validated else slice(None)
            wrong[rows] = model.predict(X[rows]) != encoded[rows]
        codes = model.coding_.encode(as_rows(anchor_view), estimator.n_jobs)
        # Anchors that a metric has learned with are not among the rows any more.
        learned = model.anchors_ if estimator.metric is None else anchors
        return Stage(anchors, learned, codes, wrong)

    held = np.flatnonzero(np.logical_or.reduce(folds))
    limit = rule_of_rows(estimator, given, estimator.rules.most_anchors)
    return grow_anchors(measure, usual, anchor_view, weights, held, limit, rng)


def _check_metric(estimator, n_features: int) -> None:
    """Refuse a metric that starts elsewhere than at the rows: anchors grow there."""
    if estimator.metric != "linear":
        return
    dimensions = estimator.n_dimensions or USUAL_COMPONENTS
    if dimensions < n_features:
        raise ValueError(
            f"n_anchors='auto' splits anchors among the rows, but metric='linear' "
            f"starts at {dimensions} principal components of {n_features} features: "
            f"give a number of anchors, or n_dimensions={n_features}."
        )


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
