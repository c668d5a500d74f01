"""What every method with anchors shares: the coding, its scores and local weights."""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from locallin.anchors import choose_anchors
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.engine.matrix import as_rows
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.kernels.linear import CRAMMER_SINGER, ONE_VS_REST
from locallin.kernels.losses import LOSSES
from locallin.kernels.predict import csr_scores, dense_scores, mix
from locallin.kernels.rows import Codes, Rows
from locallin.methods.base import LocallyLinearClassifier
from locallin.methods.preparation import HeldOut
from locallin.solvers.convex import Problem, find_step
from locallin.solvers.growth import Growth, Stage, grow_anchors, held_out_folds

CODINGS = {
    "inverse-distance": InverseDistanceCoding,
    "soft": SoftAssignmentCoding,
    "adaptive": AdaptiveCoding,
}


# Rows that growing looks at, and up to which each is held out once.
_GROWING_ROWS = 20_000
_CROSS_VALIDATED_ROWS = 5000


class CodedRows(NamedTuple):
    """What anchors see, what local models see, and the codes."""

    where: Rows
    what: Rows
    codes: Codes


def score_rows(rows: Rows, codes: Codes, coef, intercept) -> np.ndarray:
    """Scores of a block of rows whose codes are known, shape (n, n_scores)."""
    dtype = np.result_type(rows.data, codes.values, coef)
    out = np.empty((len(codes.indptr) - 1, coef.shape[1]), dtype)
    if rows.indptr is None:
        dense_scores(rows.data, codes, coef, intercept, out)
    else:
        csr_scores(rows, codes, coef, intercept, out)
    return out


class AnchoredClassifier(LocallyLinearClassifier):
    """A classifier whose local models sit at anchors.

    A subclass's ``_fit`` and ``_partial_fit`` set ``coding_`` (a fitted coding),
    ``feature_map_`` (a fitted transformer or None), ``coef_`` of shape (n_anchors,
    n_scores, n_local_features) and ``intercept_`` of shape (n_anchors, n_scores).
    """

    _parameter_constraints: dict = {
        **LocallyLinearClassifier._parameter_constraints,
        "n_anchors": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "loss": [StrOptions(set(LOSSES))],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "t0": [Interval(Real, 2, None, closed="left"), StrOptions({"auto"})],
    }

    _rows_per_anchor = 25
    _most_anchors = 400
    _while_growing = {"tol": 0.02}

    @property
    def anchors_(self) -> np.ndarray:
        """Anchor points, shape (n_anchors, n_features)."""
        return self.coding_.anchors_

    def _is_stream_method(self) -> bool:
        if self.solver != "sgd":
            raise AttributeError(
                f"partial_fit needs solver='sgd', but solver={self.solver!r}."
            )
        return True

    def _fit_maps(self, X, encoded, weights, rng, keep: bool, n_rows=None):
        """Fit the feature map and the coding, unless they are to be kept.

        Returns what anchors see and what local models see. X may be a sample of
        ``n_rows`` rows.
        """
        if not keep:
            self.feature_map_ = None
            if self.feature_map is not None:
                self.feature_map_ = clone(self.feature_map).fit(X, encoded)
        where, what = self._spaces(X)
        if not keep:
            n_seen = n_rows or int(np.count_nonzero(weights))
            self._choose_scales(what, weights, n_seen)
            anchors = self.anchors
            if not isinstance(anchors, str):
                self._check_number_of(anchors)
            vars(self).pop("anchor_path_", None)
            if self.n_anchors == "auto":
                grown = self._grow(X, where, encoded, weights, n_seen, rng)
                anchors, self.anchor_path_ = grown
            coding = self._new_coding(anchors, n_seen, rng)
            uniform = weights.min() == weights.max()
            coding.fit(where, encoded, None if uniform else weights)
            self.coding_ = coding
        return where, what

    def _first_clock(self, convex: Problem, start, rng) -> float:
        """t0 of SGD: given, or from the step that serves best on a sample."""
        if self.t0 != "auto":
            return float(self.t0)
        return 1.0 / (self.alpha_ * find_step(convex, start[:2], self.shuffle, rng))

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

    def _new_coding(self, anchors, n_rows: int, rng):
        seed = rng.randint(np.iinfo(np.int32).max)
        if not isinstance(self.coding, str):
            coding = clone(self.coding)
            if coding.random_state is None:
                coding.set_params(random_state=seed)
            return coding
        if isinstance(anchors, str):
            n_anchors = self.n_anchors or self._rule_of_rows(n_rows, 100)
        else:
            n_anchors = len(anchors)
        coding = CODINGS[self.coding](n_anchors, anchors=anchors, random_state=seed)
        k = self.n_neighbors
        if self.coding == "adaptive":
            if k is not None:
                raise ValueError(
                    f"n_neighbors={k}, but coding='adaptive' chooses the number of "
                    "neighbors for each row: leave n_neighbors=None, or choose "
                    "coding='soft'."
                )
            return coding
        coding.n_neighbors = min(coding.n_neighbors, n_anchors) if k is None else k
        return coding

    def _check_number_of(self, anchors) -> None:
        if self.n_anchors not in (None, len(anchors)):
            raise ValueError(
                f"n_anchors={self.n_anchors!r}, but {len(anchors)} anchors are given: "
                "leave n_anchors=None."
            )

    def _growing_model(self):
        """What is fitted while anchors grow, but for the anchors."""
        return clone(self).set_params(early_stopping=False, **self._while_growing)

    def _rule_of_rows(self, n_rows: int, most: int) -> int:
        share = n_rows // self._rows_per_anchor
        return int(np.clip(share, len(self.classes_), most))

    def _grow(self, X, where, encoded, weights, n_rows: int, rng) -> Growth:
        """Anchors as many as held-out rows ask for."""
        chosen = np.flatnonzero(weights > 0)
        if len(chosen) > _GROWING_ROWS:
            chosen = np.sort(rng.choice(chosen, _GROWING_ROWS, replace=False))
        X, where, encoded = X[chosen], where[chosen], encoded[chosen]
        weights = weights[chosen]
        usual = choose_anchors(
            where, self._rule_of_rows(n_rows, 100), self.anchors, y=encoded,
            sample_weight=weights, random_state=rng,
        )  # fmt: skip
        cross_validated = len(chosen) <= _CROSS_VALIDATED_ROWS
        folds = held_out_folds(encoded, 5 if cross_validated else 1, rng)
        if not folds:
            return Growth(usual, np.empty((0, 3)))
        seed = rng.randint(np.iinfo(np.int32).max)

        def measure(anchors):
            model = self._growing_model().set_params(
                n_anchors=None, anchors=anchors, class_weight=None,
                random_state=seed, verbose=0,
            )  # fmt: skip
            for name in ("n_neighbors", "perplexity"):
                if (value := getattr(self, name, None)) is not None:
                    model.set_params(**{name: min(value, len(anchors))})
            wrong = np.zeros(len(encoded))
            for held in folds:
                seen = ~held
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X[seen], encoded[seen], weights[seen])
                rows = held if cross_validated else slice(None)
                wrong[rows] = model.predict(X[rows]) != encoded[rows]
            codes = model.coding_.encode(as_rows(where), self.n_jobs)
            return Stage(anchors, model.anchors_, codes, wrong)

        held = np.flatnonzero(np.logical_or.reduce(folds))
        limit = self._rule_of_rows(n_rows, self._most_anchors)
        return grow_anchors(measure, usual, where, weights, held, limit, rng)

    def _held_out(self, X, labels, weights) -> HeldOut:
        where, what = map(as_rows, self._spaces(X))
        codes = self.coding_.encode(where, self.n_jobs)
        return HeldOut(CodedRows(where, what, codes), labels, weights)

    def _convex_problem(self, where, what, encoded, weights, *, stream=False):
        """The problem in W and b, with the codes of the fitted coding."""
        target, visits = self._target(encoded, weights, stream=stream)
        two_classes = len(self.classes_) == 2
        crammer_singer = self.multi_class == "crammer_singer"
        return Problem(
            rows=as_rows(what),
            codes=self.coding_.encode(as_rows(where), self.n_jobs),
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

    def _held_out_scores(self, rows: CodedRows, coef, intercept) -> np.ndarray:
        return score_rows(rows.what, rows.codes, coef, intercept)

    def _in_coded_blocks(self, X, function) -> np.ndarray:
        """Apply ``function`` to (codes, feature rows) of blocks of validated X."""

        def block(part):
            where, what = map(as_rows, self._spaces(part))
            return function(self.coding_.encode(where), what)

        return self._in_blocks(X, block)

    def _scores(self, X) -> np.ndarray:
        return self._in_coded_blocks(
            X, lambda codes, rows: score_rows(rows, codes, self.coef_, self.intercept_)
        )

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

        return self._in_coded_blocks(X, block).reshape(X.shape[0], *table.shape[1:])

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
