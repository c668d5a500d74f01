"""Progress bars: where a person looks, and nothing in a file."""

import io
import json
import re
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons

from locallin.cli import main
from locallin.engine import progress

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
    """A terminal in place of standard error, on which every step is drawn."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_BARS", 0)
    monkeypatch.setenv("COLUMNS", "100")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def shares(terminal):
    return [int(share) for share in re.findall(r"(\d+)% \[", terminal.getvalue())]


def test_training_shows_a_bar(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    assert main([*TRAIN, "--json"]) == 0
    assert shares(terminal) == [33, 67]
    assert "\r[DULLSVMClassifier] epoch 3/3" in terminal.getvalue()
    assert json.loads(capsys.readouterr().out)["rows"] == 200


def test_training_from_a_stream_shows_a_bar(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    arguments = ["--stream", "--method", "du", "--epochs", "2", "--json"]
    assert main(["train", "moons.npz", "a.model", *arguments]) == 0
    assert shares(terminal)
    assert "\r[DULLSVMClassifier] epoch 2/2, row 200 of 200" in terminal.getvalue()
    json.loads(capsys.readouterr().out)


def test_tuning_shows_a_bar(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    arguments = ["--method", "ll", "--folds", "1", "--trials", "2", "--json"]
    assert main(["tune", "moons.npz", "a.model", *arguments]) == 0
    assert shares(terminal)[0] == 50
    assert "\r[tune] trial 2:" in terminal.getvalue()
    assert "locallin: trial" not in terminal.getvalue()
    assert json.loads(capsys.readouterr().out)["trials"] == 2


def test_reports_show_a_bar(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    assert main(TRAIN) == 0
    terminal.truncate(0)
    capsys.readouterr()
    report = ["report", "a.model", "moons.npz", "page.html", "--trust", "--json"]
    assert main(report) == 0
    assert shares(terminal) == [0, 20, 40, 60, 80]
    assert "\r[report] the page has" in terminal.getvalue()
    assert json.loads(capsys.readouterr().out)["rows"] == 200


def test_the_file_does_not_remember_the_bar(monkeypatch):
    terminal = watched(monkeypatch)
    assert main(TRAIN) == 0
    terminal.truncate(0)
    assert main(["info", "a.model", "--trust"]) == 0
    assert "DULLSVMClassifier" not in terminal.getvalue()


def test_no_bar_where_nobody_looks(capsys):
    assert main(TRAIN) == 0
    assert "%" not in capsys.readouterr().err
