"""Smaller copies predict as the originals do."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.export import compress, to_c

MODELS = {
    "adaptive": LLSVMClassifier(30, random_state=0),
    "soft": LLSVMClassifier(30, coding="soft", n_neighbors=5, random_state=0),
    "inverse-distance": LLSVMClassifier(
        30, coding="inverse-distance", n_neighbors=4, random_state=0
    ),
    "groups": LLSVMClassifier(30, n_probes=2, random_state=0),
    "constant": LLSVMClassifier(20, local_model="constant", random_state=0),
    "sapl": SAPLClassifier(8, max_iter=5, random_state=0),
    "du": DULLSVMClassifier(8, max_iter=5, random_state=0),
    "sapl-scale": SAPLClassifier(8, metric="scale", max_iter=5, random_state=0),
    "du-linear": DULLSVMClassifier(
        8, metric="linear", n_dimensions=3, max_iter=5, random_state=0
    ),
    "ml3": ML3Classifier(4, max_iter=5, random_state=0),
    "atlas": AtlasClassifier(random_state=0),
    "atlas-linear": AtlasClassifier(kernel="linear", random_state=0),
}


def scores_of(model, X):
    return model.decision_function(X).reshape(len(X), -1)


@pytest.mark.in_turn
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_scores_change_by_the_rounding(name, dtype, blobs):
    X, y, _ = blobs
    model = MODELS[name].fit(X, y)
    before = pickle.dumps(model)
    small = compress(model, dtype=dtype)
    assert pickle.dumps(model) == before
    wanted = scores_of(model, X)
    bound = {"float32": 1e-5, "float16": 2e-2}[dtype] * np.abs(wanted).max()
    for rows in (X, X.astype(np.float32)):
        wrong = (np.abs(scores_of(small, rows) - wanted) > bound).any(axis=1)
        # A k-th and a next anchor of the same distance may change places.
        assert wrong.sum() <= (1 if name == "inverse-distance" else 0)
    assert (small.predict(X) == model.predict(X)).mean() > 0.97
    assert len(pickle.dumps(small)) < len(before)
    assert is_classifier(small)


@pytest.mark.parametrize("name", [n for n in MODELS if "atlas" not in n])
def test_idle_anchors_are_dropped_and_nothing_changes(name, blobs):
    X, y, _ = blobs
    model = MODELS[name].fit(X, y)
    seen = X[:10]
    small = compress(model, X=seen)
    full = compress(model)
    scale = np.abs(scores_of(full, seen)).max()
    np.testing.assert_allclose(
        scores_of(small, seen), scores_of(full, seen), atol=1e-5 * scale
    )
    assert np.isfinite(scores_of(small, X)).all()
    assert small.coef_.size <= full.coef_.size
    if name in ("adaptive", "soft", "inverse-distance"):
        assert len(small.anchors_) < len(full.anchors_)
    assert to_c(small)


def test_half_precision_is_a_quarter_of_double(digits):
    X, y, X_test, y_test = digits
    model = LLSVMClassifier(40, random_state=0).fit(X, y)
    size = len(pickle.dumps(model))
    small = compress(model, dtype="float16")
    assert len(pickle.dumps(small)) < 0.3 * size
    accuracy = model.score(X_test, y_test)
    assert small.score(X_test, y_test) == pytest.approx(accuracy, abs=0.005)
    # Unpacked weights are no part of a pickle.
    assert len(pickle.dumps(small)) < 0.3 * size
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.predict(X_test), small.predict(X_test))
    unpacked = small.decompress()
    assert type(unpacked) is LLSVMClassifier
    assert unpacked.coef_.dtype == np.float32
    assert (
        small.nbytes
        == unpacked.coef_.nbytes // 2
        + (unpacked.intercept_.nbytes + unpacked.anchors_.nbytes) // 2
    )


def test_half_precision_of_large_numbers(blobs):
    X, y, _ = blobs
    model = LLSVMClassifier(10, random_state=0).fit(1e6 * X, y)
    small = compress(model, dtype="float16")
    assert (small.predict(1e6 * X) == model.predict(1e6 * X)).mean() > 0.98
    model.coef_ = 1e60 * model.coef_
    with pytest.raises(ValueError, match="coef_ has numbers outside the range"):
        compress(model)


def test_probabilities_sparse_rows_and_feature_maps(blobs):
    X, y, _ = blobs
    X = np.abs(X)
    model = LLSVMClassifier(
        6, loss="logistic", feature_map=IntersectionSampler(), random_state=0
    ).fit(X, y)
    small = compress(model, dtype="float16", X=X)
    wanted = model.predict_proba(X)
    np.testing.assert_allclose(small.predict_proba(X), wanted, atol=0.02)
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(small.predict_proba(rows), wanted, atol=0.02)
    assert not hasattr(
        compress(MODELS["sapl"].fit(X, y), dtype="float16"), "predict_proba"
    )


def test_what_training_would_go_on_from_is_left_out(blobs):
    X, y, _ = blobs
    model = LLSVMClassifier(6, warm_start=True, random_state=0).fit(X, y)
    assert "dual" in model._learning
    assert "_learning" not in vars(compress(model))
    assert "dual" in model._learning


def test_what_cannot_be_compressed_is_refused(blobs):
    X, y, _ = blobs
    model = LLSVMClassifier(6, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="dtype='int8' must be"):
        compress(model, dtype="int8")
    with pytest.raises(TypeError, match="no StandardScaler"):
        compress(make_pipeline(model, StandardScaler()))
    with pytest.raises(TypeError, match="has charts"):
        compress(AtlasClassifier(random_state=0).fit(X, y), X=X)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_pipelines_are_compressed_at_their_end(blobs, dtype):
    X, y, _ = blobs
    pipeline = make_pipeline(
        StandardScaler(), DULLSVMClassifier(12, max_iter=5, random_state=0)
    ).fit(X, y)
    small = compress(pipeline, dtype=dtype, X=X)
    assert small[0] is pipeline[0]
    assert len(pickle.dumps(small)) < len(pickle.dumps(pipeline))
    assert (small.predict(X) == pipeline.predict(X)).mean() > 0.97
    assert small.score(X, y) == np.mean(small.predict(X) == y)
    np.testing.assert_array_equal(small.classes_, pipeline.classes_)


def test_a_stream_is_compressed_without_its_moments(blobs):
    X, y, _ = blobs
    model = DULLSVMClassifier(12, random_state=0)
    model.partial_fit(X, y, classes=np.unique(y))
    assert "second_coef" in model._learning
    assert "_learning" not in vars(compress(model))
