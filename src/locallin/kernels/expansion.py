"""Network of an expansion move, whose minimum cut is the best move.

In a move towards chart alpha any of some candidate points may take the label alpha.
Both terms of the energy (:mod:`locallin.kernels.charts`) say "pay once if any of a set
has the label": each such set is one auxiliary node. The sink's side of the cut takes
alpha.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

SOURCE, SINK, FIRST = range(3)
NODES, ARCS = range(2)


class FlowNetwork(NamedTuple):
    """Arcs of a network while it is built; the arrays have room for all of them."""

    tails: np.ndarray
    heads: np.ndarray
    capacities: np.ndarray
    sizes: np.ndarray  # (2,): numbers of NODES and ARCS
    constant: np.ndarray  # (1,): cost that no cut avoids


class Expansion(NamedTuple):
    """Move towards chart alpha: its candidates, and what they pay alone.

    Of ``stay`` and ``switch`` only the difference becomes an arc.
    """

    alpha: int
    candidates: np.ndarray
    node: np.ndarray  # (n,): -1 where a point is no candidate
    stay: np.ndarray  # (n_candidates,)
    switch: np.ndarray  # (n_candidates,)


class HolderSets(NamedTuple):
    """Holders of one point, grouped by chart; those in chart alpha are only counted.

    A group is fixed where one of its points is no candidate; movers are the nodes of
    the candidates.
    """

    movers: np.ndarray
    mover_label: np.ndarray
    group_label: np.ndarray
    group_size: np.ndarray  # (n_charts,)
    group_fixed: np.ndarray  # (n_charts,)


@jit(inline=True)
def _add_arc(network, tail, head, capacity):
    arc = network.sizes[ARCS]
    network.tails[arc] = tail
    network.heads[arc] = head
    network.capacities[arc] = capacity
    network.sizes[ARCS] = arc + 1


@jit(inline=True)
def _add_node(network):
    node = network.sizes[NODES]
    network.sizes[NODES] = node + 1
    return node


@jit(inline=True)
def _sort_holders(x, graph, state, move, sets):
    """Fill ``sets`` with the holders of point x, by their charts.

    Returns the numbers of groups, of movers, and of holders in chart alpha.
    """
    state.clock[0] += 1
    now = state.clock[0]
    n_groups, n_movers, n_in_alpha = 0, 0, 0
    for p in range(graph.starts[x], graph.starts[x + 1]):
        y = graph.holders[p]
        label = state.labels[y]
        if label == move.alpha:
            n_in_alpha += 1
            continue
        if state.seen[label] != now:
            state.seen[label] = now
            sets.group_label[n_groups] = label
            sets.group_size[label] = 0
            sets.group_fixed[label] = False
            n_groups += 1
        if move.node[y] < 0:
            sets.group_fixed[label] = True
        else:
            sets.group_size[label] += 1
            sets.movers[n_movers] = move.node[y]
            sets.mover_label[n_movers] = label
            n_movers += 1
    return n_groups, n_movers, n_in_alpha


@jit(inline=True)
def _add_cost_of_alpha(cost, movers, move, network):
    """A point pays ``cost`` once if any of its holders switches to alpha."""
    if movers.size == 1:
        move.switch[movers[0] - FIRST] += cost
    elif movers.size > 1:
        node = _add_node(network)
        _add_arc(network, SOURCE, node, cost)
        for mover in movers:
            _add_arc(network, node, mover, cost)


@jit(inline=True)
def _add_cost_of_group(cost, label, n_movers, move, sets, network):
    """A point pays ``cost`` once if any of its holders keeps the chart ``label``."""
    alone = sets.group_size[label] == 1
    node = network.sizes[NODES]
    if not alone:
        _add_arc(network, _add_node(network), SINK, cost)
    for q in range(n_movers):
        if sets.mover_label[q] == label:
            if alone:
                move.stay[sets.movers[q] - FIRST] += cost
            else:
                _add_arc(network, sets.movers[q], node, cost)


@jit
def add_point_costs(affected, errors, graph, state, move, sets, network):
    """Add what the affected points pay for their charts.

    Fills ``network``, ``move.stay`` and ``move.switch``; the scratch of ``state`` and
    ``sets`` is overwritten.
    """
    constant = 0.0
    for x in affected:
        n_groups, n_movers, n_in_alpha = _sort_holders(x, graph, state, move, sets)
        cost = errors[move.alpha, x]
        if n_in_alpha > 0:
            constant += cost
        else:
            _add_cost_of_alpha(cost, sets.movers[:n_movers], move, network)
        for label in sets.group_label[:n_groups]:
            cost = errors[label, x]
            if sets.group_fixed[label]:
                constant += cost
            else:
                _add_cost_of_group(cost, label, n_movers, move, sets, network)
    network.constant[0] += constant


@jit
def add_chart_costs(dying, state, move, mdl, network):
    """Add what charts in use cost, and what candidates pay alone.

    ``dying`` are the charts whose points may all switch: the others cost ``mdl``
    whatever is cut.
    """
    chart_node = np.empty(state.counts.size, np.int64)
    chart_node[:] = -1
    for i in range(state.counts.size):
        if dying[i]:
            chart_node[i] = _add_node(network)
            _add_arc(network, chart_node[i], SINK, mdl)
        elif state.counts[i] > 0:
            network.constant[0] += mdl
    birth = -1
    if state.counts[move.alpha] == 0:
        birth = _add_node(network)
        _add_arc(network, SOURCE, birth, mdl)
    for i in range(move.candidates.size):
        own = chart_node[state.labels[move.candidates[i]]]
        if own >= 0:
            _add_arc(network, FIRST + i, own, mdl)
        if birth >= 0:
            _add_arc(network, birth, FIRST + i, mdl)
        stay, switch = move.stay[i], move.switch[i]
        network.constant[0] += min(stay, switch)
        if stay > switch:
            _add_arc(network, FIRST + i, SINK, stay - switch)
        elif switch > stay:
            _add_arc(network, SOURCE, FIRST + i, switch - stay)
