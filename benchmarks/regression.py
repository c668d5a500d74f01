"""Raw tables whose target is a number: ours without any preparation, and peers.

Data and preparation are those of `mixed`; two thirds of the rows are trained on, in a
random split for each repeat. All but ours and the boosters get standardised numbers,
with median and indicator of gaps, and one-hot levels.
"""

from functools import lru_cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline

from benchmarks._common import Report, batch_time, seconds
from benchmarks.mixed import LARGE_ROWS, MOST_LEVELS, REPEATS, Boosted, Plain, columns
from locallin import LocallyLinearRegressor

SETS = (
    "concrete",
    "medical_cost",
    "airfoil",
    "ames",
    "abalone",
    "nyc_taxis",
    "wine_quality",
    "wind",
    "electrical_grid",
    "bike_sharing",
    "california",
    "casp",
    "diamonds",
    "nycflights_arr_delay",
)
COVERAGE = 0.9


@lru_cache(maxsize=1)
def split(folder: Path, name: str, repeat: int):
    """Training frame and target, test frame and target."""
    frame = import_module("pandas").read_parquet(folder / "tables" / f"{name}.parquet")
    y = frame.pop("target").to_numpy(float)
    seen, held = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=repeat
    )
    return frame.iloc[seen], y[seen], frame.iloc[held], y[held]


def peers() -> dict:
    """Functions that make the models, by name; those that are not installed fail."""

    def light():
        kind = import_module("lightgbm").LGBMRegressor
        return Boosted(kind(random_state=0, n_jobs=2, verbose=-1))

    def behind_columns(model):
        return lambda: Plain(make_pipeline(columns(), model))

    return {
        "LocallyLinearRegressor": lambda: LocallyLinearRegressor(
            random_state=0, n_jobs=2
        ),
        "LGBMRegressor": light,
        "HistGradientBoostingRegressor": lambda: Boosted(
            HistGradientBoostingRegressor(
                random_state=0, categorical_features="from_dtype"
            ),
            most=MOST_LEVELS,
        ),
        "RandomForestRegressor": behind_columns(
            RandomForestRegressor(random_state=0, n_jobs=2)
        ),
        "MLPRegressor": behind_columns(MLPRegressor(random_state=0)),
        "KNeighborsRegressor": behind_columns(KNeighborsRegressor()),
        "Ridge": behind_columns(Ridge()),
    }


def measure(folder: Path, name: str, make) -> dict:
    found: dict[str, list] = {}
    rows = len(split(folder, name, 0)[1])
    for repeat in range(1 if rows > LARGE_ROWS else REPEATS):
        X, y, X_test, y_test = split(folder, name, repeat)
        try:
            model = make()
        except ImportError as error:
            return {"skipped": str(error)}
        spent, _ = seconds(partial(model.fit, X, y))
        missing = y_test - model.predict(X_test)
        run = {
            "rmse": float(np.sqrt(np.mean(missing**2))),
            "mae": float(np.mean(np.abs(missing))),
            "r2": 1 - float(np.mean(missing**2) / y_test.var()),
            "fit_seconds": spent,
            **batch_time(model, X_test, 3),
        }
        if hasattr(model, "predict_interval"):
            low, high = model.predict_interval(X_test, COVERAGE).T
            run["coverage"] = float(np.mean((low <= y_test) & (y_test <= high)))
        for key, value in run.items():
            found.setdefault(key, []).append(value)
    return found


def run(job) -> None:
    known = peers()
    report = Report(job, "regression", repeats=REPEATS, large_rows=LARGE_ROWS)
    report.fill(
        {
            (name, method): partial(measure, job.data, name, known[method])
            for name, method in product(job.named(SETS), job.parts(known))
        }
    )
