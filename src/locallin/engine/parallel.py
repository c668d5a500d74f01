"""Threads over independent pieces of work."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import cache
from itertools import pairwise
from math import prod
from queue import SimpleQueue
from threading import Thread, local
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

# Bytes of a buffer that is kept; larger ones are made anew.
_MOST_KEPT = 1 << 26

# Looking for the loaded libraries takes a millisecond; they do not change.
_thread_pools = cache(ThreadpoolController)


# Where a process was forked from one with OpenMP threads, more than one would hang.
_process = os.getpid()


def single_threaded_blas():
    """Keep the BLAS to one thread, as a context."""
    return _thread_pools().limit(limits=1, user_api="blas")


def openmp_after_fork():
    """Keep OpenMP to one thread in a process that was forked, as a context."""
    if os.getpid() == _process:
        return nullcontext()
    return _thread_pools().limit(limits=1, user_api="openmp")


class _Job:
    """Tasks that several threads take from one end."""

    def __init__(self, function: Callable[..., Any], tasks: Sequence[tuple]):
        self._function = function
        self._waiting = deque(enumerate(tasks))
        self.results: list = [None] * len(tasks)
        self.errors: list[BaseException] = []

    def work(self) -> None:
        """Take tasks until none is left; after an error drop the others."""
        try:
            while self._waiting:
                try:
                    i, task = self._waiting.popleft()
                except IndexError:  # another worker was faster
                    return
                self.results[i] = self._function(*task)
        except BaseException as error:
            self._waiting.clear()
            self.errors.append(error)


class ThreadTeam:
    """Threads for many short calls: they start once, and the caller is one of them.

    With more than one worker the BLAS keeps to one thread in each, as long as the
    team exists. After an exception, or Ctrl-C, tasks that have begun are waited for
    and the others are dropped.
    """

    def __init__(self, n_jobs: int | None, n_tasks: int):
        workers = min(effective_n_jobs(n_jobs), n_tasks) if n_tasks > 1 else 1
        self._jobs: SimpleQueue = SimpleQueue()
        self._done: SimpleQueue = SimpleQueue()
        # Ctrl-C in the middle of leaving the team must not keep the process alive.
        self._helpers = [
            Thread(target=self._help, daemon=True) for _ in range(workers - 1)
        ]

    @property
    def n_workers(self) -> int:
        """Threads that share the tasks."""
        return 1 + len(self._helpers)

    def __enter__(self):
        self._blas = single_threaded_blas() if self._helpers else nullcontext()
        self._blas.__enter__()
        try:
            for helper in self._helpers:
                helper.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *error):
        for _ in self._helpers:
            self._jobs.put(None)
        try:
            for helper in self._helpers:
                # One whose start was interrupted ends by itself, if it began at all.
                with suppress(RuntimeError):
                    helper.join()
        finally:
            self._blas.__exit__(*error)

    def _help(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.work()
            self._done.put(None)

    def run(self, function: Callable[..., Any], tasks: Sequence[tuple]) -> list:
        """Call ``function(*task)`` for each task; results in the tasks' order."""
        if not self._helpers:
            return [function(*task) for task in tasks]
        job = _Job(function, tasks)
        for _ in self._helpers:
            self._jobs.put(job)
        job.work()
        for _ in self._helpers:
            self._done.get()
        if job.errors:
            raise job.errors[0]
        return job.results


class Buffers(local):
    """Memory for what is soon forgotten, in each thread its own and the same again.

    Fresh memory for every small step costs as much as the step where the allocator
    gives it back at once, as it does on dask's workers, and for large arrays.
    """

    def __init__(self):
        self._rooms: dict = {}

    def get(self, name: str, shape: tuple[int, ...], dtype) -> np.ndarray:
        """An array of any values, until the name is used again."""
        size = prod(shape)
        room = self._rooms.get((name, dtype))
        if room is None or len(room) < size:
            most = size if room is None else max(size, 2 * len(room))
            room = np.empty(most, dtype)
            if room.nbytes <= _MOST_KEPT:
                self._rooms[name, dtype] = room
        return room[:size].reshape(shape)


def in_threads(
    function: Callable[..., Any], tasks: Sequence[tuple], n_jobs: int | None
) -> list:
    """Call ``function(*task)`` for each task; results in the order of the tasks."""
    if len(tasks) == 1:
        return [function(*tasks[0])]
    with ThreadTeam(n_jobs, len(tasks)) as team:
        return team.run(function, tasks)


def row_blocks(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Bounds of consecutive blocks of at most ``size`` rows."""
    return [(s, min(s + size, n_rows)) for s in range(0, n_rows, size)]


def anchor_ranges(starts: np.ndarray, count: int) -> list[tuple[int, int]]:
    """Bounds of ranges of anchors with about as many entries, and anchors, each.

    The entries of anchor j begin at ``starts[j]`` and end at ``starts[j + 1]``.
    """
    m = len(starts) - 1
    if count == 1:
        return [(0, m)]
    load = starts + np.arange(m + 1)  # an anchor without entries costs a step, too
    cuts = np.searchsorted(load, load[-1] * np.arange(1, count) / count)
    bounds = np.unique([0, *cuts, m])
    return list(pairwise(bounds))


def score_ranges(n_scores: int, n_jobs: int | None) -> list[tuple[int, int]]:
    """Bounds of about equal ranges of scores, one per worker.

    Kernels compute scores in groups of four; bounds at multiples of four keep
    every score in the same place of its group for any number of workers.
    """
    groups = -(-n_scores // 4)
    workers = max(1, min(effective_n_jobs(n_jobs), groups))
    bounds = [min(4 * (groups * w // workers), n_scores) for w in range(workers)]
    return list(zip(bounds, [*bounds[1:], n_scores], strict=True))
