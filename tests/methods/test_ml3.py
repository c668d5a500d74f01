"""ML3: latent weights, the block form of SGD, the concave-convex procedure."""

import cvxpy as cp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize

from locallin import ML3Classifier
from locallin.engine.parallel import ThreadTeam
from locallin.kernels.latent import (
    Clock,
    LatentBlock,
    LatentUpdates,
    dual_exponent,
    latent_steps,
    latent_weights,
    norm,
)
from locallin.solvers import latent as solver

POWERS = [1.0, 1.2, 1.5, 2.0, 5.0]


# ------------------------------------------------------------ latent weights


@pytest.mark.in_turn
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("seed", range(4))
def test_closed_form_equals_a_numerical_maximiser(p, seed):
    z = np.random.RandomState(seed).normal(size=5)
    beta = np.empty(5)
    score = latent_weights(z, dual_exponent(p), beta)
    found = minimize(
        lambda b: -b @ z,
        np.full(5, 0.1),
        jac=lambda b: -z,
        bounds=[(0, 1)] * 5,
        constraints={"type": "ineq", "fun": lambda b: 1 - (b**p).sum()},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert_allclose(score, -found.fun, rtol=1e-6)
    assert_allclose(beta @ z, score, rtol=1e-12)
    assert_allclose(beta, found.x, atol=2e-3)
    expected, height = reference.latent_score(z, p)
    assert_allclose(beta, expected, atol=1e-12)
    assert_allclose(score, height)


@settings(max_examples=200)
@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=8),
    st.floats(1.0, 50.0),
    st.integers(0, 2**31 - 1),
)
def test_no_other_weights_reach_a_higher_score(z, p, seed):
    z = np.array(z)
    beta = np.random.RandomState(seed).uniform(size=len(z))
    beta /= np.linalg.norm(beta, ord=p) + 1e-300
    best = np.empty(len(z))
    score = latent_weights(z, dual_exponent(p), best)
    # A p within 1e-6 of 1 is taken for 1, which costs log(8) of that at most.
    assert beta @ z <= score * (1 + 3e-6) + 1e-12
    assert (best >= 0).all()
    assert np.linalg.norm(best, ord=p) <= 1 + 1e-9
    assert_allclose(best @ z, score, rtol=1e-9, atol=1e-300)


def test_limits_of_the_power():
    z = np.array([0.3, -1.0, 0.5, 0.2])
    beta = np.empty(4)
    latent_weights(z, dual_exponent(1.0 + 1e-5), beta)
    assert_allclose(beta, [0, 0, 1, 0], atol=1e-6)
    latent_weights(z, dual_exponent(1e7), beta)
    assert_allclose(beta, [1, 0, 1, 1], atol=1e-6)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_scores_of_any_size(p, size):
    z = np.array([0.3, -1.0, 0.5, 0.2])
    plain = norm(z, dual_exponent(p))
    assert_allclose(norm(z * size, dual_exponent(p)) / size, plain, rtol=1e-12)
    beta, scaled = np.empty((2, 4))
    latent_weights(z, dual_exponent(p), beta)
    latent_weights(z * size, dual_exponent(p), scaled)
    assert_allclose(scaled, beta, rtol=1e-9)


@pytest.mark.parametrize("p", POWERS)
def test_values_that_are_not_positive_have_no_weights(p):
    beta = np.ones(3)
    assert latent_weights(np.array([-1.0, 0.0, -2.0]), dual_exponent(p), beta) == 0
    assert_array_equal(beta, 0)


def test_random_weights_lie_on_the_ball_and_belong_to_their_row():
    problem = make_problem(*classes_that_overlap(), p=1.5)
    some, all_rows = np.array([3, 70, 11]), np.arange(120)
    weights = problem.random_weights(None, all_rows)
    assert_array_equal(problem.random_weights(None, some), weights[some])
    assert (weights > 0).all()
    sums = (weights**1.5).reshape(120, 4, 5).sum(axis=2)
    assert_allclose(sums, 1)
    # Uniform on the simplex: each power has mean 1/5 and variance 4 / (25 * 6).
    powers = (weights**1.5).reshape(-1, 5)
    assert_allclose(powers.mean(axis=0), 1 / 5, atol=0.03)
    assert_allclose(powers.var(axis=0), 4 / 150, rtol=0.25)


# ------------------------------------------------------------------- solver


def classes_that_overlap():
    rng = np.random.RandomState(0)
    y = rng.randint(4, size=120)
    X = rng.normal(size=(120, 6)) + rng.normal(size=(4, 6))[y]
    return X, y, rng.uniform(0.2, 3, size=120)


def make_problem(X, y, weights, *, p=1.5, m=5, alpha=0.02, n_jobs=None):
    return solver.LatentProblem(
        X=X,
        labels=y,
        weights=weights / weights.mean(),
        visits=np.arange(len(y)),
        n_classes=y.max() + 1,
        n_models=m,
        p=p,
        alpha=alpha,
        intercept_scaling=0.7,
        seed=5,
        n_jobs=n_jobs,
    )


def solve(problem, **changes):
    settings = {
        "latent": problem.random_weights, "offset": 2.0 * len(problem.visits),
        "max_iter": 3, "average_from": 3, "shuffle": True, "shrinking": False,
    } | changes  # fmt: skip
    rng = np.random.RandomState(1)
    return solver.solve_cccp(problem, problem.zeros(), rng=rng, **settings)


def with_constant(problem):
    """Rows of the problem with the constant feature, and tables for them."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    return np.hstack([X, np.full((len(X), 1), problem.intercept_scaling)])


def as_table(problem, models):
    """W of shape (c, m, D + 1), in units of the constant feature."""
    last = models.intercept / problem.intercept_scaling
    table = np.column_stack([models.coef, last])
    return table.reshape(problem.n_classes, problem.n_models, -1)


@pytest.mark.in_turn
@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("alpha", [0.3, 0.02, 1e-4])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_blocks_take_the_steps_of_single_rows(p, alpha, kind, monkeypatch):
    monkeypatch.setattr(solver, "_BLOCK", 16)
    monkeypatch.setattr(solver, "_STRETCH", 48)
    monkeypatch.setattr(solver, "_GROUP", 8)
    X, y, weights = classes_that_overlap()
    problem = make_problem(kind(X), y, weights, p=p, alpha=alpha)
    solution = solve(problem)

    rng, n = np.random.RandomState(1), len(y)
    rows, W = with_constant(problem), np.zeros((4, 5, 7))
    for iteration in range(4):
        order = rng.permutation(n)
        if iteration == 0:
            fixed = problem.random_weights(None, order).reshape(n, 4, 5)
            own = fixed[np.arange(n), y[order]]
        else:
            fixed = None
            own = [reference.latent_score(W[y[i]] @ rows[i], p)[0] for i in order]
        s0 = 2 * n * max(iteration, 1)
        mean = reference.latent_epoch(
            rows[order], y[order], problem.weights[order], W, p, alpha, s0, own, fixed
        )
    assert_allclose(as_table(problem, solution.iterate), W, atol=1e-9)
    assert_allclose(as_table(problem, solution.result), mean, atol=1e-9)


@pytest.mark.parametrize(
    ("asked", "every"), [(1, 16), (30, 32), (48, 48), (50, 96), (1000, 120)]
)
def test_latent_weights_are_frozen_anew(asked, every, monkeypatch):
    """An epoch is then a row of shorter ones, each frozen at its own beginning."""
    monkeypatch.setattr(solver, "_BLOCK", 16)
    monkeypatch.setattr(solver, "_STRETCH", 48)
    X, y, weights = classes_that_overlap()
    problem = make_problem(X, y, weights)
    solution = solve(problem, max_iter=2, average_from=2, freeze_every=asked)

    rng, n = np.random.RandomState(1), len(y)
    rows, W = with_constant(problem), np.zeros((4, 5, 7))
    order = rng.permutation(n)
    fixed = problem.random_weights(None, order).reshape(n, 4, 5)

    def epoch(part, s0, own, fixed=None):
        data = rows[part], y[part], problem.weights[part]
        return reference.latent_epoch(*data, W, 1.5, 0.02, s0, own, fixed)

    epoch(order, 2 * n, fixed[np.arange(n), y[order]], fixed)
    for iteration in (1, 2):
        order, sums = rng.permutation(n), 0
        for start in range(0, n, every):
            part = order[start : start + every]
            own = [reference.latent_score(W[y[i]] @ rows[i], 1.5)[0] for i in part]
            sums = sums + len(part) * epoch(part, 2 * n * iteration + start, own)
    assert_allclose(as_table(problem, solution.iterate), W, atol=1e-9)
    assert_allclose(as_table(problem, solution.result), sums / n, atol=1e-9)


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0, 5.0])
def test_a_step_follows_the_gradient(p):
    """One row's step is -eta (alpha W + gradient of its loss), by differences."""
    rng = np.random.RandomState(0)
    x, y, m, c = rng.normal(size=6), 1, 3, 4
    W = rng.normal(size=(c, m, 6))

    def loss(flat):
        scores = [reference.latent_score(w @ x, p)[1] for w in flat.reshape(c, m, 6)]
        return max(0, 1 + np.delete(scores, y).max() - scores[y])

    assert loss(W.ravel()) > 0.1
    gradient = np.empty(W.size)
    for k in range(W.size):
        shift = np.zeros(W.size)
        shift[k] = 1e-6
        gradient[k] = (loss(W.ravel() + shift) - loss(W.ravel() - shift)) / 2e-6

    values = (W @ x).reshape(1, -1)
    own = reference.latent_score(W[y] @ x, p)[0][None]
    numbers = np.array([0.0, 1.0, (W**2).sum(), 0.0, 0.0])
    alpha, offset = 0.1, 99.0
    clock = Clock(numbers, offset, alpha, 1e9, 0.0, 1.0)
    multiples, touched = np.empty((1, c * m)), np.empty((1, 3), np.intp)
    gram, free = np.array([[x @ x]]), np.empty((0, 0))
    block = LatentBlock(values, gram, own, free, np.array([y]), np.ones(1))
    updates = LatentUpdates(multiples, touched, np.empty(1))
    count = latent_steps(block, dual_exponent(p), clock, updates, np.empty(1))
    assert count == 1
    eta = 1 / (alpha * 100)
    moved = numbers[1] * (W + np.outer(multiples[0], x).reshape(W.shape))
    assert_allclose(moved, W - eta * (alpha * W + gradient.reshape(W.shape)), atol=1e-6)
    assert_allclose(numbers[2] * numbers[1] ** 2, (moved**2).sum())
    assert_allclose(numbers[3], loss(W.ravel()))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_objective_does_not_rise_when_each_iteration_is_solved_well(n_jobs):
    X, y, weights = classes_that_overlap()
    problem = make_problem(X, y, weights, alpha=0.05)
    rows, rng = with_constant(problem), np.random.RandomState(0)
    models = problem.zeros()
    objectives = []
    with ThreadTeam(n_jobs, 4) as crew:
        epoch = solver._Epoch(problem, models, crew)
        epoch.run(problem.visits, 240.0, latent=problem.random_weights)
        for _ in range(6):
            frozen = models.copy()
            W = as_table(problem, frozen)
            objectives.append(
                reference.latent_objective(rows, y, weights, W, 1.5, 0.05)
            )
            for k in range(150):
                order = rng.permutation(problem.visits)
                _, mean = epoch.run(
                    order, 120.0 * (k + 2), frozen=frozen, average=True
                )  # fmt: skip
            for array, new in zip(models, mean, strict=True):
                array[:] = new
    assert (np.diff(objectives) < 1e-4).all()
    assert objectives[-1] < 0.95 * objectives[0]


def test_one_model_with_a_fixed_weight_is_the_machine_of_crammer_and_singer():
    X, y, weights = classes_that_overlap()
    problem = make_problem(X, y, weights, m=1, alpha=0.05)
    rows, rng = with_constant(problem), np.random.RandomState(0)
    models = problem.zeros()
    with ThreadTeam(1, 1) as crew:
        epoch = solver._Epoch(problem, models, crew)
        for k in range(600):
            order = rng.permutation(problem.visits)
            _, mean = epoch.run(
                order,
                120.0 * (k + 2),
                latent=lambda rows, numbers: np.ones((len(numbers), 4)),
                average=True,
            )
    W = cp.Variable((4, 7))
    scores = rows @ W.T
    hinge = 0
    for c in range(4):
        rivals = cp.max(scores[y == c][:, [d for d in range(4) if d != c]], axis=1)
        slack = cp.pos(1 + rivals - scores[y == c][:, c])
        hinge += problem.weights[y == c] @ slack
    objective = 0.025 * cp.sum_squares(W) + hinge / len(y)
    least = cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
    W.value = as_table(problem, mean)[:, 0]
    assert least * (1 - 1e-6) <= objective.value <= 1.002 * least
    # Scores that are cut off at zero, on both sides, bring the objective lower.
    reached = solve(problem, max_iter=200, average_from=200).result
    table = as_table(problem, reached)
    assert reference.latent_objective(rows, y, weights, table, 1.5, 0.05) < least


def test_power_one_is_a_maximum(digits):
    X, y, X_test, _ = digits
    model = ML3Classifier(4, p=1, max_iter=3, random_state=0).fit(X, y)
    values = np.einsum("cmd,nd->ncm", model.coef_, X_test) + model.intercept_
    best = np.maximum(values.max(axis=2), 0)
    assert_allclose(model.decision_function(X_test), best)


def test_rows_with_room_to_spare_nap_longer_and_longer():
    problem = make_problem(*classes_that_overlap())
    shrinking = solver.Shrinking(problem)
    losses = np.where(np.arange(120) < 100, -1.0, 0.2)
    visits = []
    for _ in range(16):
        rows = shrinking.awake()
        visits.append(len(rows))
        shrinking.note(rows, losses[rows])
    assert visits == [120, 20, 120, 20, 20, 120, *[20] * 4, 120, *[20] * 5]
    shrinking.note(problem.visits, np.full(120, -1.0))
    assert len(shrinking.awake()) == 120  # all asleep: then all are woken
