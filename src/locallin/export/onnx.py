"""Fitted models and pipelines as ONNX graphs, by way of skl2onnx."""

import numpy as np
from sklearn.compose import ColumnTransformer

from locallin.encoding import TableEncoder
from locallin.engine.optional import import_optional
from locallin.export import _reason_graphs, _set_graphs, _table_graphs, _target_graphs
from locallin.export._columns import columns_of_features
from locallin.export._converters import CLASSIFIERS, REGRESSORS, register
from locallin.export._targets import opened
from locallin.methods.conformal import largest_gaps
from locallin.methods.ensemble_regressor import number_of_targets

__all__ = ["register", "to_onnx"]

_LOWEST_OPSET = 13


def to_onnx(
    model,
    X=None,
    *,
    target_opset=None,
    raw_scores: bool = False,
    contributions: bool = False,
    coverage: float | None = None,
    **more,
):
    """Convert a fitted model, or a pipeline with models of this library, to ONNX.

    The graph takes rows of float32; where TableEncoder comes first, one input of shape
    (n_samples, 1) for each column that is used: categories as strings ("" where
    missing), dates in seconds since 1970 as double, everything else as float32 (NaN
    where missing). A classifier has two outputs: ``label``, and
    ``scores`` of shape (n_samples, n_scores) as ``decision_function`` returns them
    (one column for two classes), or ``probabilities`` of shape (n_samples,
    n_classes) where it has ``predict_proba``. A regressor has one, ``variable`` of
    shape (n_samples, n_targets) with what ``predict`` returns, several quantiles as
    several targets, and so has a transformer. The metadata of a classifier's graph are
    lists in JSON: ``classes``, the names of all ``columns``, and in ``inputs`` the
    names of those that the graph takes, where it takes them one by one.

    Distances are computed in double precision, because a small difference of large
    squares is all that tells near anchors apart; so is the kernel of
    AtlasClassifier(kernel="rbf"). The local models are in single precision.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Any estimator or transformer of this library, alone or in a pipeline with
        what skl2onnx knows. A regressor may be inside of TransformedTargetRegressor
        with a scaler, or with ``inverse_func`` np.exp, np.expm1 or np.square.
    X : array-like of shape (n_samples, n_features), default=None
        Some rows, for the number of features. None takes that from the model.
    target_opset : int or None, default=None
        Version of ONNX's operators, 13 or newer; None is skl2onnx's newest.
    raw_scores : bool, default=False
        Whether a classifier with probabilities returns its scores instead.
    contributions : bool, default=False
        Whether there is a third output, ``contributions`` of shape (n_samples,
        n_columns + 1): what each column of the user's table adds to the score of the
        predicted class, and the bias; they add up to the score. Those of
        :func:`locallin.inspection.explain`; the score of the first of two classes is
        that of the second with its sign changed. Not for AtlasClassifier. Of a
        regressor of one target it is the second output, and adds up to the prediction;
        of a transformed target to what the regressor inside predicts.
    coverage : float or None, default=None
        Share of rows whose prediction set holds their class. If it is given, the last
        output is ``set`` of shape (n_samples, n_classes), the booleans of the
        classifier's ``predict_set``.
    **more
        Further arguments of :func:`skl2onnx.to_onnx`.

    Returns
    -------
    onnx.ModelProto
        The model: ``model.SerializeToString()`` are the bytes of its file.

    See Also
    --------
    to_c : A header without dependencies.
    save : A file that is safe to load.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.export import to_onnx
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(4, random_state=0).fit(X, y)
    >>> graph = to_onnx(clf)  # doctest: +SKIP
    >>> [output.name for output in graph.graph.output]  # doctest: +SKIP
    ['label', 'scores']
    """
    skl2onnx = import_optional("skl2onnx", "onnx")
    register()
    gaps = None if coverage is None else _gaps(model, coverage, raw_scores)
    model, ways = opened(model)
    if target_opset is not None and target_opset < _LOWEST_OPSET:
        raise ValueError(
            f"target_opset={target_opset} is too old: choose {_LOWEST_OPSET} or newer."
        )
    types = import_optional("skl2onnx.common.data_types", "onnx")
    options = dict(more.pop("options", None) or {})
    last = model[-1] if hasattr(model, "steps") else model
    own = _own_options(model, last, raw_scores, contributions)
    if own:
        options[id(last)] = {**own, **options.get(id(last), {})}
    initial = more.pop("initial_types", None) or _initial_types(model, X, types)
    graph = skl2onnx.to_onnx(
        model,
        initial_types=initial,
        target_opset=target_opset,
        options=options,
        **more,
    )
    if ways:
        _target_graphs.add_ways(graph, ways)
    if gaps is not None:
        _set_graphs.add_sets(graph, gaps)
    if type(last) in CLASSIFIERS:
        _set_graphs.add_names(graph, **_names(model, last))
    return graph


def _gaps(model, coverage: float, raw_scores: bool) -> np.ndarray:
    """Gaps of the probabilities within prediction sets."""
    last = model[-1] if hasattr(model, "steps") else model
    if raw_scores:
        raise ValueError(
            f"coverage={coverage!r} asks for sets, which are made of probabilities: "
            "leave raw_scores=False."
        )
    if not hasattr(last, "predict_set"):
        raise ValueError(
            f"coverage={coverage!r} asks for prediction sets, but this "
            f"{type(last).__name__} has no predict_set: fit LocallyLinearClassifier "
            "with effort=1 or 2, or another classifier with probability=True."
        )
    return largest_gaps(last, coverage)


def _own_options(model, last, raw_scores: bool, contributions: bool) -> dict:
    """What the converter of the last step is told."""
    found: dict = {}
    if type(last) in CLASSIFIERS:
        found["raw_scores"] = raw_scores
    elif raw_scores or (contributions and type(last) not in REGRESSORS):
        name = "raw_scores" if raw_scores else "contributions"
        kinds = "classifiers" if raw_scores else "classifiers and regressors"
        raise ValueError(
            f"{name}=True is a setting of this library's {kinds}, but "
            f"model={type(last).__name__}."
        )
    if contributions:
        found["contributions"] = _columns(model, last)
    return found


def _names(model, last) -> dict[str, list]:
    """What a program has to know of a classifier's inputs and outputs."""
    first = model[0] if hasattr(model, "steps") else model
    columns = [_column_name(first, j) for j in range(first.n_features_in_)]
    found = {"classes": last.classes_.tolist(), "columns": columns}
    if isinstance(first, TableEncoder):
        used = _table_graphs.used_columns(first.plan())
        found["inputs"] = [columns[j] for j in used]
    return found


def _columns(model, last) -> _reason_graphs.Columns:
    """Columns that contributions are told of."""
    steps = [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []
    steps = [step for step in steps if step not in (None, "passthrough")]
    found = columns_of_features(steps, last)
    count = (steps[0] if steps else last).n_features_in_
    n_classes = 0
    if type(last) in CLASSIFIERS:
        n_classes = len(last.classes_)
    elif number_of_targets(last) > 1:
        raise ValueError(
            f"contributions=True is for one target, but {type(last).__name__} has "
            f"{number_of_targets(last)}: export it without, or fit one for each."
        )
    return _reason_graphs.Columns(tuple(found.tolist()), int(count), n_classes)


def _initial_types(model, X, types) -> list[tuple]:
    """One tensor of floats; behind a table encoder, one for each column."""
    first = model[0] if hasattr(model, "steps") else model
    if not isinstance(first, TableEncoder):
        if isinstance(first, ColumnTransformer):
            raise TypeError(
                "to_onnx cannot tell the types of the columns that ColumnTransformer "
                "takes: pass initial_types=[(name, StringTensorType([None, 1])), ...] "
                "of skl2onnx.common.data_types, one pair for each column."
            )
        n_features = np.shape(X)[1] if X is not None else model.n_features_in_
        return [("X", types.FloatTensorType([None, int(n_features)]))]
    plan, found = first.plan(), []
    for j in _table_graphs.used_columns(plan):
        kind = types.FloatTensorType
        if plan.kinds[j] == "date":  # seconds, which a float does not hold
            kind = types.DoubleTensorType
        elif _table_graphs.is_text(plan, j):
            kind = types.StringTensorType
        found.append((_column_name(first, j), kind([None, 1])))
    return found


def _column_name(first, j: int) -> str:
    names = getattr(first, "feature_names_in_", None)
    return f"x{j}" if names is None else str(names[j])
