"""How good probabilities, rankings and numbers are, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binomtest, rankdata

# Rows of a draw of the bootstrap, and draws.
_DRAWN, _DRAWS = 5000, 100
_BINS = 10
# Figures that are not between 0 and 1.
_LIMITS = {
    "r2": (-np.inf, 1.0),
    **dict.fromkeys(
        ("log_loss", "brier", "rmse", "mae", "pinball", "interval_width"),
        (0.0, np.inf),
    ),
}


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share, 95 %."""
    found = binomtest(int(hits), int(n)).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def are_probabilities(scores: np.ndarray) -> bool:
    """Whether rows of scores are probabilities of all classes."""
    if scores.ndim != 2 or scores.shape[1] < 2:
        return False
    return scores.min() >= 0 and bool(np.allclose(scores.sum(axis=1), 1, atol=1e-4))


def ranking_scores(is_class: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Figures of scores or probabilities, larger ones for likelier classes.

    Parameters
    ----------
    is_class : ndarray of shape (n_samples, n_classes), dtype bool
        Whether a row is of a class.
    scores : ndarray of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Scores; one for two classes speaks for the second.

    Returns
    -------
    dict
        The area under the ROC curve and the average precision, of the second of two
        classes or the mean over classes of each against all others, None where a class
        is missing; of probabilities also the log loss, the Brier score (the mean
        squared error of the second class's, or its sum over several classes), and the
        calibration error: how far apart probability and share are in bins of rows, on
        average.
    """
    two = is_class.shape[1] == 2
    scores = scores.reshape(len(scores), -1)
    columns = [1] if two else list(range(is_class.shape[1]))
    ranked = scores[:, -1:] if two else scores
    there = bool(is_class.any(axis=0).all())
    found: dict[str, Any] = {
        "auc": _areas(is_class[:, columns], ranked) if there else None,
        "average_precision": _precisions(is_class[:, columns], ranked)
        if there
        else None,
    }
    if not are_probabilities(scores):
        return found
    own = (scores * is_class).sum(axis=1)
    errors = np.square(scores - is_class)[:, columns]
    chance, right = judged_chances(is_class, scores)
    return {
        **found,
        "log_loss": float(-np.log(np.maximum(own, 1e-15)).mean()),
        "brier": float(errors.sum(axis=1).mean()),
        "calibration_error": float(
            sum(
                one["rows"] * abs(one["probability"] - one["share"])
                for one in reliability(chance, right)
            )
            / len(chance)
        ),
    }


def _areas(is_class: np.ndarray, scores: np.ndarray) -> float:
    """Mean area under the ROC curves, by ranks."""
    ranks = rankdata(scores, axis=0)
    positive = is_class.sum(axis=0)
    negative = len(is_class) - positive
    total = (ranks * is_class).sum(axis=0) - positive * (positive + 1) / 2
    return float(np.mean(total / np.maximum(positive * negative, 1)))


def _precisions(is_class: np.ndarray, scores: np.ndarray) -> float:
    """Mean average precision: precision at each row of the class, from the top."""
    means = []
    for own, ranked in zip(is_class.T, scores.T, strict=True):
        values, recalls = precision_curve(own, ranked)
        means.append(np.sum(np.diff(recalls, prepend=0.0) * values))
    return float(np.mean(means))


def roc_curve(own: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of other rows and of own rows above each score, from (0, 0) to (1, 1)."""
    hits, falls = _above(own, scores)
    shares = (np.r_[0, part] / max(part[-1], 1) for part in (falls, hits))
    falls, hits = shares
    return falls, hits


def precision_curve(own: np.ndarray, scores: np.ndarray):
    """Precision and recall of the rows above each score."""
    hits, falls = _above(own, scores)
    return hits / (hits + falls), hits / max(hits[-1], 1)


def _above(own: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of own and other rows at or above each score that occurs."""
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    hits = np.cumsum(own[order])[ends].astype(float)
    return hits, ends + 1.0 - hits


def judged_chances(is_class: np.ndarray, chances: np.ndarray):
    """Probabilities to be held against shares: of the second of two, or of the best."""
    if chances.shape[1] == 2:
        return chances[:, 1], is_class[:, 1]
    best = chances.argmax(axis=1)
    rows = np.arange(len(best))
    return chances[rows, best], is_class[rows, best]


def reliability(chance: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Mean probability and share of rows of each tenth of the probabilities.

    Returns
    -------
    list of dict
        probability, share, its interval (low, high) and rows, of bins that have some.
    """
    places = np.minimum((chance * _BINS).astype(int), _BINS - 1)
    found = []
    for place in np.unique(places):
        here = places == place
        n, hits = int(here.sum()), int(right[here].sum())
        low, high = wilson(hits, n)
        found.append(
            {
                "probability": float(chance[here].mean()),
                "share": hits / n,
                "low": low,
                "high": high,
                "rows": n,
            }
        )
    return found


def middle_of(levels: np.ndarray) -> int:
    """Which of several quantiles speaks where there is room for one number."""
    return int(np.argmin(np.abs(np.asarray(levels) - 0.5)))


def pinball_name(level: float) -> str:
    """What the pinball loss of one of several quantiles is called."""
    return f"pinball_q{level:g}"


def quantile_scores(
    truth: np.ndarray, predicted: np.ndarray, levels: np.ndarray
) -> dict[str, Any]:
    """Figures of several quantiles.

    Parameters
    ----------
    truth : ndarray of shape (n_samples,)
        Numbers.
    predicted : ndarray of shape (n_samples, n_levels)
        Quantiles of them.
    levels : ndarray of shape (n_levels,)
        The levels of these, ascending.

    Returns
    -------
    dict
        As ``number_scores``, of the middle quantile; the mean pinball loss and that of
        each quantile, the share of rows whose quantiles cross, and of the outer two
        the share of rows that lie between them, and how far apart they are.
    """
    middle = number_scores(truth, predicted[:, middle_of(levels)])
    losses = {
        pinball_name(level): _pinball(truth - column, level)
        for level, column in zip(levels, predicted.T, strict=True)
    }
    found = {**middle, "pinball": float(np.mean(list(losses.values()))), **losses}
    if len(levels) > 1:
        low, high = predicted[:, 0], predicted[:, -1]
        crossed = (np.diff(predicted, axis=1) < 0).any(axis=1)
        found["crossing"] = float(crossed.mean())
        found["interval_coverage"] = float(np.mean((truth >= low) & (truth <= high)))
        found["interval_width"] = float(np.mean(high - low))
    return found


def _pinball(missing: np.ndarray, level: float) -> float:
    return float(np.mean(np.maximum(level * missing, (level - 1) * missing)))


def number_scores(
    truth: np.ndarray, predicted: np.ndarray, quantile=None
) -> dict[str, Any]:
    """Figures of predicted numbers.

    Parameters
    ----------
    truth : ndarray of shape (n_samples,)
        Numbers.
    predicted : ndarray of shape (n_samples,) or (n_samples, n_levels)
        What is predicted.
    quantile : float or ndarray of shape (n_levels,), default=None
        The quantile that was to be predicted, if it was one, or several.

    Returns
    -------
    dict
        Root mean squared and mean absolute error, R2, None where all of y are the
        same, and of a quantile the pinball loss; of several see ``quantile_scores``.
    """
    if predicted.ndim > 1:
        return quantile_scores(truth, predicted, quantile)
    missing = truth - predicted
    error = float(np.mean(missing**2))
    variance = float(truth.var())
    found: dict[str, Any] = {
        "rmse": error**0.5,
        "mae": float(np.mean(np.abs(missing))),
        "r2": 1 - error / variance if variance > 0 else None,
    }
    if quantile is not None:
        found["pinball"] = _pinball(missing, quantile)
    return found


def intervals(
    figures: Callable[[np.ndarray], dict[str, Any]], n: int, *, bounded: bool = True
) -> dict[str, tuple[float, float]]:
    """Intervals of figures, 95 %, from how they vary over draws of the rows.

    ``figures`` are those of rows at given places; what they are by their names keeps
    the intervals within bounds, unless these are differences. The same rows give the
    same intervals.
    """
    rng = np.random.RandomState(0)
    size = min(n, _DRAWN)
    drawn: dict[str, list[float]] = {}
    for _ in range(_DRAWS):
        for name, value in figures(rng.randint(n, size=size)).items():
            if value is not None:
                drawn.setdefault(name, []).append(value)
    found = {}
    for name, value in figures(np.arange(n)).items():
        values = drawn.get(name, [])
        if value is None or len(values) < _DRAWS // 2:
            continue
        reach = 1.96 * float(np.std(values)) * np.sqrt(size / n)
        least, most = _limits(name) if bounded else (-np.inf, np.inf)
        found[name] = max(value - reach, least), min(value + reach, most)
    return found


def _limits(name: str) -> tuple[float, float]:
    return _LIMITS.get(name.partition("_q")[0], (0.0, 1.0))


def ranking_and_intervals(is_class: np.ndarray, scores: np.ndarray) -> tuple:
    """`ranking_scores`, and the ``intervals`` of these."""

    def figures(rows):
        return ranking_scores(is_class[rows], scores[rows])

    return ranking_scores(is_class, scores), intervals(figures, len(scores))


def ranking_figures(truth, scores: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """`ranking_scores`, the ``intervals`` of these, ``reliability`` of chances."""
    is_class = truth[:, None] == classes
    found, known = ranking_and_intervals(is_class, scores)
    found["intervals"] = known
    if are_probabilities(scores):
        found["reliability"] = reliability(*judged_chances(is_class, scores))
    return found


def number_figures(truth, predicted, quantile=None, ends=None) -> dict[str, Any]:
    """`number_scores` and the ``intervals`` of these.

    ``quantile`` is what was to be predicted, or None, or several levels where
    ``predicted`` has columns; ``ends`` are those of intervals, (n, 2), or None.
    """
    if predicted.ndim > 1 and len(quantile) > 1:
        ends = predicted[:, [0, -1]]

    def figures(rows):
        return number_scores(truth[rows], predicted[rows], quantile)

    found = {"rows": len(truth), **number_scores(truth, predicted, quantile)}
    known = intervals(figures, len(truth))
    if ends is not None:
        inside = (truth >= ends[:, 0]) & (truth <= ends[:, 1])
        if predicted.ndim > 1:
            found["interval_promised"] = float(quantile[-1] - quantile[0])
        found["interval_coverage"] = float(inside.mean())
        found["interval_width"] = float(np.mean(ends[:, 1] - ends[:, 0]))
        known["interval_coverage"] = wilson(int(inside.sum()), len(inside))
    return {**found, "intervals": known}
