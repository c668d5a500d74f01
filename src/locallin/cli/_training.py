"""From a file and options to a fitted model."""

import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

import locallin
from locallin.cli._files import Model, save_model
from locallin.cli._methods import (
    CLASSIFICATION,
    METHODS,
    REGRESSION,
    REGRESSORS,
    TABLE_METHOD,
    chosen_parameters,
    make_estimator,
    method_parameters,
)
from locallin.cli._output import fitting, note
from locallin.cli._parser import UsageError
from locallin.cli._tables import (
    as_numbers,
    asks_for_table,
    find_task,
    read_kinds,
    signs_of,
    tell_notes,
    typed_table,
)
from locallin.data import DataError
from locallin.data.blocks import is_table
from locallin.data.columns import Columns
from locallin.data.frames import as_frame, is_frame
from locallin.data.reading import load
from locallin.data.source import NoNumbersError, Options
from locallin.encoding.table import TableEncoder
from locallin.engine.finite import all_finite
from locallin.engine.optional import install_hint
from locallin.engine.sklearn_api import validate_parameters
from locallin.methods.skeleton import check_parameters

_SCALERS = {"standard": StandardScaler, "maxabs": MaxAbsScaler, "norm": Normalizer}
# A sparse matrix is made dense where this share of its entries is not zero.
_DENSE_SHARE = 0.5


class LabelledRows(NamedTuple):
    """Rows to train on, their labels, and the names of the features or None."""

    X: Any
    y: np.ndarray
    names: list[str] | None


class Trained(NamedTuple):
    """A model, its scaling, and the rows it was trained on, in blocks."""

    model: Model
    scale: str
    blocks: Iterable[tuple]


def reading_options(args, model: Model | None = None) -> Options:
    """Options of reading the data of a command, for a model where there is one."""
    about = {} if model is None else model.about
    na = about.get("na") if args.na is None else args.na
    label = about.get("label", "auto") if args.label is None else args.label
    features, signs = about.get("names"), signs_of(args, about)
    if model is not None and features is None:
        features = model.estimator.n_features_in_
    return Options(
        args.format,
        label,
        features,
        args.delimiter,
        args.header,
        args.zero_based or about.get("zero_based", False),
        weight=getattr(args, "weight", None),
        ignore=_left_out(args) if model is None else tuple(about.get("left_out", ())),
        na=None if na is None else tuple(na),
        decimal=signs.decimal,
        thousands=signs.thousands,
    )


def _left_out(args) -> tuple[str | int, ...]:
    """Columns that are no features."""
    return (*args.ignore, *([] if args.id is None else [args.id]))


def training_data(args) -> tuple[LabelledRows, Any, dict[str, Any]]:
    """Rows to train on, their weights, and what a model has to know about them."""
    data, columns, weights = _load(args)
    X, y, names = data
    if y is None:
        raise DataError(f"{args.data} has no labels to learn from.")
    args.task = find_task(args, columns, y)
    if args.task == REGRESSION:
        y = as_numbers(args, y)
    else:
        check_classes(args, np.unique(y))
    label, n_rows = label_place(columns), len(y)
    if is_table(X):
        kinds = read_kinds(args, X, columns)
        names = list(kinds)
        about = about_data(args, names, label, True, n_rows)
        about |= about_table(args, kinds, columns)
        frame = as_frame(typed_table(args, X, kinds))
        return LabelledRows(frame, y, names), weights, about
    if args.n_features is not None:
        X = _widened(args, X)
    dense = is_dense(args, X)
    if dense and sparse.issparse(X):
        X = X.toarray()
    about = about_data(args, names, label, dense, n_rows)
    if args.ignore and names is None:
        about["left_out"] = list(_left_out(args))
    return LabelledRows(X, y, names), weights, about


def _load(args):
    """Rows of numbers, or a table where there is text or a gap, or one is asked for."""
    options = reading_options(args)
    if args.method == TABLE_METHOD or asks_for_table(args):
        return load(args.data, replace(options, table=True))
    try:
        return load(args.data, options)
    except NoNumbersError:
        if str(args.data) == "-" or find_spec("pyarrow") is None:
            raise
        return load(args.data, replace(options, table=True))


def about_table(args, kinds: dict[str, str], columns: Columns) -> dict[str, Any]:
    """Facts that a model keeps about the table it was trained on."""
    signs = signs_of(args)
    return {
        "columns": kinds,
        "id": args.id,
        "decimal": signs.decimal,
        "thousands": signs.thousands,
        "na": args.na,
        # Columns without names are found by their places.
        "left_out": list(_left_out(args)) if columns.names is None else [],
    }


def is_dense(args, X) -> bool:
    """Whether rows like these are better dense."""
    share = X.nnz / np.prod(X.shape) if sparse.issparse(X) else 1
    return bool(share >= _DENSE_SHARE or args.scale == "standard")


def about_data(args, names, label, dense: bool, n_rows: int) -> dict[str, Any]:
    """Facts that a model keeps about the rows it was trained on."""
    return {
        "locallin": locallin.__version__,
        "scikit-learn": sklearn.__version__,
        "names": names,
        "label": label,
        "zero_based": args.zero_based,
        "dense": dense,
        "rows": n_rows,
    }


def check_classes(args, classes) -> None:
    """Refuse a file with one class."""
    if len(classes) < 2:
        raise DataError(
            f"{args.data} has one class only, {classes[0]!s}: is the right column the "
            "label?"
        )


def _widened(args, X):
    if args.n_features == X.shape[1]:
        return X
    if not sparse.issparse(X) or args.n_features < X.shape[1]:
        raise DataError(
            f"{args.data} has {X.shape[1]} features, not --n-features "
            f"{args.n_features}."
        )
    X.resize(X.shape[0], args.n_features)
    return X


def label_place(columns: Columns) -> str | int:
    """The place of the label in a file to predict."""
    if columns.label_name is not None:
        return columns.label_name
    return "auto" if columns.label is None else columns.label


def scaling(args, X) -> str:
    """The name of the scaling in use."""
    if args.method == TABLE_METHOD or is_frame(X):
        if args.scale != "auto":
            raise UsageError(
                f"--scale {args.scale} is for numbers and --method "
                f"{', '.join(m for m in METHODS if m != TABLE_METHOD)}: this is encoded"
            )
        return "none" if args.method == TABLE_METHOD else "table"
    if args.scale != "auto":
        return args.scale
    return "maxabs" if sparse.issparse(X) else "standard"


def make_pipeline(
    scale: str, method: str, settings: dict[str, Any], task: str = CLASSIFICATION
) -> Pipeline:
    """Scaling and classifier or regressor, not fitted."""
    name = "regressor" if task == REGRESSION else "classifier"
    classifier = (name, make_estimator(method, settings, task))
    if scale == "none":
        return Pipeline([classifier])
    if scale == "table":
        encoder = TableEncoder(
            target_means="auto",
            target_type="numbers" if task == REGRESSION else "auto",
            random_state=settings.get("random_state"),
        )
        return Pipeline([("encoder", encoder), classifier])
    return Pipeline([("scaler", _SCALERS[scale]()), classifier])


def checked_settings(args) -> dict[str, Any]:
    """The parameters that were given, after the estimator has checked them."""
    settings = chosen_parameters(args)
    task = getattr(args, "task", CLASSIFICATION)
    known = {name for name, _ in method_parameters(args.method)}
    if task == "auto" and not set(settings) <= known:
        task = args.task = REGRESSION  # only regressors have such a parameter
    if task == REGRESSION:
        check_task(args, settings)
    elif not set(settings) <= known:
        strange = sorted(set(settings) - known)[0]
        raise UsageError(f"--{strange.replace('_', '-')} is for --task regression")
    estimator = make_estimator(args.method, settings, task)
    try:
        if args.method == TABLE_METHOD:
            validate_parameters(estimator)
        else:
            check_parameters(estimator)
        if getattr(estimator, "atlas", None) is not None:
            validate_parameters(estimator.atlas)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    return settings


def check_task(args, settings: dict[str, Any]) -> None:
    """Refuse a method, and options, that regression does not have."""
    if args.method not in REGRESSORS:
        raise UsageError(
            f"--task regression is for --method {', '.join(REGRESSORS)}, not "
            f"{args.method}"
        )
    known = {name for name, _ in method_parameters(args.method, REGRESSION)}
    strange = sorted(set(settings) - known)
    if strange:
        raise UsageError(
            f"--{strange[0].replace('_', '-')} is for classes, and this is regression"
        )


def with_classes(settings: dict[str, Any], y) -> dict[str, Any]:
    """The parameters, with the weights of classes under the classes themselves."""
    weights = settings.get("class_weight")
    if not isinstance(weights, dict):
        return settings
    classes = {str(label): label for label in np.unique(y).tolist()}
    strange = [name for name in weights if name not in classes]
    if strange:
        raise UsageError(
            f"--class-weight: there is no class {strange[0]!r} but "
            f"{', '.join(list(classes)[:20])}"
        )
    weights = {classes[name]: weight for name, weight in weights.items()}
    return settings | {"class_weight": weights}


def fit_model(
    pipeline: Pipeline, data: LabelledRows, about: dict[str, Any], weights=None
) -> Model:
    """Fit a pipeline; a fit that is interrupted gives the model it has reached."""
    # Step by step, because a step of a pipeline can have no progress bar.
    began = time.perf_counter()
    with np.errstate(over="ignore", invalid="ignore"):
        X = data.X
        if len(pipeline) > 1:
            X = pipeline[:-1].fit_transform(X, data.y)
    _check_scaled(X, data)
    classifier = pipeline[-1]
    interrupted = was_interrupted(
        classifier, lambda: classifier.fit(X, data.y, sample_weight=weights)
    )
    tell_notes(getattr(classifier, "encoder_", pipeline[0]))
    return Model(pipeline, {**about, **ending(began, interrupted)})


def _check_scaled(X, data: LabelledRows) -> None:
    """Refuse rows whose squares leave the range, of which scaling makes NaN."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or all_finite(X):
        return
    column = np.flatnonzero(~np.isfinite(X).all(axis=0))[0]
    name = column + 1 if data.names is None else repr(data.names[column])
    raise ValueError(
        f"feature {name} has values up to {np.abs(data.X[:, column]).max():.3g}, too "
        "large to scale to a deviation of 1: use --scale maxabs, or look for outliers"
    )


def was_interrupted(classifier, fit) -> bool:
    """Call ``fit``, with a bar where a person looks; True where Ctrl-C left a model."""
    verbose = classifier.verbose
    classifier.set_params(verbose=max(verbose, int(sys.stderr.isatty())))
    with fitting():
        try:
            fit()
        except KeyboardInterrupt:
            if not is_left(classifier):
                raise
            note("interrupted: the model is the one reached so far")
            return True
        finally:
            classifier.set_params(verbose=verbose)
    return False


def is_left(model) -> bool:
    """Whether a fit has left a model."""
    return any(hasattr(model, name) for name in ("classes_", "target_scale_", "model_"))


def ending(began: float, interrupted: bool) -> dict[str, Any]:
    """Facts that a model keeps about the end of its fit."""
    spent = time.perf_counter() - began
    return {"seconds": round(spent, 3), "interrupted": interrupted}


def store(model: Model, path: Path) -> None:
    """Write a model, and say so where it is a pickle."""
    if save_model(model, path) == "pickle":
        note(
            f"skops is not installed: {path} is a pickle, to be loaded with --trust. "
            f"For safe files: {install_hint('io')}."
        )
