"""Prediction sets as nodes of an ONNX graph, and what a program has to know of it."""

import json

import numpy as np

from locallin.engine.optional import import_optional


def add_sets(model, gaps: np.ndarray) -> None:
    """Add the output ``set``, True where a class is in the set of its row.

    A class is, where its probability falls short of one by no more than its gap; the
    most probable class always is.

    Parameters
    ----------
    model : onnx.ModelProto
        With an output ``probabilities``. Changed in place.
    gaps : ndarray of shape (n_classes,)
        The largest gap of each class.
    """
    helper = import_optional("onnx.helper", "onnx")
    arrays = import_optional("onnx.numpy_helper", "onnx")
    kinds = import_optional("onnx", "onnx").TensorProto
    graph, n_classes = model.graph, len(gaps)
    constants = {
        "set_one": np.ones(1),
        "set_gaps": np.asarray(gaps, float)[None],
        "set_places": np.arange(n_classes)[None],
    }
    for name, value in constants.items():
        graph.initializer.append(arrays.from_array(value, name))
    nodes: tuple[tuple[str, list[str], str, dict], ...] = (
        ("Cast", ["probabilities"], "set_double", {"to": kinds.DOUBLE}),
        ("Sub", ["set_one", "set_double"], "set_short", {}),
        ("LessOrEqual", ["set_short", "set_gaps"], "set_near", {}),
        ("ArgMax", ["probabilities"], "set_best", {"axis": 1, "keepdims": 1}),
        ("Equal", ["set_best", "set_places"], "set_winner", {}),
        ("Or", ["set_near", "set_winner"], "set", {}),
    )
    for kind, inputs, out, more in nodes:
        graph.node.append(helper.make_node(kind, inputs, [out], f"{out}_node", **more))
    rows = graph.output[0].type.tensor_type.shape.dim[0].dim_param or None
    shape = [rows, n_classes]
    graph.output.append(helper.make_tensor_value_info("set", kinds.BOOL, shape))


def add_names(model, **lists: list) -> None:
    """Write lists into the model's metadata, as JSON.

    Parameters
    ----------
    model : onnx.ModelProto
        Changed in place.
    **lists : list
        What is written, by key.
    """
    for key, values in lists.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, json.dumps(values)
