"""Importances and effects are sums of exact contributions; displays draw them."""

import json

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from locallin import (
    Atlas,
    AtlasClassifier,
    LLSVMClassifier,
    ML3Classifier,
    TableEncoder,
)
from locallin.inspection import (
    EffectDisplay,
    ImportanceDisplay,
    _effects,
    explain,
    global_effects,
    regions,
)
from locallin.report import report

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def homes():
    """A table with a column whose effect turns with another: (pipeline, X, y)."""
    rng = np.random.RandomState(0)
    n = 400
    X = pd.DataFrame(
        {
            "size": rng.normal(50, 10, n),
            "place": rng.choice(["town", "land", "coast"], n, p=[0.6, 0.3, 0.1]),
            "rooms": rng.randint(1, 6, n),
        }
    )
    turn = np.where(X["rooms"] > 3, 1, -1)
    score = turn * (X["size"] - 50) / 10 + 0.5 * (X["place"] == "town")
    y = (score + 0.2 * rng.normal(size=n) > 0).astype(int)
    X.loc[rng.rand(n) < 0.1, "size"] = np.nan
    steps = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["size", "rooms"]),
            ("w", OneHotEncoder(), ["place"]),
        ]
    )
    clf = LLSVMClassifier(6, random_state=0)
    return make_pipeline(steps, clf).fit(X, y), X, y


def test_importance_is_the_mean_absolute_contribution(homes):
    clf, X, _ = homes
    weights = np.random.RandomState(1).uniform(0, 2, len(X))
    found = global_effects(clf, X, sample_weight=weights)
    parts = np.abs(explain(clf, X).contributions[:, 0])
    expected = np.average(parts, axis=0, weights=weights)
    own = {effect.name: effect.importance[0] for effect in found.effects}
    assert own == pytest.approx(
        dict(zip(["size", "place", "rooms"], expected, strict=True))
    )
    assert list(found.importance) == sorted(found.importance, reverse=True)
    plain = global_effects(clf, X)
    assert_allclose(plain["size"].importance, parts[:, 0].mean())


def test_curves_are_means_of_contributions(homes):
    clf, X, y = homes
    found = global_effects(clf, X)
    explained = explain(clf, X)
    place, rooms = found["place"], found["rooms"]
    assert place.kind == "category"
    assert place.values.tolist() == ["town", "land", "coast"]
    assert rooms.values.tolist() == [1, 2, 3, 4, 5]
    assert_allclose(place.weight, X["place"].value_counts(normalize=True))
    strongest = _strongest(clf, X)
    for effect, column in ((place, 1), (rooms, 2)):
        parts = explained.contributions[:, 0, column]
        assert_allclose(effect.weight @ effect.mean[0], parts.mean())
        for value, mean, spread in zip(
            effect.values, effect.mean[0], effect.spread[0], strict=True
        ):
            here = (X[effect.name] == value).to_numpy()
            assert mean == pytest.approx(parts[here].mean())
            means = pd.Series(parts[here]).groupby(strongest[here]).transform("mean")
            assert spread == pytest.approx(np.std(means))
    names = [region.name for region in regions(clf, X, y)]
    assert found.regions == names[:6]
    for place_of, name in enumerate(found.regions):
        for i, value in enumerate(rooms.values):
            here = (strongest == int(name)) & (X["rooms"] == value).to_numpy()
            mean = rooms.by_region[0, place_of, i]
            if here.any():
                assert mean == pytest.approx(explained.contributions[here, 0, 2].mean())
            else:
                assert np.isnan(mean)


def _strongest(clf, X):
    codes = clf[-1].coding_.transform(np.asarray(clf[:-1].transform(X)))
    return codes.toarray().argmax(axis=1)


def test_numbers_are_binned_and_gaps_are_their_own_place(homes):
    clf, X, _ = homes
    size = global_effects(clf, X)["size"]
    assert size.kind == "number"
    assert np.isnan(size.values[-1])
    assert (np.diff(size.values[:-1]) > 0).all()
    assert size.weight[-1] == pytest.approx(X["size"].isna().mean())
    assert size.weight.sum() == pytest.approx(1)
    assert len(size.values) <= 22


def test_what_turns_with_another_column_interacts(homes):
    clf, X, _ = homes
    found = global_effects(clf, X)
    interaction = {one.name: one.interaction[0] for one in found.effects}
    assert max(interaction, key=interaction.get) == "size"
    assert found["size"].widest() in found["size"].values
    straight = LLSVMClassifier(1, random_state=0).fit(X[["rooms"]], X["rooms"] > 2)
    assert_allclose(global_effects(straight, X[["rooms"]])["rooms"].spread, 0)


def test_blocks_and_samples(homes, monkeypatch):
    clf, X, _ = homes
    whole = global_effects(clf, X)
    monkeypatch.setattr(_effects, "_BLOCK_BYTES", 1 << 10)
    pieces = global_effects(clf, X)
    assert_allclose(pieces.importance, whole.importance)
    some = global_effects(clf, X, max_samples=50)
    assert some.n_rows == 50
    again = global_effects(clf, X, max_samples=50)
    assert_array_equal(some.importance, again.importance)
    assert global_effects(clf, X, max_samples=None).n_rows == len(X)


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "clf",
    [
        LLSVMClassifier(5, random_state=0),
        ML3Classifier(3, random_state=0, max_iter=5),
        AtlasClassifier(Atlas(2, mdl=1.0, random_state=0), kernel="linear"),
        LLSVMClassifier(5, local_model="constant", random_state=0),
    ],
    ids=["llsvm", "ml3", "atlas", "constant"],
)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_many_classes(clf, layout, blobs):
    X, y, _ = blobs
    clf.fit(layout(X), y)
    found = global_effects(clf, layout(X), n_regions=2)
    assert len(found) == 6
    assert found.effects[0].mean.shape[0] == 5
    assert found.effects[0].by_region.shape[:2] == (5, 2)
    parts = np.abs(explain(clf, layout(X)).contributions).mean(axis=(0, 1))
    assert_allclose(np.sort(found.importance), np.sort(parts))
    some = global_effects(clf, X, classes=[3, 1])
    assert some.classes.tolist() == [3, 1]
    assert some.score_of(1) == 1
    with pytest.raises(ValueError, match="class_label=9 has no score here"):
        some.score_of(9)


def test_tables(homes):
    clf, X, _ = homes
    found = global_effects(clf, X)
    frame = found.to_frame()
    assert frame["column"].tolist() == found.feature_names
    assert_array_equal(frame["importance"], found.importance)
    assert str(found).splitlines()[0].split()[:2] == ["column", "importance"]
    assert "<table>" in found._repr_html_()
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["effects"][0]["name"] == found.feature_names[0]
    size = next(one for one in told["effects"] if one["name"] == "size")
    assert size["values"][-1] is None
    with pytest.raises(KeyError, match="no column is called 'rent'"):
        found["rent"]


def test_wrong_arguments(homes):
    clf, X, _ = homes
    with pytest.raises(ValueError, match="n_regions=0: choose an integer"):
        global_effects(clf, X, n_regions=0)
    for wrong in ([1.0], -np.ones(len(X)), np.zeros(len(X))):
        with pytest.raises(ValueError, match="sample_weight must hold 400 numbers"):
            global_effects(clf, X, sample_weight=wrong)
    rbf = AtlasClassifier(Atlas(1, random_state=0), random_state=0)
    rbf.fit(X[["rooms"]], X["rooms"] > 2)
    with pytest.raises(ValueError, match="global_effects needs the local weights"):
        global_effects(rbf, X[["rooms"]])


def test_importances_are_drawn(homes):
    clf, X, _ = homes
    display = ImportanceDisplay.from_estimator(clf, X, top=2)
    display.figure_.canvas.draw()
    found = global_effects(clf, X)
    assert [bar.get_width() for bar in display.bars_] == list(found.importance[:2])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == found.feature_names[:2]
    with pytest.raises(ValueError, match="top=0"):
        ImportanceDisplay.from_estimator(clf, X, top=0)


def test_effects_are_drawn(homes):
    clf, X, _ = homes
    display = EffectDisplay.from_estimator(clf, X)
    display.figure_.canvas.draw()
    assert display.ax_.shape == (2, 2)
    assert not display.ax_[1, 1].axison
    labels = {ax.get_xlabel() for ax in display.ax_.flat[:3]}
    assert labels == {"size", "place", "rooms"}
    _, ax = plt.subplots()
    one = EffectDisplay(global_effects(clf, X), features=["place"]).plot(ax)
    one.figure_.canvas.draw()
    assert one.ax_.shape == (1, 1)
    levels = [text.get_text() for text in one.ax_[0, 0].get_xticklabels()]
    assert levels == ["town", "land", "coast"]
    with pytest.raises(KeyError, match="no column is called 'rent'"):
        EffectDisplay.from_estimator(clf, X, features=["rent"])


def test_dates_are_on_a_line_of_time():
    rng = np.random.RandomState(0)
    days = pd.Timestamp("2023-05-01") + pd.to_timedelta(rng.randint(0, 900, 200), "D")
    X = pd.DataFrame({"since": days, "n": rng.normal(size=200)})
    y = days.year > 2023
    X.loc[::9, "since"] = pd.NaT
    clf = make_pipeline(TableEncoder(), LLSVMClassifier(3, random_state=0)).fit(X, y)
    since = global_effects(clf, X)["since"]
    assert since.kind == "date"
    assert since.values[0].year == 2023
    assert np.isnan(since.positions[-1])
    assert (np.diff(since.positions[:-1]) > 0).all()
    json.dumps(since.to_dict(), allow_nan=False)
    EffectDisplay.from_estimator(clf, X).figure_.canvas.draw()
    assert "2023-05" in report(clf, X, y)


def test_names_that_look_like_formulas(moons):
    X, y = moons
    clf = LLSVMClassifier(3, random_state=0).fit(X, np.array(["$a$", "b\n"])[y])
    names = ["$x^$", "\u202ey\n" + "z" * 50]
    for kind in (ImportanceDisplay, EffectDisplay):
        kind.from_estimator(clf, X, feature_names=names).figure_.canvas.draw()
