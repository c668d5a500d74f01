"""Clustered support vector machines (Gu & Han, AISTATS 2013)."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from locallin.anchors import choose_anchors
from locallin.engine.input import checked_data
from locallin.engine.invariants import Array, Rule, number_of_scores
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    unchanged_on_error,
)
from locallin.methods.base import ScoringClassifier, encode_classes
from locallin.methods.skeleton import check_parameters, validated_rows


class CSVMClassifier(ScoringClassifier):
    """Clustered SVM (CSVM): a linear machine in each cluster, all near one of all rows.

    The rows are cut into clusters l by k-means. Each has a linear machine, which a
    machine w of all rows keeps from following its own rows too closely (problem (2)
    of [1]_)::

        min  shared/2 |w|^2  +  1/2 sum_l |w_l - w|^2
                 +  C sum_i s_i max(0, 1 - y_i w_{l(i)} . x_i)

    with x standing for [x; B] and s_i the rows' weights. With ``v_l = w_l - w`` it is
    a linear SVM on sparse features, and LIBLINEAR solves it. A row is scored by the
    machine of its nearest cluster. Several classes are set against the rest one by
    one, in the same clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters (k).
    C : float, default=1.0
        Strength of the loss.
    shared : float, default=1.0
        Price of the machine of all rows (lambda): the smaller, the more of the work it
        does.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss on the margin.
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: the larger, the weaker their
        penalty. "auto" is the root mean square norm of the rows.
    max_iter : int, default=10000
        Largest number of passes of LIBLINEAR.
    tol : float, default=1e-4
        Its tolerance.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. Clusters and the order of visits depend on it.
    n_jobs : int or None, default=None
        Number of threads. Predictions use them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    anchors_ : ndarray of shape (n_clusters, n_features)
        Centres of the clusters.
    coef_ : ndarray of shape (n_clusters, n_scores, n_features)
        Weights of the machines w_l.
    intercept_ : ndarray of shape (n_clusters, n_scores)
        Their intercepts.
    shared_coef_ : ndarray of shape (n_scores, n_features)
        Weights of the machine w of all rows.
    n_iter_ : int
        Passes made.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    locallin.LLSVMClassifier : Local machines that are mixed, without seams.
    SVMKNNClassifier : A machine for every row, from its neighbours.

    References
    ----------
    .. [1] Gu and Han, Clustered Support Vector Machines, AISTATS 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin.rivals import CSVMClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = CSVMClassifier(C=10, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "shared": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "intercept_scaling": [
            Interval(Real, 1e-100, 1e100, closed="both"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        C: float = 1.0,
        shared: float = 1.0,
        loss: str = "hinge",
        intercept_scaling: float | str = "auto",
        max_iter: int = 10_000,
        tol: float = 1e-4,
        class_weight=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.shared = shared
        self.loss = loss
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _invariants(self) -> dict[str, Rule]:
        scores = number_of_scores(self)
        return {
            **super()._invariants(),
            "anchors_": Array(("anchors", "features")),
            "coef_": Array(("anchors", scores, "features")),
            "intercept_": Array(("anchors", scores)),
            "shared_coef_": Array((scores, "features")),
        }

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the choice of clusters, too. A weight of 0 is the
            same as leaving the row out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            check_parameters(self)
            X, y = checked_data(self, X, y, reset=True)
            weights = check_sample_weight(sample_weight, X)
            rows = np.flatnonzero(weights > 0)
            X, y, weights = X[rows], y[rows], weights[rows]
            self.classes_, _ = encode_classes(y, None, type(self).__name__)
            rng = check_random_state(self.random_state)
            uniform = weights.min() == weights.max()
            self.anchors_ = choose_anchors(
                X,
                min(int(self.n_clusters), X.shape[0]),
                "kmeans",
                sample_weight=None if uniform else weights,
                random_state=rng,
            )
            clusters = pairwise_distances_argmin(X, self.anchors_)
            machine = LinearSVC(
                C=self.C,
                loss=self.loss,
                dual=True,
                fit_intercept=False,
                max_iter=self.max_iter,
                tol=self.tol,
                class_weight=self.class_weight,
                random_state=rng.randint(np.iinfo(np.int32).max),
            )
            constant: Any = self.intercept_scaling
            if constant == "auto":
                squares = sparse.csr_matrix(X, dtype=float).power(2).sum(axis=1)
                constant = float(np.sqrt(np.average(np.ravel(squares)))) or 1.0
            features = clustered_features(
                X, clusters, len(self.anchors_), float(self.shared), constant
            )
            machine.fit(features, y, sample_weight=weights)
            self._keep(machine, constant, X.dtype)
        return self

    def _keep(self, machine: LinearSVC, constant: float, dtype: Any) -> None:
        """Set the machines of the clusters: that of all rows, plus their own."""
        tables = machine.coef_.reshape(len(machine.coef_), -1, self.n_features_in_ + 1)
        shared = tables[:, :1] / np.sqrt(self.shared)
        machines = (tables[:, 1:] + shared).swapaxes(0, 1).astype(dtype)
        self.coef_ = np.ascontiguousarray(machines[:, :, :-1])
        self.intercept_ = np.ascontiguousarray(constant * machines[:, :, -1], dtype)
        self.shared_coef_ = np.ascontiguousarray(shared[:, 0, :-1], dtype)
        self.n_iter_ = int(np.max(machine.n_iter_))

    def _scores(self, X) -> np.ndarray:
        def score(part):
            clusters = pairwise_distances_argmin(part, self.anchors_)
            scores = np.empty((part.shape[0], self.coef_.shape[1]), self.coef_.dtype)
            for cluster in np.unique(clusters):
                rows = np.flatnonzero(clusters == cluster)
                values = part[rows] @ self.coef_[cluster].T
                scores[rows] = values + self.intercept_[cluster]
            return scores

        return self._in_blocks(X, score)

    def _clusters_of(self, X) -> np.ndarray:
        X = validated_rows(self, X)
        return pairwise_distances_argmin(X, self.anchors_)

    def local_coef(self, X) -> np.ndarray:
        """Weights of each row's machine, that of its nearest cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights.
        """
        return self.coef_[self._clusters_of(X)]

    def local_intercept(self, X) -> np.ndarray:
        """Intercepts of each row's machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts.
        """
        return self.intercept_[self._clusters_of(X)]


def clustered_features(
    X, clusters: np.ndarray, n_clusters: int, shared: float, constant: float
) -> sparse.csr_matrix:
    """Rows as the equivalent linear SVM sees them.

    ``[x / sqrt(shared), 0, .., x, .., 0]`` with x standing for [x; B] and the second x
    at the place of the row's cluster.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n, n_features)
        Rows.
    clusters : ndarray of shape (n,)
        Their clusters.
    n_clusters : int
        Number of clusters.
    shared : float
        Price of the machine of all rows.
    constant : float
        B.

    Returns
    -------
    CSR matrix of shape (n, (n_clusters + 1) * (n_features + 1))
        Features.
    """
    n = X.shape[0]
    rows = sparse.hstack(
        [sparse.csr_matrix(X), np.full((n, 1), constant)], format="csr"
    )
    width = rows.shape[1]
    moved = rows.indices + width * np.repeat(clusters, np.diff(rows.indptr))
    own = sparse.csr_matrix(
        (rows.data, moved, rows.indptr), shape=(n, width * n_clusters)
    )
    return sparse.hstack([rows / np.sqrt(shared), own], format="csr")
