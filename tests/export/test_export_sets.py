"""Prediction sets and names in ONNX graphs."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import DULLSVMClassifier, LocallyLinearClassifier
from locallin.export import to_onnx

runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")
pandas = pytest.importorskip("pandas")


def session_of(graph):
    return runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def lists_of(session):
    found = session.get_modelmeta().custom_metadata_map
    return {key: json.loads(value) for key, value in found.items()}


@pytest.fixture(scope="module")
def pipe():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32) + np.float32(0.3) * np.random.RandomState(0).normal(
        size=X.shape
    ).astype(np.float32)
    clf = DULLSVMClassifier(4, max_iter=5, probability=True, random_state=0)
    return make_pipeline(StandardScaler(), clf).fit(X, y), X


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_sets_are_those_of_python(pipe, coverage):
    model, X = pipe
    session = session_of(to_onnx(model, contributions=True, coverage=coverage))
    names = [output.name for output in session.get_outputs()]
    assert names == ["label", "probabilities", "contributions", "set"]
    *_, sets = session.run(None, {"X": X})
    wanted = model[-1].predict_set(model[0].transform(X), coverage)
    assert sets.dtype == bool
    assert_array_equal(sets, wanted)
    (one,) = session.run(["set"], {"X": X[:1]})
    assert_array_equal(one, wanted[:1])


def test_the_graph_knows_its_names(pipe):
    model, _ = pipe
    assert lists_of(session_of(to_onnx(model))) == {
        "classes": [0, 1, 2],
        "columns": ["x0", "x1", "x2", "x3"],
    }


def test_sets_and_names_of_a_table():
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(
        {
            "age": rng.uniform(20, 70, size=120).astype(np.float32),
            "same": 1.0,
            "at home": rng.choice(["own", "rent"], size=120),
        }
    )
    y = np.where((frame["age"] < 40) ^ (frame["at home"] == "rent"), "late", "in time")
    y[::9] = "late"
    model = LocallyLinearClassifier(n_members=1, time_limit=0.1, random_state=0)
    model.fit(frame, y)
    session = session_of(to_onnx(model, coverage=0.8))
    lists = lists_of(session)
    assert lists["classes"] == ["in time", "late"]
    assert lists["columns"] == ["age", "same", "at home"]
    assert lists["inputs"] == ["age", "at home"]
    inputs = [given.name for given in session.get_inputs()]
    values = [frame[["age"]].to_numpy(), frame[["at home"]].to_numpy(object)]
    (sets,) = session.run(["set"], dict(zip(inputs, values, strict=True)))
    assert_array_equal(sets, model.predict_set(frame, 0.8))


def test_what_has_no_sets_says_so(pipe):
    model, X = pipe
    y = model.predict(X)
    with pytest.raises(ValueError, match="raw_scores=False"):
        to_onnx(model, coverage=0.9, raw_scores=True)
    with pytest.raises(ValueError, match=r"coverage=1.5 must be a number above 0"):
        to_onnx(model, coverage=1.5)
    plain = DULLSVMClassifier(4, max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="probability=True"):
        to_onnx(plain, coverage=0.9)
    with pytest.raises(ValueError, match="LogisticRegression has no predict_set"):
        to_onnx(LogisticRegression().fit(X / 10, y), coverage=0.9)
