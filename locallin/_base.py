"""The skeleton that every classifier of the library shares."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin._matrix import BLOCK, as_rows
from locallin._parallel import in_threads, row_blocks
from locallin._sklearn import CallbackSupportMixin, check_sample_weight
from locallin._solvers import Problem
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.kernels.linear import CRAMMER_SINGER, ONE_VS_REST, Target
from locallin.kernels.losses import LOSSES
from locallin.kernels.predict import csr_scores, dense_scores, mix
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


def score_rows(rows: Rows, codes: Codes, coef, intercept) -> np.ndarray:
    """Scores of a block of rows whose codes are known, shape (n, n_scores)."""
    dtype = np.result_type(rows.data, codes.values, coef)
    out = np.empty((len(codes.indptr) - 1, coef.shape[1]), dtype)
    if rows.indptr is None:
        dense_scores(rows.data, codes, coef, intercept, out)
    else:
        csr_scores(rows, codes, coef, intercept, out)
    return out


class LocallyLinearClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Validation, labels, weights, prediction and local weights.

    A subclass's ``fit`` sets ``classes_``, ``coding_`` (a fitted coding),
    ``feature_map_`` (a fitted transformer or None), ``coef_`` of shape (n_anchors,
    n_scores, n_local_features) and ``intercept_`` of shape (n_anchors, n_scores).
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def anchors_(self) -> np.ndarray:
        """Anchor points, shape (n_anchors, n_features)."""
        return self.coding_.anchors_

    def _validate(self, X, y="no_validation", *, reset, finite=True):
        """Check X as scikit-learn does; NaN and infinity later where not finite."""
        return validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=finite,
        )

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

        Returns the features that local models see.
        """
        if not keep:
            self.feature_map_ = None
            if self.feature_map is not None:
                self.feature_map_ = clone(self.feature_map).fit(X, encoded)
        features = self._local_features(X)
        if not keep:
            self._choose_scales(features, weights)
            n_seen = int(np.count_nonzero(weights))
            coding = self._new_coding(n_seen, rng)
            where = features if self.coding_space == "mapped" else X
            uniform = n_seen == len(weights) and weights.min() == weights.max()
            coding.fit(where, encoded, None if uniform else weights)
            self.coding_ = coding
        return features

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
        self.intercept_scaling_ = np.sqrt(square) if scaling == "auto" else scaling
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
        where, what = self._spaces(X)
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

    def _convex_problem(self, X, features, encoded, weights, *, stream=False):
        """The problem in W and b, with the codes of the fitted coding."""
        where = features if self.coding_space == "mapped" else X
        target, visits = self._target(encoded, weights, stream=stream)
        two_classes = len(self.classes_) == 2
        crammer_singer = self.multi_class == "crammer_singer"
        return Problem(
            rows=as_rows(features),
            codes=self.coding_._encode(as_rows(where), self.n_jobs),
            target=target,
            visits=visits,
            n_anchors=len(self.coding_.anchors_),
            n_features=features.shape[1],
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

    def _held_out_scores(self, held: HeldOut, coef, intercept) -> np.ndarray:
        """Scores of held-out rows at the parameters a solver has reached."""
        return score_rows(held.rows, held.codes, coef, intercept)

    def _learned_attributes(self, coef, intercept) -> dict:
        """Fitted attributes that hold the parameters a solver has reached."""
        return {"coef_": coef, "intercept_": intercept}

    def _local_features(self, X):
        """phi(x): what the local models see."""
        if self.local_model == "constant":
            return np.empty((X.shape[0], 0), X.dtype)
        if self.feature_map_ is None:
            return X
        return self.feature_map_.transform(X)

    def _spaces(self, X) -> tuple[Rows, Rows]:
        """Rows for the coding and rows for the local models."""
        features = self._local_features(X)
        mapped = self.feature_map_ is not None and self.coding_space == "mapped"
        return as_rows(features if mapped else X), as_rows(features)

    def _in_blocks(self, X, function) -> np.ndarray:
        """Apply ``function`` to (codes, feature rows) of blocks of validated X.

        NaN and infinity are looked for here, block by block: the rows are then in
        the cache for what follows.
        """

        def block(start, stop):
            part = X if stop - start == X.shape[0] else X[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                suspicious = not np.isfinite(part.sum())
            if suspicious:
                assert_all_finite(part, input_name="X")
            where, what = self._spaces(part)
            return function(self.coding_._encode(where), what)

        blocks = row_blocks(X.shape[0], BLOCK)
        parts = in_threads(block, blocks, self.n_jobs)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _scores(self, X) -> np.ndarray:
        return self._in_blocks(
            X, lambda codes, rows: score_rows(rows, codes, self.coef_, self.intercept_)
        )

    def decision_function(self, X) -> np.ndarray:
        """Scores f_c(x) = sum_j g_j(x) (w_jc . x + b_jc).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; one per row for two classes, positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        scores = self._scores(self._validate(X, reset=False, finite=False))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X) -> np.ndarray:
        """Classes of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of the largest score of each row.
        """
        winners = self._winners(self.decision_function(X))
        return self.classes_[winners]

    @staticmethod
    def _winners(scores) -> np.ndarray:
        """Index of the predicted class."""
        if scores.ndim == 1 or scores.shape[1] == 1:
            return (scores.reshape(-1) > 0).astype(np.intp)
        return scores.argmax(axis=1)

    def _mixed(self, X, attribute: str) -> np.ndarray:
        """Average of a fitted table over anchors, weighted by each row's codes."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=False)
        table = getattr(self, attribute)
        flat = table.reshape(len(table), -1)

        def block(codes, rows):
            out = np.zeros((len(codes.indptr) - 1, flat.shape[1]), flat.dtype)
            mix(codes, flat, out)
            return out

        return self._in_blocks(X, block).reshape(X.shape[0], *table.shape[1:])

    def local_coef(self, X) -> np.ndarray:
        """Effective weights w_c(x) = sum_j g_j(x) w_jc of each row.

        With the row's local coordinates held fixed they explain its score exactly:
        ``decision_function(X) == (local_coef(X) * X[:, None]).sum(-1) +
        local_intercept(X)`` to rounding, with X replaced by its feature map where
        there is one. Constant local models have weights of zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights; n_scores is 1 for two classes.
        """
        weights = self._mixed(X, "coef_")
        if self.local_model == "constant":
            return np.zeros((*weights.shape[:2], self.n_features_in_), weights.dtype)
        return weights

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts b_c(x) = sum_j g_j(x) b_jc of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; n_scores is 1 for two classes.
        """
        return self._mixed(X, "intercept_")

    def _has_probabilities(self) -> bool:
        if self.loss != "logistic":
            raise AttributeError(
                f"predict_proba needs loss='logistic', but loss={self.loss!r}: for "
                "probabilities of a margin loss wrap the classifier in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows; needs ``loss="logistic"``.

        One-vs-rest probabilities are scaled to add up to one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        odds = expit(self.decision_function(X))
        if odds.ndim == 1:
            return np.column_stack([1.0 - odds, odds])
        total = odds.sum(axis=1, keepdims=True)
        return np.where(
            total > 0, odds / np.where(total > 0, total, 1), 1 / len(odds.T)
        )

    @available_if(_has_probabilities)
    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))
