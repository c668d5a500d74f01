"""Groups of anchors: the same definition everywhere, and all anchors in the end."""

from copy import copy

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from locallin import (
    DULLSVMClassifier,
    DULLSVMRegressor,
    LLSVMClassifier,
    SAPLClassifier,
    SAPLRegressor,
)
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.engine.groups import group_anchors
from locallin.engine.invariants import InvalidModelError, check_fitted
from locallin.export import compress

CODINGS = [
    InverseDistanceCoding(60, n_neighbors=9, random_state=0),
    SoftAssignmentCoding(60, n_neighbors=9, random_state=0),
    AdaptiveCoding(60, perplexity=6, random_state=0),
]
coding_kinds = pytest.mark.parametrize(
    "coding", CODINGS, ids=lambda coding: type(coding).__name__
)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(400, 6, centers=12, cluster_std=2.0, random_state=0)
    return X, y % 3


def twin(coding, X):
    """Codes of rows from the anchors that each looks at, by the slow twins."""
    X = reference.in_metric(X, coding.metric_)
    codes = np.zeros((len(X), len(coding.anchors_)))
    bandwidth = np.broadcast_to(coding.bandwidth_, len(coding.anchors_))
    for i, x in enumerate(X):
        seen = reference.in_sight(x, coding)
        row, anchors = x[None], coding.anchors_[seen].astype(float)
        if isinstance(coding, InverseDistanceCoding):
            found = reference.inverse_distance(row, anchors, coding.n_neighbors_)
        elif isinstance(coding, AdaptiveCoding):
            found = reference.adaptive(row, anchors, bandwidth[seen])
        else:
            k = coding.n_neighbors_
            found = reference.soft_assignment(row, anchors, k, bandwidth[seen])
        codes[i, seen] = found
    return codes


@pytest.mark.in_turn
@coding_kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_probes", [1, 3])
def test_codes_equal_the_twin(coding, dtype, n_probes, blobs):
    X = blobs[0].astype(dtype)
    coding = copy(coding).set_params(n_probes=n_probes).fit(X)
    codes = coding.transform(X)
    assert codes.dtype == dtype
    assert codes.has_canonical_format
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    assert_allclose(codes.toarray(), twin(coding, X.astype(float)), atol=tolerance)
    assert abs(coding.transform(X[:3]) - codes[:3]).max() == 0
    threads = copy(coding).set_params(n_jobs=2)
    assert abs(threads.transform(X) - codes).max() == 0
    as_csr = coding.transform(sparse.csr_matrix(X)).toarray()
    assert_allclose(as_csr, codes.toarray(), atol=tolerance)


@coding_kinds
def test_a_price_for_each_anchor_behind_a_metric(coding, blobs):
    X, _ = blobs
    rng = np.random.RandomState(0)
    metric = rng.normal(size=(3, X.shape[1]))
    coding = copy(coding).set_params(n_probes=2, metric=metric).fit(X)
    if not isinstance(coding, InverseDistanceCoding):
        coding.bandwidth_ = coding.bandwidth_ * rng.uniform(0.5, 2.0, size=60)
    assert_allclose(coding.transform(X).toarray(), twin(coding, X), atol=1e-9)


@coding_kinds
def test_all_groups_are_all_anchors(coding, blobs):
    X, _ = blobs
    usual = copy(coding).fit(X)
    grouped = copy(coding).set_params(n_probes=1000).fit(X)
    grouped.bandwidth_ = usual.bandwidth_
    assert_allclose(
        grouped.transform(X).toarray(), usual.transform(X).toarray(), atol=1e-12
    )


@pytest.mark.parametrize("m", [1, 2, 7, 200])
def test_groups_hold_every_anchor_once(m):
    anchors = np.random.RandomState(0).normal(size=(m, 3))
    groups = group_anchors(anchors, 4)
    sizes = np.bincount(groups.of_anchor)
    assert sizes.min() > 0
    assert sizes.sum() == m
    assert len(sizes) == len(groups.centers) <= 2 * np.sqrt(m) + 1
    again = group_anchors(anchors.copy(), 4)
    assert_array_equal(groups.of_anchor, again.of_anchor)
    distances = np.linalg.norm(anchors[:, None] - groups.centers, axis=2)
    assert_array_equal(distances.argmin(axis=1), groups.of_anchor)


def test_anchors_that_are_equal_or_far_out_have_groups():
    same = group_anchors(np.ones((50, 2)), 1)
    assert len(same.centers) == 1
    far = 1e308 * np.random.RandomState(0).uniform(0.1, 1, size=(50, 2))
    assert np.isfinite(group_anchors(far, 1).centers).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("Model", [SAPLClassifier, DULLSVMClassifier])
@pytest.mark.parametrize("metric", [None, "linear"])
def test_what_is_learned_is_what_predicts(Model, metric, blobs):
    X, y = blobs
    model = Model(40, n_probes=2, metric=metric, max_iter=5, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    groups = group_anchors(model.anchors_, 2)
    assert_array_equal(model.coding_.anchor_groups_, groups.of_anchor)
    assert_array_equal(model.coding_.group_centers_, groups.centers)
    codes = twin(model.coding_, X)
    wanted = reference.scores(X, codes, model.coef_, model.intercept_)
    assert_allclose(model.decision_function(X), wanted, atol=1e-7)
    assert_allclose(
        model.local_coef(X), np.einsum("ij,jcd->icd", codes, model.coef_), atol=1e-7
    )
    same = Model(40, n_probes=2, metric=metric, max_iter=5, random_state=0, n_jobs=2)
    assert_array_equal(same.fit(X, y).coef_, model.coef_)


def test_all_groups_learn_what_all_anchors_learn(blobs):
    X, y = blobs
    settings = {"max_iter": 3, "mu": 0.5, "random_state": 0}
    usual = DULLSVMClassifier(30, **settings).fit(X, y)
    grouped = DULLSVMClassifier(30, n_probes=1000, **settings).fit(X, y)
    assert_allclose(grouped.coef_, usual.coef_, rtol=1e-6, atol=1e-9)


def test_convex_machines_streams_and_numbers(blobs):
    X, y = blobs
    for solver in ("dual", "newton", "sgd"):
        model = LLSVMClassifier(40, n_probes=3, solver=solver, random_state=0)
        assert model.fit(X, y).score(X, y) > 0.9
    stream = SAPLClassifier(40, n_probes=3, random_state=0)
    stream.fit_stream((X, y), buffer_size=100, epochs=5)
    assert stream.score(X, y) > 0.9
    groups = group_anchors(stream.anchors_, 3)
    assert_array_equal(stream.coding_.anchor_groups_, groups.of_anchor)
    for Model in (SAPLRegressor, DULLSVMRegressor):
        numbers = Model(40, n_probes=3, max_iter=10, random_state=0).fit(X, X[:, 0])
        assert numbers.score(X, X[:, 0]) > 0.9


def test_dropped_anchors_leave_the_others_in_their_groups(blobs):
    X, y = blobs
    model = LLSVMClassifier(
        60, coding="soft", n_neighbors=4, n_probes=2, random_state=0
    ).fit(X, y)
    small = compress(model, X=X[:40])
    assert len(small.anchors_) < 60
    assert_allclose(
        small.decision_function(X[:40]), model.decision_function(X[:40]), atol=1e-4
    )
    assert small.coding_.group_centers_.dtype == np.float32


def test_damaged_groups_are_refused(blobs):
    coding = AdaptiveCoding(30, n_probes=2, random_state=0).fit(blobs[0])
    for name, value, problem in (
        ("anchor_groups_", coding.anchor_groups_ + 100, "not below"),
        ("anchor_groups_", coding.anchor_groups_[:-1], "number of anchors"),
        ("anchor_groups_", coding.anchor_groups_ - 1, "below 0"),
        ("group_centers_", coding.group_centers_[:, :2].copy(), "number of features"),
        ("group_centers_", None, "is missing"),
    ):
        damaged = copy(coding)
        setattr(damaged, name, value)
        with pytest.raises(InvalidModelError, match=problem):
            check_fitted(damaged)


def test_settings_that_do_not_go_together(blobs):
    with pytest.raises(ValueError, match="n_probes=3 is for solver='adam' only"):
        SAPLClassifier(n_probes=3, solver="sgd").fit(*blobs)
    with pytest.raises(ValueError, match="n_probes=3 does not reach a coding"):
        LLSVMClassifier(coding=AdaptiveCoding(), n_probes=3).fit(*blobs)
    with pytest.raises(ValueError, match="'n_probes' parameter"):
        AdaptiveCoding(n_probes=0).fit(blobs[0])
