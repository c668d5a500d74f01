"""Slopes of encoded numbers, and local weights in the units of the columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import LLSVMClassifier, PiecewiseLinearEncoder, TableEncoder
from locallin.inspection import explain


def rows(n=300):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.normal(size=n), 1e4 * rng.exponential(size=n)])
    return X, X[:, 0] + X[:, 1] / 1e4 > 1


def mixed(n=300):
    pandas = pytest.importorskip("pandas")
    X, y = rows(n)
    rng = np.random.RandomState(1)
    frame = pandas.DataFrame({"age": X[:, 0], "income": X[:, 1]})
    frame.loc[::7, "income"] = np.nan
    frame["home"] = rng.choice(["own", "rent", "free"], n)
    frame["member"] = rng.uniform(size=n) < 0.5
    frame["since"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(
        rng.randint(900, size=n), unit="D"
    )
    return frame, y


@pytest.mark.parametrize("outliers", ["clip", "extend"])
def test_slopes_of_bins_are_finite_differences(outliers):
    X, _ = rows()
    encoder = PiecewiseLinearEncoder(5, outliers=outliers).fit(X)
    inside = np.sort(X, axis=0)[1:-1] + 1e-6
    step = np.array([1e-7, 1e-3])
    moved = encoder.transform(inside + step) - encoder.transform(inside)
    expected = moved / step[encoder.get_feature_origins()]
    found = encoder.get_local_slopes(inside)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert_array_equal(encoder.get_local_slopes(sparse.csr_matrix(inside)), found)


def test_a_missing_value_has_no_slope():
    X, _ = rows()
    X[3, 1] = np.nan
    encoder = PiecewiseLinearEncoder(5).fit(X)
    of_second = encoder.get_feature_origins() == 1
    assert_array_equal(np.isnan(encoder.get_local_slopes(X)[3]), of_second)


@pytest.mark.parametrize("numbers", ["piecewise", "standard", "robust"])
def test_slopes_of_a_table_are_finite_differences(numbers):
    frame, y = mixed()
    encoder = TableEncoder(numbers=numbers, dtype="float64").fit(frame, y)
    found = encoder.get_local_slopes(frame)
    origins, base = encoder.get_feature_origins(), encoder.transform(frame)
    inside = (frame["age"] < frame["age"].max() - 1e-3).to_numpy()
    for j, (name, step) in enumerate({"age": 1e-7, "income": 1e-3}.items()):
        start = frame.assign(**{name: frame[name] + step})
        moved = (encoder.transform(start) - base)[:, origins == j] / step
        there = (frame[name].notna() & inside).to_numpy()
        own = found[:, origins == j]
        assert_allclose(own[there], moved[there], rtol=1e-4, atol=1e-8)
        assert np.isnan(own[~frame[name].notna().to_numpy()]).all()
    assert np.isnan(found[:, np.isin(origins, [2, 4])]).all()
    assert (found[:, origins == 3] > 0).any()


def test_weights_of_columns_predict_a_small_change():
    frame, y = mixed()
    model = make_pipeline(
        TableEncoder(dtype="float64"), LLSVMClassifier(1, random_state=0)
    ).fit(frame, y)
    found = explain(model, frame)
    step, there = 1e-3, (frame["income"] < frame["income"].max()).to_numpy()
    moved = model.decision_function(frame.assign(income=frame["income"] + step))
    slope = (moved - model.decision_function(frame)) / step
    assert_allclose(found.weights[there, 0, 1], slope[there], rtol=1e-4, atol=1e-9)
    assert np.isnan(found.weights[:, 0, 2]).all()
    assert np.isnan(found.weights[frame["income"].isna().to_numpy(), 0, 1]).all()


def test_weights_go_through_a_scaler_and_a_feature_map():
    X, y = rows()
    model = make_pipeline(
        StandardScaler(),
        LLSVMClassifier(1, feature_map=PiecewiseLinearEncoder(4), random_state=0),
    ).fit(X, y)
    found = explain(model, X)
    step = np.array([0.0, 1e-2])
    slope = (model.decision_function(X + step) - model.decision_function(X)) / 1e-2
    inside = X[:, 1] < X[:, 1].max()
    close = np.isclose(found.weights[:, 0, 1], slope, rtol=1e-3, atol=1e-9)
    assert close[inside].mean() > 0.95  # but for rows that cross an edge
