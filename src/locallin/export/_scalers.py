"""Scalers that are one shift and one factor of each feature."""

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler


def affine(step) -> tuple[np.ndarray, np.ndarray] | None:
    """Shift and factor of a scaler, x -> (x - shift) * factor; None of other steps."""
    if type(step) is StandardScaler:
        zero, one = np.zeros(step.n_features_in_), np.ones(step.n_features_in_)
        shift = zero if step.mean_ is None or not step.with_mean else step.mean_
        return shift, one if step.scale_ is None else 1 / step.scale_
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return np.zeros(step.n_features_in_), 1 / step.scale_
    if type(step) is MinMaxScaler and not step.clip:
        return -step.min_ / step.scale_, step.scale_
    return None
