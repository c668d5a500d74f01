"""EigenFunction: its functions, its problem, its manners."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, optimize, sparse
from sklearn.datasets import load_digits

from locallin.rivals import EigenFunctionClassifier
from locallin.rivals.eigenfunction import (
    histogram,
    line_eigenfunctions,
    solve_eigenfunctions,
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    few = np.full(len(y), -1)
    few[:100] = y[:100]
    return X / 16, y, few


def test_functions_solve_the_generalised_problem():
    rng = np.random.default_rng(0)
    places = rng.standard_normal(2000)
    middles, density = histogram(places, np.full(2000, 1 / 2000), 30)
    assert density.sum() == pytest.approx(1)
    values, functions = line_eigenfunctions(middles, density, 0.3)
    W = np.exp(-0.5 * ((middles[:, None] - middles) / 0.3) ** 2)
    P = np.diag(density)
    joint = P @ W @ P
    left = np.diag(joint.sum(axis=0)) - joint
    right = P @ np.diag((P @ W).sum(axis=0))
    assert_allclose(left @ functions, right @ functions * values, atol=1e-12)
    assert_allclose(values, linalg.eigh(left, right)[0][1:], atol=1e-9)
    assert_allclose((density[:, None] * functions**2).sum(axis=0), 1)


def test_the_first_function_parts_two_clusters():
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.normal(-2, 0.3, 500), rng.normal(2, 0.3, 500)])
    middles, density = histogram(places, np.full(1000, 1e-3), 50)
    first = line_eigenfunctions(middles, density, 0.3)[1][:, 0]
    sides = np.sign(np.interp(places, middles, first))
    assert_array_equal(sides, np.repeat([-1.0, 1.0], 500))


def test_coefficients_minimise_the_problem():
    rng = np.random.default_rng(0)
    values, signs = rng.standard_normal((12, 5)), rng.choice([-1.0, 1.0], (12, 1))
    penalties, weights = rng.uniform(0.1, 1, 5), rng.uniform(1, 5, 12)
    found = solve_eigenfunctions(values, penalties, signs, weights)[:, 0]

    def objective(a):
        misfit = (signs[:, 0] - a[0] - values @ a[1:]) ** 2
        return penalties @ a[1:] ** 2 + weights @ misfit

    assert objective(found) <= optimize.minimize(objective, np.zeros(6)).fun + 1e-7


def test_few_labels_reach_the_other_rows(digits):
    X, y, few = digits
    clf = EigenFunctionClassifier(32).fit(X[:1400], few[:1400])
    assert_array_equal(clf.classes_, np.arange(10))
    assert (clf.transduction_ == y[:1400])[100:].mean() > 0.7
    assert clf.score(X[1400:], y[1400:]) > 0.65
    assert_array_equal(clf.predict(X[:1400]), clf.transduction_)


def test_weights_are_repetitions(digits):
    X, _, few = digits
    counts = np.random.default_rng(0).integers(0, 3, 300)
    weighted = EigenFunctionClassifier(8).fit(X[:300], few[:300], counts)
    rows = np.repeat(np.arange(300), counts)
    repeated = EigenFunctionClassifier(8).fit(X[rows], few[rows])
    assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )


def test_files_and_sparse_rows(digits):
    X, _, few = digits
    clf = EigenFunctionClassifier(8).fit(X, few)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))
    clf.bins_ = clf.bins_[1:]
    with pytest.raises(ValueError, match="bins_"):
        pickle.loads(pickle.dumps(clf))
    with pytest.raises(TypeError, match="parse"):
        EigenFunctionClassifier().fit(sparse.csr_matrix(X), few)
