"""Learning from streams: a survey, buffers of rows, checkpoints, progress."""

import time
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from locallin.data import Batches
from locallin.data.blocks import after, count, joined, regrouped
from locallin.streams.checkpoint import Checkpoints

_SECONDS_BETWEEN_LINES = 5.0
# Parameters that do not change the model.
_WITHOUT_EFFECT = ("n_jobs", "verbose")


class Settings(NamedTuple):
    """How to go through a stream."""

    classes: np.ndarray | None
    epochs: int
    n_rows: int | None
    scan: bool
    sample_size: int
    buffer_size: int


class Survey(NamedTuple):
    """What is known of a stream before learning begins."""

    classes: np.ndarray
    n_rows: int
    sample: tuple


class Reservoir:
    """A uniform sample without replacement of all rows that were offered.

    Every row draws a number, and those with the smallest are kept: which rows these
    are does not depend on how the stream is cut into blocks.
    """

    def __init__(self, size: int, rng: np.random.RandomState):
        self._size, self._rng = size, rng
        self._limit = np.inf
        self._numbers: list[np.ndarray] = []
        self._blocks: list[tuple] = []
        self._held = self.n_rows = 0

    def offer(self, block: tuple) -> None:
        """Take a block of rows into account."""
        numbers = self._rng.random_sample(count(block))
        chosen = np.flatnonzero(numbers < self._limit)
        self.n_rows += len(numbers)
        if not len(chosen):
            return
        self._numbers.append(numbers[chosen])
        self._blocks.append(_chosen(block, chosen))
        self._held += len(chosen)
        if self._held > 2 * self._size:
            self._prune()

    def _prune(self) -> None:
        numbers = np.concatenate(self._numbers)
        kept = np.sort(np.argsort(numbers, kind="stable")[: self._size])
        self._numbers = [numbers[kept]]
        self._blocks = [_chosen(joined(self._blocks), kept)]
        self._held = len(kept)
        if self._held == self._size:
            self._limit = float(numbers[kept].max())

    def sample(self) -> tuple:
        """The sample, in the order of the stream."""
        self._prune()
        return self._blocks[0]


class Passes:
    """Passes over a source. What is looked at beforehand is not lost."""

    def __init__(self, source: Batches):
        self._source = source
        self._seen: list[tuple] = []
        self._rest: Iterator[tuple] | None = None

    @property
    def once(self) -> bool:
        """Whether there is one pass only."""
        return self._source.once

    def head(self, n_rows: int) -> tuple:
        """At least so many of the first rows, or all."""
        if self._rest is None:
            self._rest = self._source.iterate()
        while sum(map(count, self._seen)) < n_rows:
            block = next(self._rest, None)
            if block is None:
                break
            self._seen.append(_labelled(block))
        return joined(self._seen)

    def blocks(self, skip: int = 0) -> Iterator[tuple]:
        """A pass, after some rows."""
        seen, rest = self._seen, self._rest
        self._seen, self._rest = [], None
        if self.once and rest is not None:
            return after(self._source.name, chain(seen, rest), skip)
        return map(_labelled, self._source.iterate(skip))


def _chosen(block: tuple, rows) -> tuple:
    return tuple(None if part is None else part[rows] for part in block)


def _labelled(block: tuple) -> tuple:
    if block[1] is None:
        raise ValueError("The stream has no labels: blocks must be (X, y).")
    return block


def survey(passes: Passes, settings: Settings, rng) -> Survey:
    """Look at a stream: at all of it, or at its head."""
    if settings.scan and not passes.once:
        return _survey_of_all(passes, settings, rng)
    missing = [n for n in ("classes", "n_rows") if getattr(settings, n) is None]
    if missing:
        raise ValueError(
            f"{' and '.join(missing)} must be given where the stream is not scanned "
            "beforehand: classes are all labels that can come, n_rows the number of "
            "rows, which plans the steps (a guess will do)."
        )
    sample = _chosen(passes.head(settings.sample_size), slice(settings.sample_size))
    return Survey(settings.classes, settings.n_rows, sample)


def _survey_of_all(passes: Passes, settings: Settings, rng) -> Survey:
    reservoir = Reservoir(settings.sample_size, rng)
    found = settings.classes
    classes = []
    for block in passes.blocks():
        reservoir.offer(block)
        if found is None:
            classes.append(np.unique(block[1]))
            if len(classes) > 64:
                classes = [np.unique(np.concatenate(classes))]
    if found is None:
        found = np.unique(np.concatenate(classes))
    return Survey(found, settings.n_rows or reservoir.n_rows, reservoir.sample())


class Progress:
    """Prints how far a run is, every few seconds."""

    def __init__(self, estimator, n_rows: int, epochs: int):
        self._name = type(estimator).__name__
        self._quiet = not estimator.verbose
        self._n_rows, self._epochs = n_rows, epochs
        self._began = self._last = time.perf_counter()
        self._learned = 0

    def note(self, epoch: int, row: int, learned: int, objective: float) -> None:
        """Take note of rows that were learned from."""
        self._learned += learned
        now = time.perf_counter()
        waiting = now - self._last < _SECONDS_BETWEEN_LINES and row < self._n_rows
        if self._quiet or waiting:
            return
        self._last = now
        speed = self._learned / (now - self._began)
        left = max(0, (self._epochs - epoch) * self._n_rows - row) / speed
        print(
            f"[{self._name}] epoch {epoch + 1}/{self._epochs}, row {row:,} of "
            f"{self._n_rows:,}: objective {objective:.4g}, {speed:,.0f} rows/s, "
            f"{left:.0f} s left",
            flush=True,
        )


class Run:
    """A run over a stream: where it stands, and how it goes on."""

    def __init__(self, estimator, source: Batches, settings: Settings, checkpoint):
        if source.once and settings.epochs > 1:
            raise ValueError(
                f"epochs={settings.epochs}, but {source.name} can be gone through only "
                "once: pass a path, a list, or a function that returns an iterator."
            )
        self._estimator = estimator
        self._settings = settings
        self._passes = Passes(source)
        self._rng = check_random_state(estimator.random_state)
        self._epoch = self._row = 0
        self._checkpoints = None
        if checkpoint is not None:
            first = _chosen(self._passes.head(1), slice(1))
            run = _identity(estimator, settings, first)
            self._checkpoints = Checkpoints(checkpoint, run)

    def start(self) -> None:
        """Go on from a checkpoint, or choose what a sample decides."""
        saved = self._checkpoints.load() if self._checkpoints else None
        if saved is not None:
            vars(self._estimator).update(saved["learned"])
            self._rng.set_state(saved["rng"])
            self._n_rows, self._epoch, self._row = saved["position"]
            return
        estimator, settings = self._estimator, self._settings
        if not (estimator.warm_start and hasattr(estimator, "coef_")):
            forget(estimator)
        classes, self._n_rows, sample = survey(self._passes, settings, self._rng)
        X, y, *weights = sample
        given = estimator._take_block(X, y, classes, *weights or [None])
        given = given._replace(rng=self._rng, n_rows=self._n_rows)
        estimator._begin_stream(given, settings.epochs)
        estimator._detach()

    def learn(self, checkpoint_every: int) -> bool:
        """Learn to the end; True where Ctrl-C ended it before."""
        try:
            return self._learn(checkpoint_every)
        except KeyboardInterrupt:
            return True

    def _learn(self, checkpoint_every: int) -> bool:
        settings = self._settings
        progress = Progress(self._estimator, self._n_rows, settings.epochs)
        while self._epoch < settings.epochs:
            blocks = regrouped(self._passes.blocks(self._row), settings.buffer_size)
            for number, block in enumerate(blocks, 1):
                if self._learn_from(block):
                    return True
                self._row += count(block)
                objective = self._estimator.objective_history_[-1]
                progress.note(self._epoch, self._row, count(block), objective)
                if number % checkpoint_every == 0:
                    self._save()
            self._epoch, self._row = self._epoch + 1, 0
        self._save()
        self._estimator._end_stream()
        return False

    def _learn_from(self, block: tuple) -> bool:
        X, y, *weights = block
        given = self._estimator._take_block(X, y, None, *weights or [None])
        last_pass = self._epoch + 1 == self._settings.epochs
        given = given._replace(rng=self._rng, last_pass=last_pass)
        return self._estimator._partial_fit(given)

    def _save(self) -> None:
        if self._checkpoints is None:
            return
        parameters = self._estimator.get_params(deep=False)
        learned = {
            name: value
            for name, value in vars(self._estimator).items()
            if name not in parameters and name != "_skl_callbacks"
        }
        self._checkpoints.save(
            {
                "learned": learned,
                "rng": self._rng.get_state(),
                "position": (self._n_rows, self._epoch, self._row),
            }
        )


def _identity(estimator, settings: Settings, first: tuple) -> dict[str, str]:
    """What makes one run differ from another."""
    given = {
        name: value
        for name, value in estimator.get_params().items()
        if name not in _WITHOUT_EFFECT
    }
    given |= settings._asdict()
    X, *beside = first
    given["the first row"] = X.toarray() if sparse.issparse(X) else X, *beside
    hashes = {name: joblib.hash(value) for name, value in given.items()}
    return {"estimator": type(estimator).__name__, **hashes}


def forget(estimator) -> None:
    """Drop what an earlier fit has left, but for callbacks."""
    kept = {*vars(clone(estimator)), "_skl_callbacks"}
    for name in set(vars(estimator)) - kept:
        delattr(estimator, name)
