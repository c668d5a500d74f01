"""Raw tables whose target is a number: ours without any preparation, and peers.

Data and preparation are those of `mixed`; two thirds of the rows are trained on, in a
random split for each repeat; sets of more than 20,000 rows have one. All but ours, the
boosters and EBM get standardised numbers, with median and indicator of gaps, and
one-hot levels. SVR, whose target is standardised too, chooses C and gamma by folds of
at most 3,000 training rows, and has at most 20,000. A method whose runs on a set take
more than ten minutes is left out there. Every method has one thread, and times are
those of the CPU, so that other programs add little to them.
"""

import pickle
from functools import lru_cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Report, batch_time, cpu_seconds, on_one_thread
from benchmarks._peers import TooManyRows, TunedSVR
from benchmarks.mixed import (
    LARGE_ROWS,
    MINUTES,
    MOST_LEVELS,
    REPEATS,
    Boosted,
    Plain,
    columns,
)
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

    def of(path, **settings):
        module, _, kind = path.rpartition(".")
        return getattr(import_module(module), kind)(**settings)

    def behind_columns(model):
        return lambda: Plain(make_pipeline(columns(), model))

    return {
        "LocallyLinearRegressor": lambda: LocallyLinearRegressor(random_state=0),
        "LGBMRegressor": lambda: Boosted(
            of("lightgbm.LGBMRegressor", random_state=0, n_jobs=1, verbose=-1)
        ),
        "HistGradientBoostingRegressor": lambda: Boosted(
            HistGradientBoostingRegressor(
                random_state=0, categorical_features="from_dtype"
            ),
            most=MOST_LEVELS,
        ),
        "CatBoostRegressor": lambda: Boosted(
            of(
                "catboost.CatBoostRegressor", random_seed=0, thread_count=1,
                verbose=False, allow_writing_files=False,
            ),
            as_text=True,
        ),
        "ExplainableBoostingRegressor": lambda: Plain(
            of(
                "interpret.glassbox.ExplainableBoostingRegressor",
                random_state=0, n_jobs=1,
            )
        ),
        "SVR, tuned": behind_columns(
            TransformedTargetRegressor(TunedSVR(), transformer=StandardScaler())
        ),
        "RandomForestRegressor": behind_columns(RandomForestRegressor(random_state=0)),
        "MLPRegressor": behind_columns(MLPRegressor(random_state=0)),
        "KNeighborsRegressor": behind_columns(KNeighborsRegressor()),
        "Ridge": behind_columns(Ridge()),
    }  # fmt: skip


def measure(folder: Path, name: str, method: str) -> dict:
    found: dict[str, list] = {}
    make = peers()[method]
    rows = len(split(folder, name, 0)[1])
    for repeat in range(1 if rows > LARGE_ROWS else REPEATS):
        X, y, X_test, y_test = split(folder, name, repeat)
        try:
            model = make()
            spent, _ = cpu_seconds(partial(model.fit, X, y))
        except (ImportError, TooManyRows) as reason:
            return {"skipped": str(reason)}
        missing = y_test - model.predict(X_test)
        run = {
            "rmse": float(np.sqrt(np.mean(missing**2))),
            "mae": float(np.mean(np.abs(missing))),
            "r2": 1 - float(np.mean(missing**2) / y_test.var()),
            "fit_seconds": spent,
            "model_bytes": len(pickle.dumps(model)),
            **batch_time(model, X_test, 3, cpu_seconds),
        }
        if hasattr(model, "predict_interval"):
            low, high = model.predict_interval(X_test, COVERAGE).T
            run["coverage"] = float(np.mean((low <= y_test) & (y_test <= high)))
        for key, value in run.items():
            found.setdefault(key, []).append(value)
    return found


def run(job) -> None:
    report = Report(job, "regression", repeats=REPEATS, large_rows=LARGE_ROWS)
    report.fill(
        {
            (name, method): partial(
                on_one_thread, measure, job.data, name, method, minutes=MINUTES
            )
            for name, method in product(job.named(SETS), job.parts(peers()))
        }
    )
