"""Orthogonal coordinate coding: its planes, its weights, and machines on them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from locallin import LLSVMClassifier
from locallin.coding import OCCCoding, planes


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600], X[600:] / 16, y[600:]


def coordinates(X, m, rows=None):
    """Coordinates along singular vectors, by the decomposition itself."""
    rows = X if rows is None else rows
    constant = np.sqrt((rows**2).sum(axis=1).mean())
    whole = np.column_stack([rows, np.full(len(rows), constant)])
    vectors = np.linalg.svd(whole, full_matrices=False)[2][:m]
    length = np.sqrt(((whole @ vectors.T) ** 2).sum(axis=1).mean())
    return np.column_stack([X, np.full(len(X), constant)]) @ vectors.T / length


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("many", [False, True])
def test_weights_are_coordinates_along_singular_vectors(
    digits, form, many, monkeypatch
):
    if many:
        monkeypatch.setattr(planes, "_MOST_FEATURES", 10)
    X = digits[0]
    coding = OCCCoding(7, random_state=0).fit(form(X))
    codes = coding.transform(form(X)).toarray()
    expected = coordinates(X, 7)
    atol = 1e-3 if many else 1e-9
    assert_allclose(np.abs(codes), np.abs(expected), atol=atol)
    assert_allclose((codes**2).sum(axis=1).mean(), 1)
    alone = coding.transform(form(X[:1])).toarray()
    assert_array_equal(alone, codes[:1])


def test_planes_are_no_more_than_directions():
    X = np.outer(np.arange(1.0, 9), [1.0, 2.0, 0.0])
    coding = OCCCoding(5).fit(X)
    assert coding.anchors_.shape == (2, 3)
    assert len(OCCCoding(5).fit(np.zeros((4, 2))).anchors_) == 1


def test_weights_of_rows_are_repetitions(digits):
    X = digits[0][:200]
    counts = np.random.default_rng(0).integers(0, 3, 200)
    weighted = OCCCoding(5).fit(X, None, counts)
    repeated = OCCCoding(5).fit(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.anchors_, repeated.anchors_, atol=1e-9)
    assert_allclose(weighted.offsets_, repeated.offsets_, atol=1e-9)


def test_class_specific_planes_are_those_of_the_second_class(digits):
    X, y = digits[0], digits[1] == 3
    codes = OCCCoding(4, rows="positive").fit(X, y).transform(X).toarray()
    assert_allclose(np.abs(codes), np.abs(coordinates(X, 4, X[y])), atol=1e-9)
    with pytest.raises(ValueError, match="needs y"):
        OCCCoding(rows="positive").fit(X)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        OCCCoding(rows="positive").fit(X, digits[1])


def test_the_machine_is_a_linear_one_on_products(digits):
    X, y = digits[0][:200], digits[1][:200] % 2
    clf = LLSVMClassifier(
        coding=OCCCoding(5), alpha=1e-3, intercept_scaling=1.0, tol=1e-6, max_iter=5000
    ).fit(X, y)
    g = clf.coding_.transform(X).toarray()
    full = np.column_stack([X, np.ones(200)])
    Z = (g[:, :, None] * full[:, None]).reshape(200, -1)
    peer = LinearSVC(C=1 / (1e-3 * 200), fit_intercept=False, tol=1e-8, max_iter=100000)
    expected = peer.fit(Z, y).decision_function(Z)
    assert_allclose(clf.decision_function(X), expected, atol=2e-2)
    local = (clf.local_coef(X)[:, 0] * X).sum(axis=1) + clf.local_intercept(X)[:, 0]
    assert_allclose(local, clf.decision_function(X), atol=1e-9)


def test_planes_of_all_rows_and_of_each_class_classify(digits):
    X, y, X_test, y_test = digits
    general = LLSVMClassifier(coding=OCCCoding(10), random_state=0).fit(X, y)
    assert general.score(X_test, y_test) > 0.9
    single = LLSVMClassifier(coding=OCCCoding(10, rows="positive"), random_state=0)
    specific = OneVsRestClassifier(single).fit(X, y)
    assert specific.score(X_test, y_test) > 0.9


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_codes_have_no_unit(digits, size):
    X = digits[0]
    codes = OCCCoding(5).fit(X * size).transform(X * size).toarray()
    assert_allclose(codes, OCCCoding(5).fit(X).transform(X).toarray(), atol=1e-6)


def test_files_and_damage(digits, tmp_path):
    from locallin.export import to_c

    X, y, X_test, _ = digits
    clf = LLSVMClassifier(coding=OCCCoding(5)).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict(X_test), clf.predict(X_test))
    with pytest.raises(TypeError, match=r"OCCCoding.*only Python"):
        to_c(clf, "digits")
    clf.coding_.offsets_ = clf.coding_.offsets_[1:]
    with pytest.raises(ValueError, match="offsets_"):
        pickle.loads(pickle.dumps(clf))
    pytest.importorskip("skops")
    from locallin.export import load, save

    save(again, tmp_path / "planes.skops")
    assert_array_equal(load(tmp_path / "planes.skops").predict(X), again.predict(X))
