"""Rows as the machines of a fitted AtlasClassifier see them."""

import numpy as np

from locallin.atlas import fitted_charts
from locallin.charts.affine import ChartedRows, chart_weights
from locallin.charts.machines import FEATURES
from locallin.kernels.linear import feature_norms
from locallin.kernels.rows import Rows


def has_relative_weights(classifier) -> bool:
    """Whether weights on charts sum to one in each row before they are normalised.

    It makes no difference to a kernel that is normalised, and turns the one weight of
    hard assignment into the 1 of eq. 6.
    """
    return classifier.normalize or classifier.assignment == "hard"


def charted_rows(classifier, X, n_jobs: int | None = None) -> ChartedRows:
    """Validated rows as the machines see them: on charts, in units of length."""
    charts = fitted_charts(classifier.atlas_, X.dtype)
    nearest, errors = charts.nearest(X, classifier.n_nearest_, n_jobs)
    found, weights = chart_weights(
        nearest,
        errors,
        classifier.gamma_,
        relative=has_relative_weights(classifier),
    )
    rbf = classifier.kernel == "rbf"
    points = charts.coordinates(X, found, n_jobs)
    points /= points.dtype.type(classifier.sigma_ if rbf else classifier.scale_)
    rows = ChartedRows(found, weights, points)
    if not classifier.normalize:
        return rows
    if rbf:
        squares = np.square(weights).sum(axis=1)
    else:
        features = Rows(points, FEATURES[classifier.kernel], None)
        constant = classifier.intercept_scaling_**2
        squares = feature_norms(features, rows.codes, constant)
    lengths = np.sqrt(squares).astype(points.dtype)
    return ChartedRows(found, weights / lengths[:, None], points)
