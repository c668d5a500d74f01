"""How do fit time and memory grow, and what does importing cost?"""

import json
import subprocess
import sys

import numpy as np

from benchmarks._common import save, seconds
from locallin import LLSVMClassifier

ROWS = (10_000, 30_000, 100_000, 300_000, 500_000)
SETTING = {
    "n_anchors": 100,
    "n_neighbors": 8,
    "coding": "inverse-distance",
    "loss": "hinge",
    "solver": "sgd",
    "max_iter": 10,
    "tol": None,
    "random_state": 0,
}


def rows_against_time(data) -> dict:
    """Fit time on covtype (class 2 against the rest), and its exponent in n."""
    with np.load(data / "covtype.npz") as file:
        X, y = file["X"].astype(np.float32), file["y"] == 2
    order = np.random.RandomState(0).permutation(len(X))
    X, y = X[order], y[order]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    X /= np.sqrt(X.shape[1], dtype=np.float32)
    LLSVMClassifier(alpha=1e-5, **SETTING).fit(X[:2000], y[:2000])
    times = {}
    for n in ROWS:
        model = LLSVMClassifier(alpha=1e-5, **SETTING)
        runs = [seconds(lambda m=model, n=n: m.fit(X[:n], y[:n]))[0] for _ in range(3)]
        times[n] = float(np.median(runs))
        print(f"covtype, {n} rows: {times[n]:.2f} s", flush=True)
    exponent = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    print(f"exponent {exponent:.2f}")
    return {"fit_seconds": times, "exponent": float(exponent)}


MEMORY_PROGRAM = """
import gc, json, sys, tracemalloc
from pathlib import Path
from benchmarks._common import load
from benchmarks.scaling import SETTING
from locallin import LLSVMClassifier

def resident(field):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return 1024 * int(line.split()[1])

X, y, X_test, _ = load(Path(sys.argv[1]), "mnist")
LLSVMClassifier(alpha=3e-6, n_jobs=2, **SETTING).fit(X[:2000], y[:2000])
gc.collect()
open("/proc/self/clear_refs", "w").write("5")
before = resident("VmRSS")
model = LLSVMClassifier(alpha=3e-6, n_jobs=2, **SETTING).fit(X, y)
process = resident("VmHWM") - before
tracemalloc.start()
model = LLSVMClassifier(alpha=3e-6, n_jobs=2, **SETTING).fit(X, y)
arrays = tracemalloc.get_traced_memory()[1]
codes = 8 * 8 * len(X)
weights = model.coef_.nbytes + model.intercept_.nbytes + model.anchors_.nbytes
print(json.dumps({
    "input_bytes": X.nbytes, "codes_bytes": codes, "model_bytes": weights,
    "peak_beyond_input_bytes_arrays": arrays,
    "peak_beyond_input_bytes_process": process,
    "allowed_bytes": 2 * (codes + weights),
}))
"""

IMPORT_PROGRAM = """
import time
start = time.perf_counter()
import sklearn, sklearn.svm
middle = time.perf_counter()
import locallin
end = time.perf_counter()
from locallin import LLSVMClassifier
import numpy as np
X = np.random.RandomState(0).normal(size=(200, 5))
LLSVMClassifier(random_state=0).fit(X, X[:, 0] > 0)
print(end - middle, time.perf_counter() - middle, middle - start)
"""


def imports() -> dict:
    """Seconds that importing adds, and until the first fit is done (warm cache)."""
    runs = []
    for _ in range(8):
        output = subprocess.run(
            [sys.executable, "-c", IMPORT_PROGRAM],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        runs.append([float(v) for v in output.split()])
    added, first_fit, peer = np.median(runs[1:], axis=0)
    return {
        "import_seconds_added_to_scikit_learn": float(added),
        "from_import_to_end_of_first_fit_seconds": float(first_fit),
        "import_seconds_of_scikit_learn": float(peer),
    }


def run(data, results) -> None:
    report = {"import": imports()}
    print(report["import"])
    output = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM, str(data)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    report["memory of a fit on MNIST"] = json.loads(output)
    print(report["memory of a fit on MNIST"], flush=True)
    report["rows"] = rows_against_time(data)
    save(results, "scaling", report)
