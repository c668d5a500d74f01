"""What follows from scores.

Probabilities, by the loss or by held-out rows; means, of which scores are logarithms.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

# Losses whose scores have probabilities.
PROBABLE = ("logistic", "multinomial")
# Losses whose scores are logarithms, and the largest score that has a power in single
# precision: a score beyond it, or below its negative, counts as that.
LOG_LINKED = ("poisson", "gamma")
LARGEST_POWER = 87.0
# Pull of the offset towards what class weights make of it, in rows.
_PULL = 1.0
_LOG_SCALES = (-12.0, 12.0)


def exponentials(scores: np.ndarray) -> np.ndarray:
    """What scores are the logarithms of: positive and finite, of the same type."""
    return np.exp(np.clip(scores, -LARGEST_POWER, LARGEST_POWER))


class Link(NamedTuple):
    """Probabilities of scores: those of ``kind`` for scores times ``scale``.

    Then the logarithm of each class's probability moves by its ``offset``, and all of
    them are made to add up to one again. ``kind`` is "logistic", which takes each
    class against the rest, or "multinomial", the softmax.
    """

    kind: str
    scale: float
    offset: np.ndarray

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of scores of shape (n,) or (n, n_classes), of their type."""
        # In double precision and within bounds, so that no product is infinite.
        found = np.clip(scores.astype(float), -1e200, 1e200) * self.scale
        if found.ndim == 1:
            odds = expit(found + (self.offset[1] - self.offset[0]))
            found = np.column_stack([1.0 - odds, odds])
        elif self.kind == "multinomial":
            found = softmax(found + self.offset, axis=1)
        else:
            shares = expit(found) * np.exp(self.offset - self.offset.max())
            total = shares.sum(axis=1, keepdims=True)
            shares /= np.where(total > 0, total, 1)
            found = np.where(total > 0, shares, 1 / shares.shape[1])
        return found.astype(scores.dtype)


def offset_of(class_weights: np.ndarray | None, n_classes: int) -> np.ndarray:
    """What takes class weights out of probabilities; a weight of 0 stays in."""
    if class_weights is None:
        return np.zeros(n_classes)
    return -np.log(np.where(class_weights > 0, class_weights, 1.0))


def without_class_weights(weights, labels, class_weights) -> np.ndarray:
    """Weights of rows, without those of their classes."""
    if class_weights is None:
        return weights
    return weights / np.where(class_weights > 0, class_weights, 1.0)[labels]


def fit_link(
    scores: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    class_weights: np.ndarray | None,
    n_classes: int,
) -> Link:
    """The link under which held-out rows are most likely.

    A scale for several classes (temperature), a scale and an offset for two (Platt).
    As Platt does, a row counts a little for the other classes, too, so that rows that
    are all told apart do not ask for certainty.

    Parameters
    ----------
    scores : ndarray of shape (n, 1) or (n, n_classes)
        Scores of the held-out rows.
    labels : ndarray of shape (n,)
        Their classes, as indices.
    weights : ndarray of shape (n,)
        Their weights, without those of their classes.
    class_weights : ndarray of shape (n_classes,) or None
        The weights of the classes that the scores have learned.
    n_classes : int
        Number of classes.
    """
    start = offset_of(class_weights, n_classes)
    scores = scores.astype(float)
    if n_classes == 2:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    unit = np.sqrt(np.mean(np.square(scores))) or 1.0
    scores = scores / unit
    shares = weights / weights.sum(dtype=float)
    counts = np.bincount(labels, minlength=n_classes)
    doubt = 1.0 / (counts[labels] + 2.0)
    targets = np.repeat(doubt[:, None] / (n_classes - 1), n_classes, axis=1)
    targets[np.arange(len(labels)), labels] = 1.0 - doubt
    pull = _PULL / len(labels)

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        scale, offset = np.exp(point[0]), start.copy()
        offset[1] += point[1:].sum()
        logs = log_softmax(scale * scores + offset, axis=1)
        slopes = shares[:, None] * (np.exp(logs) - targets)
        value = -shares @ (targets * logs).sum(axis=1) + 0.5 * pull * point @ point
        slope = [scale * (slopes * scores).sum(), *slopes[:, 1:2].sum(axis=0)]
        return value, np.array(slope[: len(point)]) + pull * point

    first = np.zeros(2 if n_classes == 2 else 1)
    bounds = [_LOG_SCALES, (-50.0, 50.0)][: len(first)]
    best = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x
    start[1] += best[1:].sum()
    return Link("multinomial", float(np.exp(best[0]) / unit), start)
