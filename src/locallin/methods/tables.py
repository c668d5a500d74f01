"""The skeleton of estimators that take tables, and choose their settings."""

from contextlib import contextmanager, nullcontext
from math import inf
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from locallin.data import Batches, as_batches
from locallin.encoding.table import TableEncoder
from locallin.engine.input import check_is_table, checked_data
from locallin.engine.invariants import INPUT, Array, Arrays, CheckedState, Rule
from locallin.engine.lazy_rows import LazyRows
from locallin.engine.matrix import BLOCK
from locallin.engine.parallel import row_blocks
from locallin.engine.progress import Progress, tell
from locallin.engine.sklearn_api import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    Level,
    StrOptions,
    fitted_attributes,
    interruptible,
    validate_parameters,
)
from locallin.methods.choosing import MEMBERS, MOST_TRIALS, Choosing, Chosen, Trial
from locallin.methods.held_out import HELD_OUT
from locallin.methods.last_fit import (
    begin_choice,
    fit_members,
    mean_of,
    new_members,
    workers_for,
)
from locallin.methods.settings import (
    TrainingRows,
    encoded_matrix,
    fit_rows,
    transform_rows,
)
from locallin.methods.table_streams import TableLearner
from locallin.streams.run import StreamSettings, learn_from_stream

# Rows that are encoded together, of those to predict: threads share them.
_ENCODED_TOGETHER = 16 * BLOCK
# Rows of a stream's sample whose means of the target are from other rows.
_CROSS_FITTED = Arrays(
    {
        "rows": Array(("sampled rows",), "i", least=0, ascending=True),
        "columns": Array(("means",), "i", least=0, ascending=True),
        "values": Array(("sampled rows", "means")),
    }
)


class TableEstimator(CallbackSupportMixin, CheckedState, BaseEstimator):
    """An encoder, and the mean of local models whose settings held-out rows choose.

    A subclass has a constructor with the parameters below. What y is, is told by
    ``_target_array``, ``_sampled_rows``, ``_weighed`` and ``_note_held_out``.
    """

    _parameter_constraints: dict = {
        "effort": [Level(Integral, 0, 2, closed="both")],
        "n_members": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "encoder": [HasMethods(["fit", "transform"]), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _fitted_mark = "model_"
    # What learning from blocks carries, where there is some.
    _cross_fitted: dict[str, np.ndarray]
    _held_out: dict[str, np.ndarray]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.encoder is None
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _invariants(self) -> dict[str, Rule]:
        return {**INPUT, "_cross_fitted": _CROSS_FITTED, "_held_out": HELD_OUT}

    def _goes_on(self) -> bool:
        """Whether the next fit goes on from what is fitted."""
        return self.warm_start and self.__sklearn_is_fitted__()

    def _take(self, X, y) -> tuple[Any, np.ndarray]:
        """X and y, checked but for what the encoder checks."""
        name = type(self).__name__
        if y is None:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None."
            )
        check_is_table(X)
        y = self._target_array(y)
        assert_all_finite(y, input_name="y")
        if sparse.issparse(X) and self.encoder is None:
            X = checked_data(self, X, reset=not self._goes_on())
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError(f"Found array with 0 sample(s): {name} needs rows.")
        return X, y

    def _target_array(self, y) -> np.ndarray:
        raise NotImplementedError

    def _sampled_rows(self, X, y, sample_weight, classes, n_rows) -> TrainingRows:
        """The sample of a stream of ``n_rows``, or its first block."""
        raise NotImplementedError

    def _weighed(self, y, sample_weight) -> np.ndarray | None:
        """Weights of the rows of a block."""
        raise NotImplementedError

    def _note_held_out(self, chosen: Chosen) -> None:
        """Set the attributes that held-out rows tell."""
        raise NotImplementedError

    def _judge(self, X, y: np.ndarray, weights: np.ndarray) -> None:
        """Set the same by encoded rows that the members have not learned from."""
        raise NotImplementedError

    # All rows at once

    def _fit_table(self, rows: TrainingRows, groups, began: float) -> None:
        """Choose settings, and fit encoder and members to all rows."""
        if groups is not None:
            check_consistent_length(rows.X, groups)
            groups = np.unique(column_or_1d(groups), return_inverse=True)[1]
        rows = rows.in_groups(groups)
        steps = _Steps(self, self._most_steps(), rows)
        self.__dict__.pop("_held_out", None)  # of blocks before
        chosen = self._choose(rows, began, steps.note_trial, fits_all=True)
        begun = begin_choice(
            rows, chosen.choice, self.encoder, self.n_jobs, lazily=True
        )
        members = new_members(rows, begun, chosen.n_members)
        told = rows.task.told(rows.y)
        fitted = fit_members(
            members,
            lambda member: steps.fit(member, begun.X, told, rows.weights),
            lambda: steps.note_member(len(members)),
            self._deadline(began),
            workers_for(begun.X, steps.n_jobs),
        )
        model = mean_of(rows, begun, fitted, chosen.n_members)
        self._adopt(begun.encoder, model, chosen)
        steps.progress.end(lambda: fitted_attributes(self))

    def _most_steps(self) -> int:
        wanted = MEMBERS[self.effort] if self.n_members == "auto" else self.n_members
        return MOST_TRIALS[self.effort] + int(wanted)

    def _fit_again(self, rows: TrainingRows, began: float) -> None:
        """Let the members go on, with the encoder and the settings they have."""
        TableLearner(self).detach()
        X, told = self._encoded_again(rows), rows.task.told(rows.y)
        members = self.model_.members_
        steps = _Steps(self, len(members), rows)
        with _going_on(members):
            fit_members(
                members,
                lambda member: steps.fit(member, X, told, rows.weights),
                lambda: steps.note_member(len(members)),
                self._deadline(began),
                workers_for(X, steps.n_jobs),
            )
        steps.progress.end(lambda: fitted_attributes(self))

    def _encoded_again(self, rows: TrainingRows):
        """Encoded rows; those that the encoder was fitted to as it had them then.

        Their means of the target are from other rows, which ``transform`` cannot know.
        """
        if self.encoder_ is None:
            return rows.X
        again, lazily = clone(self.encoder_), self.encoder is None
        found = fit_rows(again, rows, lazily=lazily)
        same = joblib.hash(fitted_attributes(again)) == joblib.hash(
            fitted_attributes(self.encoder_)
        )
        if not same:
            found = transform_rows(self.encoder_, rows.X, lazily=lazily)
        return encoded_matrix(self.encoder_, found, len(rows))

    def _deadline(self, began: float) -> float:
        return inf if self.time_limit is None else began + self.time_limit

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _choose(
        self, rows: TrainingRows, began: float, tell, fits_all: bool = False
    ) -> Chosen:
        """Try settings on held-out rows; ``fits_all`` tells what follows on it."""
        wanted = None if self.n_members == "auto" else int(self.n_members)
        deadline = self._deadline(began)
        choosing = Choosing(
            rows, self.encoder, self.effort, deadline, self.n_jobs, fits_all
        )
        chosen = choosing.run(tell, wanted)
        self.search_path_ = [trial.as_dict() for trial in choosing.trials]
        self.chosen_ = chosen.choice.as_dict()
        return chosen

    def _adopt(self, encoder, model, chosen: Chosen) -> None:
        """Set the attributes that predict."""
        self.encoder_, self.model_ = encoder, model
        self._name_columns()
        self._note_held_out(chosen)

    def _name_columns(self) -> None:
        first: Any = self.model_ if self.encoder_ is None else self.encoder_
        self.n_features_in_ = first.n_features_in_
        name = "feature_names_in_"
        if hasattr(self, name):
            delattr(self, name)
        if hasattr(first, name):
            setattr(self, name, getattr(first, name))

    # Blocks

    def _fit_block(self, X, y, classes, sample_weight):
        """Learn from a block of a stream."""
        with interruptible(self) as run:
            validate_parameters(self)
            learner = TableLearner(self)
            if self.__sklearn_is_fitted__():
                learner.detach()
                run.interrupted = learner.learn_block(X, y, sample_weight)
            else:
                run.interrupted = learner.learn_first(X, y, sample_weight, classes)
        return self

    def _fit_stream(self, batches, settings: StreamSettings, checkpoint):
        """Learn from a stream."""
        validate_parameters(self)
        # What has been opened already is taken as it is.
        if not isinstance(batches, Batches):
            batches = as_batches(batches, table=True)
        learn_from_stream(TableLearner(self), batches, settings, checkpoint)
        return self

    def _tell(self, trial: Trial) -> bool:
        """Print a trial of a search that callbacks are not told of."""
        name = type(self).__name__
        tell(lambda: f"[{name}] {_of_trial(trial)}", self.verbose)
        return False

    def _encoded_rows(self, X):
        """Rows of a block as members take them."""
        if self.encoder_ is None:
            return checked_data(self, X, reset=False)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return encoded_matrix(self.encoder_, self.encoder_.transform(X), n_rows)

    def to_pipeline(self) -> Pipeline:
        """The fitted steps: the encoder, if there is one, and the model.

        Returns
        -------
        Pipeline
            Predicts the same scores; explanations and exports go through it.
        """
        check_is_fitted(self)
        steps: list[tuple[str, Any]] = [("model", self.model_)]
        if self.encoder_ is not None:
            steps.insert(0, ("encoder", self.encoder_))
        return Pipeline(steps)

    def _encode(self, X):
        check_is_fitted(self)
        return X if self.encoder_ is None else self.encoder_.transform(X)

    def _predicted(self, method: str, X) -> np.ndarray:
        """What a method of the model says of rows; many are encoded in blocks."""
        check_is_fitted(self)
        say = getattr(self.model_, method)
        if self.encoder_ is None:
            return say(X)
        ours = self.encoder is None and isinstance(self.encoder_, TableEncoder)
        encoded = transform_rows(self.encoder_, X, lazily=ours)
        if not isinstance(encoded, LazyRows):
            return say(encoded)
        blocks = row_blocks(encoded.shape[0], _ENCODED_TOGETHER)
        return np.concatenate([say(encoded[start:stop]) for start, stop in blocks])

    def local_coef(self, X) -> np.ndarray:
        """Effective weights of each row, on what the encoder makes of it.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features_out)
            Weights; n_scores is 1 for two classes, and for one target. What they are
            weights of is told by ``encoder_.get_feature_names_out()``.
        """
        encoded = self._encode(X)
        return self.model_.local_coef(encoded)

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts of each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; n_scores is 1 for two classes, and for one target.
        """
        encoded = self._encode(X)
        return self.model_.local_intercept(encoded)


class _Steps:
    """Tells of a fit to all rows: a step for each trial, and one for each member."""

    def __init__(self, estimator, n_steps: int, rows: TrainingRows):
        self.progress = Progress(estimator, n_steps, rows.X, rows.y, unit="trial")
        self._number = self._fitted = 0
        self._stopped = False
        # Callbacks hear of one thing after the other.
        self.n_jobs = 1 if self.progress.is_heard else estimator.n_jobs

    def note_trial(self, trial: Trial) -> bool:
        """Tell of a trial; True where a callback asks for no more."""
        return self._note(_of_trial(trial), last=False)

    def fit(self, member, X, y, weights) -> None:
        """Fit a member; callbacks hear of it unless they have asked for no more."""
        passing_on = self.progress.passing_on
        with nullcontext() if self._stopped else passing_on(member):
            member.fit(X, y, weights)

    def note_member(self, n_members: int) -> bool:
        """Tell of a fitted member; True where a callback asks for no more."""
        if self._stopped:
            return True
        self._fitted += 1
        text = f"member {self._fitted} of {n_members} is fitted"
        return self._note(text, last=self._fitted == n_members)

    def _note(self, text: str, last: bool) -> bool:
        self._number += 1
        asked = self.progress.step(self._number, text, lambda: None, last=last)
        self._stopped = asked and not last
        return self._stopped


@contextmanager
def _going_on(members: list):
    """Let fits of members go on from what they have learned."""
    for member in members:
        member.set_params(warm_start=True)
    try:
        yield
    finally:
        for member in members:
            member.set_params(warm_start=False)


def _of_trial(trial: Trial) -> str:
    settings = _in_words(trial.choice.as_dict())
    return f"{settings}: {_in_words(trial.figures)}, {trial.seconds:.1f} s"


def _in_words(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
        for name, value in values.items()
    )
