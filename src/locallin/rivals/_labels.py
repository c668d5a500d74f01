"""What machines for few labels share: rows with and without a class."""

import numpy as np

from locallin.engine.input import checked_data
from locallin.engine.sklearn_api import check_sample_weight, unchanged_on_error
from locallin.methods.base import (
    ScoringClassifier,
    encode_classes,
    winning_classes,
)
from locallin.methods.skeleton import check_parameters


class FewLabelsClassifier(ScoringClassifier):
    """A classifier that learns from rows with and without a class.

    A subclass's ``_learn`` takes checked rows, their weights, the places of those with
    a class, and these classes as numbers; it sets ``coef_``, and returns the scores of
    all rows.
    """

    _fitted_mark = "coef_"

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, those without a class among them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, labelled and not.
        y : array-like of shape (n_samples,)
            Classes; -1 for unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, of unlabelled ones, too. A weight of 0 is the same as
            leaving the row out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            check_parameters(self)
            X, y = self._checked(X, y)
            weights = check_sample_weight(sample_weight, X).astype(float)
            labelled = np.flatnonzero((weights > 0) & is_labelled(y))
            self.classes_, encoded = encode_classes(
                y[labelled], None, type(self).__name__
            )
            scores = self._learn(X, weights, labelled, encoded)
            self.transduction_ = self.classes_[winning_classes(scores)]
        return self

    def _checked(self, X, y) -> tuple:
        return checked_data(self, X, y, reset=True)

    def _learn(self, X, weights, labelled, encoded) -> np.ndarray:
        raise NotImplementedError


def is_labelled(y: np.ndarray) -> np.ndarray:
    """Mask of the rows that have a class; of two values, -1 is one like any other."""
    if y.dtype.kind not in "iuf" or len(np.unique(y)) <= 2:
        return np.ones(len(y), bool)
    return y != -1


def signs_of(encoded: np.ndarray, n_classes: int) -> np.ndarray:
    """1 for a row's class and -1 for others, a column of each score.

    Two classes have one score, that of the second.
    """
    positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    return np.where(encoded[:, None] == positive, 1.0, -1.0)
