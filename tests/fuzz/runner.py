"""Cases in processes of their own, so that a crash and a hang are findings, too."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# A case takes milliseconds; kernels that it needs may have to be compiled first. Where
# others have the processor, more time passes than is spent.
_SECONDS = 120
_PATIENCE = 10


class Worker:
    """A process that takes cases one by one."""

    def __init__(self, folder: Path):
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", "--worker", str(folder)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, target: str, seed: int, number: int) -> tuple[str | None, bool]:
        """What is wrong with a case, and whether the process is still there."""
        self._process.stdin.write(json.dumps([target, seed, number]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline() if self._answers() else None
        if line:
            return json.loads(line), True
        if line is None:
            self.close()
            return f"hangs for more than {_SECONDS} s", False
        code = self._process.wait()
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"the process ends with {name}", False

    def _answers(self) -> bool:
        """Whether there is an answer before the time is spent."""
        began, spent = time.monotonic(), self._spent()
        while time.monotonic() - began < _PATIENCE * _SECONDS:
            if select.select([self._process.stdout], [], [], min(_SECONDS, 1.0))[0]:
                return True
            if self._spent() - spent > _SECONDS:
                break
        return False

    def _spent(self) -> float:
        """Seconds that the process has computed for; 0 where nothing tells."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def findings(
    folder: Path, cases: list[tuple[str, int, int]], seconds: float, done: Counter
) -> Iterator[tuple[str, int, str]]:
    """Run cases until they or the time are at an end; yield those that end badly.

    ``done`` counts the cases of each target that were run.
    """
    worker, began = Worker(folder), time.monotonic()
    for target, seed, number in cases:
        if time.monotonic() - began > seconds:
            break
        problem, alive = worker.run(target, seed, number)
        done[target] += 1
        if not alive:
            worker = Worker(folder)
        if problem is not None:
            yield target, number, problem
    worker.close()


def serve(folder: Path) -> None:
    """Be the process that takes cases, until the input ends."""
    from .cases import run_case

    # What is printed by a case must not get into the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        problem = run_case(folder, *json.loads(line))
        print(json.dumps(problem), file=answers, flush=True)
