"""Figures that tell how good predictions are."""

from typing import Any

import numpy as np
from sklearn.metrics import log_loss, precision_recall_fscore_support, roc_auc_score


def scores_by_class(truth, predicted, labels: np.ndarray) -> list[dict[str, Any]]:
    scores = precision_recall_fscore_support(
        truth, predicted, labels=labels, zero_division=0
    )
    return [
        {"class": label, "precision": p, "recall": r, "f1": f, "rows": n}
        for label, p, r, f, n in zip(labels.tolist(), *scores, strict=True)
    ]


def overall_scores(truth, predicted, by_class) -> dict[str, Any]:
    accuracy = float(np.mean(truth == predicted))
    present = [scores for scores in by_class if scores["rows"] > 0]
    return {
        "rows": len(truth),
        "accuracy": accuracy,
        "error": 1 - accuracy,
        "balanced_accuracy": float(np.mean([one["recall"] for one in present])),
        "macro_f1": float(np.mean([one["f1"] for one in present])),
    }


def class_lines(by_class: list[dict[str, Any]]) -> list[str]:
    """A table of the scores of each class."""
    width = max(len("class"), *(len(str(scores["class"])) for scores in by_class))
    return [f"{'class':{width}}  precision  recall      f1    rows"] + [
        f"{one['class']!s:{width}}  {one['precision']:9.4f}  {one['recall']:6.4f}  "
        f"{one['f1']:6.4f}  {one['rows']:6d}"
        for one in by_class
    ]


def ranking_scores(truth, scores: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Area under the ROC curve and, for probabilities, log loss and Brier score.

    The area is that of the second of two classes, or the mean over classes of each
    against all others; None where a class is missing. The Brier score is the mean
    squared error of the second class's probability, or its sum over several classes.
    """
    is_class = truth[:, None] == classes
    all_there = bool(is_class.any(axis=0).all())
    if scores.ndim == 1 or scores.shape[1] < len(classes):
        ranked = scores.reshape(len(scores), -1)[:, -1]
        return {"auc": roc_auc_score(is_class[:, 1], ranked) if all_there else None}
    columns = [1] if len(classes) == 2 else range(len(classes))
    areas = [roc_auc_score(is_class[:, c], scores[:, c]) for c in columns if all_there]
    result: dict[str, Any] = {"auc": float(np.mean(areas)) if areas else None}
    if np.allclose(scores.sum(axis=1), 1, atol=1e-4) and scores.min() >= 0:
        errors = ((scores - is_class) ** 2)[:, list(columns)]
        places = is_class.argmax(axis=1)
        result["log_loss"] = log_loss(places, scores, labels=range(len(classes)))
        result["brier"] = float(errors.sum(axis=1).mean())
    return result


def confusion_lines(confusion: np.ndarray, labels) -> list[str]:
    """A table of counts: rows are labels, columns what was predicted."""
    names = [str(label) for label in labels]
    first = max(len("label \\ predicted"), *map(len, names))
    widths = [max(6, len(name)) for name in names]
    lines = [["label \\ predicted", *names]]
    lines += [
        [name, *map(str, row)] for name, row in zip(names, confusion, strict=True)
    ]
    return [
        f"{line[0]:{first}}  "
        + "  ".join(f"{cell:>{w}}" for cell, w in zip(line[1:], widths, strict=True))
        for line in lines
    ]
