"""Validated matrices as kernels take them: rows, products, local coordinates."""

from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from locallin.engine.parallel import Buffers, in_threads, row_blocks
from locallin.kernels.coding import (
    ADAPTIVE,
    ActiveAnchors,
    adaptive_codes,
    anchor_distances,
    nearest_anchors,
    sort_by_anchor,
    weigh,
)
from locallin.kernels.groups import (
    AnchorGroups,
    Probes,
    members_by_group,
    write_panels,
)
from locallin.kernels.products import csr_products, row_products
from locallin.kernels.rows import Codes, Rows, squared_row_norms

# Rows that go through the kernels together: their products with the anchors
# stay in the cache, and each anchor meets enough of them.
BLOCK = 1024
# What a block needs while it is encoded.
_buffers = Buffers()
# Below this many rows a product with all anchors does not pay.
_FEW_ROWS = 8


def read_only(array: np.ndarray) -> np.ndarray:
    """View an array as one that is only read.

    Kernels are compiled for arrays that can be written and for those that cannot;
    what they only read comes as the latter, which some arrays are from birth.
    """
    view = array.view()
    view.setflags(write=False)
    return view


def as_rows(X) -> Rows:
    """View a dense C-ordered or CSR matrix as kernel rows."""
    if not sparse.issparse(X):
        return Rows(read_only(X), None, None)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Rows(*map(read_only, (X.data, X.indices, X.indptr)))


def count_rows(rows: Rows) -> int:
    """Number of rows."""
    return len(rows.data) if rows.indptr is None else len(rows.indptr) - 1


def map_blocks(
    rows: Rows, function: Callable[[Rows, int, int], Any], n_jobs: int | None
) -> list:
    """Call ``function(block, start, stop)`` for blocks of rows, on threads."""

    def work(start, stop):
        return function(slice_rows(rows, start, stop), start, stop)

    return in_threads(work, row_blocks(count_rows(rows), BLOCK), n_jobs)


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Consecutive rows, without a copy."""
    if rows.indptr is None:
        return Rows(rows.data[start:stop], None, None)
    return Rows(rows.data, rows.indices, rows.indptr[start : stop + 1])


def aligned(X):
    """X, or a copy that lies as numpy.take wants it: otherwise it copies all of X."""
    return np.require(X, requirements="A") if isinstance(X, np.ndarray) else X


def copy_rows(X: np.ndarray, chosen: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Rows of an aligned matrix, in the memory of ``room``."""
    # Rows are there; a mode that checks would copy twice.
    return np.take(X, chosen, axis=0, out=room[: len(chosen)], mode="clip")


class BatchRows:
    """Copies of chosen rows, of at most ``most`` at a time, in the same memory.

    ``views`` are one matrix, or two: as anchors and as local models see the rows. One
    that is not a dense array makes its rows when it is asked for them.
    """

    def __init__(self, views: tuple, most: int):
        self._views = [aligned(view) for view in views]
        # One batch teaches while the next is picked.
        self._rooms = cycle([[_room_for(X, most) for X in self._views] for _ in "ab"])

    def pick(self, chosen: np.ndarray) -> tuple[Rows, Rows]:
        """Rows as anchors and as local models see them, until the next pick but one."""
        rows = [
            as_rows(view[chosen] if room is None else copy_rows(view, chosen, room))
            for view, room in zip(self._views, next(self._rooms), strict=True)
        ]
        return rows[0], rows[-1]


def _room_for(X, most: int) -> np.ndarray | None:
    return np.empty((most, X.shape[1]), X.dtype) if isinstance(X, np.ndarray) else None


def products(
    rows: Rows, anchors: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Inner products of all rows with all anchors; in ``out`` if given."""
    if rows.indptr is None:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.matmul(rows.data, anchors.T, out=out)
    if out is None:
        out = np.empty((count_rows(rows), len(anchors)), anchors.dtype)
    csr_products(rows, read_only(anchors), out)
    return out


class CodingState(NamedTuple):
    """A fitted coding as arrays and numbers.

    ``bandwidth`` has shape (1,), or (m,) for one of each anchor; ``n_neighbors`` is the
    largest number of anchors that a row can have. ``metric`` stands in front of the
    distances, and the anchors behind it: a scale of each feature (D,), a linear map
    (q, D), or None. ``groups`` are those that the anchors are found by, or None where
    a row looks at all of them.
    """

    kind: int
    n_neighbors: int
    anchors: np.ndarray
    bandwidth: np.ndarray
    metric: np.ndarray | None = None
    groups: AnchorGroups | None = None

    def copy(self) -> "CodingState":
        """The same with arrays of its own."""
        metric = None if self.metric is None else self.metric.copy()
        return self._replace(
            anchors=self.anchors.copy(), bandwidth=self.bandwidth.copy(), metric=metric
        )

    def learned(self) -> tuple[np.ndarray, ...]:
        """The arrays that learning moves: anchors, bandwidth, and metric if any."""
        moved = self.anchors, self.bandwidth
        return moved if self.metric is None else (*moved, self.metric)


def behind_metric(
    rows: Rows, metric: np.ndarray | None, n_jobs: int | None = None
) -> Rows:
    """Rows as distances see them."""
    if metric is None:
        return rows
    if metric.ndim == 1:
        factors = metric if rows.indptr is None else metric[rows.indices]
        return Rows(read_only(rows.data * factors), *rows[1:])

    def multiply(block, *_):
        if block.indptr is None:
            return row_products(block.data, metric)
        return products(block, metric)

    parts = map_blocks(rows, multiply, n_jobs)
    made = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Rows(read_only(made), None, None)


def encode(rows: Rows, state: CodingState, n_jobs: int | None = None) -> Codes:
    """Weights of the rows on their anchors; the anchors of a row ascend."""
    rows = behind_metric(rows, state.metric, n_jobs)
    if state.kind == ADAPTIVE:
        return _adaptive(rows, state, n_jobs)[0]
    nearest, weights = find_nearest(
        rows, state.anchors, state.n_neighbors, n_jobs, state.groups
    )
    weigh(nearest, weights, state.kind, read_only(state.bandwidth))
    sort_by_anchor(nearest, weights)
    return _codes(nearest, weights)


def encode_with_distances(
    rows: Rows, state: CodingState, n_jobs: int | None = None
) -> tuple[Codes, np.ndarray]:
    """Weights in any order, and the distance that belongs to each of them.

    The rows stand behind the metric.
    """
    if state.kind == ADAPTIVE:
        return _adaptive(rows, state, n_jobs)
    nearest, distances = find_nearest(
        rows, state.anchors, state.n_neighbors, n_jobs, state.groups
    )
    weights = distances.copy()
    weigh(nearest, weights, state.kind, read_only(state.bandwidth))
    return _codes(nearest, weights), distances.reshape(-1)


def find_nearest(
    rows: Rows,
    anchors: np.ndarray,
    k: int,
    n_jobs: int | None = None,
    groups: AnchorGroups | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest anchors of each row and their distances, in ascending order.

    With groups they are the nearest among the anchors that a row looks at.

    Returns
    -------
    nearest : ndarray of int32, shape (n, k)
        Numbers of the anchors.
    distances : ndarray of shape (n, k)
        Euclidean distances.
    """
    anchors = read_only(anchors)
    shape = count_rows(rows), k
    nearest = np.empty(shape, np.int32)
    distances = np.empty(shape, np.result_type(rows.data, anchors))
    compare_all = k == len(anchors)
    norms, pays = _comparison(rows, anchors, compare_all or groups is not None)
    probes = _probes(rows, anchors, groups, k, n_jobs)

    def search(block, start, stop):
        part = slice(start, stop)
        nearest_anchors(
            block, _rough_products(block, anchors, pays), _part(probes, part), anchors,
            norms, nearest[part], distances[part],
        )  # fmt: skip

    def sort(block, start, stop):
        found = np.empty((stop - start, k))
        anchor_distances(block, anchors, norms, found)
        order = np.argsort(found, axis=1, kind="stable")
        found = np.take_along_axis(found, order, axis=1)
        nearest[start:stop] = order
        distances[start:stop] = np.minimum(found, np.finfo(distances.dtype).max)

    map_blocks(rows, sort if compare_all else search, n_jobs)
    return nearest, distances


def _adaptive(rows, state: CodingState, n_jobs) -> tuple[Codes, np.ndarray]:
    anchors, bandwidth = read_only(state.anchors), read_only(state.bandwidth)
    m = len(anchors)
    dtype = np.result_type(rows.data, anchors)
    groups = state.groups
    norms, pays = _comparison(rows, anchors, groups is not None)
    probes = _probes(rows, anchors, groups, 1, n_jobs)
    most = m if groups is None else _most_in_sight(probes)

    def encode_block(block, start, stop):
        size, room = stop - start, ((stop - start) * most,)
        found = ActiveAnchors(
            np.empty(size, np.int64),
            _buffers.get("nearest", room, np.int32),
            _buffers.get("weights", room, dtype),
            _buffers.get("distances", room, dtype),
        )
        adaptive_codes(
            block, _rough_products(block, anchors, pays),
            _part(probes, slice(start, stop)), anchors, norms, bandwidth, found,
        )  # fmt: skip
        filled = found.counts.sum()
        return found.counts, *(part[:filled].copy() for part in found[1:])

    parts = map_blocks(rows, encode_block, n_jobs)
    counts, nearest, weights, distances = (
        part[0] if len(part) == 1 else np.concatenate(part)
        for part in zip(*parts, strict=True)
    )
    return Codes(row_pointers(counts), nearest, weights), distances


def _probes(
    rows: Rows, anchors: np.ndarray, groups: AnchorGroups | None, least: int, n_jobs
) -> Probes:
    """The groups in which each row finds ``least`` anchors at least."""
    panels = np.empty(0, anchors.dtype)
    if groups is None:
        none = np.empty(0, np.int64)
        return Probes(np.empty((0, 0), np.int32), none, none, panels, 0)
    of_anchor, centers, n_probes = groups
    starts, members = members_by_group(read_only(of_anchor), len(centers))
    # However small the nearest groups are, so many have enough anchors.
    enough = np.searchsorted(np.cumsum(np.sort(np.diff(starts))), least) + 1
    count = min(max(n_probes, int(enough)), len(centers))
    nearest = find_nearest(rows, centers, count, n_jobs)[0]
    if rows.indptr is None and count_rows(rows) >= _FEW_ROWS:
        panels = np.empty(anchors.size, anchors.dtype)
        write_panels(read_only(anchors), starts, members, panels)
    return Probes(nearest, starts, members, panels, n_probes)


def _part(probes: Probes, rows: slice) -> Probes:
    return probes._replace(nearest=probes.nearest[rows])


def _most_in_sight(probes: Probes) -> int:
    """The most anchors that a row can look at."""
    sizes = np.sort(np.diff(probes.starts))
    return int(sizes[len(sizes) - probes.nearest.shape[1] :].sum())


def _comparison(
    rows: Rows, anchors: np.ndarray, compare_all: bool
) -> tuple[np.ndarray, bool]:
    """Squared norms of the anchors, and whether products of rows with them pay.

    A few rows are compared with every anchor: a product with all of them, or their
    norms, would not pay.
    """
    compare_all = compare_all or count_rows(rows) < _FEW_ROWS
    if compare_all and rows.indptr is None:
        return np.zeros(len(anchors)), False  # norms are not looked at
    return squared_row_norms(as_rows(anchors)), not compare_all


def _rough_products(rows: Rows, anchors: np.ndarray, pays: bool) -> np.ndarray:
    """Products from which kernels choose candidates; none where they do not pay.

    They last until the thread asks for the next ones.
    """
    if not pays:
        return np.empty((0, 0), anchors.dtype)
    dtype = np.result_type(rows.data, anchors)
    room = _buffers.get("products", (count_rows(rows), len(anchors)), dtype)
    return products(rows, anchors, room)


def _codes(nearest: np.ndarray, weights: np.ndarray) -> Codes:
    indptr = row_pointers(np.full(len(nearest), nearest.shape[1]))
    return Codes(indptr, nearest.reshape(-1), weights.reshape(-1))


def row_pointers(counts: np.ndarray) -> np.ndarray:
    """Row pointers of a CSR matrix with the given numbers of entries."""
    total = int(counts.sum())
    width = np.int32 if total <= np.iinfo(np.int32).max else np.int64
    indptr = np.zeros(len(counts) + 1, width)
    np.cumsum(counts, out=indptr[1:])
    return indptr
