"""How much each local model counts at a point: local coordinates.

A coding gives each row weights on a few of its nearest anchors. The weights are
non-negative, finite for any finite input, and sum to one. Codings are
transformers: alone in a pipeline they turn data into a sparse matrix of weights,
inside a classifier they decide which local models speak for a row.
"""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin.anchors import choose_anchors
from locallin.engine.matrix import BLOCK, as_rows, count_rows, products, slice_rows
from locallin.engine.parallel import in_threads, row_blocks
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    unchanged_on_error,
    validate_parameters,
)
from locallin.kernels.coding import (
    ADAPTIVE,
    INVERSE_DISTANCE,
    SOFT_ASSIGNMENT,
    adaptive_codes,
    mean_perplexity,
    nearest_anchors,
    sort_by_anchor,
    weigh,
)
from locallin.kernels.rows import Codes, Rows, squared_row_norms

__all__ = [
    "AdaptiveCoding",
    "Coding",
    "InverseDistanceCoding",
    "SoftAssignmentCoding",
]

# Below this many rows a product with all anchors does not pay.
_FEW_ROWS = 8
# Rows from which a bandwidth is chosen: its error is far below its effect.
_BANDWIDTH_ROWS = 10_000


class Coding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Anchors, and weights on a few near ones. The base of all codings."""

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
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
            X = self._validate(X, reset=True)
            if sample_weight is not None:
                sample_weight = check_sample_weight(sample_weight, X)
            return self._fit_validated(X, y, sample_weight)

    def _fit_validated(self, X, y, sample_weight):
        self._check_choices()
        rng = check_random_state(self.random_state)
        self.anchors_ = choose_anchors(
            X,
            self.n_anchors,
            self.anchors,
            y=y,
            sample_weight=sample_weight,
            random_state=rng,
        )
        self._set_neighbors()
        self.bandwidth_ = self._choose_bandwidth(X, sample_weight, rng)
        return self

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""

    def _set_neighbors(self) -> None:
        self.n_neighbors_ = len(self.anchors_)

    def _choose_bandwidth(self, X, sample_weight, rng) -> float:
        return 0.0

    def _bandwidth_from(self, perplexity, X, sample_weight, rng) -> float:
        """The bandwidth that gives the wanted perplexity on a sample of rows."""
        seen = np.arange(X.shape[0])
        if sample_weight is not None:
            seen = seen[sample_weight > 0]
        if len(seen) > _BANDWIDTH_ROWS:
            seen = np.sort(rng.choice(seen, _BANDWIDTH_ROWS, replace=False))
        rows = as_rows(X if len(seen) == X.shape[0] else X[seen])
        distances = self._nearest(rows)[1]
        return bandwidth_for_perplexity(distances, perplexity, self._kind)

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
        X = self._validate(X, reset=False)
        codes = self._encode(as_rows(X), self.n_jobs)
        return sparse.csr_matrix(
            (codes.values, codes.indices, codes.indptr),
            shape=(X.shape[0], len(self.anchors_)),
        )

    def _validate(self, X, reset):
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )

    def _in_blocks(self, rows: Rows, n_jobs, size, function) -> list:
        """Call ``function(start, stop, block, products, norms)`` for blocks of rows.

        A few rows are compared with every anchor: a product with all of them, or
        their norms, would not pay.
        """
        n = count_rows(rows)
        few = n < _FEW_ROWS
        if few and rows.indptr is None:
            norms = np.zeros(len(self.anchors_))  # nobody looks at them
        else:
            norms = squared_row_norms(as_rows(self.anchors_))

        def work(start, stop):
            block = slice_rows(rows, start, stop)
            inner = None if few else products(block, self.anchors_)
            return function(start, stop, block, inner, norms)

        return in_threads(work, row_blocks(n, size), n_jobs)

    def _nearest(self, rows: Rows, n_jobs=None) -> tuple[np.ndarray, np.ndarray]:
        """Nearest anchors and their distances, both of shape (n, n_neighbors_)."""
        shape = count_rows(rows), self.n_neighbors_
        nearest = np.empty(shape, np.int32)
        distances = np.empty(shape, np.result_type(rows.data, self.anchors_))

        def fill(start, stop, block, inner, norms):
            part = slice(start, stop)
            nearest_anchors(
                block, inner, self.anchors_, norms, nearest[part], distances[part]
            )

        self._in_blocks(rows, n_jobs, BLOCK, fill)
        return nearest, distances


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

    def _set_neighbors(self) -> None:
        if not isinstance(self.anchors, str) and self.n_neighbors > len(self.anchors_):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the "
                f"{len(self.anchors_)} anchors given: lower n_neighbors."
            )
        self.n_neighbors_ = min(self.n_neighbors, len(self.anchors_))

    def _encode_with_distances(self, rows: Rows, n_jobs=None):
        """Codes, and the distance that belongs to each of their entries."""
        nearest, distances = self._nearest(rows, n_jobs)
        weights = distances.copy()
        weigh(nearest, weights, self._kind, np.atleast_1d(self.bandwidth_))
        indptr = _pointers(np.full(len(nearest), nearest.shape[1]))
        codes = Codes(indptr, nearest.reshape(-1), weights.reshape(-1))
        return codes, distances.reshape(-1)

    def _encode(self, rows: Rows, n_jobs=None) -> Codes:
        nearest, weights = self._nearest(rows, n_jobs)
        weigh(nearest, weights, self._kind, np.atleast_1d(self.bandwidth_))
        sort_by_anchor(nearest, weights)
        indptr = _pointers(np.full(len(nearest), nearest.shape[1]))
        return Codes(indptr, nearest.reshape(-1), weights.reshape(-1))


def _pointers(counts: np.ndarray) -> np.ndarray:
    """Row pointers of a CSR matrix with the given numbers of entries."""
    total = int(counts.sum())
    width = np.int32 if total <= np.iinfo(np.int32).max else np.int64
    indptr = np.zeros(len(counts) + 1, width)
    np.cumsum(counts, out=indptr[1:])
    return indptr


class InverseDistanceCoding(_NearestCoding):
    """Weights in inverse proportion to the distance of the k nearest anchors.

    g_j(x) is proportional to ``1 / |x - v_j|`` over the ``n_neighbors`` nearest anchors
    v_j and 0 elsewhere (van Gemert et al. 2008; the coding of the LL-SVM paper
    [1]_, section 4). A point on an anchor has weight 1 there.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors; not used where ``anchors`` is an array.
    n_neighbors : int, default=8
        Number of nearest anchors that get a weight.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_features), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of anchors.
    n_jobs : int or None, default=None
        Threads used by ``transform``.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors. Fewer than asked for where the data has fewer distinct rows.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

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

    _kind = INVERSE_DISTANCE

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 8,
        anchors="kmeans",
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.anchors = anchors
        self.random_state = random_state
        self.n_jobs = n_jobs


class SoftAssignmentCoding(_NearestCoding):
    """Softmax of the squared distances to the k nearest anchors.

    g_j(x) is proportional to ``exp(-beta |x - v_j|^2)`` over the ``n_neighbors``
    nearest anchors v_j and 0 elsewhere (eq. 2 of the LLC-SAPL paper [1]_).

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors; not used where ``anchors`` is an array.
    n_neighbors : int, default=16
        Number of nearest anchors that get a weight.
    perplexity : float or None, default=None
        Average effective number of anchors per row, exp(entropy of g), that the
        bandwidth should give; at least 1 and at most ``n_neighbors``. None stands
        for half of ``n_neighbors``. Used where ``beta`` is None.
    beta : float or None, default=None
        The bandwidth. None chooses it at fit so that ``perplexity`` is met, which
        carries over between data sets as no fixed number does; it is then frozen.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_features), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of anchors.
    n_jobs : int or None, default=None
        Threads used by ``transform``.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors. Fewer than asked for where the data has fewer distinct rows.
    bandwidth_ : float
        The beta in use.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

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

    _kind = SOFT_ASSIGNMENT
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
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.perplexity = perplexity
        self.beta = beta
        self.anchors = anchors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _choose_bandwidth(self, X, sample_weight, rng) -> float:
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
        Number of anchors; not used where ``anchors`` is an array.
    perplexity : float or None, default=None
        Average effective number of anchors per row, exp(entropy of g), that mu should
        give. None stands for 8, or half of the anchors where there are fewer than 16.
        Used where ``mu`` is None.
    mu : float or None, default=None
        Price of distance: the larger, the fewer anchors. None chooses it at fit so
        that ``perplexity`` is met.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_features), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of anchors.
    n_jobs : int or None, default=None
        Threads used by ``transform``.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors. Fewer than asked for where the data has fewer distinct rows.
    bandwidth_ : float
        The mu in use.
    n_neighbors_ : int
        Largest number of active anchors: all of them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

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

    _kind = ADAPTIVE
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
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.perplexity = perplexity
        self.mu = mu
        self.anchors = anchors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_choices(self) -> None:
        if self.mu is not None and self.perplexity is not None:
            raise ValueError(
                f"mu={self.mu} and perplexity={self.perplexity} both set the number "
                "of active anchors: give one of them."
            )

    def _choose_bandwidth(self, X, sample_weight, rng) -> float:
        if self.mu is not None:
            return float(self.mu)
        m = len(self.anchors_)
        wanted = min(8.0, m / 2) if self.perplexity is None else self.perplexity
        return self._bandwidth_from(np.clip(wanted, 1.0, m), X, sample_weight, rng)

    def _encode(self, rows: Rows, n_jobs=None) -> Codes:
        return self._encode_with_distances(rows, n_jobs)[0]

    def _encode_with_distances(self, rows: Rows, n_jobs=None):
        """Codes, and the distance that belongs to each of their entries."""
        m = len(self.anchors_)
        dtype = np.result_type(rows.data, self.anchors_)

        def encode(start, stop, block, inner, norms):
            size = stop - start
            counts = np.empty(size, np.int64)
            room = [np.empty(size * m, kind) for kind in (np.int32, dtype, dtype)]
            adaptive_codes(
                block, inner, self.anchors_, norms, np.atleast_1d(self.bandwidth_),
                counts, *room,
            )  # fmt: skip
            filled = counts.sum()
            return counts, *(part[:filled].copy() for part in room)

        parts = self._in_blocks(rows, n_jobs, BLOCK, encode)
        counts, nearest, weights, distances = (
            part[0] if len(part) == 1 else np.concatenate(part)
            for part in zip(*parts, strict=True)
        )
        return Codes(_pointers(counts), nearest, weights), distances


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
