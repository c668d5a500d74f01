"""Matrix products in which a row does not depend, in any bit, on those beside it.

A BLAS takes other instructions for one row than for many, and for the last rows of a
batch than for the first: its sums differ in the last bits. Here four rows share each
load, and a group of fewer is filled up with its last row, so that every row passes
through the same instructions. In a batch that costs about as much as a BLAS does.
"""

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.predict import add_four_rows
from locallin.kernels.rows import dot, get_row, n_rows

# Rows of fewer numbers than this are too short for sums over them to use the vector
# registers well: many products of a row are summed side by side instead.
_SHORT = 64
# Products of a row that are summed side by side.
_PANEL = 256


def row_products(X: np.ndarray, table: np.ndarray) -> np.ndarray:
    """x_i . t_j of all rows of two matrices."""
    X, table = _alike(X, table)
    out = np.empty((len(X), len(table)), X.dtype)
    short = X.shape[1] < _SHORT
    kernel = _products_of_short_rows if short else _products_of_long_rows
    kernel(_as_kernels_take_it(X), _as_kernels_take_it(table), out)
    return out


def blas_products(X: np.ndarray, table: np.ndarray) -> np.ndarray:
    """As ``row_products``, but not to the last bit: for what is only learned from."""
    return X @ table.T


def row_sums(weights: np.ndarray, table: np.ndarray) -> np.ndarray:
    """sum_j w_ij t_j for all rows of weights: the product of two matrices."""
    weights, table = _alike(weights, table)
    out = np.empty((len(weights), table.shape[1]), weights.dtype)
    _sums_of_rows(_as_kernels_take_it(weights), _as_kernels_take_it(table), out)
    return out


def _alike(X: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both in the larger of their types: kernels sum in that of the table."""
    dtype = np.result_type(X, table)
    return X.astype(dtype, copy=False), table.astype(dtype, copy=False)


def _as_kernels_take_it(array: np.ndarray) -> np.ndarray:
    """Read-only and C-ordered: each other kind of array would be compiled for anew."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


@jit
def _products_of_long_rows(X, table, out):
    zeros = np.zeros(table.shape[0], table.dtype)
    spare = np.zeros(table.shape[0], out.dtype)
    _fill_long_products(X, table, zeros, spare, out)


@jit(inner=True)
def _fill_long_products(X, table, b, spare, out):
    n = X.shape[0]
    g = table.dtype.type(1)
    out[:] = 0.0
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        o = (
            out[i],
            out[i1] if i1 > i else spare,
            out[i2] if i2 > i1 else spare,
            out[i3] if i3 > i2 else spare,
        )
        add_four_rows((X[i], X[i1], X[i2], X[i3]), table, b, (g, g, g, g), o)


@jit
def _products_of_short_rows(X, table, out):
    n_columns, width = table.shape
    size = min(_PANEL, n_columns)
    room = np.empty((width, size), table.dtype), np.empty((4, size), out.dtype)
    _fill_short_products(X, table, room, out)


@jit(inner=True)
def _fill_short_products(X, table, room, out):
    (panel, sums), n_columns = room, len(table)
    for first in range(0, n_columns, _PANEL):
        last = min(first + _PANEL, n_columns)
        _transpose(table, first, last, panel)
        _add_up(X, panel, first, last, sums, out)


@jit(inner=True)
def _transpose(table, first, last, room):
    """room[q, j - first] = table[j, q] for first <= j < last, eight rows at a time."""
    width = table.shape[1]
    j = first
    while j + 8 <= last:
        t0, t1, t2, t3 = table[j], table[j + 1], table[j + 2], table[j + 3]
        t4, t5, t6, t7 = table[j + 4], table[j + 5], table[j + 6], table[j + 7]
        for q in range(width):
            to = room[q, j - first : j - first + 8]
            to[0], to[1], to[2], to[3] = t0[q], t1[q], t2[q], t3[q]
            to[4], to[5], to[6], to[7] = t4[q], t5[q], t6[q], t7[q]
        j += 8
    while j < last:
        for q in range(width):
            room[q, j - first] = table[j, q]
        j += 1


@jit
def _sums_of_rows(weights, table, out):
    size = min(_PANEL, table.shape[1])
    room = np.empty((len(table), size), table.dtype), np.empty((4, size), out.dtype)
    _fill_sums(weights, table, room, out)


@jit(inner=True)
def _fill_sums(weights, table, room, out):
    (panel, sums), n_columns = room, table.shape[1]
    for first in range(0, n_columns, _PANEL):
        last = min(first + _PANEL, n_columns)
        for q in range(len(table)):
            for j in range(last - first):
                panel[q, j] = table[q, first + j]
        _add_up(weights, panel, first, last, sums, out)


@jit(inner=True)
def _add_up(X, panel, first, last, sums, out):
    """out[i, first:last] = sum_q x_iq panel[q], four rows and four terms at a time."""
    n, width = X.shape
    size = last - first
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        x0, x1, x2, x3 = X[i], X[i1], X[i2], X[i3]
        s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
        sums[:] = 0.0
        q = 0
        while q + 4 <= width:
            t0, t1, t2, t3 = panel[q], panel[q + 1], panel[q + 2], panel[q + 3]
            a00, a01, a02, a03 = x0[q], x0[q + 1], x0[q + 2], x0[q + 3]
            a10, a11, a12, a13 = x1[q], x1[q + 1], x1[q + 2], x1[q + 3]
            a20, a21, a22, a23 = x2[q], x2[q + 1], x2[q + 2], x2[q + 3]
            a30, a31, a32, a33 = x3[q], x3[q + 1], x3[q + 2], x3[q + 3]
            for j in range(size):
                u0, u1, u2, u3 = t0[j], t1[j], t2[j], t3[j]
                s0[j] += (a00 * u0 + a01 * u1) + (a02 * u2 + a03 * u3)
                s1[j] += (a10 * u0 + a11 * u1) + (a12 * u2 + a13 * u3)
                s2[j] += (a20 * u0 + a21 * u1) + (a22 * u2 + a23 * u3)
                s3[j] += (a30 * u0 + a31 * u1) + (a32 * u2 + a33 * u3)
            q += 4
        while q < width:
            t0 = panel[q]
            v0, v1, v2, v3 = x0[q], x1[q], x2[q], x3[q]
            for j in range(size):
                u0 = t0[j]
                s0[j] += v0 * u0
                s1[j] += v1 * u0
                s2[j] += v2 * u0
                s3[j] += v3 * u0
            q += 1
        for r in range(min(4, n - i)):
            # One by one: assigning a slice is compiled with its messages of errors.
            for j in range(size):
                out[i + r, first + j] = sums[r, j]


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
