"""The work of one task: what runs where the blocks are.

Nothing in here knows of workers or of time: a result depends on what is given alone.
"""

from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from scipy import sparse

from locallin.coding import Coding
from locallin.dask._blocks import Block, BlockError
from locallin.data.blocks import joined
from locallin.engine.codes import find_nearest
from locallin.engine.matrix import as_rows
from locallin.engine.parallel import single_threaded_blas
from locallin.kernels.rows import Codes, add_difference
from locallin.methods.base import Given, LocallyLinearClassifier
from locallin.methods.joint import JointClassifier


@sizeof.register((LocallyLinearClassifier, Coding))
def _bytes(model) -> int:
    """What dask takes a model to weigh, where it plans and counts transfers."""
    return sum(map(sizeof, vars(model).values()))


class Recipe(NamedTuple):
    """Classes, and the weight of each in units of the mean weight of a row."""

    classes: np.ndarray
    factors: np.ndarray


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
    """What a task learns from: pieces with their names and seeds, in this order."""

    epoch: int
    last_pass: bool
    places: list[str]
    seeds: list[int]


class Common(NamedTuple):
    """A model, and sums over the rows it was learned from in an epoch.

    These are: rows, objective, active anchors, perplexity. ``own`` and ``weight`` are
    those of the last turn, ``before`` those of the turns before it.
    """

    learner: Any
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
        self._lock, self._tasks, self._limit = Lock(), 0, None

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


def counted(block: Block, recipe: Recipe) -> Block:
    """The rows that count, with their weights."""
    weights = recipe.factors[np.searchsorted(recipe.classes, block.y)]
    if block.weights is not None:
        weights = weights * block.weights
    seen = weights > 0
    if seen.all():
        return Block(block.X, block.y, weights)
    return Block(block.X[seen], block.y[seen], weights[seen])


def cut(block: Block, recipe: Recipe, start: int, stop: int) -> Block:
    """A piece of the rows that count."""
    return Block(*(part[start:stop] for part in counted(block, recipe)))


def drawn(block: Block, recipe: Recipe, size: int, seed: int) -> Block:
    """A random sample of the rows that count, in their order."""
    block = counted(block, recipe)
    if size == len(block.y):
        return block
    rng = np.random.RandomState(seed)
    chosen = np.sort(rng.choice(len(block.y), size, replace=False))
    return Block(*(part[chosen] for part in block))


def _taken(learner, block: Block, recipe: Recipe, seed: int) -> Given:
    given = learner._take_block(block.X, block.y, recipe.classes, block.weights)
    return given._replace(rng=np.random.RandomState(seed))


def begun(learner, recipe: Recipe, n_rows: int, epochs: int, seed: int, *parts: Block):
    """Choose from a sample of ``n_rows`` what ``fit`` chooses from all of them."""
    learner = copy(learner)
    with one_thread():
        given = _taken(learner, Block(*joined(parts)), recipe, seed)
        learner._begin_stream(given._replace(n_rows=n_rows), epochs)
    return learner


def begun_again(learner, recipe: Recipe, n_rows, epochs, seed: int, *parts: Block):
    """Keep anchors that have moved, and choose the rest anew."""
    learner = copy(learner)
    coding = learner.coding_ = copy(learner.coding_)
    with one_thread():
        X, _, weights = joined(parts)
        where, _ = learner._spaces(X)
        rng = np.random.RandomState(seed)
        coding.bandwidth_ = coding.choose_bandwidth(where, weights, rng)
    return begun(learner, recipe, n_rows, epochs, seed, *parts)


def size(learner) -> int:
    """Bytes of what a shard sends, about."""
    return sizeof(learner)


def has_clusters(learner) -> bool:
    """Whether the anchors are centres of k-means, which all rows can refine."""
    chosen = getattr(getattr(learner, "coding_", None), "anchors", None)
    return isinstance(chosen, str) and chosen == "kmeans"


def gathered(learner, block: Block, recipe: Recipe) -> tuple[np.ndarray, np.ndarray]:
    """Sum and weight of the rows that are nearest to each anchor."""
    block = counted(block, recipe)
    coding = learner.coding_
    with one_thread():
        where, _ = learner._spaces(block.X)
        nearest = find_nearest(as_rows(where), coding.anchors_, 1)[0].ravel()
    shape = len(coding.anchors_), len(nearest)
    places = nearest, np.arange(len(nearest))
    members = sparse.csr_matrix((block.weights.astype(float), places), shape)
    sums = members @ where
    sums = sums.toarray() if sparse.issparse(sums) else sums
    return sums, members.sum(axis=1).A1


def added(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Sums and weights of several blocks, in their order."""
    return tuple(sum(part[1:], part[0]) for part in zip(*parts, strict=True))


def moved(learner, gathering: tuple[np.ndarray, np.ndarray]):
    """A step of Lloyd's algorithm: anchors at the means of their rows."""
    sums, weights = gathering
    learner = copy(learner)
    coding = learner.coding_ = copy(learner.coding_)
    anchors = coding.anchors_.copy()
    used = weights > 0
    anchors[used] = sums[used] / weights[used, None]
    coding.anchors_ = anchors
    return learner


def common(learner, plan: Plan) -> Common:
    """The model with which learning begins, its steps made for several shards."""
    learner = copy(learner)
    if getattr(learner, "t0", None) == "auto" and hasattr(learner, "t0_"):
        # An average of n models takes steps n times as long: it is as far after an
        # epoch as one model.
        learner.t0_ = max(learner.t0_ / plan.n_shards, 2.0)
    if hasattr(learner, "_adam"):
        # Shards share a batch: an epoch has as many steps as that of a local fit.
        learner._rows_of_batch = max(1, learner._rows_of_batch // plan.n_shards)
        *moments, (taken, _) = learner._adam
        planned = plan.local_steps(learner._rows_of_batch)
        learner._adam = *moments, np.array([taken, planned])
    return Common(learner)


def resumed(model: Common) -> Common:
    """A model that the client has kept."""
    return model


def tally(model: Common) -> np.ndarray:
    """What the client looks at after an epoch."""
    return model.tally(model.epoch)


class _KnownCodes:
    """Stands in for a coding whose codes of a block are known."""

    def __init__(self, coding: Coding, codes: Codes):
        self.anchors_, self._codes = coding.anchors_, codes

    def encode(self, rows, n_jobs=None) -> Codes:
        return self._codes


def coded(learner, piece: Block) -> Codes | None:
    """Codes of a piece, where anchors stay and every epoch would find the same."""
    if isinstance(learner, JointClassifier) or not hasattr(learner, "coding_"):
        return None
    with one_thread():
        where, _ = learner._spaces(piece.X)
        return learner.coding_.encode(as_rows(where), learner.n_jobs)


def learned(turn: Turn, start: Common, pieces: list, codes: list, recipe) -> Common:
    """One pass over some pieces, from the common model."""
    learner = copy(start.learner)
    learner._detach()
    own, weight = np.zeros(4), 0.0
    parts = zip(turn.places, turn.seeds, pieces, codes, strict=True)
    for place, seed, piece, known in parts:
        try:
            own += _learned_from(learner, piece, known, recipe, seed, turn.last_pass)
        except Exception as error:
            raise BlockError(f"{place}: {error}") from error
        weight += piece.weights.sum(dtype=float)
    return Common(learner, turn.epoch, start.tally(turn.epoch), own, weight)


def _learned_from(
    learner, piece: Block, codes, recipe: Recipe, seed: int, last_pass: bool
) -> np.ndarray:
    """Change a learner; sums as in ``Common``."""
    learner.objective_history_ = np.empty(0)
    coding = getattr(learner, "coding_", None)
    with one_thread():
        if codes is not None:
            learner.coding_ = _KnownCodes(coding, codes)
        given = _taken(learner, piece, recipe, seed)
        learner._partial_fit(given._replace(last_pass=last_pass))
        if codes is not None:
            learner.coding_ = coding
    histories = "objective_history_", "active_history_", "perplexity_history_"
    met = [getattr(learner, name)[-1] for name in histories if hasattr(learner, name)]
    sums = np.zeros(4)
    sums[: 1 + len(met)] = len(piece.y) * np.array([1.0, *met])
    return sums


def averaged(start: Common, *turns: Common) -> Common:
    """The common model, moved by the mean of what each shard has learned."""
    epoch = turns[0].epoch
    sums = start.tally(epoch) + sum(turn.own for turn in turns)
    learner = copy(turns[0].learner)
    weights = np.array([turn.weight for turn in turns])
    for name in learner._moving:
        if hasattr(learner, name):
            values = [getattr(turn.learner, name) for turn in turns]
            origin = getattr(start.learner, name, values[0])
            mean = _mean(origin, values, weights / weights.sum())
            setattr(learner, name, mean)
    return Common(learner, epoch, sums)


def _mean(origin, values: list, shares: np.ndarray):
    """A weighted mean; what no shard has moved stays as it is, to the bit."""
    if isinstance(origin, tuple):
        parts = zip(origin, zip(*values, strict=True), strict=True)
        return tuple(_mean(o, v, shares) for o, v in parts)
    if isinstance(origin, Coding):
        coding = copy(origin)
        for name in ("anchors_", "bandwidth_"):
            parts = [getattr(value, name) for value in values]
            setattr(coding, name, _mean(getattr(origin, name), parts, shares))
        return coding
    if not isinstance(origin, np.ndarray):
        moves = (s * (v - origin) for s, v in zip(shares, values, strict=True))
        return float(sum(moves, origin))
    if origin.dtype == bool:
        return np.logical_or.reduce(values)
    mean = origin.copy()
    for share, value in zip(shares, values, strict=True):
        add_difference(value.ravel(), origin.ravel(), share, mean.ravel())
    return mean
