"""How do fit time and memory grow, and what does importing cost?

"rows": LL-SVM with its paper's setting on COVTYPE, class 2 against the rest. "growth":
our defaults, but for a fixed number of anchors, as rows (COVTYPE), features, anchors or
classes (generated data) grow. Times are medians of three fits; an exponent is the slope
of a line through their logarithms.
"""

import subprocess
import sys
import tracemalloc
from functools import lru_cache, partial
from itertools import product

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Report, in_new_process, peak_memory, repeated_seconds
from benchmarks._data import load, read
from benchmarks._methods import ours

ROWS = (10_000, 30_000, 100_000, 300_000, 500_000)
SIZES = {
    "rows": (3_000, 10_000, 30_000, 100_000),
    "features": (16, 64, 256),
    "anchors": (25, 50, 100, 200),
    "classes": (2, 4, 8, 16),
}
METHODS = ("LLSVMClassifier", "DULLSVMClassifier")
BASE = {"rows": 10_000, "features": 32, "anchors": 100, "classes": 2}
PAPERS_OWN = {
    "n_anchors": 100,
    "n_neighbors": 8,
    "coding": "inverse-distance",
    "loss": "hinge",
    "solver": "sgd",
    "max_iter": 10,
    "tol": None,
}
IMPORTS = 8
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


@lru_cache(maxsize=1)
def covtype(folder) -> tuple[np.ndarray, np.ndarray]:
    """Rows in random order, standardised and divided by the root of their number."""
    (X,), (y,) = read(folder, "covtype")
    order = np.random.RandomState(0).permutation(len(X))
    X = StandardScaler().fit_transform(X[order])
    return X / np.sqrt(X.shape[1], dtype=np.float32), y[order] == 2


def generated(sizes) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        sizes["rows"],
        sizes["features"],
        n_informative=10,
        n_redundant=0,
        n_classes=sizes["classes"],
        random_state=0,
    )
    return X.astype(np.float32), y


def growth(times: dict[int, float]) -> dict:
    """Times of fits by size, and the exponent of their growth."""
    slope = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    return {
        "fit_seconds": {str(size): spent for size, spent in times.items()},
        "exponent": float(slope),
    }


def fit_time(model, X, y) -> float:
    model.fit(X[:2000], y[:2000])  # compile
    return float(np.median(repeated_seconds(partial(model.fit, X, y), 3)))


def papers_own(folder) -> dict:
    X, y = covtype(folder)
    model = ours("LLSVMClassifier", alpha=1e-5, **PAPERS_OWN).set_params(n_jobs=None)
    return growth({n: fit_time(model, X[:n], y[:n]) for n in ROWS})


def grown(folder, method, what) -> dict:
    times = {}
    for size in SIZES[what]:
        sizes = {**BASE, what: size}
        X, y = covtype(folder) if what == "rows" else generated(sizes)
        model = ours(method, n_anchors=sizes["anchors"])
        rows = slice(sizes["rows"])
        times[size] = fit_time(model, X[rows], y[rows])
    return growth(times)


def memory(folder) -> dict:
    """Bytes that a fit on MNIST needs beyond its input, by arrays and by process."""
    split = load(folder, "mnist").scaled_for("mnist")
    estimator = ours("LLSVMClassifier", alpha=3e-6, **PAPERS_OWN)
    clone(estimator).fit(split.X[:2000], split.y[:2000])
    process, _ = peak_memory(lambda: clone(estimator).fit(split.X, split.y))
    tracemalloc.start()
    model = clone(estimator).fit(split.X, split.y)
    arrays = tracemalloc.get_traced_memory()[1]
    codes = 8 * PAPERS_OWN["n_neighbors"] * len(split.X)
    weights = model.coef_.nbytes + model.intercept_.nbytes + model.anchors_.nbytes
    return {
        "input_bytes": split.X.nbytes,
        "codes_bytes": codes,
        "model_bytes": weights,
        "peak_beyond_input_bytes_arrays": arrays,
        "peak_beyond_input_bytes_process": process,
        "allowed_bytes": 2 * (codes + weights),
    }


def imports() -> dict:
    """Seconds that importing adds, and until the first fit is done (warm cache)."""
    runs = []
    for _ in range(IMPORTS):
        program = [sys.executable, "-c", IMPORT_PROGRAM]
        done = subprocess.run(program, capture_output=True, text=True, check=True)
        runs.append([float(v) for v in done.stdout.split()])
    added, first_fit, peer = np.median(runs[1:], axis=0)
    return {
        "import_seconds_added_to_scikit_learn": float(added),
        "from_import_to_end_of_first_fit_seconds": float(first_fit),
        "import_seconds_of_scikit_learn": float(peer),
    }


def run(job) -> None:
    report = Report(job, "scaling", papers_own=PAPERS_OWN, base=BASE)
    tasks = {
        "import": {("import",): imports},
        "memory": {
            ("memory of a fit on MNIST",): partial(in_new_process, memory, job.data)
        },
        "rows": {("rows",): partial(papers_own, job.data)},
        "growth": {
            ("growth", method, what): partial(grown, job.data, method, what)
            for method, what in product(METHODS, SIZES)
        },
    }
    for part in job.parts(tasks):
        report.fill(tasks[part])
