"""Threads over independent pieces of work."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from threading import Thread
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

# Looking for the loaded libraries takes a millisecond; they do not change.
_thread_pools = cache(ThreadpoolController)


def in_threads(
    function: Callable[..., Any], tasks: Sequence[tuple], n_jobs: int | None
) -> list:
    """Call ``function(*task)`` for each task; results in the order of the tasks.

    The calling thread takes its share, so that two workers cost one new thread.
    With more than one worker the BLAS keeps to one thread in each for the duration
    of the call. After an exception, or Ctrl-C, tasks that have begun are waited for
    and the others are dropped.
    """
    workers = min(effective_n_jobs(n_jobs), len(tasks)) if len(tasks) > 1 else 1
    if workers == 1:
        return [function(*task) for task in tasks]
    results: list = [None] * len(tasks)
    waiting = deque(enumerate(tasks))
    errors: list[BaseException] = []

    def work():
        try:
            while waiting:
                try:
                    i, task = waiting.popleft()
                except IndexError:  # another worker was faster
                    return
                results[i] = function(*task)
        except BaseException as error:
            waiting.clear()
            errors.append(error)

    helpers = [Thread(target=work) for _ in range(workers - 1)]
    with _thread_pools().limit(limits=1, user_api="blas"):
        for helper in helpers:
            helper.start()
        work()
        for helper in helpers:
            helper.join()
    if errors:
        raise errors[0]
    return results


def row_blocks(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Bounds of consecutive blocks of at most ``size`` rows."""
    return [(s, min(s + size, n_rows)) for s in range(0, n_rows, size)]


def score_ranges(n_scores: int, n_jobs: int | None) -> list[tuple[int, int]]:
    """Bounds of about equal ranges of scores, one per worker.

    Kernels compute scores in groups of four; bounds at multiples of four keep
    every score in the same place of its group for any number of workers.
    """
    groups = -(-n_scores // 4)
    workers = max(1, min(effective_n_jobs(n_jobs), groups))
    bounds = [min(4 * (groups * w // workers), n_scores) for w in range(workers)]
    return list(zip(bounds, [*bounds[1:], n_scores], strict=True))
