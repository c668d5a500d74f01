"""The skeleton that every classifier of the library shares."""

from numbers import Integral, Real

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin._matrix import BLOCK, as_rows
from locallin._parallel import in_threads, row_blocks
from locallin._preparation import HeldOut, Preparation
from locallin._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    unchanged_on_error,
    with_callbacks,
)
from locallin.kernels.losses import LOSSES
from locallin.kernels.predict import csr_scores, dense_scores, mix
from locallin.kernels.rows import Codes, Rows


def score_rows(rows: Rows, codes: Codes, coef, intercept) -> np.ndarray:
    """Scores of a block of rows whose codes are known, shape (n, n_scores)."""
    dtype = np.result_type(rows.data, codes.values, coef)
    out = np.empty((len(codes.indptr) - 1, coef.shape[1]), dtype)
    if rows.indptr is None:
        dense_scores(rows.data, codes, coef, intercept, out)
    else:
        csr_scores(rows, codes, coef, intercept, out)
    return out


class LocallyLinearClassifier(
    Preparation, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Validation, labels, weights, prediction and local weights.

    A subclass's ``_fit`` and ``_partial_fit`` learn, and return whether they were
    interrupted. They set ``classes_``, ``coding_`` (a fitted coding),
    ``feature_map_`` (a fitted transformer or None), ``coef_`` of shape (n_anchors,
    n_scores, n_local_features) and ``intercept_`` of shape (n_anchors, n_scores).
    """

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "intercept_scaling": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "t0": [Interval(Real, 2, None, closed="left"), StrOptions({"auto"})],
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective and in the choice of anchors. A
            weight of 0 is the same as leaving the row out.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Rows to watch for early stopping, in place of a fraction of X.
        y_val : array-like of shape (n_val,), default=None
            Their classes.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights in the accuracy.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            interrupted = self._fit(
                X, y, sample_weight, (X_val, y_val, sample_weight_val)
            )
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _is_stream_method(self) -> bool:
        if self.solver != "sgd":
            raise AttributeError(
                f"partial_fit needs solver='sgd', but solver={self.solver!r}."
            )
        return True

    @available_if(_is_stream_method)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one pass of SGD over a block of a stream, from weights of zero.

        The first call chooses the anchors, the bandwidth, the first step and, with
        ``alpha="auto"``, alpha from its block: make it a large one, or pass
        ``anchors`` as an array. Needs ``solver="sgd"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A block of rows.
        y : array-like of shape (n_samples,)
            Their classes; a block need not contain all of them.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed in the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, taken as they are.

        Returns
        -------
        self : object
            The classifier.
        """
        with unchanged_on_error(self):
            interrupted = self._partial_fit(X, y, classes, sample_weight)
        if interrupted:
            raise KeyboardInterrupt
        return self

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

    def _held_out_scores(self, held: HeldOut, coef, intercept) -> np.ndarray:
        """Scores of held-out rows at the parameters a solver has reached."""
        return score_rows(held.rows, held.codes, coef, intercept)

    def _learned_attributes(self, coef, intercept) -> dict:
        """Fitted attributes that hold the parameters a solver has reached."""
        return {"coef_": coef, "intercept_": intercept}

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
            where, what = map(as_rows, self._spaces(part))
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
