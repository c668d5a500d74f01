"""The skeleton that every classifier of the library shares."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin._matrix import BLOCK
from locallin._parallel import in_threads, row_blocks
from locallin._preparation import Preparation
from locallin._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    unchanged_on_error,
    validate_parameters,
    with_callbacks,
)


class Given(NamedTuple):
    """What ``fit`` or ``partial_fit`` was given, checked."""

    X: Any
    y: np.ndarray
    encoded: np.ndarray
    weights: np.ndarray
    rng: np.random.RandomState
    keep: bool  # whether to go on from what is fitted
    held_out: tuple | None


class ScoringClassifier(Preparation, ClassifierMixin, BaseEstimator):
    """Validation, labels, weights and prediction.

    A subclass's ``_scores`` are the scores of validated rows.
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "intercept_scaling": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""

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

    def _in_blocks(self, X, function) -> np.ndarray:
        """Apply ``function`` to blocks of validated X.

        NaN and infinity are looked for here, block by block: the rows are then in
        the cache for what follows.
        """

        def block(start, stop):
            part = X if stop - start == X.shape[0] else X[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                suspicious = not np.isfinite(part.sum())
            if suspicious:
                assert_all_finite(part, input_name="X")
            return function(part)

        blocks = row_blocks(X.shape[0], BLOCK)
        parts = in_threads(block, blocks, self.n_jobs)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows.

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


class LocallyLinearClassifier(CallbackSupportMixin, ScoringClassifier):
    """A classifier that learns in epochs, also from a stream.

    A subclass's ``_fit`` and ``_partial_fit`` learn, set ``coef_``, and return whether
    they were interrupted; its ``_held_out_scores`` are those of held-out rows at the
    parameters a solver has reached.
    """

    _parameter_constraints: dict = {
        **ScoringClassifier._parameter_constraints,
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

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
            validation = X_val, y_val, sample_weight_val
            interrupted = self._fit(self._take(X, y, sample_weight, validation))
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _is_stream_method(self) -> bool:
        return True

    @available_if(lambda self: self._is_stream_method())
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a block of a stream, in one pass.

        What the first call chooses from its block stays: alpha and the scale of the
        intercepts where they are "auto", and anchors, bandwidth and first step where
        the method has them. Make it a large one.

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
            given = self._take_block(X, y, classes, sample_weight)
            interrupted = self._partial_fit(given)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _take(self, X, y, sample_weight, validation) -> Given:
        """Check what ``fit`` was given."""
        validate_parameters(self)
        self._check_choices()
        keep = self.warm_start and hasattr(self, "coef_")
        X, y = self._validate(X, y, reset=not keep)
        encoded = self._encode_classes(y, self.classes_ if keep else None)
        weights = self._row_weights(X, encoded, sample_weight)
        rng = check_random_state(self.random_state)
        held_out = self._validation_rows(X, encoded, weights, validation, rng)
        return Given(X, y, encoded, weights, rng, keep, held_out)

    def _take_block(self, X, y, classes, sample_weight) -> Given:
        """Check what ``partial_fit`` was given."""
        validate_parameters(self)
        self._check_choices()
        self._check_stream()
        keep = hasattr(self, "coef_")
        known = self._stream_classes(classes, self.classes_ if keep else None)
        X, y = self._validate(X, y, reset=not keep)
        encoded = self._encode_classes(y, known)
        weights = self._row_weights(X, encoded, sample_weight)
        rng = check_random_state(self.random_state)
        return Given(X, y, encoded, weights, rng, keep, None)

    def _learned_attributes(self, coef, intercept) -> dict:
        """Fitted attributes that hold the parameters a solver has reached."""
        return {"coef_": coef, "intercept_": intercept}
