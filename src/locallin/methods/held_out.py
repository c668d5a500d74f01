"""Rows of a stream that members do not learn from, but are judged by."""

from typing import Any

import numpy as np
from scipy import sparse

from locallin.engine.input import sound_matrix
from locallin.engine.invariants import Array, Arrays

# Of a sample, or of the first block: a share, and at the most so many.
_SHARE = 0.2
_MOST = 5000

HELD_OUT = Arrays(
    {
        "places": Array(("held-out rows",), "i", least=0, ascending=True),
        "y": Array(("held-out rows", "targets or one"), "fi"),
        "weights": Array(("held-out rows",), least=0.0),
        "X": Array(("held-out rows", "components")),
        "data": Array(("entries",)),
        "indices": Array(("entries",), "i", least=0),
        "indptr": Array((("held-out rows", lambda size: size + 1),), "i", least=0),
    }
)


def draw_held_out(weights: np.ndarray, seed: int) -> np.ndarray:
    """Some of the rows that count, ascending."""
    counted = np.flatnonzero(weights > 0)
    size = min(_MOST, int(_SHARE * len(counted)))
    rng = np.random.RandomState(seed)
    return np.sort(rng.choice(counted, size, replace=False))


def without(n_rows: int, held: np.ndarray) -> np.ndarray:
    """The other rows, ascending."""
    is_other = np.ones(n_rows, bool)
    is_other[held] = False
    return np.flatnonzero(is_other)


def pack(X, y: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Encoded rows as arrays by name."""
    kept = {"y": y.reshape(len(y), -1), "weights": weights.astype(float)}
    if not sparse.issparse(X):
        return {**kept, "X": np.ascontiguousarray(X)}
    return {**kept, "data": X.data, "indices": X.indices, "indptr": X.indptr}


def unpack(kept: dict[str, np.ndarray], n_features: int) -> tuple[Any, Any, Any]:
    """Rows, y of shape (n_rows, n_targets), and weights."""
    X = kept.get("X")
    if X is None:
        parts = kept["data"], kept["indices"], kept["indptr"]
        X = sparse.csr_matrix(parts, (len(kept["y"]), n_features))
    return sound_matrix(X), kept["y"], kept["weights"]
