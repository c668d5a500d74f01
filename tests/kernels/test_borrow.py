"""Kernels do not count the owners of the arrays they are given."""

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import config, njit, types
from numba.core.runtime import _nrt_python, rtsys
from numba.typed import List

from locallin.kernels import _jit, borrow
from locallin.kernels._jit import jit
from locallin.kernels.borrow import BorrowingCompiler


class Sums(NamedTuple):
    """Where rows are written to."""

    first: np.ndarray
    totals: np.ndarray


@jit
def _sum_rows(table, scale, sums):
    """Writes to arrays that are looked up in a tuple each time."""
    for i in range(len(table)):
        sums.first[i] = scale * _first(table[i])
        sums.totals[i, 0] += table[i].sum()


@jit(inner=True)
def _first(line):
    return line[0]


@jit(inner=True)
def _fill(room, out):
    for i in range(len(out)):
        room[i] = i
        out[i] = room[i]


@jit
def _lend(out):
    _fill(np.empty(len(out)), out)


@jit
def _from_second(values):
    return values[1:], values.size


@jit
def _from_third(values):
    kept, size = _from_second(values)
    return kept[1:], size


@jit
def _sum_rebound(values, spare, n):
    """The sum of one of the arguments, or of what is made in its place."""
    for i in range(n):
        values = values[1:]
        if i == 2:
            values = np.ones(values.size)
        spare = values if i % 2 else np.concatenate((spare, values))
    return values.sum(), spare.sum(), n


@jit
def _lend_a_tuple(values):
    first, totals = np.zeros(values.size), np.ones((values.size, 2))
    sums = Sums(first, totals)
    first = values
    _sum_rows(values.reshape(-1, 1), 2.0, sums)
    return first.sum() + sums.first.sum() + sums.totals.sum()


@jit
def _sum_pair(pair, values):
    own = values if pair[1] is None else pair[1]
    return pair[0].sum() + own.sum()


def _rest_or_none(values):
    return values[1:] if values.size > 1 else None


def _rests(values):
    for i in range(2):
        yield values[i:]


def _put_rest(rests, values):
    rests.append(values[1:])


def test_arguments_are_read_and_written_and_keep_their_owners():
    table = np.arange(12.0).reshape(4, 3)
    sums = Sums(np.empty(4), np.ones((4, 2)))
    before = [sys.getrefcount(array) for array in (table, *sums)]
    _sum_rows(table, 2.0, sums)
    assert sums.first.tolist() == [0.0, 6.0, 12.0, 18.0]
    assert sums.totals[:, 0].tolist() == [4.0, 13.0, 22.0, 31.0]
    assert [sys.getrefcount(array) for array in (table, *sums)] == before


def test_memory_of_a_kernel_lives_as_long_as_what_it_calls():
    out = np.empty(100_000)
    for _ in range(20):
        _lend(out)
        assert (out == np.arange(len(out))).all()


def test_what_is_returned_has_an_owner():
    returned, size = _from_second(np.arange(50_000.0))
    others = [np.full(50_000, -1.0) for _ in range(20)]
    assert (returned == np.arange(1.0, size)).all()
    assert len(others) == 20


def _second(rests):
    next(rests)
    return next(rests)


def _put_into(kernel, values):
    rests = List.empty_list(types.float64[::1])
    kernel(rests, values)
    return np.asarray(rests[0])


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (_rest_or_none, lambda kernel, values: kernel(values)),
        (_rests, lambda kernel, values: _second(kernel(values))),
        (_put_rest, _put_into),
    ],
)
def test_what_outlives_a_call_has_an_owner(function, call):
    kernel = njit(pipeline_class=BorrowingCompiler)(function)
    rest = call(kernel, np.arange(50_000.0))
    others = [np.full(50_000, -1.0) for _ in range(20)]
    assert (rest == np.arange(1.0, 50_000)).all()
    assert len(others) == 20


def test_an_owner_goes_through_several_kernels():
    returned, size = _from_third(np.arange(50_000.0))
    others = [np.full(50_000, -1.0) for _ in range(20)]
    assert (returned == np.arange(2.0, size)).all()
    assert len(others) == 20


def _call_all():
    values, spare = np.arange(8.0), np.full(3, 2.0)
    assert _sum_rebound(values, spare, 2) == (27.0, 27.0, 2)
    assert _sum_rebound(values, spare, 4) == (4.0, 4.0, 4)
    assert _lend_a_tuple(values) == 28.0 + 56.0 + 16.0 + 28.0
    assert _sum_pair((values, None), spare) == 34.0
    assert _sum_pair((values, spare), values) == 34.0
    _lend(np.empty(100))
    _from_third(values)
    before = [sys.getrefcount(array) for array in (values, spare)]
    _sum_rebound(values, spare, 4)
    assert [sys.getrefcount(array) for array in (values, spare)] == before


def test_kernels_keep_no_memory_and_free_none_twice():
    _nrt_python.memsys_enable_stats()
    try:
        _call_all()  # compiles
        before = rtsys.get_allocation_stats()
        for _ in range(10):
            _call_all()
        now = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert now.alloc - before.alloc == now.free - before.free
    assert now.mi_alloc - before.mi_alloc == now.mi_free - before.mi_free
    assert (now.mi_alloc > before.mi_alloc) != config.DISABLE_JIT


def _copy_first(table, spare, out):
    for i in range(len(table)):
        line = table[i] if out[i] > 0 else spare
        out[i] = _first(line)


@pytest.mark.skipif(config.DISABLE_JIT, reason="there is nothing compiled")
@pytest.mark.parametrize("options", [{}, {"pipeline_class": BorrowingCompiler}])
def test_views_of_arguments_count_no_owners(options):
    compiled = njit(**options)(_copy_first)
    out = np.array([1.0, -1.0])
    compiled(np.full((2, 3), 5.0), np.ones(3), out)
    assert out.tolist() == [5.0, 1.0]
    (code,) = compiled.inspect_llvm().values()
    assert ("NRT_incref" in code) != bool(options)


def _without_module(patch):
    patch.setitem(sys.modules, borrow.__name__, None)


def _without_arguments(patch):
    patch.setattr(borrow, "_without_owner", _raise)


def _without_pass(patch):
    patch.setattr(borrow, "NativeLowering", None)


def _raise(*arguments):
    raise AttributeError("as in another Numba")


@pytest.mark.skipif(config.DISABLE_JIT, reason="there is nothing compiled")
@pytest.mark.parametrize(
    "other_numba", [_without_module, _without_arguments, _without_pass]
)
def test_kernels_are_compiled_by_a_numba_of_other_parts(other_numba, monkeypatch):
    other_numba(monkeypatch)
    monkeypatch.setattr(_jit, "_keep_on_disk", lambda kernel: None)
    compiled = jit(_copy_first)
    out = np.array([1.0, -1.0])
    compiled(np.full((2, 3), 5.0), np.ones(3), out)
    assert out.tolist() == [5.0, 1.0]
    (code,) = compiled.inspect_llvm().values()
    assert "NRT_incref" in code


def test_the_package_is_imported_beside_a_numba_of_other_parts():
    lines = (
        "import sys, numba.np.arrayobj",
        "del numba.np.arrayobj.make_array",
        "import locallin.kernels.predict",
        "assert 'locallin.kernels.borrow' not in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
