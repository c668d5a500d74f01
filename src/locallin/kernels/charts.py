"""Energy of a labelling of points by charts, and changes that lower it.

Every point y is interior to one chart, ``labels[y]``, and takes its nearest
neighbours along: point x belongs to the charts of its holders, x itself and every y
that has x among its neighbours. The energy (eq. 1 of the Atlas paper) is

    sum_x sum over the distinct charts i of x's holders of errors[i, x]
        + mdl * (number of charts in use)
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.predict import add_four_rows


class NeighborGraph(NamedTuple):
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


@jit(inner=True)
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


def affected_points(points, graph, state) -> np.ndarray:
    """List the points whose charts can change when ``points`` change label."""
    out = np.empty(points.size * (1 + graph.neighbors.shape[1]), np.int32)
    return out[: _list_affected(points, graph, state, out)]


@jit
def _list_affected(points, graph, state, out):
    """Write the affected points to ``out``, and return their number."""
    state.clock[0] += 1
    now = state.clock[0]
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
    return n


@jit(inner=True)
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
    room = np.empty(points.size * (1 + graph.neighbors.shape[1]), np.int32)
    affected = room[: _list_affected(points, graph, state, room)]
    old = state.labels[points]
    before = 0.0
    for x in affected:
        before += _point_cost(np.int64(x), errors, graph, state)
    change = _set_labels(points, new, state, mdl)
    after = 0.0
    for x in affected:
        after += _point_cost(np.int64(x), errors, graph, state)
    change += after - before
    if not change < -1e-12 * (before + mdl):
        _set_labels(points, old, state, mdl)
        return 0.0
    return change


@jit(inner=True)
def _best_other_chart(x, i, best, errors, state):
    """Chart in use, other than i, where x goes without i; -1 where there is none."""
    for j in best[x]:
        if j != i and state.counts[j] > 0:
            return np.int64(j)
    other = -1
    for j in range(state.counts.size):
        usable = j != i and state.counts[j] > 0
        if usable and (other < 0 or errors[j, x] < errors[other, x]):
            other = j
    return np.int64(other)


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
            other = _best_other_chart(x, i, best, errors, state)
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


@jit
def chart_coordinates(data, entries, means, bases, out):
    """C_j (x_i - mu_j) of each entry (i, j).

    Rows are filled up to four as in ``add_scores``, for the same reason.
    """
    start, entry, row = entries
    n_charts, d, n_features = bases.shape
    room = np.empty((4, n_features), out.dtype)
    spare = np.zeros(d, out.dtype)
    zeros = np.zeros(d, out.dtype)
    one = out.dtype.type(1)
    out[:] = 0.0
    for j in range(n_charts):
        last = start[j + 1] - 1
        for q in range(start[j], last + 1, 4):
            q1, q2, q3 = min(q + 1, last), min(q + 2, last), min(q + 3, last)
            for r, at in enumerate((q, q1, q2, q3)):
                room[r] = data[row[at]] - means[j]
            o = (
                out[entry[q]],
                out[entry[q1]] if q1 > q else spare,
                out[entry[q2]] if q2 > q1 else spare,
                out[entry[q3]] if q3 > q2 else spare,
            )
            x = room[0], room[1], room[2], room[3]
            add_four_rows(x, bases[j], zeros, (one, one, one, one), o)
