"""Raw tables on a cluster: a sample chooses, then each member is fitted in rounds."""

from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from locallin.anchors import apportion
from locallin.dask._blocks import delayed_blocks
from locallin.dask._targets import Target, target_of
from locallin.data.blocks import joined, taken
from locallin.engine.sklearn_api import clone_without_callbacks
from locallin.methods.table_streams import TableLearner
from locallin.streams.run import StreamSurvey

# Rows from which encoder and settings are chosen.
_SAMPLE_ROWS = 20_000
_LARGEST_SEED = np.iinfo(np.int32).max


class Encoded(NamedTuple):
    """Rows that members learn from, on the cluster; y and weights beside them."""

    X: Any
    y: Any
    weights: Any


def fit_table(estimator, data: tuple, fit_member):
    """A fitted copy of a table estimator.

    ``fit_member`` takes a member that is not fitted and an :class:`Encoded`, and
    returns one that is.
    """
    if estimator.warm_start:
        raise ValueError(
            "warm_start=True goes on from members, which a cluster makes anew: use "
            "warm_start=False."
        )
    target = target_of(estimator)
    blocks = delayed_blocks(target, *data)
    counts, classes = _survey(blocks, target)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rng = check_random_state(estimator.random_state)
    seeds = rng.randint(_LARGEST_SEED, size=len(blocks)).tolist()
    sample, places = _draw(blocks, counts, starts, seeds)
    model = clone_without_callbacks(estimator)
    learner = TableLearner(model)
    learner.begin(StreamSurvey(classes, int(starts[-1]), sample, places), 1, rng)
    encoded = _encode(learner, blocks, counts, starts, sample[1][:0])
    learner.replace_members(
        [fit_member(clone(one.estimator), encoded) for one in learner.members]
    )
    learner.settle()
    return model


def _survey(blocks: list[tuple], target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each block, and all classes."""
    task = dask.delayed(_classes_of, pure=False)
    found = dask.compute(*(task(y, target) for _, y, _ in blocks))
    counts = np.array([count for count, _ in found])
    if not counts.sum():
        raise ValueError("X has no rows.")
    classes = [own for count, own in found if count]
    return counts, np.unique(np.concatenate(classes))


def _classes_of(y, target: Target) -> tuple[int, np.ndarray]:
    y = np.asarray(y)
    return len(y), target.groups(y)[0]


def _draw(blocks, counts, starts, seeds) -> tuple[tuple, np.ndarray]:
    """Rows from every block in proportion to its own, and their places."""
    sizes = apportion(min(_SAMPLE_ROWS, int(starts[-1])), counts)
    task = dask.delayed(_draw_from, pure=False)
    parts = dask.compute(
        *(
            task(block, int(size), seed)
            for block, size, seed in zip(blocks, sizes, seeds, strict=True)
            if size
        )
    )
    firsts = [start for start, size in zip(starts[:-1], sizes, strict=True) if size]
    places = [first + chosen for first, (_, chosen) in zip(firsts, parts, strict=True)]
    return joined([rows for rows, _ in parts]), np.concatenate(places)


def _draw_from(block: tuple, size: int, seed: int) -> tuple[tuple, np.ndarray]:
    X, y, weights = block
    rng = np.random.RandomState(seed)
    chosen = np.sort(rng.choice(X.shape[0], size, replace=False))
    beside = [
        None if part is None else np.asarray(part)[chosen] for part in (y, weights)
    ]
    return (taken(X, chosen), *beside), chosen


def _encode(learner: TableLearner, blocks, counts, starts, no_y) -> Encoded:
    """What members learn from, block by block where the blocks are.

    ``no_y`` is the target of no rows.
    """
    shared = dask.delayed(learner, pure=False, traverse=False)
    task = dask.delayed(_encode_block, pure=False, nout=3)
    like = learner.members[0].estimator
    width, dtype = like.n_features_in_, like.coef_.dtype
    meta = np.empty((0, width), dtype)
    if learner.gives_sparse:
        meta = sparse.csr_matrix(meta)
    parts: list[list] = [[], [], []]
    for block, count, start in zip(blocks, counts, starts[:-1], strict=True):
        if not count:
            continue
        n_rows = int(count) - learner.count_held(int(start), int(start + count))
        found = task(shared, block, int(start))
        shapes = (
            ((n_rows, width), meta),
            ((n_rows, *no_y.shape[1:]), no_y),
            ((n_rows,), np.empty(0)),
        )
        for part, one, (shape, kind) in zip(parts, found, shapes, strict=True):
            part.append(da.from_delayed(one, shape, meta=kind))
    return Encoded(*map(da.concatenate, parts))


def _encode_block(learner: TableLearner, block: tuple, start: int) -> tuple:
    X, y, weights = block
    beside = [None if part is None else np.asarray(part) for part in (y, weights)]
    X, y, weights = learner.encoded((X, *beside), start)
    return X, y, np.ones(len(y)) if weights is None else weights
