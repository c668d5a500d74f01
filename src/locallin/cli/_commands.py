"""The commands, but for tune."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from locallin.cli._files import Model, check_output, load_model
from locallin.cli._methods import method_of
from locallin.cli._output import note, pairs, show
from locallin.cli._parser import UsageError
from locallin.cli._streaming import train_in_blocks
from locallin.cli._training import (
    Trained,
    checked_settings,
    fit_model,
    make_pipeline,
    reading_options,
    scaling,
    store,
    training_data,
    with_classes,
)
from locallin.data import DataError, write_predictions
from locallin.data.predictions import rows_of_a_block
from locallin.data.reading import blocks
from locallin.engine.files import replacing
from locallin.inspection.columns import is_missing, is_number
from locallin.inspection.text import plain, shown_value
from locallin.inspection.unwrap import classifier_in

_LARGEST_BLOCK = 16384
_PREDICTIONS = {
    "label": "predict",
    "scores": "decision_function",
    "proba": "predict_proba",
}


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
    right = sum(int((model.estimator.predict(X) == y).sum()) for X, y, *_ in blocks)
    result = {
        "model": str(path),
        "method": args.method,
        "rows": about["rows"],
        "features": model.estimator.n_features_in_,
        "classes": model.classifier.classes_,
        "label": _shown_label(about["label"]),
        "scale": scale,
        "training_accuracy": right / about["rows"],
        "seconds": about["seconds"],
    }
    show(args, result, pairs(result))
    return 130 if about["interrupted"] else 0


def _train_at_once(args, settings) -> Trained:
    data, weights, about = training_data(args)
    scale = scaling(args, data.X)
    settings = with_classes(settings, data.y)
    pipeline = make_pipeline(scale, args.method, settings)
    model = fit_model(pipeline, data, about, weights)
    starts = range(0, len(data.y), _LARGEST_BLOCK)
    rows = (slice(start, start + _LARGEST_BLOCK) for start in starts)
    return Trained(model, scale, ((data.X[r], data.y[r]) for r in rows))


def _shown_label(label) -> str | None:
    if isinstance(label, int):
        return f"column {label + 1}"
    return None if label == "auto" else label


def model_blocks(model: Model, args, *, labels=False, largest: int | None = None):
    """Blocks of a command's data as the model takes them."""
    size = rows_of_a_block(model.estimator.n_features_in_, largest or _LARGEST_BLOCK)
    options = replace(reading_options(args, model), with_labels=labels)
    for X, y in blocks(args.data, size, options, model.classifier.classes_):
        if sparse.issparse(X) and model.about.get("dense"):
            X = X.toarray()
        yield X, y


def predict(args) -> int:
    """Write the classes of the rows of a file, block by block."""
    model = load_model(args.model, args.trust)
    method = _PREDICTIONS[args.output]
    if not hasattr(model.estimator, method):
        raise ValueError(
            "the model has no probabilities: train it with --loss logistic"
        )
    write_predictions(
        model.estimator,
        partial(model_blocks, model, args),
        sys.stdout if args.out == "-" else check_output(args.out, args.force),
        method=method,
        with_label=True,
        output_format="json" if args.json else None,
    )
    return 0


def evaluate(args) -> int:
    """Compare predictions with the labels of a file."""
    model = load_model(args.model, args.trust)
    truth, predicted = _truth_and_predictions(model, args)
    classes = model.classifier.classes_
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
    by_class = _scores_by_class(truth, predicted, labels)
    result = _overall_scores(truth, predicted, by_class)
    lines = [*pairs(result), "", *_class_lines(by_class)]
    confusion = confusion_matrix(truth, predicted, labels=labels)
    show(args, result | {"classes": by_class, "confusion": confusion}, lines)
    return 0


def _truth_and_predictions(model: Model, args) -> tuple[np.ndarray, np.ndarray]:
    truth, predicted = [], []
    for X, y in model_blocks(model, args, labels=True):
        if y is None:
            raise DataError(
                f"{args.data} has no labels to compare with; --label names the column."
            )
        truth.append(y)
        predicted.append(model.estimator.predict(X))
    return np.concatenate(truth), np.concatenate(predicted)


def _scores_by_class(truth, predicted, labels: np.ndarray) -> list[dict[str, Any]]:
    scores = precision_recall_fscore_support(
        truth, predicted, labels=labels, zero_division=0
    )
    return [
        {"class": label, "precision": p, "recall": r, "f1": f, "rows": n}
        for label, p, r, f, n in zip(labels.tolist(), *scores, strict=True)
    ]


def _overall_scores(truth, predicted, by_class) -> dict[str, Any]:
    accuracy = float(np.mean(truth == predicted))
    present = [scores for scores in by_class if scores["rows"] > 0]
    return {
        "rows": len(truth),
        "accuracy": accuracy,
        "error": 1 - accuracy,
        "balanced_accuracy": float(np.mean([one["recall"] for one in present])),
        "macro_f1": float(np.mean([one["f1"] for one in present])),
    }


def _class_lines(by_class: list[dict[str, Any]]) -> list[str]:
    """A table of the scores of each class."""
    width = max(len("class"), *(len(str(scores["class"])) for scores in by_class))
    return [f"{'class':{width}}  precision  recall      f1    rows"] + [
        f"{one['class']!s:{width}}  {one['precision']:9.4f}  {one['recall']:6.4f}  "
        f"{one['f1']:6.4f}  {one['rows']:6d}"
        for one in by_class
    ]


def explain(args) -> int:
    """Show what each feature adds to the score of the predicted class."""
    model = load_model(args.model, args.trust)
    if not hasattr(classifier_in(model.estimator, "explain")[1], "local_coef"):
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

    names = model.about.get("names")
    for X, _ in model_blocks(model, args, largest=min(64, args.rows)):
        explanation = explanation_of(model.estimator, X, feature_names=names)
        yield from _explained(explanation, args.top)


def _explanation_lines(row: dict[str, Any]) -> Iterator[str]:
    yield f"row {row['row']}: {row['label']}, score {row['score']:.6g}"
    parts = [
        (plain(part["feature"]), shown_value(part["value"]), part["contribution"])
        for part in row["contributions"]
    ]
    parts += [("(others)", "", row["others"]), ("(constant)", "", row["constant"])]
    width = max(len(name) for name, _, _ in parts)
    for name, value, contribution in parts:
        yield f"  {name:{width}}  {value:>12}  {contribution:>+12.6g}"


def _explained(explanation, top: int) -> Iterator[dict[str, Any]]:
    """Largest terms of the score of each row's predicted class."""
    for i, label in enumerate(explanation.predicted):
        # One score stands for two classes: it speaks for the second.
        own = np.flatnonzero(explanation.classes == label)
        sign, score = (1, own[0]) if len(own) else (-1, 0)
        parts = sign * explanation.contributions[i, score]
        largest = np.argsort(-np.abs(parts), kind="stable")[:top]
        yield {
            "label": label,
            "score": float(sign * explanation.scores[i, score]),
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
        "classifier": kind.__name__,
        "parameters": changed or None,
        "scale": None if scaler is None else type(scaler[-1]).__name__,
        "classes": classifier.classes_,
        "features": classifier.n_features_in_,
        "names": about.get("names"),
        "label": _shown_label(about.get("label")),
        "anchors": len(classifier.anchors_)
        if hasattr(classifier, "anchors_")
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


def convert(args) -> int:
    """Write a model as ONNX or as C."""
    path = check_output(args.out, args.force)
    kind = args.to or {".onnx": "onnx", ".c": "c", ".h": "c"}.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{path}: give it the extension .onnx, .c or .h, or --to")
    export = _exporter(kind, args.name)
    model = load_model(args.model, args.trust)
    content = export(model.estimator)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    result = {"model": args.model, "out": str(path), "format": kind}
    show(args, result | {"bytes": len(content)}, pairs(result))
    return 0


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
