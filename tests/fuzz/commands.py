"""Command lines."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from locallin.cli import main

_COMMANDS = ["train", "predict", "evaluate", "explain", "report", "info", "convert"]
_OPTIONS = [
    "--label",
    "--delimiter",
    "--header",
    "--format",
    "--method",
    "--alpha",
    "--seed",
    "--max-iter",
    "--n-anchors",
    "--output",
    "-o",
    "--row",
    "--rows",
    "--folds",
    "--features",
    "--weight",
    "--classes",
    "--jobs",
    "--stream",
    "--epochs",
    "--learning-rate",
    "--test-size",
    "--scores",
    "--top",
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
    "0.5",
    "-",
    "'\"",
    "\x00",
]


def run(folder: Path, rng) -> str | None:
    """Run a command with odd arguments; nothing but a message may come of it."""
    data = sorted((folder / "data").iterdir())
    models = sorted(folder.glob("*.skops"))
    command = str(rng.choice(_COMMANDS))
    argv = [command, "--traceback"]
    files = [*rng.choice([*data, *models, folder / "none.csv"], 2)]
    if command == "train":
        argv += [str(rng.choice(data)), "-o", str(folder / "case.out.skops")]
        argv += ["--max-iter", "2"] if rng.random() < 0.8 else []
    elif rng.random() < 0.7:
        argv += [str(rng.choice(models)), str(rng.choice(data))]
    else:
        argv += map(str, files)
    for _ in range(rng.integers(0, 3)):
        argv.append(str(rng.choice(_OPTIONS)))
        if rng.random() < 0.8:
            argv.append(str(rng.choice(_VALUES)))
    said = io.StringIO()
    silent = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
    with contextlib.chdir(_place(folder)), silent[0], silent[1]:
        code = main(argv)
    return None if code in (0, 1, 2) else f"exit code {code} of {argv}"


def _place(folder: Path) -> Path:
    """A folder for what commands write."""
    place = folder / "commands"
    place.mkdir(exist_ok=True)
    return place
