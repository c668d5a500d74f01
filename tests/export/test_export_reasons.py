"""Contributions from C and ONNX against explain."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from test_export_c import needs_compiler, run_program

from locallin import (
    AtlasClassifier,
    AtlasRegressor,
    DULLSVMClassifier,
    DULLSVMRegressor,
    EnsembleClassifier,
    EnsembleRegressor,
    LLSVMClassifier,
    LLSVMRegressor,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.export import to_c, to_onnx
from locallin.inspection import explain

PROGRAM = """
#include <stdio.h>
#include "net.h"

int main(void)
{
    float x[NET_FEATURES], parts[NET_FEATURES + 1];
    for (;;) {
        for (int i = 0; i < NET_FEATURES; i++)
            if (scanf("%f", &x[i]) != 1)
                return 0;
        net_contributions(x, parts);
        for (int i = 0; i <= NET_FEATURES; i++)
            printf(" %.9g", (double)parts[i]);
        printf("\\n");
    }
}
"""
MODELS = {
    "adaptive": LLSVMClassifier(6, random_state=0),
    "soft": LLSVMClassifier(6, coding="soft", n_neighbors=3, random_state=0),
    "constant": LLSVMClassifier(9, local_model="constant", random_state=0),
    "mapped": LLSVMClassifier(
        5, feature_map=PiecewiseLinearEncoder(4), coding_space="mapped", random_state=0
    ),
    "metric": SAPLClassifier(6, metric="linear", max_iter=3, random_state=0),
    "mean": EnsembleClassifier(DULLSVMClassifier(5, max_iter=3), 3, random_state=0),
    "mean-of-means": EnsembleClassifier(
        EnsembleClassifier(SAPLClassifier(4, max_iter=3), 2), 2, random_state=0
    ),
    "mean-ml3": EnsembleClassifier(ML3Classifier(3, max_iter=3), 2, random_state=0),
    "ml3": ML3Classifier(4, max_iter=5, random_state=0),
    "ml3-max": ML3Classifier(4, p=1.0, max_iter=5, random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), PiecewiseLinearEncoder(3), LLSVMClassifier(5, random_state=0)
    ),
}


def wanted(model, X, n_columns):
    """Contributions to the predicted class, in all columns, and the bias."""
    told = explain(model, X, feature_names=[f"x{j}" for j in range(n_columns)])
    classes = list(model.classes_)
    places = np.array([classes.index(label) for label in told.predicted])
    rows, signs = np.arange(len(places)), 1.0
    if len(classes) == 2:
        signs, places = np.where(places == 1, 1.0, -1.0), np.zeros(len(rows), int)
    found = np.zeros((len(rows), n_columns + 1))
    at = [int(name[1:]) for name in told.feature_names]
    found[:, at] = told.contributions[rows, places]
    found[:, -1] = told.bias[rows, places]
    return found * np.reshape(signs, (-1, 1))


def iris(n_classes):
    X, y = load_iris(return_X_y=True)
    return X.astype(np.float32), y % n_classes


@pytest.mark.in_turn
@needs_compiler
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_c(name, n_classes, tmp_path):
    X, y = iris(n_classes)
    model = MODELS[name].fit(X, y)
    found = run_program(PROGRAM, to_c(model, "net", contributions=True), X, tmp_path)
    np.testing.assert_allclose(found, wanted(model, X, 4), atol=1e-5, rtol=1e-4)


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_onnx(name, n_classes):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y = iris(n_classes)
    model = MODELS[name].fit(X, y)
    graph = to_onnx(model, raw_scores=True, contributions=True).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    assert names == ["label", "scores", "contributions"]
    _, scores, found = session.run(None, {"X": X})
    assert found.shape == (150, 5)
    np.testing.assert_allclose(found, wanted(model, X, 4), atol=1e-5, rtol=1e-4)
    best = np.abs(scores[:, 0]) if n_classes == 2 else scores.max(axis=1)
    np.testing.assert_allclose(found.sum(axis=1), best, atol=1e-4)


def table():
    rng = np.random.RandomState(0)
    frame = np.empty((200, 4), dtype=object)
    frame[:, 0] = rng.uniform(20, 70, size=200).astype(np.float32)
    frame[:, 1] = rng.choice(["own", "rent", "parents"], size=200)
    frame[:, 2] = 1.0  # constant: not looked at
    frame[:, 3] = rng.normal(size=200).astype(np.float32)
    frame[::7, 3] = None
    y = np.where((frame[:, 0] < 40) ^ (frame[:, 1] == "rent"), "late", "in time")
    model = LocallyLinearClassifier(0, n_members=2, random_state=0)
    return model.fit(frame, y), frame


@needs_compiler
def test_c_of_a_table(tmp_path):
    model, frame = table()
    header = to_c(model, "net", contributions=True)
    names = list(model.encoder_.plan().levels[1].names)
    rows = np.array(
        [
            [a, names.index(b), c, np.nan if d is None else d]
            for a, b, c, d in frame.tolist()
        ]
    )
    found = run_program(PROGRAM, header, rows, tmp_path)
    np.testing.assert_allclose(found, wanted(model, frame, 4), atol=1e-5)
    assert not found[:, 2].any()


def test_onnx_of_a_table():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, frame = table()
    graph = to_onnx(model, contributions=True).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    numbers = np.array([[np.nan if v is None else v for v in frame[:, 3]]], np.float32)
    feed = {
        "x0": frame[:, :1].astype(np.float32),
        "x1": frame[:, 1:2],
        "x3": numbers.T,
    }
    _, _, found = session.run(None, feed)
    np.testing.assert_allclose(found, wanted(model, frame, 4), atol=1e-5)


def test_what_mixes_columns_is_refused():
    X, y = iris(3)
    model = make_pipeline(PCA(2), LLSVMClassifier(3, random_state=0)).fit(X, y)
    pytest.importorskip("skl2onnx")
    with pytest.raises(TypeError, match="PCA makes features of several columns"):
        to_onnx(model, contributions=True)
    with pytest.raises(ValueError, match="contributions=True is a setting"):
        to_onnx(PiecewiseLinearEncoder().fit(X), contributions=True)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", [AtlasClassifier, AtlasRegressor])
def test_charts_have_no_contributions(kind, inside):
    pytest.importorskip("skl2onnx")
    mean = EnsembleClassifier if kind is AtlasClassifier else EnsembleRegressor
    model = kind(kernel="linear")
    model = mean(model, 2, random_state=0) if inside else model
    model.fit(*iris(3))
    with pytest.raises(TypeError, match=f"contributions=True has no {kind.__name__}"):
        to_onnx(model, contributions=True)


NUMBERS = {
    "adaptive": LLSVMRegressor(6, random_state=0),
    "constant": LLSVMRegressor(9, local_model="constant", random_state=0),
    "mapped": LLSVMRegressor(5, feature_map=PiecewiseLinearEncoder(4), random_state=0),
    "mean": EnsembleRegressor(DULLSVMRegressor(5, max_iter=3), 3, random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), PiecewiseLinearEncoder(3), LLSVMRegressor(5, random_state=0)
    ),
}
PREDICT = PROGRAM.replace("net_contributions(x, parts);", "parts[0] = net_predict(x);")
PREDICT = PREDICT.replace("i <= NET_FEATURES", "i < 1")


def lengths():
    X, _ = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    return X[:, :3], np.exp(X[:, 3]).astype(float)


def reasons_of(model, X, n_columns):
    told = explain(model, X, feature_names=[f"x{j}" for j in range(n_columns)])
    found = np.zeros((len(X), n_columns + 1))
    at = [int(name[1:]) for name in told.feature_names]
    found[:, at], found[:, -1] = told.contributions[:, 0], told.bias[:, 0]
    return found


@pytest.mark.parametrize("name", NUMBERS)
def test_onnx_of_numbers(name):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y = lengths()
    model = NUMBERS[name].fit(X, y)
    graph = to_onnx(model, contributions=True).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_outputs()] == ["variable", "contributions"]
    predicted, found = session.run(None, {"X": X})
    np.testing.assert_allclose(predicted[:, 0], model.predict(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found, reasons_of(model, X, 3), atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), predicted[:, 0], atol=1e-4)


def test_onnx_of_a_table_of_numbers():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    _, frame = table()
    y = frame[:, 0].astype(float) * (1 + (frame[:, 1] == "rent"))
    model = LocallyLinearRegressor(0, n_members=2, random_state=0).fit(frame, y)
    graph = to_onnx(model, contributions=True).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    given = {
        "x0": frame[:, :1].astype(np.float32),
        "x1": frame[:, 1:2],
        "x3": np.array([[np.nan if v is None else v] for v in frame[:, 3]], np.float32),
    }
    predicted, found = session.run(None, given)
    np.testing.assert_allclose(predicted[:, 0], model.predict(frame), rtol=1e-4)
    np.testing.assert_allclose(found, reasons_of(model, frame, 4), atol=1e-3)


def test_several_targets_have_no_contributions():
    pytest.importorskip("skl2onnx")
    X, y = lengths()
    model = LLSVMRegressor(3, random_state=0).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="contributions=True is for one target"):
        to_onnx(model, contributions=True)
    with pytest.raises(ValueError, match="raw_scores=True is a setting of"):
        to_onnx(model, raw_scores=True)


TARGETS = {
    "scaled": {"transformer": StandardScaler()},
    "logs": {"func": np.log, "inverse_func": np.exp},
    "log1p": {"func": np.log1p, "inverse_func": np.expm1},
    "roots": {"func": np.sqrt, "inverse_func": np.square},
    "none": {},
}


def transformed(name):
    X, y = lengths()
    inner = make_pipeline(StandardScaler(), LLSVMRegressor(5, random_state=0))
    return TransformedTargetRegressor(inner, **TARGETS[name]).fit(X, y), X


@pytest.mark.parametrize("name", TARGETS)
def test_onnx_of_transformed_targets(name):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, X = transformed(name)
    graph = to_onnx(model, contributions=True).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    predicted, found = session.run(["variable", "contributions"], {"X": X})
    np.testing.assert_allclose(predicted[:, 0], model.predict(X), rtol=1e-4)
    np.testing.assert_allclose(found, reasons_of(model, X, 3), atol=1e-4)


@needs_compiler
@pytest.mark.parametrize("name", TARGETS)
def test_c_of_transformed_targets(name, tmp_path):
    model, X = transformed(name)
    header = to_c(model, "net", contributions=True)
    found = run_program(PREDICT, header, X, tmp_path)
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-4)
    found = run_program(PROGRAM, header, X, tmp_path)
    np.testing.assert_allclose(found, reasons_of(model, X, 3), atol=1e-4)


def test_other_transformers_of_the_target_are_named():
    X, y = lengths()
    inner = LLSVMRegressor(3, random_state=0)
    model = TransformedTargetRegressor(inner, transformer=PowerTransformer()).fit(X, y)
    with pytest.raises(TypeError, match="transformed by PowerTransformer, which has"):
        to_c(model)
