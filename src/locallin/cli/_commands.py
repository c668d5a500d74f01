"""The commands, but for tune."""

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import confusion_matrix

from locallin.cli._files import Model, check_output, load_model
from locallin.cli._judging import RANKING
from locallin.cli._methods import REGRESSION, method_of
from locallin.cli._output import note, pairs, show
from locallin.cli._parser import UsageError
from locallin.cli._scores import (
    class_lines,
    confusion_lines,
    figure_lines,
    overall_scores,
    reliability_lines,
    scores_by_class,
)
from locallin.cli._serving import model_blocks
from locallin.cli._streaming import train_in_blocks
from locallin.cli._tables import as_numbers
from locallin.cli._training import (
    Trained,
    check_task,
    checked_settings,
    fit_model,
    make_pipeline,
    scaling,
    store,
    training_data,
    with_classes,
)
from locallin.data import DataError
from locallin.data.frames import is_frame
from locallin.data.predictions import prediction_function, write_columns
from locallin.engine.files import replacing
from locallin.engine.sklearn_api import safe_indexing
from locallin.inspection.columns import is_missing, is_number
from locallin.inspection.quality import number_figures, number_scores, ranking_figures
from locallin.inspection.text import plain, shown_value
from locallin.inspection.unwrap import interval_function, model_in

_ROWS_AT_ONCE = 16384
# Classes whose confusions are still a table to look at.
_SHOWN_CLASSES = 12
_PREDICTIONS = {
    "label": "predict",
    "scores": "decision_function",
    "proba": "predict_proba",
    "interval": "predict_interval",
}
_COVERAGE = 0.9


def train(args) -> int:
    """Fit a model to a file."""
    settings = checked_settings(args)
    path = check_output(args.model, args.force)
    if not args.stream and (args.epochs or args.checkpoint):
        raise UsageError("--epochs and --checkpoint go with --stream")
    fit = train_in_blocks if args.stream else _train_at_once
    model, scale, blocks = fit(args, settings)
    store(model, path)
    about = model.about
    result = {
        "model": str(path),
        "method": args.method,
        "rows": about["rows"],
        "features": model.estimator.n_features_in_,
        "classes": getattr(model.classifier, "classes_", None),
        "label": _shown_label(about["label"]),
        "scale": scale,
        **_training_quality(model, blocks),
        "seconds": about["seconds"],
    }
    show(args, result, pairs(result))
    return 130 if about["interrupted"] else 0


def _training_quality(model: Model, blocks) -> dict[str, Any]:
    """Figures of the rows that were trained on, and of those held out meanwhile."""
    found = [(y, model.estimator.predict(X)) for X, y, *_ in blocks]
    truth, predicted = (np.concatenate(part) for part in zip(*found, strict=True))
    if is_regressor(model.classifier):
        trials = getattr(model.classifier, "search_path_", None)
        best = max((trial["r2"] for trial in trials), default=None) if trials else None
        levels = getattr(model.classifier, "quantile_levels", None)
        scores = number_scores(truth.astype(float), predicted, levels)
        return {
            "training_rmse": scores["rmse"],
            "training_r2": scores["r2"],
            "held_out_r2": best,
        }
    return {
        "training_accuracy": float(np.mean(truth == predicted)),
        **_held_out_quality(model.classifier),
    }


def _held_out_quality(classifier) -> dict[str, Any]:
    """That of the choice that was made on held-out rows, where there was one."""
    trials = getattr(classifier, "search_path_", None)
    if not trials:
        return {}
    best = min(trials, key=lambda trial: trial["log_loss"])
    return {
        "held_out_accuracy": 1 - best["error"],
        "held_out_auc": best["auc"],
        "held_out_log_loss": best["log_loss"],
    }


def _train_at_once(args, settings) -> Trained:
    data, weights, about = training_data(args)
    scale = scaling(args, data.X)
    if args.task != REGRESSION:
        settings = with_classes(settings, data.y)
    if args.task == REGRESSION:
        check_task(args, settings)
    pipeline = make_pipeline(scale, args.method, settings, args.task)
    model = fit_model(pipeline, data, about, weights)
    starts = range(0, len(data.y), _ROWS_AT_ONCE)
    rows = (slice(start, start + _ROWS_AT_ONCE) for start in starts)
    parts = ((safe_indexing(data.X, r), data.y[r]) for r in rows)
    return Trained(model, scale, parts)


def _shown_label(label) -> str | None:
    if isinstance(label, int):
        return f"column {label + 1}"
    return None if label == "auto" else label


def predict(args) -> int:
    """Write the classes or numbers of the rows of a file, block by block."""
    model = load_model(args.model, args.trust)
    method = _PREDICTIONS[args.output]
    # A pipeline passes on what scikit-learn knows, and no intervals.
    holder = model.classifier if args.output == "interval" else model.estimator
    if not hasattr(holder, method):
        raise ValueError(_missing_output(model, args.output))
    write_columns(
        _predictions(model, args, method),
        sys.stdout if args.out == "-" else check_output(args.out, args.force),
        "json" if args.json else None,
        getattr(model.classifier, "classes_", None),
    )
    return 0


def _missing_output(model: Model, output: str) -> str:
    if output == "interval":
        return "the model has no intervals: train it with --task regression"
    if is_regressor(model.classifier):
        return "the model predicts numbers, which have no scores: --output label"
    return (
        "the model has no probabilities: train it with --probability, or with "
        "--loss logistic"
    )


def _predictions(model: Model, args, method: str) -> Iterator[tuple]:
    """Names and columns to write: what is kept of the rows, and what is predicted."""
    predict: Callable
    if args.output == "interval":
        predict = partial(_intervals, model)
    else:
        predict = prediction_function(model.estimator, method, with_label=True)
    for rows in model_blocks(model, args):
        names, columns = predict(rows.X)
        kept = [f"input_{name}" if name in names else name for name in rows.kept]
        yield [*kept, *names], [*rows.kept.values(), *columns]


def _intervals(model: Model, X) -> tuple[list[str], list[np.ndarray]]:
    """Names and columns: what is predicted, and the ends of its interval."""
    ask = interval_function(model.estimator)
    assert ask is not None  # predict has looked
    ends = ask(X, _COVERAGE)
    names = ["prediction", "lower", "upper"]
    return names, [model.estimator.predict(X), *ends.T]


def evaluate(args) -> int:
    """Compare predictions with the labels of a file."""
    model = load_model(args.model, args.trust)
    truth, predicted, scores = _truth_and_predictions(model, args)
    if is_regressor(model.classifier):
        levels = getattr(model.classifier, "quantile_levels", None)
        if predicted.ndim > 1 and levels is None:
            raise ValueError(
                f"the model predicts {predicted.shape[1]} numbers of a row, and "
                "evaluate judges one: train a model for each"
            )
        own = getattr(model.classifier, "loss", None) == "pinball"
        quantile = model.classifier.quantile if own else None
        if levels is not None:
            quantile, predicted = levels, predicted.reshape(len(truth), -1)
        result = number_figures(as_numbers(args, truth), predicted, quantile, scores)
        show(args, result, figure_lines(result))
        return 0
    classes = np.asarray(model.classifier.classes_)
    strange = np.setdiff1d(truth, classes)
    if np.isin(truth, strange).all():
        raise DataError(
            f"{args.data}: no label is a class of the model: the labels are "
            f"{', '.join(map(str, strange[:5]))}, the classes "
            f"{', '.join(map(str, classes[:5]))}."
        )
    if len(strange):
        note(f"classes that the model does not know: {', '.join(map(str, strange))}")
    labels = np.concatenate([classes, strange])
    by_class = scores_by_class(truth, predicted, labels)
    result = overall_scores(truth, predicted, by_class)
    if scores is not None and not len(strange):
        figures = ranking_figures(truth, scores, classes)
        figures["intervals"] |= result["intervals"]
        result |= figures
    confusion = confusion_matrix(truth, predicted, labels=labels)
    lines = [*figure_lines(result), "", *class_lines(by_class)]
    if "reliability" in result:
        lines += ["", *reliability_lines(result["reliability"])]
    if len(labels) <= _SHOWN_CLASSES:
        lines += ["", *confusion_lines(confusion, labels)]
    show(args, result | {"classes": by_class, "confusion": confusion}, lines)
    return 0


def _truth_and_predictions(model: Model, args):
    """Labels, predicted ones, and probabilities, scores, intervals or None."""
    method = next((m for m in RANKING if hasattr(model.estimator, m)), None)
    ask = None if method is None else getattr(model.estimator, method)
    if is_regressor(model.classifier):
        ask = interval_function(model.estimator)
    truth, predicted, scores = [], [], []
    for X, y, _ in model_blocks(model, args, labels=True):
        if y is None:
            raise DataError(
                f"{args.data} has no labels to compare with; --label names the column."
            )
        truth.append(y)
        predicted.append(model.estimator.predict(X))
        if ask is not None:
            try:
                scores.append(ask(X))
            except ValueError:  # intervals need more held-out rows
                ask = None
    return (
        np.concatenate(truth),
        np.concatenate(predicted),
        np.concatenate(scores) if scores else None,
    )


def explain(args) -> int:
    """Show what each feature adds to the score of the predicted class."""
    model = load_model(args.model, args.trust)
    if not hasattr(model_in(model.estimator, "explain")[1], "local_coef"):
        raise ValueError(
            f"{args.model} has no local weights to explain with: train an atlas with a "
            "linear kernel, not rbf"
        )
    rows = list(islice(_explained_rows(model, args), args.rows))
    numbered = [{"row": number, **row} for number, row in enumerate(rows, 1)]
    lines = [line for row in numbered for line in _explanation_lines(row)]
    show(args, {"rows": numbered}, lines)
    return 0


def _explained_rows(model: Model, args) -> Iterator[dict[str, Any]]:
    from locallin.inspection import explain as explanation_of

    for X, _, kept in model_blocks(model, args, largest=min(64, args.rows)):
        names = None if is_frame(X) else model.about.get("names")
        explanation = explanation_of(model.estimator, X, feature_names=names)
        for place, row in enumerate(_explained(explanation, args.top)):
            yield {name: column[place] for name, column in kept.items()} | row


def _explanation_lines(row: dict[str, Any]) -> Iterator[str]:
    known = ("row", "label", "score", "prediction", "contributions", "others",
             "constant")  # fmt: skip
    named = [f"{name} {value}" for name, value in row.items() if name not in known]
    which = f" ({', '.join(named)})" if named else ""
    if "prediction" in row:
        yield f"row {row['row']}{which}: {row['prediction']:.6g}"
    else:
        label = plain(row["label"])
        told = f"predicted {label}, score of {label} {row['score']:.6g}"
        yield f"row {row['row']}{which}: {told}"
    parts = [
        (plain(part["feature"]), shown_value(part["value"]), part["contribution"])
        for part in row["contributions"]
    ]
    parts += [("(others)", "", row["others"]), ("(bias)", "", row["constant"])]
    width = max(len(name) for name, _, _ in parts)
    room = max(12, *(len(value) for _, value, _ in parts))
    for name, value, contribution in parts:
        yield f"  {name:{width}}  {value:>{room}}  {contribution:>+12.6g}"


def _explained(explanation, top: int) -> Iterator[dict[str, Any]]:
    """Largest terms of the score of each row's predicted class."""
    for i, label in enumerate(explanation.predicted):
        # One score stands for two classes: it speaks for the second.
        own = np.flatnonzero(explanation.classes == label)
        if explanation.of_numbers:
            own = np.array([0])
        sign, score = (1, own[0]) if len(own) else (-1, 0)
        parts = sign * explanation.contributions[i, score]
        largest = np.argsort(-np.abs(parts), kind="stable")[:top]
        told: dict[str, Any] = {"prediction": float(explanation.scores[i, score])}
        if not explanation.of_numbers:
            found = float(sign * explanation.scores[i, score])
            told = {"label": label, "score": found}
        yield {
            **told,
            "contributions": [
                {
                    "feature": str(explanation.feature_names[j]),
                    "value": _value(explanation.values[i, j]),
                    "contribution": float(parts[j]),
                }
                for j in largest
            ],
            "others": float(parts.sum() - parts[largest].sum()),
            "constant": float(sign * explanation.bias[i, score]),
        }


def _value(value) -> float | str | None:
    """A number, text, or None for what is missing."""
    if is_missing(value):
        return None
    if isinstance(value, datetime):
        return shown_value(value)
    return float(value) if is_number(value) else str(value)


def info(args) -> int:
    """Tell what is in a model file."""
    model = load_model(args.model, args.trust)
    classifier, about = model.classifier, model.about
    kind = type(classifier)
    changed = {
        name: value
        for name, value in classifier.get_params(deep=False).items()
        if repr(value) != repr(kind().get_params(deep=False)[name])
    }
    fitted = {
        name: getattr(classifier, name)
        for name in ("alpha_", "n_iter_", "best_score_", "dual_gap_")
        if hasattr(classifier, name)
    }
    scaler = model.scaler
    result = {
        "model": args.model,
        "bytes": Path(args.model).stat().st_size,
        "method": method_of(classifier),
        "regressor" if is_regressor(classifier) else "classifier": kind.__name__,
        "parameters": changed or None,
        "scale": None if scaler is None else type(scaler[-1]).__name__,
        "classes": getattr(classifier, "classes_", None),
        "features": classifier.n_features_in_,
        "names": about.get("names"),
        "label": _shown_label(about.get("label")),
        **_columns_by_kind(about.get("columns")),
        "id": about.get("id"),
        "anchors": len(classifier.anchors_)
        if hasattr(classifier, "anchors_")
        else None,
        "chosen": getattr(classifier, "chosen_", None),
        "members": len(classifier.model_.members_)
        if hasattr(classifier, "model_")
        else None,
        **{name.rstrip("_"): value for name, value in fitted.items()},
        "trained_on_rows": about.get("rows"),
        "seconds": about.get("seconds"),
        "tuning": about.get("tuning"),
        "locallin": about.get("locallin"),
        "scikit-learn": about.get("scikit-learn"),
    }
    show(args, result, pairs(result))
    return 0


def _columns_by_kind(kinds: dict[str, str] | None) -> dict[str, Any]:
    """Columns of a table, under what they are taken as."""
    found: dict[str, list[str]] = {}
    for name, kind in (kinds or {}).items():
        found.setdefault(f"columns_{kind.split()[0]}", []).append(name)
    return dict(found)


def convert(args) -> int:
    """Write a model as ONNX or as C."""
    path = check_output(args.out, args.force)
    kind = args.to or {".onnx": "onnx", ".c": "c", ".h": "c"}.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{path}: give it the extension .onnx, .c or .h, or --to")
    export = _exporter(kind, args.name)
    model = load_model(args.model, args.trust)
    content = export(_to_export(model))
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    result = {"model": args.model, "out": str(path), "format": kind}
    show(args, result | {"bytes": len(content)}, pairs(result))
    return 0


def _to_export(model: Model):
    """The model, in steps that can be written one by one."""
    steps = getattr(model.classifier, "to_pipeline", None)
    return model.estimator if steps is None else steps()


def _exporter(kind: str, name: str) -> Callable[[Any], bytes]:
    """A function from a model to the content of a file."""
    try:
        from locallin.export import to_c
        from locallin.export.onnx import to_onnx
    except ImportError as error:
        raise ImportError(
            f"this installation cannot write {kind} files: {error}"
        ) from error
    if kind == "onnx":
        return lambda estimator: to_onnx(estimator).SerializeToString()
    return lambda estimator: to_c(estimator, name=name).encode()
