"""Codings by reconstruction: weights with which near anchors rebuild a row."""

from numbers import Integral, Real

import numpy as np

from locallin.coding.anchor_learning import NearCodes, learn_anchors
from locallin.coding.base import Coding, in_metric
from locallin.coding.local_problems import (
    lasso_minima,
    local_covariances,
    simplex_minima,
)
from locallin.engine.invariants import Array, Number, Rule
from locallin.engine.matrix import as_rows, behind_metric, find_nearest, map_blocks
from locallin.engine.sklearn_api import Interval
from locallin.kernels.rows import Codes, Rows

# Rows whose differences from their anchors are held at a time.
_ROWS = 128


class ReconstructionCoding(Coding):
    """Weights on the k nearest anchors that rebuild the row. A base of codings.

    A subclass's ``_weights`` makes weights of scaled local covariances
    ``C_ij = (x - v_i) . (x - v_j)`` of many rows.
    """

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
        self.n_neighbors_ = min(int(self.n_neighbors), len(self.anchors_))

    def encode(self, rows: Rows, n_jobs: int | None = None) -> Codes:
        """Local coordinates of validated rows, in the form that kernels take.

        Parameters
        ----------
        rows : Rows
            Rows of a dense or of a CSR matrix.
        n_jobs : int or None, default=None
            Threads.

        Returns
        -------
        Codes
            A CSR matrix as (indptr, indices, values). In each row the weights sum to
            one, and the anchors ascend.
        """
        rows = behind_metric(rows, self.metric_)
        nearest, weights = self._near_codes(rows, self.anchors_, n_jobs)
        n, k = nearest.shape
        width = np.int32 if n * k <= np.iinfo(np.int32).max else np.int64
        indptr = np.arange(0, n * k + 1, k, dtype=width)
        return Codes(indptr, nearest.reshape(-1), weights.reshape(-1))

    def _near_codes(self, rows: Rows, anchors: np.ndarray, n_jobs) -> NearCodes:
        """Codes of rows that stand behind the metric, for anchors of any place."""
        k = self.n_neighbors_
        nearest, distances = find_nearest(rows, anchors, k, n_jobs)
        nearest.sort(axis=1)
        weights = np.empty_like(distances)

        def work(block, start, stop):
            covariances = np.empty((stop - start, k, k))
            for first in range(0, stop - start, _ROWS):
                part = slice(first, min(first + _ROWS, stop - start))
                near = anchors[nearest[start:stop][part]]
                X = _dense(block, part, anchors.shape[1])
                covariances[part] = local_covariances(X, near)
            weights[start:stop] = self._weights(covariances)

        map_blocks(rows, work, n_jobs)
        return NearCodes(nearest, weights)

    def _weights(self, covariances: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def _dense(rows: Rows, part: slice, n_features: int) -> np.ndarray:
    if rows.indptr is None:
        return rows.data[part]
    bounds = rows.indptr[part.start : part.stop + 1]
    made = np.zeros((len(bounds) - 1, n_features), rows.data.dtype)
    lines = np.repeat(np.arange(len(made)), np.diff(bounds))
    entries = slice(bounds[0], bounds[-1])
    columns = np.asarray(rows.indices)[entries]
    made[lines, columns] = rows.data[entries]
    return made


class LLCCoding(ReconstructionCoding):
    """Weights that rebuild the row from its k nearest anchors: LLC, and those of LLE.

    g(x) minimises ``|x - sum_j g_j v_j|^2 + penalty t |g|^2`` over weights that sum to
    one, on the ``n_neighbors`` nearest anchors, with t the sum of their squared
    distances. It has a closed form, ``(C + penalty t I) g = 1`` up to scale, with
    ``C_ij = (x - v_i) . (x - v_j)``: the fast coding of locality-constrained linear
    coding (LLC [1]_), and the weights of locally linear embedding [2]_ with anchors in
    place of rows (there the penalty is 1e-3).

    Weights may be negative: a row outside of its anchors is reached by going away from
    one. ``LLSVMClassifier(coding=LLCCoding())`` learns with them as with any others,
    and ``local_coef`` and explanations stay exact sums; but a weight is then no share,
    and C and ONNX are for the codings with shares (see *See Also*).

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=5
        Number of nearest anchors that speak for a row (k).
    penalty : float, default=1e-4
        Strength of the penalty on the weights, as a share of the sum of the squared
        distances: the larger, the more equal they are.
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
        0: this coding has none.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LAECoding : Reconstruction by weights that are not negative.
    InverseDistanceCoding : Weights by the inverse of the distance.
    SoftAssignmentCoding : Weights by a Gaussian of the distance.
    locallin.LLSVMClassifier : A classifier that takes a coding.

    References
    ----------
    .. [1] Wang, Yang, Yu, Lv, Huang and Gong, Locality-constrained Linear Coding for
       Image Classification, CVPR 2010.
    .. [2] Roweis and Saul, Nonlinear Dimensionality Reduction by Locally Linear
       Embedding, Science 290, 2000.

    Examples
    --------
    >>> from locallin.coding import LLCCoding
    >>> coding = LLCCoding(n_neighbors=2, anchors=[[0.0], [1.0], [9.0]])
    >>> coding.fit([[0.5]]).transform([[0.25], [-1.0]]).toarray().round(2)
    array([[ 0.75,  0.25,  0.  ],
           [ 2.  , -1.  ,  0.  ]])
    """

    _parameter_constraints: dict = {
        **ReconstructionCoding._parameter_constraints,
        "penalty": [Interval(Real, 1e-10, None, closed="left")],
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 5,
        penalty: float = 1e-4,
        anchors="kmeans",
        metric=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.anchors = anchors
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _weights(self, covariances: np.ndarray) -> np.ndarray:
        k = covariances.shape[1]
        ridge = self.penalty * np.eye(k)
        found = np.linalg.solve(covariances + ridge, np.ones((len(covariances), k, 1)))
        return found[:, :, 0] / found.sum(axis=1)


class LAECoding(ReconstructionCoding):
    """Shares of the k nearest anchors that rebuild the row: local anchor embedding.

    g(x) minimises ``|x - sum_j g_j v_j|^2`` over weights that are not negative and sum
    to one, on the ``n_neighbors`` nearest anchors (LAE, [1]_): the point
    of the simplex of these anchors that is nearest to the row.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=3
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
    bandwidth_ : float
        0: this coding has none.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LLCCoding : Reconstruction by weights of either sign, in closed form.
    locallin.rivals.AnchorGraphRegClassifier : Labels spread over these weights.
    locallin.LLSVMClassifier : A classifier that takes a coding.

    References
    ----------
    .. [1] Liu, He and Chang, Large Graph Construction for Scalable Semi-Supervised
       Learning, ICML 2010.

    Examples
    --------
    >>> from locallin.coding import LAECoding
    >>> coding = LAECoding(n_neighbors=2, anchors=[[0.0], [1.0], [9.0]])
    >>> coding.fit([[0.5]]).transform([[0.25], [-1.0]]).toarray().round(2)
    array([[0.75, 0.25, 0.  ],
           [1.  , 0.  , 0.  ]])
    """

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 3,
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

    def _weights(self, covariances: np.ndarray) -> np.ndarray:
        return simplex_minima(covariances)


class LCCCoding(ReconstructionCoding):
    """Few weights of either sign that rebuild the row: local coordinate coding (LCC).

    g(x) minimises, over weights that sum to one on the ``n_neighbors`` nearest
    anchors, the bound of [1]_ on how well a smooth function is linear in g::

        1/2 |x - sum_j g_j v_j|^2  +  mu sum_j |g_j| |x - v_j|^2

    The second term is a lasso whose price is the squared distance: far anchors get
    exactly zero. Weights may be negative, with what that means in :class:`LLCCoding`.
    ``fit`` lowers the mean of this bound over the rows by moving the anchors, too:
    weights and anchors take turns, each at its best for the other.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=10
        Number of nearest anchors that speak for a row (k).
    mu : float, default=0.1
        Price of distance: the larger, the fewer anchors. It has no unit.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors start: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    max_iter : int, default=10
        Largest number of rounds in which the anchors move; 0 leaves them where they
        start.
    tol : float, default=1e-3
        A round that lowers the bound by a smaller share is the last.
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
        0: this coding has none.
    n_iter_ : int
        Number of rounds in which the anchors moved.
    objective_history_ : ndarray of shape (n_rounds + 1,)
        Mean of the bound over the rows, at the start and after each round, as a share
        of that at the start.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LLCCoding : Reconstruction in closed form.
    LAECoding : Reconstruction by weights that are not negative.
    locallin.LLSVMClassifier : A classifier that takes a coding.

    Notes
    -----
    The paper's weights are on all anchors; here only the nearest count. A round after
    which rows have other nearest anchors may raise the bound: it is undone, and is the
    last.

    ``LLSVMClassifier(coding=LCCCoding(), local_model="constant")`` is the paper's
    LCC with a linear machine on the codes; with linear local models it spans what
    :class:`LocalTangents` adds.

    References
    ----------
    .. [1] Yu, Zhang and Gong, Nonlinear Learning Using Local Coordinate Coding,
       NIPS 2009.

    Examples
    --------
    >>> from locallin.coding import LCCCoding
    >>> coding = LCCCoding(n_neighbors=2, anchors=[[0.0], [1.0], [9.0]], max_iter=0)
    >>> coding.fit([[0.5]]).transform([[0.5], [1.0]]).toarray().round(2)
    array([[0.5, 0.5, 0. ],
           [0. , 1. , 0. ]])

    Anchors that learn rebuild the rows better:

    >>> import numpy as np
    >>> angles = np.linspace(0, np.pi, 200)
    >>> X = np.c_[np.cos(angles), np.sin(angles)]
    >>> coding = LCCCoding(8, n_neighbors=3, random_state=0).fit(X)
    >>> bool(coding.objective_history_[-1] < 0.9)
    True
    """

    _parameter_constraints: dict = {
        **ReconstructionCoding._parameter_constraints,
        "mu": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 10,
        mu: float = 0.1,
        anchors="kmeans",
        max_iter: int = 10,
        tol: float = 1e-3,
        metric=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.anchors = anchors
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "n_iter_": Number(Integral),
            "objective_history_": Array(("rounds",)),
        }

    def _fit_validated(self, X, y, sample_weight):
        super()._fit_validated(X, y, sample_weight)
        X = in_metric(X, self.metric_)
        rows = as_rows(X)
        self.anchors_, self.objective_history_ = learn_anchors(
            X,
            self.anchors_,
            lambda anchors: self._near_codes(rows, anchors, self.n_jobs),
            float(self.mu),
            np.ones(X.shape[0]) if sample_weight is None else sample_weight,
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )
        self.n_iter_ = len(self.objective_history_) - 1
        return self

    def _weights(self, covariances: np.ndarray) -> np.ndarray:
        # Squared distances are on the diagonal; the scale of both terms is the same.
        prices = self.mu * np.einsum("njj->nj", covariances)
        return lasso_minima(covariances, prices)
