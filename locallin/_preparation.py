"""From what the user passes to a problem that a solver takes."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from locallin._matrix import as_rows
from locallin._sklearn import check_sample_weight
from locallin._solvers import Problem
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.kernels.linear import CRAMMER_SINGER, ONE_VS_REST, Target
from locallin.kernels.losses import LOSSES
from locallin.kernels.rows import Codes, Rows, squared_row_norms

CODINGS = {
    "inverse-distance": InverseDistanceCoding,
    "soft": SoftAssignmentCoding,
    "adaptive": AdaptiveCoding,
}


@dataclass(frozen=True)
class HeldOut:
    """Rows that early stopping watches: for the coding, for the local models."""

    where: Rows
    rows: Rows
    codes: Codes
    labels: np.ndarray
    weights: np.ndarray


class Preparation:
    """The half of a classifier that works before its solver does.

    Classes, weights, held-out rows, feature map, coding, and the scales that the data
    decides.
    """

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

    def _fit_maps(self, X, encoded, weights, rng, keep: bool):
        """Fit the feature map and the coding, unless they are to be kept.

        Returns what anchors see and what local models see.
        """
        if not keep:
            self.feature_map_ = None
            if self.feature_map is not None:
                self.feature_map_ = clone(self.feature_map).fit(X, encoded)
        where, what = self._spaces(X)
        if not keep:
            self._choose_scales(what, weights)
            n_seen = int(np.count_nonzero(weights))
            coding = self._new_coding(n_seen, rng)
            uniform = n_seen == len(weights) and weights.min() == weights.max()
            coding.fit(where, encoded, None if uniform else weights)
            self.coding_ = coding
        return where, what

    def _spaces(self, X):
        """What anchors see (x or phi(x)), and what local models see (phi(x))."""
        mapped = X
        if self.feature_map_ is not None:
            mapped = check_array(
                self.feature_map_.transform(X),
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                input_name="feature_map's output",
            )
        where = mapped if self.coding_space == "mapped" else X
        if self.local_model == "constant":
            return where, np.empty((X.shape[0], 0), X.dtype)
        return where, mapped

    def _new_coding(self, n_rows: int, rng):
        seed = rng.randint(np.iinfo(np.int32).max)
        if not isinstance(self.coding, str):
            coding = clone(self.coding)
            if coding.random_state is None:
                coding.set_params(random_state=seed)
            return coding
        n_anchors = self.n_anchors
        if not isinstance(self.anchors, str):
            given = len(self.anchors)
            if n_anchors not in ("auto", given):
                raise ValueError(
                    f"n_anchors={n_anchors}, but {given} anchors are given: leave "
                    "n_anchors='auto'."
                )
            n_anchors = given
        elif n_anchors == "auto":
            n_anchors = int(np.clip(n_rows // 25, len(self.classes_), 100))
        coding = CODINGS[self.coding](
            n_anchors, anchors=self.anchors, random_state=seed
        )
        k = self.n_neighbors
        if self.coding == "adaptive":
            if k is not None:
                raise ValueError(
                    f"n_neighbors={k}, but coding='adaptive' chooses the number of "
                    "neighbors for each row: leave n_neighbors=None."
                )
            return coding
        coding.n_neighbors = min(coding.n_neighbors, n_anchors) if k is None else k
        return coding

    def _choose_scales(self, features, weights) -> None:
        """Set ``intercept_scaling_`` and ``alpha_``, in the units of the features."""
        n_rows = np.count_nonzero(weights)
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
        self.intercept_scaling_ = self._row_norm if scaling == "auto" else scaling
        if alpha == "auto":
            # Strong where rows are few, weaker with n and with the number of
            # classes, as held-out rows ask for.
            rivals = len(self.classes_) - 1
            alpha = square * np.clip(300 / (n_rows * rivals), 0.02, 1.0) / n_rows
        self.alpha_ = alpha

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

    def _held_out(self, X, labels, weights) -> HeldOut:
        where, what = map(as_rows, self._spaces(X))
        codes = self.coding_._encode(where, self.n_jobs)
        return HeldOut(where, what, codes, labels, weights)

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

    def _convex_problem(self, where, what, encoded, weights, *, stream=False):
        """The problem in W and b, with the codes of the fitted coding."""
        target, visits = self._target(encoded, weights, stream=stream)
        two_classes = len(self.classes_) == 2
        crammer_singer = self.multi_class == "crammer_singer"
        return Problem(
            rows=as_rows(what),
            codes=self.coding_._encode(as_rows(where), self.n_jobs),
            target=target,
            visits=visits,
            n_anchors=len(self.coding_.anchors_),
            n_features=what.shape[1],
            # Two classes: w_1 = -w_0 at Crammer & Singer's optimum, which is the
            # binary machine on f = f_1 - f_0 with half the penalty.
            alpha=self.alpha_ / 2 if crammer_singer and two_classes else self.alpha_,
            intercept_scaling=float(self.intercept_scaling_),
            loss=LOSSES[self.loss],
            strategy=CRAMMER_SINGER
            if crammer_singer and not two_classes
            else ONE_VS_REST,
            n_jobs=self.n_jobs,
        )
