"""Figures that tell how good predictions are."""

from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from locallin.inspection.quality import wilson


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
        "intervals": {"accuracy": wilson(int(np.sum(truth == predicted)), len(truth))},
    }


def class_lines(by_class: list[dict[str, Any]]) -> list[str]:
    """A table of the scores of each class."""
    width = max(len("class"), *(len(str(scores["class"])) for scores in by_class))
    return [f"{'class':{width}}  precision  recall      f1    rows"] + [
        f"{one['class']!s:{width}}  {one['precision']:9.4f}  {one['recall']:6.4f}  "
        f"{one['f1']:6.4f}  {one['rows']:6d}"
        for one in by_class
    ]


def figure_lines(result: dict[str, Any]) -> list[str]:
    """Names and values, with intervals where there are some."""
    known = result["intervals"]
    shown = {
        name: value
        for name, value in result.items()
        if name not in ("intervals", "reliability") and value is not None
    }
    width = max(map(len, shown))
    lines = []
    for name, value in shown.items():
        line = f"{name.replace('_', ' '):{width}}  {value:.6g}"
        if name in known:
            low, high = known[name]
            line += f"  ({low:.4g} to {high:.4g})"
        lines.append(line)
    return lines


def reliability_lines(bins: list[dict[str, Any]]) -> list[str]:
    """A table of probabilities and the shares that came true."""
    return ["probability   share  interval           rows"] + [
        f"{one['probability']:11.4f}  {one['share']:6.4f}  "
        f"{one['low']:.4f} to {one['high']:.4f}  {one['rows']:6d}"
        for one in bins
    ]


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
