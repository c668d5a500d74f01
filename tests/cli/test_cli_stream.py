"""locallin train --stream: files larger than memory."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris

from locallin.cli import main

X, y = load_digits(return_X_y=True)


@pytest.fixture
def digits_file(tmp_path):
    path = tmp_path / "digits.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


def train(capsys, *arguments) -> dict:
    code = main(["train", *map(str, arguments), "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--method", "ml3", "--n-models", "5"],
        ["--method", "ll", "--solver", "sgd", "--n-anchors", "20", "--scale", "norm"],
        ["--scale", "maxabs", "--epochs", "30"],
        ["--scale", "none", "--class-weight", "3:2,8:2"],
    ],
)
def test_learns_in_blocks_what_predict_and_evaluate_use(
    digits_file, tmp_path, capsys, options
):
    model = tmp_path / "m.skops"
    result = train(capsys, digits_file, model, "--stream", *options)
    assert result["rows"] == len(X)
    assert result["features"] == 64
    assert result["training_accuracy"] > 0.95
    assert main(["evaluate", str(model), str(digits_file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == pytest.approx(result["training_accuracy"])


def test_text_labels_names_and_folders(tmp_path, capsys):
    iris = load_iris(as_frame=True)
    frame = iris.data.assign(flower=iris.target_names[iris.target])
    frame = frame.sample(frac=1, random_state=0)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_csv(folder / f"{number}.csv", index=False)
    model = tmp_path / "m.skops"
    result = train(
        capsys, folder, model, "--stream", "--label", "flower", "--epochs", "60"
    )
    assert result["classes"] == ["setosa", "versicolor", "virginica"]
    assert result["training_accuracy"] > 0.9
    assert main(["info", str(model), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["names"] == list(iris.data.columns)
    assert info["trained_on_rows"] == 150
    assert main(["predict", str(model), str(folder / "0.csv")]) == 0
    assert "setosa" in capsys.readouterr().out


def test_a_checkpoint_is_kept_and_gone_on_from(digits_file, tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = digits_file, "--stream", "--epochs", "3", "--checkpoint", folder
    first = train(capsys, arguments[0], tmp_path / "a.skops", *arguments[1:])
    assert (folder / "stream.checkpoint").exists()
    second = train(capsys, arguments[0], tmp_path / "b.skops", *arguments[1:])
    assert first["training_accuracy"] == second["training_accuracy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epochs", "3"], "go with --stream"),
        (["--checkpoint", "run"], "go with --stream"),
        (["--stream", "--max-iter", "3"], "give --epochs"),
        (["--stream", "--method", "ll"], "add --solver sgd"),
        (["--stream", "--method", "atlas"], "does not learn in blocks"),
        (["--stream", "--class-weight", "77:2"], "there is no class '77'"),
        (["--stream", "--early-stopping"], "early_stopping"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    digits_file, tmp_path, capsys, options, message
):
    model = tmp_path / "m.skops"
    assert main(["train", str(digits_file), str(model), *options]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not model.exists()


def test_bad_files_name_the_line(tmp_path, capsys):
    path = tmp_path / "bad.svm"
    lines = [f"{i % 2} 1:{i} 2:{i * i}" for i in range(50)]
    lines[41] = "1 1:x"
    path.write_text("\n".join(lines) + "\n")
    assert main(["train", str(path), str(tmp_path / "m"), "--stream"]) == 1
    assert "bad.svm, line 42" in capsys.readouterr().err
    path.write_text("\n".join(line for line in lines if line[0] == "0") + "\n")
    assert main(["train", str(path), str(tmp_path / "m"), "--stream"]) == 1
    assert "one class only" in capsys.readouterr().err
    assert main(["train", "-", str(tmp_path / "m"), "--stream"]) == 2
    assert "give a file" in capsys.readouterr().err


@pytest.fixture
def guests(tmp_path, monkeypatch):
    """A table with text, gaps and dates, and a label that they tell."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    n = 500
    room = rng.choice(["single", "double", "suite"], n)
    age = rng.integers(18, 80, n).astype(float)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    table = pandas.DataFrame(
        {"Guest": np.arange(n), "Age": age, "Room": room, "Arrival": day.astype(str)}
    )
    table["Bill"] = age * np.where(room == "suite", 3.0, 1.0)
    table["Back"] = np.where((room == "suite") ^ (age > 60), "yes", "no")
    table.loc[::9, "Age"] = np.nan
    table.loc[::11, "Room"] = None
    table.to_csv("guests.csv", index=False)
    table.to_parquet("guests.parquet")
    return table


@pytest.mark.in_turn
@pytest.mark.parametrize("method", ["local", "du"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_with_text_and_gaps(guests, capsys, method, kind):
    fast, proba = ["--n-anchors", "10"], ["--output", "scores"]
    if method == "local":
        fast, proba = ["--effort", "0"], ["--proba"]
    data = f"guests.{kind}", "m.skops", "--label", "Back", "--ignore", "Bill"
    options = [*data, "--id", "Guest", "--stream", "--method", method, *fast]
    result = train(capsys, *options, "--epochs", "20")
    assert result["rows"] == 500
    assert result["training_accuracy"] > 0.8
    assert main(["evaluate", "m.skops", f"guests.{kind}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == pytest.approx(result["training_accuracy"])
    assert main(["predict", "m.skops", f"guests.{kind}", *proba]) == 0
    assert capsys.readouterr().out.startswith("Guest,")


def test_numbers_of_a_table_in_blocks(guests, capsys):
    options = ["--label", "Bill", "--task", "regression", "--ignore", "Back"]
    options += ["--stream", "--method", "local", "--effort", "0", "--epochs", "20"]
    result = train(capsys, "guests.csv", "m.skops", *options)
    assert result["training_r2"] > 0.6


def test_what_tables_in_blocks_refuse(guests, capsys):
    command = ["train", "guests.csv", "m.skops", "--stream", "--method", "local"]
    assert main([*command, "--label", "Back", "--scale", "norm"]) == 2
    assert "--scale norm is for numbers" in capsys.readouterr().err
    assert main([*command, "--label", "Back", "--categorical", "Rom"]) == 2
    assert "did you mean 'Room'" in capsys.readouterr().err
    assert main([*command, "--label", "Back", "--task", "regression"]) == 1
    assert "learns numbers" in capsys.readouterr().err


def test_rows_of_numbers_for_the_method_of_tables(digits_file, tmp_path, capsys):
    options = ["--stream", "--method", "local", "--effort", "0", "--epochs", "3"]
    result = train(capsys, digits_file, tmp_path / "m.skops", *options)
    assert result["training_accuracy"] > 0.9
