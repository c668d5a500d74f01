"""What held-out rows say of a setting: the score that chooses, figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss

from locallin.cli._methods import REGRESSION
from locallin.cli._parser import UsageError
from locallin.inspection.quality import number_scores, ranking_scores

# The loss of the quantile that is searched for, its sign changed.
PINBALL = "neg_mean_pinball_loss"
# Names of scikit-learn for figures that are shown in any case, and their signs.
_OWN = {"accuracy": ("accuracy", 1), "roc_auc": ("auc", 1)}
_OWN_CHANCES = {"neg_log_loss": ("log_loss", -1)}
# What ranks rows, the better of them first.
RANKING = ("predict_proba", "decision_function")

Figures = dict[str, float | None]


def usual_scoring(task: str, fixed: dict[str, Any]) -> str:
    """What chooses where nothing is asked for."""
    if task != REGRESSION:
        return "accuracy"
    return PINBALL if fixed.get("loss") == "pinball" else "r2"


def scorer_named(name: str) -> Callable:
    """A scorer of scikit-learn."""
    try:
        return get_scorer(name)
    except ValueError as error:
        raise UsageError(f"--scoring: scikit-learn has no scorer {name!r}") from error


def needs_chances(scoring: str) -> bool:
    """Whether a scorer asks for probabilities."""
    return scoring in ("neg_log_loss", "neg_brier_score")


class Judge:
    """Scores and figures of held-out rows.

    Accuracy, AUC (the mean over classes of each against all others) and the log loss
    are our own, so that they serve any number of classes; other scorers are
    scikit-learn's.
    """

    def __init__(self, task: str, scoring: str, quantile: float = 0.5):
        self._task, self._scoring, self._scorer = task, scoring, None
        if task == REGRESSION and scoring == PINBALL:
            self._scorer = make_scorer(
                mean_pinball_loss, greater_is_better=False, alpha=quantile
            )
        elif task == REGRESSION or scoring not in _OWN | _OWN_CHANCES:
            self._scorer = scorer_named(scoring)

    def judge(self, model, X, y) -> tuple[float, Figures]:
        """The score of a fitted model on rows, and the figures."""
        figures = self._figures(model, X, y)
        if self._scorer is not None:
            return float(self._scorer(model, X, y)), figures
        name, sign = (_OWN | _OWN_CHANCES)[self._scoring]
        value = figures.get(name)
        if value is None:
            raise ValueError(
                f"there is no {self._scoring} of held-out rows: "
                + (
                    "the model has no probabilities"
                    if name == "log_loss"
                    else "a class has none of them, use fewer --folds"
                )
            )
        return sign * value, figures

    def _figures(self, model, X, y) -> Figures:
        predicted = model.predict(X)
        if self._task == REGRESSION:
            plain = predicted.ndim == 1
            return number_scores(y.astype(float), predicted) if plain else {}
        found: Figures = {"accuracy": float(np.mean(predicted == y))}
        ask = next((m for m in RANKING if hasattr(model, m)), None)
        if ask is not None:
            is_class = y[:, None] == np.asarray(model.classes_)
            ranked = ranking_scores(is_class, getattr(model, ask)(X))
            found |= {k: v for k, v in ranked.items() if k in ("auc", "log_loss")}
        return found


def mean_figures(found: Iterable[Figures]) -> Figures:
    """Means over folds, of figures that all of them have."""
    found = list(found)
    names = [n for n in found[0] if all(f.get(n) is not None for f in found)]
    return {name: float(np.mean([f[name] for f in found])) for name in names}


def trial_lines(trials: list[dict[str, Any]], most: int = 10) -> list[str]:
    """A table of the best trials."""
    scored = [trial for trial in trials if trial["score"] is not None]
    scored.sort(key=lambda trial: -trial["score"])
    names = list(scored[0].get("figures") or {}) if scored else []
    heads = ["trial", "score", *(name.replace("_", " ") for name in names), "seconds"]
    widths = [max(9, len(head)) for head in heads]
    rows = [heads]
    for trial in scored[:most]:
        figures = trial.get("figures") or {}
        values = [trial["score"], *map(figures.get, names), trial["seconds"]]
        cells = ["" if value is None else f"{value:.4f}" for value in values]
        rows.append([str(trial["trial"]), *cells])
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
