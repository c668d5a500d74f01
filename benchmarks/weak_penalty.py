"""Which solver of the convex problem gets how far when the penalty is weak?"""

import time
from functools import partial

from benchmarks._common import Report, error
from benchmarks._data import load
from locallin import LLSVMClassifier

SETS = ("magic04", "ijcnn1", "letter", "usps", "covtype")
ROWS, TEST_ROWS = 100_000, 50_000
ANCHORS = (100, 1000)
# In units of what alpha="scale" takes.
FACTORS = (1.0, 0.1, 0.01)
SOLVERS = ("dual", "newton")


def measure(folder, name: str, n_anchors: int, factor: float) -> dict:
    """Both solvers on the same anchors and codes, one thread, times of the CPU."""
    split = load(folder, name).limited(ROWS, TEST_ROWS).scaled_for(name)
    n_anchors = min(n_anchors, len(split.y))
    first = LLSVMClassifier(
        n_anchors, alpha="scale", max_iter=1, tol=None, random_state=0
    )
    first.fit(split.X, split.y)
    found = {}
    for solver in SOLVERS:
        model = LLSVMClassifier(
            anchors=first.anchors_,
            alpha=factor * first.alpha_,
            solver=solver,
            random_state=0,
        )
        # Compile before the clock runs.
        model.set_params(max_iter=1).fit(split.X[:2000], split.y[:2000])
        began = time.process_time()
        model.set_params(max_iter=200).fit(split.X, split.y)
        found[solver] = {
            "cpu_seconds": time.process_time() - began,
            "iterations": model.n_iter_,
            "objective": float(model.objective_history_[-1]),
            "gap": model.dual_gap_,
            "training_error": error(model, split.X, split.y),
            "test_error": error(model, split.X_test, split.y_test),
        }
    dual, newton = (found[solver] for solver in SOLVERS)
    return {**found, "time_ratio": newton["cpu_seconds"] / dual["cpu_seconds"]}


def run(job) -> None:
    report = Report(job, "weak_penalty", rows=ROWS, test_rows=TEST_ROWS)
    report.fill(
        {
            (name, f"{m} anchors", f"alpha x {factor:g}"): partial(
                measure, job.data, name, m, factor
            )
            for m in ANCHORS
            for name in job.named(SETS)
            for factor in FACTORS
        }
    )
