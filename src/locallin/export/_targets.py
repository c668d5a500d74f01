"""Regressors of a transformed target: the regressor inside, and the way back."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from locallin.export._scalers import affine
from locallin.inspection.unwrap import split_pipeline, target_steps
from locallin.methods.tables import TableEstimator

AFFINE, EXP, EXPM1, SQUARE = "affine", "exp", "expm1", "square"
_FUNCTIONS = {np.exp: EXP, np.expm1: EXPM1, np.square: SQUARE}


class Way(NamedTuple):
    """One step from what a regressor predicts towards the unit of y.

    ``kind`` is that of the function; an affine one is f * factor + shift.
    """

    kind: str
    factor: float = 1.0
    shift: float = 0.0


class Opened(NamedTuple):
    """A model without transformed targets, and the way back to the unit of y."""

    model: Any
    ways: list[Way]


def opened(model) -> Opened:
    """Open regressors of a transformed target, and models with an encoder of their own.

    Other models are as they are.
    """
    _refuse_threshold(model)
    steps = target_steps(model) if hasattr(model, "predict") else []
    if not steps:
        return Opened(_in_steps(model), [])
    before, regressor = split_pipeline(model)
    if getattr(regressor, "has_log_link", False):
        raise TypeError(
            f"{type(regressor).__name__} has a log link behind a transformed target, "
            "which has no export: leave the target as it is."
        )
    ways = [way for step in reversed(steps) for way in _way(step)]
    if before:
        regressor = Pipeline([*before, ("regressor", regressor)])
    return Opened(regressor, ways)


def _in_steps(model):
    """A model whose encoder is a step of its pipeline."""
    if isinstance(model, TableEstimator):
        return model.to_pipeline()
    last = _in_steps(model[-1]) if isinstance(model, Pipeline) else None
    if not isinstance(last, Pipeline):
        return model
    return Pipeline([*model.steps[:-1], *last.steps])


def _refuse_threshold(model) -> None:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(last, FixedThresholdClassifier | TunedThresholdClassifierCV):
        tuned = isinstance(last, TunedThresholdClassifierCV)
        raise TypeError(
            f"{type(last).__name__} decides by a threshold, which has no export: "
            "export its estimator_, and compare the probability with "
            f"{'best_threshold_' if tuned else 'threshold'} where it runs."
        )


def _way(transformer) -> list[Way]:
    """What the inverse of a transformer of y does."""
    if isinstance(transformer, FunctionTransformer):
        back = transformer.inverse_func
        if back is None:
            return []
        if back in _FUNCTIONS and not transformer.inv_kw_args:
            return [Way(_FUNCTIONS[back])]
    scaler = affine(transformer)
    if scaler is None or len(scaler[0]) != 1:
        raise TypeError(
            f"The target is transformed by {_described(transformer)}, which has no "
            "export: use a scaler, or one of the functions log, log1p and sqrt with "
            "inverse_func=np.exp, np.expm1 or np.square, for one target."
        )
    (shift,), (factor,) = scaler
    return [Way(AFFINE, 1 / float(factor), float(shift))]


def _described(transformer) -> str:
    name = type(transformer).__name__
    if isinstance(transformer, FunctionTransformer):
        return f"{name}(inverse_func={transformer.inverse_func!r})"
    return name
