"""Training on files larger than memory."""

import time
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from locallin.cli._files import Model
from locallin.cli._methods import CLASSIFICATION, REGRESSION, TABLE_METHOD
from locallin.cli._parser import UsageError
from locallin.cli._tables import (
    as_numbers,
    asks_for_table,
    given_kinds,
    signs_of,
    tell_doubts,
    tell_notes,
)
from locallin.cli._training import (
    Trained,
    about_data,
    about_table,
    check_classes,
    check_task,
    ending,
    is_dense,
    label_place,
    make_pipeline,
    reading_options,
    scaling,
    was_interrupted,
    with_classes,
)
from locallin.data import DataError
from locallin.data.batching import Batches, make_batches, make_tables
from locallin.data.blocks import is_table
from locallin.data.columns import Columns
from locallin.data.reading import head
from locallin.data.source import NoNumbersError, Options
from locallin.streams.run import Reservoir

_EPOCHS = 10
# Rows that an encoder is fitted to.
_SAMPLE_ROWS = 20_000


class ScaledRows:
    """The rows of a file as the classifier takes them, pass after pass."""

    def __init__(self, args):
        options = reading_options(args)
        if args.n_features is not None:
            options = replace(options, features=args.n_features)
        self._source: Batches = make_batches(args.data, None, options)
        _refuse_pipe(args)
        X, y, *_ = next(iter(self._source))
        if y is None:
            raise DataError(f"{args.data} has no labels to learn from.")
        self.dense = is_dense(args, X)
        self.scale = scaling(args, X.toarray() if self._must_unpack(X) else X)
        self.names = self._source.names
        self.label = "auto" if args.label is None else args.label
        self.about: dict[str, Any] = {}
        self.n_rows = 0
        self._scaler: Any = None
        self._weight = 0.0
        self._collects = args.task != REGRESSION

    def _must_unpack(self, X) -> bool:
        return self.dense and sparse.issparse(X)

    def raw(self):
        """Blocks as they are in the file, dense where they have to be."""
        for X, *beside in self._source:
            yield X.toarray() if self._must_unpack(X) else X, *beside

    def survey(self, scaler) -> np.ndarray:
        """Fit the scaler, count the rows, add up weights; return the classes."""
        classes: list[np.ndarray] = []
        for X, y, *weights in self.raw():
            self.n_rows += len(y)
            self._weight += float(weights[0].sum()) if weights else len(y)
            if self._collects:
                classes = [np.unique(np.concatenate([*classes, np.unique(y)]))]
            if scaler is not None:
                # Rows of norm 1 need nothing from the rows before.
                getattr(scaler, "partial_fit", scaler.fit)(X)
        check_weight(self._source.name, self._weight)
        self._scaler = scaler
        return classes[0] if classes else np.empty(0)

    def __call__(self):
        """A pass over the scaled rows; their weights have a mean of one."""
        for X, y, *weights in self.raw():
            X = X if self._scaler is None else self._scaler.transform(X)
            yield X, y, *(part * (self.n_rows / self._weight) for part in weights)


class TableRows:
    """The rows of files as tables, pass after pass."""

    scale, dense = "table", True

    def __init__(self, args, options: Options, table: Any, columns: Columns):
        given = given_kinds(args, table, columns)
        self._args, self._signs = args, signs_of(args)
        self._source = make_tables(args.data, None, options, None, given, self._signs)
        kinds = self._source.kinds
        tell_doubts(args, table, kinds)
        self.names, self.label = list(kinds), label_place(columns)
        self.about = about_table(args, kinds, columns)
        self.n_rows, self._weight, self._encoder = 0, 0.0, None

    def raw(self):
        """Blocks as frames."""
        for X, y, *weights in self._source:
            if y is None:
                raise DataError(f"{self._args.data} has no labels to learn from.")
            if self._args.task == REGRESSION:
                y = as_numbers(self._args, y)
            yield X, y, *weights

    def survey(self, encoder) -> np.ndarray:
        """Count the rows, add up weights, fit the encoder; return the classes."""
        classes: list[np.ndarray] = []
        seed = self._args.seed
        sample = Reservoir(_SAMPLE_ROWS, np.random.RandomState(seed))
        for X, y, *weights in self.raw():
            self.n_rows += len(y)
            self._weight += float(weights[0].sum()) if weights else len(y)
            if self._args.task != REGRESSION:
                classes = [np.unique(np.concatenate([*classes, np.unique(y)]))]
            if encoder is not None:
                sample.offer((X, y))
        check_weight(self._source.name, self._weight)
        if encoder is not None:
            # Rows of the sample come again: means of the target would tell theirs.
            encoder.set_params(target_means="none")
            self._encoder = encoder.fit(*sample.sample())
        return classes[0] if classes else np.empty(0)

    def __call__(self):
        """A pass over the rows; their weights have a mean of one."""
        for X, y, *weights in self.raw():
            X = X if self._encoder is None else self._encoder.transform(X)
            yield X, y, *(part * (self.n_rows / self._weight) for part in weights)


def _refuse_pipe(args) -> None:
    if str(args.data) == "-":
        raise UsageError("--stream goes through DATA several times: give a file")


def check_weight(name: str, total: float) -> None:
    """Refuse weights that leave nothing."""
    if not total > 0:
        raise DataError(f"The weights of {name} have no positive sum.")


def _open_rows(args, settings):
    """Rows of numbers, or tables where there is text or a gap, or one is asked for.

    Returns them, a pipeline whose first steps are fitted, and the classes.
    """
    if args.method == TABLE_METHOD or asks_for_table(args):
        return _surveyed(args, settings, _tables(args))
    try:
        return _surveyed(args, settings, ScaledRows(args))
    except NoNumbersError:
        if find_spec("pyarrow") is None:
            raise
        return _surveyed(args, settings, _tables(args))


def _tables(args) -> TableRows | ScaledRows:
    """The rows as tables, where the files hold such."""
    _refuse_pipe(args)
    options = replace(reading_options(args), table=True)
    first, columns = head(args.data, options)
    if not is_table(first):
        return ScaledRows(args)
    return TableRows(args, options, first, columns)


def _surveyed(args, settings, rows):
    if args.method == TABLE_METHOD:
        scaling(args, None)  # refuses what is not for it
        rows.scale = "none"
    pipeline = make_pipeline(rows.scale, args.method, settings, args.task)
    if not hasattr(pipeline[-1], "fit_stream"):
        advice = ": add --solver sgd" if args.method == "ll" else ""
        raise UsageError(f"--method {args.method} does not learn in blocks{advice}")
    classes = rows.survey(pipeline[0] if len(pipeline) > 1 else None)
    return rows, pipeline, classes


def train_in_blocks(args, settings: dict[str, Any]) -> Trained:
    """Fit a model in memory for a buffer."""
    if "max_iter" in settings:
        raise UsageError("--max-iter does not count with --stream: give --epochs")
    began = time.perf_counter()
    if args.task == "auto":
        args.task = CLASSIFICATION
    if args.task == REGRESSION:
        check_task(args, settings)
    args.seed = settings["random_state"]
    rows, pipeline, classes = _open_rows(args, settings)
    classifier = pipeline[-1]
    told = {}
    if args.task != REGRESSION:
        check_classes(args, classes)
        classifier.set_params(**with_classes(settings, classes))
        told["classes"] = classes
    interrupted = was_interrupted(
        classifier,
        lambda: classifier.fit_stream(
            rows,
            **told,
            epochs=args.epochs or _EPOCHS,
            checkpoint=args.checkpoint,
        ),
    )
    tell_notes(getattr(classifier, "encoder_", pipeline[0]))
    about = about_data(args, rows.names, rows.label, rows.dense, rows.n_rows)
    model = Model(pipeline, {**about, **rows.about, **ending(began, interrupted)})
    return Trained(model, rows.scale, rows.raw())
