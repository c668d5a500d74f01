"""Threads over independent pieces of work."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from locallin.engine.parallel import (
    Buffers,
    ThreadTeam,
    anchor_ranges,
    in_threads,
)


def blas_threads():
    return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    tasks = [(i, i + 1) for i in range(20)]
    assert in_threads(lambda a, b: a * b, tasks, n_jobs) == [a * b for a, b in tasks]
    assert in_threads(lambda: 3, [()], n_jobs) == [3]
    assert in_threads(lambda: 3, [], n_jobs) == []


def test_a_crew_works_together_many_times():
    meeting = threading.Barrier(2, timeout=30)
    with ThreadTeam(2, 2) as crew:
        for _ in range(50):
            seen = crew.run(
                lambda: (meeting.wait(), threading.get_ident())[1], [(), ()]
            )
            assert len(set(seen)) == 2
            assert threading.get_ident() in seen


def test_scratch_is_used_again_by_the_thread_that_has_it():
    scratch = Buffers()
    first = scratch.get("sum", (3, 4), np.float32)
    assert first.shape == (3, 4)
    assert first.dtype == np.float32
    assert np.shares_memory(first, scratch.get("sum", (2, 4), np.float32))
    others = [("rows", (3, 4), np.float32), ("sum", (3, 4), np.float64)]
    others += [("sum", (3, 5), np.float32), ("sum", (30, 4), np.float32)]
    for other in others:
        room = scratch.get(*other)
        assert room.shape == other[1]
        assert not np.shares_memory(first, room)
    meeting = threading.Barrier(2, timeout=30)

    def own():
        meeting.wait()
        return scratch.get("sum", (3, 4), np.float32)

    with ThreadTeam(2, 2) as crew:
        assert not np.shares_memory(*crew.run(own, [(), ()]))


def test_blas_keeps_to_one_thread_inside_and_is_left_as_it_was():
    before = blas_threads()
    inside = in_threads(blas_threads, [(), ()], 2)
    assert inside == [[1] * len(before)] * 2
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_and_waiting_tasks_are_dropped(n_jobs, error):
    before, begun = threading.active_count(), []

    def fail(i):
        begun.append(i)
        raise error("task failed")

    with pytest.raises(error, match="task failed"), ThreadTeam(n_jobs, 100) as crew:
        crew.run(fail, [(i,) for i in range(100)])
    assert len(begun) <= n_jobs
    assert threading.active_count() == before


def test_ranges_of_anchors_cover_all_and_share_the_entries():
    starts = np.array([0, 10, 10, 30, 31, 50])
    assert anchor_ranges(starts, 1) == [(0, 5)]
    for count in (2, 3, 7):
        ranges = anchor_ranges(starts, count)
        joined = [j for first, last in ranges for j in range(first, last)]
        assert joined == list(range(5))
    assert anchor_ranges(starts, 2) == [(0, 3), (3, 5)]
