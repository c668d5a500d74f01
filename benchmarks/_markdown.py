"""Results read, and tables written, for all pages."""

import json

import numpy as np

from benchmarks._common import RESULTS


class Missing(Exception):
    """There are no results for a table."""


def read(name: str) -> dict:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise Missing(name)
    return json.loads(path.read_text())["results"]


def markdown(head, rows) -> str:
    line, *lines = (
        "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row)
        for row in (head, *rows)
    )
    return "\n".join([line, "|" + "---|" * len(head), *lines])


def plus_minus(entry) -> str:
    entry = spread(entry) if isinstance(entry, list) else entry
    return f"{entry['mean']:.2f} +- {entry['deviation']:.2f}"


def spread(errors) -> dict:
    return {"mean": np.mean(errors), "deviation": np.std(errors, ddof=1)}
