"""The command line on tables as they come: text, gaps, truth values, dates."""

import json
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from terminal import run

from locallin import LLSVMClassifier, LocallyLinearClassifier, TableEncoder
from locallin.cli import _files, main
from locallin.export import load, save

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")
FAST = ("--effort", "0")


def guests(n=160):
    """Guests of a hotel, and whether they come back."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, n).astype(float)
    room = rng.choice(["single", "double", "suite"], n)
    back = (room == "suite") | (age > 60)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    table = pandas.DataFrame(
        {
            "Guest": [f"G{i:04d}" for i in range(n)],
            "Age": age,
            "Room": room,
            "Member": rng.choice([True, False], n),
            "Arrival": day.astype(str),
            "Bill": rng.uniform(50, 900, n).round(2),
            "Back": np.where(back, "yes", "no"),
        }
    )
    table.loc[3, "Age"] = np.nan
    table.loc[5, "Room"] = None
    return table


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """Every test works in a folder of its own, with guests.csv in it."""
    monkeypatch.chdir(tmp_path)
    table = guests()
    table.to_csv("guests.csv", index=False)
    return table


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of the guests, whose names are ids."""
    place = tmp_path_factory.mktemp("guests")
    guests().to_csv(place / "guests.csv", index=False)
    command = ["train", str(place / "guests.csv"), str(place / "m.skops"), *FAST]
    assert main([*command, "--id", "Guest"]) == 0
    return str(place / "m.skops")


def train(capsys, *arguments):
    out, err = run(capsys, "train", *arguments, *FAST, "--json")
    return json.loads(out), err


def kinds(model):
    return _files.load_model(model, trust=False).about["columns"]


def test_a_file_as_it_is(capsys, table):
    result, err = train(capsys, "guests.csv", "m.skops")
    assert result["method"] == "local"
    assert result["label"] == "Back"
    assert result["features"] == 6
    assert result["training_accuracy"] > 0.9
    assert "'Guest' has another level in every row" in err
    assert "--ignore Guest" in err
    assert kinds("m.skops") == {
        "Guest": "text", "Age": "number", "Room": "text", "Member": "boolean",
        "Arrival": "date", "Bill": "number",
    }  # fmt: skip
    out = run(capsys, "predict", "m.skops", "guests.csv").out.split()
    assert np.mean(table["Back"] == out) == result["training_accuracy"]


def test_parquet_is_the_same(capsys, table):
    train(capsys, "guests.csv", "a.skops", "--ignore", "Guest", "Arrival")
    table.to_parquet("guests.parquet")
    train(capsys, "guests.parquet", "b.skops", "--ignore", 1, "Arrival")
    a, b = (
        run(capsys, "predict", f"{m}.skops", "guests.csv", "--proba").out for m in "ab"
    )
    assert a == b


def test_predictions_carry_what_names_the_rows(capsys, trained, table):
    out = run(capsys, "predict", trained, "guests.csv", "--proba").out.splitlines()
    assert out[0] == "Guest,label,probability_no,probability_yes"
    assert out[1].startswith("G0000,")
    keep = ["--keep", "Age", "Back", 3]
    out = run(capsys, "predict", trained, "guests.csv", *keep).out.splitlines()
    assert out[0] == "Guest,Age,Back,Room,label"
    assert out[4].split(",")[1] == ""
    # A file without names of rows is predicted all the same, in any order of columns.
    few = table.drop(columns=["Guest", "Back"])
    few[list(few)[::-1]].to_csv("few.csv", index=False)
    labels = run(capsys, "predict", trained, "few.csv").out.split()
    assert labels == [line.split(",")[-1] for line in out[1:]]
    rows = run(capsys, "predict", trained, "guests.csv", "--json").out.splitlines()
    assert json.loads(rows[2])["Guest"] == "G0002"
    run(capsys, "predict", trained, "guests.csv", "out.parquet", "--keep", "Bill")
    assert list(pandas.read_parquet("out.parquet")) == ["Guest", "Bill", "label"]


def test_blocks_predict_what_the_whole_does(capsys, monkeypatch, trained):
    from locallin.cli import _serving

    whole = run(capsys, "predict", trained, "guests.csv", "--output", "scores").out
    monkeypatch.setattr(_serving, "_LARGEST_BLOCK", 7)
    parts = run(capsys, "predict", trained, "guests.csv", "--output", "scores").out
    assert parts == whole


def test_evaluation_of_probabilities(capsys, trained):
    result = json.loads(run(capsys, "evaluate", trained, "guests.csv", "--json").out)
    assert result["auc"] > 0.9
    assert 0 < result["log_loss"] < 0.7
    assert 0 < result["brier"] < 0.25
    assert np.sum(result["confusion"]) == 160
    for name in ("accuracy", "auc", "average_precision", "log_loss", "brier"):
        low, high = result["intervals"][name]
        assert low <= result[name] <= high
    assert sum(one["rows"] for one in result["reliability"]) == 160
    text = run(capsys, "evaluate", trained, "guests.csv").out
    assert "log loss" in text
    assert "probability   share" in text
    assert "label \\ predicted" in text


def test_reasons_name_columns_and_values(capsys, trained):
    result = json.loads(
        run(capsys, "explain", trained, "guests.csv", "--top", 6, "--json").out
    )
    row = result["rows"][5]
    assert row["Guest"] == "G0005"
    values = {part["feature"]: part["value"] for part in row["contributions"]}
    assert values["Room"] is None
    assert set(values) <= {"Age", "Room", "Member", "Arrival", "Bill"}
    parts = sum(part["contribution"] for part in row["contributions"])
    assert parts + row["others"] + row["constant"] == pytest.approx(row["score"])
    text = run(capsys, "explain", trained, "guests.csv", "--rows", 2).out
    assert "row 1 (Guest G0000)" in text
    run(capsys, "report", trained, "guests.csv", "out.html", "--rows", 5)
    assert "Room" in Path("out.html").read_text()
    info = run(capsys, "info", trained).out
    assert "Age, Bill" in info
    assert "LocallyLinearClassifier" in info


def test_kinds_can_be_told(capsys, table):
    table["Floor"] = np.arange(160) % 5
    table["Born"] = "31/12/1980"
    table["Code"] = [f"{i % 7:03d}" for i in range(160)]
    table.to_csv("guests.csv", index=False)
    more = ["--categorical", "Floor", "--date", "Born", "--numeric", "Code"]
    label = ["--label", "Back", "--ignore", "Guest"]
    train(capsys, "guests.csv", "m.skops", *label, *more)
    found = kinds("m.skops")
    assert found["Floor"] == "category"
    assert found["Born"] == "date %d/%m/%Y"
    assert found["Code"] == "integer"
    assert "Guest" not in found
    run(capsys, "predict", "m.skops", "guests.csv")
    train(capsys, "guests.csv", "n.skops", *label)
    assert kinds("n.skops")["Code"] == "text"
    error = run(
        capsys, "train", "guests.csv", "o.skops", *label, "--date", "Bron", code=2
    ).err
    assert "--date: there is no feature 'Bron'; did you mean 'Born'?" in error


def test_signs_in_numbers_and_words_for_gaps(capsys, table):
    bills = [f"{1000 + b:,.2f}" for b in table["Bill"]]
    table["Bill"] = [b.translate(str.maketrans(",.", ".,")) for b in bills]
    table["Age"] = table["Age"].astype("Int64").astype("string").fillna("unknown")
    table.to_csv("guests.csv", index=False, sep=";")
    _, err = train(capsys, "guests.csv", "a.skops", "--id", "Guest")
    assert "'Bill' is taken as text" in err
    assert "--decimal , --thousands ." in err
    assert "--na 'unknown'" in err
    signs = ["--decimal", ",", "--thousands", ".", "--na", "unknown"]
    _, err = train(capsys, "guests.csv", "b.skops", "--id", "Guest", *signs)
    assert "taken as text" not in err
    assert kinds("b.skops")["Bill"] == "number"
    assert kinds("b.skops")["Age"] == "integer"
    run(capsys, "evaluate", "b.skops", "guests.csv")  # as in training
    table["Bill"] = "a lot"
    table.to_csv("guests.csv", index=False, sep=";")
    error = run(capsys, "predict", "b.skops", "guests.csv", code=1).err
    assert "row 1, column 'Bill': 'a lot' is not a number" in error


def test_dates_that_are_taken_as_text(capsys, table):
    day = pandas.to_datetime(table["Arrival"])
    table["Arrival"] = day.dt.strftime("%m/%d/%Y")
    table.insert(0, "Due", day.dt.strftime("%m/01/%Y"))
    table.to_csv("guests.csv", index=False)
    _, err = train(capsys, "guests.csv", "a.skops", "--id", "Guest")
    assert "dates are read so with --date 'Arrival'" in err
    assert "'Due' is taken as text" in err
    assert "no month may be a day" in err
    dates = ("--date", "Arrival", "Due")
    error = run(capsys, "train", "guests.csv", "b.skops", *dates, code=1).err
    assert "where days above 12 tell days from months" in error


def test_labels_that_nobody_named(capsys, table):
    table.drop(columns="Back").to_csv("bills.csv", index=False)
    error = run(capsys, "train", "bills.csv", "m.skops", code=1).err
    assert "the label, the column 'Bill', holds" in error
    assert "--label names another column" in error
    table["Nights"] = np.arange(160) % 71
    table.to_csv("nights.csv", index=False)
    error = run(capsys, "train", "nights.csv", "m.skops", code=1).err
    assert "the last, the column 'Nights', holds 71 different numbers" in error
    assert "--label names the label" in error
    result, _ = train(capsys, "nights.csv", "m.skops", "--label", "Back")
    assert result["label"] == "Back"
    error = run(capsys, "train", "nights.csv", "n.skops", "--label", "back", code=1).err
    assert "no label column 'back'; did you mean 'Back'?" in error


def test_a_column_that_gives_the_label_away(capsys, table):
    table["Again"] = np.where(table["Back"] == "yes", "come", "gone")
    table.to_csv("guests.csv", index=False)
    _, err = train(capsys, "guests.csv", "m.skops", "--label", "Back", "--id", "Guest")
    assert "'Again' alone nearly decides the target" in err
    assert "--ignore Again" in err


def test_other_methods_take_tables_too(capsys, table):
    arguments = ["--method", "ll", "--id", "Guest", "--json"]
    out, _ = run(capsys, "train", "guests.csv", "m.skops", *arguments)
    assert json.loads(out)["scale"] == "table"
    assert json.loads(out)["training_accuracy"] > 0.85
    result = json.loads(run(capsys, "evaluate", "m.skops", "guests.csv", "--json").out)
    assert result["auc"] > 0.85
    assert "log_loss" not in result
    text = run(capsys, "explain", "m.skops", "guests.csv", "--rows", 1).out
    assert "Room" in text
    error = run(capsys, "train", "guests.csv", "n.skops", "--scale", "norm", code=2).err
    assert "--scale norm is for numbers" in error


def test_text_alone_and_no_header(capsys):
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], (60, 3))
    lines = [",".join([*row, "x" if row[0] == "a" else "z"]) for row in words]
    Path("plain.csv").write_text("\n".join(lines) + "\n")
    Path("named.csv").write_text("\n".join(["p,q,r,kind", *lines]) + "\n")
    for name in ("plain", "named"):
        result, _ = train(capsys, f"{name}.csv", f"{name}.skops")
        assert result["rows"] == 60
        assert result["training_accuracy"] == 1
    assert kinds("plain.skops") == dict.fromkeys(
        ("column 1", "column 2", "column 3"), "text"
    )
    few = "\n".join(line.rpartition(",")[0] for line in lines)
    Path("few.csv").write_text(few + "\n")
    options = ["--header", "no"]
    out = run(capsys, "predict", "plain.skops", "few.csv", *options).out
    assert out == run(capsys, "predict", "plain.skops", "plain.csv").out


def test_standard_input(capsys, monkeypatch, trained):
    expected = run(capsys, "predict", trained, "guests.csv").out
    with open("guests.csv", "rb") as file:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": file}))
        assert run(capsys, "predict", trained, "-").out == expected


@pytest.mark.parametrize("ending", ["skops", "joblib", "joblib.gz"])
def test_pipelines_of_python_are_served(capsys, table, ending):
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["Age", "Bill"]),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            ["Room"],
        ),
    )
    pipe = make_pipeline(columns, LLSVMClassifier(4, loss="logistic", random_state=0))
    X = pandas.read_csv("guests.csv")
    pipe.fit(X.drop(columns="Back"), X["Back"])
    path = f"pipe.{ending}"
    if ending == "skops":
        from locallin.export import save

        save(pipe, path)
    else:
        joblib.dump(pipe, path)
    trust = [] if ending == "skops" else ["--trust"]
    out = run(capsys, "predict", path, "guests.csv", "--proba", *trust).out
    found = [float(line.split(",")[-1]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(found, pipe.predict_proba(X)[:, 1])
    out = run(capsys, "evaluate", path, "guests.csv", "--label", "Back", *trust).out
    assert "auc" in out
    out = run(capsys, "explain", path, "guests.csv", "--rows", 6, *trust).out
    assert "Room" in out
    run(capsys, "info", path, *trust)


def test_a_classifier_of_tables_from_python(capsys, table):
    from locallin.export import save

    X = table.drop(columns=["Guest", "Back"])
    X["Arrival"] = pandas.to_datetime(X["Arrival"])
    clf = LocallyLinearClassifier(0, random_state=0).fit(X, table["Back"])
    save(clf, "m.skops")
    out = run(capsys, "predict", "m.skops", "guests.csv", "--keep", "Guest").out
    labels = [line.split(",")[1] for line in out.splitlines()[1:]]
    assert labels == clf.predict(X).tolist()
    encoded = make_pipeline(TableEncoder(), LLSVMClassifier(4, random_state=0))
    save(encoded.fit(X, table["Back"]), "n.skops")
    run(capsys, "evaluate", "n.skops", "guests.csv", "--label", "Back")


def test_files_that_are_not_read(capsys):
    Path("a.json").write_text('[{"x": 1, "label": 2}]')
    Path("b").write_text('{"x": 1}\n{"x": 2}\n')
    with zipfile.ZipFile("c.zip", "w") as archive:
        archive.writestr("guests.csv", "a,b\n1,2\n")
    with zipfile.ZipFile("d", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with zipfile.ZipFile("e.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    for name, advice in {
        "a.json": "is JSON, which is not read: pandas.read_json",
        "b": "is JSON",
        "c.zip": "is an archive, which is not read: unpack it",
        "d": "is a spreadsheet",
        "e.xlsx": "is a spreadsheet, which is not read: save the sheet as CSV",
    }.items():
        assert advice in run(capsys, "train", name, "m.skops", code=1).err


def test_a_file_of_other_versions(capsys, trained):
    other = {"locallin": "9.1", "scikit-learn": "0.24.1"}
    with zipfile.ZipFile(trained) as old, zipfile.ZipFile("m.skops", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "locallin.json":
                content = json.dumps(other)
            new.writestr(name, content)
    err = run(capsys, "predict", "m.skops", "guests.csv").err
    assert "written by locallin 9.1 (here" in err
    assert "scikit-learn 0.24.1 (here" in err


def test_without_pyarrow_numbers_are_read(capsys, monkeypatch, table):
    from locallin.data import _origins

    monkeypatch.setattr(_origins, "find_spec", lambda name: None)
    table[["Bill", "Back"]].to_csv("bills.csv", index=False)
    result, _ = train(capsys, "bills.csv", "m.skops")
    assert result["features"] == 1
    error = run(capsys, "train", "guests.csv", "n.skops", code=1).err
    assert "is not a finite number" in error
    assert "pyarrow" in error


def numbers(scale=1.0):
    """A table of numbers, and the class that the first tells."""
    X = np.random.default_rng(0).normal(size=(60, 3)) * scale
    frame = pandas.DataFrame(X, columns=list("abc"))
    return frame.assign(y=np.where(X[:, 0] > 0, "yes", "no"))


def test_rows_of_numbers_count_by_position(capsys):
    frame = numbers()
    frame.to_csv("rows.csv", index=False)
    X = frame[["a", "b", "c"]].to_numpy()
    np.save("rows.npy", X)
    lines = ["0 " + " ".join(f"{j}:{v!r}" for j, v in enumerate(row, 1)) for row in
             X.tolist()]  # fmt: skip
    Path("rows.svm").write_text("\n".join(lines) + "\n")
    assert main(["train", "rows.csv", "m.skops", *FAST]) == 0
    capsys.readouterr()
    found = set()
    for name in ("rows.csv", "rows.npy", "rows.svm"):
        assert main(["predict", "m.skops", name, "-"]) == 0
        said = capsys.readouterr()
        assert not said.err
        found.add(said.out)
    assert len(found) == 1
    np.save("rows.npy", X[:, :2])
    assert main(["predict", "m.skops", "rows.npy", "-"]) == 1
    assert "rows.npy: X has 2 features where 3 are expec" in capsys.readouterr().err


def test_a_number_beyond_all_is_told_among_numbers(capsys):
    frame = numbers().astype({"a": object})
    frame.loc[3, "a"] = "1e999"
    frame.to_csv("rows.csv", index=False)
    assert main(["train", "rows.csv", "m.skops", *FAST]) == 0
    said = capsys.readouterr().err
    assert "column 'a' is taken as text, because it holds '1e999' among num" in said
    assert main(["train", "rows.csv", "n.skops", "--na", "1e999", *FAST]) == 0
    assert "1e999" not in capsys.readouterr().err


def test_values_near_the_end_of_the_range_are_reported(capsys):
    numbers(1e300).to_csv("rows.csv", index=False)
    assert main(["train", "rows.csv", "m.skops", *FAST]) == 0
    for command in ("evaluate", "report", "explain"):
        out = ["r.html"] if command == "report" else []
        assert main([command, "m.skops", "rows.csv", *out]) == 0
        assert "Warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes",
    [{"columns": 3}, {"columns": {"Age": 1}}, {"names": "Age"}, {"label": [1]},
     {"na": ["x", None]}, {"decimal": 0}, {"dense": "yes"}],
)  # fmt: skip
def test_facts_that_no_training_writes_are_refused(trained, capsys, changes):
    content = load(trained)
    content["about"].update(changes)
    save(content, "m.skops")
    assert main(["predict", "m.skops", "guests.csv", "-"]) == 1
    assert "m.skops is damaged: fetch it anew" in capsys.readouterr().err


def test_errors_of_a_model_name_its_file(trained, capsys):
    content = load(trained)
    content["model"][-1].encoder_.feature_names_in_[1] = "other"
    save(content, "m.skops")
    assert main(["predict", "m.skops", "guests.csv", "-"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("locallin predict: m.skops with guests.csv: The feature nam")
