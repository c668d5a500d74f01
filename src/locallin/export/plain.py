"""A fitted model as plain data: arrays, numbers and names, and what to do."""

from base64 import b64encode
from typing import Any

import numpy as np

from locallin.encoding import PiecewiseLinearEncoder, TableEncoder
from locallin.encoding.plan import Plan
from locallin.export._codings import kind_of
from locallin.export._scalers import affine
from locallin.kernels.coding import ADAPTIVE, INVERSE_DISTANCE, SOFT_ASSIGNMENT
from locallin.methods.anchored import AnchoredEstimator
from locallin.methods.ensemble_regressor import number_of_targets
from locallin.methods.members import Ensemble
from locallin.methods.regression import ScoringRegressor

_CODINGS = {
    ADAPTIVE: "adaptive",
    SOFT_ASSIGNMENT: "soft",
    INVERSE_DISTANCE: "inverse",
}


def plain_model(steps: list, model) -> dict[str, Any]:
    """What a program needs to score a row, from its columns to its probabilities.

    The row is given in numbers, as ``TableEncoder.to_numbers`` writes it where the
    first step is one. ``steps`` then make features of it, each member a score of
    these, and ``link`` probabilities of their sum times ``factor``. ``origins`` are
    the columns that features come from. A regressor has no classes, and its scores
    are what it predicts.

    Parameters
    ----------
    steps : list of transformers
        Those before the model: TableEncoder as the first, and any number of
        PiecewiseLinearEncoder, StandardScaler, MinMaxScaler and MaxAbsScaler.
    model : fitted classifier or regressor
        One with anchors, or the mean of several.

    Returns
    -------
    dict
        Lists, numbers, strings and arrays: of float32 where they are a local model's,
        of float64 where a table's numbers meet them.

    Raises
    ------
    TypeError, ValueError
        Where a step or a model is none of these. The message is a clause that
        says which.
    """
    first = steps[0] if steps else model
    origins = np.arange(first.n_features_in_)
    described = []
    for place, step in enumerate(steps):
        made, own = _step(step, first=place == 0)
        described.append(made)
        origins = origins if own is None else origins[own]
    members, factor = [model], 1.0
    if isinstance(model, Ensemble):
        members = model.members_
        factor = getattr(model, "scale_", 1.0) / len(members)
    if isinstance(model, ScoringRegressor):
        if model.has_log_link:
            raise TypeError(f"{type(model).__name__} predicts powers of e")
        n_classes, n_scores = 0, number_of_targets(model)
    else:
        n_classes = len(model.classes_)
        n_scores = 1 if n_classes == 2 else n_classes
    return {
        "columns": int(first.n_features_in_),
        "classes": n_classes,
        "scores": n_scores,
        "steps": described,
        "members": [_member(member, origins) for member in members],
        "factor": float(factor),
        "link": _link(model),
    }


def count_bytes(value) -> int:
    """Bytes of the arrays of a description."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return 0
    return sum(map(count_bytes, value))


def packed(value):
    """A description with arrays in base64, little-endian, as JSON can hold it."""
    if isinstance(value, np.ndarray):
        kind = value.dtype.newbyteorder("<")
        data = b64encode(np.ascontiguousarray(value, kind).tobytes()).decode()
        return {"shape": list(value.shape), f"f{kind.itemsize}": data}
    if isinstance(value, dict):
        return {name: packed(part) for name, part in value.items()}
    if isinstance(value, list):
        return [packed(part) for part in value]
    return value


def _step(step, *, first: bool) -> tuple[dict[str, Any], np.ndarray | None]:
    """A step, and which of its features each of those it makes comes from."""
    if first and isinstance(step, TableEncoder):
        return _table(step), step.get_feature_origins()
    if isinstance(step, PiecewiseLinearEncoder):
        return _lines(step), step.get_feature_origins()
    scaler = affine(step)
    if scaler is None:
        raise TypeError(f"{type(step).__name__} stands before the model")
    return {"kind": "affine", "shift": scaler[0], "factor": scaler[1]}, None


def _lines(encoder: PiecewiseLinearEncoder) -> dict[str, Any]:
    state = encoder.kernel_state(np.float64)
    return {
        "kind": "lines",
        "origins": state.origins.tolist(),
        "table": np.array(state.table),
    }


def _table(encoder: TableEncoder) -> dict[str, Any]:
    plan = encoder.plan()
    waves = [plan.wave(part) for part in plan.source_parts]
    return {
        "kind": "table",
        "size": plan.n_out,
        "single": encoder.dtype == "float32",
        "sources": [
            [int(j), *((0.0, 0.0) if wave is None else wave)]
            for j, wave in zip(plan.source_columns, waves, strict=True)
        ],
        "origins": plan.encoding.origins.tolist(),
        "table": np.array(plan.encoding.table),
        "places": plan.number_places.tolist(),
        "bent": plan.is_bent.astype(int).tolist(),
        "smooth": plan.smooth,
        "levels": _levels(plan),
    }


def _levels(plan: Plan) -> list[dict[str, Any]]:
    """Columns whose values have components or means of their own."""
    found = []
    for j, (levels, place) in enumerate(zip(plan.levels, plan.places, strict=True)):
        if place.end > place.means:
            found.append(
                {
                    "column": j,
                    "names": len(levels.names),
                    "kept": levels.n_kept,
                    "pools": levels.pools,
                    "missing": levels.tells_missing,
                    "weekdays": plan.kinds[j] == "date" and levels.n_kept > 0,
                    "start": place.levels,
                    "units": levels.units.astype(float),
                    "means": levels.means.astype(float),
                    "firstMean": place.means,
                }
            )
    return found


def _member(model, origins: np.ndarray) -> dict[str, Any]:
    if not isinstance(model, AnchoredEstimator):
        raise TypeError(f"{type(model).__name__} has no local models at anchors")
    coding, mapping = model.coding_, getattr(model, "feature_map_", None)
    described = None
    if mapping is not None:
        if not isinstance(mapping, PiecewiseLinearEncoder):
            raise TypeError(f"the local models see a {type(mapping).__name__}")
        described = _lines(mapping)
        origins = origins[mapping.get_feature_origins()]
    metric = None if coding.metric_ is None else _single(coding.metric_)
    return {
        "coding": _CODINGS[kind_of(coding)],
        "neighbors": int(coding.n_neighbors_),
        "bandwidth": np.atleast_1d(np.asarray(coding.bandwidth_, float)),
        "metric": metric,
        "anchors": _single(coding.anchors_),
        "groups": _groups(coding),
        "coef": _single(model.coef_),
        "intercept": _single(model.intercept_),
        "map": described,
        "mapped": model.coding_space == "mapped",
        "origins": origins.tolist(),
    }


def _groups(coding) -> dict[str, Any] | None:
    """The groups of anchors that a row chooses from, where it does."""
    groups = coding.state().groups
    if groups is None:
        return None
    return {
        "centers": _single(groups.centers),
        "ofAnchor": groups.of_anchor.tolist(),
        "probes": groups.n_probes,
    }


def _single(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if not np.isfinite(found).all():
        raise ValueError("its numbers are outside the range of single precision")
    return found


def _link(classifier) -> dict[str, Any] | None:
    if not hasattr(classifier, "predict_proba"):
        return None
    link = classifier.link()
    offset = [float(value) for value in link.offset]
    return {"kind": link.kind, "scale": float(link.scale), "offset": offset}
