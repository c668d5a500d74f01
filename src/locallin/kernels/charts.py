"""Energy of a labelling of points by charts, and the graph of an expansion move.

Every point y is interior to one chart, ``labels[y]``, and takes its nearest
neighbours along: point x belongs to the charts of its holders, x itself and every y
that has x among its neighbours. The energy (eq. 1 of the Atlas paper) is

    sum_x sum over the distinct charts i of x's holders of errors[i, x]
        + mdl * (number of charts in use)

Both terms say "pay once if any of a set has the label". In a move towards chart
alpha each set is one auxiliary node of a graph whose minimum cut is the best move
(the sink's side takes alpha).
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

SOURCE, SINK, FIRST = 0, 1, 2


class Graph(NamedTuple):
    """Neighbours of each point, (n, k), and its holders: itself and who points to it.

    ``holders[starts[x] : starts[x + 1]]`` are the holders of point x.
    """

    neighbors: np.ndarray
    starts: np.ndarray
    holders: np.ndarray


class Labelling(NamedTuple):
    """Labels of the points, points per chart, and scratch; all updated in place."""

    labels: np.ndarray
    counts: np.ndarray
    seen: np.ndarray  # (n_charts,): the last clock at which a chart was met
    touched: np.ndarray  # (n,): the last clock at which a point was met
    clock: np.ndarray  # (1,)


@jit
def holders_of(neighbors):
    """Transpose the neighbours and add each point to its own holders."""
    n, k = neighbors.shape
    starts = np.zeros(n + 1, np.int64)
    for y in range(n):
        starts[y + 1] += 1
        for q in range(k):
            starts[neighbors[y, q] + 1] += 1
    for x in range(n):
        starts[x + 1] += starts[x]
    filled = starts[:-1].copy()
    holders = np.empty(starts[n], np.int32)
    for y in range(n):
        holders[filled[y]] = y
        filled[y] += 1
    for y in range(n):
        for q in range(k):
            x = neighbors[y, q]
            holders[filled[x]] = y
            filled[x] += 1
    return starts, holders


@jit
def _point_cost(x, errors, graph, state):
    """Sum of x's errors over the distinct charts of its holders."""
    state.clock[0] += 1
    now = state.clock[0]
    total = 0.0
    for p in range(graph.starts[x], graph.starts[x + 1]):
        label = state.labels[graph.holders[p]]
        if state.seen[label] != now:
            state.seen[label] = now
            total += errors[label, x]
    return total


@jit
def energy(errors, graph, state, mdl):
    """Energy of the labelling."""
    total = 0.0
    for x in range(state.labels.size):
        total += _point_cost(x, errors, graph, state)
    for count in state.counts:
        if count > 0:
            total += mdl
    return total


@jit
def _affected(points, graph, state):
    """List the points whose charts can change when ``points`` change label."""
    state.clock[0] += 1
    now = state.clock[0]
    out = np.empty(points.size * (1 + graph.neighbors.shape[1]), np.int32)
    n = 0
    for y in points:
        if state.touched[y] != now:
            state.touched[y] = now
            out[n] = y
            n += 1
        for x in graph.neighbors[y]:
            if state.touched[x] != now:
                state.touched[x] = now
                out[n] = x
                n += 1
    return out[:n]


@jit
def _set_labels(points, new, state, mdl):
    """Change the labels; returns the change of the charts' own cost."""
    change = 0.0
    for i in range(points.size):
        y = points[i]
        old = state.labels[y]
        state.labels[y] = new[i]
        state.counts[old] -= 1
        if state.counts[old] == 0:
            change -= mdl
        if state.counts[new[i]] == 0:
            change += mdl
        state.counts[new[i]] += 1
    return change


@jit
def relabel(points, new, errors, graph, state, mdl):
    """Give ``points`` the labels ``new`` if the energy falls; returns its change."""
    affected = _affected(points, graph, state)
    old = state.labels[points]
    before = 0.0
    for x in affected:
        before += _point_cost(x, errors, graph, state)
    change = _set_labels(points, new, state, mdl)
    after = 0.0
    for x in affected:
        after += _point_cost(x, errors, graph, state)
    change += after - before
    if not change < -1e-12 * (before + mdl):
        _set_labels(points, old, state, mdl)
        return 0.0
    return change


@jit
def _add_arc(arcs, n_arcs, tail, head, capacity):
    tails, heads, capacities = arcs
    tails[n_arcs], heads[n_arcs], capacities[n_arcs] = tail, head, capacity
    return n_arcs + 1


@jit
def expansion_graph(alpha, candidates, errors, graph, state, mdl):
    """Build the graph of the move in which any candidate may take chart alpha.

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
    n, n_charts = state.labels.size, state.counts.size
    affected = _affected(candidates, graph, state)
    room = 3 * candidates.size + n_charts + 1
    for x in affected:
        room += 3 * (graph.starts[x + 1] - graph.starts[x]) + 1
    arcs = (np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room))
    n_arcs = 0
    n_nodes = FIRST + candidates.size
    constant = 0.0

    node = np.full(n, -1, np.int32)
    for i in range(candidates.size):
        node[candidates[i]] = FIRST + i
    # What a candidate pays alone for staying and for switching; only the difference
    # becomes an arc.
    stay = np.zeros(candidates.size)
    switch = np.zeros(candidates.size)

    longest = 0
    for x in affected:
        longest = max(longest, graph.starts[x + 1] - graph.starts[x])
    movers = np.empty(longest, np.int32)
    mover_label = np.empty(longest, np.int32)
    group_label = np.empty(longest, np.int32)
    group_size = np.zeros(n_charts, np.int32)
    group_fixed = np.zeros(n_charts, np.bool_)
    for x in affected:
        state.clock[0] += 1
        now = state.clock[0]
        n_groups = 0
        n_movers = 0
        has_alpha = False
        for p in range(graph.starts[x], graph.starts[x + 1]):
            y = graph.holders[p]
            label = state.labels[y]
            if label == alpha:
                has_alpha = True
                continue
            if state.seen[label] != now:
                state.seen[label] = now
                group_label[n_groups] = label
                group_size[label] = 0
                group_fixed[label] = False
                n_groups += 1
            if node[y] < 0:
                group_fixed[label] = True
            else:
                group_size[label] += 1
                movers[n_movers] = node[y]
                mover_label[n_movers] = label
                n_movers += 1
        cost = errors[alpha, x]
        if has_alpha:
            constant += cost
        elif n_movers == 1:
            switch[movers[0] - FIRST] += cost
        elif n_movers > 1:
            n_arcs = _add_arc(arcs, n_arcs, SOURCE, n_nodes, cost)
            for q in range(n_movers):
                n_arcs = _add_arc(arcs, n_arcs, n_nodes, movers[q], cost)
            n_nodes += 1
        for g in range(n_groups):
            label = group_label[g]
            cost = errors[label, x]
            if group_fixed[label]:
                constant += cost
                continue
            alone = group_size[label] == 1
            if not alone:
                n_arcs = _add_arc(arcs, n_arcs, n_nodes, SINK, cost)
            for q in range(n_movers):
                if mover_label[q] == label:
                    if alone:
                        stay[movers[q] - FIRST] += cost
                    else:
                        n_arcs = _add_arc(arcs, n_arcs, movers[q], n_nodes, cost)
            if not alone:
                n_nodes += 1

    # The charts' own cost: all points of a chart must be candidates for it to die.
    leaving = np.zeros(n_charts, np.int32)
    for y in candidates:
        leaving[state.labels[y]] += 1
    chart_node = np.full(n_charts, -1, np.int32)
    for i in range(n_charts):
        if state.counts[i] > 0:
            if i == alpha or leaving[i] < state.counts[i]:
                constant += mdl
            else:
                chart_node[i] = n_nodes
                n_arcs = _add_arc(arcs, n_arcs, n_nodes, SINK, mdl)
                n_nodes += 1
    birth = -1
    if state.counts[alpha] == 0:
        birth = n_nodes
        n_arcs = _add_arc(arcs, n_arcs, SOURCE, birth, mdl)
        n_nodes += 1
    for i in range(candidates.size):
        here = FIRST + i
        own = chart_node[state.labels[candidates[i]]]
        if own >= 0:
            n_arcs = _add_arc(arcs, n_arcs, here, own, mdl)
        if birth >= 0:
            n_arcs = _add_arc(arcs, n_arcs, birth, here, mdl)
        constant += min(stay[i], switch[i])
        if stay[i] > switch[i]:
            n_arcs = _add_arc(arcs, n_arcs, here, SINK, stay[i] - switch[i])
        elif switch[i] > stay[i]:
            n_arcs = _add_arc(arcs, n_arcs, SOURCE, here, switch[i] - stay[i])
    tails, heads, capacities = arcs
    return n_nodes, (tails[:n_arcs], heads[:n_arcs], capacities[:n_arcs]), constant


@jit
def expansion_candidates(alpha, listed, share, state):
    """Points that may switch to alpha: those listed, and whole charts near it.

    ``listed`` are the points that have alpha among their best charts. A chart can
    die only if all its points may switch, so every point of a chart comes along of
    which at least ``share`` are listed.
    """
    n_charts = state.counts.size
    met = np.zeros(n_charts, np.int64)
    for x in listed:
        met[state.labels[x]] += 1
    whole = np.zeros(n_charts, np.bool_)
    n = listed.size
    for i in range(n_charts):
        if i != alpha and met[i] > 0 and met[i] >= share * state.counts[i]:
            whole[i] = True
            n += state.counts[i] - met[i]
    out = np.empty(n, np.int32)
    state.clock[0] += 1
    now = state.clock[0]
    size = 0
    for x in listed:
        if state.labels[x] != alpha:
            out[size] = x
            size += 1
            state.touched[x] = now
    for x in range(state.labels.size):
        if whole[state.labels[x]] and state.touched[x] != now:
            out[size] = x
            size += 1
    return out[:size]


@jit
def delete_charts(order, best, errors, graph, state, mdl):
    """Try to do without each chart in turn; returns the change of the energy.

    Its points go to the best other chart in use, of those in ``best`` (the charts
    of smallest error of each point, ascending) or else of all.
    """
    total = 0.0
    for i in order:
        if state.counts[i] == 0:
            continue
        points = np.empty(state.counts[i], np.int32)
        new = np.empty(state.counts[i], np.int32)
        size = 0
        possible = True
        for x in range(state.labels.size):
            if state.labels[x] != i:
                continue
            other = -1
            for j in best[x]:
                if j != i and state.counts[j] > 0:
                    other = j
                    break
            if other < 0:
                for j in range(state.counts.size):
                    usable = j != i and state.counts[j] > 0
                    if usable and (other < 0 or errors[j, x] < errors[other, x]):
                        other = j
            if other < 0:
                possible = False
                break
            points[size] = x
            new[size] = other
            size += 1
        if possible:
            total += relabel(points, new, errors, graph, state, mdl)
    return total


@jit
def memberships(graph, labels, n_charts):
    """Rows of each chart: (starts, rows), rows ascending within a chart."""
    seen = np.full(n_charts, -1, np.int64)
    starts = np.zeros(n_charts + 1, np.int64)
    for x in range(labels.size):
        for p in range(graph.starts[x], graph.starts[x + 1]):
            i = labels[graph.holders[p]]
            if seen[i] != x:
                seen[i] = x
                starts[i + 1] += 1
    for i in range(n_charts):
        starts[i + 1] += starts[i]
    rows = np.empty(starts[n_charts], np.int32)
    filled = starts[:-1].copy()
    seen[:] = -1
    for x in range(labels.size):
        for p in range(graph.starts[x], graph.starts[x + 1]):
            i = labels[graph.holders[p]]
            if seen[i] != x:
                seen[i] = x
                rows[filled[i]] = x
                filled[i] += 1
    return starts, rows


@jit
def subtract_squares(projections, offsets, out):
    """out[x, i] = max(out[x, i] - |projections[x, i] - offsets[i]|^2, 0)."""
    n, n_charts = out.shape
    d = offsets.shape[1]
    zero = out.dtype.type(0)
    for x in range(n):
        for i in range(n_charts):
            total = zero
            for q in range(d):
                t = projections[x, i * d + q] - offsets[i, q]
                total += t * t
            out[x, i] = max(out[x, i] - total, zero)
