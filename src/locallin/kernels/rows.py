"""Rows of a matrix, or of local features, and the products kernels are made of.

Data enters the kernels as ``Rows``. For a dense matrix ``indices`` and ``indptr``
are None; Numba sees that when it compiles and drops the other branches, so each
kernel is written once and compiled once per kind of data. Where the kinds differ in
more than a branch, a function in Python has a compiled twin for each, its overload.

Where every local model sees features of its own (charts), ``data`` has a third axis:
``data[i, q]`` are row i's coordinates for the q-th model in its codes. An integer in
the place of ``indices`` then says which features are made of them, when they are
needed.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from locallin.kernels._jit import jit

# Features made of coordinates p: [p, p^2], and [p, all products of two].
SQUARES = 1
PRODUCTS = 2
# What is found of the entries of a compressed matrix.
UNSOUND, SOUND, CANONICAL = range(3)


class Rows(NamedTuple):
    """Data: dense (n, D), CSR (data, indices, indptr), or local (n, k, d).

    See Also
    --------
    Codes : Local coordinates of the rows.
    locallin.base.Coding : Takes them.
    """

    data: np.ndarray
    indices: np.ndarray | int | None
    indptr: np.ndarray | None


class Codes(NamedTuple):
    """Local coordinates: row i has weight values[p] on anchor indices[p].

    p runs over ``indptr[i] .. indptr[i + 1]``; anchors ascend within a row.

    See Also
    --------
    Rows : The data they belong to.
    locallin.base.Coding : Makes them.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class CodedRow(NamedTuple):
    """Row i and its codes, which stand for z = g (x) [x; B]: z is never formed.

    ``values`` and ``indices`` are as ``get_row`` returns them.
    """

    values: np.ndarray
    indices: np.ndarray | None
    codes: Codes
    i: int


def n_expanded(d: int, kind: int | None) -> int:
    """Number of features made of d coordinates."""
    if kind is None:
        return d
    return 2 * d if kind == SQUARES else d + d * (d + 1) // 2


def expanded(coordinates: np.ndarray, kind: int) -> np.ndarray:
    """[p, p^2] or [p, p_a p_b for b <= a] of every row of coordinates."""
    k, d = coordinates.shape
    out = np.empty((k, n_expanded(d, kind)), coordinates.dtype)
    _expand(coordinates, kind, out)
    return out


@overload(expanded)
def _expanded(coordinates, kind):
    def expanded_rows(coordinates, kind):
        k, d = coordinates.shape
        n_features = 2 * d if kind == SQUARES else d + d * (d + 1) // 2
        out = np.empty((k, n_features), coordinates.dtype)
        _expand(coordinates, kind, out)
        return out

    return expanded_rows


@jit
def _expand(coordinates, kind, out):
    k, d = coordinates.shape
    for q in range(k):
        at = d
        for a in range(d):
            out[q, a] = coordinates[q, a]
            if kind == SQUARES:
                out[q, at] = coordinates[q, a] * coordinates[q, a]
                at += 1
            else:
                for b in range(a + 1):
                    out[q, at + b] = coordinates[q, a] * coordinates[q, b]
                at += a + 1


def get_row(rows, i):
    """Values and column indices (None when dense) of row i."""
    data, indices, indptr = rows
    if indices is None:
        return data[i], None
    if np.ndim(indices) == 0:
        return expanded(data[i], indices), None
    start, stop = indptr[i], indptr[i + 1]
    return data[start:stop], indices[start:stop]


@overload(get_row)
def _get_row(rows, i):
    def dense(rows, i):
        return rows.data[i], None

    def local(rows, i):
        return expanded(rows.data[i], rows.indices), None

    def csr(rows, i):
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        return rows.data[start:stop], rows.indices[start:stop]

    _, indices, _ = rows
    if isinstance(indices, types.NoneType):
        return dense
    return local if isinstance(indices, types.Integer) else csr


@jit(inline=True)
def coded_row(rows, codes, i):
    """Row i with its codes."""
    values, indices = get_row(rows, i)
    return CodedRow(values, indices, codes, i)


def n_rows(rows):
    """Count the rows."""
    return len(rows.data) if rows.indptr is None else len(rows.indptr) - 1


@overload(n_rows)
def _n_rows(rows):
    _, _, indptr = rows
    if isinstance(indptr, types.NoneType):
        return lambda rows: len(rows.data)
    return lambda rows: len(rows.indptr) - 1


def part(values, q):
    """What the q-th local model of a row sees of its values."""
    return values if values.ndim == 1 else values[q]


@overload(part)
def _part(values, q):
    if values.ndim == 1:
        return lambda values, q: values
    return lambda values, q: values[q]


@jit(inner=True)
def dot(values, indices, w):
    """Return x . w."""
    total = w.dtype.type(0)
    if indices is None:
        for i in range(values.size):
            total += values[i] * w[i]
    else:
        for i in range(values.size):
            total += values[i] * w[indices[i]]
    return total


@jit(inner=True)
def dot4(values, indices, w0, w1, w2, w3):
    """Return four products at once: each element of x is loaded only once."""
    zero = w0.dtype.type(0)
    t0, t1, t2, t3 = zero, zero, zero, zero
    for i in range(values.size):
        v = values[i]
        d = i if indices is None else indices[i]
        t0 += v * w0[d]
        t1 += v * w1[d]
        t2 += v * w2[d]
        t3 += v * w3[d]
    return t0, t1, t2, t3


@jit(inner=True)
def add_scaled(values, indices, a, w):
    """Add a * x to w, in place."""
    if indices is None:
        for i in range(values.size):
            w[i] += a * values[i]
    else:
        for i in range(values.size):
            w[indices[i]] += a * values[i]


@jit(inner=True)
def squared_norm(values):
    """Return |x|^2 in double precision."""
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i]) * np.float64(values[i])
    return total


def squared_row_norms(rows: Rows) -> np.ndarray:
    """|x|^2 of every row in double precision."""
    out = np.empty(n_rows(rows))
    _write_squared_norms(rows, out)
    return out


@jit
def _write_squared_norms(rows, out):
    for i in range(out.size):
        values, _ = get_row(rows, i)
        out[i] = squared_norm(values)


@jit
def check_lines(indptr, indices, width, n_entries):
    """Look for a line of a compressed matrix that leaves its arrays or its width.

    Returns the first such line and UNSOUND, or -1 and CANONICAL where the indices of
    every line ascend, SOUND where they do not.
    """
    order = CANONICAL
    if indptr[0] != 0:
        return 0, UNSOUND
    for i in range(indptr.size - 1):
        start, stop = np.int64(indptr[i]), np.int64(indptr[i + 1])
        if stop < start or stop > n_entries:
            return i, UNSOUND
        if start == stop:
            continue
        line = indices[start:stop]
        descents = 0
        for p in range(1, line.size):
            descents += line[p] <= line[p - 1]
        low, high = np.int64(line[0]), np.int64(line[-1])
        if descents > 0:
            order = SOUND
            low, high = np.int64(line.min()), np.int64(line.max())
        if low < 0 or high >= width:
            return i, UNSOUND
    return -1, order


@jit(reorder=False)
def add_difference(value, origin, share, out):
    """Add share (value - origin) to ``out``, all of them flat."""
    share = out.dtype.type(share)
    for i in range(out.size):
        out[i] += share * (value[i] - origin[i])
