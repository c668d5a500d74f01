"""The command that writes a page about two models."""

import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from locallin.cli._files import check_output, load_model
from locallin.cli._output import pairs, show
from locallin.cli._parser import UsageError
from locallin.cli._report import all_rows
from locallin.data.frames import is_frame
from locallin.engine.files import replacing
from locallin.report.compare import build_comparison


def compare(args) -> int:
    """Write a page about two models and what they do on a file."""
    path = check_output(args.out, args.force)
    if args.data == "-":
        raise UsageError("compare reads DATA once for each model: give a file, not -")
    models = [load_model(name, args.trust) for name in (args.first, args.second)]
    found = [all_rows(model, args) for model in models]
    (_, y, names), (_, other, other_names) = found
    if y is not None and other is not None and not np.array_equal(y, other):
        raise ValueError(
            f"{args.first} and {args.second} were trained with other labels: --label "
            "names the column that both are held against"
        )
    given = None
    if not any(is_frame(X) for X, _, _ in found):
        given = models[0].about.get("names")
    with redirect_stdout(sys.stderr):
        content, data = build_comparison(
            [model.estimator for model in models],
            [X for X, _, _ in found],
            y,
            names=_called(args),
            feature_names=given,
            rows=args.rows,
            title=args.title,
            row_names=names or other_names,
            first_row=1,
            verbose=int(sys.stderr.isatty()),
        )
    with replacing(path) as file:
        file.write_text(content, encoding="utf-8")
    result = {
        "first": args.first,
        "second": args.second,
        "out": str(path),
        "bytes": len(content.encode()),
        "rows": len(data.row_names),
        "predicted_differently": data.n_differ,
        **{
            name: [first, second, *between]
            for name, first, second, between in data.figures
        },
    }
    told = {
        name: f"{first:.4g} and {second:.4g}, difference {low:+.4g} to {high:+.4g}"
        for name, first, second, (low, high) in data.figures
    }
    show(args, result, pairs(result | told))
    return 0


def _called(args) -> list[str]:
    """Names of the files, with their folders where they are the same."""
    short = [Path(name).stem for name in (args.first, args.second)]
    return short if short[0] != short[1] else [args.first, args.second]
