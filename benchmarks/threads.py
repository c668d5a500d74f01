"""What do two threads bring to a fit, and what would more of them?

Wall times of fits with n_jobs=1 and 2, and as many threads of BLAS and OpenMP, which
k-means has: short fits, to some rows of MNIST, and longer ones, to all of them and to
rows of COVTYPE with map and bins. By Amdahl's law times of t and t' leave a serial part
s = 2 t' / t - 1 and, with p threads, a speed-up of 1 / (s + (1 - s) / p).
"""

from functools import cache, partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._common import Report, repeated_seconds
from benchmarks._data import Split, load
from locallin import (
    Atlas,
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.anchors import choose_anchors

ROWS, PASSES = 10_000, 3
LONG_ROWS, LONG_PASSES = 60_000, 8
COVTYPE_ROWS, COVTYPE_ANCHORS, COVTYPE_PASSES = 100_000, 1000, 5
ATLAS_ROWS = 2000
WARM_UP_ROWS = 1000
REPEATS = 3
BUDGET = 3.0  # seconds, after which a fit is not repeated
MORE = (4, 16)
SHORT = (
    "k-means", "LLSVMClassifier", "SAPLClassifier", "DULLSVMClassifier",
    "ML3Classifier", "Atlas",
)  # fmt: skip
LONG = ("LLSVMClassifier", "SAPLClassifier", "DULLSVMClassifier", "ML3Classifier")
COVTYPE = "COVTYPE, DULLSVMClassifier"


@cache
def prepared(folder, name: str, rows: int) -> Split:
    split = load(folder, name).limited(rows)
    return split.normalised() if name == "mnist" else split.standardised()


def estimator(name: str, passes: int):
    few = {"random_state": 0, "max_iter": passes}
    if name == "LLSVMClassifier":
        return LLSVMClassifier(100, alpha="scale", tol=None, **few)
    if name == "SAPLClassifier":
        return SAPLClassifier(100, **few)
    if name == "DULLSVMClassifier":
        return DULLSVMClassifier(100, **few)
    if name == "ML3Classifier":
        return ML3Classifier(20, **few)
    return Atlas(random_state=0)


def on_covtype() -> DULLSVMClassifier:
    return DULLSVMClassifier(
        COVTYPE_ANCHORS,
        metric="linear",
        feature_map=PiecewiseLinearEncoder(16),
        coding_space="mapped",
        diversity=0.0,
        max_iter=COVTYPE_PASSES,
        random_state=0,
    )


def serial_part(one: float, two: float) -> float:
    """Share of the work that the second thread does not speed up."""
    return float(np.clip(2.0 * two / one - 1.0, 0.0, 1.0))


def measure(split: Split, model, rows: int | None = None) -> dict:
    """Times of a fit to the first rows; of k-means where there is no model."""

    def fit(n, last=rows):
        X, y = split.X[:last], split.y[:last]
        if model is None:
            return choose_anchors(X, 100, random_state=0)
        return model.set_params(n_jobs=n).fit(X, y)

    times = {}
    for n in (1, 2):
        with threadpool_limits(n):
            fit(n, min(WARM_UP_ROWS, len(split.X)))  # compiles
            times[n] = float(
                np.median(repeated_seconds(partial(fit, n), REPEATS, BUDGET))
            )
    serial = serial_part(times[1], times[2])
    return {
        "seconds": {f"{n}": spent for n, spent in times.items()},
        "speed_up": times[1] / times[2],
        "serial_part": serial,
        "foreseen": {f"{p}": 1.0 / (serial + (1.0 - serial) / p) for p in MORE},
    }


def short(folder, name: str) -> dict:
    split = prepared(folder, "mnist", ROWS)
    if name == "k-means":
        return measure(split, None)
    rows = ATLAS_ROWS if name == "Atlas" else None
    return measure(split, estimator(name, PASSES), rows)


def long(folder, name: str) -> dict:
    return measure(prepared(folder, "mnist", LONG_ROWS), estimator(name, LONG_PASSES))


def covtype(folder) -> dict:
    return measure(prepared(folder, "covtype", COVTYPE_ROWS), on_covtype())


def run(job) -> None:
    report = Report(
        job, "threads", rows=ROWS, passes=PASSES, long_rows=LONG_ROWS,
        long_passes=LONG_PASSES, covtype_rows=COVTYPE_ROWS,
        covtype_passes=COVTYPE_PASSES, atlas_rows=ATLAS_ROWS,
    )  # fmt: skip
    tasks = {name: partial(short, job.data, name) for name in SHORT}
    tasks |= {f"{name}, all rows": partial(long, job.data, name) for name in LONG}
    tasks[COVTYPE] = partial(covtype, job.data)
    report.fill({(name,): tasks[name] for name in job.parts(tasks)})
