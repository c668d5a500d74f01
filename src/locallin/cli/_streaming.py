"""Training on files larger than memory."""

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from locallin.cli._files import Model
from locallin.cli._methods import CLASSIFICATION, REGRESSION
from locallin.cli._parser import UsageError
from locallin.cli._training import (
    Trained,
    about_data,
    check_classes,
    check_task,
    ending,
    is_dense,
    make_pipeline,
    reading_options,
    scaling,
    was_interrupted,
    with_classes,
)
from locallin.data import DataError
from locallin.data.batching import Batches, make_batches

_EPOCHS = 10


class ScaledRows:
    """The rows of a file as the classifier takes them, pass after pass."""

    def __init__(self, args):
        options = reading_options(args)
        if args.n_features is not None:
            options = replace(options, features=args.n_features)
        self._source: Batches = make_batches(args.data, None, options)
        if self._source.once:
            raise UsageError("--stream goes through DATA several times: give a file")
        X, y, *_ = next(iter(self._source))
        if y is None:
            raise DataError(f"{args.data} has no labels to learn from.")
        self.dense = is_dense(args, X)
        self.scale = scaling(args, X.toarray() if self._must_unpack(X) else X)
        self.names = self._source.names
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
        if not self._weight > 0:
            raise DataError(f"The weights of {self._source.name} have no positive sum.")
        self._scaler = scaler
        return classes[0] if classes else np.empty(0)

    def __call__(self):
        """A pass over the scaled rows; their weights have a mean of one."""
        for X, y, *weights in self.raw():
            X = X if self._scaler is None else self._scaler.transform(X)
            yield X, y, *(part * (self.n_rows / self._weight) for part in weights)


def train_in_blocks(args, settings: dict[str, Any]) -> Trained:
    """Fit a model in memory for a buffer."""
    if "max_iter" in settings:
        raise UsageError("--max-iter does not count with --stream: give --epochs")
    began = time.perf_counter()
    rows = ScaledRows(args)
    if args.task == "auto":
        args.task = CLASSIFICATION
    if args.task == REGRESSION:
        check_task(args, settings)
    pipeline = make_pipeline(rows.scale, args.method, settings, args.task)
    classifier = pipeline[-1]
    if not hasattr(classifier, "fit_stream"):
        advice = ": add --solver sgd" if args.method == "ll" else ""
        raise UsageError(f"--method {args.method} does not learn in blocks{advice}")
    classes = rows.survey(pipeline[0] if len(pipeline) > 1 else None)
    told = {}
    if args.task != REGRESSION:
        check_classes(args, classes)
        classifier.set_params(**with_classes(settings, classes))
        told["classes"] = classes
    verbose = classifier.verbose
    classifier.set_params(verbose=max(verbose, int(sys.stderr.isatty())))
    interrupted = was_interrupted(
        classifier,
        lambda: classifier.fit_stream(
            rows,
            **told,
            epochs=args.epochs or _EPOCHS,
            checkpoint=args.checkpoint,
        ),
    )
    classifier.set_params(verbose=verbose)
    label = "auto" if args.label is None else args.label
    about = about_data(args, rows.names, label, rows.dense, rows.n_rows)
    model = Model(pipeline, {**about, **ending(began, interrupted)})
    return Trained(model, rows.scale, rows.raw())
