"""What the wrappers share that fit a local estimator on a cluster."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin.dask._blocks import check_rows, is_frame
from locallin.dask._fit import ClusterFit
from locallin.dask._predict import is_lazy, lazily
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
from locallin.methods.joint import JointEstimator
from locallin.methods.rounds import check_block_learner
from locallin.methods.tables import TableEstimator
from locallin.solvers.convex import Stall


def has_local(method: str):
    """Whether the local estimator has a method; its own error says why not."""
    return available_if(lambda self: getattr(self._local(), method) is not None)


class ClusterEstimator(MetaEstimatorMixin, BaseEstimator):
    """A local estimator, its rows on a cluster."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_shards": [Interval(Integral, 1, None, closed="left")],
        "timeout": [Interval(Real, 0, None, closed="neither")],
    }

    # The wrapper for estimators of the other kind.
    _other: str

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

    def _check(self) -> None:
        """Refuse parameters that are not allowed, and estimators of another kind."""
        validate_parameters(self)
        is_other = is_regressor if is_classifier(self) else is_classifier
        if is_other(self.estimator):
            raise TypeError(
                f"estimator={type(self.estimator).__name__} is for "
                f"{self._other}, not for {type(self).__name__}."
            )

    def _fit(self, X, y, sample_weight):
        """Fit the estimator to rows that are on a cluster."""
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
        self._check()
        validate_parameters(self.estimator)
        validate_data(self, X._meta if is_frame(X) else X, skip_check_array=True)

        def fit_member(member, rows):
            one = type(self)(member, n_shards=self.n_shards, timeout=self.timeout)
            return one.fit(*rows).estimator_

        data = X, y, sample_weight
        self.estimator_ = fit_table(self.estimator, data, fit_member)

    def prepare(self, X, y, sample_weight=None) -> ClusterFit:
        """Check everything, and count rows; ``fit`` begins with it.

        Parameters
        ----------
        X, y, sample_weight : dask collections
            As in ``fit``.

        Returns
        -------
        ClusterFit
            The fit, epoch by epoch.
        """
        self._check()
        check_block_learner(self.estimator)
        check_rows(X)
        resume = self.estimator.warm_start and hasattr(self, "estimator_")
        model = clone_without_callbacks(self.estimator)
        if resume:
            vars(model).update(fitted_attributes(self.estimator_))
            vars(model).pop("feature_names_in_", None)  # blocks are arrays
        if is_classifier(model):
            # Blocks have the products of both weights.
            model.set_params(class_weight=None)
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
        if isinstance(fitted, JointEstimator):
            fitted.active_history_, fitted.perplexity_history_ = active, perplexity
        self.estimator_ = fitted

    def _apply(self, method: str, X, **more):
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(self.estimator_, method, X, **more)
        return getattr(self.estimator_, method)(X, **more)

    def _score(self, of_blocks, X, y, sample_weight) -> float:
        """Score of the local estimator; by ``of_blocks`` for a dask collection."""
        check_is_fitted(self)
        if is_lazy(X):
            return of_blocks(self.estimator_, X, y, sample_weight)
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
