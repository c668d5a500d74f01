"""Machines on charts: pairs of classes, linear scores, local weights, votes."""

from itertools import combinations

import numpy as np

from locallin.charts.affine import ChartedRows
from locallin.engine.matrix import read_only
from locallin.kernels.predict import Entries, add_scores, entries_by_anchor
from locallin.kernels.rows import PRODUCTS, SQUARES, expanded

# Features of a linear kernel: coordinates alone, or made of them.
FEATURES = {"linear": None, "quadratic": SQUARES, "quadratic-cross": PRODUCTS}


def machines_of(n_classes: int, multi_class: str) -> list[tuple[int, int | None]]:
    """(positive class, negative class or None for all others) of each machine."""
    if n_classes == 2:
        return [(1, 0)]
    if multi_class == "ovr":
        return [(c, None) for c in range(n_classes)]
    return list(combinations(range(n_classes), 2))


def linear_scores(rows: ChartedRows, coef, intercept, kind: int | None) -> np.ndarray:
    """Scores of all machines."""
    codes = rows.codes
    n, k, d = rows.coordinates.shape
    starts, entries, served = entries_by_anchor(codes, len(coef))
    features = rows.coordinates.reshape(n * k, d)
    if kind is not None:
        features = expanded(features, kind)
    out = np.zeros((n, coef.shape[1]), features.dtype)
    # Every entry has features of its own.
    by_chart = Entries(starts, entries, entries)
    model = read_only(coef), read_only(intercept)
    add_scores(features, by_chart, codes.values, served, *model, out)
    return out


def local_models(
    rows: ChartedRows, means, bases, unit: float, coef, intercept
) -> tuple[np.ndarray, np.ndarray]:
    """Effective weights (n, machines, D) and intercepts (n, machines) of each row.

    Coordinates of the rows are in units of ``unit``.
    """
    shape = len(rows), coef.shape[1], means.shape[1]
    dtype = rows.coordinates.dtype
    out, offset = np.zeros(shape, dtype), np.zeros(shape[:2], dtype)
    for i in range(len(rows)):
        row = zip(rows.charts[i], rows.weights[i], rows.coordinates[i], strict=True)
        for chart, g, p in row:
            direction = _secant(coef[chart], p) / unit @ bases[chart]
            out[i] += g * direction
            offset[i] += g * (intercept[chart] - direction @ means[chart])
    return out, offset


def _secant(coef: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Weights v, (machines, d), with v . p = coef . features(p) for each machine."""
    d = len(p)
    linear, rest = coef[:, :d], coef[:, d:]
    if rest.shape[1] == 0:
        return linear
    if rest.shape[1] == d:
        return linear + rest * p
    a, b = np.tril_indices(d)
    products = np.zeros((len(coef), d, d), coef.dtype)
    products[:, a, b] = rest
    return linear + 0.5 * (products + products.transpose(0, 2, 1)) @ p


def votes(scores: np.ndarray, machines, n_classes: int) -> np.ndarray:
    """Votes of one-vs-one machines, ties broken by the sum of their scores."""
    votes = np.zeros((len(scores), n_classes), scores.dtype)
    total = np.zeros_like(votes)
    for machine, (positive, negative) in enumerate(machines):
        score = scores[:, machine]
        votes[:, positive] += score > 0
        votes[:, negative] += score <= 0
        total[:, positive] += score
        total[:, negative] -= score
    # Below one vote, whatever the scores are.
    return votes + total / (3 * (np.abs(total) + 1))
