"""Sparse matrices that contradict themselves."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
from scipy import sparse

from .model_files import ESTIMATORS, STREAMS, rows

_FITTED: dict = {}


def _model(name: str):
    if name not in _FITTED:
        X, y = rows()
        estimator = {**ESTIMATORS, **STREAMS}[name]
        if name in STREAMS:
            estimator.set_params(max_iter=2)
        _FITTED[name] = estimator.fit(X, y)
    return _FITTED[name]


def run(folder: Path, rng) -> str | None:
    """Predict, transform or learn from a matrix of a random defect."""
    X, y = rows()
    kind = rng.choice(["csr", "csc", "coo", "bsr"], p=[0.7, 0.1, 0.1, 0.1])
    make = rng.choice([sparse.csr_matrix, sparse.csr_array])
    X = make(X * (X > 3)).asformat(kind)
    before = _parts(X)
    for _ in range(rng.integers(1, 3)):
        _break(X, rng)
        before = _parts(X)
    model = _model(str(rng.choice(sorted([*ESTIMATORS, *STREAMS]))))
    try:
        return _use(model, X, y, rng)
    finally:
        same = all(
            np.array_equal(a, b, True) for a, b in zip(before, _parts(X), strict=True)
        )
        if not same:
            raise AssertionError("the caller's matrix was changed")


def _parts(X) -> list:
    names = ("data", "indices", "indptr", "row", "col")
    return [np.array(getattr(X, n)) for n in names if hasattr(X, n)]


def _break(X, rng) -> None:
    names = [n for n in ("data", "indices", "indptr", "row", "col") if hasattr(X, n)]
    name = str(rng.choice(names))
    part = np.array(getattr(X, name))
    kind = rng.integers(7)
    if kind == 0:
        part.flat[rng.integers(part.size)] = rng.choice([-1, 10**6, 4, 5, 2**31 - 1])
    elif kind == 1:
        part = part[: -rng.integers(1, 5)]
    elif kind == 2:
        part = rng.permutation(part)
    elif kind == 3:
        part = part.astype(rng.choice(["i8", "i4", "f4", "f8", ">f8"]))
    elif kind == 4:
        part = np.concatenate([part, part[:3]])
    elif kind == 5 and part.dtype.kind == "f":
        part.flat[0] = rng.choice([np.nan, np.inf, 1e300, 0.0])
    elif len(part) > 1:
        part[1] = part[0]
    with contextlib.suppress(ValueError, AttributeError):
        setattr(X, name, part)


def _use(model, X, y, rng) -> str | None:
    if hasattr(model, "predict"):
        if hasattr(model, "partial_fit") and rng.random() < 0.3:
            from copy import deepcopy

            model = deepcopy(model).partial_fit(X, y)
        out = model.decision_function(X)
    else:
        out = model.transform(X)
    out = out.data if sparse.issparse(out) else out
    return None if np.isfinite(out).all() else "gives NaN or infinity"
