"""The course of a fit: survey, sample, anchors, epochs."""

from time import monotonic

import dask
import numpy as np
from distributed import Future
from sklearn.utils import check_random_state, compute_class_weight

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
from locallin.dask._scheme import Plan, Recipe

# Rows from which scales, first anchors, bandwidth and first steps are chosen.
SAMPLE_ROWS = 20_000
# Steps of Lloyd's algorithm on all rows, after k-means on the sample.
LLOYD_ROUNDS = 3
# Work that a lost worker may cost, beside the current epoch.
SECONDS_BETWEEN_COPIES = 10.0
# Sums that are added up together.
_SUMMANDS = 16
_LARGEST_SEED = np.iinfo(np.int32).max


class ClusterFit:
    """A fit whose rows stay on the cluster.

    ``learner`` is a local estimator, ``estimator`` the one with the settings. All
    random numbers are drawn here, in an order that the blocks alone decide.
    """

    def __init__(self, estimator, learner, data: tuple):
        self._estimator, self._learner = estimator, learner
        self._session = Session(estimator.timeout)
        self._rng = check_random_state(estimator.random_state)
        self._load(*data)
        self._survey()

    def _load(self, X, y, sample_weight) -> None:
        parts = delayed_blocks(X, y, sample_weight)
        n_features = self._estimator.n_features_in_
        task = dask.delayed(prepared, pure=False)
        blocks = [task(*part, n_features) for part in parts]
        self._session.load(blocks, _names(row_counts(X)))

    def _survey(self) -> None:
        """Count rows and classes, and weigh the classes."""
        session, estimator = self._session, self._estimator
        found = session.results(
            [
                session.submit(survey, block, name=i)
                for i, block in enumerate(session.blocks)
            ]
        )
        session.places = _names([s.n_rows for s in found])
        _check_dtypes(found, session.places)
        known = getattr(self._learner, "classes_", None)
        classes = np.unique(np.concatenate([s.classes for s in found if s.n_rows]))
        classes = estimator._stream_classes(classes, known)
        rows, counted, weights = np.zeros((3, len(found), len(classes)))
        for i, s in enumerate(found):
            own = np.searchsorted(classes, s.classes)
            rows[i, own], counted[i, own], weights[i, own] = s[-3:]
        factors = _class_factors(estimator.class_weight, classes, rows.sum(axis=0))
        counted = (counted * (factors > 0)).sum(axis=1).astype(int)
        if not counted.any():
            raise ValueError("All rows of X have a weight of zero.")
        mean = weights.sum(axis=0) @ factors / counted.sum()
        self._recipe = Recipe(classes, factors / mean)
        self._busy = np.flatnonzero(counted)
        n_shards = min(estimator.n_shards, len(self._busy))
        self._shards = np.array_split(self._busy, n_shards)
        n_rounds = len(self._shards[0])
        self._plan = Plan(counted[self._busy], estimator.max_iter, n_shards, n_rounds)

    def begin(self) -> Future:
        """Choose anchors, scales and first steps."""
        session, recipe, blocks = self._session, self._recipe, self._session.blocks
        n_rows = self._plan.rows.sum()
        sizes = apportion(min(SAMPLE_ROWS, n_rows), self._plan.rows)
        *seeds, seed, again = self._seeds(len(self._busy) + 2)
        near = session.holders()
        sample = [
            session.submit(
                scheme.drawn, blocks[i], recipe, size, own, name=i, near=near[i]
            )
            for i, size, own in zip(self._busy, sizes, seeds, strict=True)
            if size
        ]
        task = scheme.begun, self._learner, recipe, self._plan, seed, *sample
        learner = session.submit(*task)
        may_move = n_rows > SAMPLE_ROWS and not hasattr(self._learner, "coef_")
        clusters = session.submit(scheme.has_clusters, learner)
        if may_move and session.results([clusters])[0]:
            for number in range(LLOYD_ROUNDS):
                learner = self._move_anchors(learner, number, near)
            task = scheme.begun_again, learner, recipe, self._plan, again, *sample
            learner = session.submit(*task)
        self._codes = {
            i: session.submit(
                scheme.coded, learner, blocks[i], recipe, name=i, near=near[i]
            )
            for i in self._busy
        }
        self._copied = monotonic()
        return session.submit(scheme.common, learner)

    def _move_anchors(self, learner: Future, number: int, near) -> Future:
        submit, blocks = self._session.submit, self._session.blocks
        sums = [
            submit(
                scheme.gathered, learner, blocks[i], self._recipe,
                name=f"{number}-{i}", near=near[i],
            )
            for i in self._busy
        ]  # fmt: skip
        level = 0
        while len(sums) > 1:
            groups = range(0, len(sums), _SUMMANDS)
            sums = [
                submit(
                    scheme.added, *sums[at : at + _SUMMANDS],
                    name=f"{number}-{level}-{at}",
                )
                for at in groups
            ]  # fmt: skip
            level += 1
        return submit(scheme.moved, learner, sums[0], name=number)

    def epoch(self, number: int, current: Future) -> tuple[Future, np.ndarray]:
        """One pass of all shards from a common model: the next, and its sums."""
        session = self._session
        near = session.holders()
        current = self._kept(current, number)
        for place, blocks in enumerate(self._rounds()):
            seeds = self._seeds(len(blocks))
            turns = [
                session.submit(
                    scheme.learned, session.places[i], number, current,
                    session.blocks[i], self._codes[i], self._recipe, seed,
                    name=f"epoch-{number}-block-{i}", near=near[i],
                )
                for i, seed in zip(blocks, seeds, strict=True)
            ]  # fmt: skip
            if len(turns) == 1:
                (current,) = turns
            else:
                name = f"{number}-{place}"
                current = session.submit(scheme.averaged, current, *turns, name=name)
        del turns  # dask drops what nobody wants
        (sums,) = session.results([session.submit(scheme.tally, current, name=number)])
        if sums[0] != self._plan.rows.sum():
            raise RuntimeError(
                f"Epoch {number} has seen {sums[0]:.0f} rows, but there are "
                f"{self._plan.rows.sum()}."
            )
        return current, sums

    def learner(self, current: Future):
        """The estimator of a common model."""
        return self._session.results([current])[0].learner

    def _kept(self, current: Future, number: int) -> Future:
        """Have a copy of the model at the client from time to time.

        What is lost with a worker is learned again from there.
        """
        if monotonic() - self._copied < SECONDS_BETWEEN_COPIES:
            return current
        self._copied = monotonic()
        (model,) = self._session.results([current])
        return self._session.submit(scheme.resumed, model, name=number)

    def _rounds(self) -> list[list[int]]:
        """Blocks that are learned from at the same time, round after round."""
        orders = self._shards
        if self._estimator.shuffle:
            orders = [self._rng.permutation(shard) for shard in orders]
        n_rounds = len(orders[0])
        return [[o[r] for o in orders if r < len(o)] for r in range(n_rounds)]

    def _seeds(self, size: int) -> list[int]:
        return self._rng.randint(_LARGEST_SEED, size=size).tolist()


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


def _class_factors(class_weight, classes, rows) -> np.ndarray:
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):  # "balanced"
        return rows.sum() / (len(classes) * rows)
    return compute_class_weight(class_weight, classes=classes, y=classes)
