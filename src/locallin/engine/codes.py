"""Local coordinates of rows, from plain arrays: what codings and solvers both call."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from locallin.engine.matrix import BLOCK, as_rows, count_rows, products, slice_rows
from locallin.engine.parallel import in_threads, row_blocks
from locallin.kernels.coding import (
    ADAPTIVE,
    adaptive_codes,
    nearest_anchors,
    sort_by_anchor,
    weigh,
)
from locallin.kernels.rows import Codes, Rows, squared_row_norms

# Below this many rows a product with all anchors does not pay.
_FEW_ROWS = 8


class CodingState(NamedTuple):
    """A fitted coding as arrays and numbers.

    ``bandwidth`` has shape (1,), or (m,) for one of each anchor; ``n_neighbors`` is the
    largest number of anchors that a row can have.
    """

    kind: int
    n_neighbors: int
    anchors: np.ndarray
    bandwidth: np.ndarray

    def copy(self) -> "CodingState":
        """The same with arrays of its own."""
        return self._replace(
            anchors=self.anchors.copy(), bandwidth=self.bandwidth.copy()
        )


def encode(rows: Rows, state: CodingState, n_jobs: int | None = None) -> Codes:
    """Weights of the rows on their anchors; the anchors of a row ascend."""
    if state.kind == ADAPTIVE:
        return _adaptive(rows, state, n_jobs)[0]
    nearest, weights = find_nearest(rows, state.anchors, state.n_neighbors, n_jobs)
    weigh(nearest, weights, state.kind, state.bandwidth)
    sort_by_anchor(nearest, weights)
    return _codes(nearest, weights)


def encode_with_distances(
    rows: Rows, state: CodingState, n_jobs: int | None = None
) -> tuple[Codes, np.ndarray]:
    """Weights in any order, and the distance that belongs to each of them."""
    if state.kind == ADAPTIVE:
        return _adaptive(rows, state, n_jobs)
    nearest, distances = find_nearest(rows, state.anchors, state.n_neighbors, n_jobs)
    weights = distances.copy()
    weigh(nearest, weights, state.kind, state.bandwidth)
    return _codes(nearest, weights), distances.reshape(-1)


def find_nearest(
    rows: Rows, anchors: np.ndarray, k: int, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest anchors of each row and their distances, in ascending order.

    Returns
    -------
    nearest : ndarray of int32, shape (n, k)
        Numbers of the anchors.
    distances : ndarray of shape (n, k)
        Euclidean distances.
    """
    shape = count_rows(rows), k
    nearest = np.empty(shape, np.int32)
    distances = np.empty(shape, np.result_type(rows.data, anchors))

    def fill(start, stop, block, inner, norms):
        part = slice(start, stop)
        nearest_anchors(block, inner, anchors, norms, nearest[part], distances[part])

    _in_blocks(rows, anchors, n_jobs, fill)
    return nearest, distances


def _adaptive(rows, state: CodingState, n_jobs) -> tuple[Codes, np.ndarray]:
    m = len(state.anchors)
    dtype = np.result_type(rows.data, state.anchors)

    def encode_block(start, stop, block, inner, norms):
        size = stop - start
        counts = np.empty(size, np.int64)
        room = [np.empty(size * m, kind) for kind in (np.int32, dtype, dtype)]
        adaptive_codes(
            block, inner, state.anchors, norms, state.bandwidth, counts, *room
        )
        filled = counts.sum()
        return counts, *(part[:filled].copy() for part in room)

    parts = _in_blocks(rows, state.anchors, n_jobs, encode_block)
    counts, nearest, weights, distances = (
        part[0] if len(part) == 1 else np.concatenate(part)
        for part in zip(*parts, strict=True)
    )
    return Codes(_row_pointers(counts), nearest, weights), distances


def _in_blocks(
    rows: Rows, anchors: np.ndarray, n_jobs: int | None, function: Callable
) -> list:
    """Call ``function(start, stop, block, products, norms)`` for blocks of rows.

    A few rows are compared with every anchor: a product with all of them, or their
    norms, would not pay.
    """
    n = count_rows(rows)
    few = n < _FEW_ROWS
    if few and rows.indptr is None:
        norms = np.zeros(len(anchors))  # not looked at
    else:
        norms = squared_row_norms(as_rows(anchors))

    def work(start, stop):
        block = slice_rows(rows, start, stop)
        inner = None if few else products(block, anchors)
        return function(start, stop, block, inner, norms)

    return in_threads(work, row_blocks(n, BLOCK), n_jobs)


def _codes(nearest: np.ndarray, weights: np.ndarray) -> Codes:
    indptr = _row_pointers(np.full(len(nearest), nearest.shape[1]))
    return Codes(indptr, nearest.reshape(-1), weights.reshape(-1))


def _row_pointers(counts: np.ndarray) -> np.ndarray:
    """Row pointers of a CSR matrix with the given numbers of entries."""
    total = int(counts.sum())
    width = np.int32 if total <= np.iinfo(np.int32).max else np.int64
    indptr = np.zeros(len(counts) + 1, width)
    np.cumsum(counts, out=indptr[1:])
    return indptr
