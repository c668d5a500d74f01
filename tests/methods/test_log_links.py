"""Losses whose scores are logarithms: Poisson and gamma."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from locallin import DULLSVMRegressor, EnsembleRegressor, SAPLRegressor
from locallin.inspection import explain, regions
from locallin.kernels import losses

POWERS = {"poisson": 1, "gamma": 2}
OTHERS = {"poisson": PoissonRegressor, "gamma": GammaRegressor}


def draw(loss, means, rng):
    if loss == "poisson":
        return rng.poisson(means).astype(float)
    return rng.gamma(3, means / 3)


@pytest.fixture(scope="module")
def rows():
    return np.random.RandomState(0).uniform(-2, 2, size=(1500, 3))


def waves(loss, X):
    rng = np.random.RandomState(1)
    return draw(loss, np.exp(1 + np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]), rng)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", POWERS)
@pytest.mark.parametrize("Regressor", [SAPLRegressor, DULLSVMRegressor])
def test_it_learns_what_a_line_cannot(Regressor, loss, kind, rows):
    y = waves(loss, rows)
    model = Regressor(20, loss=loss, random_state=0).fit(kind(rows[:1000]), y[:1000])
    found = model.predict(kind(rows[1000:]))
    assert (found > 0).all()
    power = POWERS[loss]
    d2 = d2_tweedie_score(y[1000:], found, power=power)
    line = OTHERS[loss](alpha=0).fit(rows[:1000], y[:1000]).predict(rows[1000:])
    assert d2 > 0.2 + d2_tweedie_score(y[1000:], line, power=power)
    assert_allclose(found, np.exp(model.linear_predictor(kind(rows[1000:]))[:, 0]))


@pytest.mark.parametrize("loss", POWERS)
def test_one_anchor_is_the_generalised_linear_model(loss, rows):
    """Weights are exposures: y is a rate, as scikit-learn has it."""
    rng, X = np.random.RandomState(0), rows[:600]
    exposure = rng.uniform(0.5, 2, len(X))
    means = np.exp(1 + 0.5 * X[:, 0] - 0.3 * X[:, 1])
    y = draw(loss, means * exposure, rng) / exposure
    alpha = 0.1
    other = OTHERS[loss](alpha=alpha, tol=1e-10, max_iter=1000)
    other.fit(X, y, sample_weight=exposure)
    unit = np.average(y, weights=exposure) if loss == "poisson" else 1.0
    model = DULLSVMRegressor(
        1, loss=loss, alpha=alpha / unit, intercept_scaling=1e3, diversity=0.0,
        max_iter=400, random_state=0,
    ).fit(X, y, exposure)  # fmt: skip
    assert_allclose(model.predict(X), other.predict(X), rtol=3e-3)


@pytest.mark.parametrize("loss", POWERS)
def test_the_unit_of_y_does_not_matter(loss, rows):
    y = waves(loss, rows)
    model = SAPLRegressor(10, loss=loss, max_iter=5, random_state=0)
    plain = model.fit(rows, y).predict(rows)
    assert_allclose(model.fit(rows, 1e6 * y).predict(rows), 1e6 * plain, rtol=1e-6)


def test_reasons_are_told_of_the_logarithm(rows):
    y = waves("poisson", rows)
    model = DULLSVMRegressor(10, loss="poisson", max_iter=5, random_state=0)
    model.fit(rows, y)
    told = explain(model, rows[:5])
    sums = told.contributions.sum(axis=2) + told.bias
    assert_allclose(np.exp(sums[:, 0]), model.predict(rows[:5]))
    assert_array_equal(told.predicted, model.predict(rows[:5]))
    assert "= log(prediction)" in told.to_text(0)
    assert regions(model, rows, y)[0].r2 is not None


def test_several_targets_means_and_pickles(rows):
    y = np.column_stack([waves("poisson", rows), waves("gamma", rows)])
    model = SAPLRegressor(10, loss="poisson", max_iter=5)
    mean = EnsembleRegressor(model, 2, random_state=0).fit(rows, y)
    found = mean.predict(rows)
    assert found.shape == y.shape
    logs = np.mean([member.linear_predictor(rows) for member in mean.members_], axis=0)
    assert_allclose(found, np.exp(logs))
    again = pickle.loads(pickle.dumps(mean))
    assert_array_equal(again.predict(rows), found)


def test_streams_early_stopping_and_single_precision(rows):
    y = waves("gamma", rows)
    model = SAPLRegressor(10, loss="gamma", random_state=0)
    for _ in range(3):
        model.partial_fit(rows, y)
    assert model.score(rows, y) > 0.1
    early = SAPLRegressor(10, loss="gamma", early_stopping=True, random_state=0)
    early.fit(rows.astype(np.float32), y)
    assert early.validation_history_.max() > 0.4
    assert early.predict(rows.astype(np.float32)).dtype == np.float32


def test_predictions_are_finite_and_positive(rows):
    y = waves("poisson", rows)
    model = SAPLRegressor(5, loss="poisson", max_iter=3, random_state=0).fit(rows, y)
    far = np.array([[1e8, 0, 0], [-1e8, 0, 0]])
    found = model.predict(far)
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_losses_go_on_as_lines_where_powers_are_huge():
    value, slope = losses.number_loss, losses.number_slope
    for sign, loss in ((1, losses.POISSON), (-1, losses.GAMMA)):
        a, b = value(loss, 0.0, sign * 40.0, 1.0), value(loss, 0.0, sign * 41.0, 1.0)
        assert_allclose(b - a, sign * slope(loss, 0.0, sign * 40.0, 1.0), rtol=1e-12)
        assert np.isfinite(value(loss, 0.0, sign * 1e290, 1.0))


def test_numbers_that_a_loss_is_not_for_are_refused(rows):
    y = waves("poisson", rows)
    assert (y == 0).any()
    with pytest.raises(ValueError, match="loss='gamma' is for positive numbers"):
        SAPLRegressor(5, loss="gamma").fit(rows, y)
    with pytest.raises(ValueError, match="y has the value -1, but loss='poisson'"):
        SAPLRegressor(5, loss="poisson").fit(rows, np.where(y == 0, -1, y))
    with pytest.raises(ValueError, match="y is zero in all rows"):
        SAPLRegressor(5, loss="poisson").fit(rows, 0 * y)
    with pytest.raises(ValueError, match=r"epsilon=0\.2 is a setting"):
        SAPLRegressor(5, loss="poisson", epsilon=0.2).fit(rows, y)
    constant = SAPLRegressor(5, loss="gamma", max_iter=3).fit(rows, np.full(1500, 7.0))
    assert_allclose(constant.predict(rows), 7.0, rtol=1e-9)
