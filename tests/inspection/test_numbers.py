"""Reasons of regressors: what would bring a prediction to a number."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from locallin import (
    DULLSVMRegressor,
    LLSVMClassifier,
    LLSVMRegressor,
    LocallyLinearRegressor,
)
from locallin.encoding import TableEncoder
from locallin.inspection import (
    ContributionDisplay,
    EffectDisplay,
    HistoryDisplay,
    ImportanceDisplay,
    RegionDisplay,
    counterfactual,
    explain,
    global_effects,
    regions,
)


@pytest.fixture(scope="module")
def flats():
    rng = np.random.RandomState(0)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.uniform(20, 120, size=n).round(1),
            "rooms": rng.randint(1, 6, size=n),
            "place": rng.choice(["city", "suburb", "village"], size=n),
        }
    )
    metre = frame["place"].map({"city": 9.0, "suburb": 5.0, "village": 3.0})
    frame.loc[::17, "size"] = np.nan
    price = 50 + frame["size"].fillna(60) * metre + 20 * frame["rooms"]
    return frame, (price + rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def fitted(flats):
    encoder = TableEncoder(numbers="standard", target_type="numbers")
    return make_pipeline(encoder, DULLSVMRegressor(8, random_state=0)).fit(*flats)


def smooth(n=200, d=3):
    rng = np.random.RandomState(1)
    X = rng.normal(size=(n, d))
    return X, 100 + 10 * X[:, 0] + 5 * np.sin(X[:, 1]) + 2 * X[:, 2]


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [(120.0, None, None), ((110, 112), 110, 112), ((None, 95), -np.inf, 95)],
)
def test_local_models_are_brought_to_the_target(target, low, high):
    X, y = smooth()
    reg = LLSVMRegressor(6, random_state=0).fit(X, y)
    found = counterfactual(reg, X, target=target)
    before = reg.predict(X)
    if low is None:
        there = np.zeros(len(X), bool)
        np.testing.assert_array_equal(found.target, 120.0)
    else:
        there = (before >= low) & (before <= high)
        np.testing.assert_array_equal(found.target[there], before[there])
    np.testing.assert_array_equal(found.feature < 0, there)
    np.testing.assert_array_equal(found.size[there], 0)
    assert found.local_flips[~there].all()
    # The local model is at the nearest end after the exact change.
    rows = np.flatnonzero(~there)
    weights = explain(reg, X).weights[rows, 0, found.feature[rows]]
    reached = before[rows] + weights * found.change[rows]
    np.testing.assert_allclose(reached, found.target[rows], rtol=1e-9)
    smallest = np.abs(found.target[rows] - before[rows]) / np.abs(
        explain(reg, X).weights[rows, 0]
    ).max(axis=1)
    np.testing.assert_allclose(found.size[rows], smallest)
    # The real model says what it says, and the flag tells whether that was wanted.
    moved = X.copy()
    moved[rows, found.feature[rows]] = found.to[rows]
    np.testing.assert_allclose(found.reached, reg.predict(moved))
    inside = (found.reached >= found.target) != (before >= found.target)
    if low is not None:
        inside = (found.reached >= low) & (found.reached <= high)
    np.testing.assert_array_equal(found.model_flips, inside & ~there)
    # A narrow range is easily missed by a local model that moves along.
    least = 0.3 if target == (110, 112) else 0.8
    assert found.model_flips.sum() > least * len(rows)


def test_only_valid_values_are_proposed(flats, fitted):
    frame, _ = flats
    found = counterfactual(fitted, frame, target=300, X_reference=frame)
    assert (found.feature >= 0).mean() > 0.8
    assert found.model_flips[found.feature >= 0].all()
    assert set(found.names) - {""} == {"size", "rooms", "place"}
    for name, to in zip(found.names, found.to, strict=True):
        if name == "place":
            assert to in {"city", "suburb", "village"}
        elif name == "rooms":
            assert to in range(1, 6)
        elif name == "size":
            assert frame["size"].min() <= to <= frame["size"].max()
    local = counterfactual(fitted, frame, target=300, X_reference=frame, search="local")
    assert local.local_flips[local.feature >= 0].all()
    assert (local.feature >= 0).sum() < (found.feature >= 0).sum()
    # The whole model is asked: numbers end at the target itself.
    numbers = np.isin(found.names, ["size"]) & np.isfinite(found.change)
    np.testing.assert_allclose(found.reached[numbers], 300, atol=0.01)


def test_whole_models_of_classes_are_asked_too():
    X, y = smooth()
    clf = LLSVMClassifier(5, random_state=0).fit(X, np.digitize(y, [95, 105]))
    found = counterfactual(clf, X, X_reference=X, search="model")
    rows = found.feature >= 0
    assert rows.all()
    assert found.model_flips.all()
    np.testing.assert_array_equal(found.target, found.reached)
    moved = X.copy()
    moved[np.arange(len(X)), found.feature] = found.to
    np.testing.assert_array_equal(clf.predict(moved), found.reached)
    # No smaller change of that column is known to the local model and does.
    local = counterfactual(clf, X, X_reference=X)
    both = local.model_flips & (local.feature >= 0)
    assert (found.size[both] <= 1.011 * local.size[both] + 1e-9).mean() > 0.9


def test_whole_numbers_do_not_jump_over_a_range():
    X = np.arange(40, dtype=np.int64).reshape(-1, 1)
    reg = LLSVMRegressor(1, alpha=1e-9, random_state=0).fit(X.astype(float), 3.0 * X)
    found = counterfactual(reg, X, target=(30.5, 31.5), X_reference=X)
    assert (found.feature == -1).all()
    assert np.isinf(found.size).all()
    found = counterfactual(reg, X, target=(29.5, 31.5), X_reference=X)
    np.testing.assert_array_equal(found.to[found.feature >= 0], 10)
    assert (found.feature >= 0).sum() == 39
    assert found.size[10] == 0


def test_bins_are_brought_near_the_target(flats):
    frame, price = flats
    encoder = TableEncoder(numbers="piecewise", target_type="numbers")
    reg = make_pipeline(encoder, DULLSVMRegressor(4, random_state=0)).fit(frame, price)
    found = counterfactual(
        reg, frame, target=(300, None), features=["size"], X_reference=frame,
        search="local",
    )  # fmt: skip
    known = (found.feature >= 0) & frame["size"].notna().to_numpy()
    assert known.sum() > 20
    assert found.local_flips[found.feature >= 0].all()
    # Halving ends at the edge of the range: a hair less does not reach it.
    assert (found.change[known] > 0).all()


def test_several_targets_and_a_table():
    X, y = smooth()
    reg = LLSVMRegressor(4, random_state=0).fit(X, np.column_stack([y, -y]))
    first = counterfactual(reg, X[:20], target=110, output="y0")
    second = counterfactual(reg, X[:20], target=-110, output="y1")
    np.testing.assert_array_equal(first.feature, second.feature)
    np.testing.assert_allclose(first.change, second.change)
    with pytest.raises(ValueError, match=r"output=None: .* 2 targets.*'y0', 'y1'"):
        counterfactual(reg, X, target=110)


def test_the_regressor_to_reach_for(flats):
    frame, price = flats
    reg = LocallyLinearRegressor(effort=0, random_state=0).fit(frame, price)
    found = counterfactual(reg, frame[:40], target=300, X_reference=frame)
    text = str(found)
    assert "-> 300" in text
    assert "The real model is brought there in" in text
    assert "reaches" in text
    assert "<table>" in found._repr_html_()
    assert list(found.to_frame()["target"].unique()) == [300.0]


def test_rows_that_are_there_need_nothing():
    X, y = smooth()
    reg = LLSVMRegressor(4, random_state=0).fit(X, y)
    found = counterfactual(reg, X, target=(-1e6, 1e6))
    assert (found.size == 0).all()
    assert not found.model_flips.any()
    assert "(none needed)" in str(found)


@pytest.mark.parametrize("falling", [False, True])
def test_transformed_targets_are_reached_in_the_unit_of_y(falling):
    X, y = smooth()
    y = np.exp(y / 40)
    sign = -1 if falling else 1
    transformer = FunctionTransformer(
        lambda v: sign * np.log(v), lambda v: np.exp(sign * v), check_inverse=False
    )
    inner = make_pipeline(StandardScaler(), LLSVMRegressor(6, random_state=0))
    reg = TransformedTargetRegressor(inner, transformer=transformer).fit(X, y)
    told = explain(reg, X[:5])
    logs = sign * np.log(reg.predict(X[:5]))
    np.testing.assert_allclose(told.scores[:, 0], logs)
    np.testing.assert_allclose(told.predicted, reg.predict(X[:5]))
    assert regions(reg, X, y)[0].r2 > 0.5
    assert len(global_effects(reg, X).effects) == 3
    for target in (14.0, (14, 15), (None, 9), (14, None)):
        found = counterfactual(reg, X, target=target)
        rows = found.feature >= 0
        assert found.local_flips[rows].all()
        assert found.model_flips[rows].mean() > (0.3 if target == (14, 15) else 0.8)
        assert set(found.target[rows]) <= {14.0, 15.0, 9.0}
        moved = X.copy()
        moved[rows, found.feature[rows]] = found.to[rows]
        np.testing.assert_allclose(found.reached, reg.predict(moved))
        asked = counterfactual(reg, X, target=target, X_reference=X)
        rows = asked.feature >= 0
        assert asked.model_flips[rows].all()
        np.testing.assert_allclose(asked.reached[rows], asked.target[rows], rtol=0.01)
    with pytest.raises(ValueError, match="outside of what FunctionTransformer"):
        counterfactual(reg, X, target=-1)


def test_mixed_columns_change_behind_the_step():
    X, y = smooth()
    inner = make_pipeline(PCA(random_state=0), LLSVMRegressor(3, random_state=0))
    reg = TransformedTargetRegressor(inner, transformer=StandardScaler()).fit(X, y)
    found = counterfactual(reg, X, target=110)
    assert set(found.names) <= {"pca0", "pca1", "pca2"}
    np.testing.assert_allclose(found.predicted, reg.predict(X))
    assert found.model_flips.mean() > 0.8


@pytest.mark.parametrize("target", ["300", (3, 2), (None, None), (1, 1), (1, 2, 3)])
def test_wrong_targets_are_named(target):
    X, y = smooth()
    reg = LLSVMRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="choose a number to reach, or a pair"):
        counterfactual(reg, X, target=target)


def test_targets_are_for_regressors():
    X, y = smooth()
    reg = LLSVMRegressor(3, random_state=0).fit(X, y)
    constant = counterfactual(reg, X[:3], target=1e9, X_reference=X)
    assert (constant.feature == -1).all()
    with pytest.raises(ValueError, match="needs the number to reach, target=300"):
        counterfactual(reg, X)
    clf = LLSVMClassifier(3, random_state=0).fit(X, y > 100)
    with pytest.raises(ValueError, match="search='both': choose"):
        counterfactual(clf, X, search="both")
    with pytest.raises(ValueError, match="target=3 is for regressors"):
        counterfactual(clf, X, target=3)


def test_displays(flats, fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    frame, price = flats
    shown = RegionDisplay.from_estimator(fitted, frame, price)
    title = shown.ax_.flat[0].get_title()
    assert title == "Local models: rows, mean of y, quality"
    drawn = shown.ax_.flat[1].lines[0].get_ydata()
    np.testing.assert_allclose(drawn, [region.mean for region in shown.regions])
    names = [text.get_text() for text in shown.ax_.flat[2].get_legend().get_texts()]
    assert names == ["overlap", "R2"]
    RegionDisplay.from_estimator(fitted, frame)
    EffectDisplay.from_estimator(fitted, frame)
    ImportanceDisplay.from_estimator(fitted, frame)
    ContributionDisplay.from_estimator(fitted, frame, row=0)
    X, y = smooth()
    watched = DULLSVMRegressor(4, early_stopping=True, random_state=0).fit(X, y)
    curves = HistoryDisplay.from_estimator(watched)
    titles = [ax.get_title() for ax in np.ravel(curves.ax_)]
    assert any(title.startswith("Held-out D2 (best 0.") for title in titles)
    pyplot.close("all")


def test_notebooks_and_shap(flats, fitted, monkeypatch):
    frame, price = flats
    told = explain(fitted, frame[:2])
    for made in (told, regions(fitted, frame, price), global_effects(fitted, frame)):
        assert "<table" in made._repr_html_()
    shap = ModuleType("shap")
    shap.Explanation = lambda **given: given
    monkeypatch.setitem(sys.modules, "shap", shap)
    given = told.to_shap()
    total = given["values"].sum(axis=1) + given["base_values"]
    np.testing.assert_allclose(total, fitted.predict(frame[:2]), rtol=1e-5)


def test_log_links_reach_numbers_in_the_unit_of_y():
    X, y = smooth()
    reg = DULLSVMRegressor(4, loss="gamma", random_state=0).fit(X, y)
    found = counterfactual(reg, X, target=110, X_reference=X)
    rows = found.feature >= 0
    assert rows.any()
    np.testing.assert_allclose(found.predicted, reg.predict(X))
    np.testing.assert_allclose(found.reached[rows], 110, rtol=1e-3)
    assert (counterfactual(reg, X, target=110).target == 110).all()
