"""What is to be predicted: labels and numbers as they are given, and their scale."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from locallin.methods.links import LOG_LINKED

# Of a normal distribution: the distance of its quartiles in standard deviations.
_QUARTILES = 1.349


def class_labels(y) -> np.ndarray:
    """Labels as an array of one type; ValueError where some are missing."""
    if len(getattr(y, "shape", ())) == 1 and hasattr(y, "to_numpy"):
        y = (
            y.to_numpy()
        )  # integers and booleans that might be missing stay what they are
    labels = column_or_1d(y, warn=True)
    if labels.dtype != object:
        return labels
    n_missing = sum(map(_is_missing, labels))
    if n_missing:
        raise ValueError(
            f"y has no label in {n_missing} of {len(labels)} rows: leave these rows "
            "out, or give them a label of their own."
        )
    kinds = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in kinds):
        return labels
    booleans = {issubclass(kind, bool | np.bool_) for kind in kinds}
    numbers = all(issubclass(kind, Real | np.bool_) for kind in kinds)
    if not numbers or len(booleans) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"Unknown label type: y holds labels of type {names}. Make them all text, "
            "for example by y.astype(str), all numbers or all booleans."
        )
    return np.array(labels.tolist())


def _is_missing(label) -> bool:
    """None, NaN, NaT and pandas.NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True


def target_numbers(y, name: str) -> np.ndarray:
    """Numbers of shape (n, n_targets), for the estimator of that name."""
    try:
        y = check_array(y, ensure_2d=False, dtype=float, input_name="y")
    except (TypeError, ValueError) as error:
        if not any(part in str(error) for part in ("to float", "float()")):
            raise  # Python could make numbers of all values
        raise ValueError(
            f"{name} needs a y of numbers: {error}. For classes take "
            "LocallyLinearClassifier."
        ) from error
    return y.reshape(len(y), -1)


class TargetScale(NamedTuple):
    """Where each target lies, and how far it spreads, both of shape (n_targets,)."""

    offset: np.ndarray
    scale: np.ndarray


def target_scale(y: np.ndarray, weights: np.ndarray, loss: str, quantile=0.5):
    """Mean and deviation of targets; of losses that bear outliers, quantiles.

    ``y`` has the shape (n, n_targets). Where a loss has quantiles, the scale is what
    the distance of the quartiles is of a normal distribution, if they differ; several
    quantiles of one target have an offset each. Where a score is the logarithm of a
    mean, the offset is that of the mean of all rows, and the scale is 1.
    """
    y, weights = y[weights > 0], weights[weights > 0].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        offset = np.average(y, axis=0, weights=weights)
        scale = np.sqrt(np.average((y - offset) ** 2, axis=0, weights=weights))
    if not (np.isfinite(offset).all() and np.isfinite(scale).all()):
        raise ValueError(
            "y has values whose squares leave the range of numbers: scale it, e.g. "
            "with sklearn.compose.TransformedTargetRegressor."
        )
    if loss in LOG_LINKED:
        # The mean of a constant is this number, to the last bit.
        means = np.where((y == y[0]).all(axis=0), y[0], offset)
        return TargetScale(_log_means(means, loss), np.ones(len(means)))
    if loss not in ("squared", "squared_epsilon_insensitive"):
        middle = np.atleast_1d(quantile if loss == "pinball" else 0.5)
        low, *offsets, high = weighted_quantiles(y, weights, (0.25, *middle, 0.75))
        offset = np.concatenate(offsets)
        spread = (high - low) / _QUARTILES
        scale = np.where(spread > 0, spread, scale)
    # What rounding has left of a constant is no scale.
    size = np.abs(y).max(axis=0)
    scale = np.where(scale > 1e-13 * size, scale, 1.0)
    scale = np.broadcast_to(scale, offset.shape).astype(float)
    return TargetScale(np.asarray(offset, float), scale)


def _log_means(means: np.ndarray, loss: str) -> np.ndarray:
    if not (means > 0).all():
        raise ValueError(
            f"y is zero in all rows that count, but loss={loss!r} learns the logarithm "
            "of its mean: there is nothing to learn."
        )
    return np.log(means)


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, levels) -> list:
    """The smallest value of each column up to which lies such a share of the weight."""
    order = np.argsort(values, axis=0, kind="stable")
    shares = np.cumsum(weights[order], axis=0)
    found = []
    for level in levels:
        at = (shares < level * shares[-1] * (1 - 1e-12)).sum(axis=0)
        columns = np.arange(values.shape[1])
        found.append(values[order[np.minimum(at, len(values) - 1), columns], columns])
    return found
