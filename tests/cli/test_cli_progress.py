"""Progress bars: rich ones where a person looks, and nothing in a file."""

import io
import json
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons

from locallin.cli import main

pytest.importorskip("rich", reason="rich is not installed")


TRAIN = ["train", "moons.npz", "a.model", "--method", "du", "--max-iter", "3"]


class Terminal(io.StringIO):
    """Standard error that a person looks at."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def moons_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_moons(200, noise=0.2, random_state=0)
    np.savez("moons.npz", X=X, y=y)


def watched(monkeypatch):
    """A terminal in place of standard error, from now on."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_training_shows_a_bar(monkeypatch, capsys):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no progress bar")
    terminal = watched(monkeypatch)
    assert main([*TRAIN, "--json"]) == 0
    assert "DULLSVMClassifier - fit" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert json.loads(capsys.readouterr().out)["rows"] == 200


def test_tuning_shows_a_bar(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    arguments = ["--method", "ll", "--folds", "1", "--trials", "2", "--json"]
    assert main(["tune", "moons.npz", "a.model", *arguments]) == 0
    assert "trial 2:" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert "locallin: trial" not in terminal.getvalue()
    assert json.loads(capsys.readouterr().out)["trials"] == 2


def test_no_bar_where_nobody_looks(capsys):
    assert main(TRAIN) == 0
    assert "%" not in capsys.readouterr().err
