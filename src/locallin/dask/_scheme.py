"""Tasks of a fit on a cluster: functions that run where the blocks are.

Nothing in here knows of workers or of time: a result depends on the arguments alone. An
estimator travels once, with what a sample has decided; from round to round only its
learning state does.
"""

from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from scipy import sparse

from locallin.coding.base import Coding, in_metric
from locallin.dask._blocks import Block, BlockError
from locallin.dask._targets import RowWeights
from locallin.data.blocks import joined
from locallin.engine.matrix import as_rows, find_nearest
from locallin.engine.parallel import single_threaded_blas
from locallin.kernels.rows import Codes
from locallin.methods.anchored import row_views
from locallin.methods.joint import JointEstimator
from locallin.methods.rounds import state_for_shards
from locallin.methods.skeleton import EpochEstimator, StreamLearner
from locallin.streams.run import StreamSurvey
from locallin.streams.state import LearningState


@sizeof.register((EpochEstimator, Coding))
def _bytes(model) -> int:
    """Size of a model, where dask plans and counts transfers."""
    return sum(map(sizeof, vars(model).values()))


@sizeof.register(LearningState)
def _bytes_of_state(state: LearningState) -> int:
    return sum(array.nbytes for array in state.values())


class Plan(NamedTuple):
    """How the rows are shared out."""

    rows: np.ndarray  # of each piece
    epochs: int
    n_shards: int

    @property
    def n_rounds(self) -> int:
        """Averages in an epoch."""
        return -(-len(self.rows) // self.n_shards)

    def local_steps(self, batch_size: int) -> float:
        """Steps that a shard takes in all epochs, in batches as Adam cuts them."""
        steps = np.maximum(1, np.round(self.rows / batch_size))
        return self.epochs * self.n_rounds * float(steps.mean())


class Turn(NamedTuple):
    """Pieces that a task learns from, in this order, with their names and seeds."""

    epoch: int
    last_pass: bool
    places: list[str]
    seeds: list[int]


class SharedModel(NamedTuple):
    """A learning state, and sums over the rows it was learned from in an epoch.

    These are: rows, objective, active anchors, perplexity. ``own`` and ``weight`` are
    those of the last turn, ``before`` those of the turns before it.
    """

    state: LearningState
    epoch: int = 0
    before: np.ndarray = np.zeros(4)
    own: np.ndarray = np.zeros(4)
    weight: float = 0.0

    def tally(self, epoch: int) -> np.ndarray:
        """Sums of an epoch that goes on or is to begin."""
        return self.before + self.own if epoch == self.epoch else np.zeros(4)


class _OneThread:
    """The BLAS on one thread, for as long as any task of the process needs it."""

    def __init__(self):
        self._lock, self._tasks = Lock(), 0
        self._limit: Any = None

    @contextmanager
    def __call__(self):
        with self._lock:
            if self._tasks == 0:
                self._limit = single_threaded_blas()
                self._limit.__enter__()
            self._tasks += 1
        try:
            yield
        finally:
            with self._lock:
                self._tasks -= 1
                if self._tasks == 0:
                    self._limit.__exit__(None, None, None)


one_thread = _OneThread()


def weigh(block: Block, weights: RowWeights) -> Block:
    """The rows that count, with the products of both weights."""
    values = weights.of(block.y)
    if block.weights is not None:
        values = values * block.weights
    seen = values > 0
    if seen.all():
        return Block(block.X, block.y, values)
    return Block(block.X[seen], block.y[seen], values[seen])


def cut(block: Block, weights: RowWeights, start: int, stop: int) -> Block:
    """A piece of the rows that count."""
    return Block(*(part[start:stop] for part in weigh(block, weights)))


def draw_sample(block: Block, weights: RowWeights, size: int, seed: int) -> Block:
    """A random sample of the rows that count, in their order."""
    block = weigh(block, weights)
    if size == len(block.y):
        return block
    rng = np.random.RandomState(seed)
    chosen = np.sort(rng.choice(len(block.y), size, replace=False))
    return Block(*(part[chosen] for part in block))


def begin(
    model, weights: RowWeights, n_rows: int, epochs: int, seed: int, *parts: Block
):
    """Choose from a sample of ``n_rows`` what ``fit`` chooses from all of them."""
    model = copy(model)
    with one_thread():
        rng = np.random.RandomState(seed)
        found = StreamSurvey(weights.classes, n_rows, joined(parts))
        StreamLearner(model).begin(found, epochs, rng)
    return model


def begin_again(
    model, weights: RowWeights, n_rows: int, epochs: int, seed: int, *parts: Block
):
    """Keep anchors that have moved, and choose the rest anew."""
    model = copy(model)
    coding = model.coding_ = copy(model.coding_)
    with one_thread():
        X, _, sample_weight = joined(parts)
        anchor_view = in_metric(row_views(model, X)[0], coding.metric_)
        rng = np.random.RandomState(seed)
        coding.bandwidth_ = coding.choose_bandwidth(anchor_view, sample_weight, rng)
    return begin(model, weights, n_rows, epochs, seed, *parts)


def count_bytes(model) -> int:
    """Bytes that a shard sends, about."""
    return sizeof(StreamLearner(model).state)


def has_clusters(model) -> bool:
    """Whether the anchors are centres of k-means, which all rows can refine."""
    chosen = getattr(getattr(model, "coding_", None), "anchors", None)
    return isinstance(chosen, str) and chosen == "kmeans"


def sum_by_anchor(
    model, block: Block, weights: RowWeights
) -> tuple[np.ndarray, np.ndarray]:
    """Sum and weight of the rows that are nearest to each anchor."""
    block = weigh(block, weights)
    anchors = model.coding_.anchors_
    with one_thread():
        anchor_view = in_metric(row_views(model, block.X)[0], model.coding_.metric_)
        nearest = find_nearest(as_rows(anchor_view), anchors, 1)[0].ravel()
    shape = len(anchors), len(nearest)
    places = nearest, np.arange(len(nearest))
    members = sparse.csr_matrix((block.weights.astype(float), places), shape)
    sums = members @ anchor_view
    sums = sums.toarray() if sparse.issparse(sums) else sums
    return sums, members.sum(axis=1).A1


def add_sums(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Sums and weights of several blocks, in their order."""
    return tuple(sum(part[1:], part[0]) for part in zip(*parts, strict=True))


def move_anchors(model, gathering: tuple[np.ndarray, np.ndarray]):
    """A step of Lloyd's algorithm: anchors at the means of their rows."""
    sums, weights = gathering
    model = copy(model)
    coding = model.coding_ = copy(model.coding_)
    anchors = coding.anchors_.copy()
    used = weights > 0
    anchors[used] = sums[used] / weights[used, None]
    coding.anchors_ = anchors
    coding.regroup()
    return model


def share(model, plan: Plan) -> SharedModel:
    """The state with which learning begins, its steps made for several shards."""
    return SharedModel(state_for_shards(model, plan.n_shards, plan.local_steps))


def keep(model):
    """A model that the client has kept."""
    return model


def tally(model: SharedModel) -> np.ndarray:
    """Sums that the client looks at after an epoch."""
    return model.tally(model.epoch)


class _KnownCodes:
    """Stands in for a coding whose codes of a block are known."""

    def __init__(self, coding: Any, codes: Codes):
        self.anchors_, self._codes = coding.anchors_, codes
        self.metric_ = coding.metric_

    def encode(self, rows, n_jobs=None) -> Codes:
        return self._codes


def encode(model, piece: Block) -> Codes | None:
    """Codes of a piece, where anchors stay and every epoch would find the same."""
    if isinstance(model, JointEstimator) or not hasattr(model, "coding_"):
        return None
    with one_thread():
        anchor_view, _ = row_views(model, piece.X)
        return model.coding_.encode(as_rows(anchor_view), model.n_jobs)


def learn(
    turn: Turn, model, start: SharedModel, pieces: list, codes: list
) -> SharedModel:
    """One pass over some pieces, from the shared state."""
    learner = StreamLearner(copy(model))
    learner.state = start.state.copy()
    own, weight = np.zeros(4), 0.0
    parts = zip(turn.places, turn.seeds, pieces, codes, strict=True)
    for place, seed, piece, known in parts:
        try:
            own += _learn_from(learner, piece, known, seed, turn.last_pass)
        except Exception as error:
            raise BlockError(f"{place}: {error}") from error
        weight += piece.weights.sum(dtype=float)
    return SharedModel(learner.state, turn.epoch, start.tally(turn.epoch), own, weight)


def _learn_from(
    learner: StreamLearner, piece: Block, codes, seed: int, last_pass: bool
) -> np.ndarray:
    """Change a learner; sums as in ``SharedModel``."""
    model = learner.estimator
    model.objective_history_ = np.empty(0)
    coding = getattr(model, "coding_", None)
    with one_thread():
        if codes is not None:
            model.coding_ = _KnownCodes(coding, codes)
        learner.learn(piece, np.random.RandomState(seed), last_pass=last_pass)
        if codes is not None:
            model.coding_ = coding
    histories = "objective_history_", "active_history_", "perplexity_history_"
    met = [getattr(model, name)[-1] for name in histories if hasattr(model, name)]
    sums = np.zeros(4)
    sums[: 1 + len(met)] = len(piece.y) * np.array([1.0, *met])
    return sums


def average(start: SharedModel, *turns: SharedModel) -> SharedModel:
    """The shared state, moved by the mean of what each shard has learned."""
    epoch = turns[0].epoch
    sums = start.tally(epoch) + sum(turn.own for turn in turns)
    weights = np.array([turn.weight for turn in turns])
    states = [turn.state for turn in turns]
    state = LearningState.average(start.state, states, weights / weights.sum())
    return SharedModel(state, epoch, sums)
