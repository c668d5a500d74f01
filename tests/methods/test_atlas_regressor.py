"""AtlasRegressor: identities, charts, rows without a number, exports."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from locallin import Atlas, AtlasRegressor
from locallin.engine.invariants import InvalidModelError
from locallin.export import load, save, to_onnx
from locallin.inspection import explain, regions

KERNELS = ["rbf", "linear", "quadratic", "quadratic-cross"]


@pytest.fixture(scope="module")
def helix():
    """A curve in three dimensions, charts of one dimension, a wave along it."""
    rng = np.random.RandomState(0)
    t = rng.uniform(0, 6, size=500)
    X = np.column_stack([np.cos(2 * t), np.sin(2 * t), 0.5 * t])
    y = np.sin(2 * t) + 0.3 * t
    atlas = FrozenEstimator(Atlas(1, mdl=0.5, random_state=0).fit(X))
    return X[:300], y[:300], X[300:], y[300:], atlas


@pytest.fixture(scope="module")
def flat():
    """Rows that one chart of full dimension holds."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 3))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=200)
    atlas = Atlas(3, mdl=1e9, random_state=0).fit(X)
    assert len(atlas.means_) == 1
    return X, y, rng.uniform(0.3, 2, 200), FrozenEstimator(atlas)


def test_one_full_chart_is_kernel_ridge_regression(flat):
    """But for the intercept, which is free."""
    X, y, weights, atlas = flat
    sigma, alpha = 2.0, 1e-3
    model = AtlasRegressor(atlas, sigma=sigma, alpha=alpha).fit(X, y, weights)
    shift = model.target_offset_[0] + model.intercept_[0]
    ridge = KernelRidge(alpha=alpha * weights.sum(), kernel="rbf", gamma=1 / sigma**2)
    ridge.fit(X, y - shift, sample_weight=weights)
    assert_allclose(model.predict(X), ridge.predict(X) + shift, atol=1e-8)
    assert_allclose(model.dual_coef_.sum(), 0, atol=1e-10)  # the intercept is best


def test_weights_are_repetitions(helix):
    X, y, X_test, _, atlas = helix
    counts = np.random.RandomState(0).randint(3, size=len(y))
    settings = {"sigma": 1.0, "gamma": 0.5, "alpha": 1e-3}
    weighted = AtlasRegressor(atlas, **settings).fit(X, y, counts)
    several = np.repeat(np.arange(len(y)), counts)
    repeated = AtlasRegressor(atlas, **settings).fit(X[several], y[several])
    assert_allclose(weighted.predict(X_test), repeated.predict(X_test), atol=1e-7)


def test_one_full_chart_is_support_vector_regression(flat):
    X, y, weights, atlas = flat
    sigma, alpha, epsilon = 2.0, 1e-3, 0.2
    settings = {"loss": "epsilon_insensitive", "epsilon": epsilon, "tol": 1e-8}
    model = AtlasRegressor(atlas, sigma=sigma, alpha=alpha, **settings)
    model.fit(X, y, weights)
    offset, scale = model.target_offset_, model.target_scale_
    other = SVR(
        C=1 / (alpha * weights.sum()), epsilon=epsilon, gamma=1 / sigma**2, tol=1e-8
    ).fit(X, (y - offset) / scale, sample_weight=weights)
    assert_allclose(model.predict(X), other.predict(X) * scale + offset, atol=1e-5)
    assert len(model.support_) == len(other.support_) < 200


@pytest.mark.parametrize("kernel", ["linear", "quadratic"])
def test_one_full_chart_is_ridge_regression_on_its_features(flat, kernel):
    X, y, weights, atlas = flat
    alpha = 1e-3
    model = AtlasRegressor(atlas, kernel=kernel, alpha=alpha, tol=1e-10)
    model.fit(X, y, weights)
    p = (X - model.atlas_.means_[0]) @ model.atlas_.components_[0].T / model.scale_
    Z = [p, p**2][: 2 if kernel == "quadratic" else 1]
    Z = np.column_stack([*Z, np.ones(len(p))])
    ridge = Ridge(alpha * weights.sum(), fit_intercept=False, tol=1e-12)
    offset = model.target_offset_[0]
    ridge.fit(Z, y - offset, weights)
    assert_allclose(model.predict(X), ridge.predict(Z) + offset, atol=1e-4)


@pytest.mark.in_turn
@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_it_learns_along_the_manifold(helix, kernel, loss):
    X, y, X_test, y_test, atlas = helix
    assert len(atlas.estimator.means_) > 3
    model = AtlasRegressor(atlas, kernel=kernel, loss=loss, max_iter=5000)
    model.set_params(random_state=0).fit(X, 1e4 * y - 3e5)
    assert model.score(X_test, 1e4 * y_test - 3e5) > 0.8
    csr = clone(model).fit(sparse.csr_matrix(X), 1e4 * y - 3e5)
    found = csr.predict(sparse.csr_matrix(X_test))
    assert_allclose(found, model.predict(X_test), rtol=1e-6)
    if kernel == "rbf":
        assert not hasattr(model, "local_coef")
        return
    sums = (model.local_coef(X_test) * X_test[:, None]).sum(-1)
    sums += model.local_intercept(X_test)
    assert_allclose(sums[:, 0], model.predict(X_test), rtol=1e-8)
    told = explain(model, X_test[:3])
    total = told.contributions.sum(axis=2) + told.bias
    assert_allclose(total[:, 0], model.predict(X_test[:3]))
    assert len(regions(model, X_test, y_test)) == len(model.atlas_.means_)


def test_rows_without_a_number_shape_the_charts_only(helix):
    X, y, X_test, y_test, _ = helix
    atlas = Atlas(1, mdl=0.5, random_state=0)
    few = np.where(np.arange(len(X)) < 60, y, np.nan)
    model = AtlasRegressor(atlas, random_state=0).fit(X, few)
    alone = AtlasRegressor(atlas, random_state=0).fit(X[:60], y[:60])
    assert model.support_.max() < 60
    assert_allclose(model.atlas_.means_, clone(atlas).fit(X).means_)
    assert model.score(X_test, y_test) > alone.score(X_test, y_test)
    weights = np.where(np.isnan(few), 5.0, 1.0)
    weighted = clone(model).fit(X, few, weights)
    assert_allclose(weighted.predict(X_test), model.predict(X_test))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_several_targets(helix, kernel):
    X, y, X_test, y_test, atlas = helix
    both = np.column_stack([y, 1000 * X[:, 2]])
    settings = {"kernel": kernel, "loss": "epsilon_insensitive", "random_state": 0}
    model = AtlasRegressor(atlas, max_iter=5000, **settings).fit(X, both)
    found = model.predict(X_test)
    assert found.shape == (200, 2)
    truth = np.column_stack([y_test, 1000 * X_test[:, 2]])
    assert model.score(X_test, truth) > 0.8
    threads = clone(model).set_params(n_jobs=2).fit(X, both)
    assert_array_equal(threads.predict(X_test), found)
    column = clone(model).fit(X, y[:, None])
    assert column.predict(X_test).shape == (200,)


@pytest.mark.parametrize("kernel", ["rbf", "quadratic"])
def test_constants_single_precision_and_files(helix, kernel, tmp_path):
    X, y, X_test, _, atlas = helix
    constant = AtlasRegressor(atlas, kernel=kernel).fit(X, np.full(300, -3e7))
    assert_allclose(constant.predict(X_test), -3e7)
    single = AtlasRegressor(Atlas(1, mdl=0.5, random_state=0), kernel=kernel)
    single.fit(X.astype(np.float32), y)
    rows = X_test.astype(np.float32)
    found = single.predict(rows)
    assert found.dtype == np.float32
    again = pickle.loads(pickle.dumps(single))
    assert_array_equal(again.predict(rows), found)
    pytest.importorskip("skops")
    save(single, tmp_path / "model.skops")
    assert_array_equal(load(tmp_path / "model.skops").predict(rows), found)
    single.target_offset_ = np.zeros(2)
    with pytest.raises(InvalidModelError, match="target"):
        pickle.loads(pickle.dumps(single))


@pytest.mark.parametrize("kernel", KERNELS)
def test_onnx(helix, kernel):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    X, y, X_test, _, atlas = helix
    model = AtlasRegressor(atlas, kernel=kernel, random_state=0).fit(X, 100 + y)
    rows = X_test.astype(np.float32)
    graph = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"X": rows})
    assert_allclose(found[:, 0], model.predict(rows.astype(float)), rtol=1e-5)


def test_usual_atlas_fills_the_space_of_a_kernel_machine(flat):
    X, y, *_ = flat
    for kernel, n_components in (("rbf", X.shape[1]), ("linear", None)):
        model = AtlasRegressor(kernel=kernel, random_state=0).fit(X, y)
        wanted = n_components or Atlas(random_state=0).fit(X).n_components_
        assert model.atlas_.n_components_ == wanted
    wide = np.random.RandomState(0).normal(size=(60, 20))
    model = AtlasRegressor(random_state=0).fit(wide, wide[:, 0])
    assert model.atlas_.n_components_ == 16


def test_outliers_are_borne_by_the_loss_that_grows_linearly(flat):
    X, y, _, atlas = flat
    spoiled = y.copy()
    spoiled[::20] += 300.0
    scores = [
        AtlasRegressor(atlas, loss=loss).fit(X, spoiled).score(X, y)
        for loss in ("squared", "epsilon_insensitive")
    ]
    assert scores[0] < 0 < 0.5 < scores[1]


def test_errors_name_what_is_wrong(flat):
    X, y, _, atlas = flat
    for parameters, text in (
        ({"epsilon": 0.2}, "epsilon=0.2 is a setting of loss='epsilon_insensitive'"),
        ({"kernel": "linear", "sigma": 1.0}, "is a setting of kernel='rbf'"),
        ({"loss": "huber"}, "loss"),
        ({"sigma": 1e-320}, "leave sigma='auto'"),
    ):
        with pytest.raises(ValueError, match=text):
            AtlasRegressor(atlas, **parameters).fit(X, y)
    with pytest.raises(ValueError, match="No row has a number in y"):
        AtlasRegressor(atlas).fit(X, np.full(200, np.nan))
    with pytest.raises(ValueError, match="infinity"):
        AtlasRegressor(atlas).fit(X, np.where(y > 0, np.inf, np.nan))
