"""How many anchors: add them where rows are wrong, as long as held-out rows gain."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from locallin.anchors import apportion, cluster, distinct
from locallin.kernels.rows import Codes

# Share of the standard error that fewer anchors may cost.
_TOLERANCE = 0.25


class Stage(NamedTuple):
    """A model with some anchors, and the rows that it has wrong."""

    start: np.ndarray
    anchors: np.ndarray  # where learning has moved them, if it does
    codes: Codes
    wrong: np.ndarray  # 1 or 0 for each row


class Growth(NamedTuple):
    """The anchors that were chosen, and the way there."""

    anchors: np.ndarray
    path: np.ndarray  # number of anchors, held-out error, its standard error


def grow_anchors(
    measure: Callable[[np.ndarray], Stage],
    usual: np.ndarray,
    X,
    weights: np.ndarray,
    held: np.ndarray,
    limit: int,
    rng: np.random.RandomState,
) -> Growth:
    """Double the anchors, from one, while held-out rows gain; choose.

    Every stage splits anchors in proportion to the wrong rows they speak for. Up to
    the number of the usual anchors growing goes on in any case, because two anchors
    may do no better than one where twenty do; the usual ones are a candidate too. The
    fewest anchors are chosen whose held-out error exceeds the least one by no more
    than a quarter of the standard error of the difference, row by row.

    Parameters
    ----------
    measure : callable
        Fits a model that starts from given anchors.
    usual : ndarray of shape (m, n_features)
        Anchors that would be taken without growing.
    X : {ndarray, CSR matrix} of shape (n, n_features)
        What the anchors see.
    weights : ndarray of shape (n,)
        Weights of the rows.
    held : ndarray of shape (n_held,)
        Rows that were predicted by models that did not see them.
    limit : int
        Largest number of anchors.
    """
    last = best = measure(cluster(X, 1, weights, rng))
    stages = [last]

    def rise(stage):
        return weighted_mean((stage.wrong - best.wrong)[held], weights[held])

    while len(last.anchors) < limit:
        n_new = min(len(last.anchors), limit - len(last.anchors))
        anchors = split_anchors(last, X, weights, n_new, rng)
        if len(anchors) == len(last.anchors):
            break
        last = measure(anchors)
        stages.append(last)
        change, doubt = rise(last)
        if change < 0.0:
            best = last
        if change > -_TOLERANCE * doubt and len(anchors) >= len(usual):
            break
    last = measure(usual)
    stages.append(last)
    best = last if rise(last)[0] < 0.0 else best
    stages.sort(key=lambda stage: len(stage.anchors))
    for chosen in stages:
        change, doubt = rise(chosen)
        if change <= _TOLERANCE * doubt:
            break
    path = [
        (len(s.anchors), *weighted_mean(s.wrong[held], weights[held])) for s in stages
    ]
    return Growth(chosen.start, np.array(path))


def held_out_folds(labels: np.ndarray, count: int, rng) -> list[np.ndarray]:
    """Masks of fifths of the rows, stratified, without which two classes remain."""
    order = np.lexsort((rng.permutation(len(labels)), labels))
    fold = np.empty(len(labels), int)
    fold[order] = np.arange(len(labels)) % 5
    masks = [fold == f for f in range(count)]
    return [m for m in masks if m.any() and len(np.unique(labels[~m])) > 1]


def split_anchors(stage: Stage, X, weights, n_new: int, rng) -> np.ndarray:
    """Replace anchors by clusters of their rows, most where rows are wrong.

    A right row counts as much as an average one, so that no region is forgotten.
    """
    _, anchors, codes, wrong = stage
    m = len(anchors)
    emphasis = weights * (wrong + max(wrong.mean(), 1e-3))
    counts = np.diff(codes.indptr)
    claims = np.bincount(codes.indices, codes.values * np.repeat(emphasis, counts), m)
    # The anchor that speaks loudest for a row: the last in order of its weight.
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((codes.values, rows))
    owner = codes.indices[order][codes.indptr[1:] - 1]
    sizes = np.bincount(owner, minlength=m)
    new = np.minimum(apportion(n_new, claims), np.maximum(sizes - 1, 0))
    parts = [anchors[new == 0]]
    for j in np.flatnonzero(new):
        own = np.flatnonzero(owner == j)
        parts.append(cluster(X[own], 1 + new[j], emphasis[own], rng))
    return distinct(np.vstack(parts))


def weighted_mean(values, weights) -> tuple[float, float]:
    """Weighted mean, and its standard error."""
    weights = weights / weights.sum(dtype=float)
    mean = float(weights @ values)
    return mean, float(np.sqrt((weights**2) @ (values - mean) ** 2))
