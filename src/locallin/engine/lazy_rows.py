"""Rows that are made when they are asked for."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from locallin.engine.matrix import BLOCK
from locallin.engine.parallel import row_blocks


class LazyRows:
    """A matrix that is not held: its rows are made when they are asked for.

    A subclass sets the attributes, and makes the rows. ``size`` is the number of
    entries that all rows would have.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    size: int

    def __getitem__(self, chosen) -> Any:
        """Dense or CSR rows, chosen as those of an array: by places or a slice."""
        raise NotImplementedError

    def blocks(self) -> Iterator:
        """All rows, a block at a time."""
        return (self[start:stop] for start, stop in row_blocks(self.shape[0], BLOCK))


def blocks_of(X) -> Iterator:
    """A matrix in one block, or rows that are made when asked for in several."""
    return X.blocks() if isinstance(X, LazyRows) else iter([X])


def whole(X):
    """A matrix as it is, and all rows that are made when asked for as one."""
    if not isinstance(X, LazyRows):
        return X
    first = X[:1]
    if sparse.issparse(first):
        return X[:]
    return one_below_another(X.blocks(), X.shape, first.dtype)


def one_below_another(blocks: Iterator, shape: tuple, dtype) -> np.ndarray:
    """Dense blocks as one matrix, without a second copy of them all."""
    made, stop = np.empty(shape, dtype), 0
    for block in blocks:
        start, stop = stop, stop + len(block)
        made[start:stop] = block
    return made
