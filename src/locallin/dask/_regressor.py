"""The wrapper that fits a local regressor on a cluster."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from locallin.dask._estimator import ClusterEstimator, has_local
from locallin.dask._predict import explained


class ClusterRegressor(RegressorMixin, ClusterEstimator):
    """Fit a regressor of the library on a dask cluster.

    See :mod:`locallin.dask` for the scheme; a sample decides offset and scale of y as
    well. The fitted ``estimator_`` is an ordinary estimator that needs no dask: pickle
    it, export it, explain it.

    Parameters
    ----------
    estimator : regressor
        ``LocallyLinearRegressor``, which takes raw tables and chooses its settings on
        a sample of 20,000 rows, ``SAPLRegressor`` or ``DULLSVMRegressor``, without
        early stopping, which needs all rows at once. ``max_iter`` is the number
        of epochs, ``n_jobs`` are threads within a task; ``warm_start``, ``verbose`` and
        callbacks are those of the estimator.
    n_shards : int, default=2
        Parts of the data that are learned from at the same time: more workers than
        that are of no use. More shards take fewer steps in an epoch.
    timeout : float, default=60.0
        Seconds that ``fit`` waits while the cluster has no worker at all.

    Attributes
    ----------
    estimator_ : regressor
        The fitted local estimator.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X is a dataframe.

    See Also
    --------
    ClusterClassifier : The same for classes.
    locallin.DULLSVMRegressor : The estimator to begin with.
    locallin.DULLSVMRegressor.fit_stream : Rows larger than memory on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from locallin import DULLSVMRegressor
    >>> from locallin.dask import ClusterRegressor
    >>> X = np.random.RandomState(0).uniform(-3, 3, size=(400, 1))
    >>> y = 20 + 5 * np.sin(2 * X[:, 0])
    >>> here = {"dashboard_address": "127.0.0.1:0"}  # nothing is open to others
    >>> here["worker_dashboard_address"] = "127.0.0.1:0"
    >>> with Client(processes=False, **here):
    ...     rows, numbers = da.from_array(X, chunks=(100, 1)), da.from_array(y, 100)
    ...     reg = ClusterRegressor(DULLSVMRegressor(12, random_state=0))
    ...     reg = reg.fit(rows, numbers)
    >>> reg.estimator_.score(X, y) > 0.95
    True
    >>> reg.predict(rows)  # computed when it is needed
    dask.array<..., shape=(400,), dtype=float64, chunksize=(100,), ...>
    """

    _other = "ClusterClassifier"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the estimator to rows that are on a cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Training data, cut by rows only; blocks are dense or CSR matrices, and
            frames with text and gaps for ``LocallyLinearRegressor``. Sizes of blocks
            may be unknown, and blocks may be empty.
        y : dask array, series or dataframe of shape (n_samples,) or \
                (n_samples, n_targets)
            Numbers.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights of the rows. A weight of 0 is the same as leaving the row out.

        Returns
        -------
        self : object
            The fitted regressor.

        Raises
        ------
        BlockError
            Where a block cannot be read or learned from; the message names it.
        TimeoutError
            Where the cluster has no worker for ``timeout`` seconds.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X):
        """Numbers of the rows; lazy for a dask collection.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.

        Returns
        -------
        array, series or frame of shape (n_samples,) or (n_samples, n_targets)
            What is predicted, of the kind that X is; of several quantiles a column of
            each.
        """
        return self._apply("predict", X)

    @has_local("predict_interval")
    def predict_interval(self, X, coverage: float = 0.9):
        """Intervals in which so large a share of new rows lies; lazy for dask.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.
        coverage : float, default=0.9
            The share, above 0 and below 1.

        Returns
        -------
        array or frame of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends; those of a frame are its columns.
        """
        return self._apply("predict_interval", X, coverage=coverage)

    def score(self, X, y, sample_weight=None) -> float:
        """How much of y is predicted.

        Parameters
        ----------
        X : {dask array, dask dataframe, array-like, sparse matrix} of shape \
                (n_samples, n_features)
            Data.
        y : {dask array, dask series, dask dataframe, array-like} of shape \
                (n_samples,) or (n_samples, n_targets)
            Numbers.
        sample_weight : {dask array, dask series, array-like} of shape (n_samples,), \
                default=None
            Weights of the rows.

        Returns
        -------
        float
            R2, as the local estimator has it; of several quantiles the mean of their
            D2.
        """
        return self._score(explained, X, y, sample_weight)
