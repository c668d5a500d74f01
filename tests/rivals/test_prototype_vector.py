"""PVM: its problem on the whole graph, its labels, its manners."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, optimize, sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from locallin.rivals import PVMClassifier


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    few = np.full(len(y), -1)
    few[:100] = y[:100]
    return X / 16, y, few


def problem_on_the_graph(X, labels, anchors, weights, clf):
    """The objective with the kernel and the Laplacian of all rows."""
    E, W = rbf_kernel(X, anchors, clf.gamma_), rbf_kernel(anchors, gamma=clf.gamma_)
    K = E @ linalg.inv(W) @ E.T
    degrees = K @ weights
    L = np.diag(weights * degrees) - np.outer(weights, weights) * K
    L /= (weights @ degrees) / weights.sum()
    smooth = E.T @ L @ E
    assert linalg.eigvalsh(smooth).min() > -1e-9
    known = labels != 0

    def objective(a):
        f = E @ a
        short = 1 - labels[known] * f[known]
        if clf.loss == "squared_hinge":
            short = np.maximum(short, 0)
        free = clf.shrinkage * weights[~known] @ f[~known] ** 2
        return f @ L @ f + clf.label_weight * weights[known] @ short**2 + free

    return objective


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_error"])
def test_coefficients_minimise_the_problem_on_the_whole_graph(loss):
    rng = np.random.default_rng(0)
    X, y = make_blobs(80, centers=2, random_state=0, cluster_std=1.5)
    X -= X.mean(axis=0)
    few = np.where(np.arange(80) < 20, y, -1)
    weights, anchors = rng.uniform(0.5, 2, 80), rng.standard_normal((6, 2)) * 4
    clf = PVMClassifier(
        anchors=anchors, gamma=0.02, loss=loss, label_weight=3.0, shrinkage=0.1
    ).fit(X, few, weights)
    labels = np.where(few == -1, 0, 2 * few - 1)
    objective = problem_on_the_graph(X, labels, anchors, weights, clf)
    found = optimize.minimize(
        objective, np.zeros(6), options={"gtol": 1e-9, "maxiter": 5000}
    )
    got = objective(clf.coef_[:, 0])
    assert got <= found.fun * (1 + 1e-5)
    assert got >= found.fun * (1 - 1e-3)


def test_weights_are_repetitions(digits):
    X, _, few = digits
    counts = np.random.default_rng(0).integers(0, 3, 300)
    clf = PVMClassifier(anchors=X[:30])
    weighted = clf.fit(X[:300], few[:300], counts).decision_function(X)
    rows = np.repeat(np.arange(300), counts)
    repeated = clf.fit(X[rows], few[rows]).decision_function(X)
    assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_error"])
def test_few_labels_reach_the_other_rows(digits, loss):
    X, y, few = digits
    seen = slice(0, 1400)
    clf = PVMClassifier(loss=loss, random_state=0).fit(X[seen], few[seen])
    assert_array_equal(clf.classes_, np.arange(10))
    assert (clf.transduction_ == y[seen])[100:].mean() > 0.83
    assert clf.score(X[1400:], y[1400:]) > 0.8
    assert_array_equal(clf.predict(X[seen]), clf.transduction_)


def test_one_label_of_each_cluster_is_enough():
    X, y = make_blobs(300, centers=[[0, 0], [4, 0]], cluster_std=0.6, random_state=0)
    few = np.full(300, -1)
    few[[np.flatnonzero(y == c)[0] for c in (0, 1)]] = [0, 1]
    clf = PVMClassifier(30, random_state=0).fit(X, few)
    assert clf.decision_function(X).shape == (300,)
    assert clf.score(X, y) > 0.98


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_the_same_as_dense_ones(digits, dtype):
    X, _, few = digits
    X = X[:400].astype(dtype)
    clf = PVMClassifier(anchors=X[:40])
    dense = clf.fit(X, few[:400]).decision_function(X)
    assert dense.dtype == dtype
    thin = sparse.csr_matrix(X)
    found = clf.fit(thin, few[:400]).decision_function(thin)
    assert_allclose(found, dense, atol=1e-6 if dtype == np.float64 else 2e-2)


@pytest.mark.parametrize("size", [1e-160, 1e-30, 1e30, 1e160])
def test_scores_are_finite_in_any_unit(digits, size):
    X, _, few = digits
    clf = PVMClassifier(20, random_state=0).fit(X[:300] * size, few[:300])
    assert np.isfinite(clf.decision_function(X * size)).all()


def test_files_and_damage(digits):
    X, _, few = digits
    clf = PVMClassifier(20, random_state=0).fit(X, few)
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict(X), clf.transduction_)
    clf.coef_ = clf.coef_[1:]
    with pytest.raises(ValueError, match="coef_"):
        pickle.loads(pickle.dumps(clf))


def test_one_class_is_refused(digits):
    X, _, _ = digits
    with pytest.raises(ValueError, match="at least two classes"):
        PVMClassifier().fit(X[:50], np.zeros(50))
