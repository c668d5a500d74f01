"""The command line: every command, its errors, and what it leaves on disk."""

import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris, make_moons
from sklearn.pipeline import Pipeline

import locallin
from locallin.cli import _files, main
from locallin.cli._methods import (
    METHODS,
    SEARCHING,
    class_weight,
    method_parameters,
    value,
)

COMMANDS = (
    "train",
    "tune",
    "predict",
    "evaluate",
    "explain",
    "info",
    "convert",
    "completion",
)
DU = ("--method", "du")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def iris_text():
    iris = load_iris()
    names = ("sepal length", "sepal width", "petal length", "petal width")
    lines = [",".join((*names, "species"))]
    for row, target in zip(iris.data.tolist(), iris.target, strict=True):
        lines.append(",".join((*map(str, row), str(iris.target_names[target]))))
    return "\n".join(lines) + "\n"


@pytest.fixture
def iris(folder, iris_text):
    (folder / "iris.csv").write_text(iris_text)
    return iris_text


@pytest.fixture(scope="session")
def trained(tmp_path_factory, iris_text):
    """A model of iris.csv."""
    place = tmp_path_factory.mktemp("model")
    (place / "iris.csv").write_text(iris_text)
    paths = place / "iris.csv", place / "iris.model"
    assert main(["train", *map(str, paths), "--method", "du"]) == 0
    return place / "iris.model"


@pytest.fixture
def model(folder, iris, trained):
    shutil.copy(trained, folder / "iris.model")
    return "iris.model"


def run(capsys, *arguments, code=0):
    """Standard output and standard error of a command that ends with ``code``."""
    capsys.readouterr()
    assert main([str(a) for a in arguments]) == code, capsys.readouterr().err
    return capsys.readouterr()


def fails(capsys, *arguments, code=1):
    """The one line that a failing command prints."""
    out, err = run(capsys, *arguments, code=code)
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("locallin")
    assert "Traceback" not in err
    return err


def feed(monkeypatch, content):
    stdin = SimpleNamespace(buffer=io.BytesIO(content.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)


def test_train_predict_evaluate(capsys, iris):
    out, _ = run(capsys, "train", "iris.csv", "a.model", *DU, "--n-anchors", 6)
    assert "setosa, versicolor, virginica" in out
    assert "species" in out
    run(capsys, "predict", "a.model", "iris.csv", "out.txt")
    with open("out.txt") as file:
        predicted = file.read().split()
    truth = [line.rsplit(",")[-1] for line in iris.splitlines()[1:]]
    right = np.mean([p == t for p, t in zip(predicted, truth, strict=True)])
    assert right > 0.94
    result = json.loads(run(capsys, "evaluate", "a.model", "iris.csv", "--json").out)
    assert result["accuracy"] == pytest.approx(right)
    assert result["rows"] == 150
    assert np.sum(result["confusion"]) == 150
    assert [entry["class"] for entry in result["classes"]] == sorted(set(truth))
    assert "virginica" in run(capsys, "evaluate", "a.model", "iris.csv").out


@pytest.mark.parametrize("method", METHODS)
def test_every_method(capsys, iris, method):
    arguments = ["train", "iris.csv", "a.model", "--method", method, "--json"]
    result = json.loads(run(capsys, *arguments).out)
    assert result["method"] == method
    assert result["training_accuracy"] > 0.9
    about = json.loads(run(capsys, "info", "a.model", "--json").out)
    assert about["classifier"] == METHODS[method]
    assert about["method"] == method
    assert about["names"][0] == "sepal length"
    assert about["trained_on_rows"] == 150


def test_the_same_command_gives_the_same_model(capsys, iris):
    for name in ("a.model", "b.model"):
        run(capsys, "train", "iris.csv", name, *DU)
    a, b = (_files.load_model(name, trust=False) for name in ("a.model", "b.model"))
    assert np.array_equal(a.classifier.coef_, b.classifier.coef_)


def test_options_are_the_parameters_of_the_method(capsys, iris):
    arguments = "--method ll --n-anchors 5 --alpha 1e-3 --no-shuffle --tol none"
    more = "--class-weight setosa:2,virginica:3 --max-iter 40 --loss logistic"
    run(capsys, "train", "iris.csv", "a.model", *arguments.split(), *more.split())
    classifier = _files.load_model("a.model", trust=False).classifier
    assert classifier.n_anchors == 5
    assert classifier.alpha == 1e-3
    assert classifier.shuffle is False
    assert classifier.tol is None
    assert classifier.class_weight == {"setosa": 2, "virginica": 3}
    assert classifier.random_state == 0
    out, _ = run(capsys, "predict", "a.model", "iris.csv", "--output", "proba")
    header, first = out.splitlines()[:2]
    expected = "label,probability_setosa,probability_versicolor,probability_virginica"
    assert header == expected
    assert sum(map(float, first.split(",")[1:])) == pytest.approx(1)
    path = ["--method", "ll-cv", "--alphas", "0.1,0.01", "--cv", 2]
    run(capsys, "train", "iris.csv", "c.model", *path)
    assert len(_files.load_model("c.model", trust=False).classifier.alphas_) == 2
    inner = ["--method", "atlas", "--atlas-mdl", 30, "--kernel", "linear"]
    run(capsys, "train", "iris.csv", "b.model", *inner)
    assert _files.load_model("b.model", trust=False).classifier.atlas.mdl == 30


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_has_an_option_and_a_text(capsys, method):
    out, _ = run(capsys, "train", "--method", method, "--help")
    for name, parameter in method_parameters(method):
        assert "--" + name.replace("__", "-").replace("_", "-") in out
        assert parameter.text
        assert parameter.type
    names = {name for name, _ in method_parameters(method) if "__" not in name}
    kind = getattr(locallin, METHODS[method])
    left_out = set(kind().get_params(deep=False)) - names
    assert left_out <= {"warm_start", "feature_map", "atlas", "encoder"}


def test_values_of_options():
    typed = ["none", "True", "3", "1e-3", "auto", "0.1,1"]
    assert [value(text) for text in typed] == [None, True, 3, 1e-3, "auto", [0.1, 1]]
    assert class_weight("balanced") == "balanced"
    assert class_weight("a:b:2,c:1") == {"a:b": 2, "c": 1}


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("auto", "StandardScaler"),
        ("norm", "Normalizer"),
        ("maxabs", "MaxAbsScaler"),
        ("none", None),
    ],
)
def test_scaling_is_part_of_the_model(capsys, iris, scale, expected):
    run(capsys, "train", "iris.csv", "a.model", *DU, "--scale", scale)
    model = _files.load_model("a.model", trust=False)
    assert isinstance(model.estimator, Pipeline)
    about = json.loads(run(capsys, "info", "a.model", "--json").out)
    assert about["scale"] == expected
    run(capsys, "evaluate", "a.model", "iris.csv")


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_libsvm_files(capsys, density):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30)) * (rng.uniform(size=(120, 30)) < density)
    y = np.where(X[:, :5].sum(axis=1) > 0, 1, -1)
    dump_svmlight_file(X, y, "data.svm", zero_based=False)
    with open("one.svm", "w") as file:
        file.write("0 1:1\n")
    arguments = ["train", "data.svm", "a.model", *DU, "--n-features", 30, "--json"]
    result = json.loads(run(capsys, *arguments).out)
    assert result["classes"] == [-1, 1]
    assert result["scale"] == ("standard" if density == 1 else "maxabs")
    assert run(capsys, "predict", "a.model", "one.svm").out in ("-1\n", "1\n")
    run(capsys, "evaluate", "a.model", "data.svm")
    run(capsys, "explain", "a.model", "data.svm")
    with open("one.svm", "w") as file:
        file.write("0 31:1\n")
    assert "beyond the 30" in fails(capsys, "predict", "a.model", "one.svm")


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
    assert "--loss logistic" in error


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


def test_an_atlas_of_rbf_machines_is_not_explained(capsys, iris):
    run(capsys, "train", "iris.csv", "a.model", "--method", "atlas")
    assert "no local weights" in fails(capsys, "explain", "a.model", "iris.csv")


def study_of(path):
    optuna = pytest.importorskip("optuna")
    backend = optuna.storages.journal.JournalFileBackend(path)
    storage = optuna.storages.JournalStorage(backend)
    return optuna.load_study(study_name="locallin", storage=storage)


def logged(path):
    """The finished trials in a log."""
    trials = study_of(path).trials
    return [trial.user_attrs for trial in trials if trial.state.is_finished()]


def test_tuning_resumes(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ll", "--folds", 2]
    out, err = run(capsys, *arguments, "--trials", 2, "--json")
    first = json.loads(out)
    assert first["trials"] == 2
    assert err.count("trial ") == 2
    with open("a.model.trials.jsonl", "a") as file:
        file.write('{"trial": 3, "par')
    out, err = run(capsys, *arguments, "--trials", 4, "--json", "--n-jobs", 1)
    assert "2 trials found" in err
    resumed = json.loads(out)
    assert resumed["trials"] == 4
    assert resumed["best_score"] >= first["best_score"]
    trials = logged("a.model.trials.jsonl")
    run(capsys, *arguments, "--trials", 4, "--log", "b.jsonl", "--force")
    again = logged("b.jsonl")
    assert [t["parameters"] for t in trials] == [t["parameters"] for t in again]
    assert [t["score"] for t in trials] == [t["score"] for t in again]
    about = json.loads(run(capsys, "info", "a.model", "--json").out)
    assert about["tuning"]["score"] == resumed["best_score"]
    error = fails(capsys, *arguments, "--scale", "norm", code=2)
    assert "another search (scale changed)" in error
    out, _ = run(capsys, *arguments, "--trials", 1, "--scale", "norm", "--restart")
    assert "trials             1" in out


def test_a_resumed_search_learns_from_the_same_trials(capsys, iris):
    # The first ten trials are drawn at random, the others from what these have found.
    arguments = ["tune", "iris.csv", "a.model", "--method", "ml3", "--max-iter", 5]
    arguments += ["--folds", 1]
    run(capsys, *arguments, "--trials", 12)
    study = study_of("a.model.trials.jsonl")
    study.ask().suggest_float("alpha", 0.03, 3, log=True)  # and the run is killed
    run(capsys, *arguments, "--trials", 14)
    run(capsys, *arguments, "--trials", 14, "--log", "b.jsonl", "--force")
    trials, again = logged("a.model.trials.jsonl"), logged("b.jsonl")
    assert len(trials) == 14
    assert [t["parameters"] for t in trials] == [t["parameters"] for t in again]
    run(capsys, *arguments, "--trials", 3, "--random-state", 1, "--restart")
    others = logged("a.model.trials.jsonl")
    assert len(others) == 3
    assert others[1]["parameters"] != trials[1]["parameters"]


def test_tuning_without_what_it_needs(capsys, monkeypatch, iris):
    monkeypatch.setitem(sys.modules, "optuna", None)
    error = fails(capsys, "tune", "iris.csv", "a.model")
    assert "optuna is missing for the search for parameters: pip" in error
    assert "'.[tune]'" in error


def test_a_log_that_is_none(capsys, iris):
    Path("a.jsonl").write_text('{"method": "du"}\n{"trial": 1}\n')
    for name in ("iris.csv", "a.jsonl"):
        before = Path(name).read_bytes()
        error = fails(capsys, "tune", "iris.csv", "a.model", "--log", name)
        assert f"{name} is not a log of trials: --log names another" in error
        assert Path(name).read_bytes() == before
    error = fails(capsys, "tune", "iris.csv", "a.model", "--log", "nowhere/a.jsonl")
    assert "nowhere/a.jsonl: No such file" in error


def test_every_trial_may_fail(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ll", "--trials", 2]
    error = run(capsys, *arguments, "--scoring", "roc_auc", code=1).err
    assert "trial 2: " in error
    assert "best none" in error
    assert "every trial failed, the last with: " in error
    assert not os.path.exists("a.model")


@pytest.mark.parametrize("method", [name for name in METHODS if name not in SEARCHING])
def test_tuning_of_every_method(capsys, iris, method):
    arguments = ["tune", "iris.csv", "a.model", "--method", method, "--folds", 1]
    out, _ = run(capsys, *arguments, "--trials", 3, "--json")
    trials = logged("a.model.trials.jsonl")
    assert [trial["error"] for trial in trials] == [None] * 3
    assert json.loads(out)["best_score"] == max(trial["score"] for trial in trials)
    assert trials[0]["parameters"] == {}


def test_tuning_keeps_to_its_budget_and_to_fixed_parameters(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ml3", "--p", 1.5]
    scoring = ["--scoring", "f1_macro", "--folds", 2]
    out, _ = run(capsys, *arguments, *scoring, "--minutes", 0.01, "--json")
    result = json.loads(out)
    assert result["trials"] >= 1
    assert "p" not in result["parameters"]
    error = fails(capsys, *arguments, "--scoring", "nothing", code=2)
    assert "no scorer 'nothing'" in error
    run(capsys, "tune", "iris.csv", "b.model", "--method", "ll-cv", code=2)


def test_an_interrupted_search_can_be_resumed(capsys, monkeypatch, iris):
    from locallin.cli import _tune

    tried, calls = _tune._tried, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return tried(*arguments)

    monkeypatch.setattr(_tune, "_tried", interrupt)
    arguments = ["tune", "iris.csv", "a.model", "--trials", 2, "--folds", 1]
    assert "has 1 trials" in run(capsys, *arguments, code=130).err
    assert not os.path.exists("a.model")
    assert "1 trials found" in run(capsys, *arguments).err
    assert os.path.exists("a.model")


def test_an_interrupted_fit_saves_what_it_has(capsys, monkeypatch, iris):
    fit = locallin.LLSVMClassifier.fit

    def interrupted(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        raise KeyboardInterrupt

    monkeypatch.setattr(locallin.LLSVMClassifier, "fit", interrupted)
    arguments = ["train", "iris.csv", "a.model", "--method", "ll"]
    assert "reached so far" in run(capsys, *arguments, code=130).err
    run(capsys, "evaluate", "a.model", "iris.csv")


def test_info(capsys, model):
    out, _ = run(capsys, "info", model)
    assert "DULLSVMClassifier" in out
    assert "StandardScaler" in out
    assert "species" in out


def test_convert(capsys, model):
    result = json.loads(run(capsys, "convert", model, "iris.h", "--json").out)
    assert result["format"] == "c"
    with open("iris.h") as file:
        assert "model_predict" in file.read()
    assert "extension" in fails(capsys, "convert", model, "iris.txt", code=2)
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    run(capsys, "convert", model, "iris.onnx")
    session = onnxruntime.InferenceSession("iris.onnx")
    labels = session.run(None, {session.get_inputs()[0].name: ROW})[0]
    assert labels.tolist() == ["setosa"]


def test_convert_without_what_it_needs(capsys, monkeypatch, model):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    assert "'.[onnx]'" in fails(capsys, "convert", model, "iris.onnx")
    assert not os.path.exists("iris.onnx")
    monkeypatch.setitem(sys.modules, "locallin.export.onnx", None)
    error = fails(capsys, "convert", model, "iris.onnx")
    assert "this installation cannot write onnx files" in error


ROW = np.array([[5.1, 3.5, 1.4, 0.2]], dtype=np.float32)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_knows_commands_and_options(capsys, shell):
    pytest.importorskip("shtab")
    out, _ = run(capsys, "completion", shell)
    for command in COMMANDS:
        assert command in out
    for word in ("n-anchors", "n-models", "atlas-mdl", "squared_hinge", "parquet"):
        assert word in out
    if shell == "bash" and shutil.which("bash"):
        ask = out + "\nCOMP_WORDS=(locallin train --method s); COMP_CWORD=3"
        ask += '\n_shtab_locallin; echo "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", ask], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "sapl"


def test_completion_without_what_it_needs(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert "shtab is missing for completion: pip install '.[cli]'" in fails(
        capsys, "completion", "bash"
    )


def test_choices_are_those_that_the_methods_check():
    parameters = dict(method_parameters("ll"))
    assert parameters["loss"].choices == ("hinge", "logistic", "squared_hinge")
    assert "kmeans" in parameters["anchors"].choices
    assert parameters["alpha"].choices == ()
    assert parameters["class_weight"].choices == ()


@pytest.mark.parametrize("command", COMMANDS)
def test_help(capsys, command):
    assert command in run(capsys, command, "--help").out
    assert command in run(capsys, "--help").out


def test_the_script_is_declared():
    project = Path(locallin.__file__).parents[2] / "pyproject.toml"
    if not project.exists():
        pytest.skip("not in a checkout")
    scripts = tomllib.loads(project.read_text())["project"]["scripts"]
    assert scripts == {"locallin": "locallin.cli:main"}


def test_usage_errors_are_one_line(capsys, iris):
    for arguments in (
        [],
        ["nothing"],
        ["train", "iris.csv"],
        ["train", "iris.csv", "a.model", "--method", "nothing"],
        ["train", "iris.csv", "a.model", "--n-models", "3"],
        ["train", "iris.csv", "a.model", *DU, "--loss", "nothing"],
        ["train", "iris.csv", "a.model", *DU, "--n-anchors", "-1"],
        ["train", "iris.csv", "a.model", "--label", "0"],
        ["train", "iris.csv", "a.model", "--class-weight", "rose:2"],
        ["train", "iris.csv", "a.model", "--method", "atlas", "--atlas-mdl", "-1"],
        ["train", "iris.csv", "nowhere/a.model"],
        ["tune", "iris.csv", "a.model", "--trials", "0"],
    ):
        fails(capsys, *arguments, code=2)
    assert not os.path.exists("a.model")


def test_a_mistyped_option_is_named(capsys, iris):
    train = ["train", "iris.csv", "a.model", *DU]
    error = fails(capsys, *train, "--n-anchor", "5", code=2)
    assert "no option --n-anchor; did you mean --n-anchors?" in error
    assert "see locallin train --help" in error
    error = fails(capsys, "train", "--n-anchor=5", "iris.csv", "a.model", *DU, code=2)
    assert "no option --n-anchor; did you mean" in error
    error = fails(capsys, *train, "--n-models", "5", code=2)
    assert "--n-models is for other methods: --method ml3" in error
    error = fails(capsys, "predict", "a.model", "iris.csv", "--xyz", code=2)
    assert "predict: there is no option --xyz (see locallin predict --help)" in error
    assert "b is one argument too many" in fails(capsys, "info", "a", "b", code=2)


def test_errors_in_data_are_one_line(capsys, iris, model):
    assert "No such file" in fails(capsys, "train", "nothing.csv", "a.model")
    error = fails(capsys, "train", "iris.csv", "a.model", "--label", "kind")
    assert "no label column 'kind'" in error
    error = fails(capsys, "train", "iris.csv", "a.model", "--label", "1")
    assert "the label, the column 'sepal length', holds 35 different numbers" in error
    with open("one.csv", "w") as file:
        file.write("1,2,a\n3,4,a\n")
    assert "one class only" in fails(capsys, "train", "one.csv", "a.model")
    with open("other.csv", "w") as file:
        file.write(iris.replace("setosa", "x").replace("ver", "y").replace("vir", "z"))
    error = fails(capsys, "evaluate", model, "other.csv")
    assert "no label is a class of the model" in error
    assert sorted(os.listdir()) == ["iris.csv", "iris.model", "one.csv", "other.csv"]


def test_a_traceback_on_demand(iris):
    with pytest.raises(FileNotFoundError):
        main(["train", "nothing.csv", "a.model", "--traceback"])


def test_nothing_is_replaced_unless_forced(capsys, iris, model):
    before = Path(model).read_bytes()
    error = fails(capsys, "train", "iris.csv", model, code=2)
    assert "--force" in error
    fails(capsys, "train", model, "iris.csv", code=2)
    fails(capsys, "predict", model, "iris.csv", "iris.csv", code=2)
    fails(capsys, "convert", model, "iris.csv", "--to", "c", code=2)
    assert Path(model).read_bytes() == before
    assert Path("iris.csv").read_text() == iris
    run(capsys, "train", "iris.csv", model, "--force", "--method", "ml3")
    assert Path(model).read_bytes() != before


def test_a_failed_command_leaves_files_alone(capsys, iris, model):
    before = Path(model).read_bytes()
    with open("out.txt", "w") as file:
        file.write("before")
    lines = iris.splitlines()
    lines[100] = lines[100].replace(",", ",1,", 1)
    with open("bad.csv", "w") as file:
        file.write("\n".join(lines))
    fails(capsys, "train", "bad.csv", model, "--force")
    error = fails(capsys, "predict", model, "bad.csv", "out.txt", "--force")
    assert "line 101" in error
    assert Path(model).read_bytes() == before
    assert Path("out.txt").read_text() == "before"
    assert sorted(os.listdir()) == ["bad.csv", "iris.csv", "iris.model", "out.txt"]


def test_warnings_of_a_fit_are_told(capsys, iris):
    arguments = ["--method", "ll", "--max-iter", 1, "--alpha", "1e-6"]
    err = run(capsys, "train", "iris.csv", "a.model", *arguments, "--verbose", 1).err
    assert "locallin: warning: LLSVMClassifier did not converge" in err
    assert "epoch 1/1" in err


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


def test_as_a_process(iris, folder):
    root = os.path.dirname(os.path.dirname(locallin.__file__))
    environment = os.environ | {"PYTHONPATH": root}
    command = [sys.executable, "-m", "locallin"]

    def call(*arguments, **settings):
        return subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            env=environment,
            **settings,
        )

    done = call("train", "-", "a.model", *DU, input=iris)
    assert done.returncode == 0, done.stderr
    done = call("predict", "a.model", "-", input=iris)
    assert done.stdout.split().count("setosa") == 50
    assert call("--version").stdout.strip() == locallin.__version__
    if shutil.which("head"):
        header, *rows = iris.splitlines()
        Path("many.csv").write_text("\n".join([header, *rows * 200]))
        pipe = f"{sys.executable} -m locallin predict a.model many.csv | head -n 1"
        done = subprocess.run(
            ["sh", "-c", pipe], capture_output=True, text=True, env=environment
        )
        assert done.stdout == "setosa\n"
        assert done.stderr == ""
    done = call("predict", "a.model", "nothing.csv")
    assert done.returncode == 1
    assert done.stderr == "locallin predict: nothing.csv: No such file or directory\n"


def test_a_delimiter_is_one_character(capsys, iris):
    for given in ("", ";;"):
        error = fails(capsys, "train", "iris.csv", "m", "--delimiter", given, code=2)
        assert "is not one character" in error


def test_too_many_folds_leave_no_file(capsys, folder, iris):
    before = sorted(folder.iterdir())
    error = fails(capsys, "tune", "iris.csv", "tuned.skops", "--folds", 1000)
    assert "--folds 1000 is more than" in error
    assert sorted(folder.iterdir()) == before


def test_steps_that_are_too_long_leave_no_model(capsys, folder, iris):
    error = fails(
        capsys, "train", "iris.csv", "long.skops", *DU, "--learning-rate", "1e300"
    )
    assert "learning rates" in error
    assert not (folder / "long.skops").exists()
