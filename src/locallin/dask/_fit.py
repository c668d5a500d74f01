"""The course of a fit: survey, sample, anchors, epochs."""

from copy import copy
from itertools import pairwise
from time import monotonic
from typing import NamedTuple

import dask
import numpy as np
from distributed import Future
from sklearn.utils import check_random_state

from locallin.anchors import apportion
from locallin.dask import _scheme as scheme
from locallin.dask._blocks import (
    BlockError,
    delayed_blocks,
    prepared,
    row_counts,
    survey,
)
from locallin.dask._cluster import Session
from locallin.dask._scheme import Plan, Turn
from locallin.dask._targets import RowWeights, target_of
from locallin.methods.links import offset_of
from locallin.methods.skeleton import StreamLearner

# Rows from which scales, first anchors, bandwidth and first steps are chosen.
SAMPLE_ROWS = 20_000
# Steps of Lloyd's algorithm on all rows, after k-means on the sample.
LLOYD_ROUNDS = 3
# Rows that a shard learns from between two averages: at least so many, and so many
# that they are ten times the models that one place gets from all shards.
LEAST_ROWS = 8192
BYTES_PER_BYTE_OF_MODELS = 10.0
# Of the rows of one task, where nothing is averaged.
BYTES_OF_A_TASK = 2**28
# Work that a lost worker may cost, beside the current epoch.
SECONDS_BETWEEN_COPIES = 10.0
# Sums that are added up together.
_SUMMANDS = 16
_LARGEST_SEED = np.iinfo(np.int32).max


class Piece(NamedTuple):
    """Rows that are learned from at one go."""

    block: Future
    codes: Future
    place: str  # in errors
    home: list[str] | None  # addresses of the workers with its block
    n_rows: int


class ClusterFit:
    """A fit whose rows stay on the cluster.

    ``wrapper`` has the settings of the cluster, its ``estimator`` those of the method;
    ``model`` is where learning begins. All random numbers are drawn here, in an order
    that the blocks alone decide.
    """

    def __init__(self, wrapper, model, data: tuple):
        self._wrapper, self._model = wrapper, model
        self._estimator = wrapper.estimator
        self._target = target_of(wrapper.estimator)
        self._session = Session(wrapper.timeout)
        self._rng = check_random_state(self._estimator.random_state)
        self._load(*data)
        self._survey()

    def _load(self, X, y, sample_weight) -> None:
        parts = delayed_blocks(self._target, X, y, sample_weight)
        n_features = self._wrapper.n_features_in_
        task = dask.delayed(prepared, pure=False)
        blocks = [task(*part, self._target, n_features) for part in parts]
        self._session.load(blocks, _names(row_counts(X)))

    def _survey(self) -> None:
        """Count rows and classes, and weigh the classes."""
        session, target = self._session, self._target
        found = session.results(
            [
                session.submit(survey, block, target, name=i)
                for i, block in enumerate(session.blocks)
            ]
        )
        session.places = _names([s.n_rows for s in found])
        _check_dtypes(found, session.places)
        classes = target.of_all([s.classes for s in found if s.n_rows], self._model)
        rows, counted, weights = np.zeros((3, len(found), len(classes)))
        for i, s in enumerate(found):
            own = np.searchsorted(classes, s.classes)
            rows[i, own], counted[i, own], weights[i, own] = s[-3:]
        class_weight = self._estimator.class_weight
        factors = target.factors(class_weight, classes, rows.sum(axis=0))
        counted = (counted * (factors > 0)).sum(axis=1).astype(int)
        if not counted.any():
            raise ValueError("All rows of X have a weight of zero.")
        mean = weights.sum(axis=0) @ factors / counted.sum()
        self._factors = factors
        self._weights = RowWeights(classes, factors / mean)
        self._busy = np.flatnonzero(counted)
        self._rows = counted[self._busy]
        self._bytes_of_a_row = sum(s.n_bytes for s in found) / rows.sum()

    def begin(self) -> Future:
        """Choose anchors, scales and first steps, and share out the rows."""
        session, weights = self._session, self._weights
        plan = int(self._rows.sum()), self._estimator.max_iter
        *seeds, seed, again = self._seeds(len(self._busy) + 2)
        near = session.holders()
        sample = self._draw_sample(seeds, near)
        model = session.submit(scheme.begin, self._model, weights, *plan, seed, *sample)
        may_move = plan[0] > SAMPLE_ROWS and not hasattr(self._model, "coef_")
        clusters = session.submit(scheme.has_clusters, model)
        if may_move and session.results([clusters])[0]:
            for number in range(LLOYD_ROUNDS):
                model = self._move_anchors(model, number, near)
            model = session.submit(
                scheme.begin_again, model, weights, *plan, again, *sample
            )
        self._share_out(model, near)
        self._copied = monotonic()
        # A copy at the client: what is lost with a worker is sent from there again.
        (self._model,) = session.results([model])
        self._begun = session.submit(scheme.keep, self._model, name="begun")
        return session.submit(scheme.share, self._begun, self._plan)

    def _draw_sample(self, seeds, near) -> list[Future]:
        submit, blocks = self._session.submit, self._session.blocks
        sizes = apportion(min(SAMPLE_ROWS, int(self._rows.sum())), self._rows)
        return [
            submit(
                scheme.draw_sample, blocks[i], self._weights, size, own,
                name=i, near=near[i],
            )
            for i, size, own in zip(self._busy, sizes, seeds, strict=True)
            if size
        ]  # fmt: skip

    def _share_out(self, model: Future, near) -> None:
        """Cut the blocks, where models are to be averaged, and form shards."""
        session = self._session
        n_shards = min(self._wrapper.n_shards, len(self._busy))
        n_pieces = 1
        if n_shards > 1:
            (size,) = session.results([session.submit(scheme.count_bytes, model)])
            least = rows_between_averages(n_shards, size, self._bytes_of_a_row)
            n_pieces = np.maximum(1, self._rows // least).astype(int)
        pieces = []
        for i, n_rows, n in np.broadcast(self._busy, self._rows, n_pieces):
            for start, stop in pairwise(np.linspace(0, n_rows, n + 1).astype(int)):
                where = {"name": f"{i}-{start}", "near": near[i]}
                given = scheme.cut, session.blocks[i], self._weights, start, stop
                block = session.submit(*given, **where)
                codes = session.submit(scheme.encode, model, block, **where)
                place = session.places[i]
                pieces.append(Piece(block, codes, place, near[i], stop - start))
        self._pieces = pieces
        session.blocks = [piece.block for piece in pieces]
        session.places = [piece.place for piece in pieces]
        self._shards = np.array_split(np.arange(len(pieces)), n_shards)
        rows = np.array([piece.n_rows for piece in pieces])
        self._plan = Plan(rows, self._estimator.max_iter, n_shards)

    def _move_anchors(self, model: Future, number: int, near) -> Future:
        submit, blocks = self._session.submit, self._session.blocks
        sums = [
            submit(
                scheme.sum_by_anchor, model, blocks[i], self._weights,
                name=f"{number}-{i}", near=near[i],
            )
            for i in self._busy
        ]  # fmt: skip
        level = 0
        while len(sums) > 1:
            groups = range(0, len(sums), _SUMMANDS)
            sums = [
                submit(
                    scheme.add_sums, *sums[at : at + _SUMMANDS],
                    name=f"{number}-{level}-{at}",
                )
                for at in groups
            ]  # fmt: skip
            level += 1
        return submit(scheme.move_anchors, model, sums[0], name=number)

    def epoch(self, number: int, current: Future) -> tuple[Future, np.ndarray]:
        """One pass of all shards from a common model: the next, and its sums."""
        session = self._session
        homes = [piece.home for piece in self._pieces]
        # Pieces may not be there yet.
        near = [
            held or home for held, home in zip(session.holders(), homes, strict=True)
        ]
        current = self._kept(current, number)
        seeds = self._seeds(len(session.blocks))
        for place, runs in enumerate(self._rounds(near)):
            turns = [self._learn(run, number, current, seeds, near) for run in runs]
            if len(turns) == 1:
                (current,) = turns
            else:
                name = f"{number}-{place}"
                current = session.submit(scheme.average, current, *turns, name=name)
        del turns  # dask drops what nobody wants
        (sums,) = session.results([session.submit(scheme.tally, current, name=number)])
        if sums[0] != self._rows.sum():
            raise RuntimeError(
                f"Epoch {number} has seen {sums[0]:.0f} rows, but there are "
                f"{self._rows.sum()}."
            )
        return current, sums

    def _learn(
        self, run: list[int], number: int, current: Future, seeds, near
    ) -> Future:
        """Start to learn from pieces that are in one place."""
        pieces = [self._pieces[i] for i in run]
        blocks, codes, places, *_ = map(list, zip(*pieces, strict=True))
        is_last = number == self._plan.epochs
        turn = Turn(number, is_last, places, [seeds[i] for i in run])
        return self._session.submit(
            scheme.learn, turn, self._begun, current, blocks, codes,
            name=f"epoch-{number}-piece-{run[0]}", near=near[run[0]],
        )  # fmt: skip

    def model(self, current: Future):
        """An estimator with a shared state."""
        (shared,) = self._session.results([current])
        learner = StreamLearner(copy(self._model))
        learner.state = shared.state
        learner.finish()
        if self._estimator.class_weight is not None:
            factors = self._factors
            learner.estimator.proba_offset_ = offset_of(factors, len(factors))
        return learner.estimator

    def _kept(self, current: Future, number: int) -> Future:
        """Have a copy of the model at the client from time to time.

        What is lost with a worker is learned again from there.
        """
        if monotonic() - self._copied < SECONDS_BETWEEN_COPIES:
            return current
        self._copied = monotonic()
        (model,) = self._session.results([current])
        return self._session.submit(scheme.keep, model, name=number)

    def _rounds(self, near) -> list[list[list[int]]]:
        """What each shard learns from in each round."""
        orders = self._shards
        if self._estimator.shuffle:
            orders = [self._rng.permutation(shard) for shard in orders]
        if len(orders) == 1:
            return [[run] for run in self._runs(orders[0], near)]
        n_rounds = self._plan.n_rounds
        return [[[o[r]] for o in orders if r < len(o)] for r in range(n_rounds)]

    def _runs(self, order, near) -> list[list[int]]:
        """Pieces in their order, those together that one task can learn from."""
        n_rows, most = 0, BYTES_OF_A_TASK / self._bytes_of_a_row
        runs: list[list[int]] = []
        for before, i in pairwise([None, *order]):
            n_rows += self._plan.rows[i]
            if runs and near[i] and near[i] == near[before] and n_rows <= most:
                runs[-1].append(i)
            else:
                runs.append([i])
                n_rows = self._plan.rows[i]
        return runs

    def _seeds(self, size: int) -> list[int]:
        return self._rng.randint(_LARGEST_SEED, size=size).tolist()


def rows_between_averages(n_shards: int, model: int, row: float) -> float:
    """How many rows of a shard are worth an average; a model and a row in bytes."""
    return max(LEAST_ROWS, BYTES_PER_BYTE_OF_MODELS * n_shards * model / row)


def _names(counts) -> list[str]:
    """What errors call the blocks, from their rows."""
    stops = np.cumsum(counts)
    names = []
    for i, (count, stop) in enumerate(zip(counts, stops, strict=True)):
        rows = f" (rows {stop - count:.0f} to {stop - 1:.0f})"
        names.append(f"Block {i}" + (rows if np.isfinite(stop) and count else ""))
    return names


def _check_dtypes(found, places) -> None:
    filled = [(s, place) for s, place in zip(found, places, strict=True) if s.n_rows]
    if not filled:
        raise ValueError("X has no rows.")
    first = filled[0][0].dtype
    for s, place in filled:
        if s.dtype != first:
            raise BlockError(
                f"{place} has dtype={s.dtype}, but blocks before it have {first}: "
                "convert X with astype."
            )
