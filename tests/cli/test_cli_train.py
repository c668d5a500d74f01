"""Training by a command: methods, options, scales, what is left behind."""

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import Pipeline
from terminal import DU, fails, run

import locallin
from locallin.cli import _files
from locallin.cli._methods import (
    METHODS,
    class_weight,
    method_parameters,
    value,
)

pytestmark = pytest.mark.usefixtures("folder")


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


def test_an_interrupted_fit_saves_what_it_has(capsys, monkeypatch, iris):
    fit = locallin.LLSVMClassifier.fit

    def interrupted(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        raise KeyboardInterrupt

    monkeypatch.setattr(locallin.LLSVMClassifier, "fit", interrupted)
    arguments = ["train", "iris.csv", "a.model", "--method", "ll"]
    assert "reached so far" in run(capsys, *arguments, code=130).err
    run(capsys, "evaluate", "a.model", "iris.csv")


def test_warnings_of_a_fit_are_told(capsys, iris):
    arguments = ["--method", "ll", "--max-iter", 1, "--alpha", "1e-6"]
    err = run(capsys, "train", "iris.csv", "a.model", *arguments, "--verbose", 1).err
    assert "locallin: warning: LLSVMClassifier did not converge" in err
    assert "epoch 1/1" in err


def test_steps_that_are_too_long_leave_no_model(capsys, folder, iris):
    error = fails(
        capsys, "train", "iris.csv", "long.skops", *DU, "--learning-rate", "1e300"
    )
    assert "learning rates" in error
    assert not (folder / "long.skops").exists()
