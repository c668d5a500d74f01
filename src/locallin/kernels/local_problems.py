"""Small problems of codings by reconstruction: weights of a row on its few anchors.

For each row, over weights g that sum to one::

    min_g  1/2 g' Q g  +  c . |g|

with weights of either sign, or with c = 0 and none below zero.
"""

import numpy as np

from locallin.kernels._jit import jit


@jit(inner=True)
def _left(value, price, signed):
    """What a price leaves of a value."""
    if value > price:
        return value - price
    if signed and value < -price:
        return value + price
    return 0.0


@jit(inner=True)
def _sum_at(shift, points, prices, signed):
    """Sum of the weights that a shift of the points leaves."""
    total = 0.0
    for j in range(points.size):
        total += _left(points[j] - shift, prices[j], signed)
    return total


@jit(inner=True)
def _sort(values, count):
    """Sort the first few values in place."""
    for i in range(1, count):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@jit
def project(points, prices, signed, breaks, out):
    """Minimise |g - points|^2 / 2 + prices . |g| over g that sum to one.

    It is soft thresholding of the points less a shift. Their sum falls with the shift,
    in straight lines between ``points - prices`` and ``points + prices``: the line that
    meets one is looked for among these, and the shift then has a formula. Without
    ``signed`` no weight is below zero; with prices of zero that is the nearest point of
    the simplex.

    Parameters
    ----------
    points, prices, out : array of shape (k,)
    signed : bool
    breaks : array of shape (2 k,), scratch
    """
    k = points.size
    count = k
    for j in range(k):
        breaks[j] = points[j] - prices[j]
    if signed:
        for j in range(k):
            breaks[k + j] = points[j] + prices[j]
        count = 2 * k
    _sort(breaks, count)
    # The sum is one or more at ``low`` and less than one at ``high``.
    low, high = -1, count - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _sum_at(breaks[middle], points, prices, signed) >= 1.0:
            low = middle
        else:
            high = middle
    total, used = 0.0, 0
    for j in range(k):
        if points[j] - prices[j] >= breaks[high]:
            total += points[j] - prices[j]
            used += 1
        elif signed and low >= 0 and points[j] + prices[j] <= breaks[low]:
            total += points[j] + prices[j]
            used += 1
    shift = (total - 1.0) / used
    for j in range(k):
        out[j] = _left(points[j] - shift, prices[j], signed)


@jit(inner=True)
def _step(Q, points, prices, signed, scratch, out):
    """A step of the gradient with the inverse of the curvature, and the projection."""
    moved, breaks = scratch
    k = points.size
    for i in range(k):
        slope = 0.0
        for j in range(k):
            slope += Q[i, j] * points[j]
        moved[i] = points[i] - slope
    project(moved, prices, signed, breaks, out)


@jit
def local_minima(quadratics, prices, signed, most_steps, rest, out):
    """Minimise 1/2 g' Q g + prices . |g| over g that sum to one, for each row.

    Projected gradients with Nesterov's momentum, with the step of the trace, which
    bounds the curvature; momentum is dropped where it points uphill. A row rests where
    a step from it moves no weight by more than ``rest``. Where Q is zero all weights
    are equal.

    Parameters
    ----------
    quadratics : array of shape (n, k, k), overwritten
    prices : array of shape (n, k), overwritten
    signed : bool
        Whether weights may be negative.
    most_steps : int
    rest : float
    out : array of shape (n, k)
    """
    n, k = out.shape
    here, ahead, new = np.empty(k), np.empty(k), np.empty(k)
    following = np.empty(k)
    scratch = np.empty(k), np.empty(2 * k)
    for i in range(n):
        Q, c = quadratics[i], prices[i]
        here[:] = 1.0 / k
        curvature = 0.0
        for j in range(k):
            curvature += Q[j, j]
        if curvature > 0.0:
            for j in range(k):
                c[j] /= curvature
                for other in range(k):
                    Q[j, other] /= curvature
            ahead[:] = here
            momentum = 1.0
            for _ in range(most_steps):
                _step(Q, ahead, c, signed, scratch, new)
                uphill = 0.0
                for j in range(k):
                    uphill += (ahead[j] - new[j]) * (new[j] - here[j])
                next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                factor = (momentum - 1.0) / next_momentum
                if uphill > 0.0:
                    factor, next_momentum = 0.0, 1.0
                for j in range(k):
                    ahead[j] = new[j] + factor * (new[j] - here[j])
                    here[j] = new[j]
                momentum = next_momentum
                _step(Q, here, c, signed, scratch, following)
                largest = 0.0
                for j in range(k):
                    largest = max(largest, abs(following[j] - here[j]))
                if not largest > rest:
                    break
        out[i] = here
