"""SVM-KNN (Zhang, Berg, Maire & Malik, CVPR 2006)."""

from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin.engine.invariants import CLASSIFIER, Array, CheckedState, Rule
from locallin.engine.parallel import row_blocks
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    unchanged_on_error,
    validate_parameters,
)
from locallin.methods.base import encode_classes

_ROWS = 256


def _has_probabilities(estimator) -> bool:
    raise AttributeError(
        "SVMKNNClassifier has no predict_proba, as every row has a machine of its own "
        "that tells its class alone: distill(model, X) of locallin learns a classifier "
        "with probabilities from its predictions."
    )


class SVMKNNClassifier(CheckedState, ClassifierMixin, BaseEstimator):
    """SVM-KNN: for every row a machine of its own, from its nearest neighbours.

    Nothing is learned beforehand. To predict a row, its ``n_neighbors`` nearest
    training rows are found; where all have one class, that is the answer, and else a
    support vector machine is fitted to them ([1]_)::

        min_w,b  1/2 |w|^2 + C sum_{i in N(x)} s_i max(0, 1 - y_i (w . phi(x_i) + b))

    Several classes among the neighbours are told apart in pairs. It is accurate and
    very slow to predict: a small machine a row.

    Parameters
    ----------
    n_neighbors : int, default=50
        Number of nearest rows that a machine learns from (K).
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the machines.
    C : float, default=1.0
        Strength of the loss.
    gamma : float or "scale", default="scale"
        Width of "rbf"; "scale" is set for each machine by its neighbours, as in
        :class:`sklearn.svm.SVC`.
    n_jobs : int or None, default=None
        Number of threads. The result is the same for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    X_ : ndarray of shape (n_samples, n_features)
        The training rows of positive weight.
    y_ : ndarray of shape (n_samples,)
        Their classes, as indices into ``classes_``.
    weights_ : ndarray of shape (n_samples,)
        Their weights.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    locallin.LLSVMClassifier : Local machines that are learned once.
    CSVMClassifier : A machine for each cluster.

    Notes
    -----
    Rows are dense: sparse ones are refused, since a machine a row on text would not
    end. The paper speaks of any distance; this one is Euclidean.

    References
    ----------
    .. [1] Zhang, Berg, Maire and Malik, SVM-KNN: Discriminative Nearest Neighbor
       Classification for Visual Category Recognition, CVPR 2006.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin.rivals import SVMKNNClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = SVMKNNClassifier(20).fit(X[:300], y[:300])
    >>> clf.score(X[300:], y[300:]) > 0.95
    True
    """

    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"linear", "rbf"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
        "n_jobs": [Integral, None],
    }

    _fitted_mark = "X_"

    def __init__(
        self,
        n_neighbors: int = 50,
        *,
        kernel: str = "linear",
        C: float = 1.0,
        gamma: float | str = "scale",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.n_jobs = n_jobs

    def _invariants(self) -> dict[str, Rule]:
        return {
            **CLASSIFIER,
            "X_": Array(("rows", "features")),
            "y_": Array(("rows",), "i", least=0, below="classes"),
            "weights_": Array(("rows",), least=0.0),
        }

    def fit(self, X, y, sample_weight=None):
        """Keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the machines. A weight of 0 is the same as leaving
            the row out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            validate_parameters(self)
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
            weights = check_sample_weight(sample_weight, X)
            counted = np.flatnonzero(weights > 0)
            self.classes_, encoded = encode_classes(
                y[counted], None, type(self).__name__
            )
            self.X_ = np.ascontiguousarray(X[counted])
            self.y_ = encoded.astype(np.intp)
            self.weights_ = weights[counted]
        return self

    def predict(self, X) -> np.ndarray:
        """Classes of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class that each row's own machine gives it.
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], order="C"
        )
        k = min(int(self.n_neighbors), len(self.X_))
        search = NearestNeighbors(n_neighbors=k).fit(self.X_)

        def block(start, stop):
            near = search.kneighbors(X[start:stop], return_distance=False)
            rows = zip(X[start:stop], near, strict=True)
            return [self._class_of(x, chosen) for x, chosen in rows]

        blocks = row_blocks(len(X), _ROWS)
        found = Parallel(self.n_jobs, prefer="threads")(
            delayed(block)(*bounds) for bounds in blocks
        )
        return self.classes_[np.concatenate(found)]

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Not there: the machines tell classes alone; the error says what to do."""
        raise NotImplementedError

    def _class_of(self, x: np.ndarray, chosen: np.ndarray) -> int:
        labels = self.y_[chosen]
        if (labels == labels[0]).all():
            return int(labels[0])
        machine = SVC(C=self.C, kernel=self.kernel, gamma=self.gamma)
        machine.fit(self.X_[chosen], labels, sample_weight=self.weights_[chosen])
        return int(machine.predict(x[None])[0])
