"""Dask collections as blocks of rows, and what a block is asked before learning."""

from math import isnan
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from dask.sizeof import sizeof
from dask.utils import is_dataframe_like, is_series_like
from sklearn.utils import assert_all_finite, check_array, column_or_1d

from locallin.dask._targets import Target
from locallin.engine.input import sound_matrix
from locallin.engine.matrix import aligned


class BlockError(ValueError):
    """A block that cannot be read or learned from; the message says which.

    See Also
    --------
    ClusterClassifier : Raises it.
    ClusterRegressor : Raises it, too.
    locallin.data.DataError : The same for files.
    """


class Block(NamedTuple):
    """Rows of shape (n, n_features), y, and weights (n,) or None.

    y are labels (n,), or numbers (n,) or (n, n_targets).
    """

    X: Any
    y: np.ndarray
    weights: Any


class Survey(NamedTuple):
    """What a block tells about itself; the lists are by class."""

    n_rows: int
    n_bytes: int  # of the rows
    dtype: np.dtype
    classes: np.ndarray
    rows: np.ndarray  # of the class
    counted: np.ndarray  # those of positive weight
    weights: np.ndarray  # their sum


def is_frame(X) -> bool:
    """Whether X is a dask dataframe."""
    return is_dask_collection(X) and is_dataframe_like(X)


def check_rows(X) -> None:
    """Refuse what is not a matrix cut by rows only, of a dtype that is known."""
    if is_frame(X):
        return
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a dask array or dataframe, but it is a {type(X).__name__}: "
            "wrap it with dask.array.from_array, or fit the estimator of the same name "
            "in locallin."
        )
    if X.ndim != 2:
        raise ValueError(f"X must have rows and features, but X.ndim={X.ndim}.")
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X is cut into {X.numblocks[1]} parts along its features: a row must be "
            "in one block, use X.rechunk({1: -1})."
        )
    if X.dtype is None or X.dtype.kind not in "biuf":
        raise ValueError(
            f"X has dtype={X.dtype}, but features are numbers: use X.astype(float)."
        )


def row_counts(X) -> tuple:
    """Rows of each block, NaN where nobody knows."""
    return X.chunks[0] if isinstance(X, da.Array) else (np.nan,) * X.npartitions


def _known(counts) -> bool:
    return not any(map(isnan, counts))


def _cut_alike(part, name: str, X, most_axes: int = 1):
    """Labels, numbers or weights in the blocks of X."""
    is_column = isinstance(part, da.Array) or (
        is_dask_collection(part) and (is_series_like(part) or is_frame(part))
    )
    if not is_column:
        raise TypeError(
            f"{name} must be a dask array or series, but it is a {type(part).__name__}."
        )
    if part.ndim > most_axes:
        allowed = "one dimension" if most_axes == 1 else "one or two dimensions"
        raise ValueError(f"{name} must have {allowed}, but it has {part.ndim}.")
    if isinstance(part, da.Array) and part.ndim == 2:
        part = part.rechunk({1: -1})
    wanted, found = row_counts(X), row_counts(part)
    if _known(wanted) and _known(found):
        if sum(wanted) != sum(found):
            raise ValueError(f"X has {sum(wanted)} rows, but {name} has {sum(found)}.")
        return part.rechunk({0: wanted})
    if len(wanted) != len(found):
        raise ValueError(
            f"X has {len(wanted)} blocks, but {name} has {len(found)}, of unknown "
            "sizes: cut them alike."
        )
    return part


def _delayed(part) -> list[Delayed]:
    if isinstance(part, da.Array):
        return part.to_delayed().ravel().tolist()
    return list(part.to_delayed())


def delayed_blocks(target: Target, X, y, sample_weight=None) -> list[tuple]:
    """Rows, labels or numbers, and weights of each block, not computed yet."""
    check_rows(X)
    labels = _delayed(_cut_alike(y, "y", X, target.most_axes))
    weights: list = [None] * len(labels)
    if sample_weight is not None:
        weights = _delayed(_cut_alike(sample_weight, "sample_weight", X))
    return list(zip(_delayed(X), labels, weights, strict=True))


def prepared(X, y, weights, target: Target, n_features: int) -> Block:
    """Check a block. It may be empty."""
    X = check_array(
        sound_matrix(X),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_min_samples=0,
        input_name="X",
    )
    X = aligned(X)  # what came over the network may lie anywhere
    y = target.checked(y)
    if weights is not None:
        weights = column_or_1d(np.asarray(weights, X.dtype))
        assert_all_finite(weights, input_name="sample_weight")
        if (weights < 0).any():
            raise ValueError("sample_weight has negative values.")
    if X.shape[1] != n_features:
        raise ValueError(f"it has {X.shape[1]} features, but X has {n_features}.")
    for name, part in {"y": y, "sample_weight": weights}.items():
        if part is not None and len(part) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, but {name} has {len(part)}.")
    return Block(X, y, weights)


def survey(block: Block, target: Target) -> Survey:
    """Count rows and weights of each class."""
    classes, encoded = target.groups(block.y)
    weights = np.ones(len(encoded)) if block.weights is None else block.weights
    rows, counted, sums = (
        np.bincount(encoded, part, len(classes))
        for part in (None, weights > 0, weights)
    )
    size = sizeof(block.X)
    return Survey(len(encoded), size, block.X.dtype, classes, rows, counted, sums)
