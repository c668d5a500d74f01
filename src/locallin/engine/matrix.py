"""From validated matrices to the form that kernels take."""

import numpy as np
from scipy import sparse

from locallin.kernels.coding import csr_products
from locallin.kernels.rows import Rows

# Rows that go through the kernels together: their products with the anchors
# stay in the cache, and each anchor meets enough of them.
BLOCK = 1024


def as_rows(X) -> Rows:
    """View a dense C-ordered or CSR matrix as kernel rows."""
    if not sparse.issparse(X):
        return Rows(X, None, None)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Rows(X.data, X.indices, X.indptr)


def count_rows(rows: Rows) -> int:
    """Number of rows."""
    return len(rows.data) if rows.indptr is None else len(rows.indptr) - 1


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """View the rows start..stop."""
    if rows.indptr is None:
        return Rows(rows.data[start:stop], None, None)
    return Rows(rows.data, rows.indices, rows.indptr[start : stop + 1])


def aligned(X):
    """X, or a copy that lies as numpy.take wants it: otherwise it copies all of X."""
    return X if sparse.issparse(X) else np.require(X, requirements="A")


def copy_rows(X: np.ndarray, chosen: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Rows of an aligned matrix, in the memory of ``room``."""
    # Rows are there; a mode that checks would copy twice.
    return np.take(X, chosen, axis=0, out=room[: len(chosen)], mode="clip")


def products(
    rows: Rows, anchors: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Inner products of all rows with all anchors; in ``out`` if given."""
    if rows.indptr is None:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.matmul(rows.data, anchors.T, out=out)
    if out is None:
        out = np.empty((count_rows(rows), len(anchors)), anchors.dtype)
    csr_products(rows, anchors, out)
    return out
