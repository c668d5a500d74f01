"""The skeleton of methods with anchors: coding, scores and local weights."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from locallin.coding import Coding
from locallin.engine.invariants import (
    INTERCEPT_SCALING,
    Array,
    Arrays,
    Number,
    Part,
    Rule,
    Transformer,
    axes_of,
    number_of_scores,
)
from locallin.engine.matrix import as_rows, read_only
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.kernels.linear import CRAMMER_SINGER, ONE_VS_REST
from locallin.kernels.losses import LOSSES
from locallin.kernels.predict import csr_scores, dense_scores, mix
from locallin.kernels.rows import Codes, Rows
from locallin.methods.base import EpochClassifier
from locallin.methods.growing import grow_for
from locallin.methods.preparation import (
    FitInput,
    LearningRows,
    Rules,
    block_views,
    row_views,
)
from locallin.methods.skeleton import EpochEstimator, validated_rows
from locallin.solvers.convex import Problem, find_step


class CodedRows(NamedTuple):
    """Rows as anchors and as local models see them, and their codes."""

    anchor_rows: Rows
    model_rows: Rows
    codes: Codes


def score_rows(rows: Rows, codes: Codes, coef, intercept) -> np.ndarray:
    """Scores of a block of rows whose codes are known, shape (n, n_scores)."""
    dtype = np.result_type(rows.data, codes.values, coef)
    out = np.empty((len(codes.indptr) - 1, coef.shape[1]), dtype)
    if rows.indptr is None:
        model = read_only(coef), read_only(intercept)
        dense_scores(rows.data, codes, *model, out)
    else:
        csr_scores(rows, codes, coef, intercept, out)
    return out


class AnchoredEstimator(EpochEstimator):
    """An estimator whose local models sit at anchors.

    A subclass's ``_fit`` and ``_partial_fit`` set ``coding_`` (a fitted coding),
    ``feature_map_`` (a fitted transformer or None), ``coef_`` of shape (n_anchors,
    n_scores, n_local_features) and ``intercept_`` of shape (n_anchors, n_scores).
    """

    _parameter_constraints: dict = {
        **EpochEstimator._parameter_constraints,
        "n_anchors": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "t0": [Interval(Real, 2, None, closed="left"), StrOptions({"auto"})],
    }

    # Options that a method need not offer.
    feature_map: Any = None
    n_neighbors: int | None = None
    n_probes: int | None = None
    anchors: Any = "kmeans"
    coding: Any = "adaptive"
    coding_space = "input"
    metric: str | None = None
    n_dimensions: int | None = None
    local_model = "linear"

    rules = Rules(while_growing={"tol": 0.02})

    # Chosen before learning.
    alpha_: float
    intercept_scaling_: float
    _row_norm: float
    _spacing: float

    def _invariants(self) -> dict[str, Rule]:
        scores = self._score_dimension()
        mapped = "features" if self.feature_map is None else "features of the map"
        local: str | int = 0 if self.local_model == "constant" else mapped
        coded = self._coded_features()
        model = {
            "coef": Array(("anchors", scores, local)),
            "intercept": Array(("anchors", scores)),
        }
        return {
            **super()._invariants(),
            "feature_map_": Transformer(self.feature_map is not None),
            "coding_": Part(Coding, self._coding_shapes(coded)),
            "coef_": model["coef"],
            "intercept_": model["intercept"],
            "alpha_": Number(above=True),
            "intercept_scaling_": INTERCEPT_SCALING,
            "_row_norm": Number(above=True),
            "_spacing": Number(above=True),
            "_learning": self._learning_invariants(scores, model),
        }

    def _score_dimension(self) -> int | str:
        """Number of the scores of a row, or the dimension that counts them."""
        raise NotImplementedError

    def _coded_features(self) -> str:
        """The dimension that counts the features in front of the metric."""
        mapped = self.coding_space == "mapped" and self.feature_map is not None
        return "features of the map" if mapped else "features"

    def _coding_shapes(self, coded: str) -> dict[str, tuple]:
        if axes_of(self.coding_, "metric_") != 2:
            return {"anchors_": ("anchors", coded)}
        return {"metric_": ("components", coded), "anchors_": ("anchors", "components")}

    def _learning_invariants(self, scores: Any, model: dict[str, Array]) -> Arrays:
        """Invariants of the learning state; ``model`` are those of its arrays."""
        iterates = {f"iterate_{name}": rule for name, rule in model.items()}
        clock = {"t": Array((), least=0.0), "t0": Array((), least=0.0)}
        dual = {"dual": Array(("rows", scores))}
        return Arrays({**clock, **iterates, **dual}, (tuple(clock), tuple(iterates)))

    @property
    def anchors_(self) -> np.ndarray:
        """Anchor points behind the metric, shape (n_anchors, n_dimensions)."""
        return self.coding_.anchors_

    @property
    def t0_(self) -> float:
        """Offset of the clock ``t_``, where the solver has one."""
        return self._carried_number("t0")

    def _is_stream_method(self) -> bool:
        if self.solver != "sgd":
            raise AttributeError(
                f"partial_fit needs solver='sgd', but solver={self.solver!r}."
            )
        return True

    def _grow(self, given: FitInput, anchor_view):
        """As many anchors as held-out rows profit from, and the way there."""
        return grow_for(self, given, anchor_view)

    def _growing_model(self):
        """An estimator like this one, for the search of the number of anchors."""
        return clone(self).set_params(early_stopping=False)

    def _first_clock(self, convex: Problem, start, rng) -> float:
        """t0 of SGD: given, or from the step that serves best on a sample."""
        if self.t0 != "auto":
            return float(self.t0)
        return 1.0 / (self.alpha_ * find_step(convex, start[:2], self.shuffle, rng))

    def _held_out_rows(self, X) -> CodedRows:
        anchor_rows, model_rows = map(as_rows, row_views(self, X))
        codes = self.coding_.encode(anchor_rows, self.n_jobs)
        return CodedRows(anchor_rows, model_rows, codes)

    def _convex_problem(self, rows: LearningRows) -> Problem:
        """The problem in W and b, with the codes of the fitted coding."""
        anchor_view, model_view = rows.views
        return Problem(
            rows=as_rows(model_view),
            codes=self.coding_.encode(as_rows(anchor_view), self.n_jobs),
            target=rows.target,
            visits=rows.visits,
            n_anchors=len(self.coding_.anchors_),
            n_features=model_view.shape[1],
            intercept_scaling=float(self.intercept_scaling_),
            n_jobs=self.n_jobs,
            **self._convex_loss(),
        )

    def _convex_loss(self) -> dict[str, Any]:
        """What a convex problem says of the loss: penalty, code, strategy."""
        raise NotImplementedError

    def _held_out_scores(self, rows: CodedRows, coef, intercept, *more) -> np.ndarray:
        return score_rows(rows.model_rows, rows.codes, coef, intercept)

    def _in_coded_blocks(self, X, function) -> np.ndarray:
        """Apply ``function`` to (codes, feature rows) of blocks of validated X."""
        views = block_views(self, X.dtype)

        def block(part):
            anchor_rows, model_rows = map(as_rows, views(part))
            return function(self.coding_.encode(anchor_rows), model_rows)

        return self._in_blocks(X, block)

    def _scores(self, X) -> np.ndarray:
        return self._in_coded_blocks(
            X, lambda codes, rows: score_rows(rows, codes, self.coef_, self.intercept_)
        )

    def _mixed(self, X, attribute: str) -> np.ndarray:
        """Average of a fitted table over anchors, weighted by each row's codes."""
        X = validated_rows(self, X, finite=False)
        table = getattr(self, attribute)
        flat = table.reshape(len(table), -1)

        def block(codes, rows):
            out = np.zeros((len(codes.indptr) - 1, flat.shape[1]), flat.dtype)
            mix(codes, read_only(flat), out)
            return out

        return self._in_coded_blocks(X, block).reshape(X.shape[0], *table.shape[1:])

    def local_coef(self, X) -> np.ndarray:
        """Effective weights w_c(x) = sum_j g_j(x) w_jc of each row.

        With the row's local coordinates held fixed they explain its score exactly:
        ``decision_function(X)``, or ``predict(X)`` of a regressor, is ``(local_coef(X)
        * X[:, None]).sum(-1) + local_intercept(X)`` to rounding, with X replaced by
        its feature map where there is one. Constant local models have weights of zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights; n_scores is 1 for two classes, and for one target.
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
            Intercepts; n_scores is 1 for two classes, and for one target.
        """
        return self._mixed(X, "intercept_")


class AnchoredClassifier(AnchoredEstimator, EpochClassifier):
    """A classifier whose local models sit at anchors."""

    _parameter_constraints: dict = {
        **EpochClassifier._parameter_constraints,
        **AnchoredEstimator._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
    }

    multi_class = "ovr"

    def _score_dimension(self) -> int:
        return number_of_scores(self)

    def _convex_loss(self) -> dict[str, Any]:
        two_classes = len(self.classes_) == 2
        crammer_singer = self.multi_class == "crammer_singer"
        return {
            # Two classes: w_1 = -w_0 at Crammer & Singer's optimum, which is the
            # binary machine on f = f_1 - f_0 with half the penalty.
            "alpha": self.alpha_ / 2 if crammer_singer and two_classes else self.alpha_,
            # First steps and starts of the multinomial loss are those of its parts.
            "loss": LOSSES["logistic" if self.loss == "multinomial" else self.loss],
            "strategy": CRAMMER_SINGER
            if crammer_singer and not two_classes
            else ONE_VS_REST,
        }
