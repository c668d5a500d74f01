"""Tables in blocks: a sample chooses the settings, then all members learn."""

import time
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from locallin.methods.held_out import draw_held_out, pack, unpack, without
from locallin.methods.last_fit import begin_choice, mean_of, new_members
from locallin.methods.settings import encoded_matrix
from locallin.methods.skeleton import StreamLearner
from locallin.streams.run import StreamSurvey
from locallin.streams.state import LearningState


class TableLearner:
    """A table estimator as streams and clusters drive it: block by block.

    Encoder and settings are chosen from a sample; then the members learn from encoded
    blocks, each by a :class:`~locallin.methods.skeleton.StreamLearner`. All that a run
    carries is in fitted attributes.
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator
        self._sparse = False

    @property
    def members(self) -> list[StreamLearner]:
        """The members as streams drive them."""
        return [StreamLearner(member) for member in self.estimator.model_.members_]

    def begin(self, found: StreamSurvey, epochs: int, rng) -> None:
        """Choose from a sample of a stream what ``fit`` would choose from all rows."""
        estimator = self.estimator
        if estimator.__sklearn_is_fitted__():
            self.detach()
            vars(estimator).pop("_held_out", None)  # its rows may come now
            begun = found._replace(sample=self._encoded(found.sample, None))
            for learner in self.members:
                learner.begin(begun, epochs, rng)
            return
        X, y, weights = (*found.sample, None)[:3]
        learn = _FirstSteps(found, epochs, rng)
        encoder, encoded = self._start(
            X, y, weights, found.classes, found.n_rows, learn
        )
        places = found.places
        if places is None:
            return
        if "_held_out" in vars(estimator):
            estimator._held_out["places"] = places[learn.held].astype(np.int64)
        if encoder is not None:
            plain = encoded_matrix(encoder, encoder.transform(X), len(places))
            kept = cross_fitted_columns(places, plain, encoded)
            if kept:
                estimator._cross_fitted = kept

    def learn_first(self, X, y, sample_weight, classes) -> bool:
        """Choose from a block, and learn from it; True where Ctrl-C ended it."""
        learn = _FirstBlock()
        self._start(X, y, sample_weight, classes, None, learn)
        self.judge()
        return learn.interrupted

    def _start(self, X, y, sample_weight, classes, n_rows: int | None, learn):
        """Choose encoder and settings, and let new members take their first steps.

        Returns the encoder, and what its ``fit_transform`` has made of the rows.
        """
        estimator, began = self.estimator, time.monotonic()
        rows = estimator._sampled_rows(X, y, sample_weight, classes, n_rows)
        chosen = estimator._choose(rows, began, estimator._tell)
        begun = begin_choice(rows, chosen.choice, estimator.encoder, estimator.n_jobs)
        members = new_members(rows, begun, chosen.n_members)
        held = np.empty(0, np.intp)
        if chosen.best is not None:
            held = draw_held_out(rows.weights, rows.seed)
        block = begun.X, rows.task.told(rows.y), rows.weights
        for member in members:
            learn(StreamLearner(member), block, classes, held)
        self._sparse = sparse.issparse(begun.X)
        model = mean_of(rows, begun, members, chosen.n_members)
        estimator._adopt(begun.encoder, model, chosen)
        if len(held):
            parts = begun.X[held], rows.y[held], rows.weights[held]
            estimator._held_out = pack(*parts)
        return begun.encoder, begun.X

    def learn(
        self, block: tuple, rng, *, classes=None, last_pass: bool, row: int = 0
    ) -> bool:
        """Learn from a block in one pass; True where Ctrl-C ended it.

        ``row`` is where it begins in the stream: rows of the sample have means of the
        target from other rows, and some of them are held out.
        """
        encoded = self.encoded(block, row)
        return encoded[0].shape[0] > 0 and any(
            learner.learn(encoded, rng, last_pass=last_pass) for learner in self.members
        )

    def learn_block(self, X, y, sample_weight) -> bool:
        """As ``learn``, from a block of a stream that nobody has looked at before."""
        encoded = self._encoded((X, y, sample_weight), None)
        interrupted = any(
            learner.learn(encoded, _own_rng(learner), last_pass=True)
            for learner in self.members
        )
        self.judge()
        return interrupted

    def encoded(self, block: tuple, row: int) -> tuple:
        """Rows of a block that begins at a row of the stream, as members learn them."""
        found = self._encoded(block, row)
        n_rows = found[0].shape[0]
        held = self._held_in(row, row + n_rows)
        return _chosen(found, without(n_rows, held - row)) if len(held) else found

    def _held_in(self, start: int, stop: int) -> np.ndarray:
        """Places of held-out rows in a part of the stream."""
        kept = vars(self.estimator).get("_held_out", {})
        places = kept.get("places", np.empty(0, np.int64))
        return places[slice(*np.searchsorted(places, [start, stop]))]

    def count_held(self, start: int, stop: int) -> int:
        """Number of held-out rows in a part of the stream."""
        return len(self._held_in(start, stop))

    def _encoded(self, block: tuple, row: int | None) -> tuple:
        X, y, weights = (*block, None)[:3]
        estimator = self.estimator
        encoded = estimator._encoded_rows(X)
        if row is not None and "_cross_fitted" in vars(estimator):
            encoded = with_cross_fitted(encoded, estimator._cross_fitted, row)
        return encoded, y, estimator._weighed(y, weights)

    def replace_members(self, members: list) -> None:
        """Take members that were fitted elsewhere, with the same settings."""
        self.estimator.model_.members_ = members

    def finish(self) -> None:
        """Drop what only a stream under way needs."""
        for learner in self.members:
            learner.finish()

    def settle(self) -> None:
        """Let held-out rows judge the members that a run has left."""
        estimator = self.estimator
        self.judge()
        for name in ("_cross_fitted", "_held_out"):
            vars(estimator).pop(name, None)

    def judge(self) -> None:
        """Calibrate by the rows that members have not learned from, if there are."""
        estimator = self.estimator
        kept = vars(estimator).get("_held_out")
        if kept is not None:
            X, y, weights = unpack(kept, estimator.model_.n_features_in_)
            estimator._judge(X, y, weights)

    def detach(self) -> None:
        """Give the estimator members of its own, which may change."""
        model = self.estimator.model_ = copy(self.estimator.model_)
        model.members_ = [copy(member) for member in model.members_]
        for member in model.members_:
            member._detach()

    @property
    def gives_sparse(self) -> bool:
        """Whether members see sparse rows, as far as the sample tells."""
        return self._sparse

    @property
    def objective(self) -> float:
        """The mean objective of the members at the last rows."""
        return float(np.mean([learner.objective for learner in self.members]))

    @property
    def state(self) -> LearningState:
        """The states of all members as one."""
        return LearningState(
            {
                f"{place}.{name}": array
                for place, learner in enumerate(self.members)
                for name, array in learner.state.items()
            }
        )

    @state.setter
    def state(self, state: LearningState) -> None:
        parts: dict[str, dict[str, np.ndarray]] = {}
        for name, array in state.items():
            place, _, own = name.partition(".")
            parts.setdefault(place, {})[own] = array
        for number, learner in enumerate(self.members):
            learner.state = LearningState(parts[str(number)])


class _FirstSteps:
    """How members begin with a stream that is planned."""

    def __init__(self, found: StreamSurvey, epochs: int, rng):
        self._found, self._epochs, self._rng = found, epochs, rng
        self.held: Any = None

    def __call__(self, learner: StreamLearner, sample: tuple, classes, held) -> None:
        self.held = held
        found = self._found._replace(sample=sample)
        learner.begin(found, self._epochs, self._rng)


class _FirstBlock:
    """How members learn from the first of blocks whose number nobody knows."""

    interrupted = False

    def __call__(self, learner: StreamLearner, block: tuple, classes, held) -> None:
        rng, block = _own_rng(learner), _chosen(block, without(len(block[1]), held))
        self.interrupted |= learner.learn(block, rng, classes=classes, last_pass=True)


def _chosen(block: tuple, rows: np.ndarray) -> tuple:
    return tuple(None if part is None else part[rows] for part in block)


def _own_rng(learner: StreamLearner) -> np.random.RandomState:
    return check_random_state(learner.estimator.random_state)


def cross_fitted_columns(places: np.ndarray, plain, encoded) -> dict[str, np.ndarray]:
    """What ``fit_transform`` has made of a sample's rows and ``transform`` does not.

    These are means of the target, taken from other rows; ``places`` are those of the
    rows in their stream. Empty where there is no difference.
    """
    if sparse.issparse(plain):
        columns = np.unique((plain != encoded).tocoo().col)
        values = encoded[:, columns].toarray()
    else:
        columns = np.flatnonzero((plain != encoded).any(axis=0))
        values = encoded[:, columns]
    if not len(columns):
        return {}
    return {
        "rows": places.astype(np.int64),
        "columns": columns.astype(np.int64),
        "values": np.ascontiguousarray(values),
    }


def with_cross_fitted(X, kept: dict[str, np.ndarray], row: int):
    """Encoded rows from ``row`` on, with what ``cross_fitted_columns`` has kept."""
    rows, columns = kept["rows"], kept["columns"]
    start, stop = np.searchsorted(rows, [row, row + X.shape[0]])
    places = rows[start:stop] - row
    if not len(places):
        return X
    values = kept["values"][start:stop]
    if not sparse.issparse(X):
        X[places[:, None], columns] = values
        return X
    moved = values - X[places][:, columns].toarray()
    at = np.repeat(places, len(columns)), np.tile(columns, len(places))
    return (X + sparse.csr_matrix((moved.ravel(), at), X.shape)).tocsr()
