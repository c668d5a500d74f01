"""Nearest anchors and the weights they get: the local coordinates g(x)."""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.distances import (
    all_anchors,
    all_distances,
    kth_smallest,
    largest,
    least,
    smallest,
)
from locallin.kernels.groups import keep_below, probe
from locallin.kernels.rows import get_row, n_rows, squared_norm

INVERSE_DISTANCE = 0
SOFT_ASSIGNMENT = 1
ADAPTIVE = 2

# Where Newton's method stops: to choose candidates, and among them.
_ROUGH, _FINE = 1e-4, 1e-10


class AnchorLengths(NamedTuple):
    """Squared norms of the anchors, the largest norm, and the number of features.

    They bound the rounding of products of rows with anchors.
    """

    norms: np.ndarray
    largest: float
    n_features: int


class ActiveAnchors(NamedTuple):
    """Room for the codes of n rows.

    ``counts`` (n,) are the numbers of active anchors; the others have room for all
    candidates, and hold the active anchors of each row in ascending order and what
    belongs to them, one row behind the other.
    """

    counts: np.ndarray
    nearest: np.ndarray
    weights: np.ndarray
    distances: np.ndarray


class NearestRoom(NamedTuple):
    """Room for the anchors of a row, and for the k nearest of them."""

    keys: np.ndarray
    candidates: np.ndarray
    squares: np.ndarray
    top: np.ndarray
    where: np.ndarray


class ActiveRoom(NamedTuple):
    """Room for the anchors of a row; ``rough`` is in the precision of the anchors.

    ``mu`` and ``norms`` hold those of all anchors in that precision.
    """

    distances: np.ndarray
    us: np.ndarray
    chosen: np.ndarray
    candidates: np.ndarray
    rough: np.ndarray
    mu: np.ndarray
    norms: np.ndarray


@jit(inner=True)
def _numbers_below(limit, keys, numbers):
    """Write the numbers of the keys that are not above a limit; returns how many."""
    count = 0
    for j in range(keys.size):
        numbers[count] = j
        count += 0 if keys[j] > limit else 1
    return count


@jit(inner=True)
def _choose_candidates(values, products, lengths, k, keys, candidates):
    """Anchors that may be among the k nearest; returns how many there are.

    The products carry the rounding of a matrix product; an anchor whose true
    distance is among the k smallest cannot lie further than twice its bound above
    the k-th smallest computed |v|^2 - 2 x.v. Where the bound is not finite every
    anchor is a candidate.
    """
    norms, largest_norm, n_features = lengths
    total = 0.0
    for j in range(keys.size):
        keys[j] = norms[j] - 2.0 * products[j]
        total += keys[j]
    rounding = (n_features + 4) * np.finfo(products.dtype).eps
    reach = 2.0 * np.sqrt(squared_norm(values)) + largest_norm
    bound = 2.0 * rounding * reach * largest_norm
    limit = np.inf
    if np.isfinite(total) and np.isfinite(bound):
        limit = kth_smallest(keys, k) + bound
    return _numbers_below(limit, keys, candidates)


@jit(inner=True)
def _nearest_in_sight(values, probes, i, k, candidates, squares):
    """Anchors in sight of a row that may be its k nearest; returns how many."""
    count = probe(probes, i, values, k, candidates, squares)
    if probes.panels.size == 0:
        return count
    limits = np.finfo(squares.dtype)
    found = squares[:count]
    farthest = largest(found)
    if not np.isfinite(farthest):
        return count
    rounding = 4 * (values.size + 4) * limits.eps
    limit = kth_smallest(found, k) * (1.0 + rounding) + limits.tiny / limits.eps
    return keep_below(limit, squares, count, candidates)


@jit
def anchor_distances(rows, anchors, norms, out):
    """Distance of every row to every anchor; finite."""
    _anchor_distances(rows, anchors, norms, all_anchors(anchors.shape[0]), out)


@jit(inner=True)
def _anchor_distances(rows, anchors, norms, everyone, out):
    for i in range(n_rows(rows)):
        values, indices = get_row(rows, i)
        all_distances(values, indices, anchors, norms, everyone, everyone.size, out[i])


@jit
def nearest_anchors(rows, products, probes, anchors, norms, nearest, distances):
    """The k nearest of the anchors that each row looks at, exactly, nearest first.

    Parameters
    ----------
    rows : Rows
    products : array of shape (n, m) or (0, 0)
        Inner products of rows and anchors, from which candidates are chosen. Without
        them every anchor is a candidate. Distances, and with them the result, are
        computed from the rows themselves either way.
    probes : Probes
        The groups of anchors that the rows look at, where they do not look at all
        anchors; there are no products then.
    anchors : array of shape (m, D)
    norms : array of shape (m,)
        Squared norms of the anchors.
    nearest, distances : arrays of shape (n, k)
        Output.
    """
    m, k = len(anchors), nearest.shape[1]
    room = NearestRoom(
        np.empty(m), all_anchors(m), np.empty(m, anchors.dtype),
        np.empty(k), np.empty(k, np.int64),
    )  # fmt: skip
    _nearest_anchors(rows, products, probes, anchors, norms, room, nearest, distances)


@jit(inner=True)
def _nearest_anchors(rows, products, probes, anchors, norms, room, nearest, distances):
    keys, candidates, squares, top, where = room
    n_candidates, k = len(anchors), len(top)
    lengths = AnchorLengths(norms, np.sqrt(largest(norms)), anchors.shape[1])
    farthest = np.finfo(distances.dtype).max
    for i in range(n_rows(rows)):
        values, indices = get_row(rows, i)
        if probes.nearest.size > 0:
            n_candidates = _nearest_in_sight(values, probes, i, k, candidates, squares)
        elif products.size > 0:
            n_candidates = _choose_candidates(
                values, products[i], lengths, k, keys, candidates
            )
        all_distances(values, indices, anchors, norms, candidates, n_candidates, keys)
        smallest(keys, n_candidates, top, where)
        for p in range(k):
            nearest[i, p] = candidates[where[p]]
            distances[i, p] = min(top[p], farthest)


@jit(inner=True)
def _inverse_distance(distances):
    """g_j proportional to 1/d_j; a point on an anchor has all its weight there."""
    first = np.float64(distances[0])
    total = 0.0
    for p in range(distances.size):
        d = np.float64(distances[p])
        g = first / d if first > 0.0 else (1.0 if d == 0.0 else 0.0)
        distances[p] = g
        total += g
    for p in range(distances.size):
        distances[p] /= total


@jit(inner=True)
def soft_assignment(distances, beta):
    """g_j proportional to exp(-beta d_j^2), relative to the nearest anchor."""
    first = np.float64(distances[0])
    total = 0.0
    for p in range(distances.size):
        d = np.float64(distances[p])
        # (d - first)(d + first) and this order: no square is formed.
        g = np.exp(-(beta * (d - first)) * (d + first)) if d > first else 1.0
        distances[p] = g
        total += g
    for p in range(distances.size):
        distances[p] /= total


@jit(inner=True)
def soft_assignment_by_anchor(distances, nearest, betas):
    """g_j proportional to exp(-beta_j d_j^2), each anchor with its own beta."""
    smallest = np.inf
    for p in range(distances.size):
        root = np.sqrt(betas[nearest[p]]) * np.float64(distances[p])
        smallest = min(smallest, root)
    total = 0.0
    for p in range(distances.size):
        root = np.sqrt(betas[nearest[p]]) * np.float64(distances[p])
        g = np.exp(-(root - smallest) * (root + smallest)) if root > smallest else 1.0
        distances[p] = g
        total += g
    for p in range(distances.size):
        distances[p] /= total


@jit(inner=True)
def adaptive(distances, mu):
    """Weights that minimise |g|_2 + mu g.d over the simplex, in place.

    Algorithm 1 of the DU-LLSVM paper, the k*-nearest-neighbours rule: anchors are
    added in the order of their distance while lambda (eq. 11) exceeds the next one.
    ``distances`` ascend; u is taken relative to the first, which moves lambda by the
    same amount. Returns the number k of positive weights; the others are set to 0.
    """
    first = np.float64(distances[0])
    level, k = 1.0, 0
    total, squares = 0.0, 0.0
    while k < distances.size:
        u = mu * (np.float64(distances[k]) - first)
        if not u < level:
            break
        k += 1
        total += u
        squares += u * u
        level = (total + np.sqrt(max(k + total * total - k * squares, 0.0))) / k
    share = 0.0
    for p in range(k):
        share += level - mu * (np.float64(distances[p]) - first)
    for p in range(k):
        distances[p] = (level - mu * (np.float64(distances[p]) - first)) / share
    distances[k:] = 0.0
    return k


@jit(inner=True)
def _sort_by_anchor(nearest, weights):
    for q in range(1, nearest.size):
        j, g = nearest[q], weights[q]
        p = q
        while p > 0 and nearest[p - 1] > j:
            nearest[p] = nearest[p - 1]
            weights[p] = weights[p - 1]
            p -= 1
        nearest[p] = j
        weights[p] = g


@jit
def weigh(nearest, distances, kind, bandwidth):
    """Turn ascending distances into weights, in place.

    ``bandwidth`` has one number, or one per anchor. Each row of weights is finite,
    non-negative and sums to one.
    """
    for i in range(nearest.shape[0]):
        if kind == INVERSE_DISTANCE:
            _inverse_distance(distances[i])
        elif bandwidth.size == 1:
            soft_assignment(distances[i], bandwidth[0])
        else:
            soft_assignment_by_anchor(distances[i], nearest[i], bandwidth)


@jit
def sort_by_anchor(nearest, weights):
    """Bring the anchors of each row, and their weights, into ascending order."""
    for i in range(nearest.shape[0]):
        _sort_by_anchor(nearest[i], weights[i])


@jit(inner=True)
def perplexity(weights):
    """exp(entropy): the effective number of anchors."""
    entropy = 0.0
    for p in range(weights.size):
        if weights[p] > 0.0:
            entropy -= weights[p] * np.log(np.float64(weights[p]))
    return np.exp(entropy)


@jit
def mean_perplexity(distances, kind, bandwidth):
    """Average perplexity of soft or adaptive weights over rows of distances."""
    weights = np.empty(distances.shape[1])
    total = 0.0
    for i in range(distances.shape[0]):
        for p in range(weights.size):
            weights[p] = distances[i, p]
        if kind == SOFT_ASSIGNMENT:
            soft_assignment(weights, bandwidth)
        else:
            adaptive(weights, bandwidth)
        total += perplexity(weights)
    return total / distances.shape[0]


@jit(inner=True)
def _threshold(keys, start, tolerance):
    """The root of sum (lambda - u)+^2 = 1, from above by Newton's method."""
    real = keys.dtype.type
    zero, one, two = real(0), real(1), real(2)
    level = start
    for _ in range(30):
        total, squares = zero, zero
        for j in range(keys.size):
            room = max(level - keys[j], zero)
            total += room
            squares += room * room
        step = (squares - one) / (two * total)
        level -= step
        if step <= real(tolerance):
            break
    return level


@jit(inner=True)
def _active_in_sight(values, probes, i, mu, largest_mu, candidates, keys):
    """Anchors in sight of a row that may have a positive weight.

    Returns as ``_choose_active``, with ``keys`` as room for squares and then u.
    """
    count = probe(probes, i, values, 1, candidates, keys)
    real, limits = keys.dtype.type, np.finfo(keys.dtype)
    if probes.panels.size == 0:
        return count, real(np.inf)
    total = real(0)
    for p in range(count):
        price = real(mu[candidates[p]] if mu.size > 1 else mu[0])
        keys[p] = price * np.sqrt(keys[p])
        total += keys[p]
    if not (np.isfinite(total) and np.isfinite(largest_mu)):
        return count, real(np.inf)
    level = _threshold(keys[:count], least(keys[:count]) + real(1), _ROUGH)
    rounding = (values.size + 8 + 16 * count) * limits.eps
    error = rounding * (level + 1.0) + _ROUGH
    error += largest_mu * np.sqrt(limits.tiny / limits.eps)
    limit = real(level + 2.0 * error)
    return keep_below(limit, keys, count, candidates), limit


@jit(inner=True)
def _choose_active(values, products, lengths, mu, largest_mu, keys, candidates):
    """Anchors that may have a positive weight.

    Returns how many there are, and a number that lambda is not above: lambda, the root
    of sum (lambda - u)+^2 = 1, is found by Newton's method in the precision of the
    products, ``keys`` being room for u. It is at most the smallest u + 1, beyond which
    no anchor is looked at again, and moves by no more than the largest error of a u, so
    that an active anchor lies no further than twice that error above it. Where
    something is not finite all are candidates.
    """
    norms, largest_norm, n_features = lengths
    m = keys.size
    real = keys.dtype.type
    eps = np.finfo(keys.dtype).eps
    square = squared_norm(values)
    bound = (n_features + 8) * eps * (np.sqrt(square) + largest_norm) ** 2
    one, two, zero = real(1), real(2), real(0)
    offset, total = real(square), zero
    for j in range(m):
        u = mu[j] * np.sqrt(max(offset + (norms[j] - two * products[j]), zero))
        keys[j] = u
        total += u
    if not (np.isfinite(total) and np.isfinite(bound) and np.isfinite(largest_mu)):
        return _numbers_below(real(np.inf), keys, candidates), real(np.inf)
    nearest = least(keys)
    # An error e of a squared distance is one of sqrt(e), or of e / d, of d; and no d
    # is below the smallest u over the largest mu.
    error = largest_mu * np.sqrt(bound)
    if nearest > error:
        error = largest_mu * largest_mu * bound / nearest
    highest = nearest + one
    error += 16 * m * eps * (highest + one) + _ROUGH
    count = _numbers_below(real(highest + 2.0 * error), keys, candidates)
    for p in range(count):
        keys[p] = keys[candidates[p]]
    level = _threshold(keys[:count], highest, _ROUGH)
    limit = real(level + 2.0 * error)
    return keep_below(limit, keys, count, candidates), limit


@jit(inner=True)
def _keep_active(level, u, count, chosen):
    """Keep what lies below lambda, in place; returns how many there are."""
    kept = 0
    for p in range(count):
        value = u[p]
        u[kept], chosen[kept] = value, chosen[p]
        kept += 1 if value < level else 0
    return kept


@jit(inner=True)
def _level(u):
    """Lambda where all of some u lie below it (eq. 11), and the sum of these."""
    total, squares = 0.0, 0.0
    for p in range(u.size):
        total += u[p]
        squares += u[p] * u[p]
    k = u.size
    return (total + np.sqrt(max(k + total * total - k * squares, 0.0))) / k, total


@jit(inner=True)
def _weigh_active(u, limit, chosen, weights):
    """Adaptive weights of the chosen anchors, in any order; returns how many have one.

    The u are relative to the smallest, and lambda is not above ``limit``. Where not all
    of them lie below lambda, Newton's method tells which do. Lambda then follows from
    these alone: weights do not depend, in any bit, on what else was looked at.
    """
    k = u.size
    level, total = _level(u)
    if not largest(u) < level:
        level = _threshold(u, min(limit, 1.0), _FINE) + _FINE
        kept, k = _keep_active(level, u, k, chosen), k + 1
        while kept < k:
            k = kept
            level, total = _level(u[:k])
            kept = _keep_active(level, u, k, chosen)
    for p in range(k):
        weights[p] = (level - u[p]) / (k * level - total)
    return k


@jit(inline=True)
def _of_each(values, m, kind):
    """Numbers for all anchors in another precision, from as many or from one."""
    out = np.empty(m, kind)
    for j in range(m):
        out[j] = values[j % values.size]
    return out


@jit
def adaptive_codes(rows, products, probes, anchors, norms, mu, out):
    """Adaptive coding of each row, as many anchors as it needs.

    As in ``nearest_anchors`` the products, or the probes, where there are any, only
    choose the candidates.

    Parameters
    ----------
    mu : array of shape (1,) or (m,)
        Price of distance, of all anchors or of each: u_j = mu_j d_j.
    out : ActiveAnchors
        Output.
    """
    m = len(anchors)
    room = ActiveRoom(
        np.empty(m), np.empty(m), np.empty(m, np.int64), all_anchors(m),
        np.empty(m, anchors.dtype), _of_each(mu, m, anchors.dtype),
        _of_each(norms, m, anchors.dtype),
    )  # fmt: skip
    _adaptive_codes(rows, products, probes, anchors, norms, mu, room, out)


@jit(inner=True)
def _adaptive_codes(rows, products, probes, anchors, norms, mu, room, out):
    counts, nearest, weights, distances = out
    found, us, chosen, candidates, rough, rough_mu, rough_norms = room
    filled, n_candidates = 0, len(anchors)
    lengths = AnchorLengths(rough_norms, np.sqrt(largest(norms)), anchors.shape[1])
    farthest = np.finfo(distances.dtype).max
    largest_mu = largest(mu)
    limit = anchors.dtype.type(np.inf)
    for i in range(n_rows(rows)):
        values, indices = get_row(rows, i)
        if probes.nearest.size > 0:
            n_candidates, limit = _active_in_sight(
                values, probes, i, mu, largest_mu, candidates, rough
            )
        elif products.size > 0:
            n_candidates, limit = _choose_active(
                values, products[i], lengths, rough_mu, largest_mu, rough, candidates
            )
        all_distances(values, indices, anchors, norms, candidates, n_candidates, found)
        for p in range(n_candidates):
            price = mu[candidates[p]] if mu.size > 1 else mu[0]
            us[p], chosen[p] = min(price * found[p], farthest), p
        u = us[:n_candidates]
        first = least(u)
        for p in range(n_candidates):
            u[p] -= first
        js, gs, ds = nearest[filled:], weights[filled:], distances[filled:]
        k = _weigh_active(u, limit - first, chosen, gs)
        counts[i] = k
        filled += k
        for q in range(k):
            j, g, d = candidates[chosen[q]], gs[q], min(found[chosen[q]], farthest)
            p = q
            while p > 0 and js[p - 1] > j:
                js[p], gs[p], ds[p] = js[p - 1], gs[p - 1], ds[p - 1]
                p -= 1
            js[p], gs[p], ds[p] = j, g, d
