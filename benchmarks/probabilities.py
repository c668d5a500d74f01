"""What do calibrated probabilities cost, are they any good, do sets keep promises?

Peers beside ours have at most 4,000 rows to learn from, and no settings. Smoothing
moves a share of each label to the other classes, by weighted copies of the row; it is
judged on held-out training rows, beside calibration.
"""

import time
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from benchmarks._common import Report, cpu_seconds, error, on_one_thread
from benchmarks._data import Split, load
from benchmarks._methods import ours
from benchmarks._peers import numbered
from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    LLSVMClassifier,
    LLSVMClassifierCV,
    LocallyLinearClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.inspection.quality import ranking_scores

PARTS = ("calibration", "coverage", "peers", "smoothing")
SETS = ("pima", "magic04", "letter")
ROWS, TEST_ROWS = 4000, 4000
SEEDS = range(1)
MODELS = {
    "LLSVMClassifier": LLSVMClassifier(),
    "LLSVMClassifierCV": LLSVMClassifierCV(),
    "SAPLClassifier": SAPLClassifier(),
    "DULLSVMClassifier": DULLSVMClassifier(),
    "ML3Classifier": ML3Classifier(),
    "AtlasClassifier": AtlasClassifier(kernel="linear"),
}
# Rows that sets learn from and are counted on, promises, and repetitions.
COVERED = ("synthetic", "magic04", "letter", "spambase")
COVERED_ROWS, COUNTED_ROWS = 800, 3000
COVERAGES = (0.8, 0.9, 0.95)
SEARCH_SECONDS = 2.0
REPEATS = 20
BESIDE = ("pima", "spambase", "magic04", "letter")
BESIDE_SEEDS = range(3)
MINUTES = 10
SMOOTHED = ("pima", "ringnorm", "spambase", "semeion")
# Shares of a label; the first stands for none, with as many steps as the others.
SHARES = (1e-6, 0.02, 0.05, 0.1)


def peers() -> dict:
    """Ours and theirs by name, each with the probabilities that it has to offer."""
    quiet = {"random_state": 0, "n_jobs": 1, "verbose": -1}
    cat = {"random_seed": 0, "thread_count": 1, "verbose": False}
    known = {
        "LocallyLinearClassifier": ours("LocallyLinearClassifier", n_jobs=1),
        "DULLSVMClassifier": ours("DULLSVMClassifier", n_jobs=1, probability=True),
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier(
            random_state=0
        ),
        **numbered(
            {
                "LGBMClassifier": ("lightgbm.LGBMClassifier", quiet),
                "CatBoostClassifier": (
                    "catboost.CatBoostClassifier",
                    {**cat, "allow_writing_files": False},
                ),
            }
        ),
    }
    if lightgbm := known.get("LGBMClassifier"):
        wrapped = CalibratedClassifierCV(lightgbm, ensemble=False)
        known["LGBMClassifier, calibrated"] = wrapped
    return known


def beside(folder, name: str, method: str) -> dict:
    """Log loss, Brier score and calibration error on test rows."""
    found: dict[str, list] = {}
    for seed in BESIDE_SEEDS:
        split = load(folder, name, seed).limited(ROWS, TEST_ROWS).dense().standardised()
        model = clone(peers()[method])
        spent, _ = cpu_seconds(partial(model.fit, split.X, split.y))
        is_class = split.y_test[:, None] == model.classes_
        figures = ranking_scores(is_class, model.predict_proba(split.X_test))
        kept = ("log_loss", "brier", "calibration_error", "auc")
        figures = {key: figures[key] for key in kept}
        for key, value in {**figures, "fit_seconds": spent}.items():
            found.setdefault(key, []).append(value)
    return found


def smoothing(folder, name: str) -> dict:
    """Held-out error and log loss by smoothed share, and after calibration."""
    found: dict[str, list] = {}
    for seed in BESIDE_SEEDS:
        split = load(folder, name, seed).limited(ROWS).dense().standardised()
        split = split.held_out(seed)
        model = DULLSVMClassifier(loss="multinomial", random_state=seed)
        tried = {
            f"{share:g}": smoothed(clone(model), split.X, split.y, share)
            for share in SHARES
        }
        model.set_params(loss="squared_hinge", probability=True)
        tried["calibrated"] = model.fit(split.X, split.y)
        for key, one in tried.items():
            odds = one.predict_proba(split.X_test)
            loss = log_loss(split.y_test, odds, labels=one.classes_)
            mistaken = error(one, split.X_test, split.y_test)
            found.setdefault(f"{key} error", []).append(mistaken)
            found.setdefault(f"{key} log loss", []).append(loss)
    return found


def smoothed(model, X, y, share: float):
    """A model fitted to rows that count a little for the other classes."""
    classes = np.unique(y)
    rows, labels = np.repeat(np.arange(len(y)), len(classes)), np.tile(classes, len(y))
    other = share / (len(classes) - 1)
    weights = np.where(y[rows] == labels, 1 - share, other)
    return model.fit(X[rows], labels, sample_weight=weights)


def calibration(folder, name: str, method: str) -> dict:
    """One fit without probabilities, one with, and scikit-learn's wrapper.

    Times are those of the CPU, in one process.
    """
    found: dict[str, list] = {}
    for seed in SEEDS:
        split = load(folder, name, seed).limited(ROWS, TEST_ROWS)
        split = split.dense().scaled_for(name)
        plain = clone(MODELS[method]).set_params(random_state=seed)
        own = clone(plain)
        if "probability" in own.get_params():
            own.set_params(probability=True)
        wrapped = CalibratedClassifierCV(plain, ensemble=False)
        for model in (plain, own):  # compiles
            clone(model).fit(split.X[:1200], split.y[:1200])
        for key, model in (("plain", plain), ("own", own), ("wrapped", wrapped)):
            began = time.process_time()
            model.fit(split.X, split.y)
            spent = time.process_time() - began
            found.setdefault(f"{key}_seconds", []).append(spent)
            mistaken = error(model, split.X_test, split.y_test)
            found.setdefault(f"{key}_error", []).append(mistaken)
            if key != "plain":
                odds = model.predict_proba(split.X_test)
                loss = log_loss(split.y_test, odds, labels=model.classes_)
                found.setdefault(f"{key}_log_loss", []).append(loss)
    return found


def coverage(folder, name: str) -> dict:
    """How often sets hold the class, of all rows and of the class least often held."""
    found: dict[str, list] = {}
    for seed in range(REPEATS):
        split = _rows(folder, name, seed)
        model = LocallyLinearClassifier(
            n_members=1, time_limit=SEARCH_SECONDS, random_state=seed
        ).fit(split.X, split.y)
        places = np.searchsorted(model.classes_, split.y_test)
        for share in COVERAGES:
            sets = model.predict_set(split.X_test, share)
            each = model.predict_set(split.X_test, share, class_conditional=True)
            held, held_each = (s[np.arange(len(places)), places] for s in (sets, each))
            kept = {
                "covered": held.mean(),
                "size": sets.sum(axis=1).mean(),
                "covered_by_class": np.mean(
                    [held_each[places == c].mean() for c in np.unique(places)]
                ),
                "size_by_class": each.sum(axis=1).mean(),
            }
            for key, value in kept.items():
                found.setdefault(f"{key} {share:g}", []).append(float(value))
    return found


def _rows(folder, name: str, seed: int) -> Split:
    if name == "synthetic":
        X, y = make_classification(
            COVERED_ROWS + COUNTED_ROWS, 10, n_informative=6, n_classes=4,
            flip_y=0.1, random_state=seed,
        )  # fmt: skip
        n = COVERED_ROWS
        return Split(X[:n], y[:n], X[n:], y[n:])
    split = load(folder, name, seed)
    rng = np.random.RandomState(seed)
    X = np.concatenate([split.X, split.X_test])
    y = np.concatenate([split.y, split.y_test])
    order = rng.permutation(len(y))[: COVERED_ROWS + COUNTED_ROWS]
    X, y, n = X[order], y[order], COVERED_ROWS
    return Split(X[:n], y[:n], X[n:], y[n:])


def run(job) -> None:
    parts = job.parts(PARTS)
    if "calibration" in parts:
        report = Report(job, "probabilities-calibration", rows=ROWS)
        report.fill(
            {
                (name, method): partial(calibration, job.data, name, method)
                for name in job.named(SETS)
                for method in MODELS
            }
        )
    if "peers" in parts:
        report = Report(job, "probabilities-peers", rows=ROWS)
        report.fill(
            {
                (name, method): partial(
                    on_one_thread, beside, job.data, name, method, minutes=MINUTES
                )
                for name in job.named(BESIDE)
                for method in peers()
            }
        )
    if "smoothing" in parts:
        report = Report(job, "probabilities-smoothing", rows=ROWS)
        report.fill(
            {
                (name,): partial(
                    on_one_thread, smoothing, job.data, name, minutes=MINUTES
                )
                for name in job.named(SMOOTHED)
            }
        )
    if "coverage" in parts:
        settings = {
            "rows": COVERED_ROWS,
            "counted": COUNTED_ROWS,
            "repeats": REPEATS,
            "search_seconds": SEARCH_SECONDS,
        }
        report = Report(job, "probabilities-coverage", **settings)
        report.fill(
            {(name,): partial(coverage, job.data, name) for name in job.named(COVERED)}
        )
