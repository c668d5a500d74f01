"""Data, timing and result files that the benchmarks share."""

import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

SEEDS = (0, 1, 2)


def load(folder: Path, name: str, dtype=np.float32):
    """X_train, y_train, X_test, y_test, scaled as the docs recommend.

    Rows have a mean squared norm of about one: MNIST rows are normalised, USPS rows
    centred and normalised, LETTER is standardised and divided by sqrt(D).
    """
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X_train"].astype(dtype), file["y_train"]
        X_test, y_test = file["X_test"].astype(dtype), file["y_test"]
    if name == "letter":
        scaler = StandardScaler().fit(X)
        root = np.sqrt(X.shape[1], dtype=dtype)
        return scaler.transform(X) / root, y, scaler.transform(X_test) / root, y_test
    if name == "usps":
        centre = X.mean(axis=0)
        X, X_test = X - centre, X_test - centre
    return normalize(X), y, normalize(X_test), y_test


def matrix(file, name: str):
    """Read a float32 matrix from an open .npz file; CSR where it is stored so."""
    if name in file:
        return file[name].astype(np.float32)
    parts = tuple(file[f"{name}_{p}"] for p in ("data", "indices", "indptr"))
    return sparse.csr_matrix(parts, file[f"{name}_shape"]).astype(np.float32)


def error(model, X, y) -> float:
    """Share of wrong predictions in %."""
    return round(100 * (1 - model.score(X, y)), 4)


def median_seconds(function, repeats: int = 7) -> float:
    """Median time of a call, after one call to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def seconds(function) -> tuple[float, object]:
    """Time of one call, and what it returned."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def earlier(folder: Path, name: str) -> dict:
    """Results of an earlier run, for a run that goes on where it stopped."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text())["results"] if path.exists() else {}


def save(folder: Path, name: str, results: dict) -> None:
    """Write results with the versions and the class of machine that made them."""
    packages = ["numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex"]
    content = {
        "command": f"python -m benchmarks {name} --data DIR",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {p: version(p) for p in packages},
        "results": results,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"wrote {path}")
