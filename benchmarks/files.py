"""What does it cost to go through a file in blocks, in time and in memory?

"time": seconds of a pass in blocks, of reading the whole file, and of other readers of
the format on the same generated file; a ratio is ours over theirs. "memory": the peak
of a pass in blocks and of writing predictions, as the rows grow; each in a process of
its own, after a small file of the same kind.
"""

import os
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks._common import Report, in_new_process, median_seconds, peak_memory
from locallin import LLSVMClassifier
from locallin.data import batches, read, write_predictions

# Rows, features, and nonzeros of a row.
SHAPES = {
    "libsvm, sparse": (200_000, 1_000, 30),
    "libsvm, dense": (50_000, 100, 100),
    "csv": (50_000, 100, 100),
    "parquet": (200_000, 100, 100),
    "npy": (500_000, 100, 100),
}
REPEATS = 5
BLOCK = 4096
# Rows of the smallest file whose memory is measured (several blocks), features,
# nonzeros.
MEMORY = {
    "libsvm, sparse": (20_000, 1_000, 30),
    "csv": (20_000, 40, 40),
    "parquet": (50_000, 20, 20),
    "npy": (25_000, 100, 100),
}
FACTORS = (1, 4, 16)
EXTENSIONS = {"libsvm": "svm", "csv": "csv", "parquet": "parquet", "npy": "npy"}


def generate(path: Path, kind: str, n_rows: int, n_features: int, nonzeros: int):
    """Write rows of normal numbers, with labels where the format has any."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    if kind.startswith("libsvm"):
        width = n_features // nonzeros
        columns = rng.integers(0, width, (n_rows, nonzeros))
        columns += width * np.arange(nonzeros)
        values = rng.normal(size=n_rows * nonzeros)
        ends = np.arange(0, len(values) + 1, nonzeros)
        shape = n_rows, n_features
        X = sparse.csr_matrix((values, columns.ravel(), ends), shape)
        dump_svmlight_file(X, y, str(path), zero_based=False)
        return
    X = rng.normal(size=(n_rows, n_features))
    if kind == "npy":
        np.save(path, X)
        return
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)]).assign(y=y)
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=50_000)


def peers(kind: str) -> dict:
    """Other readers of a format, which give the whole file."""
    if kind.startswith("libsvm"):
        return {"load_svmlight_file": lambda path: load_svmlight_file(str(path))}
    return {
        "csv": {
            "pandas.read_csv": pd.read_csv,
            "numpy.loadtxt": partial(np.loadtxt, delimiter=",", skiprows=1),
        },
        "parquet": {
            "pyarrow.parquet.read_table": parquet.read_table,
            "pandas.read_parquet, as array": lambda path: pd.read_parquet(
                path
            ).to_numpy(),
        },
        "npy": {"numpy.load": np.load},
    }[kind]


def in_blocks(path, **options) -> int:
    """Rows of a file, by a pass in blocks."""
    return sum(block.shape[0] for block, *_ in batches(path, BLOCK, **options))


def times(kind: str) -> dict:
    n_rows, n_features, nonzeros = SHAPES[kind]
    with TemporaryDirectory() as folder:
        path = Path(folder, f"data.{EXTENSIONS[kind.split(',')[0]]}")
        generate(path, kind, n_rows, n_features, nonzeros)
        label = {"label": None} if kind == "npy" else {}
        ours = {
            "in blocks": partial(in_blocks, path),
            "in blocks, features given": partial(in_blocks, path, features=n_features),
            "whole": partial(read, path, **label),
        }
        others = {name: partial(call, path) for name, call in peers(kind).items()}
        spent = {
            name: median_seconds(call, REPEATS)
            for name, call in {**ours, **others}.items()
        }
        megabytes = os.path.getsize(path) / 1e6
    return {
        "megabytes": round(megabytes, 1),
        "seconds": spent,
        "ratios": {
            name: {peer: round(spent[name] / spent[peer], 3) for peer in others}
            for name in ours
        },
    }


def peaks(kind: str) -> dict:
    """Peak memory by what is done, and by how many times the rows there are."""
    shape = MEMORY[kind]
    found = {}
    with TemporaryDirectory() as folder:
        extension = EXTENSIONS[kind.split(",")[0]]
        small, large = (Path(folder, f"{name}.{extension}") for name in "ab")
        generate(small, kind, shape[0] // 10, *shape[1:])
        for factor in FACTORS:
            generate(large, kind, factor * shape[0], *shape[1:])
            found[str(factor)] = {
                "rows": factor * shape[0],
                "file_bytes": os.path.getsize(large),
                **{
                    f"peak_bytes_{what}": in_new_process(peak, what, small, large)
                    for what in ("blocks", "predictions")
                },
            }
    return found


def peak(what: str, small: Path, large: Path) -> int:
    """Bytes beyond those before a pass; a small file has warmed everything up."""
    call = in_blocks
    if what == "predictions":
        output = large.with_name("out.npy")
        n_features = next(batches(small))[0].shape[1]
        call = partial(write_predictions, model(n_features), output=output, size=BLOCK)
    call(small)
    return peak_memory(lambda: call(large))[0]


def model(n_features: int) -> LLSVMClassifier:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, n_features))
    return LLSVMClassifier(20, max_iter=5, random_state=0).fit(X, X[:, 0] > 0)


def run(job) -> None:
    packages = {name: version(name) for name in ("pandas", "pyarrow")}
    report = Report(
        job,
        "files",
        block=BLOCK,
        repeats=REPEATS,
        shapes=SHAPES,
        memory=MEMORY,
        **packages,
    )
    tasks = {
        "time": {("time", kind): partial(times, kind) for kind in SHAPES},
        "memory": {("memory", kind): partial(peaks, kind) for kind in MEMORY},
    }
    for part in job.parts(tasks):
        report.fill(tasks[part])
