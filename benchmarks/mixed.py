"""Raw tables with categories, gaps and dates: ours without any preparation, and peers.

A folder `tables` beside the .npz files holds one Parquet file for each set; its last
column is `target`. Two thirds of the rows are trained on, stratified, in a random split
for each repeat; sets of more than 20,000 rows have one. Every peer gets what its own
documentation asks for: LightGBM, HistGradientBoosting and CatBoost the columns of text
as categories, EBM the frame as it is, LogisticRegression standardised numbers with
median and indicator of gaps and one-hot levels, SVC the same, up to 20,000 rows. Dates
become numbers for all but ours. A method whose runs on a set take more than ten
minutes, five for EBM, is left out there, and one that fits longer than a minute has one
split. Every method has one thread, and times are those of the CPU, the minutes too, so
that other programs add little to them.
"""

import pickle
from functools import lru_cache, partial
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks._common import Report, batch_time, cpu_seconds, on_one_thread
from benchmarks._peers import TooManyRows
from locallin import LocallyLinearClassifier

SETS = (
    "penguins",
    "titanic",
    "german_credit",
    "hypothyroid",
    "telco_churn",
    "mushroom",
    "nursery",
    "kr_vs_k",
    "credit_default",
    "amazon_access",
    "bank_additional",
    "elec",
    "adult",
    "kdd_upselling",
    "home_credit",
    "kick",
    "fars",
    "census_income",
    "nycflights_delay",
    "fraud",
)
LARGE_ROWS = 20_000
REPEATS = 3
# HistGradientBoosting takes no more levels than this.
MOST_LEVELS = 254
SVC_ROWS = 20_000
MINUTES = 10
FEWER_MINUTES = {"ExplainableBoostingClassifier": 5}
SLOW_SECONDS = 60


@lru_cache(maxsize=1)
def split(folder: Path, name: str, repeat: int):
    """Training frame and labels, test frame and labels."""
    frame = import_module("pandas").read_parquet(folder / "tables" / f"{name}.parquet")
    y = frame.pop("target").astype(str).to_numpy()
    seen, held = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=repeat, stratify=_strata(y)
    )
    return frame.iloc[seen], y[seen], frame.iloc[held], y[held]


def _strata(y):
    """Labels, those of a single row with the most frequent one."""
    labels, at, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.where(counts[at] < 2, labels[counts.argmax()], y)


def without_dates(frame):
    """Dates as parts and as days."""
    frame = frame.copy()
    for name in frame.select_dtypes("datetime").columns:
        date = frame.pop(name).dt
        for part in ("year", "month", "day", "day_of_week", "hour"):
            frame[f"{name} {part}"] = getattr(date, part)
        frame[f"{name} days"] = (date.year - 1970) * 366 + date.day_of_year
    return frame


class Categories:
    """A booster behind columns whose text is a category with the training levels."""

    def __init__(self, model, as_text: bool = False, most: int | None = None):
        self.model, self._as_text, self._most = model, as_text, most

    def _prepare(self, frame):
        pandas = import_module("pandas")
        frame = without_dates(frame)
        for name in self._names:
            values = frame[name].astype("object")
            if self._as_text:
                frame[name] = values.where(values.notna(), "missing").astype(str)
            else:
                kind = pandas.CategoricalDtype(self._levels[name])
                frame[name] = values.astype(kind)
        return frame[self._columns]

    def fit(self, frame, y):
        plain = without_dates(frame)
        text = plain.select_dtypes(["category", "object", "string"])
        self._names = list(text.columns)
        self._levels = {
            name: list(text[name].value_counts().index[: self._most])
            for name in self._names
        }
        self._columns = [n for n in plain.columns if plain[n].notna().any()]
        self._names = [n for n in self._names if n in self._columns]
        frame = self._prepare(frame)
        more = {"cat_features": self._names} if self._as_text else {}
        self.model.fit(frame, y, **more)
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def predict_proba(self, frame):
        return self.model.predict_proba(self._prepare(frame))

    predict = predict_proba


class Boosted(Categories):
    """The same for numbers."""

    def predict(self, frame):
        return self.model.predict(self._prepare(frame))


def columns():
    """Standardised numbers with median and indicator of gaps, and one-hot levels."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
    )
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"),
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include=["number", "bool"])),
        (levels, make_column_selector(dtype_include=["category", "object", "string"])),
    )


def linear():
    return make_pipeline(columns(), LogisticRegression(max_iter=300))


class Machine(BaseEstimator, ClassifierMixin):
    """An SVC with probabilities by folds, as its documentation recommends."""

    def fit(self, X, y):
        if X.shape[0] > SVC_ROWS:
            raise TooManyRows(f"more than {SVC_ROWS:,} training rows")
        svc = import_module("sklearnex.svm").SVC(cache_size=500)
        self.model_ = CalibratedClassifierCV(svc, ensemble=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Plain:
    """A model that takes the frame, but for its dates."""

    def __init__(self, model):
        self.model = model

    def _prepare(self, frame):
        frame = without_dates(frame)
        for name in frame.select_dtypes("category").columns:
            frame[name] = frame[name].astype("object")
        for name in frame.select_dtypes("bool").columns:
            frame[name] = frame[name].astype(float)
        return frame[[n for n in self._columns if n in frame]]

    def fit(self, frame, y):
        plain = without_dates(frame)
        self._columns = [n for n in plain.columns if plain[n].notna().any()]
        self.model.fit(self._prepare(frame), y)
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def predict_proba(self, frame):
        return self.model.predict_proba(self._prepare(frame))

    def predict(self, frame):
        if self.classes_ is not None:
            return self.predict_proba(frame)
        return self.model.predict(self._prepare(frame))


def peers(n_jobs: int = 1) -> dict:
    """Functions that make the models, by name; those that are not installed fail."""

    def of(path, **settings):
        module, _, kind = path.rpartition(".")
        return getattr(import_module(module), kind)(**settings)

    return {
        "LocallyLinearClassifier": lambda: LocallyLinearClassifier(
            random_state=0, n_jobs=n_jobs
        ),
        "LGBMClassifier": lambda: Categories(
            of("lightgbm.LGBMClassifier", random_state=0, n_jobs=n_jobs, verbose=-1)
        ),
        "HistGradientBoostingClassifier": lambda: Categories(
            HistGradientBoostingClassifier(
                random_state=0, categorical_features="from_dtype"
            ),
            most=MOST_LEVELS,
        ),
        "CatBoostClassifier": lambda: Categories(
            of(
                "catboost.CatBoostClassifier", random_seed=0, thread_count=n_jobs,
                verbose=False, allow_writing_files=False,
            ),
            as_text=True,
        ),
        "LogisticRegression": lambda: Plain(linear()),
        "SVC": lambda: Plain(make_pipeline(columns(), Machine())),
        "ExplainableBoostingClassifier": lambda: Plain(
            of(
                "interpret.glassbox.ExplainableBoostingClassifier",
                random_state=0, n_jobs=n_jobs,
            )
        ),
    }  # fmt: skip


def measure(folder: Path, name: str, method: str) -> dict:
    make = peers()[method]
    found: dict[str, list] = {}
    rows = len(split(folder, name, 0)[1])
    for repeat in range(1 if rows > LARGE_ROWS else REPEATS):
        X, y, X_test, y_test = split(folder, name, repeat)
        try:
            model = make()
        except ImportError as error:
            return {"skipped": str(error)}
        try:
            spent, _ = cpu_seconds(partial(model.fit, X, y))
        except TooManyRows as reason:
            return {"skipped": str(reason)}
        odds = np.asarray(model.predict_proba(X_test), float)
        known = np.isin(y_test, model.classes_)
        odds = np.clip(odds, 1e-9, 1)
        odds /= odds.sum(axis=1, keepdims=True)
        winners = np.asarray(model.classes_)[odds.argmax(axis=1)].ravel()
        run = {
            "test_errors": 100 * float(np.mean(winners != y_test)),
            "log_losses": log_loss(y_test[known], odds[known], labels=model.classes_),
            "fit_seconds": spent,
            "model_bytes": len(pickle.dumps(model)),
            **batch_time(model, X_test, 3, cpu_seconds),
        }
        if len(model.classes_) == 2:
            truth = y_test == model.classes_[1]
            run["aucs"] = roc_auc_score(truth, odds[:, 1])
        for key, value in run.items():
            found.setdefault(key, []).append(value)
        if spent > SLOW_SECONDS:
            break
    return found


def run(job) -> None:
    report = Report(job, "mixed", repeats=REPEATS, large_rows=LARGE_ROWS)
    report.fill(
        {
            (name, method): partial(
                on_one_thread,
                measure,
                job.data,
                name,
                method,
                minutes=FEWER_MINUTES.get(method, MINUTES),
            )
            for name, method in product(job.named(SETS), job.parts(peers()))
        }
    )
