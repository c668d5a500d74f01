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
    needs; its shape is (0, 0) where every row looks at all anchors.
    """

    nearest: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    n_probes: int


def all_in_sight() -> Probes:
    """Probes of rows that look at every anchor."""
    nothing = np.empty(0, np.int64)
    return Probes(np.empty((0, 0), np.int32), nothing, nothing, 0)


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


@jit(inner=True)
def probe(probes, i, least, candidates):
    """Write the anchors that row i looks at, ``least`` or more; returns how many."""
    count = 0
    for p in range(probes.nearest.shape[1]):
        if p >= probes.n_probes and count >= least:
            break
        g = probes.nearest[i, p]
        for q in range(probes.starts[g], probes.starts[g + 1]):
            candidates[count] = probes.members[q]
            count += 1
    return count
