"""The only module that touches scikit-learn's private or recent interfaces."""

from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

from sklearn.base import clone
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import (
    _check_feature_names_in as check_feature_names_in,
)
from sklearn.utils.validation import _check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "FitTask",
    "HasMethods",
    "Interval",
    "Level",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "check_sparse_output",
    "clone_without_callbacks",
    "fitted_attributes",
    "forget",
    "interruptible",
    "parameter_choices",
    "safe_indexing",
    "unchanged_on_error",
    "validate_parameters",
    "with_callbacks",
]


class Level(Interval):
    """An interval of levels: a truth value, an integer for Python, is none of them."""

    def is_satisfied_by(self, val) -> bool:
        """Whether a parameter is a level."""
        return not isinstance(val, bool) and super().is_satisfied_by(val)


# Of the largest weight: rows that count for less are left out.
_LEAST_WEIGHT = 1e-30


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
    # Next to the others they are nothing, but their reciprocals would be infinite.
    weights[weights < _LEAST_WEIGHT * weights.max()] = 0
    return weights


def validate_parameters(estimator):
    """Check the constructor's arguments against ``_parameter_constraints``."""
    estimator._validate_params()
    # For scikit-learn whatever has a length is like an array.
    for name, allowed in estimator._parameter_constraints.items():
        value = getattr(estimator, name, None)
        if "array-like" in allowed and isinstance(value, Mapping):
            raise TypeError(
                f"{name}={value!r:.50} of {type(estimator).__name__} is no array: pass "
                "a list or an array."
            )


def parameter_choices(kind: Any) -> dict[str, list[str]]:
    """The words of those parameters of a class that are words or objects only."""
    choices = {}
    for name, allowed in kind._parameter_constraints.items():
        words = [one.options for one in allowed if isinstance(one, StrOptions)]
        others = [one for one in allowed if not isinstance(one, StrOptions)]
        objects = all(one == "array-like" or isinstance(one, type) for one in others)
        if words and objects:
            choices[name] = sorted(set().union(*words))
    return choices


# What scikit-learn keeps in an estimator beside its parameters: requests of metadata,
# and the kind of table that ``transform`` returns.
_SETTINGS = "_metadata_request", "_sklearn_output_config"


def check_sparse_output(transformer) -> None:
    """Refuse to make a frame of a sparse result, and say what to do."""
    wanted = _get_output_config("transform", transformer)["dense"]
    if wanted != "default":
        name = type(transformer).__name__
        raise ValueError(
            f"{name}.transform returns a sparse matrix, but set_output asks for "
            f"{wanted}: leave it out with {name}.set_output(transform='default'), and "
            "make a table of the result, e.g. with "
            "pandas.DataFrame.sparse.from_spmatrix(result, columns="
            "transformer.get_feature_names_out())."
        )


@contextmanager
def unchanged_on_error(estimator):
    """Leave the estimator as it was when the block raises or is interrupted.

    What scikit-learn needs to close its callbacks stays.
    """
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        callbacks = {n: v for n, v in vars(estimator).items() if "_callback" in n}
        vars(estimator).clear()
        vars(estimator).update(before | callbacks)
        raise


def fitted_attributes(estimator) -> dict:
    """Attributes that a fit has left, by name: no parameters, no callbacks."""
    given = {*estimator.get_params(deep=False), *_SETTINGS}
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in given and "_callback" not in name
    }


def forget(estimator) -> None:
    """Drop what an earlier fit has left, but for callbacks."""
    for name in fitted_attributes(estimator):
        delattr(estimator, name)


def clone_without_callbacks(estimator):
    """A clone that can be sent to another process, whatever the callbacks are."""
    copy = clone(estimator)
    vars(copy).pop("_skl_callbacks", None)
    return copy


class Interruptible:
    """Whether the work in a block was ended by Ctrl-C and has left a model."""

    interrupted = False


@contextmanager
def interruptible(estimator):
    """Run learning: an error leaves the estimator as it was, Ctrl-C what is reached.

    The block sets ``interrupted`` where a solver has handed back what it had when
    Ctrl-C came: KeyboardInterrupt is then raised, and the estimator is usable.
    """
    run = Interruptible()
    with unchanged_on_error(estimator):
        yield run
    if run.interrupted:
        raise KeyboardInterrupt


class FitTask:
    """Reports a fit of at most ``n_steps`` steps to the estimator's callbacks.

    ``is_heard`` tells whether there are any; the methods are for that case.
    """

    def __init__(self, estimator, n_steps, X, y, unit):
        self.is_heard = bool(getattr(estimator, "_skl_callbacks", None))
        if self.is_heard:
            self._estimator, self._data, self._unit = estimator, {"X": X, "y": y}, unit
            self._context = estimator._init_callback_context(max_subtasks=n_steps)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def begin_step(self):
        """Announce a step."""
        self._step = self._context.subcontext(task_name=self._unit)
        self._step.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def passing_on(self, sub_estimator):
        """Context in which callbacks that propagate reach the part's own steps."""
        return self._step.propagate_callback_context(sub_estimator)

    def end_step(self, fitted_attributes):
        """Close the step; True where a callback asks to stop."""
        return self._step.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=fitted_attributes,
            **self._data,
        )

    def end(self, fitted_attributes):
        """Close the fit."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator,
            reconstruction_attributes=fitted_attributes,
            **self._data,
        )
