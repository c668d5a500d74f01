"""Ranges that the parameters of each method are searched in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna import Trial


class Draw:
    """Values for the parameters of one trial, as Optuna suggests them.

    ``unit`` is mean |x|^2 / n of the scaled rows, the unit of alpha.
    """

    def __init__(self, trial: Trial, n_rows: int, unit: float):
        self._trial, self.n_rows, self._unit = trial, n_rows, unit

    def one_of(self, name: str, *values: Any) -> Any:
        return self._trial.suggest_categorical(name, values)

    def log(self, name: str, low: float, high: float, unit: float = 1.0) -> float:
        drawn = self._trial.suggest_float(name, low, high, log=True)
        return float(f"{unit * drawn:.3g}")

    def count(self, name: str, low: int, high: int) -> int:
        return self._trial.suggest_int(name, low, max(low, high), log=True)

    def alpha(self, low: float, high: float) -> float:
        return self.log("alpha", low, high, self._unit)

    def anchors(self, largest: int) -> int:
        most = self.n_rows // 5
        return self.count("n_anchors", max(2, min(8, most)), min(largest, most))


def _joint(draw: Draw) -> dict[str, Any]:
    anchors = draw.anchors(200)
    return {
        "n_anchors": anchors,
        "perplexity": min(draw.one_of("perplexity", 4.0, 8.0, 16.0), anchors / 2),
        "alpha": draw.alpha(0.01, 10),
        "learning_rate": draw.one_of("learning_rate", 0.1, 0.2, 0.5),
        "anchor_rate": draw.one_of("anchor_rate", 0.03, 0.1, 0.2),
        "max_iter": draw.one_of("max_iter", 30, 60),
    }


def _du(draw: Draw) -> dict[str, Any]:
    return {**_joint(draw), "diversity": draw.one_of("diversity", 0.0, 1e-3)}


def _ll(draw: Draw) -> dict[str, Any]:
    return {
        "n_anchors": draw.anchors(400),
        "alpha": draw.alpha(0.003, 3),
        "coding": draw.one_of("coding", "adaptive", "soft"),
    }


def _ml3(draw: Draw) -> dict[str, Any]:
    return {
        "n_models": draw.count("n_models", 4, 100),
        "p": draw.one_of("p", 1.2, 1.5, 2.0),
        "alpha": draw.alpha(0.03, 3),
        "max_iter": draw.one_of("max_iter", 30, 60, 100),
    }


def _charts(draw: Draw) -> dict[str, Any]:
    return {
        "alpha": draw.log("alpha", 0.01, 1, 1 / draw.n_rows),
        "atlas__mdl": draw.one_of("atlas__mdl", 10.0, 20.0, 40.0),
        "atlas__n_neighbors": draw.one_of("atlas__n_neighbors", 2, 3, 4),
    }


def _atlas(draw: Draw) -> dict[str, Any]:
    return {**_charts(draw), "multi_class": draw.one_of("multi_class", "ovr", "ovo")}


RANGES: dict[str, Callable[[Draw], dict[str, Any]]] = {
    "du": _du,
    "sapl": _joint,
    "ll": _ll,
    "ml3": _ml3,
    "atlas": _atlas,
}
# Those of regressors.
NUMBER_RANGES = {**RANGES, "atlas": _charts}
