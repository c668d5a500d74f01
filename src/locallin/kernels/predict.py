"""Scores f_c(x) = sum_j g_j(x) (w_jc . x + b_jc), eq. 8 of the LL-SVM paper."""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.rows import coded_row, dot, dot4, get_row, n_rows, part

# Scores of a row up to which its local models are mixed before they meet it.
_FEW_SCORES = 2


@jit(inner=True)
def row_scores(z, coef, intercept, first, last, out):
    """Scores of one row for the classes first..last, written to out[first:last]."""
    values, indices, codes, i = z
    out[first:last] = 0.0
    start = codes.indptr[i]
    for p in range(start, codes.indptr[i + 1]):
        j, g = codes.indices[p], codes.values[p]
        w, b = coef[j], intercept[j]
        x = part(values, p - start)
        c = first
        while c + 4 <= last:
            s0, s1, s2, s3 = dot4(x, indices, w[c], w[c + 1], w[c + 2], w[c + 3])
            out[c] += g * (s0 + b[c])
            out[c + 1] += g * (s1 + b[c + 1])
            out[c + 2] += g * (s2 + b[c + 2])
            out[c + 3] += g * (s3 + b[c + 3])
            c += 4
        while c < last:
            out[c] += g * (dot(x, indices, w[c]) + b[c])
            c += 1


@jit
def csr_scores(rows, codes, coef, intercept, out):
    """Scores of CSR rows, one row after another."""
    n_scores = coef.shape[1]
    for i in range(n_rows(rows)):
        z = coded_row(rows, codes, i)
        row_scores(z, coef, intercept, 0, n_scores, out[i])


class Entries(NamedTuple):
    """Entries of codes in the order of their anchors.

    Anchor j has the entries ``entry[start[j] : start[j + 1]]``, which belong to the
    rows ``row[start[j] : start[j + 1]]``, ascending.
    """

    start: np.ndarray
    entry: np.ndarray
    row: np.ndarray


def entries_by_anchor(codes, n_anchors: int) -> Entries:
    """Transpose the codes."""
    filled = np.zeros(n_anchors + 2, np.int64)
    entry, row = np.empty((2, len(codes.indices)), np.int64)
    _transpose(codes, filled, entry, row)
    return Entries(filled[:-1], entry, row)


@jit
def _transpose(codes, filled, entry, row):
    """Fill in the entries; filled[j + 1] is where the next of anchor j goes."""
    for p in range(codes.indices.size):
        filled[codes.indices[p] + 2] += 1
    for j in range(filled.size - 2):
        filled[j + 2] += filled[j + 1]
    for i in range(codes.indptr.size - 1):
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            j = codes.indices[p]
            q = filled[j + 1]
            entry[q], row[q] = p, i
            filled[j + 1] = q + 1


@jit(inner=True)
def _tile_5(x, w, b, g, out, c):
    """out[r][c + q] += g[r] (x[r] . w[c + q] + b[c + q]), r < 4, q < 5."""
    x0, x1, x2, x3 = x
    g0, g1, g2, g3 = g
    o0, o1, o2, o3 = out
    w0, w1, w2, w3, w4 = w[c], w[c + 1], w[c + 2], w[c + 3], w[c + 4]
    zero = w.dtype.type(0)
    s00, s01, s02, s03, s04 = zero, zero, zero, zero, zero
    s10, s11, s12, s13, s14 = zero, zero, zero, zero, zero
    s20, s21, s22, s23, s24 = zero, zero, zero, zero, zero
    s30, s31, s32, s33, s34 = zero, zero, zero, zero, zero
    for i in range(x0.size):
        v0, v1, v2, v3 = x0[i], x1[i], x2[i], x3[i]
        u0, u1, u2, u3, u4 = w0[i], w1[i], w2[i], w3[i], w4[i]
        s00 += v0 * u0
        s01 += v0 * u1
        s02 += v0 * u2
        s03 += v0 * u3
        s04 += v0 * u4
        s10 += v1 * u0
        s11 += v1 * u1
        s12 += v1 * u2
        s13 += v1 * u3
        s14 += v1 * u4
        s20 += v2 * u0
        s21 += v2 * u1
        s22 += v2 * u2
        s23 += v2 * u3
        s24 += v2 * u4
        s30 += v3 * u0
        s31 += v3 * u1
        s32 += v3 * u2
        s33 += v3 * u3
        s34 += v3 * u4
    o0[c] += g0 * (s00 + b[c])
    o0[c + 1] += g0 * (s01 + b[c + 1])
    o0[c + 2] += g0 * (s02 + b[c + 2])
    o0[c + 3] += g0 * (s03 + b[c + 3])
    o0[c + 4] += g0 * (s04 + b[c + 4])
    o1[c] += g1 * (s10 + b[c])
    o1[c + 1] += g1 * (s11 + b[c + 1])
    o1[c + 2] += g1 * (s12 + b[c + 2])
    o1[c + 3] += g1 * (s13 + b[c + 3])
    o1[c + 4] += g1 * (s14 + b[c + 4])
    o2[c] += g2 * (s20 + b[c])
    o2[c + 1] += g2 * (s21 + b[c + 1])
    o2[c + 2] += g2 * (s22 + b[c + 2])
    o2[c + 3] += g2 * (s23 + b[c + 3])
    o2[c + 4] += g2 * (s24 + b[c + 4])
    o3[c] += g3 * (s30 + b[c])
    o3[c + 1] += g3 * (s31 + b[c + 1])
    o3[c + 2] += g3 * (s32 + b[c + 2])
    o3[c + 3] += g3 * (s33 + b[c + 3])
    o3[c + 4] += g3 * (s34 + b[c + 4])


@jit(inner=True)
def _tile_4(x, w, b, g, out, c):
    """out[r][c + q] += g[r] (x[r] . w[c + q] + b[c + q]), r < 4, q < 4."""
    x0, x1, x2, x3 = x
    g0, g1, g2, g3 = g
    o0, o1, o2, o3 = out
    w0, w1, w2, w3 = w[c], w[c + 1], w[c + 2], w[c + 3]
    zero = w.dtype.type(0)
    s00, s01, s02, s03 = zero, zero, zero, zero
    s10, s11, s12, s13 = zero, zero, zero, zero
    s20, s21, s22, s23 = zero, zero, zero, zero
    s30, s31, s32, s33 = zero, zero, zero, zero
    for i in range(x0.size):
        v0, v1, v2, v3 = x0[i], x1[i], x2[i], x3[i]
        u0, u1, u2, u3 = w0[i], w1[i], w2[i], w3[i]
        s00 += v0 * u0
        s01 += v0 * u1
        s02 += v0 * u2
        s03 += v0 * u3
        s10 += v1 * u0
        s11 += v1 * u1
        s12 += v1 * u2
        s13 += v1 * u3
        s20 += v2 * u0
        s21 += v2 * u1
        s22 += v2 * u2
        s23 += v2 * u3
        s30 += v3 * u0
        s31 += v3 * u1
        s32 += v3 * u2
        s33 += v3 * u3
    o0[c] += g0 * (s00 + b[c])
    o0[c + 1] += g0 * (s01 + b[c + 1])
    o0[c + 2] += g0 * (s02 + b[c + 2])
    o0[c + 3] += g0 * (s03 + b[c + 3])
    o1[c] += g1 * (s10 + b[c])
    o1[c + 1] += g1 * (s11 + b[c + 1])
    o1[c + 2] += g1 * (s12 + b[c + 2])
    o1[c + 3] += g1 * (s13 + b[c + 3])
    o2[c] += g2 * (s20 + b[c])
    o2[c + 1] += g2 * (s21 + b[c + 1])
    o2[c + 2] += g2 * (s22 + b[c + 2])
    o2[c + 3] += g2 * (s23 + b[c + 3])
    o3[c] += g3 * (s30 + b[c])
    o3[c + 1] += g3 * (s31 + b[c + 1])
    o3[c + 2] += g3 * (s32 + b[c + 2])
    o3[c + 3] += g3 * (s33 + b[c + 3])


@jit(inner=True)
def _tile_1(x, w, b, g, out, c):
    """out[r][c + q] += g[r] (x[r] . w[c + q] + b[c + q]), r < 4, q < 1."""
    x0, x1, x2, x3 = x
    g0, g1, g2, g3 = g
    o0, o1, o2, o3 = out
    w0 = w[c]
    zero = w.dtype.type(0)
    s00 = zero
    s10 = zero
    s20 = zero
    s30 = zero
    for i in range(x0.size):
        v0, v1, v2, v3 = x0[i], x1[i], x2[i], x3[i]
        u0 = w0[i]
        s00 += v0 * u0
        s10 += v1 * u0
        s20 += v2 * u0
        s30 += v3 * u0
    o0[c] += g0 * (s00 + b[c])
    o1[c] += g1 * (s10 + b[c])
    o2[c] += g2 * (s20 + b[c])
    o3[c] += g3 * (s30 + b[c])


@jit(inline=True)
def add_four_rows(x, w, b, g, out):
    """out[r] += g[r] (w x[r] + b) for four dense rows, in tiles of scores."""
    left = w.shape[0]
    while left == 5 or (left > 8 and left % 4 > 0):
        _tile_5(x, w, b, g, out, w.shape[0] - left)
        left -= 5
    while left >= 4:
        _tile_4(x, w, b, g, out, w.shape[0] - left)
        left -= 4
    while left > 0:
        _tile_1(x, w, b, g, out, w.shape[0] - left)
        left -= 1


@jit
def add_scores(data, entries, weight, target, coef, intercept, out):
    """Add weighted scores of dense rows, anchor by anchor.

    Of the q-th of the ``entries`` the scores g (w_j x + b_j) are added to the row
    target[q] of ``out``, where the weight of the code entry p is g = weight[p].

    Four rows and four or five scores share each load, which is where a matrix
    product gets its speed. A group of fewer than four rows is filled up with its
    last one, whose surplus results go to a spare row: every row passes through the
    same instructions in the same order, so that its score does not depend, in any
    bit, on the rows beside it.
    """
    spare = np.zeros(coef.shape[1], out.dtype)
    _add_scores(data, entries, (weight, target), coef, intercept, out, spare)


@jit(inner=True)
def _add_scores(data, entries, places, coef, intercept, out, spare):
    (start, entry, row), (weight, target) = entries, places
    for j in range(coef.shape[0]):
        stop = start[j + 1]
        for q in range(start[j], stop, 4):
            q1, q2, q3 = (
                min(q + 1, stop - 1),
                min(q + 2, stop - 1),
                min(q + 3, stop - 1),
            )
            x = data[row[q]], data[row[q1]], data[row[q2]], data[row[q3]]
            g = (
                weight[entry[q]],
                weight[entry[q1]],
                weight[entry[q2]],
                weight[entry[q3]],
            )
            o = (
                out[target[q]],
                out[target[q1]] if q1 > q else spare,
                out[target[q2]] if q2 > q1 else spare,
                out[target[q3]] if q3 > q2 else spare,
            )
            add_four_rows(x, coef[j], intercept[j], g, o)


@jit
def _mixed_scores(data, codes, coef, intercept, out):
    """Scores of dense rows, each by the mean of its local models."""
    mean = np.empty(coef.shape[2], coef.dtype)
    _score_by_means(data, codes, coef, intercept, mean, out)


@jit(inner=True)
def _score_by_means(data, codes, coef, intercept, mean, out):
    indptr, indices, values = codes
    for i in range(len(data)):
        start, stop = indptr[i], indptr[i + 1]
        for c in range(coef.shape[1]):
            _mean_of_models(indices[start:stop], values[start:stop], coef, c, mean)
            total = out.dtype.type(0)
            for p in range(start, stop):
                total += values[p] * intercept[indices[p], c]
            out[i, c] = total + dot(data[i], None, mean)


# The order of the sum is the one that is written: compilers would choose between two
# orders by how far apart the arrays happen to lie.
@jit(inner=True, reorder=False)
def _mean_of_models(indices, values, coef, c, out):
    """sum_p values[p] coef[indices[p], c], four models at a time."""
    for d in range(out.size):
        out[d] = 0.0
    p = 0
    while p + 4 <= indices.size:
        g0, g1, g2, g3 = values[p], values[p + 1], values[p + 2], values[p + 3]
        w0, w1 = coef[indices[p], c], coef[indices[p + 1], c]
        w2, w3 = coef[indices[p + 2], c], coef[indices[p + 3], c]
        for d in range(out.size):
            out[d] += (g0 * w0[d] + g1 * w1[d]) + (g2 * w2[d] + g3 * w3[d])
        p += 4
    while p < indices.size:
        g0, w0 = values[p], coef[indices[p], c]
        for d in range(out.size):
            out[d] += g0 * w0[d]
        p += 1


def dense_scores(data, codes, coef, intercept, out):
    """Scores of dense rows, shape (n, n_scores).

    Few scores cost less by the mean of a row's local models; of many, the rows of an
    anchor share the loads of its model.
    """
    if coef.shape[1] <= _FEW_SCORES:
        _mixed_scores(data, codes, coef, intercept, out)
        return
    out.fill(0.0)
    entries = entries_by_anchor(codes, len(coef))
    add_scores(data, entries, codes.values, entries.row, coef, intercept, out)


def entry_scores(rows, entries: Entries, coef, intercept, out):
    """w_j x_i + b_j of each entry (i, j).

    ``out`` has the shape (n_entries, n_scores), and is zero in the beginning.
    """
    if rows.indptr is None:
        ones = np.ones(len(out), out.dtype)
        add_scores(rows.data, entries, ones, entries.entry, coef, intercept, out)
    else:
        _csr_entry_scores(rows, entries, coef, intercept, out)


@jit
def _csr_entry_scores(rows, entries, coef, intercept, out):
    start, entry, row = entries
    for j in range(coef.shape[0]):
        for q in range(start[j], start[j + 1]):
            values, indices = get_row(rows, row[q])
            for c in range(coef.shape[1]):
                product = dot(values, indices, coef[j, c])
                out[entry[q], c] = product + intercept[j, c]


@jit
def mix(codes, table, out):
    """out[i] = sum_j g_ij table[j]: effective weights or intercepts of each row."""
    flat = out.shape[1]
    for i in range(out.shape[0]):
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            j, g = codes.indices[p], codes.values[p]
            for d in range(flat):
                out[i, d] += g * table[j, d]
