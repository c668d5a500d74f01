"""Nearest anchors and the weights they get: the local coordinates g(x)."""

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.rows import dot, get_row, n_rows, squared_norm

INVERSE_DISTANCE = 0
SOFT_ASSIGNMENT = 1


@jit(reorder=False)
def _scaled_distance(x, v):
    """Euclidean distance of two dense vectors whose squares leave the range."""
    largest = 0.0
    for i in range(x.size):
        # Halves, because the difference of two finite numbers can be infinite.
        largest = max(largest, abs(0.5 * x[i] - 0.5 * v[i]))
    if largest == 0.0:
        return 0.0
    total = 0.0
    for i in range(x.size):
        ratio = (0.5 * x[i] - 0.5 * v[i]) / largest
        total += ratio * ratio
    half = largest * np.sqrt(total)
    return 2.0 * min(half, 0.5 * np.finfo(np.float64).max)


@jit
def _dense_distance(x, v):
    total = v.dtype.type(0)
    for i in range(x.size):
        difference = x[i] - v[i]
        total += difference * difference
    limits = np.finfo(v.dtype)
    if total > limits.tiny / limits.eps and total < limits.max:
        return np.sqrt(np.float64(total))
    return _scaled_distance(x, v)


@jit
def _csr_distance(values, indices, v, v_squared_norm):
    """|x - v| from the stored entries of x only.

    The anchor's squares outside x's pattern are a difference of two sums; where
    it cancels (x close to v) the row is spread out and the distance is taken
    entry by entry.
    """
    on_pattern = 0.0
    correction = v_squared_norm
    x_squared_norm = 0.0
    for i in range(values.size):
        x_i, v_i = np.float64(values[i]), np.float64(v[indices[i]])
        on_pattern += (x_i - v_i) * (x_i - v_i)
        correction -= v_i * v_i
        x_squared_norm += x_i * x_i
    total = on_pattern + correction
    scale = x_squared_norm + v_squared_norm
    if total > 1e-5 * scale and scale > 1e-290 and scale < 1e300:
        return np.sqrt(total)
    x = np.zeros(v.size)
    for i in range(values.size):
        x[indices[i]] = values[i]
    return _scaled_distance(x, v)


@jit
def distance(values, indices, v, v_squared_norm):
    """Euclidean distance of one row to one anchor, finite for finite input."""
    if indices is None:
        return _dense_distance(values, v)
    else:
        return _csr_distance(values, indices, v, v_squared_norm)


@jit
def csr_products(rows, anchors, out):
    """Inner products of CSR rows with the anchors.

    The anchors are the outer loop, so that one of them stays in the cache while
    the block of rows passes by.
    """
    for j in range(anchors.shape[0]):
        for i in range(n_rows(rows)):
            values, indices = get_row(rows, i)
            out[i, j] = dot(values, indices, anchors[j])


@jit
def _insert(keys, items, count, key, item):
    """Insert into ascending ``keys``, dropping the largest when full.

    Equal keys keep the order in which they came.
    """
    size = keys.size
    if count == size:
        if not key < keys[size - 1]:
            return count
        p = size - 1
    else:
        p = count
        count += 1
    while p > 0 and keys[p - 1] > key:
        keys[p] = keys[p - 1]
        items[p] = items[p - 1]
        p -= 1
    keys[p] = key
    items[p] = item
    return count


@jit
def _candidate_limit(values, products, norms, largest_norm, n_features, keys, items):
    """Largest value of |v|^2 - 2 x.v that one of the k nearest anchors can show.

    The products carry the rounding of a matrix product; an anchor whose true
    distance is among the k smallest cannot lie further than twice its bound
    above the k-th smallest computed value. Infinite where the bound is not
    finite: then every anchor is a candidate.
    """
    count = 0
    finite = True
    for j in range(products.size):
        key = norms[j] - 2.0 * products[j]
        finite = finite and np.isfinite(key)
        count = _insert(keys, items, count, key, j)
    x_norm = np.sqrt(squared_norm(values))
    rounding = (n_features + 4) * np.finfo(products.dtype).eps
    bound = rounding * (2.0 * x_norm * largest_norm + largest_norm * largest_norm)
    limit = keys[keys.size - 1] + 2.0 * bound
    if finite and np.isfinite(limit):
        return limit
    return np.inf


@jit
def nearest_anchors(rows, products, anchors, norms, nearest, distances):
    """The k nearest anchors of each row, exactly, nearest first.

    Parameters
    ----------
    rows : Rows
    products : array of shape (n, m), or None
        Inner products of rows and anchors, from which candidates are chosen. Without
        them every anchor is a candidate. Distances, and with them the result, are
        computed from the rows themselves either way.
    anchors : array of shape (m, D)
    norms : array of shape (m,)
        Squared norms of the anchors.
    nearest, distances : arrays of shape (n, k)
        Output.
    """
    m, n_features = anchors.shape
    k = nearest.shape[1]
    keys = np.empty(k)
    items = np.empty(k, np.int64)
    largest_norm = np.sqrt(norms.max())
    farthest = np.finfo(distances.dtype).max
    for i in range(n_rows(rows)):
        values, indices = get_row(rows, i)
        limit = np.inf
        if products is not None:
            limit = _candidate_limit(
                values, products[i], norms, largest_norm, n_features, keys, items
            )
        count = 0
        for j in range(m):
            if products is not None and norms[j] - 2.0 * products[i, j] > limit:
                continue
            key = distance(values, indices, anchors[j], norms[j])
            count = _insert(keys, items, count, key, j)
        for p in range(k):
            nearest[i, p] = items[p]
            distances[i, p] = min(keys[p], farthest)


@jit
def _inverse_distance(distances):
    """g_j proportional to 1/d_j; a point on an anchor has all its weight there."""
    first = np.float64(distances[0])
    total = 0.0
    for p in range(distances.size):
        d = np.float64(distances[p])
        g = first / d if first > 0.0 else (1.0 if d == 0.0 else 0.0)
        distances[p] = g
        total += g
    for p in range(distances.size):
        distances[p] /= total


@jit
def _soft_assignment(distances, beta):
    """g_j proportional to exp(-beta d_j^2), relative to the nearest anchor."""
    first = np.float64(distances[0])
    total = 0.0
    for p in range(distances.size):
        d = np.float64(distances[p])
        # (d - first)(d + first) and this order: no square is formed.
        g = np.exp(-(beta * (d - first)) * (d + first)) if d > first else 1.0
        distances[p] = g
        total += g
    for p in range(distances.size):
        distances[p] /= total


@jit
def _sort_by_anchor(nearest, weights):
    for q in range(1, nearest.size):
        j, g = nearest[q], weights[q]
        p = q
        while p > 0 and nearest[p - 1] > j:
            nearest[p] = nearest[p - 1]
            weights[p] = weights[p - 1]
            p -= 1
        nearest[p] = j
        weights[p] = g


@jit
def weigh(nearest, distances, kind, bandwidth):
    """Turn ascending distances into weights in place, then sort by anchor.

    Each row of weights is finite, non-negative and sums to one.
    """
    for i in range(nearest.shape[0]):
        if kind == INVERSE_DISTANCE:
            _inverse_distance(distances[i])
        else:
            _soft_assignment(distances[i], bandwidth)
        _sort_by_anchor(nearest[i], distances[i])


@jit
def mean_perplexity(distances, beta):
    """Average over rows of exp(entropy of g), g the soft assignment."""
    weights = np.empty(distances.shape[1])
    total = 0.0
    for i in range(distances.shape[0]):
        weights[:] = distances[i]
        _soft_assignment(weights, beta)
        entropy = 0.0
        for p in range(weights.size):
            if weights[p] > 0.0:
                entropy -= weights[p] * np.log(weights[p])
        total += np.exp(entropy)
    return total / distances.shape[0]
