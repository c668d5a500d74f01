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


def column(key: str, benchmark: str = "untuned") -> dict[str, dict[str, float]]:
    """Means of what was measured, by method and data set."""
    found: dict[str, dict[str, float]] = {}
    for data, results in read(benchmark).items():
        for method, entry in results.items():
            if key in entry:
                found.setdefault(method, {})[data] = float(np.mean(entry[key]))
    return found


def measured(entries: dict) -> dict:
    """Results by method, without what took too long."""
    return {name: entry for name, entry in entries.items() if "skipped" not in entry}


def on_same_splits(key: str, first: str, second: str, splits) -> list[dict]:
    """Means of two methods by data set; of the sets in ``splits`` over shared runs."""
    found: list[dict[str, float]] = [{}, {}]
    for data, results in read("untuned").items():
        runs = [results.get(method, {}).get(key) for method in (first, second)]
        if None in runs:
            continue
        shared = min(map(len, runs)) if data in splits else None
        for of, values in zip(found, runs, strict=True):
            of[data] = float(np.mean(values[:shared]))
    return found


def markdown(head, rows) -> str:
    line, *lines = (
        "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row)
        for row in (head, *rows)
    )
    return "\n".join([line, "|" + "---|" * len(head), *lines])


def plus_minus(entry) -> str:
    """Mean and deviation, of the errors where they are known: rounded once."""
    errors = entry if isinstance(entry, list) else entry.get("test_errors", ())
    entry = spread(errors) if len(errors) > 1 else entry
    return f"{entry['mean']:.2f} +- {entry['deviation']:.2f}"


def best_marked(cells, place: int = 0) -> list[str]:
    """Cells in which the least of the numbers that stand at a place is bold."""
    numbers = {i: float(cell.split()[place]) for i, cell in enumerate(cells) if cell}
    if len(numbers) < 2:
        return list(cells)
    winner = min(numbers.values())
    return [
        f"**{cell}**" if numbers.get(i) == winner else cell
        for i, cell in enumerate(cells)
    ]


def columns_marked(rows) -> list[list[str]]:
    """Rows, led by names, in which the best of each column is bold."""
    names, *columns = zip(*rows, strict=True)
    return [list(row) for row in zip(names, *map(best_marked, columns), strict=True)]


def spread(errors) -> dict:
    return {"mean": np.mean(errors), "deviation": np.std(errors, ddof=1)}


def multiple(value, base) -> str:
    """How many times a base, in brackets."""
    if not base:
        return ""
    ratio = value / base
    return f" ({ratio:.0f}x)" if ratio >= 10 else f" ({ratio:.2g}x)"
