"""Several quantiles in one model, which do not cross."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from locallin import (
    DULLSVMRegressor,
    EnsembleRegressor,
    LLSVMRegressor,
    SAPLRegressor,
)
from locallin.inspection import explain, global_effects, regions
from locallin.methods.anchored import AnchoredEstimator

LEVELS = [0.05, 0.5, 0.95]
MODELS = {
    "sapl": SAPLRegressor(10, max_iter=10, random_state=0),
    "dullsvm": DULLSVMRegressor(10, max_iter=10, metric="scale", random_state=0),
    "llsvm": LLSVMRegressor(10, tol=1e-3, random_state=0),
}


@pytest.fixture(scope="module")
def funnel():
    """A wave whose noise grows along one feature; half of the rows to test."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(2000, 2))
    noise = (0.2 + 0.2 * np.abs(X[:, 0])) * rng.normal(size=len(X))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + noise
    return X[:1000], y[:1000], X[1000:], y[1000:]


def quantiles(name, levels=LEVELS, **more):
    return clone(MODELS[name]).set_params(loss="pinball", quantile=levels, **more)


def crossing(kind=LLSVMRegressor):
    """A model of few rows whose quantiles would cross away from them."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    levels = np.arange(1, 10) / 10
    return kind(4, loss="pinball", quantile=levels, random_state=0).fit(X, y)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", MODELS)
def test_levels_hold_on_new_rows(name, kind, funnel):
    X, y, X_test, y_test = funnel
    model = quantiles(name).fit(kind(X), 1000 * y - 5e4)
    found = model.predict(kind(X_test))
    assert found.shape == (1000, 3)
    assert (np.diff(found, axis=1) >= 0).all()
    shares = (1000 * y_test[:, None] - 5e4 <= found).mean(axis=0)
    assert_allclose(shares, LEVELS, atol=0.05)
    width = found[:, 2] - found[:, 0]
    outer = np.abs(X_test[:, 0]) > 1.5
    assert width[outer].mean() > 1.3 * width[np.abs(X_test[:, 0]) < 0.5].mean()


@pytest.mark.parametrize("kind", [LLSVMRegressor, SAPLRegressor])
def test_quantiles_that_would_cross_change_places(kind):
    model = crossing(kind)
    X = 5 * np.random.RandomState(1).normal(size=(200, 2))
    plain = AnchoredEstimator._scores(model, X)
    assert (np.diff(plain, axis=1) < 0).any()
    found = model.predict(X)
    assert_array_equal(found, np.sort(plain, axis=1))
    sums = (model.local_coef(X) * X[:, None]).sum(-1) + model.local_intercept(X)
    assert_allclose(sums, found, atol=1e-10)
    assert_array_equal(model.linear_predictor(X), found)
    y = np.random.RandomState(2).normal(size=200)

    def total(scores):
        pairs = zip(scores.T, model.quantile, strict=True)
        return sum(mean_pinball_loss(y, f, alpha=level) for f, level in pairs)

    assert total(found) < total(plain)


def test_reasons_add_up_where_quantiles_cross():
    model = crossing()
    X = 5 * np.random.RandomState(1).normal(size=(50, 2))
    told = explain(model, X)
    assert told.classes.tolist() == [f"q{level / 10:g}" for level in range(1, 10)]
    assert_allclose(told.contributions.sum(axis=2) + told.bias, model.predict(X))
    assert "predicted q0.1" in told.to_text(0)
    assert global_effects(model, X) is not None
    assert all(region.r2 is None for region in regions(model, X, X[:, 0]))


def test_the_convex_machine_has_what_each_level_has_by_itself(funnel):
    X, y, X_test, _ = funnel
    together = quantiles("llsvm", tol=1e-7, max_iter=20_000).fit(X, y)
    alone = [
        quantiles("llsvm", level, tol=1e-7, max_iter=20_000).fit(X, y).predict(X_test)
        for level in LEVELS
    ]
    assert_allclose(together.predict(X_test), np.transpose(alone), atol=2e-3)


def test_one_level_in_a_list_is_that_level(funnel):
    X, y, X_test, _ = funnel
    one = quantiles("sapl", [0.3]).fit(X, y)
    assert_array_equal(
        one.predict(X_test), quantiles("sapl", 0.3).fit(X, y).predict(X_test)
    )


def test_the_score_is_the_mean_of_those_of_the_levels(funnel):
    X, y, X_test, y_test = funnel
    model = quantiles("sapl").fit(X, y)
    weights = np.random.RandomState(0).uniform(size=len(y_test))
    found = model.predict(X_test)
    wanted = [
        d2_pinball_score(y_test, found[:, k], alpha=level, sample_weight=weights)
        for k, level in enumerate(LEVELS)
    ]
    assert_allclose(model.score(X_test, y_test, weights), np.mean(wanted))
    assert min(wanted) > 0.2


def test_means_pickles_and_streams(funnel):
    X, y, X_test, _ = funnel
    mean = EnsembleRegressor(quantiles("sapl"), 2, random_state=0).fit(X, y)
    found = mean.predict(X_test)
    assert (np.diff(found, axis=1) >= 0).all()
    sums = (mean.local_coef(X_test) * X_test[:, None]).sum(-1)
    assert_allclose(sums + mean.local_intercept(X_test), found, atol=1e-10)
    assert explain(mean, X_test[:2]).classes.tolist() == ["q0.05", "q0.5", "q0.95"]
    again = pickle.loads(pickle.dumps(mean))
    assert_array_equal(again.predict(X_test), found)
    stream = quantiles("sapl").partial_fit(X, y).partial_fit(X, y)
    assert stream.predict(X_test).shape == (1000, 3)
    early = quantiles("sapl", early_stopping=True).fit(X, y)
    assert early.validation_history_.max() > 0.3


def test_single_precision(funnel):
    X, y, X_test, _ = funnel
    for name in ("sapl", "llsvm"):
        model = quantiles(name).fit(X.astype(np.float32), y)
        assert model.predict(X_test.astype(np.float32)).dtype == np.float32
        assert model.coef_.dtype == np.float32


@pytest.mark.parametrize(
    "levels", [[0.5, 0.1], [0.1, 0.1], [0.0, 0.5], [0.5, 1.0], [], [[0.1, 0.5]]]
)
def test_levels_that_are_none_are_refused(levels, funnel):
    X, y, _, _ = funnel
    with pytest.raises(ValueError, match="in ascending order"):
        quantiles("sapl", levels).fit(X, y)


def test_errors_name_what_is_wrong(funnel):
    X, y, _, _ = funnel
    with pytest.raises(ValueError, match="y has 2 targets, but quantile="):
        quantiles("sapl").fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="is a setting of loss='pinball'"):
        SAPLRegressor(quantile=LEVELS).fit(X, y)
    with pytest.raises(ValueError, match="quantile"):
        SAPLRegressor(loss="pinball", quantile=1.5).fit(X, y)
    model = quantiles("sapl", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="quantile has 2 levels, but SAPLRegressor"):
        model.set_params(quantile=[0.2, 0.8]).fit(X, y)


def test_a_file_whose_level_is_no_number_is_refused(funnel):
    X, y = funnel[:2]
    model = DULLSVMRegressor(3, loss="pinball", quantile=0.5, max_iter=2)
    state = model.fit(X, y).__getstate__()
    with pytest.raises(ValueError, match="quantile"):
        DULLSVMRegressor().__setstate__({**state, "quantile": type})
    with pytest.raises(ValueError, match="must be a number between 0 and 1"):
        _ = DULLSVMRegressor(loss="pinball", quantile=type).quantile_levels
