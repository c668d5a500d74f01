"""Orthogonal coordinate coding: weights by inner products with anchor planes."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd, safe_sparse_dot

from locallin.coding.base import Coding
from locallin.engine.invariants import INPUT, Array, Number, Rule
from locallin.engine.matrix import map_blocks, products
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.kernels.products import row_products
from locallin.kernels.rows import Codes, Rows

# Features up to which directions come from the matrix of their inner products.
_MOST_FEATURES = 2000
# Of the largest singular value: directions that rounding alone has made.
_RANK = 1e-6


class OCCCoding(Coding):
    """Coordinates along the leading singular directions: orthogonal coordinate coding.

    Local models sit at planes rather than at points ([1]_): with the right singular
    vectors v_j of the rows, each with a constant c behind its features,

        g_j(x) = v_j . [x; c] / s

    where s makes the mean of ``|g(x)|^2`` over the rows one, and c is the root mean
    square norm of the rows (the paper's rows have a norm near one, and its constant
    is 1). Few planes are enough, and never more than there are directions: every
    plane speaks for every row.

    ``LLSVMClassifier(coding=OCCCoding(50))`` is the paper's G-OCC, one set of planes
    for all classes. C-OCC has the planes of each class by itself:
    ``OneVsRestClassifier(LLSVMClassifier(coding=OCCCoding(50, rows="positive")))``.

    Weights may be negative and do not sum to one: ``local_coef`` and explanations stay
    exact sums; but a weight is no share, and C and ONNX are for the codings with
    shares.

    Parameters
    ----------
    n_anchors : int, default=50
        Number of planes (m). Fewer where the rows have fewer directions.
    rows : {"all", "positive"}, default="all"
        Rows whose directions are taken: all of them, or those of the second of two
        classes.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. Directions among more than 2000 features
        depend on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        Directions v_j / s, for the features.
    offsets_ : ndarray of shape (n_anchors,)
        The same for the constant, times c: weights are ``anchors_ @ x + offsets_``.
    metric_ : None
        This coding has no metric.
    bandwidth_ : float
        0: this coding has none.
    n_neighbors_ : int
        Number of planes that speak for a row: all.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LCCCoding : Anchors that are points.
    locallin.LLSVMClassifier : A classifier that takes a coding.

    Notes
    -----
    Given the weights, a local model is linear in x, and the weights are, too: the
    score is a quadratic function of the row, of low rank.

    References
    ----------
    .. [1] Zhang, Ladicky, Torr and Saffari, Learning Anchor Planes for Classification,
       NIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from locallin import LLSVMClassifier
    >>> from locallin.coding import OCCCoding
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = LLSVMClassifier(coding=OCCCoding(10), tol=0.05)
    >>> clf = clf.fit(X[:1000] / 16, y[:1000])
    >>> clf.score(X[1000:] / 16, y[1000:]) > 0.9
    True
    """

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left")],
        "rows": [StrOptions({"all", "positive"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    anchors: Any = "planes"

    def __init__(
        self,
        n_anchors: int = 50,
        *,
        rows: str = "all",
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.rows = rows
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _needs_classes(self) -> bool:
        return self.rows == "positive"

    def _invariants(self) -> dict[str, Rule]:
        return {
            **INPUT,
            "anchors_": Array(("anchors", "features"), squares=False),
            "offsets_": Array(("anchors",), squares=False),
            "n_neighbors_": Number(Integral, 1, most="anchors"),
        }

    def _fit_validated(self, X, y, sample_weight):
        chosen = np.ones(X.shape[0], bool)
        if self.rows == "positive":
            chosen = _positive(y)
        weights = chosen.astype(float)
        if sample_weight is not None:
            weights *= sample_weight
        chosen = weights > 0
        if not chosen.any():
            raise ValueError(
                "rows='positive', but no row of the second class has a weight: pass "
                "rows='all', or weigh the rows otherwise."
            )
        if not chosen.all():
            X, weights = X[chosen], weights[chosen]
        self.metric_, self.bandwidth_ = None, 0.0
        planes, offsets = anchor_planes(
            X, weights, int(self.n_anchors), check_random_state(self.random_state)
        )
        self.anchors_ = np.ascontiguousarray(planes, X.dtype)
        self.offsets_ = offsets.astype(X.dtype)
        self.choose_neighbors()
        return self

    def encode(self, rows: Rows, n_jobs: int | None = None) -> Codes:
        """Coordinates of validated rows, in the form that kernels take.

        Parameters
        ----------
        rows : Rows
            Rows of a dense or of a CSR matrix.
        n_jobs : int or None, default=None
            Threads.

        Returns
        -------
        Codes
            A CSR matrix as (indptr, indices, values). Each row has a weight on every
            plane, of either sign.
        """

        def multiply(block, *_):
            dense = block.indptr is None
            part = (
                row_products(block.data, self.anchors_)
                if dense
                else products(block, self.anchors_)
            )
            return part + self.offsets_

        values = np.concatenate(map_blocks(rows, multiply, n_jobs))
        n, m = values.shape
        width = np.int32 if n * m <= np.iinfo(np.int32).max else np.int64
        indices = np.tile(np.arange(m, dtype=np.int32), n)
        return Codes(np.arange(0, n * m + 1, m, dtype=width), indices, values.ravel())


def _positive(y) -> np.ndarray:
    """Mask of the rows of the second class."""
    if y is None:
        raise ValueError("rows='positive' needs y: pass the classes.")
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"rows='positive' is for two classes, but y has {len(classes)}: put the "
            "classifier into sklearn.multiclass.OneVsRestClassifier."
        )
    return np.asarray(y) == classes[1]


def anchor_planes(
    X, weights: np.ndarray, n_planes: int, rng
) -> tuple[np.ndarray, np.ndarray]:
    """Leading right singular vectors of rows with a constant, scaled for codes.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)
        Rows.
    weights : ndarray of shape (n_rows,)
        Their weights.
    n_planes : int
        Largest number of vectors.
    rng : RandomState
        Source of random numbers, for many features.

    Returns
    -------
    planes : ndarray of shape (at most n_planes, n_features)
        The vectors' parts for the features, divided by the root of the mean of the
        squared coordinates.
    offsets : ndarray of shape (at most n_planes,)
        Their parts for the constant, times the constant.
    """
    unit = np.float64(max(abs(X.max()), abs(X.min()), np.finfo(float).tiny))
    root = np.sqrt(weights / weights.sum())[:, None]
    scaled = X.astype(float) / unit
    scaled = scaled.multiply(root).tocsr() if sparse.issparse(X) else scaled * root
    squares = scaled.multiply(scaled) if sparse.issparse(X) else scaled**2
    constant = float(np.sqrt(squares.sum())) or 1.0
    stack = sparse.hstack if sparse.issparse(X) else np.hstack
    values, vectors = _directions(stack([scaled, constant * root]), n_planes, rng)
    kept = values > _RANK * values[0]
    length = np.sqrt((values[kept] ** 2).sum())
    vectors = vectors[kept] / length
    # The sign is free: let the largest entry decide, for the same model everywhere.
    largest = np.abs(vectors).argmax(axis=1)[:, None]
    vectors = vectors * np.sign(np.take_along_axis(vectors, largest, axis=1))
    return vectors[:, :-1] / unit, vectors[:, -1] * constant


def _directions(rows, n_planes: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Leading singular values of rows, descending, and their right vectors."""
    n_planes = min(n_planes, *rows.shape)
    if rows.shape[1] > _MOST_FEATURES:
        _, values, vectors = randomized_svd(
            rows, n_planes, n_iter=7, random_state=rng, flip_sign=False
        )
        return values, vectors
    gram = safe_sparse_dot(rows.T, rows, dense_output=True)
    last = rows.shape[1] - 1
    squares, vectors = linalg.eigh(gram, subset_by_index=[last + 1 - n_planes, last])
    return np.sqrt(np.maximum(squares[::-1], 0)), vectors[:, ::-1].T
