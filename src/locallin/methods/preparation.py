"""From what the user passes to a problem that a solver takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from locallin.engine.matrix import as_rows
from locallin.engine.sklearn_api import check_sample_weight
from locallin.kernels.linear import Target
from locallin.kernels.rows import squared_row_norms


@dataclass(frozen=True)
class HeldOut:
    """Rows that early stopping watches, in the form their classifier scores."""

    rows: Any
    labels: np.ndarray
    weights: np.ndarray


class Preparation:
    """The half of a classifier that works before its solver does.

    Classes, weights, held-out rows, and the scales that the data decides.
    """

    _default_intercept_scaling = 1.0  # in units of the rows' norm

    def _encode_classes(self, y, known) -> np.ndarray:
        """Set ``classes_`` and return y as indices into it.

        ``known`` are the classes that an earlier call has fixed, or None.
        """
        check_classification_targets(y)
        found, encoded = np.unique(y, return_inverse=True)
        if known is None:
            if len(found) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of at least two classes; "
                    f"y has one class: {found[0]!r}."
                )
            self.classes_ = found
            return encoded
        unknown = np.setdiff1d(found, known)
        if len(unknown):
            raise ValueError(
                f"y has classes that are not among the known ones: {unknown}; "
                f"known classes: {known}."
            )
        self.classes_ = known
        return np.searchsorted(known, found)[encoded]

    def _row_weights(self, X, encoded, sample_weight) -> np.ndarray:
        """Product of sample weights and class weights."""
        weights = check_sample_weight(sample_weight, X)
        if self.class_weight is not None:
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[encoded]
            )
            weights = weights * per_class[encoded].astype(weights.dtype)
        return weights

    def _check_stream(self) -> None:
        if self.early_stopping:
            raise ValueError("partial_fit does not work with early_stopping=True.")
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows at once: for partial_fit pass "
                "a dict of weights, e.g. from sklearn.utils.compute_class_weight."
            )

    @staticmethod
    def _stream_classes(classes, known):
        if classes is None:
            if known is None:
                raise ValueError(
                    "classes must be passed to the first call of partial_fit."
                )
            return known
        classes = np.unique(classes)
        if known is not None and not np.array_equal(classes, known):
            raise ValueError(
                f"classes={classes} differs from the first call of partial_fit, "
                f"which had {known}."
            )
        if len(classes) < 2:
            raise ValueError(f"classes={classes} must name at least two classes.")
        return classes

    def _choose_scales(self, features, weights, n_rows: int) -> None:
        """Set ``intercept_scaling_`` and ``alpha_``, in the units of the features."""
        square = 1.0
        if features.shape[1]:
            norms = squared_row_norms(as_rows(features))
            square = float(np.average(norms, weights=weights)) or 1.0
            limits = np.finfo(features.dtype)
            low = float(limits.tiny) / float(limits.eps)
            high = float(limits.max) * float(limits.eps)
            if not low < square < high:
                raise ValueError(
                    f"The rows of X have a root mean square norm of "
                    f"{np.sqrt(square):.2g}, whose square is outside the range of "
                    f"{features.dtype}: scale the features, e.g. with StandardScaler."
                )
        scaling, alpha = self.intercept_scaling, self.alpha
        self._row_norm = np.sqrt(square)
        if scaling == "auto":
            scaling = self._default_intercept_scaling * self._row_norm
        self.intercept_scaling_ = scaling
        if alpha == "auto":
            alpha = square * self._default_alpha(n_rows) / n_rows
        self.alpha_ = alpha

    def _default_alpha(self, n_rows: int) -> float:
        """Alpha for rows of unit norm, times their number."""
        # Strong where rows are few, weaker with n and with the number of classes,
        # as held-out rows ask for.
        share = (300 / n_rows) ** 1.25 / (len(self.classes_) - 1)
        return np.clip(share, 0.01, 1.0)

    def _validation_rows(self, X, encoded, weights, given, rng):
        """Rows for early stopping: (X, labels, weights), or None.

        Rows taken from the training data get a training weight of 0 there.
        """
        X_val, y_val, weights_val = given
        if not self.early_stopping:
            if X_val is not None or y_val is not None:
                raise ValueError(
                    "X_val and y_val serve early stopping: set early_stopping=True."
                )
            return None
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: pass both or neither.")
        if X_val is not None:
            X_val, y_val = self._validate(X_val, y_val, reset=False)
            labels = self._encode_classes(y_val, self.classes_)
            return X_val, labels, self._row_weights(X_val, labels, weights_val)
        chosen = train_test_split(
            np.flatnonzero(weights > 0),
            test_size=self.validation_fraction,
            stratify=encoded[weights > 0],
            random_state=rng,
        )[1]
        held_weights = weights[chosen]
        weights[chosen] = 0.0
        return X[chosen], encoded[chosen], held_weights

    def _target(self, encoded, weights, *, stream=False) -> tuple[Target, np.ndarray]:
        """What to learn, and the rows that count; their weights get a mean of one.

        Weights of a stream are taken as they are.
        """
        n_classes = len(self.classes_)
        positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
        visits = np.flatnonzero(weights > 0)
        present = np.unique(encoded[visits])
        if not stream:
            if len(present) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of at least two classes; the "
                    "rows of positive weight have one class: "
                    f"{self.classes_[present[0]]!r}."
                )
            weights = weights / weights[visits].mean(dtype=float)
        return Target(encoded, positive, weights.astype(float)), visits
