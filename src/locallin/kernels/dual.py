"""Dual coordinate descent on the convex problem, on the implicit features.

Problem, with C_i = s_i / (alpha S) and z = g (x) [x; B] never formed:

    minimise  1/2 |w|^2 + sum_i C_i loss(y_i w.z_i)

One variable a_i per row and score, w = sum_i a_i y_i z_i throughout. Hinge and
squared hinge: Hsieh et al. (2008), Algorithm 1. Logistic: Yu, Huang & Lin (2011).
Crammer & Singer: Keerthi et al. (2008), one block of variables per row.

The duality gap is a sum over rows of Fenchel-Young terms, each zero where the row
is optimal. A row that rests at a bound contributes nothing; it is visited again
only after 1, 2, 4, .. epochs, as long as it goes on resting.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.linear import ONE_VS_REST, DataTerm, add_to_class
from locallin.kernels.losses import HINGE, LOGISTIC, loss_value
from locallin.kernels.predict import row_scores
from locallin.kernels.rows import coded_row, dot, dot4, part

_LONGEST_REST = 8


class DualProblem(NamedTuple):
    """The problem above: its losses, C_i and |z_i|^2 of each row, and B^2."""

    data: DataTerm
    upper: np.ndarray
    norms: np.ndarray
    intercept_step: float


class DualState(NamedTuple):
    """Weights, and the dual variables that they are made of; updated in place.

    ``dual`` has shape (n, n_scores). ``rest`` are the epochs that a variable still
    rests, and the length of its last rest: uint8 of shape (n, n_scores, 2), or (n, 2)
    where the variables of a row rest together, or are those of one score.
    """

    coef: np.ndarray
    intercept: np.ndarray
    dual: np.ndarray
    rest: np.ndarray


@jit(inner=True)
def _xlogx(x):
    return x * np.log(x) if x > 0.0 else 0.0


@jit
def gap_term(loss, margin, a, upper):
    """One row's share of the duality gap; never negative but for rounding."""
    primal = upper * loss_value(loss, margin)
    if loss == LOGISTIC:
        conjugate = _xlogx(a) + _xlogx(upper - a) - _xlogx(upper)
    elif loss == HINGE:
        conjugate = -a
    else:
        conjugate = a * a / (4.0 * upper) - a
    return primal + conjugate + a * margin


@jit
def _logistic_minimiser(a, upper, quadratic, margin):
    """Minimise over a' the one-variable dual by a safeguarded Newton's method.

    h(a') = q/2 (a' - a)^2 + margin (a' - a) + a' log a' + (U - a') log(U - a')
    has its minimum inside (0, U), where its derivative changes sign.
    """
    low, high = 0.0, upper
    new = a if 0.0 < a < upper else 0.5 * upper
    for _ in range(100):
        slope = quadratic * (new - a) + margin + np.log(new / (upper - new))
        if slope > 0.0:
            high = new
        else:
            low = new
        bend = quadratic + upper / (new * (upper - new))
        proposal = new - slope / bend
        if not (low < proposal < high):
            proposal = 0.5 * (low + high)
        if proposal == new or not (0.0 < proposal < upper):
            break
        moved = abs(proposal - new)
        new = proposal
        if moved <= 1e-12 * upper:
            break
    return new


@jit(inner=True)
def _due_scores(z, coef, intercept, first, last, due, scores):
    """Scores of the classes marked in ``due``, in groups of four.

    A group is computed whole where two of its classes are due. Groups begin at
    multiples of four whatever the range is, so that the way a class is computed,
    and with it every bit of the result, does not depend on the range.
    """
    values, indices, codes, i = z
    start, stop = codes.indptr[i], codes.indptr[i + 1]
    for group in range(first, last, 4):
        end = min(group + 4, last)
        n_due = 0
        for c in range(group, end):
            n_due += due[c]
            scores[c] = 0.0
        if n_due >= 2 and end == group + 4:
            for p in range(start, stop):
                j, g = codes.indices[p], codes.values[p]
                w, b = coef[j], intercept[j]
                s0, s1, s2, s3 = dot4(
                    part(values, p - start), indices,
                    w[group], w[group + 1], w[group + 2], w[group + 3],
                )  # fmt: skip
                scores[group] += g * (s0 + b[group])
                scores[group + 1] += g * (s1 + b[group + 1])
                scores[group + 2] += g * (s2 + b[group + 2])
                scores[group + 3] += g * (s3 + b[group + 3])
        elif n_due > 0:
            for p in range(start, stop):
                j, g = codes.indices[p], codes.values[p]
                for c in range(group, end):
                    if due[c]:
                        product = dot(part(values, p - start), indices, coef[j, c])
                        scores[c] += g * (product + intercept[j, c])


@jit
def dual_epoch(problem, order, model, busy, first, last, gaps):
    """One pass of coordinate descent over the rows in ``order``.

    Parameters
    ----------
    problem : DualProblem
    model : DualState
    busy : bool array of shape (n_scores,)
        Scores that still need work.
    gaps : array of shape (n_scores,), updated
        The gap terms met on the way are added.
    """
    data, upper, norms, intercept_step = problem
    rows, codes, (labels, positive, _), loss, _ = data
    coef, intercept, dual, rest = model
    scores = np.empty(positive.size, coef.dtype)
    due = np.empty(positive.size, np.bool_)
    for i in order:
        if upper[i] <= 0.0:
            continue
        any_due = False
        for c in range(first, last):
            due[c] = busy[c] and rest[i, c, 0] == 0
            any_due = any_due or due[c]
            if rest[i, c, 0] > 0:
                rest[i, c, 0] -= 1
        if not any_due:
            continue
        z = coded_row(rows, codes, i)
        _due_scores(z, coef, intercept, first, last, due, scores)
        for c in range(first, last):
            if not due[c]:
                continue
            y = 1.0 if labels[i] == positive[c] else -1.0
            margin = y * np.float64(scores[c])
            a = np.float64(dual[i, c])
            term = gap_term(loss, margin, a, upper[i])
            gaps[c] += max(term, 0.0)
            if loss == LOGISTIC:
                new = _logistic_minimiser(a, upper[i], norms[i], margin)
                resting = False
            elif loss == HINGE:
                new = min(max(a + (1.0 - margin) / norms[i], 0.0), upper[i])
                resting = new == a and (a == 0.0 or a == upper[i])
            else:
                ridge = 0.5 / upper[i]
                new = max(a + (1.0 - margin - ridge * a) / (norms[i] + ridge), 0.0)
                resting = new == a and a == 0.0
            if resting:
                rest[i, c, 1] = min(max(2 * rest[i, c, 1], 1), _LONGEST_REST)
                rest[i, c, 0] = rest[i, c, 1]
            else:
                rest[i, c, 1] = 0
            if new != a:
                dual[i, c] = new
                # What was stored, not what was meant: w stays the sum of a y z.
                change = np.float64(dual[i, c]) - a
                add_to_class(z, c, y * change, coef, intercept, intercept_step)


@jit
def _block_minimiser(scores, label, upper, norm, dual, new):
    """Solve one row's Crammer & Singer subproblem.

    minimise sum_c norm/2 a_c^2 + B_c a_c  over  sum a_c = 0, a_c <= U [c = label],
    with B_c = f_c + [c != label] - norm * dual_c. Its solution is
    a_c = min(bound_c, (level - B_c) / norm); clipping only ever raises the other
    entries' share, so classes leave the free set and do not come back.
    """
    n = scores.size
    free = np.ones(n, np.bool_)
    for _ in range(n):
        count = 0
        total = 0.0
        for c in range(n):
            bound = upper if c == label else 0.0
            if free[c]:
                cost = 0.0 if c == label else 1.0
                total += scores[c] + cost - norm * dual[c]
                count += 1
            else:
                total -= norm * bound
        level = total / count
        stable = True
        for c in range(n):
            bound = upper if c == label else 0.0
            if free[c]:
                cost = 0.0 if c == label else 1.0
                a = (level - (scores[c] + cost - norm * dual[c])) / norm
                if a > bound:
                    free[c] = False
                    stable = False
                    a = bound
                new[c] = a
            else:
                new[c] = bound
        if stable:
            break


@jit
def dual_epoch_crammer_singer(problem, order, model):
    """One pass over the rows in ``order``; returns the sum of gap terms met."""
    data, upper, norms, intercept_step = problem
    rows, codes, (labels, _, _), _, _ = data
    coef, intercept, dual, rest = model
    n_scores = coef.shape[1]
    scores = np.empty(n_scores, coef.dtype)
    new = np.empty(n_scores)
    noise = 16.0 * np.finfo(dual.dtype).eps
    gap = 0.0
    for i in order:
        if upper[i] <= 0.0:
            continue
        if rest[i, 0] > 0:
            rest[i, 0] -= 1
            continue
        z = coded_row(rows, codes, i)
        row_scores(z, coef, intercept, 0, n_scores, scores)
        own = labels[i]
        gap += crammer_singer_gap_term(scores, own, dual[i], upper[i])
        _block_minimiser(scores, own, upper[i], norms[i], dual[i], new)
        resting = True
        for c in range(n_scores):
            change = new[c] - dual[i, c]
            if abs(change) > noise * upper[i]:
                resting = False
                before = np.float64(dual[i, c])
                dual[i, c] = new[c]
                moved = np.float64(dual[i, c]) - before
                add_to_class(z, c, moved, coef, intercept, intercept_step)
        if resting:
            rest[i, 1] = min(max(2 * rest[i, 1], 1), _LONGEST_REST)
            rest[i, 0] = rest[i, 1]
        else:
            rest[i, 1] = 0
    return gap


@jit(inner=True)
def crammer_singer_gap_term(scores, label, dual, upper):
    """One row's share of the Crammer & Singer duality gap."""
    slack = 0.0
    term = 0.0
    for c in range(scores.size):
        cost = 0.0 if c == label else 1.0
        slack = max(slack, scores[c] + cost - scores[label])
        term += dual[c] * (scores[c] + cost)
    return max(upper * slack + term, 0.0)


@jit
def sum_gaps(problem, order, model, first, last, gaps):
    """Add the exact gap terms of the rows in ``order`` to ``gaps``."""
    data, upper, _, _ = problem
    rows, codes, (labels, positive, _), loss, _ = data
    coef, intercept, dual, _ = model
    scores = np.empty(positive.size, coef.dtype)
    due = np.empty(positive.size, np.bool_)
    due[:] = True
    for i in order:
        if upper[i] <= 0.0:
            continue
        z = coded_row(rows, codes, i)
        _due_scores(z, coef, intercept, first, last, due, scores)
        for c in range(first, last):
            y = 1.0 if labels[i] == positive[c] else -1.0
            gaps[c] += gap_term(loss, y * scores[c], dual[i, c], upper[i])


@jit
def sum_gaps_crammer_singer(problem, order, model):
    """Return the sum of the exact gap terms of the rows in ``order``."""
    data, upper, _, _ = problem
    rows, codes, (labels, _, _), _, _ = data
    coef, intercept, dual, _ = model
    n_scores = coef.shape[1]
    scores = np.empty(n_scores, coef.dtype)
    total = 0.0
    for i in order:
        if upper[i] > 0.0:
            z = coded_row(rows, codes, i)
            row_scores(z, coef, intercept, 0, n_scores, scores)
            total += crammer_singer_gap_term(scores, labels[i], dual[i], upper[i])
    return total


@jit
def weights_from_dual(problem, order, model):
    """Add sum_i a_i y_i z_i over the rows in ``order`` to the weights."""
    data, _, _, intercept_step = problem
    rows, codes, (labels, positive, _), _, strategy = data
    coef, intercept, dual, _ = model
    for i in order:
        z = coded_row(rows, codes, i)
        for c in range(positive.size):
            a = np.float64(dual[i, c])
            if strategy == ONE_VS_REST and labels[i] != positive[c]:
                a = -a
            if a != 0.0:
                add_to_class(z, c, a, coef, intercept, intercept_step)
