"""Who is told of long work, and by whom: nobody, the screen, or a logger."""

import ast
import io
import logging
import sys
from pathlib import Path

import pytest
from sklearn.base import clone

import locallin
from locallin import Atlas, DULLSVMClassifier, LLSVMClassifier, LocallyLinearClassifier
from locallin.engine import progress

LOGGER = logging.getLogger("locallin")
MODELS = [
    DULLSVMClassifier(4, max_iter=3, random_state=0),
    LLSVMClassifier(4, random_state=0),
    LocallyLinearClassifier(effort=0, random_state=0),
    Atlas(random_state=0),
]
STEPPING = [model for model in MODELS if "effort" not in model.get_params()]


@pytest.fixture(autouse=True)
def own_screen(monkeypatch):
    """A bar that a test leaves is over its own line, and no later test's."""
    monkeypatch.setattr(progress, "_SCREEN", progress._Screen())


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


class Terminal(io.StringIO):
    """A screen that a person looks at."""

    def isatty(self):
        return True


class Notebook(io.StringIO):
    """A stream of a notebook, which is no terminal."""

    __module__ = "ipykernel.iostream"


SCREENS = pytest.mark.parametrize("kind", [Terminal, Notebook])


def watched(kind, monkeypatch):
    """A screen in place of standard output, on which every step is drawn."""
    shown = kind()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_BARS", 0)
    monkeypatch.setenv("COLUMNS", "60")
    return shown


def looks_like(screen):
    """The lines that a person sees in the end."""
    lines = []
    for line in screen.getvalue().split("\n"):
        seen = ""
        for part in line.split("\r"):
            seen = part + seen[len(part) :]
        lines.append(seen.rstrip())
    return lines


@SCREENS
@pytest.mark.parametrize("model", STEPPING, ids=lambda model: type(model).__name__)
def test_a_watched_fit_has_a_bar_and_ends_with_a_line(model, kind, moons, monkeypatch):
    screen = watched(kind, monkeypatch)
    fit(model, moons, verbose=1)
    assert "|  " in screen.getvalue()
    assert "% [" in screen.getvalue()
    *lines, end = looks_like(screen)
    assert end == ""
    assert 1 <= len(lines) <= 2
    assert all(line.startswith(f"[{type(model).__name__}] ") for line in lines)


def test_more_words_are_lines_on_every_screen(moons, monkeypatch):
    screen = watched(Terminal, monkeypatch)
    fit(MODELS[0], moons, verbose=2)
    assert "\r" not in screen.getvalue()
    assert screen.getvalue().count("\n") == 3


def test_a_bar_is_no_wider_than_the_screen(monkeypatch):
    screen = watched(Terminal, monkeypatch)
    steps = progress.Steps("work", 4, 1)
    for number in range(4):
        steps.step(number, "something " + "long " * 20)
    assert all(len(part) < 60 for part in screen.getvalue().split("\r"))
    assert screen.getvalue().split("\r")[2][:30] == "|##########          |  50% [w"
    steps.end()
    assert looks_like(screen)[0].startswith("[work] something long long")


def test_work_of_unknown_length_has_no_share(monkeypatch):
    screen = watched(Notebook, monkeypatch)
    steps = progress.Steps("work", None, 1)
    steps.step(1, "going on")
    assert screen.getvalue().startswith("[work] going on, ")


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
