"""ML3: latent weights, the block form of SGD, the concave-convex procedure, usage."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from locallin import ML3Classifier
from locallin import _latent_solver as solver
from locallin._parallel import Crew
from locallin.kernels.latent import (
    Clock,
    class_scores,
    dual_exponent,
    latent_steps,
    latent_weights,
    norm,
)

POWERS = [1.0, 1.2, 1.5, 2.0, 5.0]


# ------------------------------------------------------------ latent weights


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


@settings(deadline=None, max_examples=200)
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
    assert beta @ z <= score * (1 + 1e-5) + 1e-12
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
    count = latent_steps(
        values, np.array([[x @ x]]), own, np.empty((0, 0)), np.array([y]), np.ones(1),
        dual_exponent(p), clock, multiples, touched, np.empty(1), np.empty(1),
    )  # fmt: skip
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
    with Crew(n_jobs, 4) as crew:
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
    with Crew(1, 1) as crew:
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


# --------------------------------------------------------------- the estimator


def test_xor_needs_two_models():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert LinearSVC(random_state=0).fit(X, y).score(X, y) < 0.7
    model = ML3Classifier(2, p=1, alpha=1e-3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_digits(digits, init):
    X, y, X_test, y_test = digits
    model = ML3Classifier(init=init, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.965
    assert model.coef_.shape == (10, 10, 64)
    assert model.intercept_.shape == (10, 10)
    assert model.n_iter_ == len(model.objective_history_) == model.max_iter
    assert model.objective_history_[-1] < model.objective_history_[0] / 3
    # No class has died: every one has rows on which it scores.
    assert (model.decision_function(X) > 0).any(axis=0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("p", [1, 1.5, 3])
@pytest.mark.parametrize("classes", [2, 10])
def test_local_weights_explain_the_score(digits, dtype, kind, p, classes):
    X, y, X_test, _ = digits
    keep = y < classes
    model = ML3Classifier(3, p=p, max_iter=2, random_state=0)
    model.fit(kind(X[keep].astype(dtype)), y[keep])
    rows = X_test.astype(dtype)
    assert model.coef_.dtype == model.decision_function(kind(rows)).dtype == dtype
    scores = 1 if classes == 2 else 10
    weights = model.local_coef(kind(rows))
    assert weights.shape == (len(rows), scores, 64)
    explained = (weights * rows[:, None]).sum(axis=2) + model.local_intercept(
        kind(rows)
    )
    expected = model.decision_function(kind(rows)).reshape(len(rows), scores)
    scale = np.abs(weights).sum(axis=2).max()
    assert_allclose(explained, expected, atol=scale * 5 * np.finfo(dtype).eps)


def test_scores_are_those_of_the_formula(digits):
    X, y, X_test, _ = digits
    model = ML3Classifier(5, max_iter=2, random_state=0).fit(X, y)
    scores = model.decision_function(X_test)
    for i in range(20):
        for c in range(10):
            values = model.coef_[c] @ X_test[i] + model.intercept_[c]
            assert_allclose(scores[i, c], reference.latent_score(values, 1.5)[1])
    beta = model.latent_weights(X_test)
    values = np.einsum("cmd,nd->ncm", model.coef_, X_test) + model.intercept_
    assert beta.shape == (len(X_test), 10, 5)
    assert_allclose((beta * values).sum(axis=2), scores, atol=1e-10)
    two = ML3Classifier(5, max_iter=2, random_state=0).fit(X[y < 2], y[y < 2])
    values = np.einsum("cmd,nd->ncm", two.coef_, X_test) + two.intercept_
    out = np.empty((len(X_test), 2))
    class_scores(np.ascontiguousarray(values.reshape(len(X_test), -1)), 3.0, out)
    assert_allclose(two.decision_function(X_test), out[:, 1] - out[:, 0], atol=1e-12)
    assert_array_equal(two.predict(X_test), (out[:, 1] > out[:, 0]).astype(int))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_same_seed_same_bits(digits, kind, init, monkeypatch):
    monkeypatch.setattr(solver, "_WORTH_A_THREAD", 0)
    X, y, X_test, _ = digits
    models = [
        ML3Classifier(40, max_iter=3, init=init, n_jobs=n, random_state=0)
        .fit(kind(X), y)
        for n in (1, 2, 3)
    ]  # fmt: skip
    for other in models[1:]:
        assert_array_equal(models[0].coef_, other.coef_)
        assert_array_equal(models[0].intercept_, other.intercept_)
    big = kind(np.tile(X_test, (4, 1)))
    assert_array_equal(*(m.decision_function(big) for m in models[1:]))


def test_shrinking_reaches_the_objective_of_all_rows(digits):
    X, y, _, _ = digits
    reached = []
    for shrinking in (False, True):
        model = ML3Classifier(5, shrinking=shrinking, random_state=0).fit(X, y)
        W = np.concatenate(
            [model.coef_, model.intercept_[:, :, None] / model.intercept_scaling_],
            axis=2,
        )
        rows = np.hstack([X, np.full((len(X), 1), model.intercept_scaling_)])
        reached.append(
            reference.latent_objective(rows, y, np.ones(1200), W, 1.5, model.alpha_)
        )
    assert reached[1] < 1.05 * reached[0]


def test_rows_with_room_to_spare_nap_longer_and_longer():
    problem = make_problem(*classes_that_overlap())
    naps = solver.Naps(problem)
    losses = np.where(np.arange(120) < 100, -1.0, 0.2)
    visits = []
    for _ in range(16):
        rows = naps.awake()
        visits.append(len(rows))
        naps.note(rows, losses[rows])
    assert visits == [120, 20, 120, 20, 20, 120, *[20] * 4, 120, *[20] * 5]
    naps.note(problem.visits, np.full(120, -1.0))
    assert len(naps.awake()) == 120  # all asleep: then all are woken


def test_warm_start_goes_on(digits):
    X, y, _, _ = digits
    settings = {"shuffle": False, "shrinking": False, "average": False}
    whole = ML3Classifier(5, max_iter=7, random_state=0, **settings).fit(X, y)
    parts = ML3Classifier(5, max_iter=4, warm_start=True, random_state=0, **settings)
    parts.fit(X, y).set_params(max_iter=3).fit(X, y)
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert parts.t_ == whole.t_ == 7 * 1200


def test_a_stream_of_whole_passes_is_a_fit(digits):
    X, y, _, _ = digits
    settings = {"shuffle": False, "shrinking": False, "average": False}
    whole = ML3Classifier(5, max_iter=3, random_state=0, **settings).fit(X, y)
    stream = ML3Classifier(5, random_state=0, **settings)
    for _ in range(3):
        stream.partial_fit(X, y, classes=np.arange(10))
    assert_allclose(stream.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert stream.n_iter_ == len(stream.objective_history_) == 3


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_streams_learn_classes_that_come_late(digits, kind):
    X, y, X_test, y_test = digits
    stream = ML3Classifier(5, random_state=0)
    early = y < 5
    stream.partial_fit(kind(X[early]), y[early], classes=np.arange(10))
    assert stream.decision_function(X)[:, 5:].max() == 0  # not met yet
    for _ in range(6):
        for start in range(0, 1200, 300):
            rows = slice(start, start + 300)
            stream.partial_fit(kind(X[rows]), y[rows])
    stream.partial_fit(kind(X[:1]), y[:1])
    assert stream.score(X_test, y_test) > 0.95
    with pytest.raises(ValueError, match="not among the known ones"):
        stream.partial_fit(kind(X[:2]), [3, 17])
    with pytest.raises(ValueError, match="classes must be passed"):
        ML3Classifier().partial_fit(kind(X), y)


def test_the_result_of_a_stream_is_the_mean_over_the_last_block(digits):
    X, y, _, _ = digits
    plain = ML3Classifier(5, average=False, random_state=0)
    mean = ML3Classifier(5, random_state=0)
    for model in (plain, mean):
        for _ in range(2):
            model.partial_fit(X, y, classes=np.arange(10))
    assert_array_equal(mean._iterate[0].reshape(10, 5, 64), plain.coef_)
    assert np.abs(mean.coef_ - plain.coef_).max() > 1e-3


def test_warm_start_after_a_stream_wakes_classes_that_were_not_met(digits):
    X, y, X_test, y_test = digits
    model = ML3Classifier(5, warm_start=True, random_state=0)
    model.partial_fit(X[y < 5], y[y < 5], classes=np.arange(10))
    assert model.fit(X, y).score(X_test, y_test) > 0.95


def test_parameters_set_after_fit_do_not_change_predictions(digits):
    X, y, X_test, _ = digits
    model = ML3Classifier(3, max_iter=2, random_state=0).fit(X, y)
    before = model.decision_function(X_test)
    assert_array_equal(model.set_params(p=3.0).decision_function(X_test), before)


def test_a_stream_goes_on_after_fit(digits):
    X, y, X_test, y_test = digits
    model = ML3Classifier(5, random_state=0).fit(X[:900], y[:900])
    before = model.score(X_test, y_test)
    model.partial_fit(X[900:], y[900:])
    assert model.t_ == 900 * model.max_iter + 300
    assert model.score(X_test, y_test) > before - 0.01


def test_early_stopping_keeps_the_best_models(digits):
    X, y, X_test, y_test = digits
    model = ML3Classifier(
        5, early_stopping=True, n_iter_no_change=2, max_iter=40, random_state=0
    ).fit(X, y, X_val=X_test, y_val=y_test)
    history = model.validation_history_
    assert len(history) == model.n_iter_ < 40
    assert model.score(X_test, y_test) == history.max() == history[-3]
    held = ML3Classifier(5, early_stopping=True, max_iter=3, random_state=0).fit(X, y)
    assert len(held.validation_history_) == 3


def test_weights_of_zero_leave_rows_out(digits):
    X, y, _, _ = digits
    keep = np.arange(1200) % 3 > 0
    a = ML3Classifier(5, max_iter=3, random_state=0).fit(X, y, keep)
    b = ML3Classifier(5, max_iter=3, random_state=0).fit(X[keep], y[keep])
    assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_weights_shift_the_decision():
    X, y = make_classification(400, class_sep=0.3, random_state=0)
    plain = ML3Classifier(3, alpha=1e-2, random_state=0).fit(X, y)
    heavy = ML3Classifier(3, alpha=1e-2, class_weight={1: 5.0}, random_state=0)
    heavy.fit(X, y)
    same = ML3Classifier(3, alpha=1e-2, random_state=0)
    same.fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    assert heavy.predict(X).mean() > plain.predict(X).mean() + 0.05
    assert_array_equal(heavy.coef_, same.coef_)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_the_unit_of_the_data_does_not_matter(moons, scale, init):
    X, y = moons
    plain = ML3Classifier(4, max_iter=5, init=init, random_state=0).fit(X, y)
    scaled = ML3Classifier(4, max_iter=5, init=init, random_state=0).fit(scale * X, y)
    assert_allclose(
        scaled.decision_function(scale * X), plain.decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interruption_leaves_a_usable_model(digits, n_jobs, monkeypatch):
    monkeypatch.setattr(solver, "_WORTH_A_THREAD", 0)
    X, y, X_test, y_test = digits
    calls = []
    steps = solver.latent_steps

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return steps(*args)

    monkeypatch.setattr(solver, "latent_steps", interrupted)
    model = ML3Classifier(5, n_jobs=n_jobs, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 0 < model.n_iter_ < model.max_iter
    assert model.score(X_test, y_test) > 0.8


def test_pickle_pipeline_and_grid_search(digits):
    X, y, X_test, _ = digits
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ML3Classifier(max_iter=5, random_state=0)),
        {"ml3classifier__n_models": [1, 5], "ml3classifier__p": [1, 1.5]},
        cv=2,
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict(X_test), search.predict(X_test))
    assert search.best_params_["ml3classifier__n_models"] == 5


def test_verbose_prints_a_line_per_iteration(moons, capsys):
    ML3Classifier(3, max_iter=3, verbose=1, random_state=0).fit(*moons)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "[ML3Classifier] epoch 3/3: objective" in lines[-1]


CASES = {
    "one row per class": (np.eye(3), np.arange(3)),
    "duplicates": (np.ones((30, 2)), np.arange(30) % 2),
    "a constant feature": (np.c_[np.arange(30.0), np.ones(30)], np.arange(30) > 14),
    "one feature": (np.arange(30.0)[:, None], np.arange(30) // 10),
    "empty rows": (np.r_[np.zeros((5, 3)), np.eye(3)], np.arange(8) % 2),
    "all zero": (np.zeros((9, 2)), np.arange(9) % 3),
    "huge": (1e30 * np.random.RandomState(0).normal(size=(40, 3)), np.arange(40) % 2),
    "tiny": (1e-30 * np.random.RandomState(0).normal(size=(40, 3)), np.arange(40) % 2),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("init", ["kmeans", "random"])
@pytest.mark.parametrize("p", [1, 1.5, 100.0])
def test_degenerate_data_works(case, kind, init, p):
    X, y = CASES[case]
    model = ML3Classifier(20, p=p, init=init, random_state=0).fit(kind(X), y)
    assert np.isfinite(model.decision_function(kind(X))).all()
    assert np.isfinite(model.local_coef(kind(X))).all()
    assert np.isfinite(model.objective_history_).all()


def test_prediction_needs_a_fit(moons):
    for method in ("predict", "local_coef", "local_intercept", "latent_weights"):
        with pytest.raises(NotFittedError):
            getattr(ML3Classifier(), method)(moons[0])


def test_read_only_and_fortran_arrays(digits):
    X, y, _, _ = digits
    plain = ML3Classifier(3, max_iter=2, random_state=0).fit(X, y)
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    model = ML3Classifier(3, max_iter=2, random_state=0).fit(frozen, y)
    assert_array_equal(model.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("classifier", "error"),
    [
        (ML3Classifier(0), "'n_models' parameter"),
        (ML3Classifier(p=0.5), "'p' parameter"),
        (ML3Classifier(p=np.inf), "'p' parameter"),
        (ML3Classifier(init="ones"), "'init' parameter"),
        (ML3Classifier(alpha=0.0), "'alpha' parameter"),
    ],
)
def test_wrong_arguments_are_named(moons, classifier, error):
    with pytest.raises(ValueError, match=error):
        classifier.fit(*moons)
    assert not hasattr(classifier, "coef_")
