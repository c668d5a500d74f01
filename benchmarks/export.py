"""What does an exported model cost: bytes, time for one row, and accuracy?"""

import pickle
from functools import partial
from importlib.metadata import version

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Report, error, seconds
from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.export import compress, to_c, to_onnx

SETS = {"digits": load_digits, "breast_cancer": load_breast_cancer}
MODELS = (
    LLSVMClassifier,
    SAPLClassifier,
    DULLSVMClassifier,
    ML3Classifier,
    AtlasClassifier,
)
ROWS = 100
REPEATS = 60


def split_of(name: str) -> list[np.ndarray]:
    """X, X_test, y, y_test of a set that scikit-learn ships, standardised.

    The numbers are rounded to single precision, so that all formats see the same.
    """
    X, y = SETS[name](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    rounded = (
        scaler.transform(part).astype(np.float32).astype(float) for part in (X, X_test)
    )
    return [*rounded, y, y_test]


def microseconds(ways: dict, size: int) -> dict[str, dict[str, float]]:
    """Time per row of each way, taken in turns: the least and the median.

    A way is a function and its rows, which it takes ``size`` at a time. Other programs
    on the machine only add time: the least is the steadier figure where there are some.
    """
    times = {name: [] for name in ways}
    for _ in range(REPEATS + 1):
        for name, (predict, X) in ways.items():
            blocks = [X[i : i + size] for i in range(0, ROWS, size)]
            spent, _ = seconds(lambda b=blocks, f=predict: [f(block) for block in b])
            times[name].append(1e6 * spent / ROWS)
    return {
        name: {"least": round(min(t), 1), "median": round(float(np.median(t)), 1)}
        for name, t in ((name, t[1:]) for name, t in times.items())
    }


def session_of(graph: bytes):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )


def measure(kind, name: str) -> dict:
    X, X_test, y, y_test = split_of(name)
    single = X_test.astype(np.float32)
    model = kind(random_state=0).fit(X, y)
    graph = to_onnx(model).SerializeToString()
    session = session_of(graph)

    def by_onnx(rows):
        return session.run(None, {"X": rows})

    wanted = model.decision_function(X_test).reshape(len(X_test), -1)
    labels = model.predict(X_test)

    def against(found, predicted) -> dict:
        difference = np.abs(found.reshape(wanted.shape) - wanted).max()
        return {
            "score_difference": float(difference / np.abs(wanted).max()),
            "changed_labels": int((predicted != labels).sum()),
            "error": round(100 * float((predicted != y_test).mean()), 4),
        }

    sizes = {"pickle": len(pickle.dumps(model)), "onnx": len(graph)}
    exact = by_onnx(single)
    formats = {"onnx": against(exact[1], exact[0])}
    for dtype in ("float32", "float16"):
        small = compress(model, dtype=dtype)
        sizes[f"{dtype} pickle"] = len(pickle.dumps(small))
        formats[dtype] = against(small.decision_function(X_test), small.predict(X_test))
    if kind is not AtlasClassifier:
        sizes["c text"] = len(to_c(model))
    ways = {"predict": (model.predict, X_test), "onnx": (by_onnx, single)}
    return {
        "test_error": error(model, X_test, y_test),
        "test_rows": len(y_test),
        "bytes": sizes,
        "formats": formats,
        "one_row_microseconds": microseconds(ways, 1),
        "batch_microseconds_per_row": microseconds(ways, ROWS),
    }


def run(job) -> None:
    packages = {name: version(name) for name in ("onnx", "skl2onnx", "onnxruntime")}
    report = Report(job, "export", rows=ROWS, repeats=REPEATS, **packages)
    report.fill(
        {
            (name, kind.__name__): partial(measure, kind, name)
            for name in job.named(SETS)
            for kind in MODELS
        }
    )
