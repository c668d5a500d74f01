"""Latent locally linear models: scores, latent weights and SGD steps of ML3.

Class c has m linear models, the rows c m .. (c + 1) m of a table W. Its score is the
best combination of their values z = W_c x + b_c (eq. 7 of the ML3 paper)::

    s_c(x) = max { beta . z : beta >= 0, |beta|_p <= 1 } = |z+|_q,   q = p / (p - 1)

reached at beta_j = (z+_j / s_c)^(q - 1) (eq. 14), or at the best model alone for
p = 1, where q is infinite (eq. 15).
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.rows import add_scaled, get_row

# Where a sum of q-th powers is this far from 1, it is taken again in safe units.
_TINY, _HUGE = 1e-200, 1e200
# Spreads the numbers of the rows over all 64 bits.
_ODD = np.uint64(0xD1342543DE82EF95)


def dual_exponent(p: float) -> float:
    """Return q = p / (p - 1); infinity where p is 1 for all that rounding can tell."""
    return p / (p - 1.0) if p > 1.0 + 1e-6 else np.inf


@jit(inner=True)
def _largest(z):
    best = 0.0
    for j in range(z.size):
        if z[j] > best:
            best = np.float64(z[j])
    return best


@jit(inner=True)
def _sum_of_powers(z, q, unit):
    """Sum of (z+_j unit)^q in double precision."""
    total = 0.0
    if q == 3.0:
        for j in range(z.size):
            v = max(np.float64(z[j]) * unit, 0.0)
            total += v * v * v
    elif q == 2.0:
        for j in range(z.size):
            v = max(np.float64(z[j]) * unit, 0.0)
            total += v * v
    else:
        for j in range(z.size):
            v = np.float64(z[j]) * unit
            if v > 0.0:
                total += v**q
    return total


@jit
def norm(z, q):
    """Return |z+|_q, the score of a class whose models have the values z."""
    if q == np.inf:
        return _largest(z)
    total = _sum_of_powers(z, q, 1.0)
    if _TINY < total < _HUGE:
        return total ** (1.0 / q)
    best = _largest(z)
    if best == 0.0:
        return 0.0
    return best * _sum_of_powers(z, q, 1.0 / best) ** (1.0 / q)


@jit
def latent_weights(z, q, out):
    """Write beta of eq. 14-15 to out, which may be z, and return its score."""
    score = norm(z, q)
    if score == 0.0:
        out[:] = 0.0
    elif q == np.inf:
        free = 1.0
        for j in range(z.size):
            out[j] = free if z[j] == score else 0.0
            free -= np.float64(out[j])
    elif q == 3.0:
        for j in range(z.size):
            share = max(np.float64(z[j]) / score, 0.0)
            out[j] = share * share
    else:
        for j in range(z.size):
            share = np.float64(z[j]) / score
            out[j] = share ** (q - 1.0) if share > 0.0 else 0.0
    return score


@jit
def class_scores(products, q, out):
    """Scores of rows from the values of all models, class after class."""
    n_classes = out.shape[1]
    m = products.shape[1] // n_classes
    for i in range(out.shape[0]):
        for c in range(n_classes):
            out[i, c] = norm(products[i, c * m : (c + 1) * m], q)


@jit
def latent_weights_of_rows(products, q, out):
    """Write beta of each row's values."""
    for i in range(out.shape[0]):
        latent_weights(products[i], q, out[i])


@jit(inner=True)
def _mix(state):
    """The next state and a number strictly between 0 and 1 (splitmix64)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, (np.float64(z >> np.uint64(12)) + 0.5) / 4503599627370496.0


@jit
def random_numbers(seed, row_numbers, out):
    """Numbers strictly between 0 and 1, from a seed per row."""
    top = out.dtype.type(1.0) - np.finfo(out.dtype).eps
    for i in range(row_numbers.size):
        state, _ = _mix(seed ^ (np.uint64(row_numbers[i]) * _ODD))
        for j in range(out.shape[1]):
            state, u = _mix(state)
            out[i, j] = min(out.dtype.type(u), top)


# Places in the numbers of a clock.
TIME, SCALE, SQUARE, LOSS, SCALE_SUM = range(5)


class Clock(NamedTuple):
    """The schedule of SGD's steps, and the numbers that they change.

    The step at time s is 1 / (alpha (s + offset)), and time goes on by ``pace`` from
    row to row; the models are projected onto a ball of the given radius;
    ``constant`` is the square of the constant feature. ``numbers`` are: time s, scale
    a (the models are a times their arrays), squared norm of the arrays, sum of the
    losses met, sum of a over the rows, in the places named above.
    """

    numbers: np.ndarray
    offset: float
    alpha: float
    radius: float
    constant: float
    pace: float


@jit
def add_rows(rows, chosen, multiples, coef):
    """coef[j] += sum_i multiples[i, j] x_chosen[i]."""
    for i in range(chosen.size):
        values, indices = get_row(rows, chosen[i])
        for j in range(coef.shape[0]):
            if multiples[i, j] != 0.0:
                add_scaled(values, indices, multiples[i, j], coef[j])


class LatentBlock(NamedTuple):
    """A block of n rows, with m models of each class.

    ``values`` (n, n_classes * m) are those of all models at the block's beginning, and
    are overwritten; ``gram`` (n, n) are the inner products of the rows; ``own`` (n, m)
    is the true class's beta, frozen; ``fixed`` the frozen beta of all classes, of the
    shape of values, for the first pass, or of shape (0, 0) where the rival's is to be
    found; ``labels`` and ``weights`` (n,) are the classes and weights of the rows.
    """

    values: np.ndarray
    gram: np.ndarray
    own: np.ndarray
    fixed: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


class LatentUpdates(NamedTuple):
    """Updates of the models by rows that violate the margin, one after another.

    ``multiples`` (n, n_classes * m) are what a row adds to the models, as multiples of
    that row; ``touched`` (n, 3) are row, true class and rival; ``earlier`` (n,) the sum
    of the scales a over the rows before.
    """

    multiples: np.ndarray
    touched: np.ndarray
    earlier: np.ndarray


@jit(inner=True)
def _find_rival(z, i, label, block, q):
    """The other class of the highest score, and its score."""
    m, fixed = block.own.shape[1], block.fixed
    rival, highest = -1, -np.inf
    for c in range(z.size // m):
        if c != label:
            s = 0.0
            if fixed.size == 0:
                s = norm(z[c * m : (c + 1) * m], q)
            else:
                for j in range(c * m, (c + 1) * m):
                    s += fixed[i, j] * z[j]
            if s > highest:
                rival, highest = c, s
    return rival, highest


@jit(inner=True)
def _move_later_rows(i, label, rival, row, block, constant):
    """Move the values of the rows after i by the update of row i."""
    values, gram = block.values, block.gram
    m, dtype = block.own.shape[1], values.dtype.type
    for k in range(i + 1, len(values)):
        g = dtype(gram[i, k] + constant)
        later = values[k]
        for j in range(label * m, (label + 1) * m):
            later[j] += g * row[j]
        for j in range(rival * m, (rival + 1) * m):
            later[j] += g * row[j]


@jit
def latent_steps(block, q, clock, updates, losses):
    """SGD over a block of rows, one after another (Algorithm 2 of the paper).

    The values z of the block under the models at its beginning, and the inner
    products of its rows, are all that is needed: a row that moves the models moves
    the values of the rows after it. The result is that of one row after another.

    Parameters
    ----------
    block : LatentBlock
    clock : Clock
        The clock; its numbers are updated.
    updates : LatentUpdates
        Receives the updates.
    losses : array of shape (n,)
        Receives the loss of each row, negative where it has room to spare.

    Returns
    -------
    int
        Number of updates.
    """
    values, gram, own, fixed, labels, weights = block
    m = own.shape[1]
    beta = np.empty(m, values.dtype)
    numbers, constant = clock.numbers, clock.constant
    count = 0
    for i in range(len(values)):
        z = values[i]
        y = labels[i]
        a = numbers[SCALE]
        rival, highest = _find_rival(z, i, y, block, q)
        true = 0.0
        for j in range(m):
            true += own[i, j] * z[y * m + j]
        loss = 1.0 + a * (highest - true)
        losses[i] = loss
        numbers[TIME] += clock.pace
        t = numbers[TIME] + clock.offset
        scale = a * (1.0 - clock.pace / t)
        if loss > 0.0:
            numbers[LOSS] += weights[i] * loss
            if fixed.size == 0:
                latent_weights(z[rival * m : (rival + 1) * m], q, beta)
            else:
                for j in range(m):
                    beta[j] = fixed[i, rival * m + j]
            step = weights[i] / (clock.alpha * t * scale)
            square = 0.0
            row = updates.multiples[count]
            row[:] = 0.0
            for j in range(m):
                row[y * m + j] = step * own[i, j]
                row[rival * m + j] = -step * beta[j]
                square += np.float64(own[i, j]) ** 2 + np.float64(beta[j]) ** 2
            numbers[SQUARE] += 2.0 * step * (true - highest) + step * step * square * (
                gram[i, i] + constant
            )
            _move_later_rows(i, y, rival, row, block, constant)
            updates.touched[count, 0] = i
            updates.touched[count, 1] = y
            updates.touched[count, 2] = rival
            updates.earlier[count] = numbers[SCALE_SUM]
            count += 1
        length = scale * np.sqrt(max(numbers[SQUARE], 0.0))
        if length > clock.radius:
            scale *= clock.radius / length
        numbers[SCALE] = scale
        numbers[SCALE_SUM] += scale
    return count
