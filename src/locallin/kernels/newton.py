"""Parts of a truncated Newton method on the convex problem, for one score at a time.

Problem, with c_i = s_i / S and z = g (x) [x; B] never formed:

    minimise  alpha/2 |v|^2 + sum_i c_i loss(y_i z_i . v)

or loss(z_i . v - y_i) where y_i is a number: "margins" are then residuals.
v has shape (n_anchors, D + 1): the weights of a local model, and its intercept
divided by B. A product with the Hessian Z' diag(h) Z is one pass over the rows of
positive curvature h: both its halves see a row while it is in the cache, and rows
without curvature, most of them where the squared hinge is content, cost nothing.
"""

from locallin.kernels._jit import jit
from locallin.kernels.losses import (
    LOGISTIC,
    loss_slope,
    loss_value,
    residual_curvature,
    residual_loss,
    residual_slope,
)
from locallin.kernels.rows import add_scaled, dot, dot4, get_row


@jit(inner=True)
def _add_scaled4(values, indices, a, w0, w1, w2, w3):
    """Add multiples of x to four vectors: each element of x is loaded only once."""
    a0, a1, a2, a3 = a
    for i in range(values.size):
        v = values[i]
        d = i if indices is None else indices[i]
        w0[d] += a0 * v
        w1[d] += a1 * v
        w2[d] += a2 * v
        w3[d] += a3 * v


@jit(inner=True)
def _row_product(values, indices, codes, i, v, constant):
    """z_i . v of one row."""
    p, stop, last = codes.indptr[i], codes.indptr[i + 1], v.shape[1] - 1
    total = 0.0
    while p + 4 <= stop:
        j, g = codes.indices[p : p + 4], codes.values[p : p + 4]
        w0, w1, w2, w3 = v[j[0]], v[j[1]], v[j[2]], v[j[3]]
        s0, s1, s2, s3 = dot4(values, indices, w0, w1, w2, w3)
        total += g[0] * (s0 + constant * w0[last]) + g[1] * (s1 + constant * w1[last])
        total += g[2] * (s2 + constant * w2[last]) + g[3] * (s3 + constant * w3[last])
        p += 4
    while p < stop:
        w = v[codes.indices[p]]
        total += codes.values[p] * (dot(values, indices, w) + constant * w[last])
        p += 1
    return total


@jit(inner=True)
def _add_row(values, indices, codes, i, share, constant, out):
    """Add share z_i to ``out``."""
    p, stop, last = codes.indptr[i], codes.indptr[i + 1], out.shape[1] - 1
    kind = out.dtype.type
    while p + 4 <= stop:
        j, g = codes.indices[p : p + 4], codes.values[p : p + 4]
        a0, a1 = kind(share * g[0]), kind(share * g[1])
        a2, a3 = kind(share * g[2]), kind(share * g[3])
        w0, w1, w2, w3 = out[j[0]], out[j[1]], out[j[2]], out[j[3]]
        _add_scaled4(values, indices, (a0, a1, a2, a3), w0, w1, w2, w3)
        w0[last] += a0 * constant
        w1[last] += a1 * constant
        w2[last] += a2 * constant
        w3[last] += a3 * constant
        p += 4
    while p < stop:
        w = out[codes.indices[p]]
        step = kind(share * codes.values[p])
        add_scaled(values, indices, step, w)
        w[last] += step * constant
        p += 1


@jit
def row_products(rows, codes, order, v, constant, out):
    """out[i] = z_i . v for the rows in ``order``."""
    for i in order:
        values, indices = get_row(rows, i)
        out[i] = _row_product(values, indices, codes, i, v, constant)


@jit
def add_rows(rows, codes, order, share, constant, out):
    """Add sum_i share_i z_i over the rows in ``order`` to ``out``."""
    for i in order:
        if share[i] != 0.0:
            values, indices = get_row(rows, i)
            _add_row(values, indices, codes, i, share[i], constant, out)


@jit
def add_hessian_product(rows, codes, order, curvature, v, constant, out):
    """Add sum_i h_i z_i (z_i . v) over the rows in ``order`` to ``out``."""
    for i in order:
        values, indices = get_row(rows, i)
        product = _row_product(values, indices, codes, i, v, constant)
        _add_row(values, indices, codes, i, curvature[i] * product, constant, out)


@jit(inner=True)
def _add_squares(values, indices, a, w):
    for d in range(values.size):
        at = d if indices is None else indices[d]
        w[at] += a * values[d] * values[d]


@jit
def add_hessian_diagonal(rows, codes, order, curvature, constant, out):
    """Add sum_i h_i z_i^2 over the rows in ``order`` to ``out``."""
    last = out.shape[1] - 1
    for i in order:
        values, indices = get_row(rows, i)
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            w = out[codes.indices[p]]
            share = curvature[i] * codes.values[p] * codes.values[p]
            _add_squares(values, indices, share, w)
            w[last] += share * constant * constant


@jit
def gather_entries(rows, codes, entry, row, root, constant, out):
    """out[q] = sqrt(h) g [x; B] of the q-th entry of an anchor.

    ``root`` is sqrt(h) of every row; the number of entries whose row has any is
    returned: only these are written.
    """
    last = out.shape[1] - 1
    filled = 0
    for q in range(entry.size):
        i = row[q]
        if root[i] <= 0.0:
            continue
        values, indices = get_row(rows, i)
        p = entry[q]
        share = out.dtype.type(root[i] * codes.values[p])
        out[filled] = 0.0
        add_scaled(values, indices, share, out[filled])
        out[filled, last] = share * constant
        filled += 1
    return filled


@jit
def solve_blocks(factors, v, out):
    """out[j] = (L_j L_j')^-1 v[j] for lower triangles L of shape (m, q, q)."""
    n = v.shape[1]
    for j in range(v.shape[0]):
        factor, x = factors[j], out[j]
        for a in range(n):
            total = v[j, a]
            for b in range(a):
                total -= factor[a, b] * x[b]
            x[a] = total / factor[a, a]
        for a in range(n - 1, -1, -1):
            x[a] /= factor[a, a]
            for b in range(a):
                x[b] -= x[a] * factor[a, b]


@jit(inner=True)
def _margin_curvature(loss, margin):
    """Second derivative of the loss; of the squared hinge the generalised one."""
    if loss == LOGISTIC:
        slope = -loss_slope(loss, margin)
        return slope * (1.0 - slope)
    return 2.0 if margin < 1.0 else 0.0


# Where rows have numbers the parameter is one, too, and a margin is a residual.
@jit(inner=True)
def _value(loss, parameter, margin):
    if parameter is None:
        return loss_value(loss, margin)
    return residual_loss(loss, parameter, margin)


@jit(inner=True)
def _slope(loss, parameter, margin):
    if parameter is None:
        return loss_slope(loss, margin)
    return residual_slope(loss, parameter, margin)


@jit(inner=True)
def _curvature(loss, parameter, margin):
    if parameter is None:
        return _margin_curvature(loss, margin)
    return residual_curvature(loss, parameter, margin)


@jit
def sum_along(loss, parameter, order, weights, margins, changes, t):
    """Sum of the losses at ``margins + t changes``, and its derivatives by t."""
    value, slope, bend = 0.0, 0.0, 0.0
    for i in order:
        margin = margins[i] + t * changes[i]
        c, e = weights[i], changes[i]
        value += c * _value(loss, parameter, margin)
        slope += c * _slope(loss, parameter, margin) * e
        bend += c * _curvature(loss, parameter, margin) * e * e
    return value, slope, bend


@jit
def bend_losses(loss, parameter, order, weights, margins, slopes, curvature):
    """Write each row's derivatives by its margin; return the sum of the losses."""
    total = 0.0
    for i in order:
        total += weights[i] * _value(loss, parameter, margins[i])
        slopes[i] = weights[i] * _slope(loss, parameter, margins[i])
        curvature[i] = weights[i] * _curvature(loss, parameter, margins[i])
    return total
