"""Scores f_c(x) = sum_j g_j(x) (w_jc . x + b_jc), eq. 8 of the LL-SVM paper."""

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.rows import dot, dot2, dot2x4, dot4, get_row, n_rows


@jit
def row_scores(values, indices, codes, i, coef, intercept, first, last, out):
    """Scores of one row for the classes first..last, written to out[first:last]."""
    out[first:last] = 0.0
    for p in range(codes.indptr[i], codes.indptr[i + 1]):
        j, g = codes.indices[p], codes.values[p]
        w, b = coef[j], intercept[j]
        c = first
        while c + 4 <= last:
            s0, s1, s2, s3 = dot4(values, indices, w[c], w[c + 1], w[c + 2], w[c + 3])
            out[c] += g * (s0 + b[c])
            out[c + 1] += g * (s1 + b[c + 1])
            out[c + 2] += g * (s2 + b[c + 2])
            out[c + 3] += g * (s3 + b[c + 3])
            c += 4
        while c < last:
            out[c] += g * (dot(values, indices, w[c]) + b[c])
            c += 1


@jit
def csr_scores(rows, codes, coef, intercept, out):
    """Scores of CSR rows, one row after another."""
    n_scores = coef.shape[1]
    for i in range(n_rows(rows)):
        values, indices = get_row(rows, i)
        row_scores(values, indices, codes, i, coef, intercept, 0, n_scores, out[i])


@jit
def _rows_by_anchor(codes, n_anchors):
    """Transpose the codes: for each anchor its rows, ascending, and their weights."""
    start = np.zeros(n_anchors + 1, np.int64)
    for p in range(codes.indices.size):
        start[codes.indices[p] + 1] += 1
    for j in range(n_anchors):
        start[j + 1] += start[j]
    row = np.empty(codes.indices.size, np.int64)
    weight = np.empty(codes.indices.size, codes.values.dtype)
    filled = start[:-1].copy()
    for i in range(codes.indptr.size - 1):
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            j = codes.indices[p]
            row[filled[j]] = i
            weight[filled[j]] = codes.values[p]
            filled[j] += 1
    return start, row, weight


@jit
def dense_scores(data, codes, coef, intercept, out):
    """Scores of dense rows, taken anchor by anchor and two rows at a time.

    Two rows share each load of the weights. An odd last row is its own partner:
    every row passes through the same instructions in the same order, so that its
    score does not depend, in any bit, on the rows beside it.
    """
    n_anchors, n_scores, _ = coef.shape
    start, row, weight = _rows_by_anchor(codes, n_anchors)
    out[:] = 0.0
    for j in range(n_anchors):
        w, b = coef[j], intercept[j]
        q = start[j]
        while q < start[j + 1]:
            paired = q + 1 < start[j + 1]
            r = q + 1 if paired else q
            i0, i1 = row[q], row[r]
            g0, g1 = weight[q], weight[r] if paired else weight[r] * 0
            x, y = data[i0], data[i1]
            o0, o1 = out[i0], out[i1]
            c = 0
            while c + 4 <= n_scores:
                x0, x1, x2, x3, y0, y1, y2, y3 = dot2x4(
                    x, y, w[c], w[c + 1], w[c + 2], w[c + 3]
                )
                o0[c] += g0 * (x0 + b[c])
                o0[c + 1] += g0 * (x1 + b[c + 1])
                o0[c + 2] += g0 * (x2 + b[c + 2])
                o0[c + 3] += g0 * (x3 + b[c + 3])
                if paired:
                    o1[c] += g1 * (y0 + b[c])
                    o1[c + 1] += g1 * (y1 + b[c + 1])
                    o1[c + 2] += g1 * (y2 + b[c + 2])
                    o1[c + 3] += g1 * (y3 + b[c + 3])
                c += 4
            while c < n_scores:
                x0, y0 = dot2(x, y, w[c])
                o0[c] += g0 * (x0 + b[c])
                if paired:
                    o1[c] += g1 * (y0 + b[c])
                c += 1
            q += 2


@jit
def mix(codes, table, out):
    """out[i] = sum_j g_ij table[j]: effective weights or intercepts of each row."""
    flat = out.shape[1]
    for i in range(out.shape[0]):
        for p in range(codes.indptr[i], codes.indptr[i + 1]):
            j, g = codes.indices[p], codes.values[p]
            for d in range(flat):
                out[i, d] += g * table[j, d]
