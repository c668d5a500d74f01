"""The command that writes a page about a model."""

import sys
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from locallin.cli._files import Model, check_output, load_model
from locallin.cli._output import pairs, show
from locallin.cli._serving import model_blocks
from locallin.cli._tables import as_numbers
from locallin.data.frames import is_frame, on_top
from locallin.engine.files import replacing
from locallin.report.build import Evaluation, NumberEvaluation, build_report


def report(args) -> int:
    """Write a page about a model and what it does on a file."""
    path = check_output(args.out, args.force)
    model = load_model(args.model, args.trust)
    X, y, names = all_rows(model, args)
    with redirect_stdout(sys.stderr):
        content, data = build_report(
            model.estimator,
            X,
            y,
            feature_names=None if is_frame(X) else model.about.get("names"),
            rows=args.rows,
            title=args.title or _title(model),
            first_row=1,
            row_names=names,
            verbose=int(sys.stderr.isatty()),
        )
    with replacing(path) as file:
        file.write_text(content, encoding="utf-8")
    result = {
        "model": args.model,
        "out": str(path),
        "bytes": len(content.encode()),
        "rows": data.n_rows,
        "explained_rows": len(data.explained.rows),
        "local_models": len(data.regions),
        **_quality(data.evaluation),
        "not_explained": data.explained.missing,
    }
    show(args, result, pairs(result))
    return 0


def _title(model: Model) -> str | None:
    label = model.about.get("label")
    return f"Model report: {label}" if isinstance(label, str) else None


def _quality(evaluation: Evaluation | NumberEvaluation) -> dict[str, Any]:
    if isinstance(evaluation, NumberEvaluation):
        figures = evaluation.figures
        names = "rmse", "mae", "r2", *(["pinball"] if "pinball" in figures else [])
        return {name: figures.get(name) for name in names}
    labelled = evaluation.truth is not None
    return {
        "accuracy": evaluation.accuracy,
        "interval": list(evaluation.interval) if labelled else None,
    }


def all_rows(model: Model, args):
    """Rows, labels and names of a file; None where there are no labels, or names."""
    parts, labels, kept = zip(
        *model_blocks(model, args, labels=not args.no_labels), strict=True
    )
    if sparse.issparse(parts[0]):
        X = sparse.vstack(parts, format="csr")
    else:
        X = on_top(parts) if is_frame(parts[0]) else np.concatenate(parts)
    known = not args.no_labels and labels[0] is not None
    names = None
    if model.about.get("id") is not None and kept[0]:
        names = [str(name) for part in kept for name in next(iter(part.values()))]
    if not known:
        return X, None, names
    y = np.concatenate(labels)
    return X, as_numbers(args, y) if is_regressor(model.classifier) else y, names
