"""The outer loop that learns an atlas: propose charts, label by cuts, refit."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors

from locallin.anchors import choose_anchors
from locallin.charts.affine import Charts, principal_chart, smallest
from locallin.charts.labelling import (
    expansion_candidates,
    expansion_network,
    memberships,
    new_labelling,
)
from locallin.charts.max_flow import minimum_cut
from locallin.engine.input import sound_matrix
from locallin.engine.parallel import ThreadTeam, row_blocks
from locallin.kernels.charts import (
    Labelling,
    NeighborGraph,
    delete_charts,
    energy,
    relabel,
)
from locallin.kernels.expansion import FIRST
from locallin.kernels.products import blas_products

# Rows that go through the error table together.
_ROWS = 1024
# Best charts of a point that can win it in an expansion, and the share of a chart
# that must be among them for all its points to come along.
_BEST = 20
_SHARE = 0.3
# A stage that lowers the energy by less than this, relatively, is the last.
_TOLERANCE = 1e-3


@dataclass
class Fit:
    """State of the learner, which lasts when it is interrupted."""

    charts: Charts
    labels: np.ndarray
    graph: NeighborGraph
    stages: list[str] = field(default_factory=list)
    energies: list[float] = field(default_factory=list)
    n_iter: int = 0
    n_charts: int = 0
    converged: bool = False
    interrupted: bool = False

    @property
    def within_sweep(self) -> bool:
        """Whether more stages follow before the charts change."""
        return self.stages[-1] != "refit" and not self.converged


# Called after every stage; True to stop at the end of a sweep.
Monitor = Callable[[Fit], bool]


def find_neighbors(X, k: int, kind: str, n_jobs, rng) -> np.ndarray:
    """Row numbers of the k nearest other rows, shape (n, k)."""
    n = X.shape[0]
    k = min(k, n - 1)
    if k == 0:
        return np.empty((n, 0), np.int32)
    if kind == "exact":
        search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X)
        return search.kneighbors(return_distance=False).astype(np.int32)
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            "neighbors='approximate' needs pynndescent: pip install pynndescent, or "
            "use neighbors='exact'."
        ) from error
    index = NNDescent(
        X,
        n_neighbors=max(k + 1, 15),
        random_state=rng.randint(np.iinfo(np.int32).max),
        n_jobs=n_jobs,
    )
    found = index.neighbor_graph[0]
    # A duplicate can stand before the row itself.
    others = np.argsort(found == np.arange(n)[:, None], axis=1, kind="stable")
    return np.take_along_axis(found, others, axis=1)[:, :k].astype(np.int32)


def check_graph(graph, n: int) -> np.ndarray:
    """Neighbours as an array of row numbers, shape (n, k)."""
    if sparse.issparse(graph):
        sound_matrix(graph, "graph")
        graph = sparse.csr_array(graph)
        counts = np.diff(graph.indptr)
        if graph.shape != (n, n) or (counts != counts[0]).any():
            raise ValueError(
                f"graph must be of shape ({n}, {n}) with the same number of entries "
                f"in each row; its shape is {graph.shape}, with {counts.min()} to "
                f"{counts.max()} entries."
            )
        graph = graph.indices.reshape(n, counts[0])
    graph = np.asarray(graph)
    if graph.ndim != 2 or len(graph) != n or graph.dtype.kind not in "iu":
        raise ValueError(
            f"graph must hold row numbers, {n} rows of them; it has shape "
            f"{graph.shape} and dtype {graph.dtype}."
        )
    if graph.size and (graph.min() < 0 or graph.max() >= n):
        raise ValueError(f"graph must hold row numbers from 0 to {n - 1}.")
    if (graph == np.arange(n)[:, None]).any():
        raise ValueError("graph names a row among its own neighbours.")
    return np.ascontiguousarray(graph, np.int32)


def cluster_groups(X, n_clusters: int | str, rng) -> list[np.ndarray]:
    """Rows of the clusters of k-means, by default as many as the root of the rows."""
    if isinstance(n_clusters, str):
        n_clusters = int(np.rint(np.sqrt(X.shape[0])))
    centres = choose_anchors(X, n_clusters, random_state=rng)
    nearest = pairwise_distances_argmin(X, centres)
    return [np.flatnonzero(nearest == i) for i in np.unique(nearest)]


def random_groups(X, n_groups: int | str, d: int, rng) -> list[np.ndarray]:
    """Rows nearest to some drawn at random; by default one group for 45 rows."""
    n = X.shape[0]
    if isinstance(n_groups, str):
        n_groups = int(np.clip(n // 45, 10, 2000))
    seeds = rng.choice(n, min(n_groups, n), replace=False)
    size = min(n, max(2 * (d + 1), 2 * n // len(seeds)))
    search = NearestNeighbors(n_neighbors=size, algorithm="brute").fit(X)
    return list(search.kneighbors(X[seeds], return_distance=False))


class AtlasLearner:
    """Minimises the energy of eq. 1 over labels and charts in turn."""

    def __init__(
        self,
        X,
        graph: NeighborGraph,
        d,
        mdl,
        backend,
        crew: ThreadTeam,
        rng,
        monitor: Monitor,
    ):
        self.X, self.graph, self.d, self.mdl = X, graph, d, mdl
        self.min_size, self.backend = d + 2, backend
        self.crew, self.rng, self.monitor = crew, rng, monitor
        self.blocks = row_blocks(X.shape[0], _ROWS)

    def table(self, charts: Charts) -> np.ndarray:
        """Errors of all points in all charts, shape (m, n): a chart is a row."""
        out = np.empty((len(charts), self.X.shape[0]), self.X.dtype)

        def fill(start, stop):
            part = charts.centered(self.X, slice(start, stop))
            out[:, start:stop] = charts.errors(part, blas_products).T

        self.crew.run(fill, self.blocks)
        return out

    def fit_to(self, charts: Charts, groups) -> None:
        """Fit charts to their rows, in place; groups are (chart, rows) pairs."""

        def refit(i, rows):
            rows = charts.centered(self.X, rows)
            charts.means[i], charts.bases[i] = principal_chart(rows, self.d)

        self.crew.run(refit, groups)

    def best_charts(self, errors) -> np.ndarray:
        """The few charts of smallest error of each point, ascending."""
        m, n = errors.shape
        q = min(_BEST, m)
        out = np.empty((n, q), np.int32)

        def rank(start, stop):
            out[start:stop] = smallest(errors[:, start:stop].T.copy(), q)[0]

        self.crew.run(rank, self.blocks)
        return out

    def expand(self, errors, best, state: Labelling) -> None:
        """One sweep of expansion moves over all charts in random order."""
        m = len(errors)
        # Points by the charts in their lists.
        order = np.argsort(best, axis=None, kind="stable")
        points = (order // best.shape[1]).astype(np.int32)
        starts = np.searchsorted(best.ravel()[order], np.arange(m + 1))
        for alpha in self.rng.permutation(m):
            listed = points[starts[alpha] : starts[alpha + 1]]
            candidates = expansion_candidates(alpha, listed, _SHARE, state)
            if len(candidates) == 0:
                continue
            n_nodes, arcs, _ = expansion_network(
                alpha, candidates, errors, self.graph, state, self.mdl
            )
            side = minimum_cut(n_nodes, arcs, self.backend)
            switched = candidates[side[FIRST : FIRST + len(candidates)]]
            if len(switched):
                new = np.full(len(switched), alpha, np.int32)
                relabel(switched, new, errors, self.graph, state, self.mdl)

    def run(self, charts: Charts, max_iter: int) -> Fit:
        """Alternate labelling and refitting until the energy stops falling."""
        errors = self.table(charts)
        labels = errors.argmin(axis=0).astype(np.int32)
        fit = Fit(charts, labels.copy(), self.graph)
        state = new_labelling(labels, len(charts))
        self._record(fit, "start", errors, state)
        try:
            for iteration in range(1, max_iter + 1):
                before = fit.energies[-1]
                best = self.best_charts(errors)
                self.expand(errors, best, state)
                self._record(fit, "expand", errors, state)
                order = np.argsort(state.counts, kind="stable").astype(np.int32)
                delete_charts(order, best, errors, self.graph, state, self.mdl)
                self._record(fit, "delete", errors, state)
                charts, errors, state = self._refit(charts, errors, state)
                fit.charts, fit.labels = charts, state.labels.copy()
                fit.n_iter = iteration
                stop = self._record(fit, "refit", errors, state)
                fit.converged = stop or fit.energies[-1] >= before * (1 - _TOLERANCE)
                if fit.converged:
                    break
        except KeyboardInterrupt:
            fit.interrupted = True
        return fit

    def fit_once(self, charts: Charts, groups) -> Fit:
        """Charts of given groups of rows: their members follow, and nothing is cut."""
        labels = np.empty(self.X.shape[0], np.int32)
        for i, rows in enumerate(groups):
            labels[rows] = i
        starts, rows = memberships(self.graph, labels, len(groups))
        members = [(i, rows[starts[i] : starts[i + 1]]) for i in range(len(groups))]
        self.fit_to(charts, members)
        fit = Fit(charts, labels, self.graph, n_iter=1, converged=True)
        errors = self.table(charts)
        self._record(fit, "start", errors, new_labelling(labels, len(charts)))
        return fit

    def _record(self, fit: Fit, stage: str, errors, state: Labelling) -> bool:
        fit.stages.append(stage)
        fit.energies.append(energy(errors, self.graph, state, self.mdl))
        fit.n_charts = int(np.count_nonzero(state.counts))
        return self.monitor(fit)

    def _refit(self, charts, errors, state):
        """Drop the unused charts and fit the others to their members.

        A chart of fewer than ``min_size`` members stays as it is: a chart through
        so few points would have no error, and pay for itself wherever it is.
        """
        used = np.flatnonzero(state.counts)
        charts = charts.keep(used)
        errors = errors[used]
        labels = np.searchsorted(used, state.labels).astype(np.int32)
        starts, rows = memberships(self.graph, labels, len(used))
        groups = [
            (i, rows[starts[i] : starts[i + 1]])
            for i in range(len(used))
            if starts[i + 1] - starts[i] >= self.min_size
        ]
        self.fit_to(charts, groups)
        changed = np.array([i for i, _ in groups], np.intp)
        errors[changed] = self.table(charts.keep(changed))
        return charts, errors, new_labelling(labels, len(used))
