"""The skeleton that every classifier of the library shares."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin._matrix import BLOCK, as_rows
from locallin._parallel import in_threads, row_blocks
from locallin._sklearn import CallbackSupportMixin, check_sample_weight
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

    def _validate(self, X, y="no_validation", *, reset):
        return validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
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
        """Apply ``function`` to (codes, feature rows) of blocks of validated X."""

        def block(start, stop):
            part = X if stop - start == X.shape[0] else X[start:stop]
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
        scores = self._scores(self._validate(X, reset=False))
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
        return self.classes_[self._winners(self.decision_function(X))]

    @staticmethod
    def _winners(scores) -> np.ndarray:
        """Index of the predicted class."""
        if scores.ndim == 1 or scores.shape[1] == 1:
            return (scores.reshape(-1) > 0).astype(np.intp)
        return scores.argmax(axis=1)

    def _mixed(self, X, attribute: str) -> np.ndarray:
        """Average of a fitted table over anchors, weighted by each row's codes."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
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
