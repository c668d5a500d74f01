"""Distances of a row to anchors, exact in every bit, and the smallest of them."""

import numpy as np
from numba import types
from numba.extending import overload

from locallin.kernels._jit import jit

_LARGEST = float(np.finfo(np.float64).max)


@jit(reorder=False, inner=True)
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
    return 2.0 * min(half, 0.5 * _LARGEST)


@jit(inline=True)
def _dense_distances(x, anchors, chosen, n_chosen, out):
    """|x - v| for the chosen anchors, four at a time, in the precision of ``out``.

    A group of fewer than four is filled up with its last anchor, so that a distance
    does not depend, in any bit, on the others. Where a sum of squares left the range
    of its type, the distance is taken anew.
    """
    zero = anchors.dtype.type(0)
    last = n_chosen - 1
    for p in range(0, n_chosen, 4):
        p1, p2, p3 = min(p + 1, last), min(p + 2, last), min(p + 3, last)
        v0, v1 = anchors[chosen[p]], anchors[chosen[p1]]
        v2, v3 = anchors[chosen[p2]], anchors[chosen[p3]]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for i in range(x.size):
            d0, d1, d2, d3 = x[i] - v0[i], x[i] - v1[i], x[i] - v2[i], x[i] - v3[i]
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        out[p], out[p1], out[p2], out[p3] = s0, s1, s2, s3
    limits = np.finfo(anchors.dtype)
    lowest, highest = limits.tiny / limits.eps, limits.max
    n_sound = 0
    for p in range(n_chosen):
        n_sound += 1 if out[p] > lowest and out[p] < highest else 0
    if n_sound == n_chosen:
        for p in range(n_chosen):
            out[p] = np.sqrt(out[p])
        return
    for p in range(n_chosen):
        if out[p] > lowest and out[p] < highest:
            out[p] = np.sqrt(out[p])
        else:
            out[p] = _scaled_distance(x, anchors[chosen[p]])


@jit(inner=True)
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


@jit(inner=True)
def all_distances(values, indices, anchors, norms, chosen, n_chosen, out):
    """Euclidean distances of one row to the chosen anchors; finite."""
    if indices is None:
        _dense_distances(values, anchors, chosen, n_chosen, out)
    else:
        for p in range(n_chosen):
            j = chosen[p]
            out[p] = _csr_distance(values, indices, anchors[j], norms[j])


@jit(inner=True)
def smallest(keys, n_keys, top, where):
    """Write the smallest keys, ascending, and their positions to top and where.

    Equal keys keep the order in which they stand.
    """
    k = top.size
    top[:] = np.inf
    where[:] = 0
    for j in range(n_keys):
        key = keys[j]
        if key < top[k - 1] or j < k:
            p = min(j, k - 1)
            while p > 0 and top[p - 1] > key:
                top[p] = top[p - 1]
                where[p] = where[p - 1]
                p -= 1
            top[p] = key
            where[p] = j


# Numba's own arange, max and assignment of arrays compile for seconds.
@jit(inline=True)
def all_anchors(m):
    """The numbers 0 .. m - 1."""
    numbers = np.empty(m, np.int64)
    for j in range(m):
        numbers[j] = j
    return numbers


@jit(inline=True)
def largest(values):
    """The largest of some numbers."""
    most = values[0]
    for j in range(values.size):
        most = max(most, values[j])
    return most


def _as_bits(values):
    """Floating-point numbers as integers, which ascend with those from zero upwards."""
    return values.view(np.int32 if values.itemsize == 4 else np.int64)


@overload(_as_bits)
def _compiled_as_bits(values):
    integer = np.int32 if values.dtype == types.float32 else np.int64
    return lambda values: values.view(integer)


@jit(inner=True)
def least(values):
    """The smallest of finite numbers from zero upwards.

    By their bits: the smallest of integers is found in vector registers, that of
    numbers which might be NaN is not.
    """
    bits = _as_bits(values)
    lowest = bits[0]
    for j in range(bits.size):
        lowest = min(lowest, bits[j])
    for j in range(bits.size):
        if bits[j] == lowest:
            return values[j]
    return values[0]


@jit(inner=True)
def _count(keys, limit):
    """Number of keys up to ``limit``; without a branch, eight or more at a time."""
    count = 0
    for j in range(keys.size):
        count += 1 if keys[j] <= limit else 0
    return count


@jit(inner=True)
def kth_smallest(keys, k):
    """The k-th smallest of finite keys, by bisection on their values.

    Where keys are tied, or too close to be told apart in 50 steps, a value not
    below it.
    """
    low, high = keys[0], keys[0]
    for j in range(keys.size):
        low, high = min(low, keys[j]), max(high, keys[j])
    if _count(keys, low) >= k:
        return low
    for _ in range(50):
        middle = low + 0.5 * (high - low)
        count = _count(keys, middle)
        if count == k:
            high = middle
            break
        if count < k:
            low = middle
        else:
            high = middle
    largest = low
    for j in range(keys.size):
        largest = max(largest, keys[j] if keys[j] <= high else low)
    return largest
