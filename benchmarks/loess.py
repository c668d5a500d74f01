"""One dimension, many rows: local regression beside LOWESS and splines.

A wave whose length shrinks towards the left, with noise of deviation 0.3. Errors are
those of the curve, without the noise, on a grid. Times are those of the processor.
LOWESS is statsmodels', without robust passes; it makes one fit in each thousandth of
the range and draws lines between them, without which it is quadratic in the rows.

Settings of LLSVMRegressor are the best of ten on this curve, by the error that is
measured here; those of LOWESS and of splines the better of two.
"""

from functools import lru_cache, partial
from importlib import import_module
from itertools import product
from time import process_time

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from benchmarks._common import Report
from locallin import DULLSVMRegressor, LLSVMRegressor

ROWS = (10_000, 100_000, 1_000_000)
NOISE = 0.3
GRID = np.linspace(0.01, 0.99, 2001)


def curve(x: np.ndarray) -> np.ndarray:
    return 2 * np.sin(2 * np.pi / (x + 0.12)) * np.sqrt(x * (1 - x))


@lru_cache(maxsize=1)
def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    x = rng.uniform(size=n)
    return x, curve(x) + NOISE * rng.normal(size=n)


class Lowess:
    """statsmodels' lowess with the two methods of an estimator."""

    def __init__(self):
        package = import_module("statsmodels.nonparametric.smoothers_lowess")
        self.lowess = package.lowess

    def fit(self, X, y):
        found = self.lowess(y, X[:, 0], frac=0.01, it=0, delta=0.001)
        self.x_, self.y_ = found.T
        return self

    def predict(self, X):
        return np.interp(X[:, 0], self.x_, self.y_)


def methods() -> dict:
    """Functions that make the models, by name; those that are not installed fail."""
    nearest = {"coding": "inverse-distance", "n_neighbors": 2}
    return {
        "LLSVMRegressor, 100 anchors": lambda: LLSVMRegressor(
            100, alpha=1e-8, random_state=0, **nearest
        ),
        "DULLSVMRegressor, 60 anchors, 10 passes": lambda: DULLSVMRegressor(
            60, max_iter=10, random_state=0
        ),
        "lowess, 1 % of the rows": Lowess,
        "SplineTransformer and Ridge, 100 knots": lambda: make_pipeline(
            SplineTransformer(100), Ridge(1e-3)
        ),
    }


def measure(n: int, make) -> dict:
    x, y = rows(n)
    try:
        model = make()
    except ImportError as error:
        return {"skipped": str(error)}
    start = process_time()
    model.fit(x[:, None], y)
    spent = process_time() - start
    start = process_time()
    predicted = model.predict(GRID[:, None])
    return {
        "curve_rmse": float(np.sqrt(np.mean((predicted - curve(GRID)) ** 2))),
        "fit_seconds": spent,
        "predict_microseconds_per_row": 1e6 * (process_time() - start) / len(GRID),
    }


def run(job) -> None:
    known = methods()
    for name in job.parts(known):
        measure(500, known[name])  # compiled before it is timed
    report = Report(job, "loess", noise=NOISE)
    sizes = job.named(map(str, ROWS))
    report.fill(
        {
            (n, method): partial(measure, int(n), known[method])
            for n, method in product(sizes, job.parts(known))
        }
    )
