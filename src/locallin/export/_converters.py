"""What skl2onnx is told of this library: outputs, shapes and converters."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from locallin.atlas import Atlas
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.encoding import PiecewiseLinearEncoder, TableEncoder
from locallin.engine.optional import import_optional
from locallin.export import _graphs, _reason_graphs, _table_graphs
from locallin.feature_maps import IntersectionSampler
from locallin.methods.atlas import AtlasClassifier
from locallin.methods.atlas_regressor import AtlasRegressor
from locallin.methods.dullsvm import DULLSVMClassifier
from locallin.methods.dullsvm_regressor import DULLSVMRegressor
from locallin.methods.ensemble import EnsembleClassifier
from locallin.methods.ensemble_regressor import EnsembleRegressor, number_of_targets
from locallin.methods.llsvm import LLSVMClassifier
from locallin.methods.llsvm_cv import LLSVMClassifierCV
from locallin.methods.llsvm_regressor import LLSVMRegressor
from locallin.methods.ml3 import ML3Classifier
from locallin.methods.sapl import SAPLClassifier
from locallin.methods.sapl_regressor import SAPLRegressor


class _Builders(NamedTuple):
    """What adds the scores of a model to a graph, and its local model if it has one."""

    scores: Callable[..., str]
    local_model: Callable[..., _reason_graphs.LocalModel] | None = None


def _scores(graph, model, rows) -> str:
    return _builders_of(model).scores(graph, model, rows)


def _local_model(graph, model, rows) -> _reason_graphs.LocalModel:
    build = _builders_of(model).local_model
    if build is None:
        raise TypeError(
            f"contributions=True has no {type(model).__name__}: export it without, or "
            "take a model with anchors."
        )
    return build(graph, model, rows)


def _builders_of(model) -> _Builders:
    found = {**CLASSIFIERS, **REGRESSORS}.get(type(model))
    if found is None:
        raise TypeError(f"to_onnx has no {type(model).__name__} in an ensemble.")
    return found


_ANCHORED = _Builders(_graphs.anchored_scores, _reason_graphs.anchored_model)
_NUMBERS = _Builders(_graphs.anchored_numbers, _reason_graphs.anchored_model)
_CHARTED = _Builders(_graphs.chart_scores)
_MEAN = _Builders(
    partial(_graphs.mean_scores, of_member=_scores),
    partial(_reason_graphs.mean_model, of_member=_local_model),
)
CLASSIFIERS = {
    LLSVMClassifier: _ANCHORED,
    LLSVMClassifierCV: _ANCHORED,
    SAPLClassifier: _ANCHORED,
    DULLSVMClassifier: _ANCHORED,
    ML3Classifier: _Builders(_graphs.latent_scores, _reason_graphs.latent_model),
    AtlasClassifier: _CHARTED,
    EnsembleClassifier: _MEAN,
}
REGRESSORS = {
    LLSVMRegressor: _NUMBERS,
    SAPLRegressor: _NUMBERS,
    DULLSVMRegressor: _NUMBERS,
    AtlasRegressor: _CHARTED,
    EnsembleRegressor: _MEAN,
}
_TRANSFORMERS: dict[type, Callable[..., str]] = {
    AdaptiveCoding: _graphs.anchor_weights,
    InverseDistanceCoding: _graphs.anchor_weights,
    SoftAssignmentCoding: _graphs.anchor_weights,
    IntersectionSampler: _graphs.waves,
    PiecewiseLinearEncoder: _graphs.bins,
    Atlas: _graphs.charts,
}


def register() -> None:
    """Teach skl2onnx the estimators of this library.

    ``to_onnx`` does it by itself; call this once to use :func:`skl2onnx.to_onnx`.

    Examples
    --------
    >>> from locallin.export.onnx import register
    >>> register()  # doctest: +SKIP
    """
    skl2onnx = import_optional("skl2onnx", "onnx")
    for kind in CLASSIFIERS:
        skl2onnx.update_registered_converter(
            kind,
            f"Locallin{kind.__name__}",
            _classifier_shapes,
            _convert_classifier,
            parser=_parse_classifier,
            options={
                "raw_scores": [True, False],
                "contributions": None,  # any columns
                # What skl2onnx asks of every classifier, and does not apply here.
                "zipmap": [True, False, "columns"],
                "nocl": [True, False],
                "output_class_labels": [False],
            },
        )
    for kind in REGRESSORS:
        skl2onnx.update_registered_converter(
            kind,
            f"Locallin{kind.__name__}",
            _regressor_shapes,
            _convert_regressor,
            parser=_parse_regressor,
            options={"contributions": None},
        )
    for kind in _TRANSFORMERS:
        skl2onnx.update_registered_converter(
            kind, f"Locallin{kind.__name__}", _transformer_shapes, _convert_transformer
        )
    skl2onnx.update_registered_converter(
        TableEncoder, "LocallinTableEncoder", _transformer_shapes, _convert_table
    )


def _convert_table(scope, operator, container) -> None:
    """Inputs are columns by name, or in the order of those that are used."""
    plan = operator.raw_operator.plan()
    columns = _table_graphs.used_columns(plan)
    if len(operator.inputs) != len(columns):
        raise ValueError(
            f"TableEncoder has {len(columns)} columns that are used, but the graph has "
            f"{len(operator.inputs)} inputs: give one of each, or leave initial_types "
            "to locallin.export.to_onnx."
        )
    names = [variable.full_name for variable in operator.inputs]
    graph = _graphs.Graph(scope, container)
    inputs = dict(zip(columns, names, strict=True))
    out = _table_graphs.table_components(graph, plan, inputs)
    graph.name(out, operator.outputs[0].full_name)


def _gives_probabilities(scope, model) -> bool:
    options = scope.get_options(model, {"raw_scores": False}, fail=False)
    return hasattr(model, "predict_proba") and not options.get("raw_scores", False)


def _columns_of(scope, model) -> _reason_graphs.Columns | None:
    """Columns of the contributions, where these are asked for."""
    options = scope.get_options(model, {"contributions": None}, fail=False)
    return options.get("contributions")


def _parse_classifier(scope, model, inputs, custom_parsers=None):
    types = import_optional("skl2onnx.common.data_types", "onnx")
    if model.classes_.dtype.kind in "iub":
        label = types.Int64TensorType()
    elif model.classes_.dtype.kind in "OUS":
        label = types.StringTensorType()
    else:
        raise TypeError(
            f"Labels in ONNX are integers or strings, but classes_ has the type "
            f"{model.classes_.dtype}: fit with integers."
        )
    second = "probabilities" if _gives_probabilities(scope, model) else "scores"
    outputs = {"label": label, second: types.FloatTensorType()}
    return _declare(scope, model, inputs, outputs)


def _parse_regressor(scope, model, inputs, custom_parsers=None):
    types = import_optional("skl2onnx.common.data_types", "onnx")
    return _declare(scope, model, inputs, {"variable": types.FloatTensorType()})


def _declare(scope, model, inputs, outputs: dict):
    """Declare a model with its outputs, and contributions where asked for."""
    types = import_optional("skl2onnx.common.data_types", "onnx")
    operator = scope.declare_local_operator(_operator_names()[type(model)], model)
    operator.inputs = list(inputs)
    if _columns_of(scope, model) is not None:
        outputs = {**outputs, "contributions": types.FloatTensorType()}
    for name, kind in outputs.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _operator_names() -> dict[type, str]:
    """Names of the operators that skl2onnx knows, by what they convert."""
    module = import_optional("skl2onnx._supported_operators", "onnx")
    return module.sklearn_operator_name_map


def _classifier_shapes(operator) -> None:
    n_rows = operator.inputs[0].get_first_dimension()
    n_classes = len(operator.raw_operator.classes_)
    one = operator.outputs[1].raw_name == "scores" and n_classes == 2
    operator.outputs[0].type.shape = [n_rows]
    operator.outputs[1].type.shape = [n_rows, 1 if one else n_classes]
    for told in operator.outputs[2:]:
        told.type.shape = [n_rows, None]


def _convert_classifier(scope, operator, container) -> None:
    model = operator.raw_operator
    label, second = operator.outputs[:2]
    graph = _graphs.Graph(scope, container)
    scores = _convert_scores(scope, operator, graph)
    graph.name(_graphs.labels(graph, model, scores), label.full_name)
    if second.raw_name == "probabilities":
        scores = _graphs.probabilities(graph, scores, model)
    graph.name(scores, second.full_name)


def _regressor_shapes(operator) -> None:
    types = import_optional("skl2onnx.common.data_types", "onnx")
    n_rows = operator.inputs[0].get_first_dimension()
    n_targets = number_of_targets(operator.raw_operator)
    operator.outputs[0].type = types.FloatTensorType([n_rows, n_targets])
    for told in operator.outputs[1:]:
        told.type = types.FloatTensorType([n_rows, None])


def _convert_regressor(scope, operator, container) -> None:
    graph = _graphs.Graph(scope, container)
    scores = _convert_scores(scope, operator, graph)
    found = _graphs.numbers(graph, scores, operator.raw_operator)
    graph.name(found, operator.outputs[0].full_name)


def _convert_scores(scope, operator, graph) -> str:
    """Add the scores and, where asked for, the last output: contributions to these."""
    model = operator.raw_operator
    rows = _input_rows(scope, operator, graph)
    scores = _scores(graph, model, rows)
    columns = _columns_of(scope, model)
    if columns is not None:
        local = _local_model(graph, model, rows)
        told = _reason_graphs.contributions(graph, local, scores, rows.mapped, columns)
        graph.name(told, operator.outputs[-1].full_name)
    return scores


def _transformer_shapes(operator) -> None:
    types = import_optional("skl2onnx.common.data_types", "onnx")
    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    n_out = len(model.get_feature_names_out())
    operator.outputs[0].type = types.FloatTensorType([n_rows, n_out])


def _convert_transformer(scope, operator, container) -> None:
    model = operator.raw_operator
    graph = _graphs.Graph(scope, container)
    rows = _input_rows(scope, operator, graph)
    out = _TRANSFORMERS[type(model)](graph, model, rows)
    graph.name(out, operator.outputs[0].full_name)


def _input_rows(scope, operator, graph) -> "_graphs.Inputs":
    """The rows as the model sees them, mapped by its feature map where it has one."""
    types = import_optional("skl2onnx.common.data_types", "onnx")
    names = _operator_names()
    given = operator.inputs[0]
    x = graph.single(given.full_name)
    feature_map = getattr(operator.raw_operator, "feature_map_", None)
    if feature_map is None:
        return _graphs.Inputs(x, x)
    if type(feature_map) not in names:
        raise TypeError(
            f"skl2onnx has no converter for feature_map="
            f"{type(feature_map).__name__}: register one with "
            "skl2onnx.update_registered_converter."
        )
    inner = scope.declare_local_operator(names[type(feature_map)], feature_map)
    inner.inputs.append(given)
    mapped = scope.declare_local_variable("mapped", types.FloatTensorType())
    inner.outputs.append(mapped)
    return _graphs.Inputs(x, graph.single(mapped.full_name))
