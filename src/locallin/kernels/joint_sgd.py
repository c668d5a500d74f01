"""The papers' own algorithm for joint learning: one row at a time.

Algorithm 1 of the LLC-SAPL paper and Algorithm 2 of the DU-LLSVM paper. The local
models take the steps of :mod:`locallin.kernels.linear`, lazily scaled and averaged in
the same way; with anchors that do not move they are the same steps. The anchors have
a rate of their own (eq. 14 of the DU-LLSVM paper), a bound on the length of each step,
and an average with the same weights,

    mean = mean_scale * (mean_anchors + anchor_mix * anchors)
"""

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.coding import (
    ADAPTIVE,
    SOFT_ASSIGNMENT,
    adaptive,
    all_distances,
    smallest,
    soft_assignment,
    soft_assignment_by_anchor,
)
from locallin.kernels.joint import slopes_and_pulls
from locallin.kernels.linear import (
    DECAY,
    SMALLEST_SCALE,
    Iterate,
    Target,
    feature_norm,
    settle,
    step_class,
)
from locallin.kernels.losses import loss_curvature
from locallin.kernels.rows import Codes, dot, get_row, squared_norm


@jit
def settle_anchors(anchors, mean_anchors, state, average):
    """Write the scalars of the average into it; before ``settle``, which resets."""
    if average:
        for j in range(anchors.shape[0]):
            for d in range(anchors.shape[1]):
                mixed = mean_anchors[j, d] + state[4] * anchors[j, d]
                mean_anchors[j, d] = state[2] * mixed
    state[4] = 0.0


@jit
def settle_all(parameters, means, state, average):
    """Write all scalars of ``state`` into the arrays: it becomes (t, 1, 1, 0, 0)."""
    settle_anchors(parameters.anchors, means.anchors, state, average)
    iterate = Iterate(
        parameters.coef, parameters.intercept, means.coef, means.intercept
    )
    settle(iterate, state, average, 0, parameters.coef.shape[1])


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
def joint_sgd_steps(
    x_rows, phi_rows, target, order, parameters, means, state, schedule,
    loss, kind, n_neighbors, bandwidth, anchor_rate, anchor_reach,
):  # fmt: skip
    """One step for each row named in ``order``.

    Parameters
    ----------
    parameters, means : Parameters
        The iterate and its average, updated.
    state : array (t, scale, mean_scale, mix, anchor_mix), updated
    bandwidth : array of shape (1,) or (m,)
    anchor_rate : float
        First step of the anchors along the negative gradient; it falls like the
        step of the local models.
    anchor_reach : float
        Largest distance that an anchor moves in one step.

    Returns
    -------
    tuple of float
        Sums over rows of the loss, the number of active anchors, the perplexity.
    """
    coef, intercept, anchors = parameters
    iterate = Iterate(coef, intercept, means.coef, means.intercept)
    m, n_scores, _ = coef.shape
    curvature = loss_curvature(loss)
    norms = np.empty(m)
    for j in range(m):
        norms[j] = squared_norm(anchors[j])
    everyone = np.arange(m)
    keys = np.empty(m)
    near, where = np.empty(n_neighbors), np.empty(n_neighbors, np.int64)
    weights = np.empty(n_neighbors, coef.dtype)
    indptr = np.zeros(2, np.int64)
    scores = np.empty((n_neighbors, n_scores))
    slopes = np.empty((1, n_scores))
    pulls = np.empty(n_neighbors)
    widths = np.empty(bandwidth.size)
    priced = kind == ADAPTIVE and bandwidth.size > 1
    total, active, spread = 0.0, 0.0, 0.0
    for i in order:
        x, x_indices = get_row(x_rows, i)
        phi, phi_indices = get_row(phi_rows, i)
        all_distances(x, x_indices, anchors, norms, everyone, m, keys)
        if priced:
            for j in range(m):
                keys[j] *= bandwidth[j]
        smallest(keys, m, near, where)
        weights[:] = near
        k = n_neighbors
        if kind == SOFT_ASSIGNMENT and bandwidth.size > 1:
            soft_assignment_by_anchor(weights, where, bandwidth)
        elif kind == SOFT_ASSIGNMENT:
            soft_assignment(weights, bandwidth[0])
        elif priced:
            k = adaptive(weights, 1.0)
            for p in range(k):
                near[p] /= bandwidth[where[p]]
        else:
            k = adaptive(weights, bandwidth[0])
        indptr[1] = k
        codes = Codes(indptr, where[:k], weights[:k])
        for p in range(k):
            for c in range(n_scores):
                product = dot(phi, phi_indices, coef[where[p], c])
                scores[p, c] = state[1] * (product + intercept[where[p], c])
        row = Target(
            target.labels[i : i + 1], target.positive, target.weights[i : i + 1]
        )
        sums = slopes_and_pulls(
            codes, near, scores, row, loss, kind, bandwidth, slopes, pulls, widths
        )
        total += sums[0]
        active += sums[1]
        spread += sums[2]
        weight = target.weights[i]
        clock = state[0] + schedule.t0
        eta = 1.0 / (schedule.alpha * clock)
        if curvature > 0.0 and weight > 0.0:
            norm = feature_norm(phi, codes, 0, schedule.intercept_step)
            eta = min(eta, 1.0 / (curvature * weight * norm))
        shrunk = state[1] * (1.0 - 1.0 / clock)
        for c in range(n_scores):
            if slopes[0, c] != 0.0:
                step_class(
                    phi, phi_indices, codes, 0, c, -eta * slopes[0, c],
                    iterate, shrunk, state[3], schedule,
                )  # fmt: skip
        if anchor_rate > 0.0:
            rate = anchor_rate * schedule.t0 / clock
            for p in range(k):
                share = -rate * pulls[p]
                if share != 0.0:
                    longest = anchor_reach / near[p]
                    share = min(max(share, -longest), longest)
                    j = where[p]
                    _move_anchor(
                        x, x_indices, share, anchors[j], means.anchors[j], state[4]
                    )
                    norms[j] = squared_norm(anchors[j])
        state[0] += 1.0
        state[1] = shrunk
        if schedule.average:
            part = (1.0 + DECAY) / (state[0] + 1.0 + DECAY)
            state[2] *= 1.0 - part
            state[3] += part * shrunk / state[2]
            state[4] += part / state[2]
        if state[1] < SMALLEST_SCALE or state[2] < SMALLEST_SCALE:
            settle_all(parameters, means, state, schedule.average)
    return total, active, spread
