"""Scores f_c(x) = sum_j g_j(x) (w_jc . x + b_jc), eq. 8 of the LL-SVM paper."""

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.rows import dot, dot4, get_row, n_rows, part


@jit
def row_scores(values, indices, codes, i, coef, intercept, first, last, out):
    """Scores of one row for the classes first..last, written to out[first:last]."""
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
        values, indices = get_row(rows, i)
        row_scores(values, indices, codes, i, coef, intercept, 0, n_scores, out[i])


@jit
def entries_by_anchor(codes, n_anchors):
    """Transpose the codes.

    Returns ``start``, ``entry`` and ``row``: anchor j has the code entries
    ``entry[start[j] : start[j + 1]]``, which belong to the rows ``row[...]``,
    ascending.
    """
    start = np.zeros(n_anchors + 1, np.int64)
    for p in range(codes.indices.size):
        start[codes.indices[p] + 1] += 1
    for j in range(n_anchors):
        start[j + 1] += start[j]
    entry = np.empty(codes.indices.size, np.int64)
    row = np.empty(codes.indices.size, np.int64)
    filled = start[:-1].copy()
    for i in range(codes.indptr.size - 1):
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            q = filled[codes.indices[p]]
            entry[q] = p
            row[q] = i
            filled[codes.indices[p]] += 1
    return start, entry, row


@jit
def _tile_5(x, w, b, g, out, c):
    """out[r][c + q] += g[r] (x[r] . w[c + q] + b[c + q]), r < 4, q < 5."""
    x0, x1, x2, x3 = x
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
    out[0][c] += g[0] * (s00 + b[c])
    out[0][c + 1] += g[0] * (s01 + b[c + 1])
    out[0][c + 2] += g[0] * (s02 + b[c + 2])
    out[0][c + 3] += g[0] * (s03 + b[c + 3])
    out[0][c + 4] += g[0] * (s04 + b[c + 4])
    out[1][c] += g[1] * (s10 + b[c])
    out[1][c + 1] += g[1] * (s11 + b[c + 1])
    out[1][c + 2] += g[1] * (s12 + b[c + 2])
    out[1][c + 3] += g[1] * (s13 + b[c + 3])
    out[1][c + 4] += g[1] * (s14 + b[c + 4])
    out[2][c] += g[2] * (s20 + b[c])
    out[2][c + 1] += g[2] * (s21 + b[c + 1])
    out[2][c + 2] += g[2] * (s22 + b[c + 2])
    out[2][c + 3] += g[2] * (s23 + b[c + 3])
    out[2][c + 4] += g[2] * (s24 + b[c + 4])
    out[3][c] += g[3] * (s30 + b[c])
    out[3][c + 1] += g[3] * (s31 + b[c + 1])
    out[3][c + 2] += g[3] * (s32 + b[c + 2])
    out[3][c + 3] += g[3] * (s33 + b[c + 3])
    out[3][c + 4] += g[3] * (s34 + b[c + 4])


@jit
def _tile_4(x, w, b, g, out, c):
    """out[r][c + q] += g[r] (x[r] . w[c + q] + b[c + q]), r < 4, q < 4."""
    x0, x1, x2, x3 = x
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
    out[0][c] += g[0] * (s00 + b[c])
    out[0][c + 1] += g[0] * (s01 + b[c + 1])
    out[0][c + 2] += g[0] * (s02 + b[c + 2])
    out[0][c + 3] += g[0] * (s03 + b[c + 3])
    out[1][c] += g[1] * (s10 + b[c])
    out[1][c + 1] += g[1] * (s11 + b[c + 1])
    out[1][c + 2] += g[1] * (s12 + b[c + 2])
    out[1][c + 3] += g[1] * (s13 + b[c + 3])
    out[2][c] += g[2] * (s20 + b[c])
    out[2][c + 1] += g[2] * (s21 + b[c + 1])
    out[2][c + 2] += g[2] * (s22 + b[c + 2])
    out[2][c + 3] += g[2] * (s23 + b[c + 3])
    out[3][c] += g[3] * (s30 + b[c])
    out[3][c + 1] += g[3] * (s31 + b[c + 1])
    out[3][c + 2] += g[3] * (s32 + b[c + 2])
    out[3][c + 3] += g[3] * (s33 + b[c + 3])


@jit
def _tile_1(x, w, b, g, out, c):
    """out[r][c + q] += g[r] (x[r] . w[c + q] + b[c + q]), r < 4, q < 1."""
    x0, x1, x2, x3 = x
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
    out[0][c] += g[0] * (s00 + b[c])
    out[1][c] += g[1] * (s10 + b[c])
    out[2][c] += g[2] * (s20 + b[c])
    out[3][c] += g[3] * (s30 + b[c])


@jit(inline=True)
def add_four_rows(x, w, b, g, out):
    """out[r] += g[r] (w x[r] + b) for four dense rows, in tiles of scores."""
    n_scores = w.shape[0]
    c = 0
    while c < n_scores:
        left = n_scores - c
        if left == 5 or (left > 8 and left % 4 > 0):
            _tile_5(x, w, b, g, out, c)
            c += 5
        elif left >= 4:
            _tile_4(x, w, b, g, out, c)
            c += 4
        else:
            _tile_1(x, w, b, g, out, c)
            c += 1


@jit
def dense_scores(data, codes, coef, intercept, out):
    """Scores of dense rows, taken anchor by anchor in tiles of four rows.

    Four rows and four or five scores share each load, which is where a matrix
    product gets its speed. A group of fewer than four rows is filled up with its
    last one, whose surplus results go to a spare row: every row passes through the
    same instructions in the same order, so that its score does not depend, in any
    bit, on the rows beside it.
    """
    n_anchors, n_scores, _ = coef.shape
    start, entry, row = entries_by_anchor(codes, n_anchors)
    spare = np.empty(n_scores, out.dtype)
    weight = codes.values
    out[:] = 0.0
    for j in range(n_anchors):
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
                out[row[q]],
                out[row[q1]] if q1 > q else spare,
                out[row[q2]] if q2 > q1 else spare,
                out[row[q3]] if q3 > q2 else spare,
            )
            add_four_rows(x, coef[j], intercept[j], g, o)


@jit
def mix(codes, table, out):
    """out[i] = sum_j g_ij table[j]: effective weights or intercepts of each row."""
    flat = out.shape[1]
    for i in range(out.shape[0]):
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            j, g = codes.indices[p], codes.values[p]
            for d in range(flat):
                out[i, d] += g * table[j, d]
