"""Predicting and explaining by commands, and the models that they take."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from terminal import DU, fails, feed, run

import locallin
from locallin.cli import _files

pytestmark = pytest.mark.usefixtures("folder")


def test_formats_mix(capsys, model, iris):
    rows = [line.split(",") for line in iris.splitlines()[1:]]
    X = np.array([row[:4] for row in rows], dtype=float)
    expected = run(capsys, "predict", model, "iris.csv").out
    np.savez("iris.npz", X=X, y=[row[4] for row in rows])
    np.save("iris.npy", X)
    np.savetxt("plain.tsv", X, delimiter="\t")
    with open("turned.csv", "w") as file:
        names = iris.splitlines()[0].split(",")
        lines = [names, *rows]
        file.writelines(",".join(["more", *line[::-1]]) + "\n" for line in lines[:1])
        file.writelines(",".join(["0", *line[::-1]]) + "\n" for line in lines[1:])
    for name in ("iris.npz", "iris.npy", "plain.tsv", "turned.csv"):
        assert run(capsys, "predict", model, name).out == expected
    report = run(capsys, "evaluate", model, "iris.csv").out
    assert run(capsys, "evaluate", model, "iris.npz").out == report
    assert "no labels" in fails(capsys, "evaluate", model, "plain.tsv")


def test_standard_input_and_output(capsys, monkeypatch, model, iris):
    expected = run(capsys, "predict", model, "iris.csv").out
    feed(monkeypatch, iris)
    assert run(capsys, "predict", model, "-").out == expected
    feed(monkeypatch, iris)
    assert run(capsys, "predict", model, "-", "-").out == expected
    feed(monkeypatch, iris)
    run(capsys, "train", "-", "other.model", *DU)
    assert run(capsys, "predict", "other.model", "iris.csv").out == expected


def test_labels_of_rows_to_predict_do_not_matter(capsys, model, iris):
    expected = run(capsys, "predict", model, "iris.csv").out
    lines = iris.splitlines()
    lines[1:3] = [line.replace("setosa", "") for line in lines[1:3]]
    Path("iris.csv").write_text("\n".join(lines))
    assert run(capsys, "predict", model, "iris.csv").out == expected
    assert "line 2: the label" in fails(capsys, "evaluate", model, "iris.csv")


def test_predictions_as_scores_and_json(capsys, model):
    header, first, *_ = run(
        capsys, "predict", model, "iris.csv", "--output", "scores"
    ).out.splitlines()
    assert header == "label,score_setosa,score_versicolor,score_virginica"
    label, *scores = first.split(",")
    assert label == "setosa"
    assert np.argmax([float(score) for score in scores]) == 0
    lines = run(
        capsys, "predict", model, "iris.csv", "--output", "scores", "--json"
    ).out.splitlines()
    assert len(lines) == 150
    assert json.loads(lines[0])["score_setosa"] == pytest.approx(float(scores[0]))
    error = fails(capsys, "predict", model, "iris.csv", "--output", "proba")
    assert "--probability" in error


def test_two_classes_have_one_score(capsys):
    X, y = make_moons(100, noise=0.1, random_state=0)
    np.savez("moons.npz", X=X, y=y)
    run(capsys, "train", "moons.npz", "a.model", *DU)
    out = run(capsys, "predict", "a.model", "moons.npz", "--output", "scores").out
    assert out.splitlines()[0] == "label,score_1"
    for line in out.splitlines()[1:]:
        label, score = line.split(",")
        assert (float(score) > 0) == (label == "1")
    rows = json.loads(run(capsys, "explain", "a.model", "moons.npz", "--json").out)
    assert {row["label"] for row in rows["rows"]} == {0, 1}
    assert all(row["score"] > 0 for row in rows["rows"])
    assert rows["rows"][0]["contributions"][0]["feature"] in ("x0", "x1")


def test_prediction_in_blocks_is_that_of_the_whole(capsys, monkeypatch, model):
    from locallin.cli import _serving

    arguments = ["predict", model, "iris.csv", "--output", "scores"]
    whole = run(capsys, *arguments).out
    monkeypatch.setattr(_serving, "_LARGEST_BLOCK", 7)
    sizes = []
    blocks = _serving.blocks

    def spied(*arguments):
        for X, y in blocks(*arguments):
            sizes.append(X.shape[0])
            yield X, y

    monkeypatch.setattr(_serving, "blocks", spied)
    pieces = run(capsys, *arguments).out
    assert max(sizes) == 7
    for a, b in zip(whole.splitlines()[1:], pieces.splitlines()[1:], strict=True):
        assert a.split(",")[0] == b.split(",")[0]
        numbers = [[float(cell) for cell in line.split(",")[1:]] for line in (a, b)]
        assert np.allclose(*numbers)


def test_explanations_add_up(capsys, model):
    out = run(capsys, "explain", model, "iris.csv", "--top", 2, "--json").out
    rows = json.loads(out)["rows"]
    scores = run(capsys, "predict", model, "iris.csv", "--output", "scores").out
    assert len(rows) == 10
    for row, line in zip(rows, scores.splitlines()[1:], strict=False):
        parts = [part["contribution"] for part in row["contributions"]]
        assert len(parts) == 2
        assert abs(parts[0]) >= abs(parts[1])
        total = sum(parts) + row["others"] + row["constant"]
        assert total == pytest.approx(row["score"])
        assert row["score"] == pytest.approx(max(map(float, line.split(",")[1:])))
    text = run(capsys, "explain", model, "iris.csv", "--rows", 3).out
    assert text.count("row ") == 3
    assert "petal length" in text
    label = rows[0]["label"]
    assert f"predicted {label}, score of {label} " in text.splitlines()[0]
    assert "(bias)" in text


def test_an_atlas_of_rbf_machines_is_not_explained(capsys, iris):
    run(capsys, "train", "iris.csv", "a.model", "--method", "atlas")
    assert "no local weights" in fails(capsys, "explain", "a.model", "iris.csv")


def test_pickles_need_trust(capsys, monkeypatch, iris):
    monkeypatch.setattr(_files, "find_spec", lambda name: None)
    err = run(capsys, "train", "iris.csv", "a.model", *DU).err
    assert "is a pickle, to be loaded with --trust" in err
    assert "can run any code" in fails(capsys, "predict", "a.model", "iris.csv")
    assert run(capsys, "predict", "a.model", "iris.csv", "--trust").out
    with open("list.model", "wb") as file:
        pickle.dump([1], file)
    assert "holds a list" in fails(capsys, "info", "list.model", "--trust")


def test_models_that_are_none(capsys, iris, model):
    assert "not a model file" in fails(capsys, "info", "iris.csv")
    np.savez("data.npz", X=np.ones((2, 2)))
    assert "cannot be read" in fails(capsys, "info", "data.npz")
    with open("cut.model", "wb") as file:
        file.write(Path(model).read_bytes()[:-50])
    assert "not a model file" in fails(capsys, "info", "cut.model")


def test_estimators_saved_in_python_work_too(capsys, iris):
    X, y = load_iris(return_X_y=True)
    clf = locallin.LLSVMClassifier(4, random_state=0).fit(X, y)
    from locallin.export import save

    save(clf, "a.skops")
    out = run(capsys, "predict", "a.skops", "iris.csv").out
    assert list(map(int, out.split())) == clf.predict(X).tolist()
    run(capsys, "info", "a.skops")
