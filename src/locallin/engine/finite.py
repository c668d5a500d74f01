"""Finite in, finite out."""

from collections.abc import Callable

import numpy as np

# What a row that is too long is divided by until its result is finite.
_SHORTER = 2.0**16


def all_finite(values: np.ndarray) -> bool:
    """Whether no value is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def finite_results(function: Callable, X) -> np.ndarray:
    """Results of finite rows, an array with a row for each.

    Products of very long rows leave the range of their numbers. Such a row is replaced
    by a shorter one in its direction, alone: the results of the others, and its own,
    do not depend on what stands beside it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        results = function(X)
        if all_finite(results):
            return results
        long = np.arange(X.shape[0])
        rows = X
        for _ in range(np.finfo(X.dtype).maxexp // 16 + 1):
            found = results[long].reshape(len(long), -1)
            bad = ~np.isfinite(found).all(axis=1)
            if not bad.any():
                break
            long = long[bad]
            rows = rows[bad] / X.dtype.type(_SHORTER)
            results[long] = function(rows)
        else:
            raise ValueError(
                f"Row {long[0]} of a block has a result that is not finite, however "
                "short the row is: the model's own numbers are too large or too small. "
                "Fit it again, to scaled features."
            )
    return results
