"""Alpha that held-out rows choose."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from locallin import LLSVMClassifier
from locallin.methods.alpha import row_losses
from locallin.solvers import alpha_path


def noisy(n=1500, n_columns=20, share=0.4):
    """Columns that say little of a class: local models learn the rest by heart."""
    rng = np.random.RandomState(0)
    X = (rng.uniform(size=(n, n_columns)) < 0.3).astype(float)
    y = X[:, 0] + share * rng.normal(size=n) > 0.5
    return X, y ^ (rng.uniform(size=n) < 0.2)


def waves(n=1200):
    """Clean stripes: whatever is stronger than the rule cannot follow them."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(6 * X[:, 0]) > X[:, 1]


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("squared_hinge", "dual"),
        ("hinge", "dual"),
        ("logistic", "dual"),
        ("squared_hinge", "newton"),
    ],
)
def test_noise_strengthens_the_penalty(loss, solver):
    X, y = noisy(6000, share=0.8)
    seen, held = slice(3000), slice(3000, None)
    settings = {"loss": loss, "solver": solver, "random_state": 0}
    rule, chosen = (
        LLSVMClassifier(alpha=alpha, **settings).fit(X[seen], y[seen])
        for alpha in ("scale", "auto")
    )
    assert chosen.alpha_ > 5 * rule.alpha_
    assert chosen.score(X[held], y[held]) > rule.score(X[held], y[held]) + 0.02


def test_clean_rows_keep_the_rule():
    X, y = waves()
    rule = LLSVMClassifier(alpha="scale", random_state=0).fit(X, y)
    chosen = LLSVMClassifier(random_state=0).fit(X, y)
    assert_allclose(chosen.alpha_, rule.alpha_)
    path = chosen.alpha_path_
    assert_allclose(path[:, 0], rule.alpha_ * np.geomspace(1000, 1, 7))
    assert (np.diff(path[:, 1]) < 0).all()


def test_the_fit_is_that_at_the_chosen_alpha():
    X, y = noisy()
    auto = LLSVMClassifier(tol=1e-6, max_iter=5000, random_state=0).fit(X, y)
    given = LLSVMClassifier(
        alpha=auto.alpha_, tol=1e-6, max_iter=5000, anchors=auto.anchors_
    ).fit(X, y)
    assert_allclose(auto.decision_function(X), given.decision_function(X), atol=2e-2)
    assert auto.dual_gap_ <= 1e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_and_threads_choose_the_same(dtype):
    X, y = noisy()
    X = X.astype(dtype)
    dense = LLSVMClassifier(20, random_state=0).fit(X, y)
    thin = LLSVMClassifier(20, random_state=0, n_jobs=2).fit(sparse.csr_matrix(X), y)
    assert_allclose(thin.alpha_, dense.alpha_, rtol=1e-4)
    assert_allclose(thin.alpha_path_, dense.alpha_path_, rtol=5e-2)


def test_several_classes_of_both_strategies():
    rng = np.random.RandomState(0)
    X, y = waves()
    y = y + 2 * (X[:, 0] + 0.1 * rng.normal(size=len(X)) > 0)
    for settings in ({}, {"multi_class": "crammer_singer", "loss": "hinge"}):
        model = LLSVMClassifier(20, random_state=0, **settings).fit(X, y)
        assert len(model.alpha_path_) > 1
        assert model.score(X, y) > 0.85


def test_few_rows_weightless_rows_and_other_ways_take_the_rule():
    X, y = noisy(1400)
    weights = np.ones(len(y))
    weights[900:] = 0
    few = LLSVMClassifier(10, random_state=0).fit(X, y, weights)
    assert not hasattr(few, "alpha_path_")
    for settings in (
        {"solver": "sgd", "max_iter": 20, "tol": 0.1},
        {"early_stopping": True},
        {"alpha": 1e-3},
    ):
        model = LLSVMClassifier(10, random_state=0, **settings).fit(X, y)
        assert not hasattr(model, "alpha_path_")


def test_a_second_fit_forgets_the_path():
    X, y = noisy(1200)
    model = LLSVMClassifier(10, random_state=0).fit(X, y)
    assert hasattr(model, "alpha_path_")
    again = model.set_params(warm_start=True).fit(X, y)
    assert hasattr(again, "alpha_path_")
    model.set_params(warm_start=False, alpha="scale").fit(X, y)
    assert not hasattr(model, "alpha_path_")


def test_interruption_on_the_way_leaves_a_usable_model(monkeypatch):
    X, y = noisy()
    original, calls = alpha_path.solve_dual, []

    def interrupted(*args, **settings):
        calls.append(1)
        solution = original(*args, **settings)
        solution.interrupted = len(calls) == 2
        return solution

    monkeypatch.setattr(alpha_path, "solve_dual", interrupted)
    model = LLSVMClassifier(10, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 0
    assert len(model.alpha_path_) == 2
    assert model.score(X, y) > 0.7


def test_verbose_tells_what_was_tried(capsys):
    X, y = noisy()
    model = LLSVMClassifier(10, verbose=1, random_state=0).fit(X, y)
    lines = [s for s in capsys.readouterr().out.splitlines() if "held-out loss" in s]
    assert len(lines) == len(model.alpha_path_)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_losses_of_rows(loss):
    rng = np.random.RandomState(0)
    labels, scores = rng.randint(3, size=50), 2 * rng.normal(size=(50, 3))
    signs = np.where(labels[:, None] == np.arange(3), 1, -1)
    expected = reference.loss(loss, signs * scores).sum(axis=1)
    assert_allclose(row_losses(scores, labels, loss, False), expected)
    one = row_losses(scores[:, :1], labels % 2, loss, True)
    assert_allclose(one, reference.loss(loss, (2 * (labels % 2) - 1) * scores[:, 0]))
    rest = np.where(signs > 0, -np.inf, scores).max(axis=1)
    margins = scores[np.arange(50), labels] - rest
    joint = row_losses(scores, labels, loss, True)
    assert_array_equal(joint, reference.loss(loss, margins))
