"""Ctrl-C at random moments of everything that takes long.

``PYTHONPATH=src python tests/interruptions.py --presses 200`` presses as often in each
case, and ``--case`` names one; ``engine/test_signals.py`` presses less often. Whatever
was interrupted must raise KeyboardInterrupt and nothing else, leave a model that can be
used or none, files that are whole or none, and no thread.
"""

import argparse
import contextlib
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

import locallin
from locallin.cli import main as run_command
from locallin.export import load

_SECONDS_FOR_THREADS = 120  # what is under way in them ends first
_STREAM = {"epochs": 2, "buffer_size": 200, "sample_size": 200}

# Name of the case: class, parameters, and whether rows come as a stream.
ESTIMATORS = {
    "ll": ("LLSVMClassifier", {"n_anchors": 10, "max_iter": 20, "tol": None}, False),
    "ll-sgd": ("LLSVMClassifier", {"solver": "sgd", "max_iter": 5}, False),
    "ll-grow": ("LLSVMClassifier", {"n_anchors": "auto", "max_iter": 3}, False),
    "ll-cv": ("LLSVMClassifierCV", {"alphas": 3, "cv": 2, "n_anchors": 5}, False),
    "sapl": ("SAPLClassifier", {"n_anchors": 20, "max_iter": 4}, False),
    "du": ("DULLSVMClassifier", {"n_anchors": 20, "max_iter": 4}, False),
    "du-grow": ("DULLSVMClassifier", {"n_anchors": "auto", "max_iter": 2}, False),
    "ml3": ("ML3Classifier", {"n_models": 5, "max_iter": 5}, False),
    "rbf": ("AtlasClassifier", {}, False),
    "linear": ("AtlasClassifier", {"kernel": "linear"}, False),
    "mean": ("EnsembleClassifier", {"n_members": 2}, False),
    "chosen": ("LocallyLinearClassifier", {"effort": 0, "n_members": 2}, False),
    "search": ("LocallyLinearClassifier", {"n_members": 2, "time_limit": 3.0}, False),
    "ll-stream": ("LLSVMClassifier", {"n_anchors": 20, "solver": "sgd"}, True),
    "sapl-stream": ("SAPLClassifier", {"n_anchors": 20, "solver": "sgd"}, True),
    "du-stream": ("DULLSVMClassifier", {"n_anchors": 20}, True),
    "ml3-stream": ("ML3Classifier", {"n_models": 5}, True),
}
# Name of the case: arguments; files that it writes begin with "new".
COMMANDS = {
    "train": [
        "train",
        "rows.csv",
        "new.skops",
        "--method",
        "du",
        "--max-iter",
        "3",
        "--force",
    ],
    "train-stream": [
        *("train", "rows.csv", "new.skops", "--method", "du", "--stream"),
        *("--epochs", "2", "--checkpoint", "new.checkpoint", "--force"),
    ],
    "tune": [
        *("tune", "rows.csv", "new.skops", "--trials", "3", "--folds", "2"),
        *("--max-iter", "2", "--force"),
    ],
    "predict": ["predict", "model.skops", "rows.csv", "new.csv", "--force"],
    "evaluate": ["evaluate", "model.skops", "rows.csv"],
    "report": ["report", "model.skops", "rows.csv", "new.html", "--force"],
}


class EstimatorCase:
    """A fit, whole or from a stream."""

    def __init__(self, name: str, folder: Path):
        self._kind, self._parameters, self._streamed = ESTIMATORS[name]
        X, y = load_digits(return_X_y=True)
        self._X, self._y = X[:500] / 16, y[:500]

    def begin(self) -> None:
        """Make the estimator."""
        parameters = {"random_state": 0, **self._parameters}
        self._model = getattr(locallin, self._kind)(**parameters)
        self._model.set_params(n_jobs=2)

    def work(self) -> None:
        """Fit it."""
        if self._streamed:
            self._model.fit_stream((self._X, self._y), **_STREAM)
        else:
            self._model.fit(self._X, self._y)

    def check(self, interrupted: bool) -> None:
        """A model, or none."""
        try:
            scores = self._model.decision_function(self._X[:9])
            assert np.isfinite(scores).all()
        except NotFittedError:
            assert interrupted
            assert not hasattr(self._model, "classes_")


class CommandCase:
    """A command, in this process."""

    def __init__(self, name: str, folder: Path):
        X, y = load_digits(return_X_y=True)
        self._folder, self._argv = folder, COMMANDS[name]
        lines = [
            ",".join(map(str, [*row, f"c{k}"])) for row, k in zip(X, y, strict=True)
        ]
        head = ",".join([f"p{i}" for i in range(64)] + ["class"])
        (folder / "rows.csv").write_text("\n".join([head, *lines[:400]]) + "\n")
        command = ["train", "rows.csv", "model.skops", "--method", "du"]
        self._run([*command, "--max-iter", "2", "--force"])

    def _run(self, argv: list[str]) -> tuple[int, str]:
        said = io.StringIO()
        silent = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
        with contextlib.chdir(self._folder), silent[0], silent[1]:
            return run_command(argv), said.getvalue()

    def begin(self) -> None:
        """Remove what was written."""
        for path in self._folder.glob("new*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def work(self) -> None:
        """Run it; its exit code tells of Ctrl-C."""
        code, said = self._run(self._argv)
        if code == 130:
            assert "interrupted" in said
            raise KeyboardInterrupt
        assert code == 0, said

    def check(self, interrupted: bool) -> None:
        """Files are whole or none, and nothing else was left."""
        for path in self._folder.iterdir():
            if path.name == "new.skops":
                load(path)["model"].predict(np.zeros((1, 64)))
            elif path.name == "new.csv":
                assert len(path.read_text().split()) == 400
            elif path.name == "new.html":
                assert path.read_text().rstrip().endswith("</html>")
            elif path.name not in ("rows.csv", "model.skops"):
                assert path.name.startswith(("new.skops.trials", "new.checkpoint"))


def press(name: str, presses: int) -> int:
    """Press Ctrl-C as often in one case; return how often it was in time."""
    # A shell that runs this in the background makes it deaf.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kind = EstimatorCase if name in ESTIMATORS else CommandCase
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = kind(name, Path(folder))
        for _ in range(2):
            case.begin()
            began = time.perf_counter()
            case.work()
            seconds = time.perf_counter() - began
        rng = random.Random(0)
        return sum(_press_once(case, rng.random() * seconds) for _ in range(presses))


def _press_once(case, wait: float) -> bool:
    threads, over, interrupted = threading.active_count(), threading.Event(), False
    case.begin()

    def presser():
        if not over.wait(wait):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=presser)
    try:
        thread.start()
        case.work()
        over.set()
        thread.join()
    except KeyboardInterrupt:
        interrupted = True
    over.set()
    thread.join()
    case.check(interrupted)
    deadline = time.monotonic() + _SECONDS_FOR_THREADS
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == threads
    return interrupted


def main() -> int:
    """Press, each case in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--presses", type=int, default=200)
    parser.add_argument("--case", choices=[*ESTIMATORS, *COMMANDS])
    args = parser.parse_args()
    if args.case is not None:
        pressed = press(args.case, args.presses)
        print(f"{args.case}: {pressed} of {args.presses} in time")
        return int(pressed == 0)
    failed = 0
    for name in (*ESTIMATORS, *COMMANDS):
        command = [sys.executable, __file__, "--case", name]
        done = subprocess.run([*command, "--presses", str(args.presses)], check=False)
        failed += done.returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
