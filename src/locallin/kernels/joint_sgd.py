"""The papers' own algorithm for joint learning: one row at a time.

Algorithm 1 of the LLC-SAPL paper and Algorithm 2 of the DU-LLSVM paper. The local
models take the steps of :mod:`locallin.kernels.linear`, lazily scaled and averaged in
the same way; with anchors that do not move they are the same steps. The anchors have
a rate of their own (eq. 14 of the DU-LLSVM paper), a bound on the length of each step,
and an average with the same weights,

    mean = mean_scale * (mean_anchors + free_mix * anchors)
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.coding import (
    ADAPTIVE,
    SOFT_ASSIGNMENT,
    adaptive,
    soft_assignment,
    soft_assignment_by_anchor,
)
from locallin.kernels.distances import all_distances, smallest
from locallin.kernels.joint import Derivatives, Parameters, slopes_and_pulls
from locallin.kernels.linear import (
    DECAY,
    FREE_MIX,
    MEAN_SCALE,
    MIX,
    SCALE,
    SMALLEST_SCALE,
    Iterate,
    T,
    Target,
    feature_norm,
    settle,
    step_class,
)
from locallin.kernels.losses import loss_curvature
from locallin.kernels.rows import CodedRow, Codes, dot, get_row, squared_norm


class JointIterate(NamedTuple):
    """The current parameters and their running average, updated in place."""

    parameters: Parameters
    means: Parameters


class AnchorMoves(NamedTuple):
    """Neighbors of a row, and how anchors move.

    ``rate`` is the first step along the negative gradient, which falls like that of the
    local models; ``reach`` the largest distance of one step.
    """

    n_neighbors: int
    rate: float
    reach: float


@jit
def settle_anchors(anchors, mean_anchors, state, average):
    """Write the scalars of the average into it; before ``settle``, which resets."""
    if average:
        for j in range(anchors.shape[0]):
            for d in range(anchors.shape[1]):
                mixed = mean_anchors[j, d] + state[FREE_MIX] * anchors[j, d]
                mean_anchors[j, d] = state[MEAN_SCALE] * mixed


@jit
def settle_all(iterate, state, schedule):
    """Write all scalars of ``state`` into the arrays: it becomes (t, 1, 1, 0, 0)."""
    parameters, means = iterate
    settle_anchors(parameters.anchors, means.anchors, state, schedule.average)
    models = Iterate(parameters.coef, parameters.intercept, means.coef, means.intercept)
    settle(models, state, schedule, 0, parameters.coef.shape[1])


@jit
def _move_anchor(values, indices, share, v, mean_v, mix):
    """Move v by share (x - v), and the average's buffer by -mix times that."""
    for d in range(v.size):
        step = -share * v[d]
        v[d] += step
        mean_v[d] -= mix * step
    for i in range(values.size):
        d = i if indices is None else indices[i]
        step = share * values[i]
        v[d] += step
        mean_v[d] -= mix * step


@jit
def _code_row(values, indices, anchors, norms, objective, room):
    """Distances and weights of the nearest anchors of a row; how many are active."""
    everyone, keys, near, where, weights = room
    m, bandwidth = anchors.shape[0], objective.bandwidth
    priced = objective.kind == ADAPTIVE and bandwidth.size > 1
    all_distances(values, indices, anchors, norms, everyone, m, keys)
    if priced:
        for j in range(m):
            keys[j] *= bandwidth[j]
    smallest(keys, m, near, where)
    weights[:] = near
    k = near.size
    if objective.kind == SOFT_ASSIGNMENT and bandwidth.size > 1:
        soft_assignment_by_anchor(weights, where, bandwidth)
    elif objective.kind == SOFT_ASSIGNMENT:
        soft_assignment(weights, bandwidth[0])
    elif priced:
        k = adaptive(weights, 1.0)
        for p in range(k):
            near[p] /= bandwidth[where[p]]
    else:
        k = adaptive(weights, bandwidth[0])
    return k


@jit
def _step_models(z, slopes, weight, models, state, plan):
    """The step of the local models for one row; returns the new scale of W."""
    schedule, curvature = plan
    clock = state[T] + schedule.t0
    eta = 1.0 / (schedule.alpha * clock)
    if curvature > 0.0 and weight > 0.0:
        norm = feature_norm(z.values, z.codes, z.i, schedule.intercept_step)
        eta = min(eta, 1.0 / (curvature * weight * norm))
    shrunk = state[SCALE] * (1.0 - 1.0 / clock)
    for c in range(slopes.shape[1]):
        if slopes[0, c] != 0.0:
            delta = -eta * slopes[0, c]
            step_class(z, c, delta, models, shrunk, state, schedule)
    return shrunk


@jit
def _advance(state, shrunk, average):
    """Take note of a step: the clock, the scale of W, and the weights of the mean."""
    state[T] += 1.0
    state[SCALE] = shrunk
    if average:
        share = (1.0 + DECAY) / (state[T] + 1.0 + DECAY)
        state[MEAN_SCALE] *= 1.0 - share
        state[MIX] += share * shrunk / state[MEAN_SCALE]
        state[FREE_MIX] += share / state[MEAN_SCALE]


@jit
def joint_sgd_steps(rows, target, order, iterate, state, schedule, objective, moves):
    """One step for each row named in ``order``.

    Parameters
    ----------
    rows : tuple of Rows
        As anchors and as local models see them.
    iterate : JointIterate
    state : array (t, scale, mean_scale, mix, free_mix), updated
    objective : CodedLoss
    moves : AnchorMoves

    Returns
    -------
    tuple of float
        Sums over rows of the loss, the number of active anchors, the perplexity.
    """
    x_rows, phi_rows = rows
    parameters, means = iterate
    coef, intercept, anchors = parameters
    models = Iterate(coef, intercept, means.coef, means.intercept)
    m, n_scores, _ = coef.shape
    n_neighbors = moves.n_neighbors
    plan = schedule, loss_curvature(objective.loss)
    norms = np.empty(m)
    for j in range(m):
        norms[j] = squared_norm(anchors[j])
    near, where = np.empty(n_neighbors), np.empty(n_neighbors, np.int64)
    weights = np.empty(n_neighbors, coef.dtype)
    room = np.arange(m), np.empty(m), near, where, weights
    indptr = np.zeros(2, np.int64)
    scores = np.empty((n_neighbors, n_scores))
    out = Derivatives(
        np.empty((1, n_scores)),
        np.empty(n_neighbors),
        np.empty(n_neighbors),
        np.empty((1, 3)),
    )
    total, active, spread = 0.0, 0.0, 0.0
    for i in order:
        x, x_indices = get_row(x_rows, i)
        phi, phi_indices = get_row(phi_rows, i)
        k = _code_row(x, x_indices, anchors, norms, objective, room)
        indptr[1] = k
        codes = Codes(indptr, where[:k], weights[:k])
        for p in range(k):
            for c in range(n_scores):
                product = dot(phi, phi_indices, coef[where[p], c])
                scores[p, c] = state[SCALE] * (product + intercept[where[p], c])
        row = Target(
            target.labels[i : i + 1], target.positive, target.weights[i : i + 1]
        )
        slopes_and_pulls(codes, near, scores, row, objective, 1, out)
        total += out.sums[0, 0]
        active += out.sums[0, 1]
        spread += out.sums[0, 2]
        z = CodedRow(phi, phi_indices, codes, 0)
        shrunk = _step_models(z, out.slopes, target.weights[i], models, state, plan)
        if moves.rate > 0.0:
            rate = moves.rate * schedule.t0 / (state[T] + schedule.t0)
            for p in range(k):
                share = -rate * out.pulls[p]
                if share != 0.0:
                    longest = moves.reach / near[p]
                    share = min(max(share, -longest), longest)
                    j = where[p]
                    _move_anchor(
                        x, x_indices, share, anchors[j], means.anchors[j],
                        state[FREE_MIX],
                    )  # fmt: skip
                    norms[j] = squared_norm(anchors[j])
        _advance(state, shrunk, schedule.average)
        if state[SCALE] < SMALLEST_SCALE or state[MEAN_SCALE] < SMALLEST_SCALE:
            settle_all(iterate, state, schedule)
    return total, active, spread
