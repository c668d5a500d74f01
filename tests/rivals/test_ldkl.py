"""LDKL: its gradient, its tree, its manners."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.preprocessing import StandardScaler

from locallin.rivals import LDKLClassifier
from locallin.rivals._ldkl_tree import LDKLProblem


def problem(loss="squared_hinge", dtype=float, n_scores=2):
    rng = np.random.default_rng(0)
    n, d = 12, 3
    return LDKLProblem(
        X=rng.standard_normal((n, d)).astype(dtype),
        signs=rng.choice([-1.0, 1.0], (n, n_scores)),
        weights=rng.uniform(0.5, 2, n),
        visits=np.arange(n),
        n_splits=3,
        sigma=0.8,
        loss=loss,
        alpha=0.1,
        alpha_gate=0.2,
        alpha_split=0.3,
        constant=1.5,
        rate=0.1,
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_gradient_is_that_of_finite_differences(loss):
    this = problem(loss)
    rng = np.random.default_rng(1)
    table = rng.standard_normal((2 * this.n_machines + 3, 4))
    slope = this.gradient(table, this.visits, 0.7)[1]
    for at in np.ndindex(table.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = table.copy()
            moved[at] += step
            ends.append(this.gradient(moved, this.visits, 0.7)[0])
        assert slope[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=2e-8)


def slow_score(clf, x):
    """Section 3 of the paper, node by node."""
    total = np.zeros(clf.coef_.shape[1])
    node = 0
    while True:
        gates = np.tanh(
            clf.sigma * (clf.gate_coef_[node] @ x + clf.gate_intercept_[node])
        )
        total += gates * (clf.coef_[node] @ x + clf.intercept_[node])
        if node >= len(clf.split_intercept_):
            return total, node
        positive = clf.split_coef_[node] @ x + clf.split_intercept_[node] > 0
        node = 2 * node + (1 if positive else 2)


def test_scores_are_those_of_the_paths():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    clf = LDKLClassifier(2, sigma=1.3, max_iter=20, random_state=0).fit(X, y)
    slow = [slow_score(clf, x) for x in X]
    np.testing.assert_allclose(clf.decision_function(X), [s for s, _ in slow])
    assert clf.apply(X).tolist() == [leaf for _, leaf in slow]
    local = (clf.local_coef(X) * X[:, None]).sum(-1) + clf.local_intercept(X)
    np.testing.assert_allclose(local, clf.decision_function(X))


def test_objective_falls_and_digits_are_told_apart():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    clf = LDKLClassifier(2, max_iter=20, random_state=0).fit(X[:1200], y[:1200])
    assert clf.objective_history_[-1] < 0.2 * clf.objective_history_[0]
    assert clf.score(X[1200:], y[1200:]) > 0.93


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_the_same_as_dense_ones(dtype):
    X, y = load_digits(return_X_y=True)
    X = (X[:300] / 16).astype(dtype)
    clf = LDKLClassifier(1, init="random", max_iter=3, random_state=0)
    dense = clf.fit(X, y[:300]).decision_function(X)
    assert clf.coef_.dtype == dense.dtype == dtype
    thin = sparse.csr_matrix(X)
    np.testing.assert_allclose(
        clf.fit(thin, y[:300]).decision_function(thin), dense, atol=2e-3
    )


def test_streams_learn_and_go_on_from_pickles():
    X, y = make_moons(4000, noise=0.1, random_state=0)
    blocks = [slice(i, i + 400) for i in range(0, 4000, 400)]
    clf = LDKLClassifier(3, max_iter=8, random_state=0)
    for part in blocks:
        clf.partial_fit(X[part], y[part], classes=[0, 1])
        clf = pickle.loads(pickle.dumps(clf))
    assert clf.n_iter_ == 10
    assert clf.score(X, y) > 0.95
    streamed = LDKLClassifier(3, random_state=0).fit_stream((X, y), epochs=10)
    assert streamed.score(X, y) > 0.95
    assert not streamed._learning


def test_a_row_of_no_weight_is_not_there():
    X, y = make_moons(300, noise=0.1, random_state=0)
    weights = np.repeat([1.0, 0.0], 150)
    clf = LDKLClassifier(2, max_iter=5, random_state=0)
    with_all = clf.fit(X, y, weights).coef_
    wrong = np.where(weights > 0, y, 1 - y)
    np.testing.assert_array_equal(clf.fit(X, wrong, weights).coef_, with_all)


def test_warm_start_keeps_the_tree():
    X, y = make_moons(300, noise=0.1, random_state=0)
    clf = LDKLClassifier(2, max_iter=5, warm_start=True, random_state=0).fit(X, y)
    splits, machines = clf.split_coef_, clf.coef_
    clf.fit(X, y)
    np.testing.assert_array_equal(clf.split_coef_, splits)
    assert not np.array_equal(clf.coef_, machines)


def test_early_stopping_and_probabilities():
    X, y = make_moons(600, noise=0.2, random_state=0)
    clf = LDKLClassifier(
        2, max_iter=40, early_stopping=True, probability=True, random_state=0
    ).fit(X, y)
    assert len(clf.validation_history_) == clf.n_iter_
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1)
    logistic = LDKLClassifier(2, loss="logistic", random_state=0).fit(X, y)
    assert logistic.predict_proba(X).shape == (600, 2)


def test_files(tmp_path):
    pytest.importorskip("skops")
    from locallin.export import load, save

    X, y = load_iris(return_X_y=True)
    clf = LDKLClassifier(1, max_iter=3, random_state=0).fit(X, y)
    save(clf, tmp_path / "ldkl.skops")
    again = load(tmp_path / "ldkl.skops")
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    clf.gate_coef_ = clf.gate_coef_[:, :, :1]
    with pytest.raises(ValueError, match="gate_coef_"):
        pickle.loads(pickle.dumps(clf))


def test_parameters_are_checked():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="depth"):
        LDKLClassifier(0).fit(X, y)
    with pytest.raises(ValueError, match="loss"):
        LDKLClassifier(loss="multinomial").fit(X, y)
