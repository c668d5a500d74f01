"""How much each local model counts at a point: local coordinates.

A coding gives each row weights on a few of its nearest anchors. The weights are
non-negative, finite for any finite input, and sum to one. Codings are
transformers: alone in a pipeline they turn data into a sparse matrix of weights,
inside a classifier they decide which local models speak for a row.
"""

from numbers import Integral, Real
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
    INVERSE_DISTANCE,
    SOFT_ASSIGNMENT,
    mean_perplexity,
)
from locallin.kernels.rows import Codes, Rows

__all__ = [
    "AdaptiveCoding",
    "Coding",
    "InverseDistanceCoding",
    "SoftAssignmentCoding",
]

# Rows from which a bandwidth is chosen: its error is far below its effect.
_BANDWIDTH_ROWS = 10_000


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

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "metric": ["array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    _fitted_mark = "anchors_"

    def _invariants(self) -> dict[str, Rule]:
        dimensions = "components" if axes_of(self, "metric_") == 2 else "features"
        return {
            **INPUT,
            "metric_": Metric(),
            "anchors_": Array(("anchors", dimensions)),
            "n_neighbors_": Number(Integral, 1, most="anchors"),
            "bandwidth_": Bandwidth(positive=self.kind in (SOFT_ASSIGNMENT, ADAPTIVE)),
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
            The bandwidth; 0 where the coding has none.
        """
        return 0.0

    def _bandwidth_from(self, perplexity, X, sample_weight, rng) -> float:
        """The bandwidth that gives the wanted perplexity on a sample of rows."""
        seen = np.arange(X.shape[0])
        if sample_weight is not None:
            seen = seen[sample_weight > 0]
        if len(seen) > _BANDWIDTH_ROWS:
            seen = np.sort(rng.choice(seen, _BANDWIDTH_ROWS, replace=False))
        rows = as_rows(X if len(seen) == X.shape[0] else X[seen])
        distances = find_nearest(rows, self.anchors_, self.n_neighbors_)[1]
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
        """Nearest anchors of validated rows, exactly.

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
        return find_nearest(rows, self.anchors_, self.n_neighbors_, n_jobs)

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
            Kind, number of neighbors, anchors, bandwidth and metric.
        """
        if self.kind is None:
            raise TypeError(
                f"{type(self).__name__} is no coding that kernels know: it needs an "
                "encode of its own."
            )
        bandwidth = np.atleast_1d(self.bandwidth_)
        return CodingState(
            self.kind, self.n_neighbors_, self.anchors_, bandwidth, self.metric_
        )


def in_metric(X, metric: np.ndarray | None):
    """A validated matrix as distances see it."""
    if metric is None:
        return X
    if sparse.issparse(X) and metric.ndim == 1:
        return X.multiply(metric).tocsr().astype(X.dtype, copy=False)
    return np.asarray(behind_metric(as_rows(X), metric).data)


class _NearestCoding(Coding):
    """Weights on a fixed number of nearest anchors."""

    _parameter_constraints: dict = {
        **Coding._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def _check_choices(self) -> None:
        if isinstance(self.anchors, str) and self.n_neighbors > self.n_anchors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than n_anchors="
                f"{self.n_anchors}: lower n_neighbors or raise n_anchors."
            )

    def choose_neighbors(self) -> None:
        """Set ``n_neighbors_``, at most the number of anchors."""
        if not isinstance(self.anchors, str) and self.n_neighbors > len(self.anchors_):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the "
                f"{len(self.anchors_)} anchors given: lower n_neighbors."
            )
        self.n_neighbors_ = min(int(self.n_neighbors), len(self.anchors_))


class InverseDistanceCoding(_NearestCoding):
    """Weights in inverse proportion to the distance of the k nearest anchors.

    g_j(x) is proportional to ``1 / |x - v_j|`` over the ``n_neighbors`` nearest anchors
    v_j and 0 elsewhere (van Gemert et al. 2008; the coding of the LL-SVM paper
    [1]_, section 4). A point on an anchor has weight 1 there.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=8
        Number of nearest anchors that speak for a row (k).
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : array-like of shape (n_features,) or (n_components, n_features), or None, \
            default=None
        What stands in front of the distances: a scale of each feature, or a linear map
        M, with which distances are ``|M x - v_j|``. None is the Euclidean distance.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_components)
        The anchors, behind the metric: n_components is n_features where that is no
        linear map. Fewer than asked for where the data has fewer distinct rows.
    metric_ : ndarray of shape (n_features,) or (n_components, n_features), or None
        The metric in use.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    SoftAssignmentCoding : Weights by a Gaussian of the distance.
    AdaptiveCoding : As many anchors per row as it needs.
    locallin.LLSVMClassifier : A classifier that takes a coding.

    References
    ----------
    .. [1] Ladicky and Torr, Locally Linear Support Vector Machines, ICML 2011.

    Examples
    --------
    >>> from locallin.coding import InverseDistanceCoding
    >>> coding = InverseDistanceCoding(n_neighbors=2, anchors=[[0.0], [1.0], [9.0]])
    >>> coding.fit([[0.5]]).transform([[0.25], [1.0]]).toarray()
    array([[0.75, 0.25, 0.  ],
           [0.  , 1.  , 0.  ]])
    """

    kind = INVERSE_DISTANCE

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 8,
        anchors="kmeans",
        metric=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.anchors = anchors
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs


class SoftAssignmentCoding(_NearestCoding):
    """Softmax of the squared distances to the k nearest anchors.

    g_j(x) is proportional to ``exp(-beta |x - v_j|^2)`` over the ``n_neighbors``
    nearest anchors v_j and 0 elsewhere (eq. 2 of the LLC-SAPL paper [1]_).

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=16
        Number of nearest anchors that speak for a row (k).
    perplexity : float or None, default=None
        Average effective number of anchors per row. It is exp(entropy of g), and the
        bandwidth is chosen for it; at least 1 and at most ``n_neighbors``. None stands
        for half of ``n_neighbors``. Used where ``beta`` is None.
    beta : float or None, default=None
        The bandwidth. None chooses it at fit so that ``perplexity`` is met, which
        carries over between data sets as no fixed number does; it is then frozen.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : array-like of shape (n_features,) or (n_components, n_features), or None, \
            default=None
        What stands in front of the distances: a scale of each feature, or a linear map
        M, with which distances are ``|M x - v_j|``. None is the Euclidean distance.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_components)
        The anchors, behind the metric: n_components is n_features where that is no
        linear map. Fewer than asked for where the data has fewer distinct rows.
    metric_ : ndarray of shape (n_features,) or (n_components, n_features), or None
        The metric in use.
    bandwidth_ : float
        The beta in use.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    InverseDistanceCoding : Weights by the inverse of the distance.
    AdaptiveCoding : As many anchors per row as it needs.
    locallin.SAPLClassifier : Learns the anchors of this coding, and its bandwidth.

    References
    ----------
    .. [1] Mao, Fu, Wu and Hu, Optimizing Locally Linear Classifiers with Supervised
       Anchor Point Learning, IJCAI 2015.

    Examples
    --------
    >>> from locallin.coding import SoftAssignmentCoding
    >>> coding = SoftAssignmentCoding(
    ...     n_neighbors=2, beta=2.0, anchors=[[0.0], [1.0], [9.0]]
    ... )
    >>> coding.fit([[0.5]]).transform([[0.5], [1.0]]).toarray().round(3)
    array([[0.5  , 0.5  , 0.   ],
           [0.119, 0.881, 0.   ]])
    """

    kind = SOFT_ASSIGNMENT
    _parameter_constraints: dict = {
        **_NearestCoding._parameter_constraints,
        "perplexity": [Interval(Real, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 16,
        perplexity: float | None = None,
        beta: float | None = None,
        anchors="kmeans",
        metric=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.perplexity = perplexity
        self.beta = beta
        self.anchors = anchors
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def choose_bandwidth(self, X, sample_weight, rng) -> float:
        """Beta: given, or the one that gives ``perplexity``."""
        if self.beta is not None and self.perplexity is not None:
            raise ValueError(
                f"beta={self.beta} and perplexity={self.perplexity} both set the "
                "bandwidth: give one of them."
            )
        if self.beta is not None:
            return float(self.beta)
        if self.perplexity is not None and self.perplexity > self.n_neighbors:
            raise ValueError(
                f"perplexity={self.perplexity} is more than n_neighbors="
                f"{self.n_neighbors}: an average over k anchors is at most k."
            )
        k = self.n_neighbors_
        wanted = k / 2 if self.perplexity is None else min(self.perplexity, k)
        return self._bandwidth_from(max(wanted, 1.0), X, sample_weight, rng)


class AdaptiveCoding(Coding):
    """Weights on as many near anchors as each row needs.

    g(x) minimises ``|g|_2 + mu sum_j g_j |x - v_j|`` over the simplex (eq. 9 of the
    DU-LLSVM paper [1]_, with mu = L/C): noise against bias. The solution is
    ``g_j = (lambda - mu |x - v_j|)+`` up to scale (eq. 10), with a threshold lambda
    that Algorithm 1 of the paper finds by adding anchors in the order of their
    distance. The number of active anchors differs from row to row. This is the
    k*-nearest-neighbours rule of Anava & Levy (2016).

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    perplexity : float or None, default=None
        Average effective number of anchors per row. It is exp(entropy of g), and mu is
        chosen for it. None stands for 8, or half of the anchors where there are fewer
        than 16. Used where ``mu`` is None.
    mu : float or None, default=None
        Price of distance: the larger, the fewer anchors. None chooses it at fit so
        that ``perplexity`` is met.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : array-like of shape (n_features,) or (n_components, n_features), or None, \
            default=None
        What stands in front of the distances: a scale of each feature, or a linear map
        M, with which distances are ``|M x - v_j|``. None is the Euclidean distance.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_components)
        The anchors, behind the metric: n_components is n_features where that is no
        linear map. Fewer than asked for where the data has fewer distinct rows.
    metric_ : ndarray of shape (n_features,) or (n_components, n_features), or None
        The metric in use.
    bandwidth_ : float
        The mu in use.
    n_neighbors_ : int
        Largest number of active anchors: all of them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    SoftAssignmentCoding : The same number of anchors for every row.
    InverseDistanceCoding : Weights by the inverse of the distance.
    locallin.DULLSVMClassifier : Learns the anchors of this coding.

    References
    ----------
    .. [1] Liu, Zhang, Zhao, Sun and Hoi, Unified Locally Linear Classifiers with
       Diversity-Promoting Anchor Points, AAAI 2018.

    Examples
    --------
    >>> from locallin.coding import AdaptiveCoding
    >>> coding = AdaptiveCoding(mu=1.0, anchors=[[0.0], [1.0], [9.0]])
    >>> coding.fit([[0.5]]).transform([[0.5], [0.2]]).toarray().round(3)
    array([[0.5  , 0.5  , 0.   ],
           [0.734, 0.266, 0.   ]])
    """

    kind = ADAPTIVE
    _parameter_constraints: dict = {
        **Coding._parameter_constraints,
        "perplexity": [Interval(Real, 1, None, closed="left"), None],
        "mu": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        perplexity: float | None = None,
        mu: float | None = None,
        anchors="kmeans",
        metric=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.perplexity = perplexity
        self.mu = mu
        self.anchors = anchors
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_choices(self) -> None:
        if self.mu is not None and self.perplexity is not None:
            raise ValueError(
                f"mu={self.mu} and perplexity={self.perplexity} both set the number "
                "of active anchors: give one of them."
            )

    def choose_bandwidth(self, X, sample_weight, rng) -> float:
        """Mu: given, or the one that gives ``perplexity``."""
        if self.mu is not None:
            return float(self.mu)
        m = len(self.anchors_)
        wanted = min(8.0, m / 2) if self.perplexity is None else self.perplexity
        return self._bandwidth_from(np.clip(wanted, 1.0, m), X, sample_weight, rng)


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
