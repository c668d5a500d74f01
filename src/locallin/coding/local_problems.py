"""Small problems of codings by reconstruction, those of many rows at once."""

import numpy as np

from locallin.kernels.local_problems import local_minima

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
    return _minima(quadratics, np.zeros(quadratics.shape[:2]), signed=False)


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
    return _minima(quadratics, prices.copy(), signed=True)


def _minima(quadratics: np.ndarray, prices: np.ndarray, signed: bool) -> np.ndarray:
    found = np.empty(prices.shape)
    local_minima(quadratics.copy(), prices, signed, _MOST_STEPS, _REST, found)
    return found
