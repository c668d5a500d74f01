"""What every benchmark needs: its job, results that resume, time and memory."""

import gc
import json
import os
import platform
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from math import ceil, inf
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning

SEEDS = (0, 1, 2)
RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "scikit-learn-intelex",
    "lightgbm",
    "catboost",
    "interpret-core",
)
ENVIRONMENT = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class Job:
    """What a run of the benchmarks was asked for."""

    data: Path
    results: Path = RESULTS
    only: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    minutes: float = inf
    beside: Path | None = None
    mirror: str | None = None
    began: float = field(default_factory=time.monotonic)
    known: set[str] = field(default_factory=set)

    def parts(self, names: Iterable[str]) -> list[str]:
        """The parts that are asked for."""
        names = list(names)
        if unknown := set(self.only) - set(names):
            raise SystemExit(f"no part {sorted(unknown)}: choose from {names}")
        return [n for n in names if n in (self.only or names)]

    def named(self, names: Iterable[str]) -> list[str]:
        """The data sets that are asked for."""
        names = list(names)
        self.known.update(names)
        return [n for n in names if not self.sets or n in self.sets]

    def check_sets(self) -> None:
        """Refuse sets that no part of the run has."""
        if unknown := set(self.sets) - self.known:
            known = sorted(self.known)
            raise SystemExit(f"no set {sorted(unknown)}: choose from {known}")

    def out_of_time(self) -> bool:
        return time.monotonic() - self.began >= 60 * self.minutes


class OutOfTime(Exception):
    """The minutes of a job are used up."""


class Report:
    """Results by nested keys, saved after every measurement and taken up again."""

    def __init__(self, job: Job, name: str, **settings):
        benchmark, _, part = name.partition("-")
        only = f" --only {part}" if part else ""
        self._job = job
        self._path = job.results / f"{name}.json"
        self._head = {
            "command": f"python -m benchmarks {benchmark}{only} --data DIR",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "versions": dict(_versions()),
            "environment": {k: os.environ[k] for k in ENVIRONMENT if k in os.environ},
            "settings": settings,
        }
        self.results = {}
        if self._path.exists():
            earlier = json.loads(self._path.read_text())
            self.results = earlier["results"]
            for key, value in earlier.get("settings", {}).items():
                if isinstance(value, dict) and key in settings:
                    settings[key] = {**value, **settings[key]}

    def __contains__(self, key: tuple[str, ...]) -> bool:
        place = self.results
        for name in key:
            if name not in place:
                return False
            place = place[name]
        return True

    def __getitem__(self, key: tuple[str, ...]):
        place = self.results
        for name in key:
            place = place[name]
        return place

    def __setitem__(self, key: tuple[str, ...], value) -> None:
        *path, last = key
        place = self.results
        for name in path:
            place = place.setdefault(name, {})
        place[last] = value

    def fill(self, tasks: dict[tuple[str, ...], Callable[[], object]]) -> None:
        """Measure what is missing: one line, and one saved file, for each."""
        if tasks and all(key in self for key in tasks):
            print(f"{self._path.name} has all {len(tasks)} results of this already.")
        for count, (key, measure) in enumerate(tasks.items(), 1):
            if key in self:
                continue
            if self._job.out_of_time():
                raise OutOfTime
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                spent, self[key] = seconds(measure)
            self._save()
            print(
                f"[{count}/{len(tasks)}] {', '.join(key)}: {described(self[key])}, "
                f"{spent:.1f} s",
                flush=True,
            )

    def _save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps({**self._head, "results": self.results}, indent=1)
        unfinished = self._path.with_suffix(".tmp")
        unfinished.write_text(content + "\n")
        unfinished.replace(self._path)


def _versions():
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def described(value) -> str:
    """A few words about a measurement."""
    if isinstance(value, dict):
        if "skipped" in value:
            return f"skipped, {value['skipped']}"
        value = value.get("test_errors", value.get("test_error"))
    return f"{np.mean(value):.2f} %" if isinstance(value, list | float) else "done"


def error(model, X, y) -> float:
    """Share of wrong predictions in %."""
    return round(100 * (1 - model.score(X, y)), 4)


def summary(errors) -> dict:
    """Test errors with their mean and, of several runs, their deviation."""
    found = {"test_errors": errors, "mean": round(float(np.mean(errors)), 3)}
    if len(errors) > 1:
        found["deviation"] = round(float(np.std(errors, ddof=1)), 3)
    return found


def seconds(function, clock=time.perf_counter) -> tuple[float, object]:
    """Time of one call, and what it returned."""
    start = clock()
    result = function()
    return clock() - start, result


# Seconds of the CPU: on one thread those of the clock, whatever else is running.
cpu_seconds = partial(seconds, clock=time.process_time)


def repeated_seconds(
    function, repeats: int, budget: float = inf, timed=seconds
) -> list[float]:
    """Times of calls: no new one after ``repeats``, or ``budget`` seconds."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < budget:
        times.append(timed(function)[0])
    return times


# The clock of the CPU may tick every few milliseconds: short calls are timed together.
_LEAST_SECONDS, _MOST_CALLS = 0.05, 500


def median_seconds(
    function, repeats: int = 7, budget: float = inf, timed=seconds
) -> float:
    """Median time of a call, after one call to warm up."""
    function()
    return float(np.median(repeated_seconds(function, repeats, budget, timed)))


def batch_time(model, X, repeats: int = 15, timed=seconds) -> dict:
    """Microseconds that a row costs when all are predicted at once."""
    calls = 1
    while True:
        spent = median_seconds(
            lambda n=calls: [model.predict(X) for _ in range(n)],
            repeats, budget=10, timed=timed,
        )  # fmt: skip
        if spent >= _LEAST_SECONDS or calls > _MOST_CALLS:
            return {"batch_microseconds_per_row": 1e6 * spent / calls / X.shape[0]}
        calls *= 4


def one_row_time(model, X) -> dict:
    """Microseconds of a prediction for one row, over 100 rows."""
    rows = [X[i : i + 1] for i in range(min(100, X.shape[0]))]
    spent = median_seconds(lambda: [model.predict(row) for row in rows], 9, budget=10)
    return {"one_row_microseconds": 1e6 * spent / len(rows)}


def peak_memory(function) -> tuple[int, object]:
    """Largest resident memory (bytes, Linux) beyond that before a call; its result."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    result = function()
    return _resident("VmHWM") - before, result


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


@contextmanager
def one_thread():
    """Processes that are started inside have one core, and libraries one thread."""
    names = [name for name in ENVIRONMENT if name.endswith("_NUM_THREADS")]
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with patch.dict(os.environ, dict.fromkeys(names, "1")):
            yield
    finally:
        os.sched_setaffinity(0, cores)


def on_one_thread(function, *arguments, minutes: float | None = None):
    """The same as ``in_new_process``, on one core; minutes are those of the CPU."""
    try:
        return in_new_process(
            _within, minutes, function, *arguments, setting=one_thread
        )
    except OutOfTime:
        return {"skipped": f"takes more than {minutes:g} minutes"}


def _within(minutes: float | None, function, *arguments):
    """What a call returns; the system ends a process beyond its time of the CPU."""
    if minutes is not None:
        import resource  # which Windows has not, where tests import this file

        most = ceil(time.process_time() + 60 * minutes)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
    return function(*arguments)


def in_new_process(
    function, *arguments, minutes: float | None = None, setting=nullcontext
):
    """What a call returns in a process of its own, or that it takes too long."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, arguments))
    with setting():
        process.start()
    sender.close()
    try:
        if receiver.poll(None if minutes is None else 60 * minutes):
            return receiver.recv()
        return {"skipped": f"takes more than {minutes:g} minutes"}
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            raise OutOfTime from None
        raise RuntimeError(f"{function.__name__} failed in its process") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.terminate()
        process.join()


def _answer(sender, function, arguments) -> None:
    os.setsid()  # a group of its own, so that helpers end with it
    warnings.simplefilter("ignore", ConvergenceWarning)
    sender.send(function(*arguments))
