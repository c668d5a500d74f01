"""Regressors in C and ONNX: quantiles side by side, and logarithms of means."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_export_c import run_program

from locallin import (
    DULLSVMRegressor,
    EnsembleRegressor,
    LLSVMRegressor,
    SAPLRegressor,
)
from locallin.export import load, save, to_c, to_onnx

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
PROGRAM = """
#include <stdio.h>
#include "net.h"

int main(void)
{
    float x[NET_FEATURES], found[NET_SCORES];
    for (;;) {
        for (int i = 0; i < NET_FEATURES; i++)
            if (scanf("%f", &x[i]) != 1)
                return 0;
        PREDICT
        for (int c = 0; c < NET_SCORES; c++)
            printf(" %.9g", (double)found[c]);
        printf("\\n");
    }
}
"""
SCORES = "net_scores(x, found);"
ONE = "found[0] = net_predict(x);"
SEVERAL = "net_predict(x, found);"
LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]
MODELS = {
    "quantiles": (LLSVMRegressor(4, loss="pinball", quantile=LEVELS), SCORES),
    "mean of quantiles": (
        EnsembleRegressor(
            SAPLRegressor(4, loss="pinball", quantile=LEVELS, max_iter=3), 2
        ),
        SCORES,
    ),
    "poisson": (SAPLRegressor(6, loss="poisson", max_iter=5), ONE),
    "two gammas": (DULLSVMRegressor(6, loss="gamma", max_iter=5), SEVERAL),
    "mean of poissons": (
        EnsembleRegressor(SAPLRegressor(4, loss="poisson", max_iter=3), 2),
        ONE,
    ),
    "squared": (LLSVMRegressor(4), ONE),
}


@pytest.fixture(params=MODELS)
def case(request):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 3))
    y = rng.gamma(2, np.exp(X[:, 0]))
    if request.param == "two gammas":
        y = np.column_stack([y, rng.gamma(2, np.exp(X[:, 1]))])
    model, call = MODELS[request.param]
    model = model.set_params(random_state=0).fit(X, y)
    # Far out quantiles would cross, and powers leave the range of a float.
    far = (4 * rng.normal(size=(60, 3))).astype(np.float32)
    return model, call, far


def close(found, model, X):
    wanted = model.predict(X.astype(float)).reshape(len(X), -1)
    if model.quantile_levels is not None:
        assert (np.diff(found, axis=1) >= 0).all()
    assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * np.median(np.abs(wanted)))


@needs_compiler
def test_c(case, tmp_path):
    model, call, X = case
    program = PROGRAM.replace("PREDICT", call)
    close(run_program(program, to_c(model, "net"), X, tmp_path), model, X)


def test_onnx(case):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, _, X = case
    graph = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"X": X})
    close(found, model, X)


def test_files(case, tmp_path):
    pytest.importorskip("skops")
    model, _, X = case
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_allclose(again.predict(X), model.predict(X))
    levels = model.quantile_levels
    if levels is not None:
        assert_allclose(again.quantile_levels, levels)
