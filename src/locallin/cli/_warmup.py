"""Compile kernels before they are needed: for images, containers and first users."""

import time
import warnings
from itertools import product

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification

import locallin
from locallin.cli._methods import METHODS
from locallin.cli._output import show
from locallin.kernels.cache import cache_folders

_DTYPES: dict[str, tuple[type, ...]] = {
    "float32": (np.float32,),
    "float64": (np.float64,),
    "both": (np.float32, np.float64),
}
# Enough to go through every loop, and few enough to take no time.
_ROWS = 120


def warmup(args) -> int:
    """Fit and predict small data with each method, and say how long it took."""
    began = time.perf_counter()
    seconds = {}
    for method in args.method or METHODS:
        start = time.perf_counter()
        for dtype, is_sparse in product(_DTYPES[args.dtype], (False, True)):
            if args.sparse or not is_sparse:
                _run(METHODS[method], dtype, is_sparse)
        seconds[METHODS[method]] = round(time.perf_counter() - start, 1)
    total = round(time.perf_counter() - began, 1)
    lines = [f"{name:20} {spent:6.1f} s" for name, spent in seconds.items()]
    folders = cache_folders()
    lines.append(f"{'in all':20} {total:6.1f} s, kept in {folders[0]}")
    show(args, {"seconds": seconds, "total": total, "folders": folders}, lines)
    return 0


def _run(name: str, dtype, is_sparse: bool) -> None:
    """Two and three classes have other kernels; so has a row alone."""
    for n_classes in (2, 3):
        X, y = make_classification(
            _ROWS, 6, n_informative=4, n_classes=n_classes, random_state=0
        )
        rows = X.astype(dtype)
        rows = sparse.csr_matrix(rows) if is_sparse else rows
        model = getattr(locallin, name)(random_state=0)
        if "max_iter" in model.get_params():
            model.set_params(max_iter=2)
        if "effort" in model.get_params():
            model.set_params(effort=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two passes are not meant to converge
            model.fit(rows, y).predict(rows)
        model.predict(rows[:1])
