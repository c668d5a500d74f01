"""What LocallyLinearClassifier has chosen, in files and in other runtimes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from locallin import LocallyLinearClassifier
from locallin.export import compress, load, save, to_c, to_onnx
from locallin.report import report

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(
        {
            "age": rng.uniform(20, 70, size=300),
            "income": rng.lognormal(3, 1, size=300),
            "home": rng.choice(["own", "rent", "parents"], size=300),
        }
    )
    frame.loc[::6, "income"] = np.nan
    frame.loc[::11, "home"] = None
    y = np.where((frame["age"] < 40) ^ (frame["home"] == "rent"), "late", "in time")
    weights = {"late": 2.0, "in time": 1.0}
    model = LocallyLinearClassifier(
        0, n_members=2, class_weight=weights, random_state=0
    )
    return model.fit(frame, y), frame, y


def test_files(fitted, tmp_path):
    pytest.importorskip("skops")
    model, frame, _ = fitted
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert loaded.search_path_ == model.search_path_


def test_onnx_takes_the_columns(fitted):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, frame, _ = fitted
    graph = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    home = frame["home"].where(frame["home"].notna(), "").to_numpy(object)
    feed = {
        "age": frame[["age"]].to_numpy(np.float32),
        "income": frame[["income"]].to_numpy(np.float32),
        "home": home[:, None],
    }
    labels, found = session.run(None, feed)
    assert_allclose(found, model.predict_proba(frame), atol=1e-5)
    assert_array_equal(labels, model.predict(frame))


def test_c_and_smaller_copies(fitted):
    model, frame, _ = fitted
    assert "credit_m2_scores" in to_c(model, "credit")
    small = compress(model, X=frame)
    assert_allclose(small.predict_proba(frame), model.predict_proba(frame), atol=1e-5)
    with pytest.raises(ValueError, match="float16"):
        compress(model, dtype="float16")


def test_report_names_the_columns(fitted):
    model, frame, y = fitted
    page = report(model, frame, y)
    assert "income" in page
