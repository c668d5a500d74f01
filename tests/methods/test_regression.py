"""Regressors: losses, gradients, identities, targets of all kinds."""

import pickle

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVR
from test_joint import differences

from locallin import DULLSVMRegressor, LLSVMRegressor, SAPLRegressor
from locallin.coding import AdaptiveCoding, SoftAssignmentCoding
from locallin.engine.invariants import InvalidModelError
from locallin.engine.matrix import BatchRows
from locallin.kernels import losses
from locallin.kernels.joint import Parameters, anchor_gradient
from locallin.kernels.linear import Target
from locallin.methods.targets import target_scale, weighted_quantiles
from locallin.solvers import joint
from locallin.solvers.joint import JointProblem, differentiate, metric_gradient

BOTH = [SAPLRegressor, DULLSVMRegressor]
ALL = [*BOTH, LLSVMRegressor]
CODES = {
    "squared": (losses.HUBER, np.inf),
    "huber": (losses.HUBER, 0.4),
    "absolute": (losses.EPSILON_INSENSITIVE, 0.0),
    "epsilon_insensitive": (losses.EPSILON_INSENSITIVE, 0.3),
    "squared_epsilon_insensitive": (losses.SQUARED_INSENSITIVE, 0.3),
    "pinball": (losses.PINBALL, 0.8),
    "poisson": (losses.POISSON, 0.0),
    "gamma": (losses.GAMMA, 0.0),
}


def twin(name, scores, y):
    if name in ("poisson", "gamma"):
        return reference.log_link_loss(name, scores, y)
    return reference.residual_loss(name, scores - y, CODES[name][1], CODES[name][1])


@pytest.fixture(scope="module")
def waves():
    """Rows of three features, a wavy target and noise; half of them to test."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(1200, 3))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0)
    y += 0.1 * rng.normal(size=len(y))
    return X[:600], y[:600], X[600:], y[600:]


@pytest.mark.parametrize("name", CODES)
def test_losses_and_their_derivatives(name):
    code, parameter = CODES[name]
    rng = np.random.RandomState(0)
    scores, y = rng.normal(size=(40, 3)), np.abs(rng.normal(size=(40, 3)))
    out = np.empty_like(scores)
    losses.number_losses(code, np.full(3, parameter), scores, y, out)
    assert_allclose(out, twin(name, scores, y), rtol=1e-12, atol=1e-14)
    pairs = list(zip(scores.flat, y.flat, strict=True))
    slopes = np.array([losses.number_slope(code, parameter, *pair) for pair in pairs])
    h = 1e-6
    numeric = (twin(name, scores + h, y) - twin(name, scores - h, y)) / (2 * h)
    assert_allclose(slopes, numeric.ravel(), rtol=1e-5, atol=1e-7)
    if name in ("poisson", "gamma"):
        assert_allclose(losses.number_slope(code, parameter, 0.0, 1.0), 0.0)
        return
    residuals = scores - y
    assert losses.residual_slope(code, parameter, 0.0) == 0.0
    if code in (losses.HUBER, losses.SQUARED_INSENSITIVE):
        bends = [losses.residual_curvature(code, parameter, r) for r in residuals.flat]
        above = [losses.residual_slope(code, parameter, r + h) for r in residuals.flat]
        assert_allclose(bends, (np.array(above) - slopes) / h, rtol=1e-4, atol=1e-6)


@pytest.mark.in_turn
@pytest.mark.parametrize("case", ["dense", "csr", "per-anchor", "scale", "linear"])
@pytest.mark.parametrize("name", [n for n in CODES if "squared_" not in n])
@pytest.mark.parametrize("kind", ["soft", "adaptive"])
def test_gradients_equal_finite_differences(kind, name, case):
    rng = np.random.RandomState(1)
    X, y = rng.normal(size=(25, 5)), np.abs(rng.normal(size=(25, 2)))
    weights = rng.uniform(0.5, 2, size=25)
    metric = {"scale": rng.uniform(0.5, 1.5, 5), "linear": rng.normal(size=(3, 5)) / 2}
    metric = metric.get(case)
    anchors = rng.normal(size=(6, 3 if case == "linear" else 5))
    place = {"anchors": anchors, "metric": metric}
    if kind == "soft":
        coding = SoftAssignmentCoding(n_neighbors=4, beta=0.2, **place).fit(X)
    else:
        coding = AdaptiveCoding(mu=0.4, **place).fit(X)
    bandwidth = np.atleast_1d(np.asarray(coding.bandwidth_, float))
    if case == "per-anchor":
        coding.bandwidth_ = bandwidth = rng.uniform(0.1, 0.3, size=6)
    parameters = Parameters(
        0.5 * rng.normal(size=(6, 2, 5)), 0.5 * rng.normal(size=(6, 2)), anchors
    )
    state = coding.state()._replace(anchors=anchors)
    data = sparse.csr_matrix(X) if case == "csr" else X
    code, parameter = CODES[name]
    visits = np.arange(25)
    problem = JointProblem(
        data, data, Target(y, np.arange(2), weights), visits, state, 0.1, 1.0, code,
        loss_parameters=np.full(2, parameter),
    )  # fmt: skip
    rows = BatchRows((data, data), 25).pick(visits)
    batch, widths, sums = differentiate(problem, parameters, state, visits, rows)
    found = Parameters(*map(np.zeros_like, parameters))
    for j in range(6):
        anchor_gradient(batch, j, anchors, tuple(a[j] for a in found))

    def value():
        Z = reference.in_metric(X, coding.metric_)
        if kind == "soft":
            codes = reference.soft_assignment(Z, anchors, 4, bandwidth)
        else:
            codes = reference.adaptive(Z, anchors, bandwidth)
        scores = reference.scores(X, codes, parameters.coef, parameters.intercept)
        return weights @ twin(name, scores, y).sum(axis=1) / 25

    assert_allclose(sums[0] / 25, value(), rtol=1e-10)
    for field in Parameters._fields:
        numeric = differences(value, getattr(parameters, field))
        assert_allclose(getattr(found, field), numeric, rtol=1e-4, atol=1e-7)
    logs = np.log(bandwidth)

    def by_logs():
        bandwidth[:] = np.exp(logs)
        return value()

    assert_allclose(widths, differences(by_logs, logs), rtol=1e-4, atol=1e-7)
    if metric is not None:
        numeric = differences(value, coding.metric_)
        by_metric = metric_gradient(rows[0], batch, state)
        assert_allclose(by_metric, numeric, rtol=1e-4, atol=1e-7)


def test_weighted_quantiles_are_those_of_repeated_rows():
    rng = np.random.RandomState(0)
    values, counts = rng.normal(size=(30, 2)), rng.randint(1, 4, size=30)
    levels = (0.1, 0.25, 0.5, 0.9)
    found = weighted_quantiles(values, counts.astype(float), levels)
    expected = np.quantile(
        np.repeat(values, counts, axis=0), levels, axis=0, method="inverted_cdf"
    )
    assert_allclose(found, expected)


def test_the_scale_of_a_target():
    y = np.column_stack([np.arange(101.0), np.full(101, 0.1), np.zeros(101)])
    weights = np.ones(101)
    offset, scale = target_scale(y, weights, "squared", 0.5)
    assert_allclose(offset, [50, 0.1, 0])
    assert_allclose(scale, [y[:, 0].std(), 1, 1])
    y[0, 0] = -1e9  # an outlier does not move it
    offset, scale = target_scale(y, weights, "huber", 0.5)
    assert_allclose([offset[0], scale[0]], [50, 50 / 1.349])
    assert target_scale(y, weights, "pinball", 0.9)[0][0] == 90
    with pytest.raises(ValueError, match="squares leave the range"):
        target_scale(np.array([[1e200], [-1e200]]), np.ones(2), "squared", 0.5)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("Regressor", ALL)
def test_it_learns_what_a_line_cannot(waves, Regressor, kind):
    X, y, X_test, y_test = waves
    model = Regressor(40, random_state=0).fit(kind(X), y)
    assert model.objective_history_[-1] < 0.5 * model.objective_history_[0]
    assert model.score(kind(X_test), y_test) > 0.9
    assert LinearRegression().fit(X, y).score(X_test, y_test) < 0.5
    effective = (model.local_coef(kind(X_test))[:, 0] * X_test).sum(axis=1)
    effective += model.local_intercept(kind(X_test))[:, 0]
    assert_allclose(model.predict(kind(X_test)), effective, atol=1e-10)


@pytest.mark.parametrize("Regressor", BOTH)
def test_unit_and_offset_of_y_do_not_matter(waves, Regressor):
    X, y, X_test, _ = waves
    model = Regressor(20, max_iter=5, random_state=0)
    plain = clone(model).fit(X, y).predict(X_test)
    moved = clone(model).fit(X, 1e4 * y - 3e5).predict(X_test)
    assert_allclose(moved, 1e4 * plain - 3e5, rtol=1e-6, atol=1)


@pytest.mark.parametrize("Regressor", ALL)
def test_several_targets(waves, Regressor):
    X, y, X_test, y_test = waves
    both = np.column_stack([y, 1000 * X[:, 0] + 5])
    model = Regressor(40, random_state=0).fit(X, both)
    assert model.coef_.shape == (40, 2, 3)
    found = model.predict(X_test)
    assert found.shape == (600, 2)
    truth = np.column_stack([y_test, 1000 * X_test[:, 0] + 5])
    assert model.score(X_test, truth) > (0.8 if Regressor is LLSVMRegressor else 0.9)
    assert model.local_coef(X_test).shape == (600, 2, 3)
    one = Regressor(10, random_state=0).fit(X, y[:, None])
    assert one.predict(X_test).shape == (600,)
    with pytest.raises(ValueError, match="y has 1 targets, but"):
        model.set_params(warm_start=True).fit(X, y)


@pytest.mark.parametrize("Regressor", BOTH)
def test_constant_targets(waves, Regressor):
    X, _, X_test, _ = waves
    for value in (0.0, 0.1, -3e7):
        model = Regressor(5, max_iter=3, random_state=0)
        found = model.fit(X, np.full(len(X), value)).predict(X_test)
        assert_allclose(found, value, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("Regressor", ALL)
def test_single_precision_stays(waves, Regressor):
    X, y, X_test, y_test = waves
    model = Regressor(40, random_state=0).fit(X.astype(np.float32), y)
    for array in (model.coef_, model.intercept_, model.anchors_):
        assert array.dtype == np.float32
    found = model.predict(X_test.astype(np.float32))
    assert found.dtype == np.float32
    assert model.score(X_test.astype(np.float32), y_test) > 0.9


def test_outliers_are_borne_by_losses_that_grow_linearly(waves):
    X, y, X_test, y_test = waves
    spoiled = y.copy()
    spoiled[::20] += 300.0
    squared = DULLSVMRegressor(20, random_state=0).fit(X, spoiled)
    assert squared.score(X_test, y_test) < 0
    for loss in ("huber", "absolute", "epsilon_insensitive", "pinball"):
        model = DULLSVMRegressor(20, loss=loss, random_state=0).fit(X, spoiled)
        assert model.score(X_test, y_test) > 0.8


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_hold_on_new_rows(quantile):
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(4000, 1))
    y = np.sin(2 * X[:, 0]) + (0.2 + 0.2 * np.abs(X[:, 0])) * rng.normal(size=4000)
    model = DULLSVMRegressor(10, loss="pinball", quantile=quantile, random_state=0)
    model.fit(X[:2000], y[:2000])
    below = y[2000:] <= model.predict(X[2000:])
    assert abs(below.mean() - quantile) < 0.03
    outer = np.abs(X[2000:, 0]) > 1
    assert abs(below[outer].mean() - quantile) < 0.05


def test_one_anchor_is_ridge(waves):
    X, y, X_test, _ = waves
    alpha, weights = 0.01, np.random.RandomState(0).uniform(0.5, 2, len(y))
    model = DULLSVMRegressor(
        1, alpha=alpha, intercept_scaling=1e3, diversity=0.0, max_iter=400,
        random_state=0,
    )  # fmt: skip
    model.fit(X, y, weights)
    ridge = Ridge(alpha * weights.sum()).fit(X, y, weights)
    assert_allclose(model.predict(X_test), ridge.predict(X_test), atol=2e-3)


@pytest.mark.parametrize("Regressor", ALL)
def test_weights_of_zero_leave_rows_out(waves, Regressor):
    X, y, X_test, _ = waves
    given = {"anchors": X[:12], "max_iter": 3}
    if Regressor is not LLSVMRegressor:
        given["shuffle"] = False
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    if Regressor is LLSVMRegressor:
        given |= {"max_iter": 100, "tol": 1e-12}
    whole = Regressor(**given, random_state=0).fit(X, y, weights)
    part = Regressor(**given, random_state=0).fit(X[weights > 0], y[weights > 0])
    assert_allclose(whole.predict(X_test), part.predict(X_test), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "pinball"])
def test_early_stopping_keeps_the_best(waves, loss, capsys):
    X, y, X_test, y_test = waves
    model = DULLSVMRegressor(
        30, loss=loss, early_stopping=True, n_iter_no_change=3, random_state=0,
        verbose=1,
    ).fit(X, y)  # fmt: skip
    assert "held-out D2 0." in capsys.readouterr().out
    assert len(model.validation_history_) == model.n_iter_
    assert model.score(X_test, y_test) > 0.8
    given = DULLSVMRegressor(30, loss=loss, early_stopping=True, random_state=0)
    given.fit(X, y, X_val=X_test, y_val=y_test)
    if loss == "squared":
        best = given.validation_history_.max()
        assert_allclose(given.score(X_test, y_test), best, atol=1e-3)


@pytest.mark.parametrize("Regressor", BOTH)
def test_warm_starts_go_on(waves, Regressor):
    X, y, _, _ = waves
    model = Regressor(20, max_iter=10, warm_start=True, random_state=0).fit(X, 100 * y)
    first = model.objective_history_[-1]
    model.fit(X, 100 * y)
    assert model.objective_history_[-1] < first


@pytest.mark.parametrize("Regressor", BOTH)
def test_streams(waves, Regressor):
    X, y, X_test, y_test = waves
    stream = Regressor(20, random_state=0)
    for _ in range(15):
        stream.partial_fit(X, 50 * y + 1000)
    assert stream.score(X_test, 50 * y_test + 1000) > 0.7
    blocks = [(X[i : i + 100], 50 * y[i : i + 100] + 1000) for i in range(0, 600, 100)]
    whole = Regressor(20, random_state=0).fit_stream((X, 50 * y + 1000), epochs=20)
    cut = Regressor(20, random_state=0).fit_stream(blocks, epochs=20)
    assert_array_equal(whole.coef_, cut.coef_)
    assert whole.score(X_test, 50 * y_test + 1000) > 0.9
    two = Regressor(20, random_state=0).fit_stream(
        (X, np.column_stack([y, -y])), epochs=20
    )
    assert two.predict(X_test).shape == (600, 2)


def test_a_stream_goes_on_from_its_checkpoint(waves, tmp_path):
    X, y, X_test, _ = waves
    settings = {"epochs": 3, "buffer_size": 100, "checkpoint_every": 1}
    model = DULLSVMRegressor(12, random_state=0)
    whole = clone(model).fit_stream((X, y), **settings)
    left = [7]

    def blocks():
        for i in range(0, 600, 100):
            left[0] -= 1
            if left[0] == 0:
                raise RuntimeError("the power is off")
            yield X[i : i + 100], y[i : i + 100]

    settings["checkpoint"] = tmp_path / "run"
    with pytest.raises(RuntimeError, match="the power"):
        clone(model).fit_stream(blocks, **settings)
    rest = clone(model).fit_stream(blocks, **settings)
    assert_array_equal(rest.predict(X_test), whole.predict(X_test))


@pytest.mark.parametrize("Regressor", BOTH)
def test_threads_do_not_change_the_model(waves, Regressor, monkeypatch):
    monkeypatch.setattr(joint, "WORK_FOR_THREADS", 0)
    X, y, X_test, _ = waves
    wide = np.hstack([X] * 30)
    one = Regressor(20, max_iter=2, metric="linear", random_state=0).fit(wide, y)
    two = clone(one).set_params(n_jobs=2).fit(wide, y)
    assert_array_equal(one.coef_, two.coef_)
    test = np.hstack([X_test] * 30)
    assert_array_equal(one.predict(test), two.predict(test))


def test_grid_search_and_pickles(waves):
    X, y, X_test, _ = waves
    search = GridSearchCV(
        SAPLRegressor(10, max_iter=3, random_state=0), {"loss": ["squared", "huber"]},
        cv=2,
    ).fit(X, y)  # fmt: skip
    model = search.best_estimator_
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X_test), model.predict(X_test))
    model.target_scale_ = np.ones(2)
    with pytest.raises(InvalidModelError, match="target_scale_"):
        pickle.loads(pickle.dumps(model))


def test_errors_name_what_is_wrong(waves):
    X, y, _, _ = waves
    for parameters, text in (
        ({"epsilon": 0.2}, "epsilon=0.2 is a setting of loss='huber'"),
        ({"quantile": 0.9}, "quantile=0.9 is a setting of loss='pinball'"),
        ({"loss": "hinge"}, "loss"),
        ({"n_anchors": "auto"}, "n_anchors"),
        ({"n_dimensions": 2}, "n_dimensions=2 is the dimension"),
    ):
        with pytest.raises(ValueError, match=text):
            DULLSVMRegressor().set_params(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        DULLSVMRegressor().fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        DULLSVMRegressor().fit(X, np.where(y > 0, np.nan, y))
    with pytest.raises(ValueError, match="n_rows must be given"):
        DULLSVMRegressor().fit_stream(iter([(X, y)]))


def exact(n_anchors=1, **more):
    return LLSVMRegressor(
        n_anchors, **{"tol": 1e-13, "intercept_scaling": 1.5, **more}, random_state=0
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_the_convex_machine_is_ridge_on_explicit_features(waves, kind):
    X, y, _, _ = waves
    weights = np.random.RandomState(0).uniform(0.3, 2, len(y))
    both = np.column_stack([y, 100 * X[:, 1] ** 2])
    model = exact(15, alpha=1e-3).fit(kind(X), both, weights)
    codes = model.coding_.transform(kind(X)).toarray()
    Z = reference.materialise(X, codes, 1.5)
    offset = np.average(both, axis=0, weights=weights)
    ridge = Ridge(1e-3 * weights.sum(), fit_intercept=False, tol=1e-12)
    ridge.fit(Z, both - offset, weights)
    assert_allclose(
        model.predict(kind(X)), ridge.predict(Z) + offset, rtol=1e-5, atol=1e-5
    )
    assert model.dual_gap_ <= 1e-10


def test_one_anchor_is_huber_regression(waves):
    """Its threshold is that of scikit-learn's, which learns a scale beside."""
    X, y, X_test, _ = waves
    y = y.copy()
    y[::30] += 20
    other = HuberRegressor(alpha=1.0, tol=1e-10, max_iter=1000).fit(X, y)
    model = exact(alpha=other.scale_ / len(y), intercept_scaling=1e4, loss="huber")
    scale = model.fit(X, y).target_scale_[0]
    model.set_params(epsilon=1.35 * other.scale_ / scale).fit(X, y)
    assert_allclose(model.predict(X_test), other.predict(X_test), atol=2e-4)


def test_one_anchor_is_a_linear_support_vector_machine(waves):
    X, y, X_test, _ = waves
    y = y - y.mean()
    alpha, epsilon = 0.01, 0.2
    other = LinearSVR(
        C=1 / (2 * alpha * len(y)), epsilon=epsilon * y.std(), dual=False, tol=1e-10,
        loss="squared_epsilon_insensitive", intercept_scaling=1.5, max_iter=100_000,
    ).fit(X, y)  # fmt: skip
    loss = "squared_epsilon_insensitive"
    model = exact(alpha=alpha, epsilon=epsilon, loss=loss).fit(X, y)
    assert_allclose(model.predict(X_test), other.predict(X_test), atol=1e-5)


def test_the_convex_machine_needs_all_rows(waves):
    X, y, _, _ = waves
    assert not hasattr(LLSVMRegressor(), "partial_fit")
    model = LLSVMRegressor(20, warm_start=True, tol=1e-8, random_state=0).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    early = LLSVMRegressor(20, early_stopping=True, random_state=0).fit(X, y)
    assert early.validation_history_.max() > 0.6
