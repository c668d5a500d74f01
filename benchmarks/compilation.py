"""What does a first fit cost, and a first prediction, before anything is compiled?

Every estimator in processes of its own, which find an empty folder of compiled kernels:
CPU seconds and seconds of the first fit, and of the first prediction after it, and the
number of functions that are compiled for both, Numba's own among them. Then once more
with the kernels that the first process has left behind. Small float64 data, so that
hardly anything but compilation counts. Another source of the package (the folder above
``locallin``) is measured in turn with this one: --beside FOLDER.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import locallin
from benchmarks._common import Report

ROWS = 400
REPEATS = 3
ESTIMATORS = {
    "LLSVMClassifier": "LLSVMClassifier(n_anchors=10, max_iter=3, random_state=0)",
    "LLSVMClassifier, sgd": (
        "LLSVMClassifier(n_anchors=10, solver='sgd', max_iter=3, random_state=0)"
    ),
    "SAPLClassifier": "SAPLClassifier(n_anchors=10, max_iter=3, random_state=0)",
    "DULLSVMClassifier": "DULLSVMClassifier(n_anchors=10, max_iter=3, random_state=0)",
    "ML3Classifier": "ML3Classifier(n_models=4, max_iter=3, random_state=0)",
    "AtlasClassifier": "AtlasClassifier(random_state=0)",
    "AtlasClassifier, linear": "AtlasClassifier(kernel='linear', random_state=0)",
}
PROGRAM = """
import json, sys, time, warnings
from numba.core import event
from sklearn.datasets import load_digits
import locallin

class Counter(event.Listener):
    n = 0
    def on_start(self, event):
        self.n += 1
    def on_end(self, event):
        pass

counter = Counter()
event.register("numba:compile", counter)
warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
X, y = X[:{rows}] / 16, y[:{rows}]
model = locallin.{estimator}
found = {{}}
calls = {{"fit": lambda: model.fit(X, y), "predict": lambda: model.predict(X)}}
for name, call in calls.items():
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    found[name + "_cpu_seconds"] = time.process_time() - cpu
    found[name + "_seconds"] = time.perf_counter() - wall
found["functions_compiled"] = counter.n
print(json.dumps(found))
"""
HERE = Path(locallin.__file__).parents[1]


def once(source: Path, estimator: str, cache: str) -> dict:
    """A fit and a prediction in a new process, with the kernels in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}
    program = PROGRAM.format(rows=ROWS, estimator=estimator)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def cold_and_warm(source: Path, estimator: str) -> tuple[dict, dict]:
    with TemporaryDirectory() as cache:
        return once(source, estimator, cache), once(source, estimator, cache)


def measure(sources: dict[str, Path], estimator: str) -> dict:
    """Medians of several runs, the sources in turn."""
    runs = [
        {name: cold_and_warm(source, estimator) for name, source in sources.items()}
        for _ in range(REPEATS)
    ]
    return {
        name: {
            state: {
                key: round(median(run[name][i][key] for run in runs), 3)
                for key in runs[0][name][i]
            }
            for i, state in enumerate(("cold", "warm"))
        }
        for name in sources
    }


def run(job) -> None:
    sources = {"now": HERE}
    if job.beside is not None:
        sources["before"] = job.beside.resolve()
    report = Report(job, "compilation", rows=ROWS, repeats=REPEATS)
    report.fill(
        {
            (name,): partial(measure, sources, estimator)
            for name, estimator in ESTIMATORS.items()
            if name in (job.only or ESTIMATORS)
        }
    )
