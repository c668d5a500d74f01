"""What a model file tells of itself, and what it becomes."""

import json
import os
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from terminal import fails, run

from locallin import LLSVMClassifier
from locallin.export import compress, save

pytestmark = pytest.mark.usefixtures("folder")
ROW = np.array([[5.1, 3.5, 1.4, 0.2]], dtype=np.float32)


def test_info(capsys, model):
    out, _ = run(capsys, "info", model)
    assert "DULLSVMClassifier" in out
    assert "StandardScaler" in out
    assert "species" in out


def test_convert(capsys, model):
    result = json.loads(run(capsys, "convert", model, "iris.h", "--json").out)
    assert result["format"] == "c"
    with open("iris.h") as file:
        assert "model_predict" in file.read()
    assert "extension" in fails(capsys, "convert", model, "iris.txt", code=2)
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    run(capsys, "convert", model, "iris.onnx")
    session = onnxruntime.InferenceSession("iris.onnx")
    labels = session.run(None, {session.get_inputs()[0].name: ROW})[0]
    assert labels.tolist() == ["setosa"]


def test_convert_without_what_it_needs(capsys, monkeypatch, model):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    assert "'.[onnx]'" in fails(capsys, "convert", model, "iris.onnx")
    assert not os.path.exists("iris.onnx")
    monkeypatch.setitem(sys.modules, "locallin.export.onnx", None)
    error = fails(capsys, "convert", model, "iris.onnx")
    assert "this installation cannot write onnx files" in error


def test_compressed_models_are_models(capsys, folder, moons):
    X, y = moons
    classifier = LLSVMClassifier(4, random_state=0).fit(X, y)
    save(compress(classifier, dtype="float16"), "small.skops")
    np.save("rows.npy", X[:9])
    assert "LLSVMClassifier" in run(capsys, "info", "small.skops").out
    run(capsys, "convert", "small.skops", "small.c")
    found = run(capsys, "predict", "small.skops", "rows.npy").out.split()
    assert found == classifier.predict(X[:9]).astype(str).tolist()
    assert "row 1" in run(capsys, "explain", "small.skops", "rows.npy").out
    pipeline = make_pipeline(StandardScaler(), classifier).fit(X, y)
    save(compress(pipeline, dtype="float16"), "pipeline.skops")
    assert "LLSVMClassifier" in run(capsys, "info", "pipeline.skops").out
