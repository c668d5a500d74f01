"""Explanations, counterfactuals and regions: exact, in order, and honest."""

import subprocess
import sys
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    LLSVMClassifierCV,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.engine.optional import install_hint
from locallin.inspection import Region, counterfactual, explain, regions

few = {"max_iter": 5, "random_state": 0}
ESTIMATORS = {
    "llsvm": LLSVMClassifier(8, random_state=0),
    "inverse": LLSVMClassifier(8, coding="inverse-distance", random_state=0),
    "constant": LLSVMClassifier(8, local_model="constant", random_state=0),
    "cv": LLSVMClassifierCV(8, random_state=0),
    "sapl": SAPLClassifier(8, **few),
    "du": DULLSVMClassifier(8, **few),
    "ml3": ML3Classifier(4, **few),
    "atlas": AtlasClassifier(
        Atlas(2, mdl=1.0, random_state=0), kernel="linear", random_state=0
    ),
    "quadratic": AtlasClassifier(
        Atlas(2, mdl=1.0, random_state=0), kernel="quadratic-cross", random_state=0
    ),
}
LINEAR = [name for name in ESTIMATORS if name != "constant"]


def two_of(blobs, n_classes, dtype=np.float64, layout=np.asarray):
    X, y, _ = blobs
    keep = y < n_classes
    return layout(X[keep].astype(dtype)), y[keep]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.mark.in_turn
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_contributions_add_up_to_the_scores(name, n_classes, dtype, layout, blobs):
    X, y = two_of(blobs, n_classes, dtype, layout)
    clf = ESTIMATORS[name].fit(X, y)
    found = explain(clf, X)
    scores = clf.decision_function(X).reshape(X.shape[0], -1)
    assert_array_equal(found.scores, scores)
    total = found.contributions.sum(axis=2) + found.bias
    tight = 1e-12 if dtype == np.float64 else 1e-5
    assert_allclose(total, scores, rtol=tight, atol=20 * tight)
    assert found.contributions.dtype == dtype
    assert_array_equal(found.predicted, clf.predict(X))
    assert_array_equal(found.classes, clf.classes_ if n_classes > 2 else [1])
    assert len(found) == X.shape[0]


def test_contributions_are_weight_times_feature(blobs):
    X, y = two_of(blobs, 3)
    clf = ESTIMATORS["llsvm"].fit(X, y)
    found = explain(clf, X)
    assert_array_equal(found.weights, clf.local_coef(X))
    assert_array_equal(found.contributions, clf.local_coef(X) * X[:, None])
    assert_array_equal(found.bias, clf.local_intercept(X))
    assert_array_equal(found.values, X)


@pytest.mark.parametrize("space", ["input", "mapped"])
def test_features_of_a_map_belong_to_columns(space, blobs):
    X, y = two_of(blobs, 3)
    X = np.abs(X)
    feature_map = IntersectionSampler(sample_steps=2)
    clf = LLSVMClassifier(
        5, feature_map=feature_map, coding_space=space, random_state=0
    ).fit(X, y)
    found = explain(clf, X)
    assert found.contributions.shape == (len(X), 3, 6)
    total = found.contributions.sum(axis=2) + found.bias
    assert_allclose(total, clf.decision_function(X), atol=1e-12)
    assert_array_equal(found.feature_names, [f"x{i}" for i in range(6)])
    assert_array_equal(found.values, X)
    assert np.isnan(found.weights).all()
    parts = clf.local_coef(X) * clf.feature_map_.transform(X)[:, None]
    expected = parts.reshape(len(X), 3, 3, 6).sum(axis=2)
    assert_allclose(found.contributions, expected, atol=1e-12)
    changes = counterfactual(clf, X)
    usable = changes.feature >= 0
    assert usable.any()
    assert changes.local_flips[usable].all()


def test_a_map_that_mixes_columns(blobs):
    X, y = two_of(blobs, 3)
    sampler = RBFSampler(n_components=4, random_state=0)
    clf = LLSVMClassifier(5, feature_map=sampler, random_state=0).fit(X, y)
    found = explain(clf, X)
    assert found.feature_names.tolist() == [f"rbfsampler{i}" for i in range(4)]
    assert_allclose(found.values, clf.feature_map_.transform(X))
    with pytest.raises(ValueError, match="feature_map=RBFSampler"):
        counterfactual(clf, X)


def test_a_map_without_names(blobs):
    X, y = two_of(blobs, 2)
    nameless = FunctionTransformer(np.square)
    clf = LLSVMClassifier(5, feature_map=nameless, random_state=0).fit(X, y)
    assert explain(clf, X[:1]).feature_names.tolist() == [f"phi{i}" for i in range(6)]


def test_names_go_through_a_pipeline(iris):
    X, y = iris
    clf = LLSVMClassifier(8, random_state=0)
    pipeline = make_pipeline(StandardScaler(), clf).fit(X, y)
    found = explain(pipeline, X)
    assert_array_equal(found.feature_names, X.columns)
    assert_array_equal(found.values, X)
    assert_allclose(
        found.weights, clf.local_coef(pipeline[:-1].transform(X)) / X.std(ddof=0).values
    )
    total = found.contributions.sum(axis=2) + found.bias
    assert_allclose(total, pipeline.decision_function(X), atol=1e-12)

    mapped = make_pipeline(RBFSampler(n_components=3, random_state=0), clf).fit(X, y)
    names = ["rbfsampler0", "rbfsampler1", "rbfsampler2"]
    assert explain(mapped, X[:1]).feature_names.tolist() == names
    nameless = make_pipeline(FunctionTransformer(np.asarray), clf).fit(X, y)
    assert explain(nameless, X[:1]).feature_names.tolist() == ["x0", "x1", "x2", "x3"]
    framed = make_pipeline(StandardScaler().set_output(transform="pandas"), clf)
    nested = make_pipeline(StandardScaler(), framed).fit(X, y)
    assert explain(nested, X[:1]).feature_names.tolist() == list(X.columns)
    alone = make_pipeline(clf).fit(X, y)
    assert explain(alone, X[:1]).feature_names.tolist() == list(X.columns)


def test_searches_and_frozen_models_are_opened(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), LLSVMClassifier(8, random_state=0))
    grid = {"llsvmclassifier__alpha": [0.01, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    for fitted in (search, FrozenEstimator(search)):
        found = explain(fitted, X)
        total = found.contributions.sum(axis=2) + found.bias
        assert_allclose(total, search.decision_function(X), atol=1e-12)
        assert_array_equal(found.feature_names, X.columns)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame, iris):
    X, y = iris
    X = frame(X.to_dict("list"))
    clf = LLSVMClassifier(8, random_state=0).fit(X, y.to_numpy())
    assert list(explain(clf, X[:3]).feature_names) == list(X.columns)
    assert counterfactual(clf, X[:3]).local_flips.all()


def test_chosen_classes(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = LLSVMClassifier(8, random_state=0).fit(X, names)
    every = explain(clf, X)
    some = explain(clf, X, classes=["virginica", "setosa"])
    assert some.classes.tolist() == ["virginica", "setosa"]
    assert_array_equal(some.contributions, every.contributions[:, [2, 0]])
    one = explain(clf, X, classes="setosa")
    assert_array_equal(one.scores, every.scores[:, :1])
    with pytest.raises(ValueError, match=r"does not know 'rose', choose among \['set"):
        explain(clf, X, classes=["rose"])


def test_the_first_of_two_classes_has_the_opposite_score(moons):
    X, y = moons
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    second, first = explain(clf, X), explain(clf, X, classes=[0])
    assert_array_equal(first.scores, -second.scores)
    assert_array_equal(first.contributions, -second.contributions)
    assert_array_equal(first.bias, -second.bias)
    assert explain(clf, X, classes=[0, 1]).scores.shape == (300, 2)


@pytest.mark.in_turn
@pytest.mark.parametrize("name", ["llsvm", "ml3", "atlas"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_reference_moves_weight_to_the_bias(name, dtype, blobs):
    X, y = two_of(blobs, 3, dtype)
    clf = ESTIMATORS[name].fit(X, y)
    mean = X.mean(axis=0)
    plain, found = explain(clf, X), explain(clf, X, reference=mean)
    assert found.contributions.dtype == found.bias.dtype == dtype
    assert_array_equal(found.scores, plain.scores)
    assert_array_equal(found.values, plain.values)
    assert_array_equal(found.contributions, plain.weights * (X - mean)[:, None])
    total = found.contributions.sum(axis=2) + found.bias
    tight = 1e-11 if dtype == np.float64 else 1e-4
    assert_allclose(total, plain.scores, atol=tight)
    with pytest.raises(ValueError, match=r"reference has shape \(2,\), but X has"):
        explain(clf, X, reference=[0, 0])
    with pytest.raises(ValueError, match="reference is no row that can be scored"):
        explain(clf, X, reference=[np.nan] * 6)


def test_tables_are_sorted_and_add_up(blobs):
    X, y = two_of(blobs, 4)
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    found = explain(clf, X[:5], top=2)
    frame = found.to_frame()
    assert list(frame.columns) == ["row", "class", "feature", "value", "contribution"]
    assert len(frame) == 5 * 4 * 4
    sums = frame.groupby(["row", "class"])["contribution"].sum()
    assert_allclose(sums.to_numpy(), found.scores.ravel(), atol=1e-12)
    for _, part in frame.groupby(["row", "class"]):
        sizes = part["contribution"].abs().to_numpy()
        assert sizes[0] >= sizes[1]
        assert part["feature"].tolist()[2:] == ["(4 other features)", "(bias)"]
    whole = explain(clf, X[:5])
    assert len(whole.to_frame()) == 5 * 4 * 7
    assert [t[0] for t in explain(clf, X[:1], top=5).ranked()][5] == "(1 other feature)"
    terms = whole.ranked(2)
    sizes = [abs(contribution) for *_, contribution in terms[:-1]]
    assert sizes == sorted(sizes, reverse=True)
    winner = np.flatnonzero(clf.classes_ == found.predicted[2])[0]
    assert sum(t[2] for t in terms) == pytest.approx(whole.scores[2, winner])


def test_rows_and_text(blobs):
    X, y = two_of(blobs, 4)
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    names = ["age", "weight", "height", "pulse", "dose", "time"]
    found = explain(clf, X[:6], feature_names=names)
    third = found.row(2)
    assert len(third) == 1
    assert_array_equal(third.contributions, found.contributions[2:3])
    assert third.to_text() == found.to_text(2)
    assert found.row(-1).start == 5
    assert third.to_frame()["row"].unique().tolist() == [2]
    lines = found.to_text(2, class_label=3).splitlines()
    assert lines[0] == f"row 2: predicted {found.predicted[2]}, score of 3"
    assert lines[1].split() == ["feature", "value", "contribution"]
    assert {line.split()[0] for line in lines[2:8]} == set(names)
    assert float(lines[-1].split()[-1]) == pytest.approx(found.scores[2, 3], rel=1e-3)
    assert str(found).endswith("... and 3 more rows")
    assert str(third) == third.to_text()
    with pytest.raises(IndexError, match="row=6, but the explanation has 6 rows"):
        found.row(6)
    with pytest.raises(ValueError, match=r"class_label=9 has no score here"):
        found.to_text(0, class_label=9)


class FakeShap:
    """What ``shap.Explanation`` is called with."""

    def __init__(self, **given):
        vars(self).update(given)


def test_for_the_plots_of_shap(iris, monkeypatch):
    X, y = iris
    shap = types.ModuleType("shap")
    shap.Explanation = FakeShap
    monkeypatch.setitem(sys.modules, "shap", shap)
    found = explain(LLSVMClassifier(8, random_state=0).fit(X, y), X)
    told = found.to_shap()
    assert told.values.shape == (150, 4, 3)
    total = told.values.sum(axis=1) + told.base_values
    assert_allclose(total, found.scores, atol=1e-12)
    assert told.feature_names == list(X.columns)
    assert told.output_names == ["0", "1", "2"]
    assert_array_equal(told.data, X)
    two = explain(LLSVMClassifier(8, random_state=0).fit(X, y == 1), X).to_shap()
    assert two.values.shape == (150, 4)
    assert two.base_values.shape == (150,)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="to_shap needs shap: pip install shap"):
        found.to_shap()


def test_notebooks_show_tables(iris):
    X, y = iris
    clf = LLSVMClassifier(25, random_state=0).fit(X, y)
    html = explain(clf, X[:5], top=2)._repr_html_()
    assert html.count("<table>") == 3
    assert "and 2 more rows" in html
    assert "(2 other features)" in html
    assert counterfactual(clf, X[:5])._repr_html_().count("<tr>") == 6
    html = regions(clf, X, y)._repr_html_()
    assert html.count("<tr>") == 21
    assert "and 5 more local models" in html


def test_wrong_arguments_of_explain(moons):
    X, y = moons
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="feature_names has 3 names, but X has"):
        explain(clf, X, feature_names=["a", "b", "c"])
    for top in (0, 1.5, True):
        with pytest.raises(ValueError, match=f"top={top}: choose an integer"):
            explain(clf, X, top=top)
    with pytest.raises(
        TypeError, match=r"needs a classifier or regressor of locallin.*Logistic"
    ):
        explain(LogisticRegression().fit(X, y), X)
    with pytest.raises(NotFittedError):
        explain(LLSVMClassifier(), X)
    charts = Atlas(1, random_state=0)
    with pytest.raises(ValueError, match=r"weights of AtlasClassifier.*kernel='r"):
        explain(AtlasClassifier(charts, random_state=0).fit(X, y), X)
    pairs = AtlasClassifier(charts, kernel="linear", multi_class="ovo", random_state=0)
    with pytest.raises(ValueError, match="multi_class='ovo' counts votes"):
        explain(pairs.fit(X, y), X)


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("name", LINEAR)
def test_the_local_model_flips_at_the_claimed_value(name, n_classes, blobs):
    X, y = two_of(blobs, n_classes)
    clf = ESTIMATORS[name].fit(X, y)
    found = counterfactual(clf, X)
    coef, intercept = clf.local_coef(X), clf.local_intercept(X)
    if n_classes == 2:
        coef = np.concatenate([-coef, coef], axis=1) / 2
        intercept = np.concatenate([-intercept, intercept], axis=1) / 2
    usable = found.feature >= 0
    assert usable.mean() > 0.9
    assert found.local_flips[usable].all()
    for i in np.flatnonzero(usable):
        before, after, at = X[i].copy(), X[i].copy(), X[i].copy()
        j = found.feature[i]
        before[j] += found.change[i] * (1 - 1e-6)
        at[j] += found.change[i]
        after[j] += found.change[i] * (1 + 1e-6)
        scores = coef[i] @ np.column_stack([before, at, after]) + intercept[i][:, None]
        own = np.searchsorted(clf.classes_, found.predicted[i])
        target = np.searchsorted(clf.classes_, found.target[i])
        assert scores[:, 0].argmax() == own
        assert scores[own, 1] == pytest.approx(scores[target, 1], abs=1e-9)
        assert scores[:, 2].argmax() == target
    assert_array_equal(found.model_flips, found.reached != found.predicted)


def test_no_other_feature_needs_less(blobs):
    X, y = two_of(blobs, 5)
    clf = ESTIMATORS["llsvm"].fit(X, y)
    scale = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    found = counterfactual(clf, X[:20], scale=scale)
    coef, intercept = clf.local_coef(X[:20]), clf.local_intercept(X[:20])
    assert_allclose(found.size, np.abs(found.change) / scale[found.feature])
    for i in range(20):
        own = np.searchsorted(clf.classes_, found.predicted[i])
        for j in range(6):
            for sign in (-1, 1):
                moved = X[i].copy()
                moved[j] += sign * 0.999 * found.size[i] * scale[j]
                assert (coef[i] @ moved + intercept[i]).argmax() == own


def test_the_real_model_is_asked(moons):
    X, y = moons
    clf = LLSVMClassifier(12, alpha=1e-3, random_state=0).fit(X, y)
    found = counterfactual(clf, X, beyond=0.02)
    moved = X.copy()
    rows = np.arange(len(X))
    moved[rows, found.feature] += 1.02 * found.change
    assert_array_equal(found.reached, clf.predict(moved))
    assert 0.2 < found.model_flips.mean() < 1
    text = str(found)
    assert "stays at" in text
    flips = np.count_nonzero(found.model_flips)
    assert text.endswith(f"changes its decision in {flips} of 300 rows.")
    assert "... and 280 more rows" in text
    frame = found.to_frame()
    assert_array_equal(frame["change"], found.change)
    assert set(frame["feature"]) <= {"x0", "x1"}


def test_rivals_that_tie_do_not_hide_a_flip():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [-2.0, 0.0]] * 5)
    y = np.tile([0, 0, 1, 1], 5)
    X, y = np.vstack([X, X[2:4]]), np.r_[y, 2, 2]
    clf = LLSVMClassifier(1, random_state=0).fit(X, y)
    clf.coef_[0, 2], clf.intercept_[0, 2] = clf.coef_[0, 1], clf.intercept_[0, 1]
    found = counterfactual(clf, X[:1])
    assert found.local_flips.all()
    assert found.model_flips.all()


def test_only_some_features_may_change(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), LLSVMClassifier(8, random_state=0))
    pipeline.fit(X, y)
    by_name = counterfactual(pipeline, X, features=["sepal length (cm)"])
    assert set(by_name.names) == {"sepal length (cm)"}
    by_place = counterfactual(pipeline, X, features=[0])
    assert_array_equal(by_place.change, by_name.change)
    assert (by_name.size >= counterfactual(pipeline, X).size).all()
    for wrong in ("sepal", 4, -1):
        with pytest.raises(ValueError, match=f"features holds {wrong!r}, which is not"):
            counterfactual(pipeline, X, features=[wrong])


def test_rows_that_nothing_moves():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, -1.0], [0.0, -2.0]] * 5)
    clf = LLSVMClassifier(1, random_state=0).fit(X, X[:, 1] > 0)
    found = counterfactual(clf, X[:2], features=["x0"])
    assert_array_equal(found.feature, [-1, -1])
    assert np.isinf(found.size).all()
    assert np.isnan(found.change).all()
    assert not found.local_flips.any()
    assert not found.model_flips.any()
    assert found.names.tolist() == ["", ""]
    assert "(none)" in str(found)
    assert "search='model' may find one" in str(found)
    asked = counterfactual(clf, X[:2], features=["x0"], X_reference=X, search="model")
    assert_array_equal(asked.feature, [-1, -1])
    assert "search=" not in str(asked)


def test_wrong_arguments_of_counterfactual(moons):
    X, y = moons
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="beyond=0: choose a fraction above 0"):
        counterfactual(clf, X, beyond=0)
    with pytest.raises(ValueError, match=r"scale has shape \(3,\), but there are 2"):
        counterfactual(clf, X, scale=[1, 1, 1])
    with pytest.raises(ValueError, match="scale must be positive and finite"):
        counterfactual(clf, X, scale=[1, 0])
    constant = LLSVMClassifier(8, local_model="constant", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="local_model='constant' has none"):
        counterfactual(constant, X)


ALL = {**ESTIMATORS, "rbf": AtlasClassifier(Atlas(2, mdl=1.0), random_state=0)}


@pytest.mark.in_turn
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("name", ALL)
def test_regions_share_the_rows(name, n_classes, layout, blobs):
    X, y = two_of(blobs, n_classes, layout=layout)
    clf = ALL[name].fit(X, y)
    found = regions(clf, X, y)
    n = X.shape[0]
    assert sum(region.rows for region in found) == n
    assert sum(region.share for region in found) == pytest.approx(1)
    rows = [region.rows for region in found]
    assert rows == sorted(rows, reverse=True)
    right = sum(r.rows * r.accuracy for r in found if r.rows)
    assert right / n == pytest.approx(clf.score(X, y))
    counts = {c: sum(r.classes.get(c, 0) for r in found) for c in clf.classes_}
    assert counts == {c: np.count_nonzero(y == c) for c in clf.classes_}
    for region in found:
        assert sum(region.classes.values()) == region.rows
        assert np.isnan(region.overlap) == (region.rows == 0)
        assert (region.owner is None) == (name != "ml3")
        assert len(region.top) == (0 if name in ("constant", "rbf") else 3)
        sizes = [abs(size) for _, size in region.top]
        assert sizes == sorted(sizes, reverse=True)


def test_a_region_is_that_of_the_strongest_anchor(moons):
    X, y = moons
    clf = LLSVMClassifier(6, random_state=0).fit(X, y)
    codes = clf.coding_.transform(X).toarray()
    found = {region.model: region for region in regions(clf, X, y)}
    assert sorted(found) == list(range(6))
    for j, region in found.items():
        here = codes.argmax(axis=1) == j
        assert region.rows == here.sum()
        assert region.share == pytest.approx(codes[:, j].mean())
        assert region.overlap == pytest.approx(1 - codes[here, j].mean())
        assert region.accuracy == pytest.approx(clf.score(X[here], y[here]))
        sizes = clf.coef_[j, 0] * X.std(axis=0)
        assert dict(region.top) == pytest.approx({"x0": sizes[0], "x1": sizes[1]})


def test_models_of_ml3_belong_to_the_predicted_class(blobs):
    X, y = two_of(blobs, 3)
    clf = ML3Classifier(4, **few).fit(X, y)
    found = regions(clf, X)
    assert len(found) == 12
    predicted = clf.predict(X)
    for c in clf.classes_:
        own = [region for region in found if region.owner == c]
        assert sum(region.rows for region in own) == np.count_nonzero(predicted == c)
        assert all(set(region.classes) <= {c} for region in own)
    assert all(region.accuracy is None for region in found)


def test_regions_as_tables(iris):
    X, y = iris
    clf = make_pipeline(StandardScaler(), LLSVMClassifier(25, random_state=0)).fit(X, y)
    found = regions(clf, X, y, top=1)
    frame = found.to_frame()
    assert frame["rows"].sum() == 150
    assert "owner" not in frame
    assert "accuracy" in frame
    assert "accuracy" not in regions(clf, X).to_frame()
    text = str(found)
    assert text.splitlines()[0].split()[:5] == [
        "model", "rows", "share", "overlap", "accuracy",
    ]  # fmt: skip
    assert "accuracy" not in str(regions(clf, X))
    assert text.endswith("... and 5 more local models")
    assert len(found.to_text(None).splitlines()) == 26
    assert isinstance(found[0], Region)
    assert len(found[:3]) == 3
    assert [r.model for r in found] == [found[i].model for i in range(25)]
    named = regions(clf, X, feature_names=list("abcd"), top=None)
    assert {name for name, _ in named[0].top} == set("abcd")
    ml3 = ML3Classifier(2, **few).fit(X, y)
    assert "owner" in regions(ml3, X).to_frame()
    assert "/" in str(regions(ml3, X)).splitlines()[1]


def test_wrong_arguments_of_regions(moons):
    X, y = moons
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regions(clf, X, y[:-1])
    with pytest.raises(ValueError, match="top=-1: choose an integer"):
        regions(clf, X, top=-1)
    with pytest.raises(
        TypeError, match="regions needs a classifier or regressor of loc"
    ):
        regions(LogisticRegression().fit(X, y), X)


def test_importing_needs_neither_pandas_nor_matplotlib():
    program = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "matplotlib"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import numpy as np
from locallin import LLSVMClassifier
from locallin.inspection import HistoryDisplay, explain
X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
clf = LLSVMClassifier(1, random_state=0).fit(X, X[:, 0] > 0)
for function in (
    explain(clf, X).to_frame, lambda: HistoryDisplay.from_estimator(clf)
):
    try:
        function()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [
        "Explanation.to_frame needs pandas: pip install pandas.",
        f"matplotlib is missing for HistoryDisplay: {install_hint('plot')}.",
    ]
