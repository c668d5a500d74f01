"""What y is: classes, or numbers."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

# Integers with more distinct values are taken as numbers.
_MOST_CLASSES = 50


def is_number_target(y: np.ndarray, target_type: str) -> bool:
    """Whether y is numbers, by what a parameter says or by what it holds."""
    if target_type != "auto":
        return target_type == "numbers"
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass", "continuous"):
        raise ValueError(
            f"Unknown label type: {kind}: y must hold one class or one number of each "
            "row."
        )
    if kind == "continuous":
        return True
    return y.dtype.kind in "iuf" and len(np.unique(y)) > _MOST_CLASSES
