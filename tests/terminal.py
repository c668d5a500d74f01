"""Commands as tests run them, and what they print."""

import io
import sys
from types import SimpleNamespace

from locallin.cli import main

# A method that is quick on few rows.
DU = ("--method", "du")


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
