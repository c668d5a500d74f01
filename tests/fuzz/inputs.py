"""Rows, labels, weights and parameters of all kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .model_files import ESTIMATORS, STREAMS, rows
from .mutations import mutate_array

_VALUES = [
    -1,
    0,
    1,
    2,
    3,
    0.5,
    1e-320,
    1e300,
    np.nan,
    np.inf,
    None,
    "auto",
    "x",
    True,
    [],
    [1.0, 2.0],
    {},
    {0: 1.0},
    "balanced",
    "kmeans",
    "random",
    "soft",
    "sgd",
    "adam",
    "hinge",
    "logistic",
    "constant",
    "mapped",
    np.float32(2),
    10**9,
]
# What only asks for much work, as it should.
_EXPENSIVE = {"max_iter", "n_jobs", "verbose", "n_iter_no_change", "random_state"}


def run(folder: Path, rng) -> str | None:
    """Fit, learn from a block, predict, with something that is odd."""
    X, y = rows()
    X, y, weights = X[:40], y[:40].astype(rng.choice(["i8", "f8", "U3", "O"])), None
    everything = {**ESTIMATORS, **STREAMS}
    name = str(rng.choice(sorted(everything)))
    model = clone(everything[name])
    if "max_iter" in model.get_params():
        model.set_params(max_iter=3)
    if rng.random() < 0.5:
        _set_parameter(model, rng)
    if rng.random() < 0.6:
        X = _odd_rows(X, rng)
    if rng.random() < 0.3:
        y = mutate_array(y, rng)
    if rng.random() < 0.3:
        weights = mutate_array(rng.uniform(0, 2, 40), rng)
    model = _learn(model, X, y, weights, rng)
    return _check(model, _odd_rows(X, rng) if rng.random() < 0.5 else X)


def _set_parameter(model, rng) -> None:
    names = sorted(set(model.get_params(deep=False)) - _EXPENSIVE)
    value = _VALUES[rng.integers(len(_VALUES))]
    name = str(rng.choice(names))
    many = ("n_anchors", "n_models", "n_members", "sample_steps", "alphas")
    if value == 10**9 and name in many:
        return
    model.set_params(**{name: value})


def _odd_rows(X, rng):
    kinds = [
        lambda X: mutate_array(X, rng),
        lambda X: X * 10.0 ** rng.choice([-200, -30, 8, 19, 100, 153, 200, 300]),
        lambda X: X + rng.choice([1e8, 1e15, -1e30]),
        lambda X: X.astype(np.float32) * np.float32(rng.choice([1e-20, 1e10, 1e19])),
        lambda X: X[:, :1],
        lambda X: X[:1],
        lambda X: X.tolist(),
        lambda X: sparse.csr_matrix(X),
        lambda X: np.repeat(X[:1], len(X), axis=0),
        lambda X: X[::-1, ::-1],
        lambda X: X.astype(object),
    ]
    try:
        return kinds[rng.integers(len(kinds))](X)
    except Exception:  # no such change to these
        return X


def _learn(model, X, y, weights, rng):
    if not hasattr(model, "predict"):
        return model.fit(X)
    extra = {} if weights is None else {"sample_weight": weights}
    if hasattr(model, "partial_fit") and rng.random() < 0.4:
        classes = np.unique(y)
        good, labels = rows()
        if rng.random() < 0.5 and set(np.unique(labels[:40])) == set(classes.tolist()):
            model.partial_fit(good[:40], labels[:40], classes=classes)
        return model.partial_fit(X, y, classes=classes, **extra)
    return model.fit(X, y, **extra)


def _check(model, X) -> str | None:
    if not hasattr(model, "predict"):
        out = model.transform(X)
        out = out.data if sparse.issparse(out) else out
        return None if np.isfinite(out).all() else "transform gives NaN or infinity"
    arrays = [v for v in vars(model).values() if isinstance(v, np.ndarray)]
    for array in arrays:
        if array.dtype.kind == "f" and np.isnan(array).any():
            return "fit leaves NaN"
    if not np.isfinite(model.decision_function(X)).all():
        return "scores are NaN or infinite"
    return None
