"""Where do we stand beside other classifiers: error, time, memory, size?

Every estimator is measured in a process of its own, after a fit on a few rows to warm
up: median time of up to three fits, of predictions of all test rows at once and of
single rows, length of the pickle, and peak memory of a fit beyond its input (that of
the process itself: helpers that an estimator starts are not counted). Digits have rows
of norm one, other features are standardised. What takes more than four minutes is
skipped.
"""

import pickle
from functools import partial
from itertools import product

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import (
    Report,
    batch_time,
    error,
    in_new_process,
    one_row_time,
    peak_memory,
    repeated_seconds,
    seconds,
)
from benchmarks._data import Split, load
from benchmarks._methods import OURS, installed, ours

SETS = ("mnist", "letter", "usps", "ijcnn1", "covtype", "magic04")
ROWS, TEST_ROWS = {"covtype": 50_000}, {"covtype": 20_000}
WARM_UP_ROWS = 500
FIT_BUDGET = 10.0
MINUTES = 4.0
ANCHORS = (10, 30, 300)
# scikit-learn's own solver of kernel machines is slow beyond.
LIBSVM, LIBSVM_ROWS = "SVC(C=10)", 50_000


def estimators() -> dict:
    """Ours with their defaults and along a curve, and the peers."""
    without_charts = [name for name in OURS if name != "AtlasClassifier"]
    curve = product(("LLSVMClassifier", "DULLSVMClassifier"), ANCHORS)
    return {
        **{name: ours(name) for name in without_charts},
        **{f"{name}, {m} anchors": ours(name, n_anchors=m) for name, m in curve},
        "LinearSVC": LinearSVC(random_state=0),
        LIBSVM: SVC(C=10),
        **installed(
            {
                "SVC(C=10), intelex": ("sklearnex.svm.SVC", {"C": 10}),
                "LGBMClassifier": (
                    "lightgbm.LGBMClassifier",
                    {"random_state": 0, "n_jobs": 2, "verbose": -1},
                ),
                "ExplainableBoostingClassifier": (
                    "interpret.glassbox.ExplainableBoostingClassifier",
                    {"random_state": 0, "n_jobs": 2},
                ),
            }
        ),
        **{
            f"Nystroem({n}) + LinearSVC": make_pipeline(
                Nystroem(n_components=n, random_state=0), LinearSVC(random_state=0)
            )
            for n in (300, 1000)
        },
        "RBFSampler(1000) + LinearSVC": make_pipeline(
            RBFSampler(gamma="scale", n_components=1000, random_state=0),
            LinearSVC(random_state=0),
        ),
        "KNeighborsClassifier": KNeighborsClassifier(n_jobs=2),
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier(
            random_state=0
        ),
    }


def prepared(folder, name) -> Split:
    split = load(folder, name).limited(ROWS.get(name), TEST_ROWS.get(name))
    return split.scaled_for(name)


def with_bandwidth(estimator, X):
    """Nystroem with the gamma that "scale" stands for in SVC and RBFSampler."""
    if "nystroem" in getattr(estimator, "named_steps", ()):
        estimator.set_params(nystroem__gamma=1 / (X.shape[1] * float(X.var())))
    return estimator


def measure(folder, name, estimator) -> dict:
    split = prepared(folder, name)
    estimator = with_bandwidth(estimator, split.X)
    few = split.limited(WARM_UP_ROWS)
    clone(estimator).fit(few.X, few.y).predict(few.X)
    model = clone(estimator)
    peak, (first, _) = peak_memory(lambda: seconds(lambda: model.fit(split.X, split.y)))
    more = repeated_seconds(
        lambda: clone(estimator).fit(split.X, split.y), 2, FIT_BUDGET - first
    )
    return {
        "test_error": error(model, split.X_test, split.y_test),
        "fit_seconds": float(np.median([first, *more])),
        **batch_time(model, split.X_test),
        **one_row_time(model, split.X_test),
        "model_bytes": len(pickle.dumps(model)),
        "peak_memory_bytes": peak,
    }


def measure_apart(folder, name, method, estimator) -> dict:
    if method == LIBSVM and len(prepared(folder, name).X) > LIBSVM_ROWS:
        return {"skipped": f"more than {LIBSVM_ROWS:,} training rows"}
    return in_new_process(measure, folder, name, estimator, minutes=MINUTES)


def run(job) -> None:
    models = estimators()
    chosen = job.parts(models)
    report = Report(
        job, "peers", estimators={name: str(models[name]) for name in chosen}
    )
    report.fill(
        {
            (name, method): partial(
                measure_apart, job.data, name, method, models[method]
            )
            for name, method in product(job.named(SETS), chosen)
        }
    )
