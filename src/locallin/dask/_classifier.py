"""The wrapper that fits a local classifier on a cluster."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin

from locallin.dask._estimator import ClusterEstimator, has_local
from locallin.dask._predict import accuracy


class ClusterClassifier(ClassifierMixin, ClusterEstimator):
    """Fit a classifier of the library on a dask cluster.

    See :mod:`locallin.dask` for the scheme. The fitted ``estimator_`` is an ordinary
    estimator that needs no dask: pickle it, export it, explain it.

    Parameters
    ----------
    estimator : classifier
        ``LocallyLinearClassifier``, which takes raw tables and chooses its settings on
        a sample of 20,000 rows, ``SAPLClassifier``, ``DULLSVMClassifier``,
        ``ML3Classifier`` or ``LLSVMClassifier(solver="sgd")``, without early stopping
        and ``init="convex"``, which need all rows at once. ``max_iter`` is the number
        of epochs, ``n_jobs`` are threads within a task; ``warm_start``, ``verbose`` and
        callbacks are those of the estimator.
    n_shards : int, default=2
        Parts of the data that are learned from at the same time: more workers than
        that are of no use. More shards take fewer steps in an epoch.
    timeout : float, default=60.0
        Seconds that ``fit`` waits while the cluster has no worker at all.

    Attributes
    ----------
    estimator_ : classifier
        The fitted local estimator.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X is a dataframe.

    See Also
    --------
    ClusterRegressor : The same for numbers.
    locallin.DULLSVMClassifier : The estimator to begin with.
    locallin.DULLSVMClassifier.fit_stream : Rows larger than memory on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from locallin import DULLSVMClassifier
    >>> from locallin.dask import ClusterClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> here = {"dashboard_address": "127.0.0.1:0"}  # nothing is open to others
    >>> here["worker_dashboard_address"] = "127.0.0.1:0"
    >>> with Client(processes=False, **here):
    ...     rows, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, 100)
    ...     clf = ClusterClassifier(DULLSVMClassifier(6, random_state=0))
    ...     clf = clf.fit(rows, labels)
    >>> clf.estimator_.score(X, y) > 0.97
    True
    >>> clf.predict(rows)  # computed when it is needed
    dask.array<..., shape=(400,), dtype=int64, chunksize=(100,), ...>
    """

    _other = "ClusterRegressor"

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        return self.estimator_.classes_

    def fit(self, X, y, sample_weight=None):
        """Fit the estimator to rows that are on a cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Training data, cut by rows only; blocks are dense or CSR matrices, and
            frames with text and gaps for ``LocallyLinearClassifier``. Sizes of blocks
            may be unknown, and blocks may be empty.
        y : dask array or series of shape (n_samples,)
            Classes. A block need not contain all of them.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights of the rows. A weight of 0 is the same as leaving the row out.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        BlockError
            Where a block cannot be read or learned from; the message names it.
        TimeoutError
            Where the cluster has no worker for ``timeout`` seconds.
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X):
        """Scores of the rows; lazy for a dask collection.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.

        Returns
        -------
        array or frame of shape (n_samples,) or (n_samples, n_classes)
            Scores, of the kind that X is; one per row for two classes.
        """
        return self._apply("decision_function", X)

    def predict(self, X):
        """Classes of the rows; lazy for a dask collection.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.

        Returns
        -------
        array or series of shape (n_samples,)
            The class of the largest score of each row, of the kind that X is.
        """
        return self._apply("predict", X)

    @has_local("predict_proba")
    def predict_proba(self, X):
        """Class probabilities of the rows; lazy for a dask collection.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.

        Returns
        -------
        array or frame of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return self._apply("predict_proba", X)

    @has_local("predict_log_proba")
    def predict_log_proba(self, X):
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.

        Returns
        -------
        array or frame of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.
        """
        return self._apply("predict_log_proba", X)

    def score(self, X, y, sample_weight=None) -> float:
        """Share of the rows that are predicted right.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.
        y : {dask array, dask series, array-like} of shape (n_samples,)
            Classes.
        sample_weight : {dask array, dask series, array-like} of shape (n_samples,), \
                default=None
            Weights of the rows.

        Returns
        -------
        float
            Accuracy.
        """
        return self._score(accuracy, X, y, sample_weight)
