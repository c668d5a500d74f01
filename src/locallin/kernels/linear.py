"""Stochastic gradient descent on the convex problem (anchors and codes fixed).

Problem (eq. 9 of the LL-SVM paper, with a weight s_i on each row):

    minimise  alpha/2 (|W|^2 + |b|^2 / B^2) + (1/S) sum_i s_i loss(y_i f(x_i))

where f(x) = sum_j g_j(x) (w_j . x + b_j), S = sum s_i, and B the intercept
scaling: liblinear's constant feature, so that both solvers share one objective.
Where the intercept is free, as in the paper, |b|^2 is not in it.

Algorithm 1 of the paper (steps of SVMSGD2, eq. 11-13). Eq. 13 shrinks all of W
every few steps; here W = scale * coef and only the scalar shrinks, at every step.

The average of the iterates gives step t the weight (1 + DECAY) / (t + 2 + DECAY)
(polynomial-decay averaging, Shamir & Zhang 2013), which forgets the start without
a parameter that says when to begin. It is held as

    mean = mean_scale * (mean_coef + mix * coef)

so that a step without loss costs a few scalar operations and nothing else. What does
not shrink, such as a free intercept, is stored as it is and has a mix of its own.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.losses import loss_curvature, loss_slope, loss_value
from locallin.kernels.predict import row_scores
from locallin.kernels.rows import (
    Codes,
    Rows,
    add_scaled,
    coded_row,
    get_row,
    n_rows,
    part,
    squared_norm,
)

ONE_VS_REST = 0
CRAMMER_SINGER = 1

DECAY = 3.0
SMALLEST_SCALE = 1e-12

# The scalars of the lazy steps, by their place in ``state``.
# FREE_MIX is the mix of what does not shrink.
T, SCALE, MEAN_SCALE, MIX, FREE_MIX = range(5)


def fresh_state(t: float) -> np.ndarray:
    """Scalars at time t with nothing to settle."""
    return np.array([t, 1.0, 1.0, 0.0, 0.0])


class Target(NamedTuple):
    """What the rows should be told apart as, or the numbers that they have.

    ``labels[i]`` is the class of row i; score c is positive for class
    ``positive[c]``; ``weights[i]`` is the row's weight, with mean one. Where rows have
    numbers, ``labels[i]`` holds one for each score, and ``positive`` counts the scores.
    """

    labels: np.ndarray
    positive: np.ndarray
    weights: np.ndarray


class DataTerm(NamedTuple):
    """The sum of losses in the objective: rows, their codes and targets, and the loss.

    ``strategy`` is ONE_VS_REST or CRAMMER_SINGER.
    """

    rows: Rows
    codes: Codes
    target: Target
    loss: int
    strategy: int


class Iterate(NamedTuple):
    """The current weights and their running average, updated in place."""

    coef: np.ndarray
    intercept: np.ndarray
    mean_coef: np.ndarray
    mean_intercept: np.ndarray


class Schedule(NamedTuple):
    """Step eta_t = 1 / (alpha (t + t0)), what shrinks, and which average to keep."""

    alpha: float
    t0: float
    intercept_step: float
    average: bool
    free_intercept: bool = False


# The compiler drops the other branch where it looks at an argument, not into a tuple.
@jit(inner=True)
def feature_norm(values, codes, i, intercept_step):
    """|z|^2 of z = g (x) [x; B]."""
    total = 0.0
    start = codes.indptr[i]
    if values.ndim == 1:
        for p in range(start, codes.indptr[i + 1]):
            total += codes.values[p] * codes.values[p]
        return total * (squared_norm(values) + intercept_step)
    for p in range(start, codes.indptr[i + 1]):
        square = squared_norm(part(values, p - start)) + intercept_step
        total += codes.values[p] * codes.values[p] * square
    return total


@jit(inner=True)
def add_to_class(z, c, delta, coef, intercept, intercept_step):
    """W_c += delta * g x^T and b_c += delta * g B^2 (eq. 11-12)."""
    values, indices, codes, i = z
    start = codes.indptr[i]
    for p in range(start, codes.indptr[i + 1]):
        j = codes.indices[p]
        step = coef.dtype.type(delta * codes.values[p])
        add_scaled(part(values, p - start), indices, step, coef[j, c])
        intercept[j, c] += step * intercept_step


@jit
def settle(iterate, state, schedule, first, last):
    """Write the scalars of ``state`` into the arrays: (t, 1, 1, 0, 0) is left."""
    scale, mean_scale, mix = state[SCALE], state[MEAN_SCALE], state[MIX]
    average = schedule.average
    intercept_scale, intercept_mix = scale, mix
    if schedule.free_intercept:
        intercept_scale, intercept_mix = 1.0, state[FREE_MIX]
    coef, intercept, mean_coef, mean_intercept = iterate
    for j in range(coef.shape[0]):
        for c in range(first, last):
            for d in range(coef.shape[2]):
                w = coef[j, c, d]
                if average:
                    mean_coef[j, c, d] = mean_scale * (mean_coef[j, c, d] + mix * w)
                coef[j, c, d] = scale * w
            b = intercept[j, c]
            if average:
                mixed = mean_intercept[j, c] + intercept_mix * b
                mean_intercept[j, c] = mean_scale * mixed
            intercept[j, c] = intercept_scale * b
    state[SCALE], state[MEAN_SCALE], state[MIX], state[FREE_MIX] = 1.0, 1.0, 0.0, 0.0


@jit(inner=True)
def step_class(z, c, delta, iterate, scale, state, schedule):
    """Change W_c by delta g x^T; what is stored is W / scale, and the average."""
    delta, constant, mix = delta / scale, schedule.intercept_step, state[MIX]
    mean_constant = constant
    if schedule.free_intercept:
        constant *= scale
        mean_constant = constant * (state[FREE_MIX] / mix if mix > 0.0 else 0.0)
    coef, intercept, mean_coef, mean_intercept = iterate
    add_to_class(z, c, delta, coef, intercept, constant)
    if schedule.average:
        add_to_class(z, c, -mix * delta, mean_coef, mean_intercept, mean_constant)


@jit(inner=True)
def _lift_intercepts(z, intercept, scale, first, last, scores):
    """Scores over ``scale``, as the weights are stored: a free intercept is not."""
    _, _, codes, i = z
    lift = 1.0 / scale - 1.0
    for p in range(codes.indptr[i], codes.indptr[i + 1]):
        for c in range(first, last):
            scores[c] += lift * codes.values[p] * intercept[codes.indices[p], c]


@jit(inner=True)
def _rival(scores, label):
    best = -1
    for c in range(scores.size):
        if c != label and (best < 0 or scores[c] > scores[best]):
            best = c
    return best


@jit
def sgd_steps(data, order, iterate, state, schedule, first, last):
    """One step for each row named in ``order``, for the scores first..last.

    Parameters
    ----------
    data : DataTerm
        With CRAMMER_SINGER first..last are all scores.
    state : array (t, scale, mean_scale, mix, free_mix), updated

    Returns
    -------
    float
        Sum of the losses met on the way, each taken before its own step.
    """
    rows, codes, (labels, positive, weights), loss, strategy = data
    curvature = loss_curvature(loss)
    scores = np.empty(positive.size, iterate.coef.dtype)
    total = 0.0
    for i in order:
        z = coded_row(rows, codes, i)
        row_scores(z, iterate.coef, iterate.intercept, first, last, scores)
        weight = weights[i]
        t, scale = state[T], state[SCALE]
        if schedule.free_intercept:
            _lift_intercepts(z, iterate.intercept, scale, first, last, scores)
        clock = t + schedule.t0
        eta = weight / (schedule.alpha * clock)
        if curvature > 0.0 and weight > 0.0:
            # No single step may overshoot its own row's minimum.
            norm = feature_norm(z.values, codes, i, schedule.intercept_step)
            reach = curvature * norm
            eta = min(eta, 1.0 / reach if strategy == ONE_VS_REST else 0.5 / reach)
        shrunk = scale * (1.0 - 1.0 / clock)
        if strategy == ONE_VS_REST:
            for c in range(first, last):
                y = 1.0 if labels[i] == positive[c] else -1.0
                margin = y * scale * scores[c]
                total += weight * loss_value(loss, margin)
                slope = loss_slope(loss, margin)
                if slope != 0.0 and weight > 0.0:
                    delta = -eta * slope * y
                    step_class(z, c, delta, iterate, shrunk, state, schedule)
        else:
            own = labels[i]
            rival = _rival(scores, own)
            margin = scale * (scores[own] - scores[rival])
            total += weight * loss_value(loss, margin)
            slope = loss_slope(loss, margin)
            if slope != 0.0 and weight > 0.0:
                for c, y in ((own, 1.0), (rival, -1.0)):
                    delta = -eta * slope * y
                    step_class(z, c, delta, iterate, shrunk, state, schedule)
        state[T], state[SCALE] = t + 1.0, shrunk
        if schedule.average:
            share = (1.0 + DECAY) / (t + 2.0 + DECAY)
            state[MEAN_SCALE] *= 1.0 - share
            state[MIX] += share * shrunk / state[MEAN_SCALE]
            state[FREE_MIX] += share / state[MEAN_SCALE]
        if state[SCALE] < SMALLEST_SCALE or state[MEAN_SCALE] < SMALLEST_SCALE:
            settle(iterate, state, schedule, first, last)
    return total


@jit
def sum_losses(data, order, coef, intercept, first, last):
    """Weighted sum of the losses of the rows in ``order`` for scores first..last."""
    rows, codes, (labels, positive, weights), loss, strategy = data
    scores = np.empty(positive.size, coef.dtype)
    total = 0.0
    for i in order:
        z = coded_row(rows, codes, i)
        row_scores(z, coef, intercept, first, last, scores)
        if strategy == ONE_VS_REST:
            for c in range(first, last):
                y = 1.0 if labels[i] == positive[c] else -1.0
                total += weights[i] * loss_value(loss, y * scores[c])
        else:
            margin = scores[labels[i]] - scores[_rival(scores, labels[i])]
            total += weights[i] * loss_value(loss, margin)
    return total


def feature_norms(rows: Rows, codes: Codes, intercept_step: float) -> np.ndarray:
    """|z_i|^2 of every row."""
    out = np.empty(n_rows(rows))
    _write_feature_norms(rows, codes, intercept_step, out)
    return out


@jit
def _write_feature_norms(rows, codes, intercept_step, out):
    for i in range(out.size):
        values, _ = get_row(rows, i)
        out[i] = feature_norm(values, codes, i, intercept_step)
