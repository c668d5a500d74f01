"""Groups of anchors: a row looks only at the anchors of the groups nearest to it."""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit


class AnchorGroups(NamedTuple):
    """The coarse level of a coding.

    ``of_anchor`` (m,) is the group of each anchor, ``centers`` (n_groups, q) are where
    the groups are. A row looks at the anchors of its ``n_probes`` nearest groups, and
    at those of further ones until it has met as many anchors as it needs.
    """

    of_anchor: np.ndarray
    centers: np.ndarray
    n_probes: int


class Probes(NamedTuple):
    """Anchors by group, and the groups of some rows.

    Group g has the anchors ``members[starts[g] : starts[g + 1]]``. ``nearest`` (n, p)
    are the groups of each row, nearest first, enough of them for the anchors that a row
    needs; its shape is (0, 0) where every row looks at all anchors. ``panels``
    (m q,) are the anchors, group by group, for dense rows: of a group the first
    coordinates of all its anchors, then the second ones, and so on. Else it is empty.
    """

    nearest: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    panels: np.ndarray
    n_probes: int


def members_by_group(of_anchor: np.ndarray, n_groups: int) -> tuple[np.ndarray, ...]:
    """Where each group begins, and the anchors of one group after the other."""
    starts = np.zeros(n_groups + 1, np.int64)
    members = np.empty(len(of_anchor), np.int64)
    _sort_by_group(of_anchor, np.zeros(n_groups + 2, np.int64), starts, members)
    return starts, members


@jit
def _sort_by_group(of_anchor, filled, starts, members):
    for j in range(of_anchor.size):
        filled[of_anchor[j] + 2] += 1
    for g in range(starts.size - 1):
        filled[g + 2] += filled[g + 1]
    for j in range(of_anchor.size):
        g = of_anchor[j]
        members[filled[g + 1]] = j
        filled[g + 1] += 1
    for g in range(starts.size):
        starts[g] = filled[g]


@jit
def write_panels(anchors, starts, members, out):
    """Lay out anchors as ``panels`` of ``Probes`` are."""
    width = anchors.shape[1]
    for g in range(starts.size - 1):
        start, size = starts[g], starts[g + 1] - starts[g]
        panel = out[start * width : (start + size) * width]
        for p in range(size):
            v = anchors[members[start + p]]
            for d in range(width):
                panel[d * size + p] = v[d]


# Four terms are added in the order that is written: compilers would choose between two
# orders by how far apart the arrays happen to lie.
@jit(inner=True, reorder=False)
def _squared_distances(x, panel, size, out):
    """|x - v|^2 of the anchors of a group, side by side."""
    for j in range(size):
        out[j] = 0.0
    d = 0
    while d + 4 <= x.size:
        x0, x1, x2, x3 = x[d], x[d + 1], x[d + 2], x[d + 3]
        at = d * size
        v0, v1 = panel[at : at + size], panel[at + size : at + 2 * size]
        at += 2 * size
        v2, v3 = panel[at : at + size], panel[at + size : at + 2 * size]
        for j in range(size):
            g0, g1, g2, g3 = x0 - v0[j], x1 - v1[j], x2 - v2[j], x3 - v3[j]
            out[j] += (g0 * g0 + g1 * g1) + (g2 * g2 + g3 * g3)
        d += 4
    while d < x.size:
        x0, v0 = x[d], panel[d * size : (d + 1) * size]
        for j in range(size):
            gap = x0 - v0[j]
            out[j] += gap * gap
        d += 1


@jit(inner=True)
def probe(probes, i, values, least, candidates, squares):
    """Write the anchors that row i looks at, ``least`` or more; returns how many.

    Also their squared distances, as far as rounding and the range of numbers go, where
    the probes have panels: the row is dense then.
    """
    count = 0
    for p in range(probes.nearest.shape[1]):
        if p >= probes.n_probes and count >= least:
            break
        g = probes.nearest[i, p]
        start, stop = probes.starts[g], probes.starts[g + 1]
        if probes.panels.size > 0:
            panel = probes.panels[start * values.size : stop * values.size]
            _squared_distances(values, panel, stop - start, squares[count:])
        for q in range(start, stop):
            candidates[count] = probes.members[q]
            count += 1
    return count


@jit(inner=True)
def keep_below(limit, keys, count, candidates):
    """Keep the candidates whose key is not above a limit, and their keys, in place.

    Returns how many there are.
    """
    kept = 0
    for p in range(count):
        key = keys[p]
        candidates[kept], keys[kept] = candidates[p], key
        kept += 0 if key > limit else 1
    return kept
