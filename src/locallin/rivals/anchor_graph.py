"""Anchor graph regularisation (Liu, He & Chang, ICML 2010)."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from locallin.coding import Coding, LAECoding, SoftAssignmentCoding
from locallin.engine.invariants import Array, Part, Rule, number_of_scores
from locallin.engine.matrix import as_rows
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.rivals._labels import FewLabelsClassifier

# Of the mean diagonal: it decides where no label reaches, and nothing elsewhere.
_RIDGE = 1e-8


class AnchorGraphRegClassifier(FewLabelsClassifier):
    """Few labels spread over a graph of rows and anchors (AnchorGraphReg).

    Each row is written as weights Z on its nearest anchors, and two rows are alike as
    far as they share anchors: the graph is ``W = Z diag(Z' 1)^-1 Z'``, which is never
    formed. Labels live on the anchors, a table A of one column for each class, and the
    rows have ``F = Z A``. ``fit`` solves ([1]_, whose gamma is alpha)::

        min_A  |Z_l A - Y_l|^2  +  alpha trace(A' Z' L Z A),   L = I - W

    where l are the labelled rows and Y_l their classes as ones and zeros. It is a
    system as large as there are anchors: memory grows with rows times neighbours, and
    70,000 rows take seconds behind the choice of the anchors. A row's class is that
    of the largest score, where scores are divided by the mass ``1' Z a_j`` of their
    class.

    Rows of class -1 are unlabelled, as everywhere in scikit-learn. (Where y has but
    two values -1 is a class like any other.) Rows that were not there in ``fit`` are
    coded on the same anchors.

    Parameters
    ----------
    n_anchors : int or None, default=None
        Number of anchors (m). None is one for every ten rows, from 10 to 1000. Not
        used where ``anchors`` is an array.
    n_neighbors : int, default=3
        Number of nearest anchors that speak for a row (s in the paper).
    coding : {"lae", "kernel"}, default="lae"
        Weights of the rows on their anchors. "lae" rebuilds the row
        (:class:`locallin.coding.LAECoding`), "kernel" goes by a Gaussian whose width
        is the mean distance to the last of the nearest anchors; the paper calls the
        machine AnchorGraphReg0 then.
    anchors : {"kmeans", "random"} or array-like of shape (n_anchors, n_features), \
            default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`.
    alpha : float, default=0.01
        How much neighbours must agree (gamma in the paper).
    normalize : bool, default=True
        Whether scores are divided by the masses of their classes.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. The coding uses them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the -1 of unlabelled rows.
    coding_ : LAECoding or SoftAssignmentCoding
        The fitted coding.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors.
    coef_ : ndarray of shape (n_anchors, n_scores)
        Scores of the anchors.
    transduction_ : ndarray of shape (n_samples,)
        Classes of the rows of ``fit``, the unlabelled ones among them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    locallin.AtlasClassifier : Charts for few labels.
    sklearn.semi_supervised.LabelSpreading : Labels spread over a graph of all rows.

    References
    ----------
    .. [1] Liu, He and Chang, Large Graph Construction for Scalable Semi-Supervised
       Learning, ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from locallin.rivals import AnchorGraphRegClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.full(len(y), -1)
    >>> few[:100] = y[:100]
    >>> clf = AnchorGraphRegClassifier(random_state=0).fit(X, few)
    >>> bool((clf.transduction_ == y).mean() > 0.9)
    True
    """

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "coding": [StrOptions({"lae", "kernel"})],
        "anchors": [StrOptions({"kmeans", "random"}), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "normalize": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_anchors: int | None = None,
        *,
        n_neighbors: int = 3,
        coding: str = "lae",
        anchors="kmeans",
        alpha: float = 0.01,
        normalize: bool = True,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.anchors = anchors
        self.alpha = alpha
        self.normalize = normalize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "coding_": Part(Coding, {"anchors_": ("anchors", "features")}),
            "anchors_": Array(("anchors", "features")),
            "coef_": Array(("anchors", number_of_scores(self))),
        }

    def _learn(self, X, weights, labelled, encoded) -> np.ndarray:
        counted = np.flatnonzero(weights > 0)
        self._fit_coding(X[counted], weights[counted])
        Z = self._codes(X)
        A = solve_anchor_graph(
            Z[counted],
            weights[counted],
            np.searchsorted(counted, labelled),
            np.eye(len(self.classes_))[encoded],
            self.alpha,
        )
        if self.normalize:
            masses = np.asarray(Z[counted].T @ weights[counted]) @ A
            A = A / np.where(masses > 1e-12 * len(counted), masses, 1.0)
            A *= len(counted) / len(self.classes_)  # scores about one
        if A.shape[1] == 2:
            A = A[:, 1:] - A[:, :1]
        self.coef_ = np.ascontiguousarray(A, self.anchors_.dtype)
        return np.asarray(Z @ self.coef_)

    def _fit_coding(self, X, weights: np.ndarray) -> None:
        n_anchors: Any = self.n_anchors
        if n_anchors is None:
            n_anchors = int(np.clip(X.shape[0] // 10, 10, 1000))
        given = None if isinstance(self.anchors, str) else len(self.anchors)
        most = n_anchors if given is None else given
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        settings = {
            "n_neighbors": min(self.n_neighbors, most),
            "anchors": self.anchors,
            "random_state": seed,
            "n_jobs": self.n_jobs,
        }
        uniform = weights.min() == weights.max()
        seen = None if uniform else weights
        if self.coding == "lae":
            self.coding_: Coding = LAECoding(n_anchors, **settings)
            self.coding_.fit(X, None, seen)
        else:
            # The width of the Gaussian takes the anchors, which are chosen first.
            first = SoftAssignmentCoding(n_anchors, beta=1.0, **settings)
            first.fit(X, None, seen)
            width = first.nearest(as_rows(X), self.n_jobs)[1][:, -1].mean(dtype=float)
            settings["anchors"] = first.anchors_
            self.coding_ = SoftAssignmentCoding(
                len(first.anchors_),
                beta=float(np.clip(width, 1e-100, 1e100) ** -2),
                **{**settings, "n_neighbors": first.n_neighbors_},
            ).fit(X)
        self.anchors_ = self.coding_.anchors_

    def _codes(self, X) -> sparse.csr_matrix:
        codes = self.coding_.encode(as_rows(X), self.n_jobs)
        parts = codes.values, codes.indices, codes.indptr
        return sparse.csr_matrix(parts, shape=(X.shape[0], len(self.anchors_)))

    def _scores(self, X) -> np.ndarray:
        return self._in_blocks(X, lambda part: self._codes(part) @ self.coef_)


def solve_anchor_graph(
    Z, weights: np.ndarray, labelled: np.ndarray, targets: np.ndarray, alpha: float
) -> np.ndarray:
    """Solve for the scores of the anchors.

    Problem (10) of the paper, with weights s of the rows as if they were repeated::

        min_A  sum_{i in l} s_i |z_i A - y_i|^2 + alpha trace(A' R A)
        R = Z' S Z - Z' S Z diag(Z' s)^-1 Z' S Z

    Parameters
    ----------
    Z : CSR matrix of shape (n, m)
        Weights of the rows on the anchors.
    weights : ndarray of shape (n,)
        Weights of the rows.
    labelled : ndarray of int
        The rows that have labels.
    targets : ndarray of shape (n_labelled, n_classes)
        Their classes, as ones and zeros.
    alpha : float
        Strength of the smoothness.

    Returns
    -------
    ndarray of shape (m, n_classes)
        A.
    """
    Z = Z.astype(float)
    shares = (Z.T @ Z.multiply(weights[:, None])).toarray()
    degrees = np.asarray(Z.T @ weights)
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    laplacian = shares - (shares * inverse) @ shares
    known = Z[labelled]
    weighted = known.multiply(weights[labelled][:, None]).tocsr()
    system = (known.T @ weighted).toarray() + alpha * laplacian
    system[np.diag_indices_from(system)] += _RIDGE * system.trace() / len(system)
    return linalg.solve(system, weighted.T @ targets, assume_a="pos")
