"""What do two threads bring to a fit, and what would more of them?

MNIST, wall times of fits with n_jobs=1 and 2 (k-means: with one and two threads of the
BLAS). By Amdahl's law times of t and t' leave a serial part s = 2 t' / t - 1 and, with
p threads, a speed-up of 1 / (s + (1 - s) / p).
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
    SAPLClassifier,
)
from locallin.anchors import choose_anchors

ROWS = 10_000
ATLAS_ROWS = 2000
REPEATS = 3
BUDGET = 6.0  # seconds, after which a fit is not repeated
MORE = (4, 16)
PASSES = 3


@cache
def prepared(folder) -> Split:
    return load(folder, "mnist").limited(ROWS).normalised()


def fits(split: Split) -> dict:
    """Functions of the number of threads."""
    X, y = split.X, split.y
    few = {"random_state": 0, "max_iter": PASSES}

    def fit(estimator, rows=None):
        return lambda n: estimator.set_params(n_jobs=n).fit(X[:rows], y[:rows])

    return {
        "k-means": lambda n: choose_anchors(X, 100, random_state=0),
        "LLSVMClassifier": fit(
            LLSVMClassifier(100, alpha="scale", tol=None, **few),
        ),
        "SAPLClassifier": fit(SAPLClassifier(100, **few)),
        "DULLSVMClassifier": fit(DULLSVMClassifier(100, **few)),
        "ML3Classifier": fit(ML3Classifier(20, **few)),
        "Atlas": fit(Atlas(random_state=0), ATLAS_ROWS),
    }


def serial_part(one: float, two: float) -> float:
    """Share of the work that the second thread does not speed up."""
    return float(np.clip(2.0 * two / one - 1.0, 0.0, 1.0))


def measure(folder, name: str) -> dict:
    fit = fits(prepared(folder))[name]
    times = {}
    for n in (1, 2):
        with threadpool_limits(n, "blas"):
            fit(n)  # compiles
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


def run(job) -> None:
    report = Report(job, "threads", rows=ROWS, atlas_rows=ATLAS_ROWS, passes=PASSES)
    names = job.parts(
        ("k-means", "LLSVMClassifier", "SAPLClassifier", "DULLSVMClassifier",
         "ML3Classifier", "Atlas")
    )  # fmt: skip
    report.fill({(name,): partial(measure, job.data, name) for name in names})
