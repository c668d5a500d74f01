"""Predictions of an ONNX graph in the unit of y, behind a transformed target."""

from typing import Any

import numpy as np

from locallin.engine.optional import import_optional
from locallin.export._targets import AFFINE, EXPM1, SQUARE, Way

_OUTPUT, _INSIDE = "variable", "inside_variable"


def add_ways(graph: Any, ways: list[Way]) -> None:
    """Add the way back to the unit of y to a graph whose output is ``variable``."""
    onnx = import_optional("onnx", "onnx")
    body = graph.graph
    for node in body.node:
        for names in (node.input, node.output):
            names[:] = [_INSIDE if name == _OUTPUT else name for name in names]
    last = _INSIDE

    def number(value: float) -> str:
        name = f"target_{len(body.initializer)}"
        body.initializer.append(
            onnx.numpy_helper.from_array(np.array(value, np.float32), name)
        )
        return name

    def then(kind: str, *inputs: str) -> None:
        nonlocal last
        made = f"target_step_{len(body.node)}"
        body.node.append(onnx.helper.make_node(kind, [last, *inputs], [made]))
        last = made

    for way in ways:
        if way.kind == AFFINE:
            then("Mul", number(way.factor))
            then("Add", number(way.shift))
        elif way.kind == SQUARE:
            then("Mul", last)
        else:
            then("Exp")
            if way.kind == EXPM1:
                then("Sub", number(1.0))
    body.node.append(onnx.helper.make_node("Identity", [last], [_OUTPUT]))
