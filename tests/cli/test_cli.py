"""The command line: help, completion, errors, and what it leaves on disk."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from terminal import DU, fails, run

import locallin
from locallin.cli import main
from locallin.cli._methods import (
    method_parameters,
)

pytestmark = pytest.mark.usefixtures("folder")
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


def test_version(capsys):
    assert run(capsys, "--version").out.strip() == locallin.__version__


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
    classes = ["--task", "classification"]
    error = fails(capsys, "train", "iris.csv", "a.model", "--label", "1", *classes)
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


def call(*arguments, **settings):
    """A command in a process of its own."""
    root = os.path.dirname(os.path.dirname(locallin.__file__))
    return subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": root},
        **settings,
    )


PROGRAM = sys.executable, "-m", "locallin"


def test_as_a_process(iris, model):
    done = call(*PROGRAM, "predict", model, "-", input=iris)
    assert done.stdout.split().count("setosa") == 50
    assert done.stderr == ""


@pytest.mark.slow
def test_processes_that_learn_and_fail_and_are_left(iris, folder):
    done = call(*PROGRAM, "train", "-", "a.model", *DU, input=iris)
    assert done.returncode == 0, done.stderr
    assert call(*PROGRAM, "--version").stdout.strip() == locallin.__version__
    if shutil.which("head"):
        header, *rows = iris.splitlines()
        Path("many.csv").write_text("\n".join([header, *rows * 200]))
        pipe = f"{sys.executable} -m locallin predict a.model many.csv | head -n 1"
        done = call("sh", "-c", pipe)
        assert done.stdout == "setosa\n"
        assert done.stderr == ""
    done = call(*PROGRAM, "predict", "a.model", "nothing.csv")
    assert done.returncode == 1
    assert done.stderr == "locallin predict: nothing.csv: No such file or directory\n"


def test_a_delimiter_is_one_character(capsys, iris):
    for given in ("", ";;"):
        error = fails(capsys, "train", "iris.csv", "m", "--delimiter", given, code=2)
        assert "is not one character" in error
