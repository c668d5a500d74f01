"""Pipelines that begin with TableEncoder, in C and ONNX, with raw columns."""

import re
import shutil

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from test_export_c import COMPILER, run

from locallin import LLSVMClassifier, LocallyLinearClassifier, TableEncoder
from locallin.export import to_c, to_onnx

pd = pytest.importorskip("pandas")

SETTINGS = {
    "standard": {"numbers": "standard"},
    "robust": {"numbers": "robust", "level_scaling": "frequency", "max_levels": 2},
    "piecewise": {},
    "tree": {"strategy": "tree"},
    "means": {"target_means": "all", "max_levels": 2},
    "some": {"ignore": ["age", "since", "job"], "categorical": ["floor"]},
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.RandomState(0)
    n = 300
    made = pd.DataFrame(
        {
            "income": np.float32(np.exp(rng.normal(size=n)) * 1000),
            "age": rng.randint(18, 80, n),
            "a home?": rng.choice(["rent", 'o"wn', "ä*/", "boat"], n).astype(object),
            "job": pd.Categorical(rng.choice(list("abcdef"), n)),
            "floor": rng.randint(4, size=n),
            "member": rng.uniform(size=n) < 0.3,
            # Times that a float of days holds.
            "since": pd.to_datetime("2020-01-01")
            + pd.to_timedelta(rng.randint(0, 1000 * 8, n) * 3, unit="h"),
            "country": "NL",
        }
    )
    made.loc[::9, "income"] = np.nan
    made.loc[::11, "a home?"] = None
    made.loc[::13, "since"] = pd.NaT
    return made


@pytest.fixture(scope="module")
def labels(frame):
    score = np.log(frame.income.fillna(1)) - 6.5 + (frame["a home?"] == "rent")
    return np.digitize(score, [0, 1])


def fitted(frame, labels, settings, n_classes):
    steps = TableEncoder(random_state=0, **settings), LLSVMClassifier(4, random_state=0)
    return make_pipeline(*steps).fit(frame, np.minimum(labels, n_classes - 1))


def unlike(frame):
    """Rows with levels that were never seen, and values far out."""
    new = frame.iloc[:40].copy()
    new["a home?"] = ["tent", "rent", None, 'o"wn'] * 10
    new["job"] = pd.Categorical(["z", "a", None, "b"] * 10)
    new["income"] = new["income"] * 50
    new["since"] = new["since"] + pd.Timedelta(days=800)
    return new


def columns_of(model, frame):
    """The frame as a graph takes it."""
    encoder, given = model[0], {}
    for j in np.unique(encoder.get_feature_origins()):
        name, kind = frame.columns[j], encoder.kinds_[j]
        column = frame[name]
        if kind == "category":
            values = column.astype(object).where(column.notna(), "").astype(str)
            values = values.to_numpy(dtype=object)
        elif kind == "date":
            gap = column.isna()
            stamps = column.fillna(pd.Timestamp(0)).to_numpy().astype("datetime64[s]")
            values = np.where(gap, np.nan, stamps.astype(np.int64))
        else:
            values = column.to_numpy(dtype=np.float32)
        given[name] = values[:, None]
    return given


def feed(session, model, frame):
    """Columns by the names of the inputs, where odd characters are underscores."""
    names = [given.name for given in session.get_inputs()]
    columns = columns_of(model, frame)
    assert names == [re.sub(r"\W", "_", name) for name in columns]
    return dict(zip(names, columns.values(), strict=True))


@pytest.mark.in_turn
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx_takes_the_columns(name, n_classes, frame, labels):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model = fitted(frame, labels, SETTINGS[name], n_classes)
    graph = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for rows in (frame, unlike(frame), frame.iloc[:1]):
        found, scores = session.run(None, feed(session, model, rows))
        wanted = model.decision_function(rows).reshape(len(rows), -1)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-5 * size)
        np.testing.assert_array_equal(found, model.predict(rows))


def test_onnx_of_the_encoder_alone_and_before_a_scaler(frame, labels):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    for steps in ((TableEncoder(),), (TableEncoder(), StandardScaler())):
        model = make_pipeline(*steps).fit(frame)
        graph = to_onnx(model).SerializeToString()
        session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        (found,) = session.run(None, feed(session, model, frame))
        np.testing.assert_allclose(found, model.transform(frame), atol=1e-5)


def coded(model, frame):
    """The frame in numbers, as the header's comment tells."""
    encoder = model[0]
    header = to_c(model, "net")
    rows = np.zeros((len(frame), frame.shape[1]))
    for j, kind in enumerate(encoder.kinds_):
        column = frame.iloc[:, j]
        gap = column.isna().to_numpy()
        if kind == "category":
            start, stop = encoder.level_starts_[j : j + 2]
            levels = list(encoder.levels_[start:stop])
            names = column.astype(object).where(~gap, "").astype(str)
            codes = [levels.index(v) if v in levels else len(levels) for v in names]
            rows[:, j] = codes
        elif kind == "date":
            day = header.split(f"x[{j}], {column.name}: days since ")[1][:10]
            rows[:, j] = (column - pd.Timestamp(day)) / pd.Timedelta(days=1)
        elif kind in ("number", "boolean"):
            rows[:, j] = column.to_numpy(dtype=float)
        rows[gap, j] = np.nan
    return rows


@pytest.mark.in_turn
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_c_takes_numbers_and_indices(name, n_classes, frame, labels, tmp_path):
    assert shutil.which(COMPILER)
    model = fitted(frame, labels, SETTINGS[name], n_classes)
    for rows in (frame, unlike(frame)):
        winners, scores = run(to_c(model, "net"), coded(model, rows), tmp_path)
        wanted = model.decision_function(rows).reshape(len(rows), -1)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-5 * size)
        assert (model.classes_[winners] == model.predict(rows)).mean() > 0.99


def test_c_takes_an_encoder_of_tables_first_only(frame, labels):
    steps = TableEncoder(), TableEncoder(), LLSVMClassifier(2, random_state=0)
    model = make_pipeline(*steps).fit(frame, labels)
    with pytest.raises(TypeError, match="TableEncoder as the first step"):
        to_c(model)


def test_a_model_that_encodes_itself_may_end_a_pipeline(frame, labels):
    model = LocallyLinearClassifier(0, n_members=1, random_state=0)
    model.fit(frame, labels)
    whole = Pipeline([("model", model)])
    assert to_c(whole, "m") == to_c(model, "m")
    pytest.importorskip("skl2onnx")
    inputs = [given.name for given in to_onnx(whole).graph.input]
    assert inputs == [given.name for given in to_onnx(model).graph.input]


def test_types_of_columns_that_are_chosen_by_name_are_asked_for(frame, labels):
    pytest.importorskip("skl2onnx")
    columns = make_column_transformer((TableEncoder(), ["income", "job"]))
    model = make_pipeline(columns, LLSVMClassifier(4, random_state=0))
    with pytest.raises(TypeError, match="initial_types"):
        to_onnx(model.fit(frame, labels))
