"""Sets of classes that hold the true one as often as promised."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if

from locallin.engine.invariants import Array, Rule

# Levels between which conformity scores of held-out rows are told apart.
_LEVELS = 500

CONFORMITY: dict[str, Rule] = {
    "conformity_": Array(
        (("classes", lambda n: n + 1), _LEVELS), least=0.0, optional=True
    ),
    "conformity_counts_": Array(
        (("classes", lambda n: n + 1),), "i", least=0, optional=True
    ),
}


class Conformity(NamedTuple):
    """How far probabilities of the true class fall short of one, in held-out rows.

    Rows of the table are for all rows and for those of each class; each holds values
    that no more than 1, 2, ... of ``_LEVELS`` equal parts exceed. ``counts`` are the
    numbers of held-out rows behind them.
    """

    table: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(proba: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> "Conformity":
        """That of held-out rows with probabilities, labels as indices, and weights."""
        gaps = 1.0 - proba[np.arange(len(labels)), labels].astype(float)
        groups = [np.ones(len(labels), bool)]
        groups += [labels == label for label in range(proba.shape[1])]
        table = np.ones((len(groups), _LEVELS), np.float32)
        counts = np.array([np.count_nonzero(group) for group in groups])
        for row, group in zip(table, groups, strict=True):
            if group.any():
                row[:] = _levels(gaps[group], weights[group])
        # A gap that is rounded down would leave out its own row.
        return Conformity(np.nextafter(table, np.float32(2)), counts)

    def largest_gap(self, group: int, coverage: float) -> float:
        """The gap that a new row of the group exceeds as seldom as asked for."""
        n = int(self.counts[group])
        rank = np.ceil((n + 1) * coverage - 1e-9)
        if rank > n:
            return 1.0
        n_levels = self.table.shape[1]
        level = int(np.ceil(rank * n_levels / n - 1e-9))
        return float(self.table[group, max(level, 1) - 1])


def _levels(gaps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of ascending gaps, those at which each of the levels is reached."""
    order = np.argsort(gaps, kind="stable")
    shares = np.cumsum(weights[order], dtype=float)
    shares /= shares[-1]
    wanted = np.arange(1, _LEVELS + 1) / _LEVELS
    places = np.searchsorted(shares, wanted - 1e-9)
    return gaps[order][np.minimum(places, len(gaps) - 1)]


def largest_gaps(model, coverage: float, class_conditional: bool = False) -> np.ndarray:
    """How far the probability of each class may fall short of one, within a set.

    Parameters
    ----------
    model : SetPredictor
        The fitted classifier.
    coverage : float
        Share of rows whose set holds their class.
    class_conditional : bool, default=False
        Whether the promise is kept for each class by itself.

    Returns
    -------
    ndarray of shape (n_classes,)
        The gaps.
    """
    if isinstance(coverage, bool) or not (
        isinstance(coverage, Real) and 0 < coverage < 1
    ):
        raise ValueError(f"coverage={coverage!r} must be a number above 0 and below 1.")
    known = Conformity(model.conformity_, model.conformity_counts_)
    groups = [1 + c if class_conditional else 0 for c in range(len(model.classes_))]
    return np.array([known.largest_gap(group, float(coverage)) for group in groups])


class SetPredictor:
    """Prediction sets of a classifier with probabilities and held-out rows."""

    classes_: Any
    predict_proba: Any

    def _set_conformity(self, found: Conformity | None) -> None:
        names = ("conformity_", "conformity_counts_")
        for name in names:
            if name in vars(self):
                delattr(self, name)
        if found is not None:
            self.conformity_, self.conformity_counts_ = found

    def _no_sets(self) -> str:
        """Why there are no prediction sets, and what to do."""
        raise NotImplementedError

    def _has_sets(self) -> bool:
        if not {"conformity_", "conformity_counts_"} <= set(vars(self)):
            raise AttributeError(self._no_sets())
        return True

    @available_if(_has_sets)
    def predict_set(
        self, X, coverage: float = 0.9, *, class_conditional: bool = False
    ) -> np.ndarray:
        """Sets of classes that hold the true one as often as promised.

        Of new rows like those of the training data, a share of at least ``coverage``
        has its class in its set, whatever the model is worth: a poor one has large
        sets. The promise is kept by rows that were held out in ``fit``; it holds on
        average over rows and training sets, not for each kind of row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.
        coverage : float, default=0.9
            Share of rows whose set holds their class, above 0 and below 1.
        class_conditional : bool, default=False
            Whether the promise is kept for each class by itself. Sets are larger, and
            hold every class of which too few rows were held out.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), dtype bool
            Whether each of ``classes_`` is in the set of the row. The most probable
            class always is.
        """
        gaps = largest_gaps(self, coverage, class_conditional)
        proba = self.predict_proba(X)
        found = 1.0 - proba.astype(float) <= gaps
        found[np.arange(len(found)), proba.argmax(axis=1)] = True
        return found
