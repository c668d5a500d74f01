"""The regressor to reach for: tables, the search, intervals, and what goes with it."""

import pickle
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import (
    DULLSVMClassifier,
    DULLSVMRegressor,
    EnsembleRegressor,
    LLSVMRegressor,
    LocallyLinearRegressor,
    SAPLRegressor,
)
from locallin.engine.invariants import InvalidModelError
from locallin.export import compress, load, save, to_c, to_onnx
from locallin.inspection import (
    counterfactual,
    explain,
    feature_importances,
    global_effects,
    regions,
)

pandas = pytest.importorskip("pandas")


def flats(n=500, seed=0):
    """A frame with numbers, text and gaps, and prices."""
    rng = np.random.RandomState(seed)
    frame = pandas.DataFrame(
        {
            "size": rng.uniform(20, 120, size=n),
            "year": rng.randint(1900, 2020, size=n),
            "place": rng.choice(["city", "suburb", "village"], size=n),
        }
    )
    metre = frame["place"].map({"city": 9.0, "suburb": 5.0, "village": 3.0})
    price = 50 + frame["size"] * metre + 40 * (frame["year"] > 1990)
    frame.loc[rng.uniform(size=n) < 0.1, "year"] = np.nan
    return frame, (price + 10 * rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def fitted():
    frame, y = flats()
    return LocallyLinearRegressor(random_state=0).fit(frame, y), frame, y


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(300, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0)


def test_it_learns_a_table(fitted):
    model, _, _ = fitted
    frame, truth = flats(seed=1)
    assert model.score(frame, truth) > 0.97
    assert {"r2", "standard_error", "seconds"} <= set(model.search_path_[0])
    assert len(model.search_path_) > 5
    assert list(model.feature_names_in_) == ["size", "year", "place"]
    assert model.chosen_["loss"] in ("squared", "huber")


@pytest.mark.slow
def test_it_repeats(fitted):
    model, frame, y = fitted
    again = clone(model).fit(frame, y)
    assert_array_equal(again.predict(frame), model.predict(frame))


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_hold_on_new_rows(fitted, coverage):
    model, _, _ = fitted
    frame, truth = flats(2000, seed=2)
    found = model.predict_interval(frame, coverage)
    assert found.shape == (2000, 2)
    inside = (found[:, 0] <= truth) & (truth <= found[:, 1])
    assert coverage - 0.05 < inside.mean() < coverage + 0.08


def test_intervals_that_cannot_be_given(fitted):
    model, frame, y = fitted
    with pytest.raises(ValueError, match=r"coverage=1\.5 must be"):
        model.predict_interval(frame, 1.5)
    with pytest.raises(ValueError, match="needs 19999 held-out rows, but there are"):
        model.predict_interval(frame, 0.9999)
    quick = LocallyLinearRegressor(effort=0, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="effort=1 or 2"):
        quick.predict_interval(frame)


def test_intervals_with_weights_are_those_of_the_weighted_rows():
    rng = np.random.RandomState(0)
    X, loud = rng.normal(size=(3000, 2)), rng.uniform(size=3000) < 0.5
    y = X[:, 0] + np.where(loud, 1.0, 0.05) * rng.normal(size=3000)
    weights = np.where(loud, 1e-3, 1.0)
    model = LocallyLinearRegressor(time_limit=1e-6, random_state=0)
    model.fit(X, y, weights)
    found = model.predict_interval(X)
    inside = (found[:, 0] <= y) & (y <= found[:, 1])
    assert 0.85 < inside[~loud].mean() < 0.97
    assert inside[loud].mean() < 0.5


def test_several_targets(fitted):
    _, frame, y = fitted
    both = np.column_stack([y, -3 * frame["size"]])
    model = LocallyLinearRegressor(time_limit=1e-6, random_state=0).fit(frame, both)
    assert model.predict(frame).shape == both.shape
    assert model.score(frame, both) > 0.9
    assert model.predict_interval(frame).shape == (*both.shape, 2)
    found = explain(model, frame[:5])
    assert found.classes.tolist() == ["y0", "y1"]
    total = found.contributions.sum(axis=2) + found.bias
    assert_allclose(total, model.predict(frame[:5]), rtol=1e-6)


def test_arrays_sparse_rows_and_constants():
    rng = np.random.RandomState(0)
    X = sparse.random(300, 20, 0.2, "csr", random_state=0)
    y = X @ rng.normal(size=20)
    model = LocallyLinearRegressor(random_state=0).fit(X, y)
    assert model.encoder_ is None
    assert model.score(X, y) > 0.8
    constant = LocallyLinearRegressor(random_state=0).fit(X.toarray(), np.full(300, 7))
    assert_allclose(constant.predict(X.toarray()), 7, rtol=1e-6)
    single = LocallyLinearRegressor(effort=0, random_state=0)
    single.fit(rng.normal(size=(100, 3)).astype(np.float32), rng.normal(size=100))


def test_wrong_input_is_named(fitted):
    _, frame, y = fitted
    with pytest.raises(ValueError, match="requires y to be passed"):
        LocallyLinearRegressor().fit(frame, None)
    with pytest.raises(ValueError, match="y contains NaN"):
        LocallyLinearRegressor().fit(frame, np.where(y > 500, np.nan, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LocallyLinearRegressor().fit(frame, y[:-1])


def test_a_mean_of_regressors(numbers):
    X, y = numbers
    model = EnsembleRegressor(SAPLRegressor(5, max_iter=3), 3, random_state=0)
    model.fit(X, y)
    parts = [member.predict(X) for member in model.members_]
    assert_allclose(model.predict(X), np.mean(parts, axis=0), rtol=1e-12)
    effective = (model.local_coef(X)[:, 0] * X).sum(axis=1)
    effective += model.local_intercept(X)[:, 0]
    assert_allclose(effective, model.predict(X), atol=1e-10)
    with pytest.raises(TypeError, match="no regressor of locallin"):
        EnsembleRegressor(DULLSVMClassifier()).fit(X, y)
    model.members_[1] = SAPLRegressor(5, max_iter=3).fit(X, np.column_stack([y, y]))
    with pytest.raises(InvalidModelError, match="a member of other targets"):
        pickle.loads(pickle.dumps(model))


def test_contributions_add_up_to_the_prediction(fitted):
    model, frame, _ = fitted
    found = explain(model, frame[:20], top=2)
    assert set(found.feature_names) == {"size", "year", "place"}
    total = found.contributions.sum(axis=2) + found.bias
    assert_allclose(total[:, 0], model.predict(frame[:20]), rtol=1e-6)
    text = str(found)
    assert "row 0: predicted y" in text
    assert "= prediction" in text
    assert len(found.to_frame()) == 20 * 4
    effects = global_effects(model, frame)
    assert effects.feature_names[0] in ("size", "place")


def test_regions_have_r2_in_place_of_accuracy(numbers):
    X, y = numbers
    model = DULLSVMRegressor(6, random_state=0).fit(X, y)
    table = regions(model, X, y)
    assert sum(region.rows for region in table) == len(X)
    assert table[0].accuracy is None
    assert 0 < table[0].r2 <= 1
    assert "R2" in table.to_text()
    assert "accuracy" not in table.to_text()
    frame = table.to_frame()
    assert {"mean", "r2"} <= set(frame.columns)
    assert "classes" not in frame.columns
    assert regions(model, X)[0].r2 is None
    assert feature_importances(model).shape == (4,)
    with pytest.raises(ValueError, match="needs the number to reach"):
        counterfactual(model, X[:1])


@pytest.mark.parametrize("Regressor", [SAPLRegressor, DULLSVMRegressor, LLSVMRegressor])
def test_files_and_smaller_copies(numbers, tmp_path, Regressor):
    pytest.importorskip("skops")
    X, y = numbers
    model = make_pipeline(StandardScaler(), Regressor(8, random_state=0)).fit(X, y)
    save(model, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))
    small = compress(model, X=X)
    assert small[-1].coef_.dtype == np.float32
    assert_allclose(small.predict(X), model.predict(X), atol=1e-4)
    with pytest.raises(ValueError, match="predicts numbers: choose dtype='float32'"):
        compress(model, dtype="float16")


def test_files_of_tables(fitted, tmp_path):
    pytest.importorskip("skops")
    model, frame, _ = fitted
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_array_equal(again.predict(frame), model.predict(frame))
    assert_array_equal(again.predict_interval(frame), model.predict_interval(frame))
    assert_allclose(compress(model).predict(frame), model.predict(frame), rtol=1e-4)
    again.residuals_ = again.residuals_.ravel()
    with pytest.raises(InvalidModelError, match="residuals_"):
        pickle.loads(pickle.dumps(again))


def test_graphs(fitted, numbers):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, y = numbers
    X = X.astype(np.float32)
    for model in (
        DULLSVMRegressor(8, random_state=0, metric="linear").fit(X, y),
        LLSVMRegressor(8, random_state=0).fit(X, np.column_stack([y, 2 * y])),
        EnsembleRegressor(SAPLRegressor(5, max_iter=3), 2, random_state=0).fit(X, y),
    ):
        session = runtime.InferenceSession(to_onnx(model).SerializeToString())
        assert [one.name for one in session.get_outputs()] == ["variable"]
        found = session.run(None, {"X": X})[0]
        assert_allclose(found, model.predict(X).reshape(len(X), -1), atol=1e-4)
    model, frame, _ = fitted
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    inputs = {
        name: (
            frame[[name]].to_numpy(np.float32)
            if name != "place"
            else frame[[name]].to_numpy(object)
        )
        for name in frame
    }
    found = session.run(None, inputs)[0][:, 0]
    assert_allclose(found, model.predict(frame), rtol=1e-4)


MAIN = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    float x[MODEL_FEATURES], scores[MODEL_SCORES];
    for (;;) {
        for (int i = 0; i < MODEL_FEATURES; i++)
            if (scanf("%f", &x[i]) != 1)
                return 0;
        model_scores(x, scores);
        for (int c = 0; c < MODEL_SCORES; c++)
            printf("%.9g ", scores[c]);
        printf("\\n");
    }
}
"""


def in_c(model, X, folder):
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "model.h").write_text(to_c(model))
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    program = str(folder / "main")
    subprocess.run(
        [compiler, *flags, "-o", program, str(folder / "main.c"), "-lm"], check=True
    )
    rows = "\n".join(" ".join(f"{v:.9g}" for v in row) for row in X)
    out = subprocess.run([program], input=rows, capture_output=True, text=True)
    return np.array([line.split() for line in out.stdout.splitlines()], float)


def test_headers_in_c(numbers, tmp_path):
    X, y = numbers
    X = X.astype(np.float32)
    for number, model in enumerate(
        (
            DULLSVMRegressor(8, random_state=0, metric="linear").fit(X, y),
            LLSVMRegressor(8, random_state=0).fit(X, np.column_stack([y, 2 * y])),
            EnsembleRegressor(SAPLRegressor(5, max_iter=3), 2).fit(X, y),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = in_c(model, X, folder)
        assert_allclose(found, model.predict(X).reshape(len(X), -1), atol=1e-4)
    assert "float model_predict(const float *x)" in to_c(model)


def test_a_header_of_a_table(fitted):
    model, _, _ = fitted
    assert "float flats_predict(const float *x)" in to_c(model, "flats")
