"""Gradients of the joint problem: local models, anchors and bandwidth together.

Problem (eq. 12 and 21 of the LLC-SAPL paper, eq. 6 and 8 of the DU-LLSVM paper):

    minimise over W, b, V and the bandwidth
        alpha/2 (|W|^2 + |b|^2 / B^2) + (1/S) sum_i s_i sum_c loss(y_ic f_c(x_i))

or with the multinomial loss of a row's scores in place of the sum over c, or with
losses of the scores f_c(x_i) and several numbers y_ic, and with
f_c(x) = sum_j g_j(x) r_jc(x), r_jc(x) = w_jc . x + b_jc, and codes g that depend on the
anchors V. The anchors are shared by all scores. With s_ic the derivative of the loss by
f_c(x_i), h_ij = sum_c s_ic r_jc and F_i = sum_c s_ic f_c = sum_j g_ij h_ij:

soft assignment (eq. 13-16 collapse to)
    dL/dv_j     = 2 beta_j g_ij (h_ij - F_i) (x_i - v_j)
    dL/dbeta_j  = -g_ij (h_ij - F_i) d_ij^2
adaptive, u = mu d, k active anchors, S = sum (lambda - u) = 1 / |g|_2, lambda moving
    dL/du_j     = (g_ij (sum_l h_il - k F_i) - (h_ij - F_i)) / S
    dL/dv_j     = mu dL/du_j (v_j - x_i) / d_ij          (0 on the anchor)
    dL/dmu      = sum_j dL/du_j d_ij

Both are a pull e_ij along x_i - v_j, so that everything behind ``pulls`` is shared.

With a metric, z_i = M x_i takes the place of x_i in all distances, and

    dL/dz_i     = -sum_j e_ij (z_i - v_j),      dL/dM = sum_i dL/dz_i x_i^T

of which a scale of each feature has the diagonal.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.coding import SOFT_ASSIGNMENT, perplexity
from locallin.kernels.losses import (
    MULTINOMIAL,
    loss_slope,
    loss_value,
    multinomial,
    number_loss,
    number_slope,
)
from locallin.kernels.predict import Entries
from locallin.kernels.rows import Codes, Rows, add_scaled, get_row


class Parameters(NamedTuple):
    """What is learned, or an array of the same shape for each of it."""

    coef: np.ndarray
    intercept: np.ndarray
    anchors: np.ndarray


class CodedLoss(NamedTuple):
    """The loss of a coded row: codes of loss and coding, and the bandwidth.

    ``bandwidth`` has shape (1,) or (m,); ``parameters`` are those of a loss of numbers,
    one of each score, None where rows have classes.
    """

    loss: int
    kind: int
    bandwidth: np.ndarray
    parameters: np.ndarray | None = None


class Derivatives(NamedTuple):
    """Derivatives of the mean loss of n rows with ``n_entries`` codes.

    ``slopes`` (n, n_scores) by f_c(x_i), ``pulls`` (n_entries,) are e_ij with
    dL/dv_j = sum_i e_ij (x_i - v_j), ``widths`` (n_entries,) what an entry adds to the
    derivative by the logarithm of its bandwidth. ``sums`` (n, 3) are weighted loss,
    number of active anchors and perplexity of each row.
    """

    slopes: np.ndarray
    pulls: np.ndarray
    widths: np.ndarray
    sums: np.ndarray


class CodedBatch(NamedTuple):
    """Rows as anchors (z) and as local models (phi) see them, codes, derivatives."""

    z_rows: Rows
    phi_rows: Rows
    codes: Codes
    entries: Entries
    slopes: np.ndarray
    pulls: np.ndarray


class Penalty(NamedTuple):
    """alpha and B^2, and a gradient that is added to that of the weights.

    ``extra`` has the shape of coef, or (0, 0, 0) where there is none.
    """

    alpha: float
    intercept_step: float
    extra: np.ndarray


class Rates(NamedTuple):
    """One step of Adam: a rate per kind of parameter, in its unit, and the biases.

    ``first_bias`` and ``second_bias`` are 1 - 0.9^t and 1 - 0.999^t.
    """

    coef: float
    intercept: float
    anchors: float
    first_bias: float
    second_bias: float


# A loop that sums writes nothing: compilers would choose between two orders of the sum
# by how far apart the arrays happen to lie.
@jit
def _class_loss(loss, scores, label, positive, slopes):
    """Loss of the scores of a row that has a class; writes its derivatives by them."""
    if loss == MULTINOMIAL:
        return multinomial(scores, label, slopes)
    for c in range(positive.size):
        y = 1.0 if label == positive[c] else -1.0
        slopes[c] = y * loss_slope(loss, y * scores[c])
    total = 0.0
    for c in range(positive.size):
        y = 1.0 if label == positive[c] else -1.0
        total += loss_value(loss, y * scores[c])
    return total


@jit
def _number_loss(loss, parameters, scores, wanted, slopes):
    """Loss of the scores of a row that has numbers; writes its derivatives by them."""
    for c in range(scores.size):
        slopes[c] = number_slope(loss, parameters[c], scores[c], wanted[c])
    total = 0.0
    for c in range(scores.size):
        total += number_loss(loss, parameters[c], scores[c], wanted[c])
    return total


@jit
def _row_loss(loss, parameters, scores, labels, i, positive, slopes):
    """Loss of a row's scores; the compiler keeps one of the two kinds."""
    if labels.ndim == 1:
        return _class_loss(loss, scores, labels[i], positive, slopes)
    return _number_loss(loss, parameters, scores, labels[i], slopes)


@jit
def slopes_and_pulls(codes, distances, scores, target, objective, n_batch, out):
    """Derivatives of the mean loss of a batch, for some of its rows, row by row.

    Parameters
    ----------
    distances : array of shape (n_entries,)
    scores : array of shape (n_entries, n_scores)
        Written by ``entry_scores``.
    objective : CodedLoss
    n_batch : int
        Rows of the batch.
    out : Derivatives
        Output.
    """
    n_scores = scores.shape[1]
    rooms = np.empty(n_scores), np.empty(n_scores)
    rows = codes, distances, scores
    _slopes_and_pulls(rows, target, objective, n_batch, rooms, out)


@jit(inner=True)
def _slopes_and_pulls(rows, target, objective, n_batch, rooms, out):
    codes, distances, scores = rows
    loss, kind, bandwidth, parameters = objective
    slopes, pulls, widths, sums = out
    labels, positive, weights = target
    mixed, by_score = rooms
    for i in range(labels.shape[0]):
        start, stop = codes.indptr[i], codes.indptr[i + 1]
        weight = weights[i] / n_batch
        slope_f = 0.0
        for c in range(positive.size):
            f = 0.0
            for p in range(start, stop):
                f += codes.values[p] * scores[p, c]
            mixed[c] = f
        sums[i, 0] = weights[i] * _row_loss(
            loss, parameters, mixed, labels, i, positive, by_score
        )
        for c in range(positive.size):
            slopes[i, c] = weight * by_score[c]
        for c in range(positive.size):
            slope_f += slopes[i, c] * mixed[c]
        active, squares, sum_h = 0.0, 0.0, 0.0
        for p in range(start, stop):
            g = codes.values[p]
            active += 1.0 if g > 0.0 else 0.0
            squares += g * g
            h = 0.0
            for c in range(positive.size):
                h += slopes[i, c] * scores[p, c]
            sum_h += h
            pulls[p] = h - slope_f
        sums[i, 1] = active
        sums[i, 2] = perplexity(codes.values[start:stop])
        k = stop - start
        size = 1.0 / np.sqrt(squares)
        for p in range(start, stop):
            g, d = codes.values[p], np.float64(distances[p])
            at = codes.indices[p] if bandwidth.size > 1 else 0
            if kind == SOFT_ASSIGNMENT:
                push = g * pulls[p]
                widths[p] = -push * bandwidth[at] * d * d
                pulls[p] = 2.0 * bandwidth[at] * push
            else:
                by_u = (g * (sum_h - k * slope_f) - pulls[p]) / size
                widths[p] = by_u * bandwidth[at] * d
                pulls[p] = -bandwidth[at] * by_u / d if d > 0.0 else 0.0


@jit
def anchor_gradient(batch, j, anchors, out):
    """Gradient of the batch's mean loss by w_j, b_j and v_j, without the penalty.

    ``out`` are the three arrays of one anchor.
    """
    z_rows, phi_rows, codes, entries, slopes, pulls = batch
    start, entry, row = entries
    coef_out, intercept_out, anchor_out = out
    coef_out[:] = 0.0
    intercept_out[:] = 0.0
    anchor_out[:] = 0.0
    pull_sum = 0.0
    for q in range(start[j], start[j + 1]):
        p, i = entry[q], row[q]
        g = codes.values[p]
        phi, phi_indices = get_row(phi_rows, i)
        for c in range(slopes.shape[1]):
            step = slopes[i, c] * g
            if step != 0.0:
                add_scaled(phi, phi_indices, step, coef_out[c])
                intercept_out[c] += step
        if pulls[p] != 0.0:
            z, z_indices = get_row(z_rows, i)
            add_scaled(z, z_indices, pulls[p], anchor_out)
            pull_sum += pulls[p]
    for d in range(anchor_out.size):
        anchor_out[d] -= pull_sum * anchors[j, d]


@jit
def row_gradient(batch, anchors, out):
    """Gradient of the batch's mean loss by the dense rows z_i, shape (n, q)."""
    z_rows, _, codes, _, _, pulls = batch
    for i in range(out.shape[0]):
        pull_sum = out.dtype.type(0)
        out[i, :] = 0.0
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            if pulls[p] != 0.0:
                add_scaled(anchors[codes.indices[p]], None, pulls[p], out[i])
                pull_sum += pulls[p]
        add_scaled(z_rows.data[i], None, -pull_sum, out[i])


@jit(inner=True)
def _add_products(x, z, indices, v, pull, out):
    """Add pull (z_d - v_d) x_d to out, in place."""
    for q in range(x.size):
        d = q if indices is None else indices[q]
        out[d] += pull * (z[q] - v[d]) * x[q]


@jit
def scale_gradient(x_rows, batch, anchors, out):
    """Gradient of the batch's mean loss by the scale of each feature, shape (D,)."""
    z_rows, _, codes, _, _, pulls = batch
    out[:] = 0.0
    for i in range(codes.indptr.size - 1):
        x, indices = get_row(x_rows, i)
        z, _ = get_row(z_rows, i)
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            pull, v = pulls[p], anchors[codes.indices[p]]
            if pull != 0.0:
                _add_products(x, z, indices, v, -pull, out)


@jit
def map_gradient(x_rows, by_row, out):
    """Add dL/dM = sum_i dL/dz_i x_i^T of CSR rows to ``out``, shape (q, D)."""
    for k in range(out.shape[0]):
        for i in range(by_row.shape[0]):
            x, indices = get_row(x_rows, i)
            add_scaled(x, indices, by_row[i, k], out[k])


@jit
def adam(parameters, gradient, first, second, rate, rates):
    """One step of Adam (Kingma & Ba 2015) on flat arrays, in place.

    Adam's additive constant is left out, because it has the unit of the gradient; a
    coordinate does not move while its second moment is zero or subnormal, of which
    the fast square root makes zero.
    """
    kind = parameters.dtype.type
    zero, tenth, thousandth = kind(0.0), kind(0.1), kind(0.001)
    least = np.finfo(parameters.dtype).tiny
    step = kind(rate * np.sqrt(rates.second_bias) / rates.first_bias)
    for d in range(parameters.size):
        g = gradient[d]
        m = first[d] + tenth * (g - first[d])
        v = second[d] + thousandth * (g * g - second[d])
        first[d] = m
        second[d] = v
        parameters[d] -= step * m / np.sqrt(v) if v > least else zero


@jit
def adam_step(batch, parameters, moments, penalty, rates, first, last):
    """Step the anchors first..last, and their models, one anchor at a time.

    The gradient of one anchor stays in the cache between being summed and being
    used; no gradient of the whole model is ever formed.

    Parameters
    ----------
    batch : CodedBatch
    parameters : Parameters
        The model, updated.
    moments : tuple of Parameters
        Means of Adam's gradients and of their squares, updated.
    penalty : Penalty
    rates : Rates
    """
    _, n_scores, width = parameters.coef.shape
    kind = parameters.coef.dtype
    gradient = (
        np.empty((n_scores, width), kind),
        np.empty(n_scores, kind),
        np.empty(parameters.anchors.shape[1], kind),
    )
    state = parameters, *moments, gradient
    _step_anchors(batch, state, penalty, rates, first, last)


@jit(inner=True)
def _step_anchors(batch, state, penalty, rates, first, last):
    alpha, intercept_step, extra = penalty
    parameters, means, squares, gradient = state
    coef_gradient, intercept_gradient, _ = gradient
    _, n_scores, width = parameters.coef.shape
    kind = parameters.coef.dtype.type
    decay, intercept_decay = kind(alpha), kind(alpha / intercept_step)
    for j in range(first, last):
        anchor_gradient(batch, j, parameters.anchors, gradient)
        for c in range(n_scores):
            w, gw = parameters.coef[j, c], coef_gradient[c]
            for d in range(width):
                gw[d] += decay * w[d]
            if extra.size > 0:
                for d in range(width):
                    gw[d] += extra[j, c, d]
            adam(w, gw, means.coef[j, c], squares.coef[j, c], rates.coef, rates)
            intercept_gradient[c] += intercept_decay * parameters.intercept[j, c]
        adam(
            parameters.intercept[j], intercept_gradient,
            means.intercept[j], squares.intercept[j], rates.intercept, rates,
        )  # fmt: skip
        if rates.anchors > 0.0:
            adam(
                parameters.anchors[j], gradient[2],
                means.anchors[j], squares.anchors[j], rates.anchors, rates,
            )  # fmt: skip
