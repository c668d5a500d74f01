"""Kernels do not count the owners of the arrays they are given."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import config, njit

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
