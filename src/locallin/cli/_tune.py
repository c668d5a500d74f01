"""Random search within a budget, which can be stopped and resumed."""

import hashlib
import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from locallin.cli._files import check_output
from locallin.cli._output import as_json, fitting, note, pairs, show
from locallin.cli._parser import UsageError
from locallin.cli._training import (
    checked_settings,
    fit_model,
    make_pipeline,
    scaling,
    store,
    training_data,
    with_classes,
)
from locallin.data.reading import Data
from locallin.engine.files import replacing

_TRIALS = 30
_FOLDS = 5
_ROWS_FOR_FOLDS = 20_000


class _Draw:
    """Random values for the parameters of one trial.

    ``unit`` is mean |x|^2 / n of the scaled rows, the unit of alpha.
    """

    def __init__(self, rng: np.random.Generator, n_rows: int, unit: float):
        self._rng, self.n_rows, self._unit = rng, n_rows, unit

    def one_of(self, *values):
        return values[self._rng.integers(len(values))]

    def log(self, low: float, high: float) -> float:
        drawn = math.exp(self._rng.uniform(math.log(low), math.log(high)))
        return float(f"{drawn:.3g}")

    def count(self, low: int, high: int) -> int:
        return round(self.log(low, max(low, high)))

    def alpha(self, low: float, high: float) -> float:
        return float(f"{self._unit * self.log(low, high):.3g}")

    def anchors(self, largest: int) -> int:
        return self.count(min(8, self.n_rows // 5), min(largest, self.n_rows // 5))


def _joint(draw: _Draw) -> dict[str, Any]:
    anchors = max(2, draw.anchors(200))
    return {
        "n_anchors": anchors,
        "perplexity": min(draw.one_of(4.0, 8.0, 16.0), anchors / 2),
        "alpha": draw.alpha(0.01, 10),
        "learning_rate": draw.one_of(0.1, 0.2, 0.5),
        "anchor_rate": draw.one_of(0.03, 0.1, 0.2),
        "max_iter": draw.one_of(30, 60),
    }


def _du(draw: _Draw) -> dict[str, Any]:
    return {**_joint(draw), "diversity": draw.one_of(0.0, 1e-3)}


def _ll(draw: _Draw) -> dict[str, Any]:
    anchors = max(2, draw.anchors(400))
    return {
        "n_anchors": anchors,
        "alpha": draw.alpha(0.003, 3),
        "coding": draw.one_of("adaptive", "soft"),
    }


def _ml3(draw: _Draw) -> dict[str, Any]:
    return {
        "n_models": draw.count(4, 100),
        "p": draw.one_of(1.2, 1.5, 2.0),
        "alpha": draw.alpha(0.03, 3),
        "max_iter": draw.one_of(30, 60, 100),
    }


def _atlas(draw: _Draw) -> dict[str, Any]:
    return {
        "alpha": float(f"{1 / (draw.n_rows * draw.log(1, 100)):.3g}"),
        "multi_class": draw.one_of("ovr", "ovo"),
        "atlas__mdl": draw.one_of(10.0, 20.0, 40.0),
        "atlas__n_neighbors": draw.one_of(2, 3, 4),
    }


_RANGES = {"du": _du, "sapl": _joint, "ll": _ll, "ml3": _ml3, "atlas": _atlas}


def tune(args) -> int:
    """Search, log every trial, fit the best setting to all rows."""
    fixed = checked_settings(args)
    scorer = _scorer(args.scoring)
    log = Path(args.log or f"{args.model}.trials.jsonl")
    # A model beside a log of its own is that of an earlier run.
    resumed = args.log is None and log.is_file()
    path = check_output(args.model, args.force or resumed)
    data, _, about = training_data(args)
    fixed = with_classes(fixed, data.y)
    scale = scaling(args, data.X)
    folds = args.folds or (_FOLDS if len(data.y) <= _ROWS_FOR_FOLDS else 1)
    search = {
        "method": args.method,
        "scale": scale,
        "fixed": {k: v for k, v in fixed.items() if k not in ("n_jobs", "verbose")},
        "folds": folds,
        "scoring": args.scoring,
        "data": _fingerprint(data),
    }
    search = json.loads(as_json(search))
    trials = [] if args.restart else _resume(log, search)
    if not trials:
        with replacing(log) as temporary:
            temporary.write_text(as_json(search) + "\n")
    else:
        note(f"{len(trials)} trials found in {log}")
    splits = _splits(data, folds, fixed["random_state"])
    unit = _unit(scale, data.X)
    deadline = math.inf
    if args.minutes is not None:
        deadline = time.monotonic() + 60 * args.minutes
    wanted = args.trials or (_TRIALS if args.minutes is None else math.inf)
    try:
        with _reporter(wanted) as report:
            while len(trials) < wanted and (time.monotonic() < deadline or not trials):
                drawn = _drawn(args.method, fixed, len(trials), len(data.y), unit)
                trial = _tried(drawn, fixed, args.method, scale, data, splits, scorer)
                trials.append({"trial": len(trials) + 1, **trial})
                with open(log, "a", encoding="utf-8") as file:
                    file.write(as_json(trials[-1]) + "\n")
                report(trials)
    except KeyboardInterrupt:
        note(f"{log} has {len(trials)} trials: the same command goes on from there")
        raise
    best = _best(trials)
    if best is None:
        raise ValueError(f"every trial failed, the last with: {trials[-1]['error']}")
    about["tuning"] = {
        "trials": len(trials),
        "scoring": args.scoring,
        "score": best["score"],
        "parameters": best["parameters"],
    }
    pipeline = make_pipeline(scale, args.method, {**fixed, **best["parameters"]})
    model = fit_model(pipeline, data, about)
    store(model, path)
    result = {
        "model": str(path),
        "log": str(log),
        "method": args.method,
        "trials": len(trials),
        "scoring": args.scoring,
        "best_trial": best["trial"],
        "best_score": best["score"],
        "score_of_defaults": trials[0]["score"],
        "parameters": best["parameters"],
    }
    shown = result | {"parameters": best["parameters"] or "the defaults"}
    show(args, result, pairs(shown))
    return 130 if model.about["interrupted"] else 0


def _scorer(name):
    try:
        return get_scorer(name)
    except ValueError as error:
        raise UsageError(f"--scoring: scikit-learn has no scorer {name!r}") from error


def _fingerprint(data: Data) -> str:
    digest = hashlib.sha256(repr((data.X.shape, data.names)).encode())
    X = data.X
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for array in (*arrays, data.y):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _resume(log: Path, search: dict) -> list[dict[str, Any]]:
    """The trials of a log, if it is of the same search."""
    if not log.is_file():
        return []
    text = log.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()  # a run was cut off while it wrote
        with replacing(log) as temporary:
            temporary.write_text("".join(lines), encoding="utf-8")
    try:
        found, *trials = [json.loads(line) for line in lines] or [None]
    except ValueError as error:
        raise ValueError(f"{log} is not a log of trials: {error}") from error
    if found != search:
        keys = [
            key
            for key in search
            if not isinstance(found, dict) or found.get(key) != search[key]
        ]
        raise UsageError(
            f"{log} is of another search ({', '.join(keys)} changed); --restart "
            "forgets its trials, --log names another file"
        )
    return trials


def _splits(data: Data, folds: int, seed) -> list[tuple[np.ndarray, np.ndarray]]:
    counts = np.unique(data.y, return_counts=True)[1]
    stratified = counts.min() >= max(2, folds)
    if folds == 1:
        kind = StratifiedShuffleSplit if stratified else ShuffleSplit
        splitter = kind(1, test_size=0.2, random_state=seed)
    else:
        kind = StratifiedKFold if stratified else KFold
        splitter = kind(folds, shuffle=True, random_state=seed)
    return list(splitter.split(data.X, data.y))


def _unit(scale: str, X) -> float:
    """Mean |x|^2 / n of the scaled rows."""
    scaler = make_pipeline(scale, "du", {})[:-1]
    X = scaler.fit_transform(X) if len(scaler) else X
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.vdot(X, X)
    return float(squares) / X.shape[0] ** 2 or 1.0


def _drawn(method, fixed, trial, n_rows, unit) -> dict[str, Any]:
    """Parameters of a trial; the first has the defaults."""
    if trial == 0:
        return {}
    rng = np.random.default_rng([fixed["random_state"] or 0, trial])
    drawn = _RANGES[method](_Draw(rng, n_rows, unit))
    if {"n_anchors", "mu", "beta"} & fixed.keys():
        # It has to suit the number of anchors, and mu or beta stand for it.
        drawn.pop("perplexity", None)
    return {name: value for name, value in drawn.items() if name not in fixed}


def _tried(drawn, fixed, method, scale, data, splits, scorer) -> dict[str, Any]:
    """Scores of a setting on the held-out rows."""
    began = time.perf_counter()
    scores, problem = [], None
    try:
        for rows, held in splits:
            pipeline = make_pipeline(scale, method, {**fixed, **drawn})
            with fitting(quiet=True):
                pipeline.fit(data.X[rows], data.y[rows])
                scores.append(float(scorer(pipeline, data.X[held], data.y[held])))
    except (ValueError, ArithmeticError) as error:
        problem = " ".join(str(error).split())
    score = None if problem else float(np.mean(scores))
    if score is not None and not math.isfinite(score):
        score, problem = None, f"the score is {np.mean(scores)}"
    return {
        "parameters": drawn,
        "score": score,
        "scores": scores,
        "error": problem,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _best(trials) -> dict[str, Any] | None:
    scored = [trial for trial in trials if trial["score"] is not None]
    return max(scored, key=lambda trial: trial["score"], default=None)


@contextmanager
def _reporter(wanted) -> Iterator[Any]:
    """Tell how the search goes: a bar where rich is installed, lines otherwise."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        Progress = None
    if Progress is None or not sys.stderr.isatty():
        yield lambda trials: note(_line(trials))
        return
    with Progress(console=Console(stderr=True)) as progress:
        total = None if wanted == math.inf else wanted
        task = progress.add_task("trials", total=total)
        yield lambda trials: progress.update(
            task, completed=len(trials), description=_line(trials)
        )


def _line(trials) -> str:
    last, best = trials[-1], _best(trials)
    score = last["error"] if last["score"] is None else f"{last['score']:.4f}"
    best_score = "none" if best is None else f"{best['score']:.4f}"
    return f"trial {last['trial']}: {score}, best {best_score}, {last['seconds']:.1f} s"
