"""Newton's method against explicit features, other solvers and its own promises."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from locallin import LLSVMClassifier, LLSVMClassifierCV
from locallin.engine.matrix import as_rows
from locallin.kernels.linear import ONE_VS_REST, Target
from locallin.kernels.losses import LOSSES
from locallin.kernels.newton import (
    add_hessian_diagonal,
    add_hessian_product,
    add_rows,
    bend_losses,
    gather_entries,
    row_products,
    solve_blocks,
    sum_along,
)
from locallin.kernels.predict import entries_by_anchor
from locallin.kernels.rows import Codes
from locallin.solvers import newton
from locallin.solvers.convex import Problem, solve_dual
from locallin.solvers.newton import solve_newton

SMOOTH_LOSSES = ["squared_hinge", "logistic"]
CONSTANT = 1.5


def some_codes(rng, n, m, dtype=float):
    """Codes of one to six anchors per row, and the same as a dense matrix."""
    dense = rng.uniform(0.1, 1, size=(n, m))
    keep = rng.uniform(size=(n, m)).argsort(axis=1) < rng.randint(1, 7, size=(n, 1))
    matrix = sparse.csr_matrix((dense * keep).astype(dtype))
    return Codes(matrix.indptr, matrix.indices, matrix.data), matrix.toarray()


def made_problem(loss="squared_hinge", n=80, m=7, d=5, dtype=float, kind=None, **more):
    """A problem with three scores, weights, and a row that does not count."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[rng.uniform(size=X.shape) < 0.3] = 0.0
    codes, dense = some_codes(rng, n, m, dtype)
    labels = rng.randint(3, size=n)
    weights = rng.uniform(0.3, 2, size=n)
    weights[4] = 0.0
    visits = np.flatnonzero(weights)
    weights /= weights[visits].mean()
    settings = {
        "rows": as_rows(X if kind is None else kind(X)),
        "codes": codes,
        "target": Target(labels, np.arange(3), weights),
        "visits": visits,
        "n_anchors": m,
        "n_features": d,
        "alpha": 1e-3,
        "intercept_scaling": CONSTANT,
        "loss": LOSSES[loss],
        "strategy": ONE_VS_REST,
    }
    problem = Problem(**{**settings, **more})
    return problem, reference.materialise(X, dense, CONSTANT)


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [None, sparse.csr_matrix])
def test_products_are_those_of_explicit_features(kind, dtype):
    problem, Z = made_problem(kind=kind, dtype=dtype)
    rng = np.random.RandomState(1)
    shape = problem.n_anchors, problem.n_features + 1
    v = rng.normal(size=shape).astype(dtype)
    h = rng.uniform(size=len(Z))
    data = problem.rows, problem.codes, problem.visits
    some = problem.visits
    tolerance = {"rtol": 1e-4 if dtype == np.float32 else 1e-10, "atol": 1e-4}
    products = np.zeros(len(Z))
    row_products(*data, v, CONSTANT, products)
    assert_allclose(products[some], (Z @ v.ravel())[some], **tolerance)
    assert products[4] == 0.0
    out = np.ones(shape, dtype)
    add_rows(*data, h, CONSTANT, out)
    assert_allclose(out.ravel(), 1 + h[some] @ Z[some], **tolerance)
    out = np.zeros(shape, dtype)
    add_hessian_product(*data, h, v, CONSTANT, out)
    H = (Z[some].T * h[some]) @ Z[some]
    assert_allclose(out.ravel(), H @ v.ravel(), **tolerance)
    out = np.zeros(shape)
    add_hessian_diagonal(*data, h, CONSTANT, out)
    assert_allclose(out.ravel(), H.diagonal(), **tolerance)


@pytest.mark.parametrize("kind", [None, sparse.csr_matrix])
def test_blocks_are_those_of_the_hessian(kind):
    problem, Z = made_problem(kind=kind)
    m, width = problem.n_anchors, problem.n_features + 1
    h = np.random.RandomState(1).uniform(size=len(Z)) * (np.arange(len(Z)) % 3 > 0)
    H = ((Z.T * h) @ Z).reshape(m, width, m, width)
    start, entry, row = entries_by_anchor(problem.codes, m)
    factors = np.empty((m, width, width))
    room = np.empty((len(Z), width))
    for j in range(m):
        own = slice(start[j], start[j + 1])
        filled = gather_entries(
            problem.rows, problem.codes, entry[own], row[own], np.sqrt(h), CONSTANT,
            room,
        )  # fmt: skip
        block = room[:filled].T @ room[:filled]
        assert_allclose(block, H[j, :, j], atol=1e-12)
        factors[j] = np.linalg.cholesky(block + 0.1 * np.eye(width))
    v = np.random.RandomState(2).normal(size=(m, width))
    out = np.empty_like(v)
    solve_blocks(factors, v, out)
    for j in range(m):
        assert_allclose((H[j, :, j] + 0.1 * np.eye(width)) @ out[j], v[j])


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_derivatives_of_the_losses(loss):
    rng = np.random.RandomState(0)
    margins, changes = rng.normal(scale=2, size=(2, 30))
    weights, order = rng.uniform(size=30), np.arange(30)
    code = LOSSES[loss]

    def value(t):
        return sum_along(code, None, order, weights, margins, changes, t[0])[0]

    def slope(t):
        return sum_along(code, None, order, weights, margins, changes, t[0])[1]

    expected = (weights * reference.loss(loss, margins + 0.7 * changes)).sum()
    assert_allclose(value([0.7]), expected)
    _, first, second = sum_along(code, None, order, weights, margins, changes, 0.7)
    assert_allclose(first, approx_fprime([0.7], value)[0], rtol=1e-5)
    assert_allclose(second, approx_fprime([0.7], slope)[0], rtol=1e-5)
    slopes, curvature = np.zeros((2, 30))
    total = bend_losses(code, None, order, weights, margins, slopes, curvature)
    assert_allclose(total, value([0.0]))
    assert_allclose(slopes, weights * reference.slope(loss, margins))
    _, first, second = sum_along(code, None, order, weights, margins, changes, 0.0)
    assert_allclose([slopes @ changes, curvature @ changes**2], [first, second])


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_gradient_by_finite_differences(loss):
    problem, _ = made_problem(loss)
    shape = problem.n_anchors, 3, problem.n_features
    rng = np.random.RandomState(3)
    coef, intercept = 0.3 * rng.normal(size=shape), 0.3 * rng.normal(size=shape[:2])
    score = newton._Score(newton._SharedRows(problem), 1, (coef, intercept))
    score._margins = score._products(score._v)
    score._look()

    def value(flat):
        moved = score._v + flat.reshape(score._v.shape)
        coef[:, 1], intercept[:, 1] = moved[:, :-1], moved[:, -1] * CONSTANT
        return problem.objective(coef, intercept)

    slope = approx_fprime(np.zeros(score._v.size), value, 1e-7)
    assert_allclose(score._gradient.ravel(), slope, atol=2e-6)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_the_gap_is_honest_and_the_objective_falls(loss):
    problem, _ = made_problem(loss, alpha=1e-4)
    best = solve_newton(problem, max_iter=200, tol=1e-12).objective_history[-1]
    for steps in (1, 2, 4, 8):
        solution = solve_newton(problem, max_iter=steps, tol=1e-12)
        value = problem.objective(*solution.learned)
        assert_allclose(value, solution.objective_history[-1])
        assert 0 <= value - best <= solution.gap * value + 1e-12
        assert not solution.converged
        assert (np.diff(solution.objective_history) < 0).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("alpha", [1e-2, 1e-3])
@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_agrees_with_the_dual_solver(loss, alpha):
    problem, _ = made_problem(loss, alpha=alpha)
    ours = solve_newton(problem, max_iter=200, tol=1e-8)
    dual = solve_dual(problem, max_iter=50_000, tol=1e-6, rng=np.random.RandomState(0))
    assert ours.converged
    assert ours.gap <= 1e-8
    assert_allclose(ours.objective_history[-1], dual.objective_history[-1], rtol=2e-6)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_one_diagonal_serves_where_blocks_are_too_large(loss, monkeypatch):
    problem, _ = made_problem(loss)
    blocks = solve_newton(problem, max_iter=200, tol=1e-10)
    monkeypatch.setattr(newton, "_WIDEST_BLOCK", 1)
    diagonal = solve_newton(problem, max_iter=200, tol=1e-10)
    assert_allclose(blocks.coef, diagonal.coef, atol=1e-4)


def test_blocks_that_rounding_makes_singular_are_factorised():
    block = np.ones((3, 3))
    factor = newton._cholesky(block.copy())
    assert_allclose(factor @ factor.T, block, atol=1e-5)
    factor = newton._cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert_array_equal(factor, np.eye(2))


def test_the_search_finds_the_root_from_far_and_near():
    for root in (1e-6, 0.3, 1.0, 40.0, 1e5):
        found = newton._root(lambda t, root=root: (t - root, 1e-300))
        assert_allclose(found, root, rtol=0.06)
        found = newton._root(lambda t, root=root: (t - root, 1.0))
        assert_allclose(found, root, rtol=0.06)
    assert newton._root(lambda t: (t + 1.0, 1.0)) == 0.0


def fitted(X, y, weights=None, **parameters):
    defaults = {"tol": 1e-9, "random_state": 0, "solver": "newton"}
    return LLSVMClassifier(**{**defaults, **parameters}).fit(X, y, weights)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_squared_hinge_is_linear_svc_on_explicit_features(blobs, kind):
    X, y, weights = blobs
    alpha, constant = 1e-3, 0.8
    model = fitted(
        kind(X), y, weights, n_anchors=6, alpha=alpha, intercept_scaling=constant
    )
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), constant)
    peer = LinearSVC(
        C=1 / (alpha * weights.sum()), fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(Z, y, weights)
    assert model.dual_gap_ <= 1e-9
    assert_allclose(model.decision_function(X), Z @ peer.coef_.T, atol=1e-3)


def test_logistic_is_logistic_regression_on_explicit_features(moons):
    X, y = moons
    model = fitted(
        X, y, n_anchors=6, loss="logistic", alpha=1e-3, intercept_scaling=1.0
    )
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), 1.0)
    peer = LogisticRegression(
        C=1 / (1e-3 * len(y)), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(Z, y)
    assert_allclose(model.predict_proba(X), peer.predict_proba(Z), atol=1e-4)


def test_weak_penalty_against_an_interior_point_solver(moons):
    cvxpy = pytest.importorskip("cvxpy")
    X, y = moons
    model = fitted(X, y, n_anchors=8, alpha=1e-6, intercept_scaling=2.0)
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), 2.0)
    w = cvxpy.Variable(Z.shape[1])
    margins = cvxpy.multiply(2.0 * y - 1, Z @ w)
    losses = cvxpy.sum_squares(cvxpy.pos(1 - margins)) / len(X)
    program = cvxpy.Problem(cvxpy.Minimize(0.5e-6 * cvxpy.sum_squares(w) + losses))
    program.solve(solver="CLARABEL")
    assert_allclose(model.objective_history_[-1], program.value, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_anchor_is_a_linear_svm(blobs, weighted):
    X, y, weights = blobs
    weights = weights if weighted else None
    total = len(y) if weights is None else weights.sum()
    model = fitted(X, y, weights, n_anchors=1, alpha=0.02, intercept_scaling=1.5)
    peer = LinearSVC(
        C=1 / (0.02 * total), intercept_scaling=1.5, tol=1e-10, max_iter=10**6
    ).fit(X, y, weights)
    assert_allclose(model.coef_[0], peer.coef_, atol=1e-4)
    assert_allclose(model.intercept_[0], peer.intercept_, atol=1e-4)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_degenerate_input(loss):
    """Constant and empty features, duplicates of both classes, fewer rows than m."""
    X = np.zeros((12, 3))
    X[:, 0] = 2.0
    y = np.arange(12) % 2
    model = fitted(X, y, loss=loss, alpha=1e-12)
    assert_allclose(model.decision_function(X), 0.0, atol=1e-12)
    X[6:, 1] = 1.0
    y = np.repeat([0, 1], 6)
    model = fitted(X, y, anchors=np.vstack([X, X + 1]), loss=loss, alpha=1e-10)
    assert_array_equal(model.predict(X), y)
    assert np.isfinite(model.coef_).all()
    empty = sparse.csr_matrix(np.where(np.arange(12)[:, None] < 3, 0.0, X))
    assert np.isfinite(fitted(empty, y, loss=loss, n_anchors=3).coef_).all()


def test_constant_local_models(blobs):
    X, y, _ = blobs
    shared = {"n_anchors": 9, "local_model": "constant", "alpha": 1e-3}
    model = fitted(X, y, **shared)
    dual = fitted(X, y, solver="dual", max_iter=10_000, **shared)
    assert model.coef_.shape == (9, 5, 0)
    assert_allclose(model.intercept_, dual.intercept_, atol=1e-3)


def test_tol_none_goes_on_to_rounding(moons):
    model = fitted(*moons, n_anchors=5, tol=None, max_iter=100)
    assert model.n_iter_ < 100
    assert model.dual_gap_ < 1e-12


def test_warm_start(moons):
    X, y = moons
    model = fitted(X, y, n_anchors=8, warm_start=True)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 1
    assert_allclose(model.coef_, before, atol=1e-6)
    model.fit(X[:200], y[:200])
    alone = LLSVMClassifier(
        coding=model.coding_.__class__(anchors=model.anchors_), solver="newton",
        tol=1e-9, alpha=model.alpha_, intercept_scaling=model.intercept_scaling_,
    )  # fmt: skip
    alone.fit(X[:200], y[:200])
    assert_allclose(model.alpha_, alone.alpha_)
    assert model.dual_gap_ <= 1e-9


def test_early_stopping_keeps_the_best_step(digits):
    X, y, X_test, y_test = digits
    model = fitted(X, y, early_stopping=True, alpha=1e-7, n_iter_no_change=2)
    assert len(model.validation_history_) == model.n_iter_
    assert model.score(X_test, y_test) > 0.95


def test_interrupted_fit_is_usable(digits, monkeypatch):
    X, y, X_test, y_test = digits
    model = LLSVMClassifier(20, solver="newton", alpha=1e-6, random_state=0)
    calls = []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) > 30:
            raise KeyboardInterrupt
        add_hessian_product(*arguments)

    monkeypatch.setattr(newton, "add_hessian_product", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 0 < model.n_iter_ < 20
    assert model.score(X_test, y_test) > 0.8


def test_warns_where_steps_do_not_suffice(digits):
    X, y, _, _ = digits
    with pytest.warns(ConvergenceWarning, match="max_iter=2 .* duality gap"):
        LLSVMClassifier(20, solver="newton", max_iter=2, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"loss": "hinge"}, "loss='squared_hinge' or 'logistic', or solver='dual'"),
        ({"multi_class": "crammer_singer"}, "multi_class='ovr', or solver='dual'"),
        ({"t0": 10.0}, "t0=10.0 is a setting of solver='sgd', but solver='newton'"),
    ],
)
def test_refuses_what_it_cannot_do(moons, wrong, words):
    with pytest.raises(ValueError, match=words):
        LLSVMClassifier(solver="newton", **wrong).fit(*moons)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_path_of_alphas(blobs, loss):
    X, y, weights = blobs
    shared = {"n_anchors": 6, "loss": loss, "tol": 1e-6, "max_iter": 5000}
    paths = [
        LLSVMClassifierCV(
            [1e-1, 1e-2, 1e-3], cv=3, solver=solver, random_state=0, **shared
        ).fit(X, y, weights)
        for solver in ("newton", "dual")
    ]
    assert_allclose(paths[0].scores_, paths[1].scores_, atol=0.02)
    assert paths[0].path_iterations_.max() < 60
    alone = LLSVMClassifier(
        alpha=paths[0].alpha_, solver="newton", random_state=0, **shared
    ).fit(X, y, weights)
    assert_array_equal(paths[0].coef_, alone.coef_)
    threads = LLSVMClassifierCV(
        [1e-1, 1e-2, 1e-3], cv=3, solver="newton", random_state=0, n_jobs=3, **shared
    ).fit(X, y, weights)
    assert_array_equal(paths[0].scores_, threads.scores_)
    assert_array_equal(paths[0].coef_, threads.coef_)


def test_path_refuses_the_hinge(moons):
    with pytest.raises(ValueError, match="loss='hinge'"):
        LLSVMClassifierCV(solver="newton", loss="hinge").fit(*moons)
