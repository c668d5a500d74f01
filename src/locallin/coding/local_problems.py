"""Small problems of codings by reconstruction, those of many rows at once."""

from collections.abc import Callable

import numpy as np

# Steps of the projected gradient, and the largest move at which it rests.
_MOST_STEPS, _REST = 1000, 1e-7


def local_covariances(X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Inner products (x - v_i) . (x - v_j), scaled to a trace of one in each row.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Rows.
    anchors : ndarray of shape (n, k, n_features)
        Anchors of each row.

    Returns
    -------
    ndarray of shape (n, k, k)
        Covariances; of zeros where all anchors are at the row.
    """
    differences = 0.5 * X[:, None].astype(float) - 0.5 * anchors.astype(float)
    largest = np.abs(differences).max(axis=(1, 2), initial=0.0)
    differences /= np.where(largest > 0, largest, 1.0)[:, None, None]
    covariances = differences @ differences.swapaxes(1, 2)
    traces = np.trace(covariances, axis1=1, axis2=2)
    return covariances / np.where(traces > 0, traces, 1.0)[:, None, None]


def simplex_minima(quadratics: np.ndarray) -> np.ndarray:
    """Minimise g' Q g over the simplex, for many small Q at once.

    Parameters
    ----------
    quadratics : ndarray of shape (n, k, k)
        Positive semidefinite matrices.

    Returns
    -------
    ndarray of shape (n, k)
        The minima.
    """
    return _minima(quadratics, lambda points, rows: onto_simplex(points))


def lasso_minima(quadratics: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Minimise g' Q g / 2 + prices . |g| over g that sum to one, for many Q at once.

    Parameters
    ----------
    quadratics : ndarray of shape (n, k, k)
        Positive semidefinite matrices.
    prices : ndarray of shape (n, k)
        Prices of the weights' sizes, not negative.

    Returns
    -------
    ndarray of shape (n, k)
        The minima.
    """
    curvature = np.trace(quadratics, axis1=1, axis2=2)
    steps = prices / np.where(curvature > 0, curvature, 1.0)[:, None]
    return _minima(quadratics, lambda points, rows: shrunk(points, steps[rows]))


def _minima(quadratics: np.ndarray, project: Callable) -> np.ndarray:
    """Minimise a quadratic and what ``project`` stands for, for many at once.

    Projected gradients with Nesterov's momentum, as in the LAE paper,
    but with the step of the trace, which bounds the curvature; momentum is dropped
    where it points uphill. Each row rests by itself.
    """
    n, k, _ = quadratics.shape
    found = np.full((n, k), 1 / k)
    curvature = np.trace(quadratics, axis1=1, axis2=2)
    active = np.flatnonzero(curvature > 0)
    ahead, momentum = found[active], np.ones(len(active))
    matrices = quadratics[active] / curvature[active, None, None]
    here = ahead

    def stepped(points):
        return project(points - (matrices @ points[:, :, None])[:, :, 0], active)

    for _ in range(_MOST_STEPS):
        if not len(active):
            break
        new = stepped(ahead)
        move = new - here
        uphill = ((ahead - new) * move).sum(axis=1) > 0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        factor = np.where(uphill, 0.0, (momentum - 1) / following)
        ahead = new + factor[:, None] * move
        momentum = np.where(uphill, 1.0, following)
        here = new
        moving = np.abs(new - stepped(new)).max(axis=1) > _REST
        found[active[~moving]] = here[~moving]
        active, matrices, here = active[moving], matrices[moving], here[moving]
        ahead, momentum = ahead[moving], momentum[moving]
    found[active] = here
    return found


def shrunk(points: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Minimise |g - point|^2 / 2 + prices . |g| over g that sum to one, row by row.

    It is soft thresholding of the points less a shift, which is found by bisection.

    Parameters
    ----------
    points, prices : ndarray of shape (n, k)
        Points, and prices that are not negative.

    Returns
    -------
    ndarray of shape (n, k)
        The minima.
    """

    def at(shift):
        moved = points - shift[:, None]
        return np.sign(moved) * np.maximum(np.abs(moved) - prices, 0)

    most = prices.max(axis=1)
    low, high = points.min(axis=1) - most - 1, points.max(axis=1) + most
    for _ in range(40):
        middle = (low + high) / 2
        above = at(middle).sum(axis=1) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    # With the signs known, the shift has a formula.
    signs = np.sign(at(low))
    used = np.abs(signs)
    total = ((points - signs * prices) * used).sum(axis=1)
    shift = (total - 1) / np.maximum(used.sum(axis=1), 1)
    return (points - shift[:, None] - signs * prices) * used


def onto_simplex(points: np.ndarray) -> np.ndarray:
    """Nearest points of the simplex, row by row.

    Parameters
    ----------
    points : ndarray of shape (n, k)
        Points.

    Returns
    -------
    ndarray of shape (n, k)
        Points that are not negative and sum to one.
    """
    n, k = points.shape
    descending = -np.sort(-points, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, k + 1)
    count = (descending > excess).sum(axis=1)
    threshold = excess[np.arange(n), count - 1]
    return np.maximum(points - threshold[:, None], 0)
