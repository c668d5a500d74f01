"""Predictions written to files: formats, blocks, and runs that fail."""

import io
import json
import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import LLSVMClassifier
from locallin.data import DataError, batches, write_predictions

X, NUMBERS = load_iris(return_X_y=True)
WORDS = load_iris().target_names[NUMBERS]
LARGE = 100_000


@pytest.fixture(scope="module")
def model():
    return LLSVMClassifier(5, loss="logistic", random_state=0).fit(X, WORDS)


@pytest.fixture(scope="module")
def two_classes():
    return LLSVMClassifier(5, random_state=0).fit(X, NUMBERS > 0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own, with the rows in it."""
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    np.savetxt("rows.csv", X, delimiter=",")
    return tmp_path


def written(name):
    if name.endswith(".npy"):
        return np.load(name)
    if name.endswith(".parquet"):
        return pytest.importorskip("pyarrow.parquet").read_table(name)
    with open(name) as file:
        return file.read().splitlines()


@pytest.mark.parametrize("size", [1, 7, LARGE, None])
@pytest.mark.parametrize("output", ["out.txt", "out.npy", "out.parquet"])
def test_labels_in_every_format_and_size(model, size, output):
    expected = model.predict(X)
    if output.endswith("parquet"):
        pytest.importorskip("pyarrow")
    assert write_predictions(model, "rows.csv", output, size=size) == len(X)
    found = written(output)
    if output.endswith("parquet"):
        assert found.column_names == ["label"]
        found = found["label"].to_pylist()
    assert np.array_equal(found, expected)
    assert sorted(os.listdir()) == sorted(["rows.npy", "rows.csv", output])


@pytest.mark.parametrize("size", [1, 7, LARGE])
def test_scores_and_probabilities_do_not_depend_on_the_size(model, size):
    for method in ("decision_function", "predict_proba"):
        expected = getattr(model, method)(X)
        write_predictions(model, "rows.npy", "out.npy", method=method, size=size)
        assert np.allclose(written("out.npy"), expected, rtol=1e-12)
        write_predictions(model, "rows.npy", "out.csv", method=method, size=size)
        header, *lines = written("out.csv")
        prefix = {"decision_function": "score", "predict_proba": "probability"}[method]
        assert header.split(",") == [f"{prefix}_{name}" for name in model.classes_]
        rows = [[float(cell) for cell in line.split(",")] for line in lines]
        assert np.allclose(rows, expected, rtol=1e-12)


def test_labels_beside_scores(model):
    settings = {"method": "decision_function", "with_label": True}
    write_predictions(model, "rows.npy", "out.npy", **settings)
    table = written("out.npy")
    assert table.dtype.names == ("label", *(f"score_{c}" for c in model.classes_))
    assert np.array_equal(table["label"], model.predict(X))
    assert np.allclose(table["score_virginica"], model.decision_function(X)[:, 2])
    pytest.importorskip("pyarrow")
    write_predictions(model, "rows.npy", "out.parquet", **settings)
    columns = written("out.parquet")
    assert columns["label"].to_pylist() == model.predict(X).tolist()
    assert np.allclose(columns["score_setosa"], model.decision_function(X)[:, 0])


def test_json_lines_and_open_files(model):
    out = io.StringIO()
    settings = {"method": "predict_proba", "with_label": True}
    write_predictions(model, "rows.npy", out, output_format="json", **settings)
    first = json.loads(out.getvalue().splitlines()[0])
    assert first["label"] == "setosa"
    assert sum(v for k, v in first.items() if k != "label") == pytest.approx(1)
    out = io.StringIO()
    write_predictions(model, "rows.npy", out)
    assert out.getvalue().split() == model.predict(X).tolist()
    with pytest.raises(ValueError, match="npy needs a path"):
        write_predictions(model, "rows.npy", out, output_format="npy")
    with pytest.raises(ValueError, match="'xls' is not one of"):
        write_predictions(model, "rows.npy", "out.csv", output_format="xls")


def test_one_score_for_two_classes(two_classes):
    settings = {"method": "decision_function"}
    write_predictions(two_classes, "rows.npy", "out.npy", **settings)
    expected = two_classes.decision_function(X)
    assert np.allclose(written("out.npy"), expected)
    assert written("out.npy").shape == expected.shape
    settings["with_label"] = True
    write_predictions(two_classes, "rows.npy", "out.csv", **settings)
    header, first, *_ = written("out.csv")
    assert header == "label,score_True"
    assert first.startswith("False,-")


def test_every_kind_of_source(model):
    expected = model.predict(X).tolist()
    rows = sparse.csr_matrix(X)
    os.mkdir("parts")
    for start in range(0, 150, 40):
        np.savetxt(f"parts/{start:03}.csv", X[start : start + 40], delimiter=",")
    sources = [
        "parts",
        "parts/*.csv",
        (X, NUMBERS),
        X,
        (rows, None),
        lambda: iter([(X[:100], None), X[100:]]),
        iter([(X[:100], None), (X[100:], None)]),
        batches("rows.csv", 40, label=None),
    ]
    for source in sources:
        assert write_predictions(model, source, "out.txt") == 150
        assert written("out.txt") == expected


def test_labels_of_the_source_are_not_looked_at(model):
    lines = [f"{a},{b},{c},{d}," for a, b, c, d in X.tolist()]
    with open("rows.csv", "w") as file:
        file.write("\n".join(["a,b,c,d,class", *lines]))
    write_predictions(model, "rows.csv", "out.txt")
    assert written("out.txt") == model.predict(X).tolist()
    with open("rows.csv", "w") as file:
        file.write("\n".join(["class,a,b,c,d", *("," + line[:-1] for line in lines)]))
    write_predictions(model, "rows.csv", "out.txt", label="class")
    assert written("out.txt") == model.predict(X).tolist()


def test_columns_are_found_by_the_names_of_the_fit():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(StandardScaler(), LLSVMClassifier(5, random_state=0))
    pipeline.fit(frame, WORDS)
    frame[["d", "a", "c", "b"]].assign(more=1).to_csv("rows.csv", index=False)
    write_predictions(pipeline, "rows.csv", "out.txt")
    assert written("out.txt") == pipeline.predict(frame).tolist()


def test_libsvm_files_have_the_width_of_the_model(model):
    with open("rows.svm", "w") as file:
        file.write("0 1:5\n0 2:3\n")
    write_predictions(model, "rows.svm", "out.txt")
    dense = np.array([[5.0, 0, 0, 0], [0, 3.0, 0, 0]])
    assert written("out.txt") == model.predict(dense).tolist()


def test_regressors_have_predictions():
    model = LinearRegression().fit(X, NUMBERS)
    write_predictions(model, "rows.npy", "out.npy", size=40)
    assert np.allclose(written("out.npy"), model.predict(X))
    with pytest.raises(AttributeError, match="no method predict_proba"):
        write_predictions(model, "rows.npy", "out.npy", method="predict_proba")


class Fails:
    """A classifier that gives up after some calls, or gives longer and longer words."""

    classes_ = None

    def __init__(self, calls):
        self.calls = calls

    def predict(self, X):
        self.calls -= 1
        if not self.calls:
            raise KeyboardInterrupt
        return np.full(len(X), "x" * max(1, -self.calls))


@pytest.mark.parametrize("output", ["out.txt", "out.npy", "out.parquet"])
def test_a_run_that_fails_leaves_what_was_there(model, output):
    if output.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with open(output, "w") as file:
        file.write("before")
    rows = X.copy()
    rows[100, 2] = np.nan
    np.save("rows.npy", rows)
    before = sorted(os.listdir())
    with pytest.raises(DataError, match="row 101, column 3"):
        write_predictions(model, "rows.npy", output, size=10)
    with pytest.raises(KeyboardInterrupt):
        write_predictions(Fails(3), X, output, size=10)
    with pytest.raises(DataError, match="no rows"):
        write_predictions(model, [], output)
    with pytest.raises(FileNotFoundError):
        write_predictions(model, "nothing.csv", output)
    assert sorted(os.listdir()) == before
    with open(output) as file:
        assert file.read() == "before"


def test_what_does_not_fit_into_an_array_is_refused():
    with pytest.raises(DataError, match="holds <U3 where <U2 came before"):
        write_predictions(Fails(-1), X, "out.npy", size=40)
    write_predictions(Fails(-1), X, "out.txt", size=100)
    assert written("out.txt")[::100] == ["xx", "xxx"]
    with pytest.raises(FileNotFoundError, match="folder of"):
        write_predictions(Fails(-1), X, "nowhere/out.txt")


def test_labels_that_are_objects(model):
    objects = LLSVMClassifier(5, random_state=0).fit(X, WORDS.astype(object))
    write_predictions(objects, "rows.npy", "out.npy", size=40)
    assert np.array_equal(written("out.npy"), objects.predict(X).astype(str))


def test_the_command_writes_these_formats(model):
    from locallin.cli import main
    from locallin.export import save

    save(model, "iris.skops")
    assert main(["predict", "iris.skops", "rows.csv", "out.npy"]) == 0
    assert np.array_equal(written("out.npy"), model.predict(X))
    os.mkdir("parts")
    np.save("parts/0.npy", X[:70])
    np.save("parts/1.npy", X[70:])
    pytest.importorskip("pyarrow")
    scores = ["--output", "scores"]
    assert main(["predict", "iris.skops", "parts", "out.parquet", *scores]) == 0
    table = written("out.parquet")
    assert table["label"].to_pylist() == model.predict(X).tolist()
    assert np.allclose(table["score_setosa"], model.decision_function(X)[:, 0])
