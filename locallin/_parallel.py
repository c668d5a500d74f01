"""Threads over independent pieces of work."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits


def in_threads(
    function: Callable[..., Any], tasks: Sequence[tuple], n_jobs: int | None
) -> list:
    """Call ``function(*task)`` for each task; results in the order of the tasks.

    With more than one worker the BLAS keeps to one thread per worker for the
    duration of the call.
    """
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    if workers <= 1:
        return [function(*task) for task in tasks]
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda task: function(*task), tasks))


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
