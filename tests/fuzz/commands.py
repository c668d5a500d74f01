"""Command lines."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from locallin.cli import main

# What a command begins with; "data", "model" and "out" stand for files.
_COMMANDS = [
    ["train", "data", "out.skops", "--force", "--effort", "0"],
    ["train", "data", "out.skops", "--force", "--method", "du", "--max-iter", "2"],
    ["train", "data", "out.skops", "--force", "--method", "ll", "--max-iter", "2"],
    ["train", "data", "out.skops", "--force", "--method", "ml3", "--max-iter", "2"],
    ["train", "data", "out.skops", "--force", "--method", "sapl", "--stream"],
    ["tune", "data", "out.skops", "--force", "--trials", "1", "--max-iter", "2"],
    ["predict", "model", "data", "out.csv", "--force"],
    ["predict", "model", "data", "-"],
    ["evaluate", "model", "data"],
    ["explain", "model", "data"],
    ["report", "model", "data", "out.html", "--force"],
    ["convert", "model", "out.c", "--force"],
    ["info", "model"],
]
_OPTIONS = [
    "--label",
    "--delimiter",
    "--header",
    "--format",
    "--decimal",
    "--thousands",
    "--na",
    "--ignore",
    "--categorical",
    "--numeric",
    "--date",
    "--id",
    "--keep",
    "--proba",
    "--json",
    "--method",
    "--scale",
    "--alpha",
    "--random-state",
    "--n-anchors",
    "--n-features",
    "--n-members",
    "--output",
    "--rows",
    "--top",
    "--folds",
    "--scoring",
    "--weight",
    "--class-weight",
    "--epochs",
    "--learning-rate",
    "--batch-size",
    "--zero-based",
    "--title",
    "--name",
    "--to",
]
_VALUES = [
    "",
    "-1",
    "0",
    "1",
    "3",
    "1e300",
    "nan",
    "x",
    "y",
    "a",
    "b,c",
    ",",
    ";",
    "\t",
    "auto",
    "csv",
    "libsvm",
    "npz",
    "ml3",
    "sapl",
    "atlas",
    "balanced",
    "0.5",
    "-",
    "'\"",
    "\x00",
]


def prepare(folder: Path) -> None:
    """Train a model by each of two commands, which remembers its columns."""
    data = str(folder / "data" / "rows.csv")
    for name, extra in (("local", ["--effort", "0"]), ("du", ["--method", "du"])):
        code, said = _run(["train", data, str(folder / f"cli-{name}.skops"), *extra])
        assert code == 0, said


def run(folder: Path, rng) -> str | None:
    """Run a command with odd arguments; nothing but a message may come of it."""
    data = sorted((folder / "data").iterdir())
    own = sorted(folder.glob("cli-*.skops"))
    models = [*own, *own, *sorted(folder.glob("*.skops"))]
    files = {"data": data, "model": models}
    argv = list(_COMMANDS[rng.integers(len(_COMMANDS))])
    for place, word in enumerate(argv):
        if word in files:
            known = files[word] if rng.random() < 0.9 else [*data, *models, "none.csv"]
            argv[place] = str(known[rng.integers(len(known))])
    for _ in range(rng.integers(0, 3)):
        argv.append(str(rng.choice(_OPTIONS)))
        if rng.random() < 0.8:
            argv.append(str(rng.choice(_VALUES)))
    with contextlib.chdir(_place(folder)):
        code, _ = _run([*argv, "--traceback"])
    return None if code in (0, 1, 2) else f"exit code {code} of {argv}"


def predict(folder: Path, model: Path) -> str | None:
    """Predict by a model that a stranger may have made."""
    data = folder / "data" / "rows.csv"
    code, said = _run(["predict", str(model), str(data), "-", "--output", "scores"])
    named = str(model) in said or str(data) in said
    fine = code == 0 or (code in (1, 2) and named)
    return None if fine else f"exit code {code}: {said[:150]}"


def _run(argv: list[str]) -> tuple[int, str]:
    said = io.StringIO()
    silent = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
    with silent[0], silent[1]:
        return main(argv), said.getvalue()


def _place(folder: Path) -> Path:
    """A folder for what commands write."""
    place = folder / "commands"
    place.mkdir(exist_ok=True)
    return place
