"""Reasons in the user's own columns, through whatever stands before the classifier."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from locallin import (
    IntersectionSampler,
    LLSVMClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    TableEncoder,
)
from locallin.inspection import counterfactual, explain, global_effects, regions
from locallin.inspection.origins import trace
from locallin.inspection.unwrap import View

COLUMNS = ["income", "home", "age", "job", "owner"]


class Rungs(TransformerMixin, BaseEstimator):
    """A user's own transformer, which tells where its outputs come from."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        X = np.nan_to_num(np.asarray(X, dtype=float))
        return np.hstack([X, X > 30, X.sum(axis=1, keepdims=True)])

    def get_feature_origins(self):
        return np.r_[np.tile(np.arange(self.n_features_in_), 2), -1]


class Doubled(Rungs):
    """One that also tells how fast they move."""

    def transform(self, X):
        X = np.asarray(X, dtype=float)
        return np.hstack([2 * X, -X / 4])

    def get_feature_origins(self):
        return np.tile(np.arange(self.n_features_in_), 2)

    def get_feature_slopes(self):
        return np.repeat([2, -0.25], self.n_features_in_)


@pytest.fixture(scope="module")
def table():
    """Numbers, levels and truth values, some of them missing: (X, y)."""
    rng = np.random.RandomState(0)
    n = 160
    X = pd.DataFrame(
        {
            "income": rng.lognormal(8, 1, n),
            "home": rng.choice(["rent", "own", "free"], n),
            "age": rng.randint(18, 80, n),
            "job": rng.choice(["fixed", "freelance", "none", "other"], n),
            "owner": rng.rand(n) < 0.4,
        }
    )
    score = (
        np.log(X["income"]) - 8 + (X["home"] == "own") - 0.02 * X["age"]
        + (X["job"] == "fixed") + 0.3 * rng.normal(size=n)
    )  # fmt: skip
    y = np.where(score > score.median(), "good", "bad")
    X.loc[rng.rand(n) < 0.15, "income"] = np.nan
    X = X.astype({"home": object, "job": object})
    X.loc[rng.rand(n) < 0.1, "job"] = np.nan
    return X, y


def llsvm():
    return LLSVMClassifier(4, random_state=0)


def mixed(numbers, words):
    return ColumnTransformer(
        [("numbers", numbers, ["income", "age"]), ("words", words, ["home", "job"])],
        remainder="passthrough",
        sparse_threshold=0,
    )


bins = partial(KBinsDiscretizer, quantile_method="averaged_inverted_cdf")
filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
coded = OneHotEncoder(handle_unknown="ignore")
NUMBERS = {
    "standard": filled,
    "robust": make_pipeline(SimpleImputer(strategy="median"), RobustScaler()),
    "range": make_pipeline(KNNImputer(add_indicator=True), MinMaxScaler()),
    "clip": make_pipeline(SimpleImputer(), MinMaxScaler(clip=True)),
    "power": make_pipeline(PowerTransformer(), SimpleImputer()),
    "quantile": make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=20)),
    "bins": make_pipeline(
        SimpleImputer(),
        KBinsDiscretizer(
            4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
        ),
    ),
    "ranks": make_pipeline(
        SimpleImputer(),
        bins(4, encode="ordinal"),
    ),
    "splines": make_pipeline(SimpleImputer(), SplineTransformer(4), MaxAbsScaler()),
    "selected": make_pipeline(filled, VarianceThreshold(), SelectKBest(k=2)),
    "own": Rungs(),
    "union": make_pipeline(
        SimpleImputer(),
        FeatureUnion([("a", StandardScaler()), ("b", Binarizer(threshold=30))]),
    ),
    "waves": make_pipeline(SimpleImputer(), AdditiveChi2Sampler()),
    "declared": FunctionTransformer(np.nan_to_num, feature_names_out="one-to-one"),
    "pca": make_pipeline(filled, PCA(2)),
    "products": make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2)),
}
WORDS = {
    "one-hot": coded,
    "first": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "rare": OneHotEncoder(min_frequency=35, handle_unknown="infrequent_if_exist"),
    "filled": make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), coded),
    "numbers": OrdinalEncoder(encoded_missing_value=-1),
    "means": TargetEncoder(),
}


def adds_up(found, clf, X):
    total = found.contributions.sum(axis=2) + found.bias
    scores = View(clf, X, "test").classifier.decision_function(View(clf, X, "t").rows)
    assert_allclose(total, scores.reshape(len(total), -1), atol=1e-9)
    assert_array_equal(found.scores, scores.reshape(len(total), -1))
    assert_array_equal(found.predicted, clf.predict(X))


@pytest.mark.in_turn
@pytest.mark.filterwarnings("ignore::locallin.FeatureScaleWarning")
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_one_contribution_for_each_column(numbers, words, table):
    X, y = table
    clf = make_pipeline(mixed(NUMBERS[numbers], WORDS[words]), llsvm()).fit(X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    names = found.feature_names.tolist()
    assert set(names) >= {"home", "job", "owner"}
    assert len(set(names)) == len(names)
    if numbers != "selected":
        n_mixed = {"pca": 2, "products": 2, "own": 1}.get(numbers, 0)
        assert sum(name not in COLUMNS for name in names) == n_mixed
        assert names[: len(names) - n_mixed] == [c for c in COLUMNS if c in names]
    job = names.index("job")
    gaps = X["job"].isna().to_numpy()
    assert_array_equal(found.values[~gaps, job], X["job"][~gaps])
    assert all(value != value for value in found.values[gaps, job])
    assert np.isnan(found.weights[:, :, job]).all()
    text = found.to_text(int(np.flatnonzero(gaps)[0]))
    assert any(line.split()[:2] == ["job", "missing"] for line in text.splitlines())


def test_contributions_are_those_of_the_features_of_a_column(table):
    X, y = table
    clf = make_pipeline(mixed(filled, coded), llsvm()).fit(X, y)
    found = explain(clf, X)
    inner = clf[:-1].transform(X).astype(float)
    parts = clf[-1].local_coef(inner)[:, 0] * inner
    names = clf[:-1].get_feature_names_out()
    for j, column in enumerate(COLUMNS):
        ends = (f"__{column}", f"_{column}", f"__{column}_")
        own = [n.endswith(ends[:2]) or ends[2] in n for n in names]
        assert_allclose(found.contributions[:, 0, j], parts[:, own].sum(axis=1))
    age = COLUMNS.index("age")
    place = list(names).index("numbers__age")
    expected = clf[-1].local_coef(inner)[:, 0, place] / X["age"].std(ddof=0)
    assert_allclose(found.weights[:, 0, age], expected)


def test_weights_are_slopes_of_the_local_model(table):
    X, y = table
    numbers = make_pipeline(SimpleImputer(), RobustScaler(), MinMaxScaler((-1, 3)))
    clf = make_pipeline(mixed(numbers, coded), llsvm()).fit(X, y)
    found = explain(clf, X)
    more = X.assign(age=X["age"] + 7)
    coef, bias = (f(clf[:-1].transform(X)) for f in (
        clf[-1].local_coef, clf[-1].local_intercept))  # fmt: skip
    moved = np.einsum("nsd,nd->ns", coef, clf[:-1].transform(more).astype(float)) + bias
    slopes = (moved - found.scores) / 7
    assert_allclose(found.weights[:, :, COLUMNS.index("age")], slopes, atol=1e-12)


def test_arrow_tables_are_explained(table):
    arrow = pytest.importorskip("pyarrow")
    X, y = table
    X = arrow.table({name: X[name].tolist() for name in ("income", "home", "age")})
    clf = make_pipeline(TableEncoder(), LLSVMClassifier(3, random_state=0)).fit(X, y)
    found = explain(clf, X.slice(0, 4))
    assert found.values[:, 2].tolist() == X["age"].slice(0, 4).to_pylist()
    changes = counterfactual(clf, X.slice(0, 4), X_reference=X)
    assert len(changes.to_frame()) == 4
    assert len(global_effects(clf, X).importance) == 3


@pytest.mark.in_turn
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("classifier", [llsvm(), ML3Classifier(3, random_state=0)])
def test_frames_and_many_classes(frame, classifier, table):
    X, _ = table
    y = np.digitize(X["age"], [30, 50, 65])
    X = frame({name: X[name].tolist() for name in ("income", "home", "age")})
    clf = make_pipeline(
        ColumnTransformer([("n", filled, ["income", "age"]), ("w", coded, ["home"])]),
        classifier,
    ).fit(X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    assert found.feature_names.tolist() == ["income", "home", "age"]
    told = {name for region in regions(clf, X, y, top=None) for name, _ in region.top}
    assert told == {"income", "home", "age"}
    changes = counterfactual(clf, X, X_reference=X)
    assert changes.local_flips[changes.feature >= 0].all()


def test_positions_masks_slices_and_selectors():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 6))
    y = X[:, 0] + X[:, 4] > 0
    steps = ColumnTransformer(
        [
            ("a", StandardScaler(), slice(4, 6)),
            ("b", bins(3),
             [False, True, False, False, False, False]),
            ("c", "passthrough", [-6]),
            ("d", "drop", [2]),
            ("e", MaxAbsScaler(), lambda X: [3]),
        ]
    )  # fmt: skip
    clf = make_pipeline(steps, llsvm()).fit(X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    assert found.feature_names.tolist() == ["x0", "x1", "x3", "x4", "x5"]
    assert_array_equal(found.values, X[:, [0, 1, 3, 4, 5]])
    frame = pd.DataFrame(X, columns=list("abcdef"))
    steps = ColumnTransformer(
        [("n", StandardScaler(), make_column_selector("[ab]")),
         ("s", MinMaxScaler(), slice("d", "f"))]
    )  # fmt: skip
    clf = make_pipeline(steps, llsvm()).fit(frame, y)
    assert explain(clf, frame).feature_names.tolist() == list("abdef")
    named = explain(clf, frame, feature_names=list("uvwxyz"))
    assert named.feature_names.tolist() == list("uvxyz")


@pytest.mark.filterwarnings("ignore:Skipping features without any observed")
def test_columns_without_values_are_left_out():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4))
    X[:, 1] = np.nan
    X[::7, 2] = np.nan
    y = X[:, 0] > 0
    imputer = SimpleImputer(add_indicator=True)
    clf = make_pipeline(imputer, StandardScaler(), llsvm()).fit(X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    # The gaps of the second column are told, and they are all there is of it.
    assert found.feature_names.tolist() == ["x0", "x1", "x2", "x3"]
    told = MissingIndicator(features="all").fit(X)
    assert_array_equal(trace(told, 4).origins, np.arange(4))


def test_sparse_rows():
    X = sparse.random(80, 30, 0.2, random_state=0, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() > X.sum() / 80
    steps = make_pipeline(MaxAbsScaler(), SelectKBest(k=7))
    clf = make_pipeline(steps, llsvm()).fit(X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    kept = steps[-1].get_support(indices=True)
    assert_array_equal(found.values, X.toarray()[:, kept])
    assert found.feature_names.tolist() == [f"x{i}" for i in kept]
    assert counterfactual(clf, X, X_reference=X).feature.shape == (80,)


def test_words_of_texts():
    texts = ["good film", "bad film", "good plot", "bad plot", "so good", "so bad"] * 5
    y = np.array([1, 0, 1, 0, 1, 0] * 5)
    clf = make_pipeline(CountVectorizer(), llsvm()).fit(texts, y)
    found = explain(clf, texts)
    adds_up(found, clf, texts)
    assert set(found.feature_names) == {"bad", "film", "good", "plot", "so"}
    X = pd.DataFrame({"text": texts, "n": np.arange(30.0)})
    steps = ColumnTransformer(
        [("words", CountVectorizer(), "text"), ("n", StandardScaler(), ["n"])]
    )
    found = explain(make_pipeline(steps, llsvm()).fit(X, y), X)
    assert found.feature_names.tolist()[:2] == ["n", "words__bad"]


@given(
    order=st.permutations(["scale", "range", "select", "powers", "own", "bins"]),
    n=st.integers(1, 4),
)
def test_any_chain_adds_up(order, n):
    rng = np.random.RandomState(len(order[0]))
    X = rng.normal(size=(40, 4))
    y = X[:, 0] * X[:, 1] > 0
    kinds = {
        "scale": StandardScaler(), "range": MinMaxScaler(), "own": Rungs(),
        "select": SelectKBest(k=2), "powers": PolynomialFeatures(2),
        "bins": bins(3, encode="onehot-dense", strategy="uniform"),
    }  # fmt: skip
    steps = [kinds[name] for name in order[:n]]
    clf = make_pipeline(*steps, LLSVMClassifier(2, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, on constant features
        clf.fit(X, y)
    found = explain(clf, X[:5])
    adds_up(found, clf, X[:5])
    mixes = {"powers", "own"} & set(order[:n])
    assert mixes or set(found.feature_names) <= {"x0", "x1", "x2", "x3"}


def test_origins_that_cannot_be(table):
    class Wrong(Rungs):
        def get_feature_origins(self):
            return [0, 9]

    X, y = table
    clf = make_pipeline(Wrong(), llsvm()).fit(X[["age"]], y)
    with pytest.raises(ValueError, match=r"Wrong\.get_feature_origins must return one"):
        explain(clf, X[["age"]])


def test_slopes_that_a_transformer_tells(table):
    X, y = table
    X = X[["age"]]
    clf = make_pipeline(Doubled(), MaxAbsScaler(), llsvm()).fit(X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    inner = clf[:-1].transform(X)
    slopes = [2, -0.25] / clf[1].scale_
    assert_allclose(found.weights[:, :, 0], clf[-1].local_coef(inner) @ slopes)
    moved = counterfactual(clf, X, X_reference=X)
    assert moved.local_flips[moved.feature >= 0].all()

    class Wrong(Doubled):
        def get_feature_slopes(self):
            return [1.0]

    clf = make_pipeline(Wrong(), llsvm()).fit(X, y)
    with pytest.raises(ValueError, match=r"Wrong\.get_feature_slopes must return one"):
        explain(clf, X)


@pytest.mark.parametrize("numbers", ["standard", "robust", "piecewise"])
def test_tables_as_they_come(numbers, table):
    X, y = table
    X = X.assign(since=pd.Timestamp("2024-02-29") + pd.to_timedelta(X["age"], "D"))
    for encoder in (
        TableEncoder(numbers=numbers),
        TableEncoder(numbers=numbers, target_means="all", random_state=0),
    ):
        clf = make_pipeline(encoder, llsvm()).fit(X, y)
        found = explain(clf, X)
        total = found.contributions.sum(axis=2) + found.bias
        assert_allclose(total, found.scores, atol=1e-5)
        assert found.feature_names.tolist() == [*COLUMNS, "since"]
        gaps = X["income"].isna().to_numpy()
        row = found.to_text(int(np.flatnonzero(gaps)[0]))
        assert any(
            line.split()[:2] == ["income", "missing"] for line in row.split("\n")
        )
        changes = counterfactual(clf, X, X_reference=X)
        usable = changes.feature >= 0
        assert changes.local_flips[usable].mean() > 0.95
        for name, to in zip(changes.names[usable], changes.to[usable], strict=True):
            if name in ("home", "job"):
                assert to in set(X[name].dropna())
            elif name in ("income", "age"):
                assert X[name].min() <= to <= X[name].max()
        assert "00:00:00" not in found.to_text(0)


def test_bins_of_numbers():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 3))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    clf = make_pipeline(PiecewiseLinearEncoder(6), llsvm()).fit(X, y)
    found = explain(clf, X)
    total = found.contributions.sum(axis=2) + found.bias
    assert_allclose(total, found.scores, atol=1e-5)
    assert_array_equal(found.values, X)
    mapped = LLSVMClassifier(
        4, feature_map=PiecewiseLinearEncoder(6), random_state=0
    ).fit(X, y)
    found = explain(mapped, X)
    assert found.feature_names.tolist() == ["x0", "x1", "x2"]
    total = found.contributions.sum(axis=2) + found.bias
    assert_allclose(total, found.scores, atol=1e-5)


def test_bent_numbers_move_no_further_than_needed(table):
    X, y = table
    X = X[["income"]].fillna(100.0)
    clf = make_pipeline(PowerTransformer(), llsvm()).fit(X, y)
    found = counterfactual(clf, X, X_reference=X)
    coef = clf[-1].local_coef(clf[:-1].transform(X))[:, 0, 0]
    bias = clf[-1].local_intercept(clf[:-1].transform(X))[:, 0]
    exact = clf[0].inverse_transform((-bias / coef)[:, None])[:, 0]
    usable = found.feature >= 0
    assert usable.any()
    assert_allclose(found.to[usable], exact[usable], rtol=1e-3)
    assert found.local_flips[usable].all()


WRAPPED = {
    "frozen": lambda clf, X, y: FrozenEstimator(clf.fit(X, y)),
    "search": lambda clf, X, y: GridSearchCV(
        clf, {"llsvmclassifier__alpha": [0.1]}, cv=2
    ).fit(X, y),
    "calibrated": lambda clf, X, y: CalibratedClassifierCV(
        clf, ensemble=False, cv=2
    ).fit(X, y),
    "frozen and calibrated": lambda clf, X, y: CalibratedClassifierCV(
        FrozenEstimator(clf.fit(X, y))
    ).fit(X, y),
    "threshold": lambda clf, X, y: FixedThresholdClassifier(
        clf, threshold=0.4, response_method="decision_function", pos_label="good"
    ).fit(X, y),
    "tuned": lambda clf, X, y: TunedThresholdClassifierCV(
        CalibratedClassifierCV(clf, ensemble=False, cv=2),
        scoring="balanced_accuracy", cv=2,
    ).fit(X, y),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_classifiers(name, table):
    X, y = table
    clf = WRAPPED[name](make_pipeline(mixed(filled, coded), llsvm()), X, y)
    found = explain(clf, X)
    adds_up(found, clf, X)
    assert found.feature_names.tolist() == COLUMNS
    changes = counterfactual(clf, X, X_reference=X)
    usable = changes.feature >= 0
    assert_array_equal(changes.predicted, clf.predict(X))
    assert changes.local_flips[usable].all()
    assert changes.model_flips[usable].mean() > 0.5
    assert sum(region.rows for region in regions(clf, X, y)) == len(X)


def test_several_calibrated_classifiers_have_no_score_in_common(table):
    X, y = table
    clf = make_pipeline(mixed(filled, coded), CalibratedClassifierCV(llsvm(), cv=3))
    with pytest.raises(ValueError, match=r"averages 3 classifiers.*ensemble=False"):
        explain(clf.fit(X, y), X)


@pytest.mark.in_turn
@pytest.mark.parametrize("reference", [True, False])
@pytest.mark.parametrize("numbers", ["standard", "power", "bins"])
def test_changes_lead_to_valid_values(numbers, reference, table):
    X, y = table
    clf = make_pipeline(mixed(NUMBERS[numbers], WORDS["filled"]), llsvm()).fit(X, y)
    found = counterfactual(clf, X, X_reference=X if reference else None)
    usable = found.feature >= 0
    assert usable.mean() > 0.5
    assert found.local_flips[usable].all()
    assert set(found.names[usable]) & {"home", "job"}
    for i in np.flatnonzero(usable):
        name, to = found.names[i], found.to[i]
        column = X[name]
        if name in ("home", "job"):
            assert to in set(column.dropna())
            assert to != found.value[i]
            assert np.isnan(found.change[i])
        elif name == "owner":
            assert to in (True, False)
        elif name == "age":
            assert float(to).is_integer()
        if reference and name in ("income", "age"):
            assert column.min() <= to <= column.max()
        moved = X.iloc[[i]].copy()
        moved[name] = [to]
        assert clf.predict(moved)[0] == found.reached[i]
    assert_array_equal(found.model_flips, usable & (found.reached != found.predicted))
    text = str(found)
    assert "nan" not in text


def test_the_smallest_valid_change_is_found(table):
    X, y = table
    X = X[["age", "home"]]
    steps = ColumnTransformer(
        [("n", StandardScaler(), ["age"]), ("w", coded, ["home"])]
    )
    clf = make_pipeline(steps, llsvm()).fit(X, y)
    found = counterfactual(clf, X, X_reference=X, features=["age"])
    coef = clf[-1].local_coef(clf[:-1].transform(X))
    bias = clf[-1].local_intercept(clf[:-1].transform(X))[:, 0]
    ages = np.arange(X["age"].min(), X["age"].max() + 1)
    for i in range(len(X)):
        tried = pd.DataFrame({"age": ages, "home": X["home"][i]})
        scores = clf[:-1].transform(tried) @ coef[i, 0] + bias[i]
        flips = (scores > 0) != (found.predicted[i] == "good")
        if not flips.any():
            assert found.feature[i] == -1
            continue
        away = np.abs(ages - X["age"][i])
        assert abs(found.change[i]) == away[flips].min()
        assert found.size[i] == pytest.approx(away[flips].min() / X["age"].std(ddof=0))


def test_levels_are_tried_by_the_local_model(table):
    X, y = table
    clf = make_pipeline(mixed(filled, coded), llsvm()).fit(X, y)
    found = counterfactual(clf, X, features=["home"], X_reference=X)
    coef = clf[-1].local_coef(clf[:-1].transform(X))[:, 0]
    bias = clf[-1].local_intercept(clf[:-1].transform(X))[:, 0]
    flips = np.zeros(len(X), bool)
    for level in ("rent", "own", "free"):
        inner = clf[:-1].transform(X.assign(home=level)).astype(float)
        scores = (coef * inner).sum(axis=1) + bias
        flips |= (scores > 0) != (found.predicted == "good")
    assert_array_equal(found.feature >= 0, flips)


def test_a_value_can_take_the_place_of_a_missing_one(table):
    X, y = table
    clf = make_pipeline(mixed(filled, coded), llsvm()).fit(X, y)
    gaps = X[X["income"].isna()]
    found = counterfactual(clf, gaps, features=["income"], X_reference=X)
    usable = found.feature >= 0
    assert usable.any()
    assert found.local_flips[usable].all()
    assert np.isin(found.to[usable].astype(float), X["income"]).all()
    assert (found.size[usable] == 1).all()
    assert "missing" in str(found)


def test_mixed_columns_do_not_change_but_others_do(table):
    X, y = table
    clf = make_pipeline(mixed(NUMBERS["pca"], coded), llsvm()).fit(X, y)
    found = counterfactual(clf, X, X_reference=X)
    assert set(found.names) - {""} <= {"home", "job", "owner"}
    with_map = LLSVMClassifier(4, feature_map=IntersectionSampler(), random_state=0)
    numbers = X[["income", "age"]].fillna(0.0)
    clf = make_pipeline(MaxAbsScaler(), with_map).fit(numbers, y)
    changes = counterfactual(clf, numbers, X_reference=numbers)
    assert changes.local_flips[changes.feature >= 0].all()
    adds_up(explain(clf, numbers), clf, numbers)


def test_a_reference_row_in_the_users_units(table):
    X, y = table
    clf = make_pipeline(mixed(filled, coded), llsvm()).fit(X, y)
    row = X.iloc[[3]]
    found = explain(clf, X, reference=row)
    adds_up(found, clf, X)
    assert_allclose(found.contributions[3], 0, atol=1e-12)
    assert_allclose(found.bias[3], found.scores[3])
    numbers = X[["age", "income"]].fillna(1.0)
    clf = make_pipeline(StandardScaler(), llsvm()).fit(numbers, y)
    plain = explain(clf, numbers)
    mean = explain(clf, numbers, reference=numbers.mean())
    assert_allclose(plain.contributions, mean.contributions, atol=1e-9)
