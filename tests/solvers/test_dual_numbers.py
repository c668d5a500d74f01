"""Dual coordinate descent for numbers against independent solvers."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import LinearSVR

from locallin import LLSVMRegressor
from locallin.coding import AdaptiveCoding
from locallin.kernels import losses
from locallin.kernels.dual_numbers import minimiser
from locallin.solvers.convex import solve_dual
from locallin.solvers.dual_numbers import NumberDescent, conjugate_of
from locallin.solvers.newton import solve_newton

KINKED = {
    "absolute": {},
    "epsilon_insensitive": {"epsilon": 0.3},
    "pinball": {"quantile": 0.8},
}
CODES = {
    "squared": (losses.HUBER, np.inf),
    "huber": (losses.HUBER, 0.4),
    "absolute": (losses.EPSILON_INSENSITIVE, 0.0),
    "epsilon_insensitive": (losses.EPSILON_INSENSITIVE, 0.3),
    "squared_epsilon_insensitive": (losses.SQUARED_INSENSITIVE, 0.3),
    "pinball": (losses.PINBALL, 0.8),
}


@pytest.fixture(scope="module")
def waves():
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(300, 3))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0)
    return X, y + 0.1 * rng.normal(size=len(y)), rng.uniform(0.3, 2, len(y))


def exact(n_anchors=1, **more):
    settings = {"tol": 1e-8, "max_iter": 50_000, "intercept_scaling": 1.5, **more}
    return LLSVMRegressor(n_anchors, **settings, random_state=0)


@pytest.mark.parametrize("name", CODES)
def test_conjugates_are_those_of_the_losses(name):
    """C loss(r) is the largest of -a r - conjugate(a) over the bounds of a."""
    code, parameter = CODES[name]
    upper = np.array([0.7])
    low, high, ridge, flat = conjugate_of(code, parameter, upper)
    for residual in np.linspace(-2, 2, 17):
        a = minimiser(residual, ridge[0], flat, low[0], high[0])
        value = -a * residual - flat * abs(a) - 0.5 * ridge[0] * a * a
        wanted = 0.7 * losses.residual_loss(code, parameter, residual)
        assert_allclose(value, wanted, atol=1e-14)
        around = np.clip(a + np.linspace(-0.1, 0.1, 21), low[0], high[0])
        others = -around * residual - flat * np.abs(around)
        assert (others - 0.5 * ridge[0] * around**2 <= value + 1e-14).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", KINKED)
def test_objectives_equal_those_of_an_interior_point_method(loss, kind, waves):
    cvxpy = pytest.importorskip("cvxpy")
    X, y, weights = waves
    alpha = 1e-2
    model = exact(8, loss=loss, alpha=alpha, **KINKED[loss]).fit(kind(X), y, weights)
    offset, scale = model.target_offset_[0], model.target_scale_[0]
    codes = model.coding_.transform(X).toarray()
    Z = reference.materialise(X, codes, 1.5)
    wanted = (y - offset) / scale
    parameter = CODES[loss][1]

    def objective(w):
        found = reference.residual_loss(loss, Z @ w - wanted, parameter, parameter)
        return 0.5 * alpha * w @ w + np.average(found, weights=weights)

    w = cvxpy.Variable(Z.shape[1])
    r = Z @ w - wanted
    terms = {
        "absolute": cvxpy.abs(r),
        "epsilon_insensitive": cvxpy.pos(cvxpy.abs(r) - 0.3),
        "pinball": cvxpy.maximum(-0.8 * r, 0.2 * r),
    }[loss]
    problem = cvxpy.Problem(
        cvxpy.Minimize(
            0.5 * alpha * cvxpy.sum_squares(w) + weights @ terms / weights.sum()
        )
    )
    problem.solve(solver="CLARABEL")
    assert_allclose(model.objective_history_[-1], objective(w.value), rtol=1e-6)
    assert_allclose(model.predict(X), Z @ w.value * scale + offset, atol=1e-3)
    assert model.dual_gap_ <= 1e-7


@pytest.mark.parametrize("loss", ["squared", "huber", "squared_epsilon_insensitive"])
def test_dual_and_newton_agree_where_both_can(loss, waves):
    X, y, weights = waves
    both = np.column_stack([y, X[:, 1] ** 2])
    model = exact(6, loss=loss, alpha=1e-2, tol=1e-9)
    found = []

    class Recorded(LLSVMRegressor):
        def _convex_problem(self, *args, **more):
            found.append(super()._convex_problem(*args, **more))
            return found[-1]

    Recorded(**model.get_params()).fit(X, both, weights)
    settings = {"max_iter": 50_000, "tol": 1e-9}
    dual = solve_dual(
        found[0], rng=np.random.RandomState(0), descent_of=NumberDescent, **settings
    )
    newton = solve_newton(found[0], **settings)
    assert dual.converged
    assert_allclose(dual.coef, newton.coef, atol=1e-4)
    assert_allclose(dual.objective_history[-1], newton.objective_history[-1], rtol=1e-7)


def test_one_anchor_is_linear_support_vector_regression(waves):
    X, y, _ = waves
    model = exact(alpha=0.01, loss="epsilon_insensitive", epsilon=0.2).fit(X, y)
    offset, scale = model.target_offset_[0], model.target_scale_[0]
    other = LinearSVR(
        C=1 / (0.01 * len(y)), epsilon=0.2, intercept_scaling=1.5, tol=1e-10,
        max_iter=1_000_000, random_state=0,
    ).fit(X, (y - offset) / scale)  # fmt: skip
    assert_allclose(model.predict(X), other.predict(X) * scale + offset, atol=1e-4)


@pytest.mark.parametrize("quantile", [0.2, 0.5])
def test_one_anchor_is_quantile_regression(quantile, waves):
    """As the penalty vanishes; at 0.5 it is the absolute loss over two."""
    X, y, _ = waves
    other = QuantileRegressor(quantile=quantile, alpha=0, solver="highs").fit(X, y)
    loss = {"loss": "pinball", "quantile": quantile}
    if quantile == 0.5:
        loss = {"loss": "absolute"}
    model = exact(alpha=1e-3, intercept_scaling=10, tol=5e-5, **loss).fit(X, y)
    assert_allclose(model.predict(X), other.predict(X), atol=2e-2)


def test_several_targets_are_solved_apart(waves):
    X, y, _ = waves
    both = np.column_stack([y, 1000 * X[:, 1] ** 2])
    model = exact(8, alpha=1e-2, loss="epsilon_insensitive")
    found = clone(model).fit(X, both).predict(X)
    for t in range(2):
        alone = clone(model).fit(X, both[:, t]).predict(X)
        assert_allclose(found[:, t], alone, rtol=1e-2, atol=2e-3 * both[:, t].std())
    threads = clone(model).set_params(n_jobs=2).fit(X, both)
    assert_array_equal(threads.predict(X), found)


def test_weights_are_repetitions(waves):
    X, y, _ = waves
    counts = np.random.RandomState(0).randint(0, 3, len(y))
    coding = AdaptiveCoding(anchors=X[:6], mu=0.6)
    model = exact(None, loss="absolute", alpha=1e-2, coding=coding, tol=1e-7)
    whole = clone(model).fit(X, y, counts.astype(float))
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(whole.predict(X), repeated.predict(X), atol=1e-3)


def test_warm_starts_go_on_from_the_dual(waves):
    X, y, _ = waves
    model = exact(8, loss="epsilon_insensitive", warm_start=True, tol=1e-4)
    first = model.fit(X, y).n_iter_
    assert model._learning["dual"].shape == (300, 1)
    assert model.fit(X, y).n_iter_ < first / 4
    assert model.fit(X[:200], y[:200]).n_iter_ > 0  # other rows: from the start


def test_single_precision_and_few_passes(waves):
    X, y, _ = waves
    model = LLSVMRegressor(8, loss="pinball", tol=1e-4, random_state=0)
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    double = model.fit(X, y)
    assert_allclose(single.predict(X.astype(np.float32)), double.predict(X), atol=0.05)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter, alpha or tol"):
        LLSVMRegressor(8, loss="absolute", max_iter=2).fit(X, y)
