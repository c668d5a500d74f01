"""What y is: classes, or numbers."""

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array

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


def tree_target(y, is_number: bool) -> np.ndarray:
    """The target as a tree takes it: numbers, or places of classes."""
    if is_number:
        return check_array(y, ensure_2d=False, dtype=float)
    return np.unique(y, return_inverse=True)[1]
