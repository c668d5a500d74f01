"""Dual coordinate descent on the convex problem of numbers, on the implicit features.

Problem, with C_i = s_i / (alpha S) and z = g (x) [x; B] never formed:

    minimise  1/2 |w|^2 + sum_i C_i loss(w.z_i - y_i)

One variable a_i per row, w = sum_i a_i z_i throughout. All losses of residuals here
have a conjugate of one form, so that no kernel knows which loss it is:

    C loss*(-a / C) = flat |a| + ridge a^2 / 2   for  low <= a <= high

    half the square         flat 0,  ridge 1 / C, no bounds
    Huber's with p          flat 0,  ridge 1 / C, |a| <= p C
    epsilon-insensitive     flat p,  ridge 0,     |a| <= C
    its square over 2       flat p,  ridge 1 / C, no bounds
    pinball of quantile p   flat 0,  ridge 0,     -(1 - p) C <= a <= p C

(the epsilon-insensitive case: Ho & Lin 2012). The duality gap is a sum over rows of
Fenchel-Young terms, each zero where the row is optimal. A row that rests at a bound or
at zero contributes nothing; it is visited again only after 1, 2, 4, .. epochs, as long
as it goes on resting.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.linear import add_to_class
from locallin.kernels.rows import Codes, Rows, coded_row, dot, part

_LONGEST_REST = 8


class Conjugate(NamedTuple):
    """The conjugate of each row's loss: bounds and ridge of shape (n,), one flat."""

    low: np.ndarray
    high: np.ndarray
    ridge: np.ndarray
    flat: float


class NumberProblem(NamedTuple):
    """The problem above: rows and codes, y_i, conjugates, |z_i|^2, and B^2."""

    rows: Rows
    codes: Codes
    wanted: np.ndarray
    conjugate: Conjugate
    norms: np.ndarray
    intercept_step: float


@jit
def minimiser(slope, curvature, flat, low, high):
    """Minimise slope a + curvature a^2 / 2 + flat |a| over low <= a <= high."""
    pull = max(abs(slope) - flat, 0.0)
    if pull == 0.0:
        return 0.0
    if curvature == 0.0:
        return low if slope > 0.0 else high
    best = -pull / curvature if slope > 0.0 else pull / curvature
    return min(max(best, low), high)


@jit(inner=True)
def _cost(conjugate, i, residual, a):
    """The conjugate's value, and what a pays for the residual."""
    return a * residual + conjugate.flat * abs(a) + 0.5 * conjugate.ridge[i] * a * a


@jit(inner=True)
def _gap_term(conjugate, i, residual, a):
    """One row's share of the duality gap; never negative but for rounding."""
    low, high, ridge, flat = conjugate
    best = minimiser(residual, ridge[i], flat, low[i], high[i])
    return _cost(conjugate, i, residual, a) - _cost(conjugate, i, residual, best)


@jit(inner=True)
def _score(z, coef, intercept, c):
    values, indices, codes, i = z
    total = 0.0
    start = codes.indptr[i]
    for p in range(start, codes.indptr[i + 1]):
        j = codes.indices[p]
        product = dot(part(values, p - start), indices, coef[j, c])
        total += codes.values[p] * (product + intercept[j, c])
    return total


@jit
def number_dual_epoch(problem, order, model, c):
    """One pass of coordinate descent over the rows in ``order``, for score c.

    Parameters
    ----------
    problem : NumberProblem
    model : DualState

    Returns
    -------
    float
        Sum of the gap terms met on the way.
    """
    rows, codes, wanted, conjugate, norms, intercept_step = problem
    coef, intercept, dual, rest = model
    low, high, ridge, flat = conjugate
    gap = 0.0
    for i in order:
        if rest[i, 0] > 0:
            rest[i, 0] -= 1
            continue
        z = coded_row(rows, codes, i)
        residual = _score(z, coef, intercept, c) - wanted[i]
        a = np.float64(dual[i, c])
        gap += max(_gap_term(conjugate, i, residual, a), 0.0)
        bend = norms[i] + ridge[i]
        new = minimiser(residual - norms[i] * a, bend, flat, low[i], high[i])
        if new == a and (a == low[i] or a == high[i] or a == 0.0):
            rest[i, 1] = min(max(2 * rest[i, 1], 1), _LONGEST_REST)
            rest[i, 0] = rest[i, 1]
        else:
            rest[i, 1] = 0
        if new != a:
            dual[i, c] = new
            # What was stored, not what was meant: w stays the sum of a z.
            change = np.float64(dual[i, c]) - a
            add_to_class(z, c, change, coef, intercept, intercept_step)
    return gap


@jit
def sum_number_gaps(problem, order, model, c):
    """Sum of the exact gap terms of the rows in ``order``, for score c."""
    rows, codes, wanted, conjugate, _, _ = problem
    coef, intercept, dual, _ = model
    gap = 0.0
    for i in order:
        score = _score(coded_row(rows, codes, i), coef, intercept, c)
        gap += _gap_term(conjugate, i, score - wanted[i], np.float64(dual[i, c]))
    return gap


@jit
def weights_from_numbers(rows, codes, order, coef, intercept, dual, intercept_step):
    """Add sum_i a_i z_i over the rows in ``order`` to the weights of all scores."""
    for i in order:
        z = coded_row(rows, codes, i)
        for c in range(dual.shape[1]):
            a = np.float64(dual[i, c])
            if a != 0.0:
                add_to_class(z, c, a, coef, intercept, intercept_step)
