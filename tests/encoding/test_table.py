"""Tables of every library in, the same components out."""

import pickle
import sys
import warnings
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from locallin import LLSVMClassifier, PiecewiseLinearEncoder, TableEncoder
from locallin.encoding._columns import array_column, as_days
from locallin.encoding._levels import Folds
from locallin.encoding._targets import class_codes
from locallin.engine.invariants import InvalidModelError
from locallin.inspection import explain

pd = pytest.importorskip("pandas")
HALF = np.sqrt(0.5)


@pytest.fixture
def frame():
    """Two hundred rows of every kind of column, with gaps."""
    rng = np.random.RandomState(0)
    n = 200
    made = pd.DataFrame(
        {
            "income": np.exp(rng.normal(size=n)),
            "age": rng.randint(18, 80, n),
            "home": rng.choice(["rent", "own", "parents"], n, p=[0.6, 0.38, 0.02]),
            "job": pd.Categorical(rng.choice(list("abcdef"), n)),
            "member": rng.uniform(size=n) < 0.3,
            "since": pd.to_datetime("2020-01-01")
            + pd.to_timedelta(rng.randint(0, 1000 * 24, n), unit="h"),
            "country": "NL",
            "never": np.nan,
        }
    )
    made["home"] = made["home"].astype(object)
    made.loc[::9, "income"] = np.nan
    made.loc[::11, "home"] = None
    made.loc[::13, "since"] = pd.NaT
    return made


@pytest.fixture
def labels(frame):
    score = np.log(frame.income.fillna(1)) + (frame.home == "rent") - frame.member
    return (score > 0.5).to_numpy().astype(int)


def tables(frame):
    """The same rows as the other libraries hold them."""
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    objects = frame.astype(object).where(frame.notna(), None).to_numpy()
    return {
        "polars": polars.from_pandas(frame),
        "arrow": arrow.Table.from_pandas(frame),
        "chunks": arrow.concat_tables(
            arrow.Table.from_pandas(part, preserve_index=False)
            for part in (frame.iloc[:70], frame.iloc[70:])
        ),
        "objects": objects,
        "lists": objects.tolist(),
        "pandas with arrow": arrow.Table.from_pandas(frame).to_pandas(
            types_mapper=pd.ArrowDtype
        ),
        "nullable": frame.convert_dtypes(),
    }


def test_kinds_and_names(frame):
    encoder = TableEncoder(numbers="standard").fit(frame)
    assert_array_equal(
        encoder.kinds_,
        [
            "number",
            "number",
            "category",
            "category",
            "boolean",
            "date",
            "constant",
            "constant",
        ],
    )
    names = list(encoder.get_feature_names_out())
    jobs = [f"job={level}" for level in frame.job.value_counts().index]
    assert names[:7] == [
        *("income", "income=(missing)", "age"),
        *("home=rent", "home=own", "home=(other)", "home=(missing)"),
    ]
    assert set(names[7:13]) == set(jobs)
    assert names[13:] == [
        *("member", "since", "since_year_sin", "since_year_cos"),
        *("since_time_sin", "since_time_cos"),
        *(f"since={day}day" for day in DAYS),
        "since=(missing)",
    ]
    origins = encoder.get_feature_origins()
    columns = frame.columns[origins]
    assert all(
        name.startswith(column) for name, column in zip(names, columns, strict=True)
    )
    assert_array_equal(encoder.feature_names_in_, frame.columns)
    assert encoder.notes_ == []


DAYS = ["Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun"]


def test_every_library_gives_the_same(frame, labels):
    encoder = TableEncoder(target_means="all", random_state=0)
    wanted = encoder.fit_transform(frame, labels)
    assert wanted.dtype == np.float32
    assert wanted.flags.c_contiguous
    plain = encoder.transform(frame)
    for name, table in tables(frame).items():
        again = clone(encoder)
        assert_allclose(
            again.fit_transform(table, labels), wanted, atol=1e-6, err_msg=name
        )
        assert_array_equal(again.kinds_, encoder.kinds_, name)
        if name not in ("objects", "lists"):
            assert_allclose(encoder.transform(table), plain, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("numbers", ["standard", "robust", "piecewise"])
def test_numbers_are_what_they_should_be(numbers, frame):
    encoder = TableEncoder(numbers=numbers, dtype="float64").fit(frame)
    made = encoder.transform(frame)
    origins = encoder.get_feature_origins()
    names = encoder.get_feature_names_out()
    for j, column in enumerate(["income", "age"]):
        x = frame[column].to_numpy(float)
        here = made[:, (origins == j) & [not n.endswith(")") for n in names]]
        there = ~np.isnan(x)
        if numbers == "standard":
            wanted = (x - np.nanmean(x)) / np.nanstd(x)
            wanted = wanted[:, None]
        elif numbers == "robust":
            low, middle, high = np.nanquantile(x, [0.25, 0.5, 0.75])
            z = (x - middle) / (high - low) * 1.349
            wanted = (z / np.sqrt(1 + z**2 / 9))[:, None]
            assert np.abs(here).max() < 3
        else:
            bins = PiecewiseLinearEncoder(missing="none", scaling="feature").fit(
                x[:, None]
            )
            wanted = bins.transform(x[:, None])
        assert_allclose(here[there], wanted[there], atol=1e-9)
        assert_allclose(here[~there], 0)


def test_levels_missing_and_unseen(frame):
    encoder = TableEncoder(max_levels=2, dtype="float64").fit(frame)
    names = list(encoder.get_feature_names_out())
    home = [names.index(f"home={level}") for level in ("rent", "own")]
    other, gap = names.index("home=(other)"), names.index("home=(missing)")
    new = frame.iloc[:4].copy()
    new["home"] = ["own", "boat", None, "parents"]
    new["job"] = ["zz", None, "a", "b"]
    made = encoder.transform(new)
    assert_allclose(made[0, [*home, other, gap]], [0, HALF, 0, 0])
    assert_allclose(made[1, [*home, other, gap]], [0, 0, HALF, 0])
    assert_allclose(made[2, [*home, other, gap]], [0, 0, 0, HALF])
    assert_allclose(made[3, [*home, other, gap]], [0, 0, HALF, 0])
    # Rows that differ in one category only are 1 apart.
    assert_allclose(np.linalg.norm(made[0, home] - made[1, home]), HALF)
    job = [i for i, name in enumerate(names) if name.startswith("job=")]
    assert len(job) == 3  # two levels, and the others; nothing was missing
    assert_allclose(made[1, job], 0)


def test_thousands_of_levels_stay_few_components():
    rng = np.random.RandomState(0)
    city = rng.randint(5000, size=20000).astype(str).astype(object)
    effect = rng.normal(size=5000)
    y = (effect[city.astype(int)] + rng.normal(size=20000) > 0).astype(int)
    X = city[:, None]
    assert TableEncoder().fit_transform(X).shape == (20000, 21)
    encoder = TableEncoder(max_levels=5, random_state=0)
    made = encoder.fit_transform(X, y)
    assert made.shape == (20000, 7)
    # What other rows say of a city helps; what a row says of itself must not.
    assert np.corrcoef(made[:, 0], effect[city.astype(int)])[0, 1] > 0.5
    noise = rng.randint(2, size=20000)
    made = encoder.fit_transform(X, noise)
    assert abs(np.corrcoef(made[:, 0], noise)[0, 1]) < 0.03
    assert np.corrcoef(encoder.transform(X)[:, 0], noise)[0, 1] > 0.2


def test_a_column_without_a_level_has_means_of_zero():
    folds = Folds(np.array([[1.0], [-1.0], [0.0]]), np.array([0, 1, 0]))
    found = folds.means(np.full(3, -1, np.int32), 0)
    np.testing.assert_array_equal(found, np.zeros((3, 1)))


def test_cross_fitted_means_are_those_of_the_other_folds():
    rng = np.random.RandomState(0)
    target, parts = rng.normal(size=(60, 2)), rng.permutation(60) % 3
    codes = rng.randint(-1, 5, size=60)  # 4 is a level without a name
    found = Folds(target, parts).means(codes, 4)
    for i in range(60):
        others = parts != parts[i]
        center = target[others].mean(axis=0)
        same = target[others & (codes == codes[i])] - center
        wanted = same.sum(axis=0) / (len(same) + 10) if 0 <= codes[i] < 4 else 0
        assert_allclose(found[i], wanted)


def test_target_means_of_classes_and_numbers(frame, labels):
    home = frame[["home"]]
    encoder = TableEncoder(target_means="all", random_state=0, dtype="float64")
    two = encoder.fit(home, labels)
    known = (frame.home == "rent").to_numpy()
    z = (labels - labels.mean()) / labels.std()
    wanted = z[known].sum() / (known.sum() + 10)
    assert_allclose(two.transform(home)[known, 0], wanted)
    assert_allclose(two.transform(home)[frame.home.isna(), 0], 0)
    three = clone(encoder).fit(home, frame.age % 3)
    assert list(three.get_feature_names_out()[:3]) == [
        "home_mean0",
        "home_mean1",
        "home_mean2",
    ]
    assert clone(encoder).fit(home, frame.age / 7).level_means_.shape[1] == 1
    encoder.set_params(target_type="numbers").fit(home, frame.age % 3)
    assert encoder.level_means_.shape[1] == 1
    with pytest.raises(ValueError, match="requires y to be passed"):
        encoder.fit(home)


def test_dates_have_parts():
    days = pd.date_range("2021-03-01", periods=400, freq="D").to_series()
    X = pd.DataFrame({"day": days.to_numpy()})
    encoder = TableEncoder(numbers="standard", dtype="float64").fit(X)
    names = list(encoder.get_feature_names_out())
    assert not any("time" in name for name in names)
    made = pd.DataFrame(encoder.transform(X), columns=names)
    for day in ("Monday", "Sunday"):
        assert_array_equal(made[f"day={day}"] > 0, days.dt.day_name() == day)
    assert (np.diff(made["day"]) > 0).all()
    season = made["day_year_cos"].to_numpy()
    assert_allclose(season[days.dt.day_of_year == 182], season.min(), atol=1e-3)
    for other in (
        [[d] for d in days.dt.date],
        [[d.to_pydatetime()] for d in days],
        days.to_numpy()[:, None],
    ):
        assert_allclose(clone(encoder).fit_transform(other), made)
    text = X.astype(str)
    told = clone(encoder).set_params(dates=["day"])
    assert_allclose(told.fit_transform(text), made)
    with pytest.raises(ValueError, match=r"'day' is taken as dates, but holds 'soon'"):
        told.fit(pd.DataFrame({"day": ["soon", "2020-01-01"]}))


def test_choices_by_column(frame, labels):
    encoder = TableEncoder(
        categorical=["age"], ignore=["income", -1], numeric=["member"]
    ).fit(frame)
    assert encoder.kinds_[1] == "category"
    assert encoder.kinds_[0] == encoder.kinds_[7] == "ignored"
    assert encoder.kinds_[4] == "number"
    assert any(name.startswith("age=") for name in encoder.get_feature_names_out())
    text = pd.DataFrame({"n": ["1", "2.5", None, "-3e2"] * 9})
    assert TableEncoder().fit(text).kinds_[0] == "category"
    told = TableEncoder(numeric=["n"], dtype="float64").fit(text)
    assert_allclose(told.center_, np.mean([1, 2.5, -300]))
    assert TableEncoder(max_integer_levels=100).fit(frame).kinds_[1] == "category"
    for wrong, message in (
        ({"ignore": ["incme"]}, r"ignore names the column 'incme', but X has"),
        ({"ignore": ["age"], "numeric": [1]}, "choose one"),
        ({"categorical": "age"}, "must be an array-like"),
        ({"numeric": ["home"]}, r"'home' is taken as numbers, but holds '\w+'"),
    ):
        with pytest.raises(ValueError, match=message):
            TableEncoder(**wrong).fit(frame)
    with pytest.raises(ValueError, match=r"infinity.*'income'"):
        TableEncoder().fit(frame.assign(income=np.inf))


def test_a_category_of_numbers_is_the_same_with_and_without_gaps():
    X = pd.DataFrame({"code": [1, 2, 3] * 10})
    encoder = TableEncoder(categorical=["code"]).fit(X)
    assert list(encoder.levels_) == ["1", "2", "3"]
    for other in ([1.0, np.nan, 3.0], ["1", None, "3"], pd.Categorical([1, None, 3])):
        made = encoder.transform(pd.DataFrame({"code": other}))
        assert_allclose(made, np.array([[HALF, 0, 0], [0, 0, 0], [0, 0, HALF]]))
    flags = TableEncoder(categorical=[0]).fit(np.array([[True], [False]] * 9))
    assert set(flags.levels_) == {"True", "False"}


def test_sparse_output(frame):
    dense = TableEncoder().fit_transform(frame)
    made = TableEncoder(sparse_output=True).fit_transform(frame)
    assert sparse.issparse(made)
    assert made.format == "csr"
    assert made.dtype == np.float32
    assert_array_equal(made.toarray(), dense)
    levels = frame[["home"]].assign(
        town=[f"t{i % 18}" for i in range(len(frame))],
        shop=[f"s{i % 17}" for i in range(len(frame))],
    )
    for columns, is_sparse in ((levels, True), (frame[["income", "age"]], False)):
        made = TableEncoder(sparse_output="auto").fit_transform(columns)
        assert sparse.issparse(made) == is_sparse
    encoder = TableEncoder(sparse_output=True).set_output(transform="pandas")
    with pytest.raises(ValueError, match="set_output asks for pandas"):
        encoder.fit_transform(frame)


def test_rare_levels_are_further_away_by_frequency(frame):
    encoder = TableEncoder(level_scaling="frequency").fit(frame)
    made = pd.DataFrame(encoder.transform(frame), columns=list(names_of(encoder)))
    share = (frame.home == "own").mean()
    assert_allclose(made["home=own"].max(), 1 / np.sqrt(share * (1 - share)), rtol=1e-6)
    assert made["home=(missing)"].max() > made["home=own"].max()


def names_of(encoder):
    return encoder.get_feature_names_out()


def test_notes_tell_identifiers_and_leaks(frame, labels):
    n = len(frame)
    given = frame.assign(
        customer_id=np.arange(n) + 1000,
        name=[f"name {i}" for i in range(n)],
        answer=np.where(labels, "yes", "no"),
        reading=labels + np.linspace(0, 0.4, n),
    )
    notes = TableEncoder().fit(given, labels).notes_
    assert [note.split("'")[1] for note in notes] == [
        "customer_id",
        "name",
        "answer",
        "reading",
    ]
    told = TableEncoder(ignore=["customer_id", "name", "answer", "reading"])
    assert told.fit(given, labels).notes_ == []


@pytest.mark.parametrize("step", [1, -10, 2**40])
def test_notes_tell_integers_that_count_rows(step):
    rng = np.random.RandomState(0)
    n = 300
    counted = 1000 + step * np.arange(n)
    drawn = rng.choice(100_000, n, replace=False)
    given = pd.DataFrame({"a": counted, "b": rng.permutation(counted), "paid": drawn})
    given["part"] = 7 + step * np.sort(rng.choice(n * 5 // 4, n, replace=False))
    given["squares"], given["rooms"] = np.arange(n) ** 2, np.arange(n) // 2
    notes = TableEncoder().fit(given[rng.uniform(size=n) < 0.7]).notes_
    assert [note.split("'")[1] for note in notes] == ["a", "b", "part"]
    assert all("looks like an identifier: integers" in note for note in notes)
    few = TableEncoder().fit(given[["a", "paid"]][:15]).notes_
    assert few == []


def test_notes_tell_free_text_and_its_words_have_reasons(frame, labels):
    words = np.where(labels, "kind", "rude")
    text = [f"the staff was {w} on day {i}" for i, w in enumerate(words)]
    given = frame[["income"]].assign(comment=text)
    (note,) = TableEncoder().fit(given, labels).notes_
    assert note.startswith("'comment' looks like free text")
    assert "TfidfVectorizer(), 'comment')" in note
    assert "sparse_threshold=1)" in note
    columns = ColumnTransformer(
        [("text", TfidfVectorizer(), "comment")],
        remainder=TableEncoder(),
        sparse_threshold=1,
    )
    model = make_pipeline(columns, LLSVMClassifier(4, random_state=0))
    found = explain(model.fit(given, labels), given[:5])
    assert {"text__kind", "text__rude", "income"} <= set(found.feature_names)
    assert_allclose(found.contributions.sum(-1) + found.bias, found.scores, atol=1e-6)


@pytest.mark.parametrize("n_classes", [1, 2, 4, 5, 30])
@pytest.mark.parametrize("kind", [object, str])
def test_codes_of_classes_are_places_among_them(n_classes, kind):
    names = np.array([f"class {c}" for c in range(n_classes)], kind)
    y = names[np.random.RandomState(0).randint(n_classes, size=400)]
    assert_array_equal(class_codes(y), np.unique(y, return_inverse=True)[1])
    late = np.append(np.repeat(names[:1], 200), names)  # more than the head shows
    assert_array_equal(class_codes(late), np.unique(late, return_inverse=True)[1])


def test_in_a_search_with_a_classifier(frame, labels):
    pipe = make_pipeline(TableEncoder(), LLSVMClassifier(4, random_state=0))
    grid = {"tableencoder__numbers": ["standard", "piecewise"]}
    search = GridSearchCV(pipe, grid, cv=2).fit(frame, labels)
    assert search.best_score_ > 0.8
    encoder = TableEncoder(numbers="standard").set_output(transform="pandas")
    made = encoder.fit_transform(frame)
    assert list(made.columns[:2]) == ["income", "income=(missing)"]
    linear = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, labels)
    assert linear.score(frame, labels) > 0.8


def test_files_and_pickles(frame, labels, tmp_path):
    pytest.importorskip("skops")
    from locallin.export import load, save

    for settings in ({"target_means": "all"}, {"numbers": "robust"}):
        encoder = TableEncoder(random_state=0, **settings).fit(frame, labels)
        save(encoder, tmp_path / "table.skops")
        again = load(tmp_path / "table.skops")
        assert_array_equal(again.transform(frame), encoder.transform(frame))
        again = pickle.loads(pickle.dumps(encoder))
        assert_array_equal(again.transform(frame), encoder.transform(frame))


DAMAGES = {
    "kinds_": lambda a: np.where(a == "date", "dates", a).astype(object),
    "levels_": lambda a: a[1:],
    "level_starts_": lambda a: a[::-1].copy(),
    "n_kept_": lambda a: a[::-1].copy(),
    "level_means_": lambda a: a + 1e9,
    "pools_": lambda a: ~a,
    "level_units_": lambda a: a[1:],
    "source_columns_": lambda a: a + 100,
    "source_parts_": lambda a: a + 5,
    "scale_": lambda a: 0 * a,
    "is_binned_": lambda a: ~a,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_state_is_refused(name, frame):
    encoder = TableEncoder(target_means="all").fit(frame, frame.age)
    setattr(encoder, name, DAMAGES[name](getattr(encoder, name)))
    with pytest.raises(InvalidModelError, match="the model is damaged"):
        pickle.loads(pickle.dumps(encoder))


def test_bins_of_no_column_are_refused(frame):
    encoder = TableEncoder().fit(frame)
    bins = encoder.bins_
    encoder = TableEncoder(numbers="standard").fit(frame)
    for encoder.bins_ in (bins, 1):
        with pytest.raises(InvalidModelError, match="bins_ of TableEncoder is"):
            pickle.loads(pickle.dumps(encoder))


def test_columns_that_do_not_fit_are_named(frame):
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(frame.drop(columns="age"))
    with pytest.raises(ValueError, match=r"'age' is taken as numbers, but holds 'old'"):
        encoder.transform(frame.assign(age="old"))
    with pytest.raises(TypeError, match="no values"):
        TableEncoder().fit(np.array([[{}], [1]], dtype=object))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        encoder.fit(frame.iloc[:0])


def test_tables_without_columns_and_with_columns_of_one_name_are_refused(frame):
    for made in (frame, pytest.importorskip("pyarrow").Table.from_pandas(frame)):
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            TableEncoder().fit(none_of(made))
    twice = frame.rename(columns={"age": "income"})
    with pytest.raises(ValueError, match="more than one column named 'income'"):
        TableEncoder().fit(twice)


def none_of(table):
    return table.iloc[:, :0] if hasattr(table, "iloc") else table.select([])


NO_VALUES = {
    "list": [1],
    "dict": {"a": 1},
    "array": np.ones(2),
    "object": object(),
}


@pytest.mark.parametrize("name", NO_VALUES)
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "objects"])
def test_columns_of_no_values_are_named(name, library):
    values = np.empty(6, dtype=object)
    for place in range(6):
        values[place] = NO_VALUES[name]
    table = {"age": np.arange(6.0), "odd": values}
    if library == "pandas":
        X = pd.DataFrame(table)
    elif library == "objects":
        X = np.column_stack([table["age"].astype(object), np.zeros(6, object)])
        X[:, 1] = values
    elif name == "object":
        pytest.skip("no such column")
    elif library == "polars":
        polars = pytest.importorskip("polars")
        X = polars.DataFrame({**table, "odd": values.tolist()})
    else:
        arrow = pytest.importorskip("pyarrow")
        X = arrow.table({**table, "odd": values.tolist()})
    column = "x1" if library == "objects" else "odd"
    with pytest.raises(TypeError, match=rf"Column '{column}'.*no values"):
        TableEncoder().fit(X)


def test_types_of_ones_own_are_named():
    arrow = pytest.importorskip("pyarrow")
    spans = pd.DataFrame({"span": pd.interval_range(0, 6)})
    with pytest.raises(TypeError, match=r"Column 'span'.*no values"):
        TableEncoder().fit(arrow.Table.from_pandas(spans))


@pytest.mark.parametrize(
    "library", ["pandas", "pandas of arrow", "polars", "arrow", "objects"]
)
def test_decimals_and_times_of_day_are_numbers(library):
    prices = [Decimal("1.50"), None, Decimal("3"), Decimal("-2.25")]
    clocks = [time(6), time(18, 30, 0, 500_000), None, time(0)]
    table = {"price": prices, "clock": clocks}
    if library == "pandas":
        X = pd.DataFrame(table)
    elif library == "pandas of arrow":
        arrow = pytest.importorskip("pyarrow")
        X = arrow.table(table).to_pandas(types_mapper=pd.ArrowDtype)
    elif library == "polars":
        X = pytest.importorskip("polars").DataFrame(table)
    elif library == "arrow":
        X = pytest.importorskip("pyarrow").table(table)
    else:
        X = np.array(list(zip(prices, clocks, strict=True)), dtype=object)
    encoder = TableEncoder(numbers="standard").fit(X)
    assert_array_equal(encoder.kinds_, ["number", "number"])
    plain = [[1.5, 0.25], [None, 0.770839120], [3, None], [-2.25, 0]]
    expected = TableEncoder(numbers="standard").fit_transform(np.array(plain, object))
    assert_allclose(encoder.transform(X), expected, rtol=1e-5)


def test_decimals_beside_text_are_levels_by_their_value():
    X = np.array([[Decimal("1.50")], [1.5], ["a"], [Decimal(2)], [2]], dtype=object)
    assert_array_equal(TableEncoder(min_rows=1).fit(X).levels_, ["1.5", "2", "a"])


def test_periods_are_dates():
    months = pd.period_range("2020-01", periods=8, freq="M")
    X = pd.DataFrame({"month": months.insert(3, pd.NaT)})
    dates = pd.DataFrame({"month": X["month"].dt.to_timestamp()})
    encoder = TableEncoder().fit(X)
    assert_array_equal(encoder.kinds_, ["date"])
    assert_array_equal(encoder.transform(X), TableEncoder().fit_transform(dates))


def test_times_with_a_zone_are_those_of_utc():
    east = timezone(timedelta(hours=2))
    plain = [datetime(2024, 1, day, day) for day in range(1, 9)]
    zoned = [stamp.replace(tzinfo=UTC).astimezone(east) for stamp in plain]
    expected = TableEncoder().fit_transform(np.array(plain, object)[:, None])
    found = TableEncoder().fit_transform(np.array(zoned, object)[:, None])
    assert_array_equal(found, expected)
    texts = np.array([[stamp.isoformat()] for stamp in zoned], object)
    assert_array_equal(TableEncoder(dates=[0]).fit_transform(texts), expected)


def test_zones_silence_no_warnings(monkeypatch):
    """Threads that change the filters of warnings would leave each other's behind."""
    last = datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5)))
    stamps = np.array([datetime(2024, 1, 1, tzinfo=UTC), last], object)
    texts = array_column(np.array([stamp.isoformat() for stamp in stamps], object))
    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", None)
        days = array_column(stamps).values
        assert_array_equal(as_days(texts)[0], days)
    assert days[1] - days[0] == pytest.approx(2913174 + 4 / 24)


@pytest.mark.parametrize("numbers", ["piecewise", "standard", "robust"])
@pytest.mark.parametrize("unit", [1e-20, 1e-300, 1e300])
def test_the_unit_of_a_column_does_not_matter(numbers, unit):
    X = np.random.RandomState(0).normal(size=(40, 1))
    encode = TableEncoder(numbers=numbers).fit_transform
    assert_allclose(encode(X * unit), encode(X), rtol=1e-5, atol=1e-6)


def test_numbers_too_small_for_a_scale_are_constant():
    X = np.random.RandomState(0).normal(size=(40, 1)) * 1e-310
    assert_array_equal(TableEncoder().fit(X).kinds_, ["constant"])


def test_integers_beyond_all_floats_are_infinite():
    X = np.array([[1], [10**400], [3]], dtype=object)
    with pytest.raises(ValueError, match="infinity or a value too large, in column"):
        TableEncoder().fit(X)
    X[2, 0] = "text"
    assert TableEncoder(min_rows=1).fit_transform(X).shape == (3, 3)


def test_means_of_a_category_that_is_always_missing():
    X = pd.DataFrame({"a": np.arange(10.0), "none": pd.Categorical([None] * 10)})
    encoder = TableEncoder(target_means="all", random_state=0)
    assert np.isfinite(encoder.fit_transform(X, np.arange(10) % 2)).all()


def test_objects_need_no_pandas(monkeypatch):
    rows = [
        ["a", 1, None, date(2020, 1, 1), True],
        ["b", 2.5, "x", datetime(2020, 5, 5, 12), None],
        [None, None, "x", None, False],
    ] * 5
    wanted = TableEncoder().fit_transform(rows)
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    encoder = TableEncoder().fit(rows)
    assert_array_equal(
        encoder.kinds_, ["category", "number", "category", "date", "boolean"]
    )
    assert_array_equal(encoder.transform(rows), wanted)


@pytest.mark.parametrize("offsets", [[0, 90, 3], [0, -5, 3], [2, 1, 3]])
def test_strings_that_lie_about_their_place_are_refused(offsets):
    pa = pytest.importorskip("pyarrow")
    place = pa.py_buffer(np.array(offsets, np.int64).tobytes())
    lying = pa.LargeStringArray.from_buffers(2, place, pa.py_buffer(b"abc"))
    with pytest.raises(ValueError, match="damaged"):
        TableEncoder().fit(pa.table({"word": lying}))


@pytest.mark.parametrize("codes", [[0, 5], [0, -2]])
def test_levels_that_a_table_does_not_have_are_refused(codes):
    pa = pytest.importorskip("pyarrow")
    words = pa.array(["own", "rent"])
    lying = pa.DictionaryArray.from_arrays(np.array(codes, "i4"), words, safe=False)
    with pytest.raises(ValueError, match="Column 'home'"):
        TableEncoder().fit(pa.table({"home": lying}))
