"""Who is told of long work, and by whom: nobody, the screen, or a logger."""

import ast
import logging
from pathlib import Path

import pytest
from sklearn.base import clone

import locallin
from locallin import Atlas, DULLSVMClassifier, LLSVMClassifier, LocallyLinearClassifier

LOGGER = logging.getLogger("locallin")
MODELS = [
    DULLSVMClassifier(4, max_iter=3, random_state=0),
    LLSVMClassifier(4, random_state=0),
    LocallyLinearClassifier(effort=0, random_state=0),
    Atlas(random_state=0),
]


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        self.found.append((record.levelno, record.getMessage()))


@pytest.fixture
def lines():
    handler = Lines()
    LOGGER.addHandler(handler)
    yield handler.found
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(logging.NOTSET)


def fit(model, moons, **settings):
    return clone(model).set_params(**settings).fit(*moons)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_is_quiet_unless_asked(model, moons, lines, capsys):
    fit(model, moons)
    assert not lines
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_verbose_prints_lines(model, moons, capsys):
    fit(model, moons, verbose=1)
    said = capsys.readouterr()
    assert type(model).__name__ in said.out
    assert said.err == ""


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_logger_takes_the_place_of_the_screen(model, moons, lines, capsys):
    LOGGER.setLevel(logging.INFO)
    fit(model, moons, verbose=1)
    assert {level for level, _ in lines} == {logging.INFO}
    assert type(model).__name__ in lines[0][1]
    assert capsys.readouterr().out == ""


def test_debug_listens_to_fits_that_are_not_verbose(moons, lines, capsys):
    LOGGER.setLevel(logging.DEBUG)
    fit(MODELS[0], moons)
    assert {level for level, _ in lines} == {logging.DEBUG}
    assert capsys.readouterr().out == ""


def test_info_does_not_hear_fits_that_are_not_verbose(moons, lines):
    LOGGER.setLevel(logging.INFO)
    fit(MODELS[0], moons)
    assert not lines


def test_a_level_without_a_handler_swallows_nothing(moons, capsys, monkeypatch):
    monkeypatch.setattr(LOGGER, "propagate", False)
    LOGGER.setLevel(logging.INFO)
    try:
        fit(MODELS[0], moons, verbose=1)
    finally:
        LOGGER.setLevel(logging.NOTSET)
    assert "DULLSVMClassifier" in capsys.readouterr().out


def test_only_progress_and_the_commands_print():
    """And nobody writes to the screen in another way."""
    home = Path(locallin.__file__).parent
    prints = set()
    for path in home.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            name = ast.unparse(called) if called is not None else ""
            if name == "print" or name.startswith(("sys.stdout.", "sys.stderr.w")):
                prints.add(path.relative_to(home).as_posix())
    prints = {name for name in prints if not name.startswith("cli/")}
    assert prints == {"engine/progress.py"}
