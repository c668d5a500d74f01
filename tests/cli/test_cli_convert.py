"""What a model file tells of itself, and what it becomes."""

import json
import os
import sys

import numpy as np
import pytest
from terminal import fails, run

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
