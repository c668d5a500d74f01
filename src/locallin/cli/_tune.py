"""A search within a budget, which can be stopped and resumed."""

from __future__ import annotations

import json
import math
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from locallin.cli._files import check_output
from locallin.cli._judging import (
    Judge,
    mean_figures,
    needs_chances,
    scorer_named,
    trial_lines,
    usual_scoring,
)
from locallin.cli._methods import CLASSIFICATION, REGRESSION, make_estimator
from locallin.cli._output import as_json, fitting, note, pairs, show
from locallin.cli._parser import UsageError
from locallin.cli._ranges import NUMBER_RANGES, RANGES, Draw
from locallin.cli._training import (
    LabelledRows,
    check_task,
    checked_settings,
    fit_model,
    make_pipeline,
    scaling,
    store,
    training_data,
    with_classes,
)
from locallin.engine.files import replacing
from locallin.engine.optional import import_optional
from locallin.engine.progress import Steps
from locallin.engine.sklearn_api import safe_indexing

if TYPE_CHECKING:
    from optuna import Study, Trial

_TRIALS = 30
_FOLDS = 5
_ROWS_FOR_FOLDS = 20_000
_NAME = "locallin"

Record = dict[str, Any]


@dataclass(frozen=True)
class Search:
    """A search for the best parameters beside the fixed ones."""

    method: str
    scale: str
    fixed: dict[str, Any]
    folds: int
    scoring: str
    data: LabelledRows
    task: str = CLASSIFICATION

    @property
    def judge(self) -> Judge:
        """What judges held-out rows."""
        return Judge(self.task, self.scoring, self.fixed.get("quantile", 0.5))

    def pipeline(self, settings: dict[str, Any]):
        """Scaling and estimator, not fitted."""
        return make_pipeline(self.scale, self.method, settings, self.task)

    @property
    def seed(self) -> int:
        """The seed of the trials; without one they are the same again as well."""
        return self.fixed["random_state"] or 0

    def identity(self) -> Record:
        """Facts by which searches differ, as JSON has them."""
        fixed = {k: v for k, v in self.fixed.items() if k not in ("n_jobs", "verbose")}
        X = self.data.X
        arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        identity = {
            "task": self.task,
            "method": self.method,
            "scale": self.scale,
            "fixed": fixed,
            "folds": self.folds,
            "scoring": self.scoring,
            "data": joblib.hash((X.shape, self.data.names, *arrays, self.data.y)),
        }
        return json.loads(as_json(identity))


def tune(args: Namespace) -> int:
    """Search, log every trial, fit the best setting to all rows."""
    optuna = import_optional("optuna", "tune", "the search for parameters")
    # Failed trials are told by the reporter.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    fixed = checked_settings(args)
    if args.scoring is not None:
        scorer_named(args.scoring)
    log = Path(args.log or f"{args.model}.trials.jsonl")
    # A model beside a log of its own is that of an earlier run.
    resumed = args.log is None and log.is_file()
    path = check_output(args.model, args.force or resumed)
    data, _, about = training_data(args)
    if args.task == REGRESSION:
        check_task(args, fixed)
    else:
        fixed = _with_chances(args, with_classes(fixed, data.y))
    search = _search_of(args, fixed, data)
    study = _open_study(log, search, args.restart)
    _run_trials(study, search, args, log)
    trials = _trials(study)
    best = _best(trials)
    if best is None:
        raise ValueError(f"every trial failed, the last with: {trials[-1]['error']}")
    tuning = {
        "trials": len(trials),
        "scoring": search.scoring,
        "score": best["score"],
        "figures": best["figures"],
        "parameters": best["parameters"],
    }
    pipeline = search.pipeline({**search.fixed, **best["parameters"]})
    model = fit_model(pipeline, data, about | {"tuning": tuning})
    store(model, path)
    _show_result(args, {"model": str(path), "log": str(log)}, search, trials, best)
    return 130 if model.about["interrupted"] else 0


def _search_of(args: Namespace, fixed: Record, data: LabelledRows) -> Search:
    folds = args.folds or (_FOLDS if len(data.y) <= _ROWS_FOR_FOLDS else 1)
    if folds > len(data.y):
        raise ValueError(
            f"--folds {folds} is more than the {len(data.y)} rows: use fewer folds"
        )
    scale = scaling(args, data.X)
    scoring = args.scoring or usual_scoring(args.task, fixed)
    return Search(args.method, scale, fixed, folds, scoring, data, args.task)


def _with_chances(args: Namespace, fixed: Record) -> Record:
    """The parameters, with probabilities where the scorer needs some."""
    if args.scoring is None or not needs_chances(args.scoring):
        return fixed
    if hasattr(make_estimator(args.method, fixed), "predict_proba"):
        return fixed
    if "probability" in fixed:
        raise UsageError(
            f"--scoring {args.scoring} needs probabilities: leave out --no-probability"
        )
    note(f"--scoring {args.scoring} needs probabilities: --probability is set")
    return fixed | {"probability": True}


def _show_result(
    args: Namespace, files: Record, search: Search, trials: list[Record], best
) -> None:
    result = files | {
        "method": args.method,
        "trials": len(trials),
        "scoring": search.scoring,
        "best_trial": best["trial"],
        "best_score": best["score"],
        "best_figures": best["figures"],
        "score_of_defaults": trials[0]["score"],
        "parameters": best["parameters"],
    }
    shown = result | {"parameters": best["parameters"] or "the defaults"}
    show(args, result, [*pairs(shown), "", *trial_lines(trials)])


def _open_study(log: Path, search: Search, restart: bool) -> Study:
    """The study that a log keeps, if it is of the same search."""
    from optuna import create_study
    from optuna.storages import JournalStorage, journal

    if restart:
        log.unlink(missing_ok=True)
    _drop_unfinished_line(log)
    # Symbolic links, which lock by default, are not for every user of Windows.
    lock = journal.JournalFileOpenLock(str(log))
    try:
        storage = JournalStorage(journal.JournalFileBackend(str(log), lock))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{log} is not a log of trials: --log names another file, --restart "
            "replaces it"
        ) from error
    study = create_study(
        storage=storage, study_name=_NAME, direction="maximize", load_if_exists=True
    )
    trials, identity = _trials(study), search.identity()
    if trials:
        _compare(log, study.user_attrs.get("search", {}), identity)
        note(f"{len(trials)} trials found in {log}")
    else:
        study.set_user_attr("search", identity)
    return study


def _drop_unfinished_line(log: Path) -> None:
    """Repair a log if a run was cut off while it wrote."""
    lines = log.read_bytes().splitlines(keepends=True) if log.is_file() else []
    if lines and not lines[-1].endswith(b"\n"):
        with replacing(log) as temporary:
            temporary.write_bytes(b"".join(lines[:-1]))


def _compare(log: Path, found: Record, identity: Record) -> None:
    changed = [key for key in identity if found.get(key) != identity[key]]
    if changed:
        raise UsageError(
            f"{log} is of another search ({', '.join(changed)} changed); --restart "
            "forgets its trials, --log names another file"
        )


def _run_trials(study: Study, search: Search, args: Namespace, log: Path) -> None:
    """Go on with a study until the budget is used up."""
    wanted = args.trials or (_TRIALS if args.minutes is None else None)
    left = None if wanted is None else wanted - len(_trials(study))
    if left is not None and left <= 0:
        return
    objective = _objective(search)
    seconds = math.inf if args.minutes is None else 60 * args.minutes
    try:
        with _reporter(wanted) as report:
            deadline = time.monotonic() + seconds
            for _ in count() if left is None else range(left):
                if time.monotonic() > deadline:
                    break
                _seed(study, search)
                _run_trial(study, objective)
                report(_trials(study))
    except KeyboardInterrupt:
        n_trials = len(_trials(study))
        note(f"{log} has {n_trials} trials: the same command goes on from there")
        raise


def _run_trial(study: Study, objective: Callable[[Trial], float | None]) -> None:
    """Try one setting.

    Optuna's own loop makes another error of Ctrl-C while it notes a result.
    """
    from optuna.trial import TrialState

    trial = study.ask()
    score = objective(trial)
    study.tell(trial, score, TrialState.FAIL if score is None else None)


def _seed(study: Study, search: Search) -> None:
    """Make the next trial depend on those before it, not on when it was started."""
    from optuna.samplers import TPESampler

    seed = np.random.SeedSequence([search.seed, len(_trials(study))])
    # A trial that was killed counts as running: it is no concern of the others.
    study.sampler = TPESampler(seed=int(seed.generate_state(1)[0]), constant_liar=False)


def _trials(study: Study) -> list[Record]:
    """The trials that came to their end, with a score or with an error."""
    ended = [t.user_attrs for t in study.trials if "seconds" in t.user_attrs]
    return [
        {"trial": number, "figures": {}, **trial}  # older logs have no figures
        for number, trial in enumerate(ended, 1)
    ]


def _objective(search: Search) -> Callable[[Trial], float | None]:
    splits = _splits(search)
    unit = _unit(search)

    def objective(trial: Trial) -> float | None:
        first = not _trials(trial.study)
        drawn = {} if first else _drawn(search, Draw(trial, len(search.data.y), unit))
        result = _tried(drawn, search, splits)
        for name, value in result.items():
            trial.set_user_attr(name, value)
        return result["score"]

    return objective


def _splits(search: Search) -> list[tuple[np.ndarray, np.ndarray]]:
    data, folds = search.data, search.folds
    stratified = False
    if search.task != REGRESSION:
        counts = np.unique(data.y, return_counts=True)[1]
        stratified = bool(counts.min() >= max(2, folds))
    settings = {"random_state": search.fixed["random_state"]}
    splitter: Any
    if folds == 1:
        kind = StratifiedShuffleSplit if stratified else ShuffleSplit
        splitter = kind(1, test_size=0.2, **settings)
    else:
        splitter = (StratifiedKFold if stratified else KFold)(
            folds, shuffle=True, **settings
        )
    return list(splitter.split(data.X, data.y))


def _unit(search: Search) -> float:
    """Mean |x|^2 / n of the scaled rows."""
    X, scaler = search.data.X, search.pipeline(search.fixed)[:-1]
    X = scaler.fit_transform(X, search.data.y) if len(scaler) else X
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.vdot(X, X)
    return float(squares) / X.shape[0] ** 2 or 1.0


def _drawn(search: Search, draw: Draw) -> dict[str, Any]:
    """Parameters of a trial."""
    ranges = NUMBER_RANGES if search.task == REGRESSION else RANGES
    drawn = ranges[search.method](draw)
    if {"n_anchors", "mu", "beta"} & search.fixed.keys():
        # It has to suit the number of anchors, and mu or beta stand for it.
        drawn.pop("perplexity", None)
    return {name: value for name, value in drawn.items() if name not in search.fixed}


def _tried(drawn: dict[str, Any], search: Search, splits) -> Record:
    """Scores of a setting on the held-out rows."""
    began = time.perf_counter()
    found, problem = [], None
    data, judge = search.data, search.judge
    try:
        for rows, held in splits:
            pipeline = search.pipeline({**search.fixed, **drawn})
            with fitting(quiet=True):
                pipeline.fit(safe_indexing(data.X, rows), data.y[rows])
                unseen = safe_indexing(data.X, held)
                found.append(judge.judge(pipeline, unseen, data.y[held]))
    except (ValueError, ArithmeticError) as error:
        problem = " ".join(str(error).split())
    scores = [score for score, _ in found]
    score = None if problem else float(np.mean(scores))
    if score is not None and not math.isfinite(score):
        score, problem = None, f"the score is {score}"
    return {
        "parameters": drawn,
        "score": score,
        "scores": scores,
        "figures": {} if problem else mean_figures(part for _, part in found),
        "error": problem,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _best(trials: list[Record]) -> Record | None:
    scored = [trial for trial in trials if trial["score"] is not None]
    return max(scored, key=lambda trial: trial["score"], default=None)


@contextmanager
def _reporter(wanted: int | None) -> Iterator[Callable[[list[Record]], None]]:
    """Tell how the search goes: a bar where a person looks, lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda trials: note(_line(trials))
        return
    bar = Steps("tune", wanted, verbose=1)
    with redirect_stdout(sys.stderr):
        yield lambda trials: bar.step(len(trials), _line(trials))
        bar.end()


def _line(trials: list[Record]) -> str:
    last, best = trials[-1], _best(trials)
    score = last["error"] if last["score"] is None else f"{last['score']:.4f}"
    best_score = "none" if best is None else f"{best['score']:.4f}"
    figures = "".join(
        f", {name.replace('_', ' ')} {value:.4f}"
        for name, value in last["figures"].items()
    )
    spent = f"{last['seconds']:.1f} s"
    return f"trial {last['trial']}: {score}, best {best_score}{figures}, {spent}"
