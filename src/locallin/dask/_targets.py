"""What y is to a fit on a cluster: classes, or numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import (
    assert_all_finite,
    check_array,
    column_or_1d,
    compute_class_weight,
)
from sklearn.utils.multiclass import check_classification_targets

from locallin.methods.base import stream_classes

# Numbers are rows of one class.
_ONE_CLASS = np.zeros(1)


class RowWeights(NamedTuple):
    """The weight of a row of each class, in units of the mean weight of all rows."""

    classes: np.ndarray
    factors: np.ndarray

    def of(self, y: np.ndarray) -> np.ndarray:
        """Weights of the rows of a block."""
        if len(self.classes) == 1:  # numbers
            return np.repeat(self.factors, len(y))
        return self.factors[np.searchsorted(self.classes, y)]


class Classes:
    """y are classes; rows are counted by class."""

    most_axes = 1  # of y

    @staticmethod
    def checked(y) -> np.ndarray:
        """The classes of a block."""
        y = column_or_1d(np.asarray(y))
        assert_all_finite(y, input_name="y")
        if len(y):
            check_classification_targets(y)
        return y

    @staticmethod
    def groups(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Classes of a block, and the index of each row's."""
        return np.unique(y, return_inverse=True)

    @staticmethod
    def of_all(found: Sequence[np.ndarray], model) -> np.ndarray:
        """All classes, from those of the blocks; or those that ``model`` has."""
        known = getattr(model, "classes_", None)
        return stream_classes(np.unique(np.concatenate(found)), known)

    @staticmethod
    def factors(class_weight, classes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Weights of classes that have so many rows."""
        if class_weight is None:
            return np.ones(len(classes))
        if isinstance(class_weight, str):  # "balanced"
            return rows.sum() / (len(classes) * rows)
        return compute_class_weight(class_weight, classes=classes, y=classes)


class Numbers:
    """y are numbers, of one target or several; all rows are of one class."""

    most_axes = 2  # of y

    @staticmethod
    def checked(y) -> np.ndarray:
        """The numbers of a block."""
        return check_array(
            y, ensure_2d=False, dtype=float, ensure_min_samples=0, input_name="y"
        )

    @staticmethod
    def groups(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The one class, and its index for each row."""
        return _ONE_CLASS, np.zeros(len(y), np.intp)

    @staticmethod
    def of_all(found: Sequence[np.ndarray], model) -> np.ndarray:
        """The one class."""
        return _ONE_CLASS

    @staticmethod
    def factors(class_weight, classes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """All rows count alike."""
        return np.ones(1)


Target = type[Classes] | type[Numbers]


def target_of(estimator) -> Target:
    """What y is to an estimator."""
    return Classes if is_classifier(estimator) else Numbers
