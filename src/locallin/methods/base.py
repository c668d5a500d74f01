"""The skeleton that every classifier of the library shares."""

from contextlib import contextmanager
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from locallin.data import as_batches
from locallin.engine.finite import all_finite, finite_results
from locallin.engine.invariants import (
    CLASSIFIER,
    Array,
    CheckedState,
    Number,
    Rule,
    check_fitted,
)
from locallin.engine.matrix import BLOCK
from locallin.engine.parallel import in_threads, row_blocks
from locallin.engine.sklearn_api import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    interruptible,
    with_callbacks,
)
from locallin.methods.calibration import Calibration, fit_calibrated
from locallin.methods.conformal import CONFORMITY, SetPredictor
from locallin.methods.links import PROBABLE, Link, offset_of
from locallin.methods.preparation import (
    FitInput,
    Rules,
    check_parameters,
    check_stream,
    stream_classes,
    take_block,
    take_rows,
    validated_rows,
)
from locallin.streams.run import StreamRun, StreamSettings
from locallin.streams.state import LearningState


def winning_classes(scores: np.ndarray) -> np.ndarray:
    """Index of the predicted class of each row of scores."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        return (scores.reshape(-1) > 0).astype(np.intp)
    return scores.argmax(axis=1)


def forget_learning(estimator) -> None:
    """Drop what the next step of learning would need; the model stays."""
    vars(estimator).pop("_learning", None)


def with_model(estimator, *learned):
    """A copy of a fitted estimator with other parameters of its local models."""
    model = copy(estimator)
    model._set(estimator._learned_attributes(*learned))
    return model


class ScoringClassifier(SetPredictor, CheckedState, ClassifierMixin, BaseEstimator):
    """Validation and prediction.

    A subclass's ``_scores`` are the scores of validated rows.
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "intercept_scaling": [
            Interval(Real, 1e-100, 1e100, closed="both"),  # squares are taken
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # Options that a method need not offer.
    loss = ""
    probability = False

    _fitted_mark = "intercept_"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _invariants(self) -> dict[str, Rule]:
        return {
            **CLASSIFIER,
            **CONFORMITY,
            "proba_scale_": Number(above=True, most=1e100, optional=True),
            "proba_offset_": Array(("classes",), optional=True),
        }

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

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; one per row for two classes, positive for ``classes_[1]``. They are
            finite: a row so long that its products leave the range of its numbers
            counts as a shorter one in the same direction.
        """
        scores = self._scores(validated_rows(self, X, finite=False))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X) -> np.ndarray:
        """Classes of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of the largest score of each row.
        """
        winners = winning_classes(self.decision_function(X))
        return self.classes_[winners]

    def link(self) -> Link:
        """How probabilities follow from the scores of a fitted classifier.

        Returns
        -------
        Link
            Scale and offsets, found on held-out rows or by the loss.

        Raises
        ------
        AttributeError
            Where there are no probabilities; it says what to do.
        """
        check_is_fitted(self)
        offset = vars(self).get("proba_offset_")
        if offset is None:
            offset = np.zeros(len(self.classes_))
        scale = vars(self).get("proba_scale_")
        if scale is not None:
            return Link("multinomial", scale, offset)
        if self.loss in PROBABLE:
            return Link(self.loss, 1.0, offset)
        raise AttributeError(self._no_probabilities())

    def _no_probabilities(self) -> str:
        settings = f"loss={self.loss!r}, " if self.loss else ""
        losses = " or loss='logistic'" if self.loss else ""
        return (
            f"{type(self).__name__}({settings}probability={self.probability}) has no "
            f"predict_proba: set probability=True{losses} and fit again, or calibrate "
            "it with sklearn.calibration.CalibratedClassifierCV."
        )

    def _no_sets(self) -> str:
        return (
            f"{type(self).__name__} has no predict_set where no rows were held out: "
            "set probability=True and fit again."
        )

    def _has_probabilities(self) -> bool:
        if self.__sklearn_is_fitted__():
            self.link()
        elif not self.probability and self.loss not in PROBABLE:
            raise AttributeError(self._no_probabilities())
        return True

    def _set_calibration(self, found: Calibration | None, class_weights) -> None:
        """Keep what held-out rows tell, or what frees of class weights."""
        self._set_conformity(None if found is None else found.conformity)
        if found is not None:
            _, self.proba_scale_, self.proba_offset_ = found.link
            return
        for name in ("proba_scale_", "proba_offset_"):
            if name in vars(self):
                delattr(self, name)
        if class_weights is not None:
            self.proba_offset_ = offset_of(class_weights, len(self.classes_))

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows, in the data without class weights.

        With ``probability=True`` they are calibrated on held-out rows. Otherwise they
        are those of the loss, where it has some: "logistic" has one for each class
        against the rest, scaled to add up to one, and "multinomial" the softmax of the
        scores. ``predict`` goes by the scores alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        return self.link().probabilities(scores)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))


class EpochClassifier(CallbackSupportMixin, ScoringClassifier):
    """A classifier that learns in epochs, also from a stream.

    A subclass's ``_fit`` and ``_partial_fit`` learn, set ``coef_`` and the learning
    state, and return whether they were interrupted; ``_partial_fit`` may change the
    arrays of the model, which ``_detach`` has made its own. Its ``_begin_stream``
    chooses from a sample what ``_partial_fit`` would choose from its first block; its
    ``_held_out_scores`` are those of held-out rows at the parameters a solver has
    reached, and ``_learned_attributes`` the fitted attributes that hold these.
    """

    # Options that a method need not offer.
    early_stopping = warm_start = False
    verbose: int = 0

    rules = Rules()

    _parameter_constraints: dict = {
        **ScoringClassifier._parameter_constraints,
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

    @with_callbacks
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective and in the choice of anchors. A
            weight of 0 is the same as leaving the row out.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Rows to watch for early stopping, in place of a fraction of X.
        y_val : array-like of shape (n_val,), default=None
            Their classes.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights in the accuracy.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with interruptible(self) as run:
            validation = X_val, y_val, sample_weight_val
            given = take_rows(self, X, y, sample_weight, validation)
            self.classes_ = given.classes
            if hasattr(self, "validation_history_"):
                del self.validation_history_
            with self._finite_learning():
                run.interrupted = self._fit_and_link(given)
        return self

    def _fit_and_link(self, given: FitInput) -> bool:
        if not self.probability:
            interrupted = self._fit(given)
            self._set_calibration(None, given.class_weights)
            return interrupted
        interrupted, found = fit_calibrated(self, given)
        if found is not None:
            self._set_calibration(found, None)
        return interrupted

    def _is_stream_method(self) -> bool:
        return True

    @available_if(lambda self: self._is_stream_method())
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a block of a stream, in one pass.

        A block whose values or weights are so large that the model would hold NaN or
        infinity is refused, and the model stays as it was.

        What the first call chooses from its block stays: alpha and the scale of the
        intercepts where they are "auto", and anchors, bandwidth and first step where
        the method has them. Make it a large one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A block of rows.
        y : array-like of shape (n_samples,)
            Their classes; a block need not contain all of them.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed in the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, taken as they are.

        Returns
        -------
        self : object
            The classifier.
        """
        with interruptible(self) as run:
            given = take_block(self, X, y, classes, sample_weight)
            self.classes_ = given.classes
            self._detach()
            with self._finite_learning():
                run.interrupted = self._partial_fit(given)
            self._set_calibration(None, given.class_weights)
        return self

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

    @available_if(lambda self: self._is_stream_method())
    @with_callbacks
    def fit_stream(
        self,
        batches,
        *,
        classes=None,
        epochs: int = 1,
        n_rows: int | None = None,
        scan: bool = True,
        sample_size: int = 20_000,
        buffer_size: int = 16_384,
        checkpoint=None,
        checkpoint_every: int = 10,
    ):
        """Fit the model to a stream, in memory for a buffer and a sample of rows.

        A first pass counts the rows, collects the classes and draws a sample, from
        which alpha, anchors, bandwidth and first steps are chosen as ``fit`` chooses
        them from all rows. Then the stream is learned from ``epochs`` times, buffer
        after buffer; the rows of a buffer are shuffled. The model depends on the order
        of the rows and the seed, not on how the stream is cut into blocks. Rows that
        are sorted by class over stretches longer than a buffer should be shuffled
        beforehand.

        Parameters
        ----------
        batches : Batches, path, list of paths, tuple of arrays, iterable or callable
            What :func:`locallin.data.as_batches` takes: files and folders, arrays
            (also memory maps), an iterable of blocks (X, y) or (X, y, weights), or a
            callable that returns one for each pass. Weights are taken as they are.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream; None takes those that the first pass meets.
        epochs : int, default=1
            Passes to learn from, in place of ``max_iter``.
        n_rows : int, default=None
            Number of rows, which plans the steps of "adam" and scales alpha; None
            counts them in the first pass.
        scan : bool, default=True
            Whether to make the first pass. Without it, and for an iterator that can be
            gone through once only, the sample is the head of the stream; ``classes``
            and ``n_rows`` must then be given.
        sample_size : int, default=20000
            Rows of the sample.
        buffer_size : int, default=16384
            Rows that are held and shuffled together.
        checkpoint : str or path-like, default=None
            Folder in which the state of the run is kept. The same call after a crash
            goes on from there and ends with the model of an undisturbed run, bit for
            bit. Files there are pickles: use folders that nobody else writes to.
        checkpoint_every : int, default=10
            Buffers between two checkpoints.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        check_parameters(self)
        check_stream(self)
        for name, value in (
            ("epochs", epochs),
            ("n_rows", 1 if n_rows is None else n_rows),
            ("sample_size", sample_size),
            ("buffer_size", buffer_size),
            ("checkpoint_every", checkpoint_every),
        ):
            if not (isinstance(value, Integral) and value >= 1):
                raise ValueError(f"{name}={value!r} must be a whole number from 1 on.")
        if classes is not None:
            classes = stream_classes(classes, None)
        settings = StreamSettings(
            classes, epochs, n_rows, scan, sample_size, buffer_size, checkpoint_every
        )
        with interruptible(self) as run:
            learner = StreamLearner(self)
            stream = StreamRun(learner, as_batches(batches), settings, checkpoint)
            stream.start()
            run.interrupted = stream.learn()
        return self

    def _learned_attributes(self, coef, intercept, *more) -> dict:
        """Fitted attributes that hold the parameters a solver has reached."""
        return {"coef_": coef, "intercept_": intercept}


class StreamLearner:
    """A classifier as streams and clusters drive it: block by block.

    Nothing outside knows more of a method than this and its learning state.
    """

    def __init__(self, estimator: EpochClassifier):
        self.estimator = estimator

    def begin(self, block: tuple, classes, n_rows: int, epochs: int, rng) -> None:
        """Choose from a sample of a stream of ``n_rows`` what ``fit`` would choose."""
        given = self._take(block, classes, rng)
        with self.estimator._finite_learning():
            self.estimator._begin_stream(given._replace(n_rows=n_rows), epochs)
        self.estimator._set_calibration(None, given.class_weights)
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
        self.estimator.classes_ = given.classes
        return given._replace(rng=rng)

    @property
    def state(self) -> LearningState:
        """The model, and what its next step needs."""
        return self.estimator._get_state()

    @state.setter
    def state(self, state: LearningState) -> None:
        self.estimator._set_state(state)
        check_fitted(self.estimator)
