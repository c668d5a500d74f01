"""What does a raw table cost: beside reading it, and in C beside the bare model?

CPU seconds of one thread, the least of several runs: `TableEncoder` on the frame that
pandas' read_csv has just made, by the time of read_csv itself; and a row through the
encoder and the model in C, by the time of the model alone on encoded rows.
"""

import shutil
import subprocess
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks._common import Report
from locallin import LocallyLinearClassifier, TableEncoder
from locallin.export import to_c

SETS = ("adult", "bank_additional", "census_income", "kick")
REPEATS = 5
MODEL_ROWS = 5_000
C_ROWS = 2_000
PASSES = 100
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "{name}.h"
int main(void) {{
    long size = (long) {rows} * {width};
    float *x = malloc(size * sizeof(float)), scores[{scores}], sum = 0;
    FILE *file = fopen("{name}.bin", "rb");
    if (!x || !file || fread(x, sizeof(float), size, file) != (size_t) size) return 1;
    double least = 1e30;
    for (int pass = 0; pass < {passes}; pass++) {{
        clock_t begun = clock();
        for (int i = 0; i < {rows}; i++) {{
            {name}_scores(x + (long) i * {width}, scores);
            sum += scores[0];
        }}
        double spent = (double) (clock() - begun) / CLOCKS_PER_SEC / {rows};
        if (spent < least) least = spent;
    }}
    printf("%.9g %g\\n", 1e6 * least, sum);
    return 0;
}}
"""


def cpu_seconds(function) -> float:
    """The least CPU time of a call, after one to warm up."""
    function()
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        function()
        times.append(time.process_time() - begun)
    return min(times)


def measure(folder: Path, name: str) -> dict:
    pandas = import_module("pandas")
    table = pandas.read_parquet(folder / "tables" / f"{name}.parquet")
    with TemporaryDirectory() as place:
        path = Path(place) / "table.csv"
        table.to_csv(path, index=False)
        read = cpu_seconds(partial(pandas.read_csv, path))
        frame = pandas.read_csv(path)
    y = frame.pop("target").astype(str).to_numpy()
    encoder = TableEncoder(random_state=0).fit(frame, y)
    fit = cpu_seconds(lambda: TableEncoder(random_state=0).fit_transform(frame, y))
    transform = cpu_seconds(partial(encoder.transform, frame))
    return {
        "rows": len(frame),
        "columns": frame.shape[1],
        "read_csv_seconds": read,
        "fit_transform_by_read_csv": fit / read,
        "transform_by_read_csv": transform / read,
        **in_c(frame[:MODEL_ROWS], y[:MODEL_ROWS]),
    }


def in_c(frame, y) -> dict:
    """Microseconds of a row in C, from the table's columns and from encoded ones."""
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        return {}
    model = LocallyLinearClassifier(0, n_members=1, random_state=0).fit(frame, y)
    rows = frame[:C_ROWS]
    encoded = model.encoder_.transform(rows)
    encoded = encoded.toarray() if hasattr(encoded, "toarray") else encoded
    whole = run_c(compiler, to_c(model, "whole"), "whole", coded(model.encoder_, rows))
    bare = run_c(compiler, to_c(model.model_, "bare"), "bare", encoded)
    return {"c_microseconds": whole, "bare_c_microseconds": bare}


def coded(encoder, frame) -> np.ndarray:
    """A frame in numbers, levels as their indices."""
    rows = np.full(frame.shape, np.nan)
    for j, kind in enumerate(encoder.kinds_):
        column = frame.iloc[:, j]
        if kind == "category":
            start, stop = encoder.level_starts_[j : j + 2]
            places = {level: i for i, level in enumerate(encoder.levels_[start:stop])}
            names = column.astype(object).where(column.notna(), "").astype(str)
            rows[:, j] = [places.get(name, stop - start) for name in names]
        elif kind in ("number", "boolean"):
            rows[:, j] = column.to_numpy(dtype=float)
    return rows


def run_c(compiler: str, header: str, name: str, rows: np.ndarray) -> float:
    text = PROGRAM.format(
        name=name,
        rows=len(rows),
        width=rows.shape[1],
        scores=f"{name.upper()}_SCORES",
        passes=PASSES,
    )
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / f"{name}.h").write_text(header)
        (folder / "main.c").write_text(text)
        np.ascontiguousarray(rows, np.float32).tofile(folder / f"{name}.bin")
        command = [compiler, "-O2", "-o", "main", "main.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        found = subprocess.run(
            [folder / "main"], cwd=folder, check=True, capture_output=True, text=True
        )
    return float(found.stdout.split()[0])


def run(job) -> None:
    report = Report(job, "encoding", repeats=REPEATS)
    report.fill({(name,): partial(measure, job.data, name) for name in job.named(SETS)})
