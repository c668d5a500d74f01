"""What does one row cost a service: label, probabilities, set and five reasons?

From an exported graph alone, and from Python on a frame of one row. The tables come
with scikit-learn or are made here, so that no data is needed.
"""

import time
from functools import partial
from importlib import import_module
from importlib.metadata import version

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from benchmarks._common import Report
from benchmarks.export import session_of
from locallin import LocallyLinearClassifier
from locallin.export import to_onnx
from locallin.inspection import explain

ROWS = 50
REPEATS = 20
COVERAGE = 0.9
MODEL = LocallyLinearClassifier(random_state=0, n_jobs=1)


def tumours():
    return load_breast_cancer(return_X_y=True, as_frame=True)


def loans(n=2000):
    """Numbers, gaps and text."""
    pandas = import_module("pandas")
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(
        {f"amount {j}": rng.lognormal(3, 1, size=n).round(1) for j in range(8)}
        | {f"level {j}": rng.choice([*"abcdef"], size=n) for j in range(4)}
    )
    odds = np.log(frame["amount 0"] / frame["amount 1"]) * np.where(
        frame["level 0"].isin(["a", "b"]), 1, -1
    )
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-2 * odds))
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.05)
    return frame, np.where(y, "late", "in time")


SETS = {"tumours, 30 numbers": tumours, "loans, 8 numbers, 4 texts": loans}


def feeds(session, frame) -> list[dict]:
    """Inputs of the graph for each row."""
    found = []
    for _, row in frame.iterrows():
        feed = {}
        for port, value in zip(session.get_inputs(), row, strict=True):
            if port.type == "tensor(string)":
                text = "" if value is None or value != value else value
                feed[port.name] = np.array([[text]], object)
            else:
                feed[port.name] = np.array([[value]], np.float32)
        found.append(feed)
    return found


def by_graph(session, feed):
    label, odds, parts, inside = session.run(None, feed)
    return label[0], odds[0], inside[0], np.abs(parts[0, :-1]).argsort()[::-1][:5]


def by_python(model, row):
    odds, inside = model.predict_proba(row), model.predict_set(row, COVERAGE)
    told = explain(model, row)
    loudest = np.abs(told.contributions[0, 0]).argsort()[::-1][:5]
    return model.classes_[odds[0].argmax()], odds[0], inside[0], loudest


def microseconds(answer, rows) -> dict[str, float]:
    """CPU time of a row: the least and the median over repeats."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        for row in rows:
            answer(row)
        times.append(1e6 * (time.process_time() - start) / len(rows))
    return {"least": min(times[1:]), "median": float(np.median(times[1:]))}


def measure(name: str) -> dict:
    frame, y = SETS[name]()
    model = clone(MODEL).fit(frame[ROWS:], y[ROWS:])
    graph = to_onnx(model, contributions=True, coverage=COVERAGE).SerializeToString()
    session, head = session_of(graph), frame[:ROWS]
    given = feeds(session, head)
    rows = [head[i : i + 1] for i in range(ROWS)]
    ways = {
        "ONNX Runtime": (partial(by_graph, session), given),
        "Python": (partial(by_python, model), rows),
        "Python, `predict_proba` alone": (model.predict_proba, rows),
    }
    for feed, row in zip(given, rows, strict=True):
        found, wanted = by_graph(session, feed), by_python(model, row)
        assert found[0] == wanted[0]
        np.testing.assert_allclose(found[1], wanted[1], atol=1e-5)
        np.testing.assert_array_equal(found[2], wanted[2])
    size = len(import_module("pickle").dumps(model))
    return {
        way: {
            "one_row_microseconds": microseconds(*arguments),
            "bytes": len(graph) if way == "ONNX Runtime" else size,
        }
        for way, arguments in ways.items()
    }


def run(job) -> None:
    versions = {name: version(name) for name in ("onnx", "onnxruntime", "pandas")}
    report = Report(job, "serving", rows=ROWS, repeats=REPEATS, **versions)
    report.fill({(name,): partial(measure, name) for name in job.named(SETS)})
