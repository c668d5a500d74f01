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

from locallin._matrix import BLOCK, as_rows, count_rows, products, slice_rows
from locallin._parallel import in_threads, row_blocks
from locallin._sklearn import (
    Interval,
    StrOptions,
    check_sample_weight,
    unchanged_on_error,
    validate_parameters,
)
from locallin.anchors import choose_anchors
from locallin.kernels.coding import (
    INVERSE_DISTANCE,
    SOFT_ASSIGNMENT,
    mean_perplexity,
    nearest_anchors,
    weigh,
)
from locallin.kernels.rows import Codes, Rows, squared_row_norms

__all__ = ["Coding", "InverseDistanceCoding", "SoftAssignmentCoding"]

# Below this many rows a product with all anchors does not pay.
_FEW_ROWS = 8
# Rows from which a bandwidth is chosen: its error is far below its effect.
_BANDWIDTH_ROWS = 10_000


class Coding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Anchors, the k nearest of them, and weights from the distances."""

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
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
        if isinstance(self.anchors, str) and self.n_neighbors > self.n_anchors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than n_anchors="
                f"{self.n_anchors}: lower n_neighbors or raise n_anchors."
            )
        rng = check_random_state(self.random_state)
        self.anchors_ = choose_anchors(
            X,
            self.n_anchors,
            self.anchors,
            y=y,
            sample_weight=sample_weight,
            random_state=rng,
        )
        if not isinstance(self.anchors, str) and self.n_neighbors > len(self.anchors_):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the "
                f"{len(self.anchors_)} anchors given: lower n_neighbors."
            )
        self.n_neighbors_ = min(self.n_neighbors, len(self.anchors_))
        self.bandwidth_ = self._choose_bandwidth(X, sample_weight, rng)
        return self

    def _choose_bandwidth(self, X, sample_weight, rng) -> float:
        return 0.0

    def transform(self, X):
        """Local coordinates of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        CSR matrix of shape (n_samples, n_anchors)
            Weights: each row has ``n_neighbors_`` entries that sum to one.
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

    def _nearest(self, rows: Rows, n_jobs=None) -> tuple[np.ndarray, np.ndarray]:
        """Nearest anchors and their distances, both of shape (n, n_neighbors_)."""
        n = count_rows(rows)
        nearest = np.empty((n, self.n_neighbors_), np.int32)
        distances = np.empty(
            (n, self.n_neighbors_), np.result_type(rows.data, self.anchors_)
        )
        few = n < _FEW_ROWS
        if few and rows.indptr is None:
            norms = np.zeros(len(self.anchors_))  # nobody looks at them
        else:
            norms = squared_row_norms(as_rows(self.anchors_))

        def fill(start, stop):
            block = slice_rows(rows, start, stop)
            nearest_anchors(
                block,
                None if few else products(block, self.anchors_),
                self.anchors_,
                norms,
                nearest[start:stop],
                distances[start:stop],
            )

        in_threads(fill, row_blocks(n, BLOCK), n_jobs)
        return nearest, distances

    def _encode(self, rows: Rows, n_jobs=None) -> Codes:
        nearest, weights = self._nearest(rows, n_jobs)
        weigh(nearest, weights, self._kind, self.bandwidth_)
        width = np.int32 if nearest.size <= np.iinfo(np.int32).max else np.int64
        indptr = np.arange(0, nearest.size + 1, nearest.shape[1], dtype=width)
        return Codes(indptr, nearest.reshape(-1), weights.reshape(-1))


class InverseDistanceCoding(Coding):
    """Weights in inverse proportion to the distance of the k nearest anchors.

    g_j(x) is proportional to 1 / |x - v_j| over the ``n_neighbors`` nearest anchors
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


class SoftAssignmentCoding(Coding):
    """Softmax of the squared distances to the k nearest anchors.

    g_j(x) is proportional to exp(-beta |x - v_j|^2) over the ``n_neighbors`` nearest
    anchors v_j and 0 elsewhere (eq. 2 of the LLC-SAPL paper [1]_).

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
        **Coding._parameter_constraints,
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
        seen = np.arange(X.shape[0])
        if sample_weight is not None:
            seen = seen[sample_weight > 0]
        if len(seen) > _BANDWIDTH_ROWS:
            seen = np.sort(rng.choice(seen, _BANDWIDTH_ROWS, replace=False))
        rows = as_rows(X if len(seen) == X.shape[0] else X[seen])
        return bandwidth_for_perplexity(self._nearest(rows)[1], max(wanted, 1.0))


def bandwidth_for_perplexity(distances: np.ndarray, perplexity: float) -> float:
    """Find the beta at which the average perplexity of soft assignment is as wanted.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, k)
        Distances to the k nearest anchors, ascending.
    perplexity : float
        Wanted average of exp(entropy of g), in [1, k]. The perplexity falls from k
        to the average number of nearest anchors (one without ties) as beta grows;
        a value outside that range gives the end of the range of beta.

    Returns
    -------
    float
        The bandwidth.
    """
    # In units of a typical difference of squared distances, a range that reaches
    # from uniform weights to the nearest anchor alone.
    first, last = distances[:, 0].astype(float), distances[:, -1].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (last - first) * (last + first)
    spread = spread[(spread > 0) & np.isfinite(spread)]
    unit = 1.0 / np.median(spread) if len(spread) else 1.0
    low, high = np.log(1e-6), np.log(1e12)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if mean_perplexity(distances, unit * np.exp(middle)) > perplexity:
            low = middle
        else:
            high = middle
        if high - low < 1e-6:
            break
    return float(np.clip(unit * np.exp(middle), 1e-300, 1e300))
