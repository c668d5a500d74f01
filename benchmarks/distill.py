"""How close does a pupil come to a slow teacher, and how much faster is it?"""

import time
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from benchmarks._common import Report, error
from benchmarks._data import load
from locallin import LocallyLinearClassifier, distill

SETS = ("magic04", "letter", "spambase")
# The teacher learns from so many labelled rows; the pupil also sees the others.
LABELLED, ROWS, TEST_ROWS = 3000, 6000, 4000
TREES = 300
PUPIL = LocallyLinearClassifier(effort=0, n_members=3, random_state=0)


def teachers() -> dict:
    """Classifiers that are slow to predict with."""
    found = {
        "SVC": SVC(C=10),
        "RandomForest": RandomForestClassifier(TREES, n_jobs=1, random_state=0),
    }
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    found["LightGBM"] = LGBMClassifier(
        n_estimators=TREES, n_jobs=1, verbosity=-1, random_state=0
    )
    return found


def microseconds(model, X) -> float:
    """CPU time of a row, in a batch: the least of three."""
    model.predict(X[:100])
    spent = []
    for _ in range(3):
        began = time.process_time()
        model.predict(X)
        spent.append(time.process_time() - began)
    return 1e6 * min(spent) / len(X)


def measure(folder, name: str, kind: str) -> dict:
    """A teacher, its pupil, and the pupil's kind on the labels alone."""
    split = load(folder, name).limited(ROWS, TEST_ROWS).scaled_for(name)
    X, y = split.X[:LABELLED], split.y[:LABELLED]
    teacher = clone(teachers()[kind]).fit(X, y)
    pupil = distill(teacher, split.X, estimator=PUPIL)
    alone = clone(PUPIL).fit(X, y)
    X_test, y_test = split.X_test, split.y_test
    same = pupil.predict(X_test) == teacher.predict(X_test)
    times = {k: microseconds(m, X_test) for k, m in (("t", teacher), ("p", pupil))}
    return {
        "teacher_error": error(teacher, X_test, y_test),
        "pupil_error": error(pupil, X_test, y_test),
        "alone_error": error(alone, X_test, y_test),
        "agreement": 100 * float(np.mean(same)),
        "teacher_microseconds": times["t"],
        "pupil_microseconds": times["p"],
    }


def run(job) -> None:
    settings = {"labelled": LABELLED, "rows": ROWS, "test_rows": TEST_ROWS}
    report = Report(job, "distill", **settings)
    report.fill(
        {
            (name, kind): partial(measure, job.data, name, kind)
            for name in job.named(SETS)
            for kind in teachers()
        }
    )
