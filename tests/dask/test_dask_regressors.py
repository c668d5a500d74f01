"""Numbers on a cluster: the bits of the scheme, collections, scores, raw tables."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
from clusters import OF_NUMBERS, assert_same, cut, in_one_process, make

import locallin
from locallin import LocallyLinearRegressor
from locallin.dask import BlockError, ClusterClassifier, ClusterRegressor, _fit


@pytest.fixture(scope="module")
def numbers():
    """A curved target far from zero, in other units than the features."""
    rng = np.random.RandomState(5)
    X = rng.normal(size=(350, 3))
    y = 900.0 + 40.0 * np.sin(2.0 * X[:, 0]) + 25.0 * X[:, 1] * X[:, 2]
    return X, y + rng.normal(size=350)


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("n_shards", [1, 4])
def test_shards_are_those_of_one_process(threads, numbers, name, n_shards):
    model = make(name, n_shards=n_shards).fit(*cut(*numbers))
    local = in_one_process(name, *numbers, n_shards=n_shards)
    assert_same(model, local)
    assert model.estimator_.target_offset_ == local.target_offset_
    assert model.estimator_.target_scale_ == local.target_scale_


@pytest.mark.parametrize(
    "more",
    [
        {"loss": "huber"},
        {"loss": "pinball", "quantile": [0.1, 0.5, 0.9]},
        {"loss": "gamma"},
    ],
    ids=lambda more: more["loss"],
)
def test_losses(threads, numbers, more):
    X, y = numbers
    model = make("DULLSVMRegressor", **more).fit(*cut(X, y))
    local = in_one_process("DULLSVMRegressor", X, y, n_shards=2, **more)
    assert_same(model, local)
    there = cut(X, y)
    predicted = model.predict(there[0])
    np.testing.assert_allclose(predicted.compute(), local.predict(X), rtol=1e-12)
    assert predicted.shape == local.predict(X).shape
    assert model.score(*there) == pytest.approx(local.score(X, y))


def test_as_good_as_the_local_fit(threads, numbers):
    X, y = numbers
    model = make("DULLSVMRegressor", n_anchors=12, max_iter=40).fit(*cut(X, y))
    local = clone(model.estimator).fit(X, y)
    assert model.score(X, y) > local.score(X, y) - 0.03
    assert local.score(X, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_bits_do_not_depend_on_workers(client, numbers, name, monkeypatch):
    monkeypatch.setattr(_fit, "SAMPLE_ROWS", 200)  # so that anchors are refined, too
    first = make(name, n_shards=4).fit(*cut(*numbers))
    assert_same(make(name, n_shards=4).fit(*cut(*numbers)), first)


def test_several_targets_and_scores(threads, numbers):
    X, y = numbers
    Y = np.column_stack([y, X[:, 0] + 2.0])
    weights = np.random.RandomState(0).randint(3, size=len(y)).astype(float)
    there = cut(X, Y, weights)
    model = make("SAPLRegressor").fit(*there)
    local = model.estimator_
    assert model.predict(there[0]).shape == (350, 2)
    np.testing.assert_allclose(model.predict(there[0]).compute(), local.predict(X))
    assert model.score(*there) == pytest.approx(local.score(X, Y, weights))
    apart = there[1].rechunk((50, 1))  # cut otherwise, and along the targets
    assert_same(make("SAPLRegressor").fit(there[0], apart, there[2]), model)
    spoiled = np.where(weights[:, None] > 0, Y, 1e6)  # rows that do not count
    again = make("SAPLRegressor").fit(there[0], *cut(spoiled, 2 * weights))
    assert_same(again, model)


@pytest.mark.parametrize("hit", [True, False])
def test_the_score_of_a_constant(threads, numbers, hit):
    X, _ = numbers
    y = np.full(len(X), 3.0)
    model = make("DULLSVMRegressor", max_iter=1).fit(*cut(X, y))
    wanted = y if hit else y + 1.0
    assert model.score(*cut(X, wanted)) == model.estimator_.score(X, wanted)


def test_sparse_blocks_frames_and_float32(threads, numbers):
    X, y = numbers
    dense = make("DULLSVMRegressor").fit(*cut(X, y))
    S = da.map_blocks(sparse.csr_matrix, cut(X)[0], dtype=float)
    S._meta = sparse.csr_matrix((0, X.shape[1]))
    from_sparse = make("DULLSVMRegressor").fit(S, cut(y)[0])
    np.testing.assert_allclose(from_sparse.predict(X), dense.predict(X), rtol=1e-4)
    names = ["a", "b", "c"]
    whole = pd.DataFrame(X, columns=names).assign(y=y, z=-y)
    frame = dd.from_map(lambda s: whole[s : s + 40], range(0, 350, 40), meta=whole[:0])
    from_frame = make("DULLSVMRegressor").fit(frame[names], frame["y"])
    assert_same(from_frame, dense)
    assert from_frame.feature_names_in_.tolist() == names
    predicted = from_frame.predict(frame[names])
    assert isinstance(predicted, dd.Series)
    np.testing.assert_allclose(predicted.compute(), dense.predict(X))
    two = make("DULLSVMRegressor").fit(frame[names], frame[["y", "z"]])
    assert list(two.predict(frame[names]).columns) == ["y0", "y1"]
    single = make("DULLSVMRegressor").fit(*cut(X.astype(np.float32), y))
    assert single.estimator_.coef_.dtype == np.float32


def test_a_fit_goes_on_and_a_model_travels(threads, numbers):
    parts = cut(*numbers)
    model = make("DULLSVMRegressor", warm_start=True, max_iter=10).fit(*parts)
    first = model.estimator_
    again = model.fit(*parts).estimator_
    assert again.objective_history_[0] < first.objective_history_[0]
    assert again.target_scale_ == first.target_scale_
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        copy.estimator_.predict(numbers[0]), again.predict(numbers[0])
    )


def test_what_is_refused(threads, numbers):
    X, y = numbers
    there = cut(X, y)
    with pytest.raises(TypeError, match="SAPLRegressor is for ClusterRegressor"):
        ClusterClassifier(locallin.SAPLRegressor()).fit(*there)
    with pytest.raises(TypeError, match="is for ClusterClassifier, not for"):
        ClusterRegressor(locallin.LocallyLinearClassifier()).fit(*there)
    with pytest.raises(TypeError, match=r"LLSVMRegressor cannot.*SAPLRegressor"):
        ClusterRegressor(locallin.LLSVMRegressor()).fit(*there)
    with pytest.raises(ValueError, match="early_stopping"):
        make("SAPLRegressor", early_stopping=True).fit(*there)
    with pytest.raises(ValueError, match="loss='gamma' is for positive numbers"):
        make("SAPLRegressor", loss="gamma", max_iter=1).fit(cut(X)[0], -cut(y)[0])
    spoiled = y.copy()
    spoiled[130] = np.nan
    with pytest.raises(BlockError, match=r"Block 3 \(rows 120 to 159\).*NaN"):
        make("SAPLRegressor").fit(*cut(X, spoiled))
    with pytest.raises(ValueError, match="y must have one or two dimensions"):
        make("SAPLRegressor").fit(there[0], there[1][:, None, None])


def table(n_rows=500):
    rng = np.random.RandomState(11)
    frame = pd.DataFrame(
        {
            "size": rng.uniform(20, 120, size=n_rows),
            "place": rng.choice(["city", "village", "coast"], size=n_rows),
            "street": rng.choice([f"street {i}" for i in range(50)], size=n_rows),
        }
    )
    price = frame["size"] * frame["place"].map({"city": 9.0, "village": 3, "coast": 6})
    frame.loc[::9, "size"] = np.nan
    return frame, price.rename("price")


def test_a_raw_table(threads):
    frame, price = table()
    rows, prices = dd.from_pandas(frame, 4), dd.from_pandas(price, 4)
    model = ClusterRegressor(LocallyLinearRegressor(0, random_state=0))
    model.fit(rows, prices)
    assert model.score(rows, prices) == pytest.approx(
        model.estimator_.score(frame, price)
    )
    assert model.score(rows, prices) > 0.75
    predicted = model.predict(rows).compute()
    np.testing.assert_allclose(predicted, model.estimator_.predict(frame))
    both = dd.concat([prices, -prices], axis=1)
    two = ClusterRegressor(LocallyLinearRegressor(0, random_state=0)).fit(rows, both)
    assert two.predict(rows).compute().shape == (500, 2)


def test_held_out_rows_give_intervals(threads):
    frame, price = table(400)
    rows, prices = dd.from_pandas(frame, 3), dd.from_pandas(price, 3)
    local = LocallyLinearRegressor(1, n_members=1, time_limit=0.1, random_state=0)
    model = ClusterRegressor(local).fit(rows, prices)
    assert len(model.estimator_.residuals_) == 80
    lazy = model.predict_interval(rows, coverage=0.8)
    assert list(lazy.columns) == ["low", "high"]
    wanted = model.estimator_.predict_interval(frame, coverage=0.8)
    np.testing.assert_allclose(lazy.compute(), wanted)
    assert not hasattr(make("SAPLRegressor"), "predict_interval")
