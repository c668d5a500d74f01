"""Named domains: AUC, time and size beside LightGBM and EBM, one thread each.

The tables are those of `mixed`, prepared as there and split as there; the images are
scanned digits, pixels as they are, and the text comments of a forum as tf-idf of words,
both in the split of their source. The AUC of more than two classes is the mean of each
class against the rest. Times are those of the CPU, so that other programs on the
machine add little. A size is that of the pickle. A method that takes too long is left
out.
"""

import pickle
import time
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks import mixed
from benchmarks._common import Report, on_one_thread
from benchmarks._data import load
from locallin import LocallyLinearClassifier

DOMAINS = {
    "credit, 1,000 loans": "german_credit",
    "credit, 30,000 cards": "credit_default",
    "churn": "telco_churn",
    "medicine, thyroid": "hypothyroid",
    "marketing calls": "bank_additional",
    "fraud": "fraud",
    "income": "adult",
    "images, scanned digits": "usps",
    "text, toxic comments": "toxicity",
}
IMAGES = ("usps",)
TEXTS = ("toxicity",)
METHODS = ("LocallyLinearClassifier", "LGBMClassifier", "ExplainableBoostingClassifier")
REPEATS = 5
MINUTES = 30  # of the CPU, for one method on one set


class Words:
    """A classifier behind tf-idf of words."""

    def __init__(self, model):
        self.model = model
        self.words = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)

    def fit(self, texts, y):
        self.model.fit(self.words.fit_transform(texts), y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, texts):
        return self.model.predict_proba(self.words.transform(texts))


def texts(folder: Path, name: str):
    """Training texts and labels, test texts and labels."""
    parts = []
    for part in ("train", "test"):
        path = folder / "tables" / f"{name}_{part}.parquet"
        frame = import_module("pandas").read_parquet(path)
        parts += [frame["text"].astype(str), frame["target"].astype(str).to_numpy()]
    return parts


def images(folder: Path, name: str):
    """Training pixels and labels, test pixels and labels."""
    split = load(folder, name).dense()
    return split.X, split.y.astype(str), split.X_test, split.y_test.astype(str)


def models_of_images() -> dict:
    """Functions that make the models, by name; pixels need no preparation."""

    def boosted():
        lightgbm = import_module("lightgbm")
        return lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)

    def additive():
        glassbox = import_module("interpret.glassbox")
        return glassbox.ExplainableBoostingClassifier(random_state=0, n_jobs=1)

    ours = partial(LocallyLinearClassifier, random_state=0, n_jobs=1)
    return dict(zip(METHODS, (ours, boosted, additive), strict=True))


def models_of_texts() -> dict:
    """Functions that make the models, by name."""
    lightgbm = import_module("lightgbm")
    return {
        METHODS[0]: lambda: Words(LocallyLinearClassifier(random_state=0, n_jobs=1)),
        METHODS[1]: lambda: Words(
            lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
        ),
    }


def cpu_seconds(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def auc(y, odds, classes) -> float:
    """Of the second of two classes, or the mean of each class against the rest."""
    if len(classes) == 2:
        return roc_auc_score(y == classes[1], odds[:, 1])
    return roc_auc_score(y, odds, multi_class="ovr", labels=classes)


def measure(make, split) -> dict:
    X, y, X_test, y_test = split
    try:
        model = make()
    except ImportError as error:
        return {"skipped": str(error)}
    fit = cpu_seconds(partial(model.fit, X, y))
    odds = np.clip(np.asarray(model.predict_proba(X_test), float), 1e-9, 1)
    odds /= odds.sum(axis=1, keepdims=True)
    times = [cpu_seconds(partial(model.predict_proba, X_test)) for _ in range(REPEATS)]
    return {
        "auc": auc(y_test, odds, model.classes_),
        "log_loss": log_loss(y_test, odds, labels=model.classes_),
        "fit_cpu_seconds": fit,
        "cpu_microseconds_per_row": 1e6 * float(np.median(times)) / len(y_test),
        "model_bytes": len(pickle.dumps(model)),
    }


def means(name: str, folder: Path, method: str) -> dict:
    """What was measured, over three splits where rows are few."""
    if name in IMAGES:
        return measure(models_of_images()[method], images(folder, name))
    if name in TEXTS:
        known = models_of_texts()
        if method not in known:
            return {"skipped": "takes tables, not words"}
        return measure(known[method], texts(folder, name))
    make = mixed.peers(n_jobs=1).get(method)
    if make is None:
        return {"skipped": "not among the methods for tables"}
    rows = len(mixed.split(folder, name, 0)[1])
    repeats = 1 if rows > mixed.LARGE_ROWS else mixed.REPEATS
    runs = [measure(make, mixed.split(folder, name, r)) for r in range(repeats)]
    if "skipped" in runs[0]:
        return runs[0]
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def run(job) -> None:
    names = list(DOMAINS.values())
    report = Report(job, "domains", repeats=REPEATS)
    report.fill(
        {
            (name, method): partial(
                on_one_thread, means, name, job.data, method, minutes=MINUTES
            )
            for name, method in product(job.named(names), job.parts(METHODS))
        }
    )
