"""How far does a stream go? Millions of deformed digits, in bounded memory.

As the largest experiment of the LLC-SAPL paper, MNIST8m: the 60,000 training images
under small random shifts, turns and elastic deformations, made on the fly (see
``_deformed.py``), and the 10,000 test images as they are. One pass. Every run has a
process of its own; its memory is counted beyond that before the stream began, and the
time includes making the images, whose own time is measured beside it.
"""

import pickle
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import normalize

from benchmarks._common import (
    Report,
    batch_time,
    error,
    in_new_process,
    peak_memory,
    seconds,
)
from benchmarks._data import load
from benchmarks._deformed import DeformedDigits
from locallin import DULLSVMClassifier, LLSVMClassifier, ML3Classifier, SAPLClassifier

PRINTED = {"SAPL, 8,000,000 rows": 2.04}
ROWS = (125_000, 500_000, 2_000_000, 8_000_000)
MOST = {"SAPL": 8_000_000, "DU-LLSVM": 8_000_000}
OTHERS = 500_000
WARM_UP_ROWS = 5000


def models() -> dict:
    return {
        "SAPL": SAPLClassifier(100, random_state=0),
        "DU-LLSVM": DULLSVMClassifier(100, random_state=0),
        "DU-LLSVM, 300 anchors": DULLSVMClassifier(300, random_state=0),
        "LL-SVM": LLSVMClassifier(100, solver="sgd", random_state=0),
        "ML3": ML3Classifier(random_state=0),
    }


def learn(model, stream, n_rows):
    labels = stream.labels
    return model.fit_stream(
        stream, classes=np.unique(labels), n_rows=n_rows, scan=False
    )


def measure(folder, model, n_rows) -> dict:
    split = load(folder, "mnist")
    few = DeformedDigits(split.X, split.y, WARM_UP_ROWS)
    learn(clone(model), few, WARM_UP_ROWS)
    stream = DeformedDigits(split.X, split.y, n_rows)
    making, _ = seconds(lambda: [None for _ in few()])
    peak, (spent, _) = peak_memory(
        lambda: seconds(lambda: learn(model, stream, n_rows))
    )
    X_test = normalize(split.X_test.astype(np.float32))
    return {
        "test_error": error(model, X_test, split.y_test),
        "rows_per_second": n_rows / spent,
        "rows_per_second_of_making_them": WARM_UP_ROWS / making,
        "seconds": spent,
        "peak_memory_bytes": peak,
        "model_bytes": len(pickle.dumps(model)),
        **batch_time(model, X_test),
    }


def run(job) -> None:
    known = models()
    chosen = job.parts(known)
    described = {name: str(known[name]) for name in chosen}
    report = Report(job, "stream", printed=PRINTED, estimators=described)
    report.fill(
        {
            (name, f"{n_rows:,} rows"): partial(
                in_new_process, measure, job.data, known[name], n_rows
            )
            for n_rows in ROWS
            for name in chosen
            if n_rows <= MOST.get(name, OTHERS)
        }
    )
