"""Groups of anchors, so that a row need not be compared with all of them."""

import numpy as np
from scipy import sparse

from locallin.engine.matrix import as_rows, find_nearest
from locallin.kernels.groups import AnchorGroups

# Groups for each root of the number of anchors. A row is compared with all centres and
# with the anchors of a few groups: half as many groups cost more for as many of the
# nearest anchors found, twice as many find fewer of them.
_GROUPS_PER_ROOT = 2
_ROUNDS = 8


def group_anchors(anchors: np.ndarray, n_probes: int) -> AnchorGroups:
    """Put anchors into about ``2 sqrt(m)`` groups of neighbours.

    They depend on the anchors and nothing else: k-means from every so many of these,
    a few rounds, and each anchor belongs to the nearest centre.

    Parameters
    ----------
    anchors : ndarray of shape (m, q)
        The anchors.
    n_probes : int
        Number of groups that a row looks at.

    Returns
    -------
    AnchorGroups
        Groups of which none is empty.
    """
    m = len(anchors)
    count = min(m, round(_GROUPS_PER_ROOT * np.sqrt(m)))
    centers = anchors[np.arange(count) * m // count]
    rows = as_rows(anchors)
    for _ in range(_ROUNDS):
        own = find_nearest(rows, centers, 1)[0].ravel()
        centers = _means(anchors, own, len(centers))
    own = find_nearest(rows, centers, 1)[0].ravel()
    used, of_anchor = np.unique(own, return_inverse=True)
    centers = np.ascontiguousarray(centers[used])
    return AnchorGroups(of_anchor.astype(np.int32), centers, n_probes)


def _means(anchors: np.ndarray, own: np.ndarray, count: int) -> np.ndarray:
    """Mean of each group that has an anchor."""
    sizes = np.bincount(own, minlength=count)
    # Shares before sums: a sum of finite numbers may be infinite.
    shares = 1.0 / sizes[own]
    places = own, np.arange(len(own))
    means = sparse.csr_matrix((shares, places), (count, len(own))) @ anchors
    return np.ascontiguousarray(means[sizes > 0], anchors.dtype)
