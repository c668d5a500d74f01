"""Columns of a table, strings and missing values included, as ONNX nodes."""

import numpy as np

from locallin.encoding.plan import Levels, Plan
from locallin.export._graphs import Graph, bin_components

_SECONDS = 86400.0


def used_columns(plan: Plan) -> list[int]:
    """Columns that become anything: the graph takes no others."""
    return [j for j, one in enumerate(plan.places) if one.end > one.numbers]


def is_text(plan: Plan, j: int) -> bool:
    """Whether a column comes as strings."""
    return plan.kinds[j] == "category"


def table_components(g: Graph, plan: Plan, inputs: dict[int, str]) -> str:
    """Components of a TableEncoder; ``inputs`` are columns of shape (n, 1).

    Dates come in seconds since 1970. A missing string is empty.
    """
    numbers = {
        j: _numbers(g, plan, j, name)
        for j, name in inputs.items()
        if not is_text(plan, j)
    }
    parts, places = [], []
    if len(plan.source_columns):
        parts.append(_source_components(g, plan, numbers))
        places.append(plan.number_places)
    for j, name in inputs.items():
        levels, place = plan.levels[j], plan.places[j]
        if place.levels > place.means:
            parts.append(_means(g, levels, name))
            places.append(np.arange(place.means, place.levels))
        if place.end > place.levels:
            parts.append(_units(g, plan, j, name, numbers.get(j)))
            places.append(np.arange(place.levels, place.end))
    joined = g("Concat", *parts, axis=1)
    order = np.argsort(np.concatenate(places)).astype(np.int64)
    return g.single(g("Gather", joined, order, axis=1))


def _numbers(g: Graph, plan: Plan, j: int, name: str) -> str:
    x = g.double(name)
    return g("Div", x, np.float64(_SECONDS)) if plan.kinds[j] == "date" else x


def _source_components(g: Graph, plan: Plan, numbers: dict[int, str]) -> str:
    sources = []
    for j, part in zip(plan.source_columns, plan.source_parts, strict=True):
        wave = plan.wave(part)
        if wave is None:
            sources.append(numbers[j])
            continue
        turns = g(
            "Add", g("Div", numbers[j], np.float64(wave.period)), np.float64(wave.shift)
        )
        turns = g("Sub", turns, g("Floor", turns))
        sources.append(g("Sin", g("Mul", turns, np.float64(2 * np.pi))))
    x = g("Concat", *sources, axis=1)
    made = bin_components(g, plan.encoding, x)
    if not plan.is_bent.any():
        return made
    share = g("Mul", made, plan.is_bent / plan.smooth)
    square = g("Add", g("Mul", share, share), np.float64(1))
    return g("Div", made, g("Sqrt", square))


def _codes(g: Graph, names, missing: int, other: int, column: str) -> str:
    """Places among the names, (n,)."""
    keys = [str(name) for name in names]
    values = list(range(len(keys)))
    if "" not in keys:
        keys, values = [*keys, ""], [*values, missing]
    found = g(
        "LabelEncoder",
        column,
        op_domain="ai.onnx.ml",
        op_version=2,
        keys_strings=keys,
        values_int64s=values,
        default_int64=other,
    )
    return g("Squeeze", found, np.array([1]))


def _means(g: Graph, levels: Levels, column: str) -> str:
    n = len(levels.names)
    codes = _codes(g, levels.names, n, n, column)
    table = np.concatenate([levels.means, np.zeros((1, levels.means.shape[1]))])
    return g("Gather", table, codes, axis=0)


def _units(g: Graph, plan: Plan, j: int, column: str, number: str | None) -> str:
    levels = plan.levels[j]
    levels = levels._replace(names=levels.names[: levels.n_kept])
    n = levels.n_kept
    if number is None:
        codes = _codes(g, levels.names, n + 1, n, column)
    else:
        is_missing = g("IsNaN", number)
        known = g("Mul", g("Floor", number), np.float64(0))
        if n:  # weekdays
            days = g("Add", g("Floor", number), np.float64(3))
            weeks = g("Floor", g("Div", days, np.float64(7)))
            known = g("Sub", days, g("Mul", weeks, np.float64(7)))
        found = g("Where", is_missing, np.float64(n + 1), known)
        codes = g("Squeeze", g.integer(found), np.array([1]))
    return g("Gather", levels.unit_table(), codes, axis=0)
