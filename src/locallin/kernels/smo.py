"""Sequential minimal optimisation of a kernel SVM's dual on a block of rows.

    minimise  1/2 sum_ij a_i a_j y_i y_j (K_ij + [i = j] r_i) - sum_i a_i
    over      0 <= a_i <= U_i,  sum_i y_i a_i = 0

r = 0 and U = C is the hinge loss; r = 1 / (2 C) and U = inf its square. Pairs are
chosen by second-order information (Fan, Chen & Lin 2005, WSS 2). ``gradient`` is that
of the objective; b + f of a row that is neither at 0 nor at U meets y exactly.
"""

import numpy as np

from locallin.kernels._jit import jit

_SMALLEST_CURVATURE = 1e-12


@jit
def violation(y, upper, dual, gradient):
    """Largest -y g of the rows that can go up, and smallest of those that can go down.

    The difference is what is left to gain: at the optimum it is not positive.
    """
    top, bottom = -np.inf, np.inf
    for i in range(y.size):
        value = -y[i] * gradient[i]
        up = dual[i] < upper[i] if y[i] > 0 else dual[i] > 0.0
        down = dual[i] > 0.0 if y[i] > 0 else dual[i] < upper[i]
        if up and value > top:
            top = value
        if down and value < bottom:
            bottom = value
    return top, bottom


@jit
def smo_steps(kernel, y, ridge, upper, dual, gradient, tol, max_steps):
    """Optimise over all rows of ``kernel``; returns the number of steps taken.

    ``dual`` and ``gradient`` are updated. Stops at a violation of ``tol``.
    """
    n = y.size
    for step in range(max_steps):
        i, top = -1, -np.inf
        for t in range(n):
            up = dual[t] < upper[t] if y[t] > 0 else dual[t] > 0.0
            if up and -y[t] * gradient[t] > top:
                i, top = t, -y[t] * gradient[t]
        if i < 0:
            return step
        j, bottom, best = -1, np.inf, 0.0
        row_i = kernel[i]
        own = np.float64(row_i[i]) + ridge[i]
        for t in range(n):
            down = dual[t] > 0.0 if y[t] > 0 else dual[t] < upper[t]
            if not down:
                continue
            value = -y[t] * gradient[t]
            bottom = min(bottom, value)
            gain = top - value
            if gain > 0.0:
                curvature = own + kernel[t, t] + ridge[t] - 2.0 * row_i[t]
                score = gain * gain / max(curvature, _SMALLEST_CURVATURE)
                if score > best:
                    j, best = t, score
        if j < 0 or top - bottom <= tol:
            return step
        row_j = kernel[j]
        curvature = own + row_j[j] + ridge[j] - 2.0 * row_i[j]
        curvature = max(curvature, _SMALLEST_CURVATURE)
        # Along y_i a_i + y_j a_j = const: y_i a_i rises by delta, y_j a_j falls by it.
        delta = (-y[i] * gradient[i] + y[j] * gradient[j]) / curvature
        delta = min(delta, upper[i] - dual[i] if y[i] > 0 else dual[i])
        delta = min(delta, dual[j] if y[j] > 0 else upper[j] - dual[j])
        dual[i] += y[i] * delta
        dual[j] -= y[j] * delta
        # Rounding must not leave a variable next to a bound that it has reached.
        for t in (i, j):
            if dual[t] < 1e-12 * min(upper[t], 1.0):
                dual[t] = 0.0
            elif dual[t] > upper[t] * (1.0 - 1e-12):
                dual[t] = upper[t]
        for t in range(n):
            gradient[t] += y[t] * delta * (np.float64(row_i[t]) - row_j[t])
        gradient[i] += delta * y[i] * ridge[i]
        gradient[j] -= delta * y[j] * ridge[j]
    return max_steps


@jit
def scatter_add(out, rows, columns, values):
    """out[rows[a], columns[b]] += values[a, b]."""
    for a in range(rows.size):
        target = out[rows[a]]
        for b in range(columns.size):
            target[columns[b]] += values[a, b]
