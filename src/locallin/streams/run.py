"""Learning from streams: a survey, buffers of rows, checkpoints, progress."""

from collections.abc import Iterator
from itertools import chain
from numbers import Integral
from typing import NamedTuple

import joblib
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.data import Batches
from locallin.data.blocks import after, as_values, count, joined, regrouped, taken
from locallin.engine.invariants import check_fitted
from locallin.engine.progress import Progress
from locallin.engine.sklearn_api import fitted_attributes, forget, interruptible
from locallin.streams.checkpoint import Checkpoints

_SECONDS_BETWEEN_LINES = 5.0
# Classes of a stream of numbers: none are looked for.
NO_CLASSES = np.empty(0)
# Parameters that do not change the model.
_WITHOUT_EFFECT = ("n_jobs", "verbose")


class StreamSettings(NamedTuple):
    """Passes over a stream, and the rows that are held."""

    classes: np.ndarray | None
    epochs: int
    n_rows: int | None
    scan: bool
    sample_size: int
    buffer_size: int
    checkpoint_every: int

    def check(self) -> None:
        """Refuse what is no number of passes or rows."""
        for name in (
            "epochs", "n_rows", "sample_size", "buffer_size", "checkpoint_every",
        ):  # fmt: skip
            value = getattr(self, name)
            if name == "n_rows" and value is None:
                continue
            if not (isinstance(value, Integral) and int(value) >= 1):
                raise ValueError(f"{name}={value!r} must be a whole number from 1 on.")


class StreamSurvey(NamedTuple):
    """Facts about a stream, found before learning begins.

    ``places`` are those of the sample's rows in the stream, ascending; None where they
    are not known.
    """

    classes: np.ndarray
    n_rows: int
    sample: tuple
    places: np.ndarray | None = None


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
        self._places: list[np.ndarray] = []
        self._held = self.n_rows = 0

    def offer(self, block: tuple) -> None:
        """Take a block of rows into account."""
        numbers = self._rng.random_sample(count(block))
        chosen = np.flatnonzero(numbers < self._limit)
        self._places.append(self.n_rows + chosen)
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
        self._places = [np.concatenate(self._places)[kept]]
        self._held = len(kept)
        if self._held == self._size:
            self._limit = float(numbers[kept].max())

    def sample(self) -> tuple:
        """The sample, in the order of the stream."""
        self._prune()
        return self._blocks[0]

    def places(self) -> np.ndarray:
        """Where the rows of the sample are in the stream."""
        return self._places[0]


class StreamPasses:
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
    return tuple(None if part is None else taken(part, rows) for part in block)


def _labelled(block: tuple) -> tuple:
    if block[1] is None:
        raise ValueError("The stream has no labels: blocks must be (X, y).")
    return block


def survey(passes: StreamPasses, settings: StreamSettings, rng) -> StreamSurvey:
    """Look at a stream: at all of it, or at its head."""
    if settings.scan and not passes.once:
        return _survey_of_all(passes, settings, rng)
    classes, n_rows = settings.classes, settings.n_rows
    if classes is None or n_rows is None:
        missing = [n for n in ("classes", "n_rows") if getattr(settings, n) is None]
        raise ValueError(
            f"{' and '.join(missing)} must be given where the stream is not scanned "
            "beforehand: classes are all labels that can come, n_rows the number of "
            "rows, which plans the steps (a guess will do)."
        )
    sample = _chosen(passes.head(settings.sample_size), slice(settings.sample_size))
    return StreamSurvey(classes, n_rows, sample, np.arange(count(sample)))


def _survey_of_all(passes: StreamPasses, settings: StreamSettings, rng) -> StreamSurvey:
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
    n_rows, sample = settings.n_rows or reservoir.n_rows, reservoir.sample()
    return StreamSurvey(found, n_rows, sample, reservoir.places())


class StreamProgress:
    """Progress of a run over a stream, a step for each buffer."""

    def __init__(self, learner, n_rows: int, settings: StreamSettings, n_buffers):
        n_steps = settings.epochs * n_buffers
        self._learner, self._estimator = learner, learner.estimator
        self._progress = Progress(
            self._estimator, n_steps, every=_SECONDS_BETWEEN_LINES
        )
        self._n_rows, self._epochs = n_rows, settings.epochs
        self._learned = self._steps = 0

    def note(self, epoch: int, row: int, learned: int) -> bool:
        """Take note of rows that were learned from; True where a callback says stop."""
        self._learned += learned
        self._steps += 1
        return self._progress.step(
            self._steps,
            lambda: self._text(epoch, row),
            self._attributes,
            landmark=row >= self._n_rows,
        )

    def _text(self, epoch: int, row: int) -> str:
        speed = self._learned / self._progress.seconds
        left = max(0, (self._epochs - epoch) * self._n_rows - row) / speed
        return (
            f"epoch {epoch + 1}/{self._epochs}, row {row:,} of {self._n_rows:,}: "
            f"objective {self._learner.objective:.4g}, {speed:,.0f} rows/s, "
            f"{left:.0f} s left"
        )

    def _attributes(self) -> dict:
        return fitted_attributes(self._estimator)

    def end(self) -> None:
        """Close the run."""
        self._progress.end(self._attributes)


class StreamRun:
    """A run over a stream: its position, and how it goes on.

    ``learner`` learns from blocks: a :class:`locallin.methods.skeleton.StreamLearner`,
    or what has its methods.
    """

    def __init__(self, learner, source: Batches, settings: StreamSettings, checkpoint):
        if source.once and settings.epochs > 1:
            raise ValueError(
                f"epochs={settings.epochs}, but {source.name} can be gone through only "
                "once: pass a path, a list, or a function that returns an iterator."
            )
        self._learner, self._estimator = learner, learner.estimator
        self._settings = settings
        self._passes = StreamPasses(source)
        self._rng = check_random_state(self._estimator.random_state)
        self._epoch = self._row = 0
        self._checkpoints = None
        if checkpoint is not None:
            first = _chosen(self._passes.head(1), slice(1))
            run = _identity(self._estimator, settings, first)
            self._checkpoints = Checkpoints(checkpoint, run)

    def start(self) -> None:
        """Go on from a checkpoint, or choose what a sample decides."""
        if self._checkpoints is not None and self._resume(self._checkpoints):
            return
        estimator, settings = self._estimator, self._settings
        if not (estimator.warm_start and estimator.__sklearn_is_fitted__()):
            forget(estimator)
        found = survey(self._passes, settings, self._rng)
        self._n_rows = found.n_rows
        self._learner.begin(found, settings.epochs, self._rng)

    def _resume(self, checkpoints: Checkpoints) -> bool:
        """Go on from a checkpoint; False where there is none."""
        saved = checkpoints.load()
        if saved is None:
            return False
        try:
            self._restore(saved)
        except (LookupError, TypeError, ValueError) as error:
            raise checkpoints.unusable(error) from error
        return True

    def _restore(self, saved: dict) -> None:
        vars(self._estimator).update(saved["learned"])
        check_is_fitted(self._estimator)
        check_fitted(self._estimator)
        self._rng.set_state(saved["rng"])
        position = saved["position"]
        if not all(isinstance(n, int) and n >= 0 for n in position):
            raise ValueError(f"position is {position!r:.50}")
        self._n_rows, self._epoch, self._row = position

    def learn(self) -> bool:
        """Learn to the end; True where Ctrl-C ended it before."""
        try:
            interrupted = self._learn()
        except KeyboardInterrupt:
            interrupted = True
        self._learner.settle()
        return interrupted

    def _learn(self) -> bool:
        settings = self._settings
        n_buffers = -(-self._n_rows // settings.buffer_size)
        progress = StreamProgress(self._learner, self._n_rows, settings, n_buffers)
        while self._epoch < settings.epochs:
            blocks = regrouped(self._passes.blocks(self._row), settings.buffer_size)
            for number, block in enumerate(blocks, 1):
                if self._learn_from(block):
                    return True
                self._row += count(block)
                stop = progress.note(self._epoch, self._row, count(block))
                if stop or number % settings.checkpoint_every == 0:
                    self._save()
                if stop:
                    return False
            self._epoch, self._row = self._epoch + 1, 0
        self._save()
        self._learner.finish()
        progress.end()
        return False

    def _learn_from(self, block: tuple) -> bool:
        last_pass = self._epoch + 1 == self._settings.epochs
        return self._learner.learn(block, self._rng, last_pass=last_pass, row=self._row)

    def _save(self) -> None:
        if self._checkpoints is None:
            return
        self._checkpoints.save(
            {
                "learned": fitted_attributes(self._estimator),
                "rng": self._rng.get_state(),
                "position": (self._n_rows, self._epoch, self._row),
            }
        )


def _identity(estimator, settings: StreamSettings, first: tuple) -> dict[str, str]:
    """Fingerprints by which one run is told from another."""
    given = {
        name: value
        for name, value in estimator.get_params().items()
        if name not in _WITHOUT_EFFECT
    }
    given |= settings._asdict()
    del given["checkpoint_every"]
    X, *beside = first
    given["the first row"] = as_values(X), *beside
    hashes = {name: joblib.hash(value) for name, value in given.items()}
    return {"estimator": type(estimator).__name__, **hashes}


def learn_from_stream(learner, source: Batches, settings: StreamSettings, checkpoint):
    """Let a learner go through a stream; Ctrl-C leaves what it has reached."""
    settings.check()
    with interruptible(learner.estimator) as run:
        stream = StreamRun(learner, source, settings, checkpoint)
        stream.start()
        run.interrupted = stream.learn()
