"""The wrapper that fits a local classifier on a cluster."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin.dask._blocks import check_rows, is_frame
from locallin.dask._fit import ClusterFit
from locallin.dask._predict import accuracy, is_lazy, lazily
from locallin.dask._tables import fit_table
from locallin.engine.progress import Progress, warn_not_converged
from locallin.engine.sklearn_api import (
    HasMethods,
    Interval,
    clone_without_callbacks,
    fitted_attributes,
    interruptible,
    unchanged_on_error,
    validate_parameters,
    with_callbacks,
)
from locallin.methods.joint import JointClassifier
from locallin.methods.rounds import check_block_learner
from locallin.methods.tables import TableEstimator
from locallin.solvers.convex import Stall


def _has(method: str):
    """Whether the local estimator has a method; its own error says why not."""
    return available_if(lambda self: getattr(self._local(), method) is not None)


class ClusterClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
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

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_shards": [Interval(Integral, 1, None, closed="left")],
        "timeout": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, estimator, *, n_shards: int = 2, timeout: float = 60.0):
        self.estimator = estimator
        self.n_shards = n_shards
        self.timeout = timeout

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _local(self):
        return getattr(self, "estimator_", self.estimator)

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
        if isinstance(self.estimator, TableEstimator):
            with unchanged_on_error(self):
                self._fit_table(X, y, sample_weight)
            return self
        with interruptible(self) as run:
            fit = self.prepare(X, y, sample_weight)
            run.interrupted = _run_epochs(self.estimator, fit, self._keep)
        return self

    def _fit_table(self, X, y, sample_weight) -> None:
        """Choose on a sample, and fit the members, one after the other."""
        validate_parameters(self)
        validate_parameters(self.estimator)
        validate_data(self, X._meta if is_frame(X) else X, skip_check_array=True)

        def fit_member(member, rows):
            one = ClusterClassifier(
                member, n_shards=self.n_shards, timeout=self.timeout
            )
            return one.fit(*rows).estimator_

        data = X, y, sample_weight
        self.estimator_ = fit_table(self.estimator, data, fit_member)

    def prepare(self, X, y, sample_weight=None) -> ClusterFit:
        """Check everything, and count rows and classes; ``fit`` begins with it.

        Parameters
        ----------
        X, y, sample_weight : dask collections
            As in ``fit``.

        Returns
        -------
        ClusterFit
            The fit, epoch by epoch.
        """
        validate_parameters(self)
        check_block_learner(self.estimator)
        check_rows(X)
        resume = self.estimator.warm_start and hasattr(self, "estimator_")
        model = clone_without_callbacks(self.estimator)
        if resume:
            vars(model).update(fitted_attributes(self.estimator_))
            vars(model).pop("feature_names_in_", None)  # blocks are arrays
        model.set_params(class_weight=None)  # blocks have the product of both weights
        names = X._meta if is_frame(X) else X
        validate_data(self, names, reset=not resume, skip_check_array=True)
        return ClusterFit(self, model, (X, y, sample_weight))

    def _keep(self, model, history: list) -> None:
        """Set what was learned, with the parameters of ``estimator``."""
        fitted = clone(self.estimator)
        vars(fitted).update(fitted_attributes(model))
        if hasattr(self, "feature_names_in_"):
            fitted.feature_names_in_ = self.feature_names_in_
        objective, active, perplexity = np.transpose(history)
        fitted.n_iter_, fitted.objective_history_ = len(history), objective
        if isinstance(fitted, JointClassifier):
            fitted.active_history_, fitted.perplexity_history_ = active, perplexity
        self.estimator_ = fitted

    def _apply(self, method: str, X):
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(self.estimator_, method, X)
        return getattr(self.estimator_, method)(X)

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

    @_has("predict_proba")
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

    @_has("predict_log_proba")
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
        check_is_fitted(self)
        if is_lazy(X):
            return accuracy(self.estimator_, X, y, sample_weight)
        return self.estimator_.score(X, y, sample_weight)


@with_callbacks
def _run_epochs(estimator, fit: ClusterFit, keep) -> bool:
    """Learn until the passes are made or the objective stalls; True after Ctrl-C.

    ``keep`` takes the model that was reached and the history of its epochs.
    """
    tol = estimator.tol if getattr(estimator, "solver", None) == "sgd" else None
    stall = Stall(tol, estimator.n_iter_no_change)
    progress = Progress(estimator, estimator.max_iter)
    current, stalled = fit.begin(), False
    history: list[np.ndarray] = []
    interrupted = False
    try:
        while len(history) < estimator.max_iter and not stalled:
            current, sums = fit.epoch(len(history) + 1, current)
            history.append(sums[1:] / sums[0])
            stalled = stall.reached(history[-1][0])
            text = (
                f"epoch {len(history)}/{estimator.max_iter}: "
                f"objective {history[-1][0]:.6g}"
            )
            if progress.step(len(history), text, last=stalled):
                break
    except KeyboardInterrupt:
        if not history:
            raise
        interrupted = True
    keep(fit.model(current), history)
    progress.end()
    if tol is not None and len(history) == estimator.max_iter and not stalled:
        reached = f"the objective still falls by more than tol={tol}"
        remedy = "Raise max_iter, alpha or tol, or scale the features."
        warn_not_converged(estimator, "epochs", reached, remedy)
    return interrupted
