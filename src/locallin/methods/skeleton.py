"""The skeleton that classifiers and regressors share: input, learning, streams."""

from contextlib import contextmanager
from copy import copy, deepcopy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.data import as_batches
from locallin.engine.finite import all_finite, finite_results
from locallin.engine.input import checked_data
from locallin.engine.invariants import INPUT, CheckedState, Number, Rule, check_fitted
from locallin.engine.lazy_rows import LazyRows
from locallin.engine.matrix import BLOCK
from locallin.engine.parallel import in_threads, row_blocks
from locallin.engine.progress import Progress, warn_not_converged
from locallin.engine.scales import warn_of_scales
from locallin.engine.sklearn_api import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    interruptible,
    validate_parameters,
)
from locallin.methods.preparation import FitInput, HeldOut, Rules
from locallin.streams.run import StreamSettings, StreamSurvey, learn_from_stream
from locallin.streams.state import LearningState

NO_HELD_OUT_ROWS = (
    "probability=True holds out rows, which a stream does not have: for its "
    "probabilities choose loss='logistic' or 'multinomial', where the method has them, "
    "or set probability=False and calibrate what is fitted with "
    "CalibratedClassifierCV(FrozenEstimator(model)) on other rows."
)
_REMEDY = (
    "Raise max_iter, alpha or tol, scale the features, or stop on held-out accuracy "
    "with early_stopping=True."
)


def check_parameters(estimator) -> None:
    """Refuse parameters that are not allowed, alone or together."""
    validate_parameters(estimator)
    estimator._check_choices()


def validated_rows(estimator, X, *, finite: bool = True):
    """Rows as a fitted estimator checks them before it predicts."""
    check_is_fitted(estimator)
    return checked_data(estimator, X, reset=False, finite=finite)


def take_rows(estimator, X, y, sample_weight, validation) -> FitInput:
    """Check the arguments of ``fit``."""
    check_parameters(estimator)
    resume = estimator.warm_start and hasattr(estimator, "coef_")
    given = _take(estimator, X, y, None, sample_weight, resume=resume, stream=False)
    return given._replace(held_out=_take_held_out(estimator, given, *validation))


def take_block(estimator, X, y, classes, sample_weight) -> FitInput:
    """Check the arguments of ``partial_fit``."""
    check_parameters(estimator)
    check_stream(estimator)
    resume = hasattr(estimator, "coef_")
    return _take(estimator, X, y, classes, sample_weight, resume=resume, stream=True)


def _take(estimator, X, y, classes, sample_weight, *, resume, stream) -> FitInput:
    X, y = checked_data(estimator, X, y, reset=not resume, **estimator._y_checks)
    if not resume:
        warn_of_scales(estimator, X)
    known = estimator._known_target(classes, resume=resume, stream=stream)
    classes, encoded, by_class = estimator._take_target(y, known)
    weights = row_weights(X, encoded, sample_weight, by_class)
    rng = check_random_state(estimator.random_state)
    return FitInput(
        X, y, classes, encoded, weights, rng, resume, None,
        class_weights=by_class, stream=stream,
    )  # fmt: skip


def _take_held_out(estimator, given: FitInput, X_val, y_val, weights_val):
    """Rows for early stopping, (X, labels, weights): given, or drawn; or None.

    Rows that are drawn from the training rows get a weight of 0 there, in place.
    """
    if not estimator.early_stopping:
        if X_val is not None or y_val is not None:
            raise ValueError(
                "X_val and y_val serve early stopping: set early_stopping=True."
            )
        return None
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: pass both or neither.")
    if X_val is not None:
        X_val, y_val = checked_data(
            estimator, X_val, y_val, reset=False, **estimator._y_checks
        )
        labels = estimator._encode_target(y_val, given.classes)[1]
        return (
            X_val,
            labels,
            row_weights(X_val, labels, weights_val, given.class_weights),
        )
    counted = np.flatnonzero(given.weights > 0)
    chosen = train_test_split(
        counted,
        test_size=estimator.validation_fraction,
        stratify=estimator._strata(given.encoded[counted]),
        random_state=given.rng,
    )[1]
    held_weights = given.weights[chosen]
    given.weights[chosen] = 0.0
    return given.X[chosen], given.encoded[chosen], held_weights


def row_weights(X, encoded, sample_weight, class_weights) -> np.ndarray:
    """Product of sample weights and class weights."""
    weights = check_sample_weight(sample_weight, X)
    if class_weights is not None:
        weights = weights * class_weights[encoded].astype(weights.dtype)
    return weights


def check_stream(estimator) -> None:
    """Refuse settings that need all rows at once."""
    if estimator.early_stopping:
        raise ValueError("partial_fit does not work with early_stopping=True.")
    if estimator.probability:
        raise ValueError(NO_HELD_OUT_ROWS)
    if isinstance(estimator.class_weight, str):
        raise ValueError(
            "class_weight='balanced' needs all rows at once: for partial_fit pass "
            "a dict of weights, e.g. from sklearn.utils.compute_class_weight."
        )


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
        lazy = isinstance(X, LazyRows)

        def block(start, stop):
            part = X[start:stop] if stop - start < X.shape[0] or lazy else X
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

    What y is, is told by ``_known_target``, ``_take_target``, ``_encode_target``,
    ``_strata``, ``_note_target`` and ``_held_out_quality``.
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

    # What the next step of learning needs beside the model, once there is any.
    _learning: dict[str, np.ndarray] = {}

    def _known_target(self, classes, *, resume: bool, stream: bool) -> Any:
        """What is known of y before it is seen: classes, or None."""
        raise NotImplementedError

    def _encode_target(self, y, known) -> tuple[np.ndarray | None, np.ndarray]:
        """Classes, where there are any, and y in the form that solvers take."""
        raise NotImplementedError

    def _take_target(self, y, known) -> tuple:
        """Classes, y as solvers take it, and the weights of the classes, of a fit."""
        return *self._encode_target(y, known), None

    def _strata(self, encoded: np.ndarray) -> np.ndarray | None:
        """What held-out rows are stratified by."""
        raise NotImplementedError

    def _note_target(self, given: FitInput) -> None:
        """Set the attributes that tell of y and its weights."""

    def _held_out_quality(self, scores: np.ndarray, held: HeldOut) -> float:
        """How good the scores of held-out rows are."""
        raise NotImplementedError

    def _held_out_rows(self, X) -> Any:
        """Held-out rows in the form that ``_held_out_scores`` takes."""
        return X

    def _fit_rows(self, X, y, sample_weight, validation, learn):
        """Learn from all rows by ``learn``, which is told of the checked input.

        ``validation`` are held-out rows, or Nones.
        """
        with interruptible(self) as run:
            given = take_rows(self, X, y, sample_weight, validation)
            self._note_target(given)
            if hasattr(self, "validation_history_"):
                del self.validation_history_
            with self._finite_learning():
                run.interrupted = learn(given)
        return self

    def _fit_block(self, X, y, classes, sample_weight):
        """Learn from a block of a stream."""
        with interruptible(self) as run:
            given = take_block(self, X, y, classes, sample_weight)
            self._note_target(given)
            self._detach()
            with self._finite_learning():
                run.interrupted = self._partial_fit(given)
        return self

    def _fit_stream(self, batches, settings: StreamSettings, checkpoint):
        """Learn from a stream."""
        check_parameters(self)
        check_stream(self)
        learn_from_stream(
            StreamLearner(self), as_batches(batches), settings, checkpoint
        )
        return self

    def _is_stream_method(self) -> bool:
        return True

    @contextmanager
    def _finite_learning(self):
        """Refuse what the block has learned where it holds NaN or infinity."""
        with np.errstate(over="ignore", invalid="ignore"):
            yield
        learned = {**self._model_arrays(), **self._learning}
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

    def _get_state(self) -> LearningState:
        return LearningState({**self._model_arrays(), **self._learning})

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
        if name not in self._learning:
            raise AttributeError(
                f"{type(self).__name__} has no {name}_: it is that of a fitted "
                "estimator whose solver has such a clock."
            )
        return self._learning[name].item()

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


class FitMonitor:
    """Follows a fit from epoch to epoch; solvers call it.

    Reports each epoch to callbacks and screen, judges it by held-out rows,
    keeps the best weights seen, and asks to stop when ``n_iter_no_change`` epochs have
    not improved on them.
    """

    def __init__(self, estimator, given: FitInput, *, callbacks=True):
        self._estimator = estimator
        self._held_out: HeldOut | None = None
        if given.held_out is not None:
            X, labels, weights = given.held_out
            self._held_out = HeldOut(estimator._held_out_rows(X), labels, weights)
        self._progress = Progress(
            estimator, estimator.max_iter, given.X, given.y, callbacks=callbacks
        )
        self._best: tuple | None = None
        self._best_epoch = 0
        self._history: list[float] = []
        self._qualities: list[float] = []

    def __call__(self, epoch: int, objective: float, *learned) -> bool:
        """Take note of an epoch that ended at the given parameters; True to stop."""
        self._history.append(objective)
        held_out = self._held_out
        last = held_out is not None and self._measure(held_out, epoch, learned)
        text = f"epoch {epoch}/{self._estimator.max_iter}: objective {objective:.6g}"
        if self._qualities:
            name = self._estimator._quality
            text += f", held-out {name} {self._qualities[-1]:.4f}"
        return self._progress.step(
            epoch, text, lambda: self._attributes(learned, epoch), last=last
        )

    def _measure(self, held: HeldOut, epoch: int, learned: tuple) -> bool:
        scores = self._estimator._held_out_scores(held.rows, *learned)
        quality = self._estimator._held_out_quality(scores, held)
        if not self._qualities or quality > max(self._qualities):
            self._best = deepcopy(learned)
            self._best_epoch = epoch
        self._qualities.append(quality)
        return epoch - self._best_epoch >= self._estimator.n_iter_no_change

    def _attributes(self, learned, n_iter) -> dict:
        attributes = {
            **self._estimator._reached_attributes(*learned),
            "n_iter_": n_iter,
            "objective_history_": np.array(self._history),
        }
        if self._held_out is not None:
            attributes["validation_history_"] = np.array(self._qualities)
        return attributes

    def finish(self, solution, remedy: str = _REMEDY) -> None:
        """Set fitted attributes: the best held-out parameters, or the solver's last."""
        attributes = self._attributes(self._best or solution.learned, solution.n_iter)
        for name, value in attributes.items():
            setattr(self._estimator, name, value)
        self._progress.end(lambda: attributes)
        if not (solution.converged or solution.interrupted):
            warn_not_converged(
                self._estimator, "epochs", self._reached(solution.gap), remedy
            )

    def _reached(self, gap: float | None) -> str:
        tol = self._estimator.tol
        if gap is None:
            return f"the objective still falls by more than tol={tol}"
        return f"the relative duality gap is {gap:.2g}, tol={tol}"


class StreamLearner:
    """An estimator as streams and clusters drive it: block by block.

    Nothing outside knows more of a method than this and its learning state.
    """

    def __init__(self, estimator: EpochEstimator):
        self.estimator = estimator

    def begin(self, found: StreamSurvey, epochs: int, rng) -> None:
        """Choose from a sample of a stream what ``fit`` would choose from all rows."""
        given = self._take(found.sample, found.classes, rng)
        with self.estimator._finite_learning():
            self.estimator._begin_stream(given._replace(n_rows=found.n_rows), epochs)
        self.estimator._detach()

    def learn(
        self, block: tuple, rng, *, classes=None, last_pass: bool, row: int = 0
    ) -> bool:
        """Learn from a block in one pass; True where Ctrl-C ended it.

        ``row`` is where it begins in the stream, which makes no difference here.
        """
        given = self._take(block, classes, rng)
        with self.estimator._finite_learning():
            return self.estimator._partial_fit(given._replace(last_pass=last_pass))

    @property
    def objective(self) -> float:
        """The objective of the last rows."""
        return float(self.estimator.objective_history_[-1])

    def finish(self) -> None:
        """Drop what only a stream under way needs."""
        self.estimator._end_stream()

    def settle(self) -> None:
        """Do what is left where a run ends, at its end or before: nothing."""

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
