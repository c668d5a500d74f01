"""A folder with a file of rows, and a model of it."""

import shutil

import pytest
from sklearn.datasets import load_iris

from locallin.cli import main


@pytest.fixture
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
