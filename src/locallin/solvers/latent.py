"""Outer loop of ML3: the concave-convex procedure, with an epoch of SGD inside.

An iteration freezes the latent weights of every row's own class, which bounds the
objective from above by a convex one (eq. 13), and takes one epoch of SGD on that. Where
rows are many the models move far within an epoch: the weights of the rows still to
come can then be frozen anew every so many rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from locallin.engine.matrix import aligned, copy_rows
from locallin.engine.parallel import (
    Buffers,
    ThreadTeam,
    row_blocks,
    single_threaded_blas,
)
from locallin.kernels.latent import (
    LOSS,
    SCALE,
    SCALE_SUM,
    Clock,
    LatentBlock,
    LatentUpdates,
    latent_steps,
    latent_weights_of_rows,
)
from locallin.solvers.latent_problem import (
    LatentProblem,
    LatentWeights,
    Models,
    picked,
)

# Rows whose values are computed together. Their inner products cost as much as this
# many models.
_BLOCK = 192
# Most rows whose own latent weights are computed together, a multiple of the block.
_STRETCH = 8 * _BLOCK
# Multiply-adds of a block below which handing them to another thread does not pay.
_WORTH_A_THREAD = 1e7
# Room to spare that lets a row be left out, and for how many iterations at most.
_ROOM = 0.5
_LONGEST_NAP = 8
# Models whose values are computed together.
_GROUP = 256

# Called after every iteration with (iteration, objective, coef, intercept); returns
# True to stop. The arrays are the solver's own.
Monitor = Callable[..., bool]


def _stretches(freeze_every: int) -> tuple[int, int]:
    """Rows whose weights are frozen together, and from one freezing to the next.

    Both are whole blocks, and one a multiple of the other.
    """
    stretch = min(_STRETCH, _BLOCK * -(-freeze_every // _BLOCK))
    return stretch, stretch * -(-freeze_every // stretch)


@dataclass
class LatentSolution:
    """What the solver hands back, also when it was interrupted."""

    result: Models  # the last iteration's mean where that was asked for
    iterate: Models
    shape: tuple[int, int]
    n_iter: int = 0
    objective_history: list[float] = field(default_factory=list)
    converged: bool = True
    interrupted: bool = False
    gap: None = None

    @property
    def learned(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights and intercepts by class and model."""
        coef, intercept = self.result
        return coef.reshape(*self.shape, -1), intercept.reshape(self.shape)


class Block(NamedTuple):
    """Rows with what their steps need and no step changes."""

    chosen: np.ndarray
    rows: object
    gram: np.ndarray


class Update(NamedTuple):
    """What the violating rows of a block add to the models."""

    rows: object
    multiples: np.ndarray
    touched: np.ndarray
    earlier: np.ndarray


class _Epoch:
    """One pass of SGD over the rows, block after block.

    The crew shares the work of scoring a block, after learning from the one before,
    and of preparing the next. Then the rows of the block take their steps, in order
    and in one thread. What is computed together does not depend on the crew.
    """

    def __init__(self, problem: LatentProblem, models: Models, crew: ThreadTeam):
        self._problem = problem
        self._models = models
        self._crew = crew
        per_group = max(1, _GROUP // problem.n_models)
        self._groups = row_blocks(problem.n_classes, per_group)
        shape, dtype = (_BLOCK, problem.width), problem.X.dtype
        self._X = aligned(problem.X)
        self._scratch = Buffers()
        # One block teaches, one is scored, one is prepared.
        self._rooms = cycle([self._new_room() for _ in range(3)])
        self._values = np.empty(shape, dtype)
        self._multiples = np.empty(shape, dtype)
        self._touched = np.empty((_BLOCK, 3), np.intp)
        self._earlier = np.empty(_BLOCK)
        self.losses = np.empty(len(problem.visits))

    def run(
        self,
        order,
        offset: float,
        *,
        latent: LatentWeights | None = None,
        frozen: Models | None = None,
        freeze_every: int | None = None,
        fresh=(),
        average: bool = False,
    ) -> tuple[float, Models]:
        """Visit the rows in order.

        ``latent`` gives weights of all classes that stay fixed; without it those of
        each row's own class are the ones at the ``frozen`` models, which are those of
        the beginning, or of ``freeze_every`` rows before at most, unless given; random
        where the class is among the ``fresh``. Returns the mean of the losses met, and
        the mean of the models where that is asked for.
        """
        problem, models, run = self._problem, self._models, self._crew.run
        self._fresh = fresh
        self._sums = problem.zeros() if average else None
        numbers = np.array([0.0, 1.0, problem.square(models), 0.0, 0.0])
        radius = np.sqrt(2.0 / problem.alpha)
        pace = len(problem.visits) / len(order)
        clock = Clock(
            numbers, offset, problem.alpha, radius, problem.intercept_step, pace
        )
        block = self._prepare(order[:_BLOCK], next(self._rooms))
        update: Any = None
        result = models
        stretch, every = _stretches(freeze_every or len(order))
        try:
            for start in range(0, len(order), _BLOCK):
                if latent is None and start % every == 0:
                    self._learn_all(update)
                    update, self._frozen = None, frozen or models.copy()
                if latent is None and start % stretch == 0:
                    own = self._own_weights(order[start : start + stretch])
                tasks: list[tuple] = [
                    (self._score, block, update, group) for group in self._groups
                ]
                coming = order[start + _BLOCK :][:_BLOCK]
                tasks.append((self._prepare, coming, next(self._rooms)))
                if latent is not None:
                    tasks.append((latent, block.rows, block.chosen))
                done = run(lambda work, *given: work(*given), tasks)
                if latent is None:
                    weights = own[start % stretch :][:_BLOCK], self._nothing
                else:
                    weights = problem.own(done[-1], block.chosen), done[-1]
                losses = self.losses[start : start + len(block.chosen)]
                update = self._take_steps(block, weights, clock, losses)
                block = done[len(self._groups)]
            self._learn_all(update)
            if self._sums is not None:
                # A row's update counts from its own step on: what all updates would
                # come to from the first step, less what came before each.
                pairs = zip(models, self._sums, strict=True)
                means = (
                    (numbers[SCALE_SUM] * v - sums) / len(order) for v, sums in pairs
                )
                result = Models(*(mean.astype(problem.X.dtype) for mean in means))
        finally:
            for array in models:
                array *= array.dtype.type(numbers[SCALE])
        return numbers[LOSS] / len(problem.visits), result

    @property
    def _nothing(self) -> np.ndarray:
        return np.empty((0, 0), self._values.dtype)

    def _new_room(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Memory for the rows of a block and their inner products, where dense."""
        if sparse.issparse(self._X):
            return None
        shapes = (_BLOCK, self._X.shape[1]), _BLOCK * _BLOCK
        dtype = self._X.dtype
        return np.empty(shapes[0], dtype), np.empty(shapes[1], dtype)

    def _prepare(self, chosen, room) -> Block:
        if room is None:
            rows = self._X[chosen]
            return Block(chosen, rows, (rows @ rows.T).toarray())
        for_rows, for_gram = room
        rows, n = copy_rows(self._X, chosen, for_rows), len(chosen)
        gram = for_gram[: n * n].reshape(n, n)
        return Block(chosen, rows, np.matmul(rows, rows.T, out=gram))

    def _own_weights(self, chosen) -> np.ndarray:
        """Latent weights of each row's own class at the frozen models."""
        problem = self._problem
        labels = problem.labels[chosen]
        out = np.empty((len(chosen), problem.n_models), self._values.dtype)

        def of_class(c):
            members = np.flatnonzero(labels == c)
            rows = chosen[members]
            if c in self._fresh:
                out[members] = problem.own(problem.random_weights(None, rows), rows)
            else:
                frozen = self._frozen.part(problem.of_classes(c, c + 1))
                room = self._scratch.get(
                    "values", (len(rows), problem.n_models), out.dtype
                )
                values = frozen.values(picked(self._X, rows, self._scratch), room)
                latent_weights_of_rows(values, problem.q, values)
                out[members] = values

        self._crew.run(of_class, [(c,) for c in np.unique(labels)])
        return out

    def _score(self, block: Block, update: Update | None, group) -> None:
        """Values of a block for a group of classes, after learning from another."""
        self._learn(update, group)
        which = self._problem.of_classes(*group)
        out = self._values[: len(block.chosen), which]
        self._models.part(which).values(block.rows, out)

    def _learn_all(self, update: Update | None) -> None:
        for group in self._groups:
            self._learn(update, group)

    def _learn(self, update: Update | None, group) -> None:
        if update is None:
            return
        first, last = group
        classes = update.touched[:, 1:]
        concerned = ((classes >= first) & (classes < last)).any(axis=1)
        if not concerned.any():
            return
        which = self._problem.of_classes(*group)
        fixed = self._problem.intercept_step, self._scratch
        rows = update.touched[concerned, 0]
        multiples = update.multiples[concerned, which]
        self._models.part(which).add(update.rows, rows, multiples, *fixed)
        if self._sums is not None:
            multiples *= update.earlier[concerned, None]
            self._sums.part(which).add(update.rows, rows, multiples, *fixed)

    def _take_steps(self, block: Block, weights, clock: Clock, losses) -> Update:
        problem, chosen = self._problem, block.chosen
        values = self._values[: len(chosen)]
        own, fixed = weights
        rows = LatentBlock(
            values, block.gram, own, fixed,
            problem.labels[chosen], problem.weights[chosen],
        )  # fmt: skip
        updates = LatentUpdates(self._multiples, self._touched, self._earlier)
        count = latent_steps(rows, problem.q, clock, updates, losses)
        return Update(block.rows, *(part[:count] for part in updates))


class Shrinking:
    """Rows with room to spare are left out for some iterations.

    A row whose loss is below -``_ROOM`` sits out one iteration; each time that it is
    found so again, twice as many as before, up to ``_LONGEST_NAP``.
    """

    def __init__(self, problem: LatentProblem):
        self._visits = problem.visits
        self._length, self._left = np.zeros((2, problem.X.shape[0]), np.int8)

    def awake(self) -> np.ndarray:
        """Rows of the coming iteration: never none, and all of them in the first."""
        left = self._left[self._visits]
        self._left[self._visits] = np.maximum(left - 1, 0)
        return self._visits[left == 0] if (left == 0).any() else self._visits

    def note(self, rows, losses) -> None:
        """Send rows to sleep by the losses they have met."""
        longer = np.clip(2 * self._length[rows], 1, _LONGEST_NAP)
        self._length[rows] = np.where(losses < -_ROOM, longer, 0)
        self._left[rows] = self._length[rows]


def solve_cccp(
    problem: LatentProblem,
    models: Models,
    *,
    latent: LatentWeights | None,
    offset: float,
    max_iter: int,
    average_from: int,
    shuffle: bool,
    shrinking: bool,
    rng: np.random.RandomState,
    freeze_every: int | None = None,
    fresh=(),
    monitor: Monitor = lambda *_: False,
) -> LatentSolution:
    """Minimise by the concave-convex procedure (Algorithms 1 and 2 of the paper).

    ``models`` are updated in place. ``latent`` gives the latent weights of a first
    epoch, in which they stay fixed; None starts from the models as they are. Steps
    are 1 / (alpha (s + s0)) with s counted from the beginning of each iteration and
    s0 growing by 2n from ``offset``; with ``shrinking`` fewer rows are visited, and
    time goes on faster from one to the next. Iterations from ``average_from`` on have
    the mean of their models as their result. Within an iteration latent weights are
    frozen anew after ``freeze_every`` rows. Rows of the ``fresh`` classes have random
    latent weights in the first iteration: models that no row of their own class has
    raised may have no positive values at all.
    """
    n = len(problem.visits)
    shrinking_rows = Shrinking(problem)
    shape = (problem.n_classes, problem.n_models)
    solution = LatentSolution(models, models, shape)
    work = _BLOCK * problem.width * problem.X.size / problem.X.shape[0]
    n_jobs = problem.n_jobs if work > _WORTH_A_THREAD else 1
    try:
        with single_threaded_blas(), ThreadTeam(n_jobs, problem.width) as crew:
            epoch = _Epoch(problem, models, crew)
            if latent is not None:
                order = rng.permutation(problem.visits) if shuffle else problem.visits
                epoch.run(order, offset, latent=latent)
            for iteration in range(1, max_iter + 1):
                awake = shrinking_rows.awake() if shrinking else problem.visits
                order = rng.permutation(awake) if shuffle else awake
                s0 = offset + 2.0 * n * (iteration - 1)
                loss, solution.result = epoch.run(
                    order,
                    s0,
                    freeze_every=freeze_every,
                    fresh=fresh if iteration == 1 else (),
                    average=iteration >= average_from,
                )
                shrinking_rows.note(order, epoch.losses[: len(order)])
                objective = loss + 0.5 * problem.alpha * problem.square(models)
                solution.n_iter += 1
                solution.objective_history.append(objective)
                if monitor(iteration, objective, *solution.learned):
                    break
    except KeyboardInterrupt:
        solution.result = models
        solution.interrupted = True
    return solution
