"""What do groups of anchors cost in error, and save in time?

LL-SVM on COVTYPE, anchors at random rows behind a map that a few anchors have learned.
Times are those of the processor, on one thread.
"""

from functools import cache, partial
from time import process_time

import numpy as np

from benchmarks._common import Report, error
from benchmarks._data import Split, load
from locallin import LLSVMClassifier, SAPLClassifier
from locallin.coding import SoftAssignmentCoding

ROWS = 50_000
TEST_ROWS = 20_000
NUMBERS = (1000, 4000, 10_000)
PROBES = {"all anchors": None, "groups": 8}
# Rows, anchors and passes that learn the map; rows of the epoch that is timed.
METRIC = {"rows": 20_000, "anchors": 100, "passes": 5}
EPOCH_ROWS = 8192


@cache
def prepared(folder) -> tuple[Split, np.ndarray]:
    """Standardised rows, and a map in front of the distances."""
    split = load(folder, "covtype").limited(ROWS, TEST_ROWS).standardised()
    few = split.limited(METRIC["rows"])
    model = SAPLClassifier(
        METRIC["anchors"], metric="linear", max_iter=METRIC["passes"], random_state=0
    )
    return split, model.fit(few.X, few.y).coding_.metric_


def processor_seconds(function) -> tuple[float, object]:
    """Time of the processor for one call, and what it returned."""
    start = process_time()
    result = function()
    return process_time() - start, result


def measure(folder, m: int, n_probes: int | None) -> dict:
    """Error of a convex fit, and processor times of its parts."""
    split, metric = prepared(folder)
    rng = np.random.RandomState(0)
    chosen = np.sort(rng.choice(len(split.X), min(m, len(split.X)), replace=False))
    anchors = split.X[chosen] @ metric.T
    coding = SoftAssignmentCoding(
        anchors=anchors, n_neighbors=16, metric=metric, n_probes=n_probes
    )
    model = LLSVMClassifier(
        coding=coding, alpha="scale", max_iter=20, random_state=0, n_jobs=1
    )
    fit, _ = processor_seconds(lambda: model.fit(split.X, split.y))
    model.predict(split.X_test)
    times = [
        processor_seconds(lambda: model.predict(split.X_test))[0] for _ in range(3)
    ]
    return {
        "test_error": error(model, split.X_test, split.y_test),
        "fit_seconds": fit,
        "predict_microseconds_per_row": 1e6 * min(times) / len(split.X_test),
        "epoch_microseconds_per_row": epoch(split, anchors, n_probes),
    }


def epoch(split: Split, anchors: np.ndarray, n_probes: int | None) -> float:
    """Processor time of a row in a pass of mini-batches, two less one."""
    X, y = split.X[:EPOCH_ROWS], split.y[:EPOCH_ROWS]
    spent = []
    for passes in (1, 2):
        model = SAPLClassifier(
            anchors=anchors, n_probes=n_probes, metric="linear", batch_size=256,
            max_iter=passes, random_state=0, n_jobs=1,
        )  # fmt: skip
        spent.append(processor_seconds(lambda m=model: m.fit(X, y))[0])
    return 1e6 * (spent[1] - spent[0]) / len(X)


def run(job) -> None:
    report = Report(
        job, "groups", rows=ROWS, test_rows=TEST_ROWS, metric=METRIC, probes=PROBES
    )
    report.fill(
        {
            (f"{m}", name): partial(measure, job.data, m, n_probes)
            for m in NUMBERS
            for name, n_probes in PROBES.items()
        }
    )
