"""Predictions of dask collections: lazy, block by block."""

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection

from locallin.dask._blocks import check_rows, delayed_blocks, is_frame


def is_lazy(X) -> bool:
    """Whether X is a dask collection."""
    return is_dask_collection(X)


def lazily(model, method: str, X):
    """What a method of a local model returns for each block of X."""
    check_rows(X)
    if is_frame(X):
        like = _of_frame(X._meta_nonempty, model, method).iloc[:0]
        return X.map_partitions(_of_frame, model, method, meta=like)
    # One task holds the model; the others refer to it.
    shared = dask.delayed(model, pure=False, traverse=False)
    row = np.zeros((1, X.shape[1]), X.dtype)
    like = getattr(model, method)(row)[:0]
    shape: dict = {"drop_axis": 1}
    if like.ndim == 2:
        shape = {"chunks": (X.chunks[0], like.shape[1:])}
    return da.map_blocks(
        _of_block, X, model=shared, method=method, like=like, meta=like, **shape
    )


def _of_block(X, model, method: str, like) -> np.ndarray:
    return getattr(model, method)(X) if X.shape[0] else like


def _of_frame(X, model, method: str):
    import pandas as pd

    values = getattr(model, method)(X if len(X) else _one_row_like(X))[: len(X)]
    if values.ndim == 1:
        return pd.Series(values, index=X.index)
    return pd.DataFrame(values, index=X.index, columns=model.classes_)


def _one_row_like(X):
    import pandas as pd

    return pd.DataFrame(0.0, index=[0], columns=X.columns)


def accuracy(model, X, y, sample_weight) -> float:
    """Share of the rows, by weight, that a local model predicts right."""
    shared = dask.delayed(model, pure=False, traverse=False)
    task = dask.delayed(_right, pure=False)
    blocks = delayed_blocks(X, y, sample_weight)
    parts = dask.compute(*(task(shared, *block) for block in blocks))
    right, total = np.sum(parts, axis=0)
    return float(right / total)


def _right(model, X, y, weights) -> tuple[float, float]:
    y = np.asarray(y)
    if len(y) == 0:
        return 0.0, 0.0
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    return float(weights @ (model.predict(X) == y)), float(weights.sum())
