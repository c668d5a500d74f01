"""Labelling of rows by charts: neighbours, members, and the moves that improve it."""

import numpy as np

from locallin.kernels.charts import Labelling, NeighborGraph, affected_points
from locallin.kernels.expansion import (
    FIRST,
    Expansion,
    FlowNetwork,
    HolderSets,
    add_chart_costs,
    add_point_costs,
)

# Tails, heads and capacities.
Arcs = tuple[np.ndarray, np.ndarray, np.ndarray]


def neighbor_graph(neighbors: np.ndarray) -> NeighborGraph:
    """Transpose the neighbours, (n, k), and add each point to its own holders."""
    n, k = neighbors.shape
    points = np.arange(n, dtype=np.int32)
    held = np.concatenate([points, neighbors.ravel()])
    holders = np.concatenate([points, np.repeat(points, k)])
    starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=n))])
    return NeighborGraph(neighbors, starts, holders[np.argsort(held, kind="stable")])


def new_labelling(labels: np.ndarray, n_charts: int) -> Labelling:
    """A labelling to be changed in place, with its counts and scratch."""
    return Labelling(
        labels,
        np.bincount(labels, minlength=n_charts),
        np.zeros(n_charts, np.int64),
        np.zeros(len(labels), np.int64),
        np.zeros(1, np.int64),
    )


def memberships(
    graph: NeighborGraph, labels: np.ndarray, n_charts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each chart: (starts, rows), rows ascending within a chart."""
    n = len(labels)
    points = np.repeat(np.arange(n), np.diff(graph.starts))
    pairs = np.unique(labels[graph.holders].astype(np.int64) * n + points)
    starts = np.searchsorted(pairs, n * np.arange(n_charts + 1))
    return starts, (pairs % n).astype(np.int32)


def expansion_candidates(
    alpha: int, listed: np.ndarray, share: float, state: Labelling
) -> np.ndarray:
    """Points that may switch to alpha: those listed, and whole charts near it.

    ``listed`` are the points that have alpha among their best charts. A chart can
    die only if all its points may switch, so every point of a chart comes along of
    which at least ``share`` are listed.
    """
    own = state.labels[listed]
    met = np.bincount(own, minlength=len(state.counts))
    whole = (met > 0) & (met >= share * state.counts)
    whole[alpha] = False
    others = whole[state.labels]
    others[listed] = False
    found = listed[own != alpha], np.flatnonzero(others)
    return np.concatenate(found).astype(np.int32)


def expansion_network(
    alpha: int,
    candidates: np.ndarray,
    errors: np.ndarray,
    graph: NeighborGraph,
    state: Labelling,
    mdl: float,
) -> tuple[int, Arcs, float]:
    """Build the network of the move in which any candidate may take chart alpha.

    The scratch of ``state`` is overwritten.

    Parameters
    ----------
    candidates : int array
        Points with another label that may switch; the others keep theirs.

    Returns
    -------
    n_nodes : int
        Node FIRST + i is candidate i.
    arcs : (tails, heads, capacities)
    constant : float
        Cost of the affected points and charts that no cut avoids: with it, the
        capacity of a cut is their cost after the move.
    """
    n_charts, n_candidates = len(state.counts), len(candidates)
    affected = affected_points(candidates, graph, state)
    n_holders = graph.starts[affected + 1] - graph.starts[affected]
    room = 3 * n_candidates + n_charts + 1 + int(3 * n_holders.sum()) + len(affected)
    network = FlowNetwork(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room),
        np.array([FIRST + n_candidates, 0]),
        np.zeros(1),
    )
    node = np.full(len(state.labels), -1, np.int32)
    node[candidates] = np.arange(FIRST, FIRST + n_candidates)
    move = Expansion(
        alpha, candidates, node, np.zeros(n_candidates), np.zeros(n_candidates)
    )
    most = n_holders.max()
    sets = HolderSets(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.zeros(n_charts, np.int32),
        np.zeros(n_charts, bool),
    )
    add_point_costs(affected, errors, graph, state, move, sets, network)
    leaving = np.bincount(state.labels[candidates], minlength=n_charts)
    dying = (leaving > 0) & (leaving == state.counts)
    add_chart_costs(dying, state, move, mdl, network)
    n_nodes, n_arcs = network.sizes.tolist()
    arcs = network.tails[:n_arcs], network.heads[:n_arcs], network.capacities[:n_arcs]
    return n_nodes, arcs, float(network.constant[0])
