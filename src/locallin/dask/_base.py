"""What the estimators of a cluster share."""

import time
import warnings
from collections.abc import Callable
from inspect import Parameter, signature
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin.dask._blocks import check_rows, is_frame
from locallin.dask._fit import ClusterFit
from locallin.dask._predict import accuracy, is_lazy, lazily
from locallin.engine.sklearn_api import (
    Interval,
    unchanged_on_error,
    validate_parameters,
)
from locallin.solvers.convex import Stall
from locallin.streams.run import forget

_CLUSTER_PARAMETERS = {"n_shards": (int, 2), "timeout": (float, 60.0)}
# What a local estimator keeps between passes only.
_WHILE_LEARNING = ("_adam", "_iterate", "_rows_of_batch", "_passes")


def constructor(local: type, **defaults) -> Callable:
    """The ``__init__`` of a local class, with other defaults and two parameters more.

    scikit-learn reads the names and defaults of parameters from its signature.
    """
    own = signature(local.__init__)
    parameters = [
        p.replace(default=defaults.get(name, p.default))
        for name, p in own.parameters.items()
    ]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in _CLUSTER_PARAMETERS.items()
    ]
    full = own.replace(parameters=parameters)

    def __init__(self, *args, **kwargs):
        given = full.bind(self, *args, **kwargs)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = full
    return __init__


def constraints(local: type) -> dict:
    """What the parameters of a local class may be, and those of a cluster."""
    return {
        **local._parameter_constraints,
        "n_shards": [Interval(Integral, 1, None, closed="left")],
        "timeout": [Interval(Real, 0, None, closed="neither")],
    }


def _can_give_probabilities(self) -> bool:
    return hasattr(self._local, "predict_proba") and self._has_probabilities()


class ClusterClassifier:
    """Fit on a dask cluster; the other base is the local estimator, ``_local``."""

    _local: type

    def fit(self, X, y, sample_weight=None):
        """Fit the model to rows that are on a cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Training data, cut by rows only; blocks are dense or CSR matrices. Sizes of
            blocks may be unknown, and blocks may be empty.
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
        with unchanged_on_error(self):
            interrupted = self._run_epochs(self._prepare_fit(X, y, sample_weight))
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _prepare_fit(self, X, y, sample_weight=None) -> ClusterFit:
        """Check everything, and count rows and classes."""
        validate_parameters(self)
        self._check_choices()
        check_rows(X)
        keep = self.warm_start and hasattr(self, "coef_")
        learner = self.to_local() if keep else self._unfitted()
        learner.class_weight = None  # blocks come with the product of both weights
        if not keep:
            forget(self)
        names = X._meta if is_frame(X) else X
        validate_data(self, names, reset=not keep, skip_check_array=True)
        return ClusterFit(self, learner, (X, y, sample_weight))

    def _run_epochs(self, fit: ClusterFit) -> bool:
        """Learn until the passes are made, or the objective stalls; or Ctrl-C."""
        tol = self.tol if getattr(self, "solver", None) == "sgd" else None
        stall = Stall(tol, self.n_iter_no_change)
        began = time.perf_counter()
        current, history, stalled = fit.begin(), [], False
        interrupted = False
        try:
            while len(history) < self.max_iter and not stalled:
                current, sums = fit.epoch(len(history) + 1, current)
                history.append(sums[1:] / sums[0])
                stalled = stall.reached(history[-1][0])
                self._report(history, time.perf_counter() - began)
        except KeyboardInterrupt:
            if not history:
                raise
            interrupted = True
        self._keep(fit.learner(current), history)
        if tol is not None and not stalled and not interrupted:
            self._warn()
        return interrupted

    def _report(self, history, seconds: float) -> None:
        if self.verbose:
            print(
                f"[{type(self).__name__}] epoch {len(history)}/{self.max_iter}: "
                f"objective {history[-1][0]:.6g}, {seconds:.1f} s",
                flush=True,
            )

    def _warn(self) -> None:
        warnings.warn(
            f"{type(self).__name__} did not converge in max_iter={self.max_iter} "
            f"epochs: the objective still falls by more than tol={self.tol}. Raise "
            "max_iter, alpha or tol, or scale the features.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _keep(self, learner, history: list) -> None:
        """Take over what was learned."""
        names = {**learner.get_params(deep=False), "feature_names_in_": None}
        for name, value in vars(learner).items():
            if name not in names and name not in _WHILE_LEARNING:
                setattr(self, name, value)
        objective, active, perplexity = np.transpose(history)
        self.n_iter_, self.objective_history_ = len(history), objective
        if hasattr(self, "active_history_"):
            self.active_history_, self.perplexity_history_ = active, perplexity

    def _check_choices(self) -> None:
        if getattr(self, "solver", None) == "dual":
            raise ValueError("solver='dual' needs all rows at once: use solver='sgd'.")
        if getattr(self, "init", None) == "convex":
            raise ValueError("init='convex' needs all rows at once: use init='zeros'.")
        if self.early_stopping:
            raise ValueError("early_stopping=True is not possible on a cluster.")
        super()._check_choices()

    def _is_stream_method(self) -> bool:
        raise AttributeError("Streams are for local estimators: see to_local().")

    def _unfitted(self):
        given = self.get_params(deep=False)
        names = signature(self._local).parameters
        return self._local(**{name: given[name] for name in names})

    def to_local(self):
        """Return an ordinary estimator with what is fitted, which needs no dask.

        Returns
        -------
        object
            The estimator of the same name in ``locallin``.
        """
        local = self._unfitted()
        given = self.get_params(deep=False)
        fitted = {k: v for k, v in vars(self).items() if k not in given}
        vars(local).update(fitted)
        return local

    def _apply(self, method: str, X):
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(self.to_local(), method, X)
        return getattr(super(), method)(X)

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

    @available_if(_can_give_probabilities)
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

    @available_if(_can_give_probabilities)
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
            return accuracy(self.to_local(), X, y, sample_weight)
        return super().score(X, y, sample_weight)
