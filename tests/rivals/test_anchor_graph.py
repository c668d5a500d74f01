"""AnchorGraphReg: its closed form, its labels, its manners."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn.datasets import load_digits, make_blobs

from locallin.rivals import AnchorGraphRegClassifier
from locallin.rivals.anchor_graph import solve_anchor_graph


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    few = np.full(len(y), -1)
    few[:100] = y[:100]
    return X / 16, y, few


def random_graph(n=30, m=6):
    rng = np.random.default_rng(0)
    Z = rng.dirichlet(np.full(m, 0.3), n)
    return sparse.csr_matrix(Z), rng.uniform(0.5, 2, n), rng


def test_scores_minimise_the_problem_on_the_whole_graph():
    """The Laplacian of all rows is formed here, which the solver never does."""
    Z, weights, rng = random_graph()
    labelled, targets = np.arange(10), np.eye(3)[rng.integers(0, 3, 10)]
    A = solve_anchor_graph(Z, weights, labelled, targets, 0.3)
    dense = Z.toarray()
    S = np.diag(weights)
    W = dense @ np.diag(1 / (dense.T @ weights)) @ dense.T
    L = S - S @ W @ S

    def objective(flat):
        scores = dense @ flat.reshape(A.shape)
        misfit = ((scores[labelled] - targets) ** 2).sum(axis=1)
        return misfit @ weights[labelled] + 0.3 * np.trace(scores.T @ L @ scores)

    found = optimize.minimize(objective, np.zeros(A.size), options={"gtol": 1e-8})
    assert objective(A.ravel()) <= found.fun + 1e-6


def test_weights_are_repetitions():
    Z, _, rng = random_graph()
    counts = rng.integers(1, 4, Z.shape[0])
    labelled = np.arange(10)
    targets = np.eye(3)[rng.integers(0, 3, 10)]
    weighted = solve_anchor_graph(Z, counts.astype(float), labelled, targets, 0.1)
    rows = np.repeat(np.arange(Z.shape[0]), counts)
    repeated = solve_anchor_graph(
        Z[rows],
        np.ones(len(rows)),
        np.flatnonzero(rows < 10),
        targets[rows[rows < 10]],
        0.1,
    )
    assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("coding", ["lae", "kernel"])
def test_few_labels_reach_the_other_rows(digits, coding):
    X, y, few = digits
    seen = slice(0, 1400)
    clf = AnchorGraphRegClassifier(coding=coding, random_state=0)
    clf.fit(X[seen], few[seen])
    assert_array_equal(clf.classes_, np.arange(10))
    assert (clf.transduction_ == y[seen])[100:].mean() > 0.88
    assert clf.score(X[1400:], y[1400:]) > 0.85
    assert_array_equal(clf.predict(X[seen]), clf.transduction_)


def test_two_classes_have_one_score():
    X, y = make_blobs(200, centers=2, random_state=0, cluster_std=0.5)
    few = np.where(np.arange(200) < 10, y, -1)
    clf = AnchorGraphRegClassifier(random_state=0).fit(X, few)
    assert clf.decision_function(X).shape == (200,)
    assert clf.score(X, y) > 0.98
    signs = AnchorGraphRegClassifier(random_state=0).fit(X, 2 * y - 1)
    assert_array_equal(signs.classes_, [-1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_the_same_as_dense_ones(digits, dtype):
    X, _, few = digits
    X = X[:400].astype(dtype)
    clf = AnchorGraphRegClassifier(anchors=X[:40], random_state=0)
    dense = clf.fit(X, few[:400]).decision_function(X)
    assert dense.dtype == dtype
    thin = sparse.csr_matrix(X)
    found = clf.fit(thin, few[:400]).decision_function(thin)
    assert_allclose(found, dense, atol=1e-6 if dtype == np.float64 else 2e-2)


def test_rows_of_no_weight_are_left_out(digits):
    X, _, few = digits
    weights = np.ones(500)
    weights[400:] = 0
    clf = AnchorGraphRegClassifier(20, random_state=0)
    all_rows = clf.fit(X[:500], few[:500], weights).coef_
    assert_allclose(clf.fit(X[:400], few[:400]).coef_, all_rows)


def test_files_and_damage(digits, tmp_path):
    X, _, few = digits
    clf = AnchorGraphRegClassifier(20, random_state=0).fit(X, few)
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict(X), clf.transduction_)
    clf.coef_ = clf.coef_[1:]
    with pytest.raises(ValueError, match="coef_"):
        pickle.loads(pickle.dumps(clf))
    pytest.importorskip("skops")
    from locallin.export import load, save

    save(again, tmp_path / "graph.skops")
    assert_array_equal(load(tmp_path / "graph.skops").predict(X), again.predict(X))


def test_one_class_is_refused(digits):
    X, _, _ = digits
    with pytest.raises(ValueError, match="at least two classes"):
        AnchorGraphRegClassifier().fit(X[:50], np.zeros(50))
