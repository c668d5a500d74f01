"""What do anchors that learn bring? SAPL and DU-LLSVM on the data of their papers.

100 anchors everywhere. Settings are chosen on a fifth of the training rows (of at
most 40,000 of them) that is held out; the test rows are looked at once per seed. Data
without a standard split is split anew for each seed, as in the papers. Beside the
papers' protocol stands the error on test rows that do not occur among the training
rows, where there are repetitions.
"""

from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks._common import SEEDS, Report, error, seconds, summary
from benchmarks._data import load
from locallin import DULLSVMClassifier, LLSVMClassifier, SAPLClassifier

# Printed error of LLC-SAPL, LLC-SAPL_lcc (2015), U-LLSVM and DU-LLSVM (2018).
PRINTED = {
    "letter": {"SAPL": 2.73, "SAPL_lcc": 13.64},
    "usps": {"SAPL": 5.54, "SAPL_lcc": 7.37},
    "banana": {"SAPL": 9.18, "SAPL_lcc": 9.85},
    "magic04": {"SAPL": 13.47, "SAPL_lcc": 16.25, "U-LLSVM": 15.12, "DU-LLSVM": 14.86},
    "ijcnn1": {"SAPL": 1.21, "SAPL_lcc": 4.97, "U-LLSVM": 2.34, "DU-LLSVM": 1.74},
    "skin": {"SAPL": 1.43, "SAPL_lcc": 3.35},
    "phishing": {"U-LLSVM": 4.34, "DU-LLSVM": 4.16},
    "mnist": {"SAPL": 2.33, "SAPL_lcc": 11.73},
    "connect4": {"U-LLSVM": 10.85, "DU-LLSVM": 9.06},
    "w8a": {},
}
# Splits of small data differ more than seeds do.
REPEATS = {"banana": range(10)}
RATES = [
    {"learning_rate": lr, "anchor_rate": ar}
    for lr in (0.2, 0.5)
    for ar in (0.03, 0.1, 0.2)
]
BANDWIDTHS = ("shared", "per-anchor")
DIVERSITIES = (1e-4, 1e-3, 1e-2)
ALPHAS = [{"alpha_factor": f} for f in (0.1, 1.0, 10.0)]


def prepared(folder, name, seed):
    """The split of a seed, scaled; which of its test rows are not training rows."""
    split = load(folder, name, seed).dense()
    return split.scaled_for(name), split.unseen()


def make(method, seed, settings):
    settings = dict(settings)
    if method in ("LL-SVM", "SOFT+SVM"):
        factor = settings.pop("alpha_factor")
        kind = "constant" if method == "SOFT+SVM" else "linear"
        model = LLSVMClassifier(100, coding="soft", local_model=kind, n_jobs=2)
    elif method in ("SAPL", "SAPL_lcc"):
        factor, kind = 1.0, "constant" if method == "SAPL_lcc" else "linear"
        model = SAPLClassifier(100, local_model=kind)
    else:
        factor, kind = 1.0, "linear"
        model = DULLSVMClassifier(100)
    model.set_params(random_state=seed, **settings)
    return lambda X, y: model.set_params(alpha=factor * alpha_rule(X, y, kind)).fit(
        X, y
    )


def alpha_rule(X, y, kind) -> float:
    """mean |x|^2 / n, weaker with the number of rows and classes."""
    square = 1.0 if kind == "constant" else np.square(X, dtype=float).sum() / len(X)
    share = 300 / (len(X) * (len(np.unique(y)) - 1))
    return square * np.clip(share, 0.02, 1.0) / len(X)


def choose(method, X, y, grid):
    """The point of the grid with the lowest error on held-out training rows."""
    if len(X) > 40_000:
        X, _, y, _ = train_test_split(X, y, train_size=40_000, random_state=0)
    split = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    X_fit, X_held, y_fit, y_held = split
    errors = [
        error(make(method, 0, point)(X_fit, y_fit), X_held, y_held) for point in grid
    ]
    return grid[int(np.argmin(errors))], errors


def measure(folder, name, method, grid) -> dict:
    split, _ = prepared(folder, name, SEEDS[0])
    point, tried = choose(method, split.X, split.y, grid)
    errors, unseen_errors, times, active = [], [], [], []
    for seed in REPEATS.get(name, SEEDS):
        split, unseen = prepared(folder, name, seed)
        fit = make(method, seed, point)
        spent, model = seconds(partial(fit, split.X, split.y))
        errors.append(error(model, split.X_test, split.y_test))
        if 0 < unseen.sum() < len(unseen):
            rows = split.X_test[unseen], split.y_test[unseen]
            unseen_errors.append(error(model, *rows))
        times.append(round(spent, 2))
        if hasattr(model, "active_history_"):
            active.append(round(float(model.active_history_[-1]), 2))
    result = {"chosen": point, **summary(errors), "fit_seconds": times}
    if unseen_errors:
        result["mean_on_unseen_rows"] = round(float(np.mean(unseen_errors)), 3)
    if active:
        result["active_anchors"] = active
    return {**result, "held_out_errors_tried": tried}


def diverse(folder, name, report) -> dict:
    """DU-LLSVM with the rates of U-LLSVM: only the diversity term differs."""
    point = report[name, "U-LLSVM"]["chosen"]
    grid = [{**point, "diversity": d} for d in DIVERSITIES]
    return measure(folder, name, "DU-LLSVM", grid)


def run(job) -> None:
    report = Report(job, "papers-joint", n_anchors=100, seeds=SEEDS)
    tasks = {}
    for name in job.named(PRINTED):
        report[name, "printed"] = PRINTED[name]
        joint = [{**r, "bandwidth": b} for b in BANDWIDTHS for r in RATES]
        methods = {"LL-SVM": ALPHAS, "SAPL": joint}
        if "SAPL_lcc" in PRINTED[name]:
            shared = joint[: len(RATES)]
            methods |= {"SOFT+SVM": ALPHAS, "SAPL_lcc": shared}
        methods["U-LLSVM"] = [{**point, "diversity": 0.0} for point in joint]
        for method, grid in methods.items():
            tasks[name, method] = partial(measure, job.data, name, method, grid)
        tasks[name, "DU-LLSVM"] = partial(diverse, job.data, name, report)
    report.fill(tasks)
