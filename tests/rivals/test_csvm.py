"""CSVM: its problem, its equivalent machine, its manners."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import pairwise_distances_argmin

from locallin.rivals import CSVMClassifier


def objective(shared, machines, rows, clusters, signs, *, price, C):
    """Problem (2) of the paper, squared hinge."""
    margins = signs * (machines[clusters] * rows).sum(axis=1)
    return (
        price / 2 * (shared @ shared)
        + ((machines - shared) ** 2).sum() / 2
        + C * (np.maximum(1 - margins, 0) ** 2).sum()
    )


def test_solution_is_that_of_the_problem_itself():
    X, y = make_moons(120, noise=0.2, random_state=0)
    clf = CSVMClassifier(
        3,
        C=0.7,
        shared=0.4,
        loss="squared_hinge",
        intercept_scaling=1,
        tol=1e-9,
        random_state=0,
    ).fit(X, y)
    clusters = pairwise_distances_argmin(X, clf.anchors_)
    rows, signs = np.column_stack([X, np.ones(len(X))]), 2 * y - 1

    def flat(z):
        return objective(z[0], z[1:], rows, clusters, signs, price=0.4, C=0.7)

    found = optimize.minimize(lambda z: flat(z.reshape(4, 3)), np.zeros(12))
    machines = np.column_stack([clf.coef_[:, 0], clf.intercept_[:, 0]])
    # The best shared machine for given ones is their sum over price + clusters.
    shared = machines.sum(axis=0) / (0.4 + 3)
    assert_allclose(shared[:-1], clf.shared_coef_[0], atol=1e-5)
    assert flat(np.vstack([shared, machines])) <= found.fun + 1e-5


def test_rows_are_scored_by_their_nearest_cluster():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    clf = CSVMClassifier(4, random_state=0).fit(X[:1000], y[:1000])
    assert clf.score(X[1000:], y[1000:]) > 0.9
    local = (clf.local_coef(X) * X[:, None]).sum(-1) + clf.local_intercept(X)
    assert_allclose(local, clf.decision_function(X), atol=1e-10)


def test_one_cluster_is_a_linear_machine_of_both_prices():
    """w_1 = (1 + 1 / shared) v: a linear machine with another C."""
    from sklearn.svm import LinearSVC

    X, y = make_moons(200, noise=0.2, random_state=0)
    clf = CSVMClassifier(
        1, C=0.5, shared=2, intercept_scaling=1, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    linear = LinearSVC(C=0.75, loss="hinge", tol=1e-8, max_iter=10**6).fit(X, y)
    assert_allclose(clf.coef_[0], linear.coef_, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_the_same_as_dense_ones(dtype):
    X, y = load_digits(return_X_y=True)
    X, y = (X[:300] / 16).astype(dtype), y[:300]
    dense = CSVMClassifier(1, random_state=0).fit(X, y)
    thin = CSVMClassifier(1, random_state=0).fit(sparse.csr_matrix(X), y)
    assert dense.coef_.dtype == dtype
    assert_allclose(thin.coef_, dense.coef_, atol=1e-3)


def test_files(tmp_path):
    X, y = make_moons(100, random_state=0)
    clf = CSVMClassifier(random_state=0).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))
    clf.intercept_ = clf.intercept_[1:]
    with pytest.raises(ValueError, match="intercept_"):
        pickle.loads(pickle.dumps(clf))
