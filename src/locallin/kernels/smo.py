"""Sequential minimal optimisation of a kernel SVM's dual on a block of rows.

    minimise  1/2 sum_ij a_i a_j y_i y_j (K_ij + [i = j] r_i) - sum_i a_i
    over      0 <= a_i <= U_i,  sum_i y_i a_i = 0

r = 0 and U = C is the hinge loss; r = 1 / (2 C) and U = inf its square. Pairs are
chosen by second-order information (Fan, Chen & Lin 2005, WSS 2). ``gradient`` is that
of the objective; b + f of a row that is neither at 0 nor at U meets y exactly.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

_SMALLEST_CURVATURE = 1e-12


class Dual(NamedTuple):
    """The problem's rows, and its dual variables, which are updated in place."""

    y: np.ndarray
    ridge: np.ndarray
    upper: np.ndarray
    variables: np.ndarray
    gradient: np.ndarray


@jit(inline=True)
def _can_rise(dual, t):
    """Whether y_t a_t can go up."""
    if dual.y[t] > 0:
        return dual.variables[t] < dual.upper[t]
    return dual.variables[t] > 0.0


@jit(inline=True)
def _can_fall(dual, t):
    """Whether y_t a_t can go down."""
    if dual.y[t] > 0:
        return dual.variables[t] > 0.0
    return dual.variables[t] < dual.upper[t]


@jit(inline=True)
def _steepest_row(dual):
    """Row of the largest -y g that can rise, -1 where there is none, and its -y g."""
    i, top = -1, -np.inf
    for t in range(dual.y.size):
        if _can_rise(dual, t) and -dual.y[t] * dual.gradient[t] > top:
            i, top = t, -dual.y[t] * dual.gradient[t]
    return i, top


@jit(inline=True)
def _best_partner(kernel, dual, i, top):
    """Row whose pair with i gains most, -1 where there is none, and the smallest -y g.

    The gain is that of the second-order model of the objective along the pair.
    """
    j, bottom, best = -1, np.inf, 0.0
    row = kernel[i]
    own = np.float64(row[i]) + dual.ridge[i]
    for t in range(dual.y.size):
        if not _can_fall(dual, t):
            continue
        value = -dual.y[t] * dual.gradient[t]
        bottom = min(bottom, value)
        gain = top - value
        if gain > 0.0:
            curvature = own + kernel[t, t] + dual.ridge[t] - 2.0 * row[t]
            score = gain * gain / max(curvature, _SMALLEST_CURVATURE)
            if score > best:
                j, best = t, score
    return j, bottom


@jit(inline=True)
def _step_along_pair(kernel, dual, i, j):
    """Move y_i a_i up and y_j a_j down to the optimum or to a bound."""
    y, variables, upper, gradient = dual.y, dual.variables, dual.upper, dual.gradient
    row_i, row_j = kernel[i], kernel[j]
    curvature = np.float64(row_i[i]) + dual.ridge[i]
    curvature = curvature + row_j[j] + dual.ridge[j] - 2.0 * row_i[j]
    curvature = max(curvature, _SMALLEST_CURVATURE)
    delta = (-y[i] * gradient[i] + y[j] * gradient[j]) / curvature
    delta = min(delta, upper[i] - variables[i] if y[i] > 0 else variables[i])
    delta = min(delta, variables[j] if y[j] > 0 else upper[j] - variables[j])
    variables[i] += y[i] * delta
    variables[j] -= y[j] * delta
    # Rounding must not leave a variable next to a bound that it has reached.
    for t in (i, j):
        if variables[t] < 1e-12 * min(upper[t], 1.0):
            variables[t] = 0.0
        elif variables[t] > upper[t] * (1.0 - 1e-12):
            variables[t] = upper[t]
    for t in range(y.size):
        gradient[t] += y[t] * delta * (np.float64(row_i[t]) - row_j[t])
    gradient[i] += delta * y[i] * dual.ridge[i]
    gradient[j] -= delta * y[j] * dual.ridge[j]


@jit
def smo_steps(kernel, dual, tol, max_steps):
    """Optimise over all rows of ``kernel``; returns the number of steps taken.

    The variables and the gradient of ``dual`` are updated. Stops at a violation of
    ``tol``.
    """
    for step in range(max_steps):
        i, top = _steepest_row(dual)
        if i < 0:
            return step
        j, bottom = _best_partner(kernel, dual, i, top)
        if j < 0 or top - bottom <= tol:
            return step
        _step_along_pair(kernel, dual, i, j)
    return max_steps


@jit
def scatter_add(out, rows, columns, values):
    """out[rows[a], columns[b]] += values[a, b]."""
    for a in range(rows.size):
        target = out[rows[a]]
        for b in range(columns.size):
            target[columns[b]] += values[a, b]
