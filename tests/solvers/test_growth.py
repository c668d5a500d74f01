"""Anchors as many as the data ask for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from locallin import (
    DULLSVMClassifier,
    LLSVMClassifier,
    LLSVMClassifierCV,
    SAPLClassifier,
)
from locallin.anchors import apportion
from locallin.kernels.rows import Codes
from locallin.solvers.growth import Stage, held_out_folds, split_anchors


@pytest.fixture
def waves():
    """Two sine waves, one above the other: a line cannot tell them apart."""
    rng = np.random.RandomState(0)
    t = rng.uniform(-1.5, 1.5, size=900)
    y = np.arange(900) % 2
    X = np.column_stack([t, np.sin(6 * t) + 0.9 * y - 0.45])
    return X + 0.08 * rng.normal(size=X.shape), y


@pytest.fixture
def sides():
    """Two sides of a plane, with noise: nothing beyond a line can be learned."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(600, 8))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=600) > 0).astype(int)
    return X, y


def test_a_line_is_enough_where_the_classes_are_sides_of_a_plane(sides):
    model = LLSVMClassifier("auto", random_state=0).fit(*sides)
    assert model.anchor_path_[0, 0] == 1
    found = len(model.anchors_)
    model.set_params(n_anchors=None).fit(*sides)
    assert found <= 2 < len(model.anchors_)
    assert not hasattr(model, "anchor_path_")


def test_curves_get_the_anchors_they_need(waves):
    X, y = waves
    model = LLSVMClassifier("auto", random_state=0).fit(X[:600], y[:600])
    line = LLSVMClassifier(1, random_state=0).fit(X[:600], y[:600])
    fixed = LLSVMClassifier(random_state=0).fit(X[:600], y[:600])
    assert len(model.anchors_) >= 4
    assert line.score(X[600:], y[600:]) < 0.85
    assert model.score(X[600:], y[600:]) >= fixed.score(X[600:], y[600:]) - 0.01


def test_the_path_tells_what_was_tried(waves):
    model = LLSVMClassifier("auto", random_state=0).fit(*waves)
    counts, errors, doubts = model.anchor_path_.T
    assert (np.diff(counts) >= 0).all()
    assert (counts[1:] <= 2 * counts[:-1]).all()
    assert len(model.anchors_) in counts
    assert ((errors >= 0) & (errors <= 1) & (doubts >= 0)).all()
    fewer = counts < len(model.anchors_)
    assert (errors[fewer] > errors.min()).all()


@pytest.mark.slow
@pytest.mark.parametrize("Classifier", [SAPLClassifier, DULLSVMClassifier])
def test_anchors_that_learn_start_from_grown_ones(waves, Classifier):
    X, y = waves
    model = Classifier("auto", random_state=0).fit(X, y)
    assert len(model.anchors_) in model.anchor_path_[:, 0]
    assert model.score(X, y) > 0.93


def test_the_same_seed_gives_the_same_anchors(waves):
    X, y = waves
    y = np.where(X[:, 0] > 0.8, 2, y)
    models = [
        LLSVMClassifier("auto", n_jobs=n, random_state=3).fit(X, y) for n in (1, 1, 2)
    ]
    for model in models[1:]:
        assert_array_equal(model.anchors_, models[0].anchors_)
        assert_array_equal(model.anchor_path_, models[0].anchor_path_)


def test_sparse_rows_grow_like_dense_ones(sides):
    X, y = sides
    X = np.where(np.abs(X) > 0.5, X, 0)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    dense = LLSVMClassifier("auto", random_state=0).fit(X, y)
    same = LLSVMClassifier("auto", random_state=0).fit(sparse.csr_matrix(X), y)
    assert_allclose(dense.anchor_path_, same.anchor_path_, atol=0.02)


def test_rows_without_weight_are_not_seen(waves):
    X, y = waves
    weights = (np.arange(900) < 500).astype(float)
    noisy = np.where(weights > 0, y, 1 - y)
    model = LLSVMClassifier("auto", random_state=0)
    path = model.fit(X, noisy, weights).anchor_path_
    assert_allclose(path, model.fit(X[:500], y[:500]).anchor_path_, rtol=1e-12)


@pytest.mark.parametrize("codes", ["soft", "inverse-distance", "adaptive"])
def test_every_coding_and_loss_grows(waves, codes):
    X, y = waves
    model = LLSVMClassifier("auto", coding=codes, loss="logistic", alpha=1e-4)
    model.set_params(random_state=0).fit(X, y)
    line = LLSVMClassifier(1, alpha=1e-4).fit(X, y)
    assert model.score(X, y) > 0.05 + line.score(X, y)


@pytest.mark.slow
def test_more_neighbours_than_first_anchors(waves):
    model = SAPLClassifier("auto", n_neighbors=6, perplexity=3.0, random_state=0)
    assert model.fit(*waves).coding_.n_neighbors_ == 6


def test_cross_validation_of_alpha_on_grown_anchors(waves):
    model = LLSVMClassifierCV(3, n_anchors="auto", random_state=0)
    model.fit(*waves)
    assert len(model.anchors_) in model.anchor_path_[:, 0]
    assert model.scores_.shape == (3, 5)


def test_few_rows_have_the_usual_anchors():
    model = LLSVMClassifier("auto").fit([[0.0], [1.0]], [0, 1])
    assert len(model.anchor_path_) == 0
    assert_array_equal(model.predict([[0.0], [1.0]]), [0, 1])


def test_a_stream_grows_its_anchors_from_the_first_block(waves):
    X, y = waves
    model = LLSVMClassifier("auto", solver="sgd", random_state=0)
    model.partial_fit(X[:600], y[:600], classes=[0, 1])
    anchors = model.anchors_.copy()
    model.partial_fit(X[600:], y[600:])
    assert_array_equal(model.anchors_, anchors)


def test_given_anchors_have_no_number_to_find(waves):
    with pytest.raises(ValueError, match="leave n_anchors=None"):
        LLSVMClassifier("auto", anchors=[[0.0, 0.0], [1.0, 1.0]]).fit(*waves)


def test_new_anchors_go_where_the_loss_is():
    rng = np.random.RandomState(0)
    X = np.vstack([rng.normal(size=(50, 2)), 20 + rng.normal(size=(50, 2))])
    near = np.repeat([0, 1], 50)
    codes = Codes(np.arange(101), near.astype(np.int32), np.ones(100))
    anchors = np.array([[0.0, 0.0], [20.0, 20.0]])
    stage = Stage(anchors, anchors, codes, 1.0 * near)
    grown = split_anchors(stage, X, np.ones(100), 3, rng)
    assert len(grown) == 5
    assert (grown > 10).all(axis=1).sum() >= 3


def test_shares_add_up_and_follow_the_claims():
    assert_array_equal(apportion(10, np.array([5, 3, 2])), [5, 3, 2])
    assert_array_equal(apportion(2, np.array([1.0, 1.0, 1.0])), [1, 1, 0])
    assert_array_equal(apportion(3, np.zeros(2)), [2, 1])


def test_folds_are_stratified():
    labels = np.repeat([0, 1, 2], [50, 25, 5])
    folds = held_out_folds(labels, 5, np.random.RandomState(0))
    assert_array_equal(np.sum(folds, axis=0), np.ones(80))
    for held in folds:
        assert_array_equal(np.bincount(labels[held]), [10, 5, 1])
    assert held_out_folds(np.array([0, 1]), 5, np.random.RandomState(0)) == []
