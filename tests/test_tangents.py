"""Local tangents: the directions of the anchors' rows, and features along them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from locallin.coding import (
    AdaptiveCoding,
    LCCCoding,
    LLCCoding,
    LocalTangents,
    OCCCoding,
    SoftAssignmentCoding,
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def slow_features(X, g, rows, weights, d, scale):
    """The features as they are written, from dense codes of the rows and of X."""
    blocks = []
    for j in range(g.shape[1]):
        mine = (rows.argmax(axis=1) == j) & (weights > 0)
        mean = np.average(X[: len(rows)][mine], axis=0, weights=weights[mine])
        centred = X[: len(rows)][mine] - mean
        values, vectors = np.linalg.eigh((centred.T * weights[mine]) @ centred)
        vectors = vectors[:, ::-1][:, :d] * (values[::-1][:d] > 1e-12)
        places = (X - mean) @ vectors
        blocks.append(g[:, j, None] * np.column_stack([np.full(len(X), scale), places]))
    return np.hstack(blocks)


@pytest.mark.parametrize(
    "coding",
    [
        LLCCoding(6, random_state=0),
        SoftAssignmentCoding(6, n_neighbors=3, random_state=0),
        AdaptiveCoding(6, random_state=0),
        LLCCoding(6, metric=np.eye(3, 64), random_state=0),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_features_are_codes_times_places(digits, coding, form):
    X = digits[0][:300]
    weights = np.random.default_rng(0).uniform(0.5, 2, 200)
    mapped = LocalTangents(coding, n_components=3, scale=2.0)
    mapped.fit(form(X[:200]), None, weights)
    got = mapped.transform(form(X))
    assert got.has_canonical_format
    g = mapped.coding_.transform(form(X)).toarray()
    expected = slow_features(X, g, g[:200], weights, 3, 2.0)
    assert_allclose(np.abs(got.toarray()), np.abs(expected), atol=1e-8)
    alone = mapped.transform(form(X[250:251])).toarray()
    assert_allclose(alone, got.toarray()[250:251], atol=1e-12)


def test_the_scale_gives_constants_and_tangents_the_same_say(digits):
    X = digits[0][:300]
    mapped = LocalTangents(LLCCoding(6, random_state=0), n_components=3).fit(X)
    squares = (mapped.transform(X).toarray() ** 2).reshape(300, 6, 4).sum(axis=(0, 1))
    assert squares[0] == pytest.approx(squares[1:].sum())


def test_a_function_that_is_linear_around_each_anchor_is_learned_whole():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(-1, 1, (50, 2)), rng.uniform(9, 11, (50, 2))])
    target = np.where(X[:, 0] < 5, X @ [1, 2] + 3, X @ [-2, 1])
    coding = SoftAssignmentCoding(2, n_neighbors=1, beta=1.0, random_state=0)
    Z = LocalTangents(coding).fit_transform(X).toarray()
    assert Z.shape == (100, 6)
    found = np.linalg.lstsq(Z, target, rcond=None)[0]
    assert_allclose(Z @ found, target, atol=1e-9)


def test_tangents_help_a_linear_machine(digits):
    X, y = digits
    coding = LCCCoding(20, n_neighbors=4, random_state=0)
    plain = coding.fit(X[:900])
    tangents = LocalTangents(coding, n_components=6).fit(X[:900])
    scores = [
        LinearSVC(C=10, tol=1e-3, max_iter=20000, random_state=0)
        .fit(step.transform(X[:900]), y[:900])
        .score(step.transform(X[900:]), y[900:])
        for step in (plain, tangents)
    ]
    assert scores[1] > scores[0] + 0.02


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_other_units_scale_the_features(digits, size):
    X = digits[0][:200]
    anchors = X[:5]
    ends = [
        LocalTangents(LLCCoding(anchors=anchors * unit), n_components=2)
        .fit_transform(X * unit)
        .toarray()
        for unit in (1.0, size)
    ]
    assert_allclose(ends[1] / size, ends[0], atol=1e-6)


def test_few_rows_the_default_and_planes(digits):
    X = digits[0]
    assert LocalTangents().fit(X[:3]).transform(X[:2]).shape[1] <= 3 * 9
    assert len(LocalTangents(OCCCoding(3)).fit(X).means_) == 3


def test_files_and_damage(digits):
    X = digits[0][:200]
    mapped = LocalTangents(LLCCoding(6, random_state=0), n_components=3).fit(X)
    assert mapped.get_feature_names_out()[-1] == "localtangents23"
    again = pickle.loads(pickle.dumps(mapped))
    assert_array_equal(again.transform(X).toarray(), mapped.transform(X).toarray())
    mapped.tangents_ = mapped.tangents_[1:]
    with pytest.raises(ValueError, match="tangents_"):
        pickle.loads(pickle.dumps(mapped))
