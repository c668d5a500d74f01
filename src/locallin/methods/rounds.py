"""Training in rounds, on any engine that maps a function over parts of the rows."""

from collections.abc import Callable, Iterable
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from locallin.engine.parallel import single_threaded_blas
from locallin.engine.sklearn_api import clone_without_callbacks
from locallin.methods.skeleton import EpochEstimator, StreamLearner, check_parameters
from locallin.streams.run import NO_CLASSES, StreamSurvey
from locallin.streams.state import LearningState


def check_block_learner(estimator) -> None:
    """Refuse estimators and settings that need all rows at once."""
    learns_in_epochs = isinstance(estimator, EpochEstimator)
    solver = getattr(estimator, "solver", None)
    if learns_in_epochs and solver in ("dual", "newton"):
        raise ValueError(f"solver={solver!r} needs all rows at once: use solver='sgd'.")
    if not (learns_in_epochs and hasattr(estimator, "fit_stream")):
        raise TypeError(
            f"estimator={type(estimator).__name__} cannot learn from "
            "blocks: use SAPLClassifier, DULLSVMClassifier, ML3Classifier or "
            "LLSVMClassifier(solver='sgd') for classes, SAPLRegressor or "
            "DULLSVMRegressor for numbers."
        )
    if getattr(estimator, "init", None) == "convex":
        raise ValueError("init='convex' needs all rows at once: use init='zeros'.")
    if estimator.early_stopping:
        raise ValueError(
            "early_stopping=True needs all rows at once: use early_stopping=False."
        )
    check_parameters(estimator)


def state_for_shards(
    model, n_shards: int, local_steps: Callable[[int], float]
) -> LearningState:
    """The state with which learning begins, its steps made for several shards.

    ``local_steps`` tells how many steps a shard takes in all, in batches of a size.
    """
    state = StreamLearner(model).state
    if getattr(model, "t0", None) == "auto" and "t0" in state:
        # An average of n models takes steps n times as long: it is as far after an
        # epoch as one model.
        state = state.replaced(t0=max(state["t0"].item() / n_shards, 2.0))
    if "steps" in state:
        # Shards share a batch: an epoch has as many steps as that of a local fit.
        batch_size, passes = state["plan"]
        batch_size = max(1, batch_size // n_shards)
        steps = np.array([state["steps"][0], local_steps(batch_size)])
        state = state.replaced(plan=np.array([batch_size, passes]), steps=steps)
    return state


class Turn(NamedTuple):
    """What a part of the rows has taught, and how many rows it had.

    Parameters
    ----------
    state : LearningState
        The arrays of the model after the part.
    n_rows : int
        Rows of the part.

    See Also
    --------
    Rounds : Makes turns, and the mean of them.
    locallin.dask.ClusterClassifier : The same on a dask cluster, with all it needs.
    """

    state: LearningState
    n_rows: int


class Rounds:
    """Training in rounds, on any engine that maps a function over parts of the rows.

    A sample decides what ``fit`` decides from all rows: anchors, bandwidth, penalty,
    the first steps. In a round each part makes a pass from the common model, wherever
    its rows are, and the common model moves by the mean of what they have learned. What
    travels is this object and the arrays of the models; the rows stay where they are.
    :class:`locallin.dask.ClusterClassifier` and ``ClusterRegressor`` make such rounds.

    Parameters
    ----------
    estimator : classifier or regressor
        SAPLClassifier, DULLSVMClassifier, ML3Classifier or LLSVMClassifier with
        ``solver="sgd"``, SAPLRegressor or DULLSVMRegressor; ``max_iter`` is the number
        of rounds.
    X : {array-like, sparse matrix} of shape (n_sampled, n_features)
        A sample of the rows, some thousands.
    y : array-like of shape (n_sampled,) or (n_sampled, n_targets)
        Their classes or numbers.
    n_rows : int
        Number of all rows.
    n_parts : int, default=1
        Parts that learn at the same time.
    classes : array-like of shape (n_classes,), default=None
        All classes; None takes those of the sample. Regressors have none.

    Attributes
    ----------
    round_ : int
        Rounds that were made.

    See Also
    --------
    locallin.dask.ClusterClassifier : The same on a dask cluster, with all it needs.
    locallin.DULLSVMClassifier : Has ``fit_stream`` for one machine.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import DULLSVMClassifier
    >>> from locallin.base import Rounds
    >>> X, y = make_moons(800, noise=0.15, random_state=0)
    >>> parts = [(X[:400], y[:400]), (X[400:], y[400:])]
    >>> clf = DULLSVMClassifier(8, max_iter=10, random_state=0)
    >>> rounds = Rounds(clf, X[:200], y[:200], n_rows=800, n_parts=2)
    >>> while not rounds.done:
    ...     turns = [rounds.learn(*rows, part=i) for i, rows in enumerate(parts)]
    ...     rounds.average(turns)
    >>> rounds.finish().score(X, y) > 0.95
    True
    """

    def __init__(self, estimator, X, y, *, n_rows: int, n_parts: int = 1, classes=None):
        check_block_learner(estimator)
        for name, value in (("n_rows", n_rows), ("n_parts", n_parts)):
            if isinstance(value, bool) or int(value) != value or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number above 0.")
        rng = check_random_state(estimator.random_state)
        model = clone_without_callbacks(estimator)
        if not is_classifier(estimator):
            classes = NO_CLASSES
        else:
            classes = np.unique(y if classes is None else classes)
        self._rounds = model.max_iter
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        with single_threaded_blas():
            found = StreamSurvey(classes, int(n_rows), (X, y))
            StreamLearner(model).begin(found, self._rounds, rng)
        rows = n_rows / n_parts

        def local_steps(batch_size: int) -> float:
            return self._rounds * max(1.0, round(rows / batch_size))

        self._model = model
        self._state = state_for_shards(model, int(n_parts), local_steps)
        self.round_ = 0

    @property
    def done(self) -> bool:
        """Whether all rounds were made."""
        return self.round_ >= self._rounds

    def learn(self, X, y, sample_weight=None, *, part: int) -> Turn | None:
        """Make a pass over a part of the rows, from the common model.

        It changes nothing here, and depends on nothing but the rows, their part and the
        round: run it anywhere, and again where it was lost.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of the part.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their classes or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, whose mean over all parts should be one.
        part : int
            Number of the part, which the order of its rows depends on.

        Returns
        -------
        Turn or None
            What ``average`` takes; None where there are no rows.
        """
        n_rows = len(y)
        if n_rows == 0:
            return None
        learner = StreamLearner(copy(self._model))
        learner.state = self._state.copy()
        rng = np.random.RandomState([self._seed, self.round_, part])
        rows = (X, y) if sample_weight is None else (X, y, sample_weight)
        with single_threaded_blas():
            learner.learn(rows, rng, last_pass=self.round_ + 1 == self._rounds)
        return Turn(learner.state, n_rows)

    def average(self, turns: Iterable[Turn | None]) -> None:
        """End a round: move the common model by the mean of what was learned.

        Parameters
        ----------
        turns : iterable of Turn or None
            What ``learn`` returned, in the order of the parts.
        """
        found = [turn for turn in turns if turn is not None]
        if not found:
            raise ValueError("No part has rows: there is nothing to average.")
        shares = np.array([turn.n_rows for turn in found], float)
        states = [turn.state for turn in found]
        self._state = LearningState.average(self._state, states, shares / shares.sum())
        self.round_ += 1

    def finish(self):
        """The common model as an estimator of its own.

        Returns
        -------
        estimator
            The fitted classifier or regressor.
        """
        learner = StreamLearner(copy(self._model))
        learner.state = self._state.copy()
        learner.finish()
        learner.estimator.n_iter_ = self.round_
        return learner.estimator
