"""The only module that touches scikit-learn's private or recent interfaces."""

from contextlib import contextmanager

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in as check_feature_names_in,
)
from sklearn.utils.validation import _check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    FRAMES_AROUND_FIT = 1
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:
        """Stands in where scikit-learn has no callbacks."""

    FRAMES_AROUND_FIT = 0

    def with_callbacks(method):
        """Return the method as it is."""
        return method


__all__ = [
    "FRAMES_AROUND_FIT",
    "CallbackSupportMixin",
    "FitTask",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "unchanged_on_error",
    "validate_parameters",
    "with_callbacks",
]


def check_sample_weight(sample_weight, X):
    """Copy the weights as floats of X's kind; negative ones are an error."""
    weights = _check_sample_weight(
        sample_weight, X, dtype=X.dtype, copy=True, ensure_non_negative=True
    )
    if not (weights > 0).any():
        raise ValueError(
            "sample_weight is zero for every row: give at least one row a "
            "positive weight."
        )
    return weights


def validate_parameters(estimator):
    """Check the constructor's arguments against ``_parameter_constraints``."""
    estimator._validate_params()


@contextmanager
def unchanged_on_error(estimator):
    """Leave the estimator as it was when the block raises or is interrupted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class FitTask:
    """Reports a fit of at most ``max_iter`` epochs to the estimator's callbacks."""

    def __init__(self, estimator, max_iter, X, y):
        self._estimator = estimator
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._data = {"X": X, "y": y}
            self._context = estimator._init_callback_context(max_subtasks=max_iter)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def begin_epoch(self):
        """Announce an epoch."""
        if self._context is not None:
            self._epoch = self._context.subcontext(task_name="epoch")
            self._epoch.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end_epoch(self, fitted_attributes):
        """Close the epoch; True where a callback asks to stop."""
        if self._context is None:
            return False
        return self._epoch.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=fitted_attributes,
            **self._data,
        )

    def end(self, fitted_attributes):
        """Close the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=fitted_attributes,
                **self._data,
            )
