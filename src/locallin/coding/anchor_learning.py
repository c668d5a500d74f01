"""Anchors that rebuild the rows: the learning of anchors in local coordinate coding.

With codes g_i on anchors v_j, the bound of Yu, Zhang & Gong (2009) is the mean of::

    1/2 |x_i - sum_j g_ij v_j|^2  +  mu sum_j |g_ij| |x_i - v_j|^2

For fixed codes it is a quadratic function of the anchors, whose minimum is a linear
system, the same for all features. Codes and anchors take turns.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches

# Rows whose differences from their anchors are held at a time.
_ROWS = 128
# How firmly anchors are held where they are, as a share of the system's diagonal: it
# makes the system regular, and leaves anchors that no row uses in their places.
_HOLD = 1e-10


class NearCodes(NamedTuple):
    """The anchors of each row, and their weights, both of shape (n_rows, k)."""

    nearest: np.ndarray
    weights: np.ndarray


def learn_anchors(
    X,
    anchors: np.ndarray,
    code: Callable[[np.ndarray], NearCodes],
    mu: float,
    sample_weight: np.ndarray,
    *,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the bound over codes and anchors in turn.

    It ends where a round gains too little. A row's codes are on its nearest anchors,
    which may be others after a move, so that a round can lose: it is undone then.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)
        Rows, behind the metric.
    anchors : ndarray of shape (n_anchors, n_features)
        Where the anchors start.
    code : callable
        From anchors to the codes of the rows.
    mu : float
        Price of distance.
    sample_weight : ndarray of shape (n_rows,)
        Weights of the rows.
    max_iter : int
        Largest number of rounds.
    tol : float
        A round that lowers the bound by a smaller share is the last.

    Returns
    -------
    anchors : ndarray of shape (n_anchors, n_features)
        Where they end.
    history : ndarray of shape (n_rounds + 1,)
        The bound at the start and after each round, as a share of that at the start.
    """
    share = sample_weight / sample_weight.sum(dtype=float)
    unit = _unit(X, anchors)
    codes = code(anchors)
    history = [bound(X, anchors, codes, mu, share, unit)]
    for _ in range(max_iter):
        moved = best_anchors(X, anchors, codes, mu, share, unit)
        new_codes = code(moved)
        value = bound(X, moved, new_codes, mu, share, unit)
        if not value < history[-1]:
            break
        anchors, codes = moved, new_codes
        history.append(value)
        if history[-2] - value < tol * history[-2]:
            break
    return anchors, np.array(history) / (history[0] or 1.0)


def _unit(X, anchors: np.ndarray) -> np.float64:
    """A length in which squares of the data neither overflow nor vanish."""
    largest = max(abs(X.max()), abs(X.min()), np.abs(anchors).max())
    return np.float64(max(largest, np.finfo(float).tiny))


def bound(X, anchors, codes: NearCodes, mu: float, share, unit: np.float64) -> float:
    """The bound for the rows, each with its share, in squares of the unit."""
    total, anchors = 0.0, anchors / unit
    for part in gen_batches(X.shape[0], _ROWS):
        rows = X[part].toarray() if sparse.issparse(X) else X[part]
        g = codes.weights[part].astype(float)
        differences = rows[:, None] / unit - anchors[codes.nearest[part]]
        squares = np.einsum("nkd,nkd->nk", differences, differences)
        rests = np.einsum("nk,nkd->nd", g, differences)
        values = 0.5 * (rests**2).sum(axis=1) + mu * (np.abs(g) * squares).sum(axis=1)
        total += float(share[part] @ values)
    return total


def best_anchors(
    X, anchors, codes: NearCodes, mu: float, share, unit: np.float64
) -> np.ndarray:
    """Anchors at which the bound is least for given codes.

    Its derivatives vanish where ``(G'SG + 2 mu diag(|G|'s)) V = (G + 2 mu |G|)'S X``,
    with S = diag(s) of the rows' shares.
    """
    n, m = X.shape[0], len(anchors)
    columns, values = codes.nearest.ravel(), codes.weights.ravel().astype(float)
    starts = np.arange(0, len(columns) + 1, codes.nearest.shape[1])
    G = sparse.csr_matrix((values, columns, starts), shape=(n, m))
    weighted = G.multiply(share[:, None]).tocsr()
    sizes = abs(weighted)
    system = (G.T @ weighted).toarray()
    diagonal = np.einsum("jj->j", system)
    diagonal += 2 * mu * np.asarray(sizes.sum(axis=0)).ravel()
    target = ((weighted + 2 * mu * sizes) / unit).T @ X
    target = np.asarray(target.todense() if sparse.issparse(target) else target)

    scale = np.where(diagonal > 0, diagonal, 1.0)
    diagonal += _HOLD * scale
    target = target + _HOLD * scale[:, None] * (anchors / unit)
    # Anchors that few rows use weigh little: in units of their own all are alike.
    root = np.sqrt(scale)
    factors = linalg.cho_factor(system / np.outer(root, root), overwrite_a=True)
    found = linalg.cho_solve(factors, target / root[:, None]) / root[:, None]
    most = float(np.finfo(anchors.dtype).max) / float(unit)
    return np.ascontiguousarray(np.clip(found, -most, most) * unit, anchors.dtype)
