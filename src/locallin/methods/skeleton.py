"""The skeleton that classifiers and regressors share."""

from contextlib import contextmanager
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite

from locallin.data import as_batches
from locallin.engine.finite import all_finite, finite_results
from locallin.engine.invariants import INPUT, CheckedState, Number, Rule, check_fitted
from locallin.engine.matrix import BLOCK
from locallin.engine.parallel import in_threads, row_blocks
from locallin.engine.sklearn_api import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    interruptible,
)
from locallin.methods.preparation import (
    FitInput,
    HeldOut,
    Rules,
    check_parameters,
    check_stream,
    take_block,
    take_rows,
)
from locallin.streams.run import StreamRun, StreamSettings
from locallin.streams.state import LearningState


def forget_learning(estimator) -> None:
    """Drop what the next step of learning would need; the model stays."""
    vars(estimator).pop("_learning", None)


def with_model(estimator, *learned):
    """A copy of a fitted estimator with other parameters of its local models."""
    model = copy(estimator)
    model._set(estimator._learned_attributes(*learned))
    return model


class ScoringEstimator(CheckedState, BaseEstimator):
    """Parameters and blocks of rows.

    A subclass's ``_scores`` are the scores of validated rows, shape (n, n_scores).
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "intercept_scaling": [
            Interval(Real, 1e-100, 1e100, closed="both"),  # squares are taken
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _fitted_mark = "intercept_"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _invariants(self) -> dict[str, Rule]:
        return {**INPUT, "n_iter_": Number(Integral, optional=True)}

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""

    def _in_blocks(self, X, function) -> np.ndarray:
        """Apply ``function`` to blocks of validated X.

        NaN and infinity are looked for here, block by block: the rows are then in
        the cache for what follows.
        """

        def block(start, stop):
            part = X if stop - start == X.shape[0] else X[start:stop]
            if not all_finite(part.data if sparse.issparse(part) else part):
                assert_all_finite(part, input_name="X")
            return finite_results(function, part)

        blocks = row_blocks(X.shape[0], BLOCK)
        parts = in_threads(block, blocks, self.n_jobs)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class EpochEstimator(CallbackSupportMixin, ScoringEstimator):
    """An estimator that learns in epochs, also from a stream.

    A subclass's ``_fit`` and ``_partial_fit`` learn, set ``coef_`` and the learning
    state, and return whether they were interrupted; ``_partial_fit`` may change the
    arrays of the model, which ``_detach`` has made its own. Its ``_begin_stream``
    chooses from a sample what ``_partial_fit`` would choose from its first block; its
    ``_held_out_scores`` are those of held-out rows at the parameters a solver has
    reached, and ``_learned_attributes`` the fitted attributes that hold these.

    What y is, is told by ``_known_target``, ``_encode_target``, ``_strata``,
    ``_note_target`` and ``_held_out_quality``.
    """

    # Options that a method need not offer.
    early_stopping = warm_start = False
    verbose: int = 0
    class_weight: Any = None
    probability = False

    rules = Rules()

    _parameter_constraints: dict = {
        **ScoringEstimator._parameter_constraints,
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

    # Further arguments of scikit-learn's check of y, and what is measured on held-out
    # rows.
    _y_checks: dict[str, bool] = {}
    _quality = ""

    def _known_target(self, classes, *, resume: bool, stream: bool) -> Any:
        """What is known of y before it is seen: classes, or None."""
        raise NotImplementedError

    def _encode_target(self, y, known) -> tuple[np.ndarray | None, np.ndarray]:
        """Classes, where there are any, and y in the form that solvers take."""
        raise NotImplementedError

    def _strata(self, encoded: np.ndarray) -> np.ndarray | None:
        """What held-out rows are stratified by."""
        raise NotImplementedError

    def _note_target(self, given: FitInput) -> None:
        """Set the attributes that tell of y."""
        raise NotImplementedError

    def _held_out_quality(self, scores: np.ndarray, held: HeldOut) -> float:
        """How good the scores of held-out rows are."""
        raise NotImplementedError

    def _fit_rows(self, X, y, sample_weight, validation):
        """Learn from all rows; ``validation`` are held-out rows, or Nones."""
        with interruptible(self) as run:
            given = take_rows(self, X, y, sample_weight, validation)
            self._note_target(given)
            if hasattr(self, "validation_history_"):
                del self.validation_history_
            with self._finite_learning():
                run.interrupted = self._fit_given(given)
        return self

    def _fit_given(self, given: FitInput) -> bool:
        """Learn from all rows; True where Ctrl-C ended it."""
        return self._fit(given)

    def _note_block(self, given: FitInput) -> None:
        """Take note of a block that has been learned from."""

    def _fit_block(self, X, y, classes, sample_weight):
        """Learn from a block of a stream."""
        with interruptible(self) as run:
            given = take_block(self, X, y, classes, sample_weight)
            self._note_target(given)
            self._detach()
            with self._finite_learning():
                run.interrupted = self._partial_fit(given)
            self._note_block(given)
        return self

    def _fit_stream(self, batches, settings: StreamSettings, checkpoint):
        """Learn from a stream."""
        check_parameters(self)
        check_stream(self)
        for name in (
            "epochs", "n_rows", "sample_size", "buffer_size", "checkpoint_every",
        ):  # fmt: skip
            value = getattr(settings, name)
            if name == "n_rows" and value is None:
                continue
            if not (isinstance(value, Integral) and int(value) >= 1):
                raise ValueError(f"{name}={value!r} must be a whole number from 1 on.")
        with interruptible(self) as run:
            learner = StreamLearner(self)
            stream = StreamRun(learner, as_batches(batches), settings, checkpoint)
            stream.start()
            run.interrupted = stream.learn()
        return self

    def _is_stream_method(self) -> bool:
        return True

    @contextmanager
    def _finite_learning(self):
        """Refuse what the block has learned where it holds NaN or infinity."""
        with np.errstate(over="ignore", invalid="ignore"):
            yield
        learned = self._get_state().to_arrays()
        learned["objective"] = np.asarray(getattr(self, "objective_history_", [0]))[-1:]
        for name, values in learned.items():
            if values.dtype.kind == "f" and not all_finite(values):
                raise ValueError(
                    f"Learning from these rows would leave NaN or infinity in the "
                    f"{name} of {type(self).__name__}, which stays as it was: values, "
                    "weights or steps are too large. Scale the features, e.g. with "
                    "StandardScaler, look for outliers, and keep sample_weight and "
                    "learning rates small."
                )

    def _model_arrays(self) -> dict[str, np.ndarray]:
        """Arrays of the model that learning changes, by the names of its parameters."""
        return {"coef": self.coef_, "intercept": self.intercept_}

    @property
    def _carried(self) -> dict[str, np.ndarray]:
        """What the next step of learning needs beside the model."""
        return vars(self).get("_learning", {})

    def _get_state(self) -> LearningState:
        return LearningState({**self._model_arrays(), **self._carried})

    def _set_state(self, state: LearningState) -> None:
        arrays = state.to_arrays()
        model = [arrays.pop(name) for name in self._model_arrays()]
        self._set(self._learned_attributes(*model))
        self._learning = arrays

    def _set(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _detach(self) -> None:
        """Copy the arrays that others may hold and learning from a block changes."""
        if hasattr(self, "coef_"):
            self._set_state(self._get_state().copy())

    def _carried_number(self, name: str):
        if name not in self._carried:
            raise AttributeError(
                f"{type(self).__name__} has no {name}_: it is that of a fitted "
                "estimator whose solver has such a clock."
            )
        return self._carried[name].item()

    @property
    def t_(self) -> float:
        """Clock of the steps, where the solver has one."""
        return self._carried_number("t")

    def _end_stream(self) -> None:
        """Drop what only a stream under way needs."""

    def _learned_attributes(self, coef, intercept, *more) -> dict:
        """Fitted attributes that hold the parameters of a model."""
        return {"coef_": coef, "intercept_": intercept}

    def _reached_attributes(self, *learned) -> dict:
        """Fitted attributes that hold the parameters a solver has reached."""
        return self._learned_attributes(*learned)


class StreamLearner:
    """An estimator as streams and clusters drive it: block by block.

    Nothing outside knows more of a method than this and its learning state.
    """

    def __init__(self, estimator: EpochEstimator):
        self.estimator = estimator

    def begin(self, block: tuple, classes, n_rows: int, epochs: int, rng) -> None:
        """Choose from a sample of a stream of ``n_rows`` what ``fit`` would choose."""
        given = self._take(block, classes, rng)
        with self.estimator._finite_learning():
            self.estimator._begin_stream(given._replace(n_rows=n_rows), epochs)
        self.estimator._note_block(given)
        self.estimator._detach()

    def learn(self, block: tuple, rng, *, classes=None, last_pass: bool) -> bool:
        """Learn from a block in one pass; True where Ctrl-C ended it."""
        given = self._take(block, classes, rng)
        with self.estimator._finite_learning():
            return self.estimator._partial_fit(given._replace(last_pass=last_pass))

    def finish(self) -> None:
        """Drop what only a stream under way needs."""
        self.estimator._end_stream()

    def _take(self, block: tuple, classes, rng) -> FitInput:
        X, y, *weights = block
        given = take_block(self.estimator, X, y, classes, *weights or [None])
        self.estimator._note_target(given)
        return given._replace(rng=rng)

    @property
    def state(self) -> LearningState:
        """The model, and what its next step needs."""
        return self.estimator._get_state()

    @state.setter
    def state(self, state: LearningState) -> None:
        self.estimator._set_state(state)
        check_fitted(self.estimator)
