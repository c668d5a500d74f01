"""The command that writes a page."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris
from terminal import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model(capsys):
    """A model of iris.csv."""
    iris = load_iris()
    lines = ["sepal length,sepal width,petal length,petal width,species"]
    for row, target in zip(iris.data.tolist(), iris.target, strict=True):
        lines.append(",".join((*map(str, row), str(iris.target_names[target]))))
    Path("iris.csv").write_text("\n".join(lines) + "\n")
    run(capsys, "train", "iris.csv", "iris.model", "--method", "ll", "--n-anchors", 6)
    return "iris.model"


def explanations(path):
    pattern = r'<script type="application/json" id="explanations">(.*?)</script>'
    return json.loads(re.search(pattern, Path(path).read_text(), re.S)[1])


def test_a_report(capsys, model):
    arguments = ["report", model, "iris.csv", "out.html"]
    out = run(capsys, *arguments, "--rows", 12, "--title", "Irises & more").out
    assert "accuracy" in out
    page = Path("out.html").read_text()
    assert "<h1>Irises &amp; more</h1>" in page
    rows = explanations("out.html")["rows"]
    assert len(rows) == 12
    assert rows[0]["row"] >= 1
    assert {term[0] for term in rows[0]["views"][0]["terms"]} == {
        "sepal length", "sepal width", "petal length", "petal width",
    }  # fmt: skip


def test_the_summary_as_json(capsys, model):
    arguments = ["report", model, "iris.csv", "out.html", "--json"]
    result = json.loads(run(capsys, *arguments).out)
    whole = json.loads(run(capsys, "evaluate", model, "iris.csv", "--json").out)
    assert result["accuracy"] == pytest.approx(whole["accuracy"])
    assert result["rows"] == 150
    assert result["explained_rows"] == 50
    assert result["local_models"] == 6
    assert result["bytes"] == Path("out.html").stat().st_size
    low, high = result["interval"]
    assert low < result["accuracy"] < high


def test_rows_are_counted_as_in_explain(capsys, model):
    run(capsys, "report", model, "iris.csv", "out.html", "--rows", 150)
    out = run(capsys, "explain", model, "iris.csv", "--rows", 150, "--json").out
    told = explanations("out.html")["rows"]
    for row, explained in zip(told, json.loads(out)["rows"], strict=True):
        assert row["row"] == explained["row"]
        assert row["predicted"] == explained["label"]
        assert row["views"][0]["score"] == pytest.approx(explained["score"])


def test_files_without_labels(capsys, model):
    lines = Path("iris.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in lines))
    arguments = ["report", model, "new.csv", "out.html", "--json"]
    assert json.loads(run(capsys, *arguments).out)["accuracy"] is None
    assert "Confusions" not in Path("out.html").read_text()
    run(capsys, "report", model, "iris.csv", "other.html", "--no-labels")
    assert Path("other.html").read_text() == Path("out.html").read_text()


def test_sparse_files_and_models_without_weights(capsys):
    rng = np.random.default_rng(0)
    X = sparse.random(120, 30, 0.2, random_state=0, format="csr")
    dump_svmlight_file(X, rng.integers(0, 2, 120), "data.svm", zero_based=False)
    run(capsys, "train", "data.svm", "a.model", "--n-features", 30)
    run(capsys, "report", "a.model", "data.svm", "out.html")
    assert len(explanations("out.html")["rows"]) == 50
    more = ["--method", "atlas", "--atlas-n-components", 2, "--n-features", 30]
    run(capsys, "train", "data.svm", "b.model", *more)
    arguments = ["report", "b.model", "data.svm", "rbf.html", "--json"]
    result = json.loads(run(capsys, *arguments).out)
    assert result["explained_rows"] == 0
    assert "kernel='rbf'" in result["not_explained"]


def test_nothing_is_replaced_unless_forced_or_by_a_failure(capsys, model):
    Path("out.html").write_text("before")
    arguments = ["report", model, "iris.csv", "out.html"]
    assert "--force" in run(capsys, *arguments, code=2).err
    lines = Path("iris.csv").read_text().splitlines()
    lines[100] = lines[100].replace(",", ",x", 1)
    Path("bad.csv").write_text("\n".join(lines))
    bad = ["report", model, "bad.csv", "out.html", "--force"]
    assert "line 101" in run(capsys, *bad, code=1).err
    run(capsys, "report", model, "iris.csv", "nowhere/out.html", code=2)
    run(capsys, "report", model, "iris.csv", "out.html", "--rows", 0, code=2)
    assert Path("out.html").read_text() == "before"
    left = {"bad.csv", "iris.csv", "iris.model", "out.html"}
    assert set(os.listdir()) == left
    run(capsys, *arguments, "--force")
    assert Path("out.html").read_text().startswith("<!doctype html>")
    assert set(os.listdir()) == left


def test_help_and_completion(capsys):
    assert "report" in run(capsys, "--help").out
    assert "OUT" in run(capsys, "report", "--help").out
    for shell in ("bash", "zsh", "fish"):
        out = run(capsys, "completion", shell).out
        assert "report" in out
        assert "title" in out


def test_rows_are_called_by_their_ids(capsys):
    rng = np.random.default_rng(0)
    lines = ["guest,age,room,back"]
    for i in range(80):
        age, room = rng.integers(20, 70), rng.choice(["sea", "yard"])
        lines.append(f"G-{i},{age},{room},{'yes' if age > 40 else 'no'}")
    Path("guests.csv").write_text("\n".join(lines) + "\n")
    command = ["--method", "ll", "--n-anchors", 4, "--label", "back"]
    run(capsys, "train", "guests.csv", "a.skops", *command, "--id", "guest")
    run(capsys, "report", "a.skops", "guests.csv", "out.html")
    for row in explanations("out.html")["rows"]:
        assert row["name"] == f"G-{row['row'] - 1}"
    run(capsys, "train", "guests.csv", "b.skops", *command, "--ignore", "guest")
    run(capsys, "report", "b.skops", "guests.csv", "numbers.html")
    for row in explanations("numbers.html")["rows"]:
        assert row["name"] == str(row["row"])
