"""What codings share: anchors, a metric, the nearest anchors of a row, weights."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.anchors import choose_anchors
from locallin.engine.groups import group_anchors
from locallin.engine.input import checked_data
from locallin.engine.invariants import (
    INPUT,
    Array,
    Bandwidth,
    CheckedState,
    Metric,
    Number,
    Rule,
    axes_of,
)
from locallin.engine.lazy_rows import LazyRows, one_below_another, whole
from locallin.engine.matrix import (
    CodingState,
    as_rows,
    behind_metric,
    encode,
    find_nearest,
)
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    check_sparse_output,
    unchanged_on_error,
    validate_parameters,
)
from locallin.kernels.coding import (
    ADAPTIVE,
    SOFT_ASSIGNMENT,
    mean_perplexity,
)
from locallin.kernels.groups import AnchorGroups
from locallin.kernels.rows import Codes, Rows

# Rows from which a bandwidth is chosen: its error is far below its effect.
_BANDWIDTH_ROWS = 10_000
# Distances of a row from which it is chosen: so many, or so many times the perplexity.
# Anchors further away have no weight to speak of.
_BANDWIDTH_ANCHORS = 64
_ANCHORS_PER_PERPLEXITY = 4


class Coding(
    CheckedState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Anchors, and weights on a few near ones. The base of all codings.

    A subclass has a constructor and ``encode``; ``choose_neighbors`` and
    ``choose_bandwidth`` where the defaults do not fit it. The codings of the library
    name a ``kind`` that kernels know, and leave ``encode`` to the base.

    See Also
    --------
    locallin.coding.InverseDistanceCoding : Weights by the inverse of the distance.
    locallin.coding.SoftAssignmentCoding : Weights by a Gaussian of the distance.
    locallin.coding.AdaptiveCoding : As many anchors per row as it needs.
    """

    kind: int | None = None
    metric: Any = None
    n_probes: int | None = None
    # The parameter that gives the bandwidth, where there is one, in place of a
    # perplexity; and how large that is by default, where half of the anchors are more.
    _bandwidth_name = ""
    _usual_perplexity = np.inf

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "metric": ["array-like", None],
        "n_probes": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    _fitted_mark = "anchors_"

    def _invariants(self) -> dict[str, Rule]:
        dimensions = "components" if axes_of(self, "metric_") == 2 else "features"
        groups: dict[str, Rule] = {
            "group_centers_": Array(("groups", dimensions)),
            "anchor_groups_": Array(("anchors",), "i", least=0, below="groups"),
        }
        return {
            **INPUT,
            "metric_": Metric(),
            "anchors_": Array(("anchors", dimensions)),
            "n_neighbors_": Number(Integral, 1, most="anchors"),
            "bandwidth_": Bandwidth(positive=self.kind in (SOFT_ASSIGNMENT, ADAPTIVE)),
            **({} if self.n_probes is None else groups),
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = self._needs_classes()
        return tags

    def _needs_classes(self) -> bool:
        return isinstance(self.anchors, str) and self.anchors == "kmeans-per-class"

    @property
    def _n_features_out(self) -> int:
        return len(self.anchors_)

    def fit(self, X, y=None, sample_weight=None):
        """Choose the anchors, and the bandwidth where there is one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,), default=None
            Classes; used by ``anchors="kmeans-per-class"`` only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the choice of the anchors.

        Returns
        -------
        self : object
            The fitted coding.
        """
        with unchanged_on_error(self):
            validate_parameters(self)
            X = checked_data(self, X, reset=True)
            if sample_weight is not None:
                sample_weight = check_sample_weight(sample_weight, X)
            return self._fit_validated(X, y, sample_weight)

    def _fit_validated(self, X, y, sample_weight):
        self._check_choices()
        rng = check_random_state(self.random_state)
        self.metric_ = self._given_metric(X)
        X = in_metric(X, self.metric_)
        self.anchors_ = choose_anchors(
            X,
            int(self.n_anchors),  # True counts as 1, as in scikit-learn
            self.anchors,
            y=y,
            sample_weight=sample_weight,
            random_state=rng,
        )
        self.regroup()
        self.choose_neighbors()
        self.bandwidth_ = self.choose_bandwidth(X, sample_weight, rng)
        return self

    def _given_metric(self, X) -> np.ndarray | None:
        if self.metric is None:
            return None
        metric = check_array(
            self.metric, dtype=X.dtype, order="C", ensure_2d=False,
            copy=True, input_name="metric",
        )  # fmt: skip
        if metric.ndim not in (1, 2) or metric.shape[-1] != X.shape[1]:
            raise ValueError(
                f"metric has the shape {metric.shape}, but X has {X.shape[1]} "
                "features: pass one scale of each, shape (n_features,), or a linear "
                "map of shape (n_components, n_features)."
            )
        return metric

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""
        name = self._bandwidth_name
        if not name or self.perplexity is None or getattr(self, name) is None:
            return
        raise ValueError(
            f"{name}={getattr(self, name)} and perplexity={self.perplexity} both set "
            "the number of anchors that count: give one of them."
        )

    def regroup(self) -> None:
        """Put the anchors, where they are now, into groups, if rows look at these."""
        if self.n_probes is not None:
            groups = group_anchors(self.anchors_, int(self.n_probes))
            self.group_centers_, self.anchor_groups_ = groups.centers, groups.of_anchor

    def _groups(self) -> AnchorGroups | None:
        if self.n_probes is None:
            return None
        return AnchorGroups(
            self.anchor_groups_, self.group_centers_, int(self.n_probes)
        )

    def choose_neighbors(self) -> None:
        """Set ``n_neighbors_``, the largest number of anchors of a row: all."""
        self.n_neighbors_ = len(self.anchors_)

    def choose_bandwidth(self, X, sample_weight, rng) -> float:
        """Bandwidth for the rows, once ``anchors_`` and ``n_neighbors_`` are set.

        Parameters
        ----------
        X : {ndarray, CSR matrix} of shape (n_samples, n_components)
            Training data, behind the metric.
        sample_weight : ndarray of shape (n_samples,) or None
            Weights of the rows.
        rng : RandomState
            Source of random numbers.

        Returns
        -------
        float
            The bandwidth: as given, or the one that gives the wanted perplexity on a
            sample of rows; 0 where the coding has none.
        """
        if not self._bandwidth_name:
            return 0.0
        given, k = getattr(self, self._bandwidth_name), self.n_neighbors_
        if given is not None:
            return float(given)
        perplexity = self.perplexity
        if perplexity is None:
            perplexity = min(self._usual_perplexity, k / 2)
        wanted = np.clip(perplexity, 1.0, k)
        return self._bandwidth_from(wanted, X, sample_weight, rng)

    def _bandwidth_from(self, perplexity, X, sample_weight, rng) -> float:
        """The bandwidth that gives the wanted perplexity on a sample of rows."""
        seen = np.arange(X.shape[0])
        if sample_weight is not None:
            seen = seen[sample_weight > 0]
        if len(seen) > _BANDWIDTH_ROWS:
            seen = np.sort(rng.choice(seen, _BANDWIDTH_ROWS, replace=False))
        most = max(_BANDWIDTH_ANCHORS, int(_ANCHORS_PER_PERPLEXITY * perplexity))
        k = min(self.n_neighbors_, most)
        rows = as_rows(X if len(seen) == X.shape[0] else X[seen])
        distances = find_nearest(rows, self.anchors_, k, groups=self._groups())[1]
        kind = SOFT_ASSIGNMENT if self.kind is None else self.kind
        return bandwidth_for_perplexity(distances, perplexity, kind)

    def transform(self, X):
        """Local coordinates of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        CSR matrix of shape (n_samples, n_anchors)
            Weights: the entries of each row sum to one.
        """
        check_is_fitted(self)
        check_sparse_output(self)
        X = checked_data(self, X, reset=False)
        codes = self.encode(as_rows(X), self.n_jobs)
        return sparse.csr_matrix(
            (codes.values, codes.indices, codes.indptr),
            shape=(X.shape[0], len(self.anchors_)),
        )

    def encode(self, rows: Rows, n_jobs: int | None = None) -> Codes:
        """Local coordinates of validated rows, in the form that kernels take.

        Parameters
        ----------
        rows : Rows
            Rows of a dense matrix, ``Rows(X, None, None)``, or of a CSR matrix,
            ``Rows(data, indices, indptr)``.
        n_jobs : int or None, default=None
            Threads.

        Returns
        -------
        Codes
            A CSR matrix as (indptr, indices, values). In each row the weights are not
            negative and sum to one, and the anchors ascend.
        """
        return encode(rows, self.state(), n_jobs)

    def nearest(
        self, rows: Rows, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest anchors of validated rows, of those that they look at.

        Parameters
        ----------
        rows : Rows
            Rows, as ``encode`` takes them.
        n_jobs : int or None, default=None
            Threads.

        Returns
        -------
        nearest : ndarray of int32 of shape (n_samples, n_neighbors_)
            Numbers of the anchors, the nearest one first.
        distances : ndarray of shape (n_samples, n_neighbors_)
            Their Euclidean distances.
        """
        rows = behind_metric(rows, self.metric_)
        return find_nearest(
            rows, self.anchors_, self.n_neighbors_, n_jobs, self._groups()
        )

    def anchors_in_input(self) -> np.ndarray:
        """Anchors as points in front of the metric, for pictures.

        Returns
        -------
        ndarray of shape (n_anchors, n_features)
            The anchors; with a linear map the shortest vectors that it takes to them,
            or nearest to them.
        """
        if self.metric_ is None:
            return self.anchors_
        if self.metric_.ndim == 2:
            return self.anchors_ @ np.linalg.pinv(self.metric_).T
        used = self.metric_ != 0
        return np.where(used, self.anchors_ / np.where(used, self.metric_, 1), 0)

    def state(self) -> CodingState:
        """The fitted coding as arrays, for solvers and kernels.

        Returns
        -------
        CodingState
            Kind, number of neighbors, anchors, bandwidth, metric and groups.
        """
        if self.kind is None:
            raise TypeError(
                f"{type(self).__name__} is no coding that kernels know: it needs an "
                "encode of its own."
            )
        bandwidth = np.atleast_1d(self.bandwidth_)
        return CodingState(
            self.kind, self.n_neighbors_, self.anchors_, bandwidth, self.metric_,
            self._groups(),
        )  # fmt: skip


def in_metric(X, metric: np.ndarray | None):
    """A validated matrix as distances see it."""
    if metric is None or metric.ndim == 1:
        X = whole(X)
    if metric is None:
        return X
    if isinstance(X, LazyRows):
        blocks = (in_metric(block, metric) for block in X.blocks())
        return one_below_another(blocks, (X.shape[0], len(metric)), metric.dtype)
    if sparse.issparse(X) and metric.ndim == 1:
        return X.multiply(metric).tocsr().astype(X.dtype, copy=False)
    return np.asarray(behind_metric(as_rows(X), metric).data)


def bandwidth_for_perplexity(
    distances: np.ndarray, perplexity: float, kind: int = SOFT_ASSIGNMENT
) -> float:
    """Find the bandwidth at which the average perplexity is as wanted.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, k)
        Distances to the k nearest anchors, ascending.
    perplexity : float
        Wanted average of exp(entropy of g), in [1, k]. The perplexity falls from k
        to the average number of nearest anchors (one without ties) as the bandwidth
        grows; a value outside that range gives the end of the range.
    kind : int
        SOFT_ASSIGNMENT (beta, in units of 1/d^2) or ADAPTIVE (mu, of 1/d).

    Returns
    -------
    float
        The bandwidth.
    """
    # In units of a typical difference of (squared) distances, a range that reaches
    # from uniform weights to the nearest anchor alone.
    first, last = distances[:, 0].astype(float), distances[:, -1].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = last - first
        if kind == SOFT_ASSIGNMENT:
            spread = spread * (last + first)
    spread = np.sort(spread[(spread > 0) & np.isfinite(spread)])
    log_unit = -np.log(spread[len(spread) // 2]) if len(spread) else 0.0
    # Logarithms throughout: the reciprocal of a subnormal spread is infinite.
    low, high = np.clip(log_unit + np.log([1e-6, 1e12]), *np.log([1e-300, 1e300]))
    for _ in range(60):
        middle = 0.5 * (low + high)
        if mean_perplexity(distances, kind, float(np.exp(middle))) > perplexity:
            low = middle
        else:
            high = middle
        if high - low < 1e-6:
            break
    return float(np.exp(middle))
