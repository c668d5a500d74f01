"""Predictions of dask collections: lazy, block by block."""

from functools import reduce
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection

from locallin.dask._blocks import check_rows, delayed_blocks, is_frame
from locallin.dask._targets import Target, target_of
from locallin.methods.ensemble_regressor import names_of_targets
from locallin.methods.regression import quantile_score


def is_lazy(X) -> bool:
    """Whether X is a dask collection."""
    return is_dask_collection(X)


def lazily(model, method: str, X, **more):
    """What a method of a local model returns for each block of X."""
    check_rows(X)
    if is_frame(X):
        like = _of_frame(X._meta_nonempty, model, method, more).iloc[:0]
        return X.map_partitions(_of_frame, model, method, more, meta=like)
    # One task holds the model; the others refer to it.
    shared = dask.delayed(model, pure=False, traverse=False)
    row = np.zeros((1, X.shape[1]), X.dtype)
    like = getattr(model, method)(row, **more)[:0]
    shape: dict = {"drop_axis": 1}
    if like.ndim > 1:
        chunks = X.chunks[0], *((size,) for size in like.shape[1:])
        shape = {"chunks": chunks, "new_axis": list(range(2, like.ndim))}
    return da.map_blocks(
        _of_block, X, model=shared, method=method, more=more, like=like, meta=like,
        **shape,
    )  # fmt: skip


def _of_block(X, model, method: str, more: dict, like) -> np.ndarray:
    return getattr(model, method)(X, **more) if X.shape[0] else like


def _of_frame(X, model, method: str, more: dict):
    import pandas as pd

    rows = X if len(X) else _one_row_like(X)
    values = getattr(model, method)(rows, **more)[: len(X)]
    if values.ndim == 1:
        return pd.Series(values, index=X.index)
    names = _columns(model, method)
    values = values.reshape(len(values), -1)
    return pd.DataFrame(values, index=X.index, columns=names)


def _columns(model, method: str) -> list:
    """What the columns of predictions are called."""
    if hasattr(model, "classes_"):
        return list(model.classes_)
    targets = names_of_targets(getattr(model, "model_", model))
    if method != "predict_interval":
        return targets
    ends = "low", "high"
    if len(targets) == 1:
        return list(ends)
    return [f"{target}_{end}" for target in targets for end in ends]


def _one_row_like(X):
    import pandas as pd

    return pd.DataFrame(0.0, index=[0], columns=X.columns)


def accuracy(model, X, y, sample_weight) -> float:
    """Share of the rows, by weight, that a local model predicts right."""
    parts = _of_blocks(_right, model, X, y, sample_weight)
    right, total = np.sum(parts, axis=0)
    return float(right / total)


def explained(model, X, y, sample_weight) -> float:
    """How much of y a local model predicts: its ``score``, where rows are apart."""
    levels = getattr(model, "quantile_levels", None)
    if levels is not None:
        # The quantile of y that scores are compared with needs all of it.
        truth, found, weights = map(
            np.concatenate,
            zip(*_of_blocks(_beside, model, X, y, sample_weight), strict=True),
        )
        return quantile_score(levels, truth, found, weights)
    parts = _of_blocks(_moments, model, X, y, sample_weight)
    moments = reduce(Moments.joined, parts)
    varies = moments.spread > 0
    left = moments.missed / np.where(varies, moments.spread, 1.0)
    # Of a constant, r2_score says 1 where it is hit and 0 where not.
    return float(np.mean(np.where(varies, 1.0 - left, moments.missed == 0)))


def _of_blocks(function, model, X, y, sample_weight) -> list:
    """What a function tells of each block that has rows, in their order."""
    shared = dask.delayed(model, pure=False, traverse=False)
    task = dask.delayed(_of_filled, pure=False)
    target = target_of(model)
    blocks = delayed_blocks(target, X, y, sample_weight)
    parts = dask.compute(*(task(function, shared, target, *b) for b in blocks))
    found = [part for part in parts if part is not None]
    if not found:
        raise ValueError("X has no rows.")
    return found


def _of_filled(function, model, target: Target, X, y, weights):
    y = target.checked(y)
    if len(y) == 0:
        return None
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    return function(model, X, y, weights)


def _right(model, X, y, weights) -> tuple[float, float]:
    return float(weights @ (model.predict(X) == y)), float(weights.sum())


def _beside(model, X, y, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return y, model.predict(X), weights


class Moments(NamedTuple):
    """Of rows: their weight, mean of y, its squares about it, and squares of errors."""

    weight: float
    mean: np.ndarray
    spread: np.ndarray
    missed: np.ndarray

    def joined(self, other: "Moments") -> "Moments":
        """Those of the rows of both, without the loss of a difference of squares."""
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        apart = other.mean - self.mean
        return Moments(
            weight,
            self.mean + share * apart,
            self.spread + other.spread + self.weight * share * apart**2,
            self.missed + other.missed,
        )


def _moments(model, X, y, weights) -> Moments:
    y = y.reshape(len(y), -1)
    missed = weights @ (model.predict(X).reshape(y.shape) - y) ** 2
    weight = float(weights.sum())
    mean = weights @ y / weight if weight > 0 else y[0]
    return Moments(weight, mean, weights @ (y - mean) ** 2, missed)
