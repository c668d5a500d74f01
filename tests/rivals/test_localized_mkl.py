"""Localized MKL: its gradient, its kernel, its manners."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

from locallin.rivals import LocalizedMKLClassifier
from locallin.rivals.localized_mkl import MKLProblem, first_gates


def test_gradient_is_that_of_finite_differences():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 2))
    signs = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    problem = MKLProblem(X, signs, rng.uniform(0.5, 2, 30), 0.8)
    gates = first_gates(X, 3, "random", rng)
    slope = problem.solve(gates, tol=1e-10)[1]
    for at in np.ndindex(gates.shape):
        ends = []
        for step in (1e-4, -1e-4):
            moved = gates.copy()
            moved[at] += step
            ends.append(problem.solve(moved, tol=1e-10)[0])
        assert slope[at] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=2e-5)


def test_one_kernel_is_a_linear_svm():
    X, y = make_moons(150, noise=0.2, random_state=0)
    clf = LocalizedMKLClassifier(1, C=2).fit(X, y)
    linear = SVC(kernel="linear", C=2).fit(X, y)
    assert_allclose(clf.decision_function(X), linear.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_objective_falls_and_moons_are_told_apart(init):
    X, y = make_moons(200, noise=0.1, random_state=0)
    clf = LocalizedMKLClassifier(4, C=10, init=init, random_state=0).fit(X, y)
    assert (np.diff(clf.objective_history_) < 0).all()
    assert clf.score(X, y) > (0.96 if init == "kmeans" else 0.85)


def test_several_classes_and_pickles():
    X, y = load_iris(return_X_y=True)
    clf = LocalizedMKLClassifier(2, max_iter=5, random_state=0).fit(X, y)
    assert clf.decision_function(X).shape == (150, 3)
    assert clf.score(X, y) > 0.93
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict(X), clf.predict(X))
    clf.gate_coef_ = clf.gate_coef_[:, :1]
    with pytest.raises(ValueError, match="gate_coef_"):
        pickle.loads(pickle.dumps(clf))


def test_sparse_rows_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="parse"):
        LocalizedMKLClassifier().fit(sparse.csr_matrix(X), y)
