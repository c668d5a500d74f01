"""The model inside of a page, and what its columns may be changed to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from locallin.encoding import PiecewiseLinearEncoder, TableEncoder
from locallin.export.plain import count_bytes, packed, plain_model
from locallin.inspection.columns import cells_of, count_columns, some_rows
from locallin.inspection.text import plain
from locallin.inspection.unwrap import (
    View,
    interval_function,
    is_regressor,
    labels_of,
    split_pipeline,
)
from locallin.report._numbers import COVERAGE

_MOST_BYTES = 2_000_000
_MOST_COLUMNS = 500
_MOST_LEVELS = 1000
_N_TRIED = 17
_ASKED = 50
_DECIDERS = (
    CalibratedClassifierCV,
    FixedThresholdClassifier,
    TransformedTargetRegressor,
    TunedThresholdClassifierCV,
)


@dataclass(frozen=True)
class WhatIf:
    """A model in the form of JSON, and rows in numbers.

    ``columns`` tell what may be put in; None is one that the model does not use.
    ``interval`` is what an interval adds to a predicted number below and above, and
    its coverage. ``missing`` says why there is no model.
    """

    model: dict[str, Any] | None = None
    columns: list[dict[str, Any] | None] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    rows: list[list[float | None]] = field(default_factory=list)
    interval: list[float] | None = None
    missing: str | None = None


def what_if(estimator, X, sample, feature_names=None) -> WhatIf:
    """The model of a page, with the rows X; ``sample`` tells which values are valid."""
    try:
        return _what_if(estimator, X, sample, feature_names)
    except (TypeError, ValueError) as error:
        return WhatIf(missing=str(error))


def _what_if(estimator, X, sample, feature_names) -> WhatIf:
    _refuse_deciders(estimator)
    named, last = split_pipeline(estimator)
    steps = [step for _, step in named]
    if is_regressor(last) and len(labels_of(last)) > 1:
        raise ValueError("the panel answers with one number, and here are several")
    model = plain_model(steps, last)
    if model["columns"] > _MOST_COLUMNS:
        raise ValueError(f"{model['columns']:,} columns are too many to change by hand")
    # Base64 writes three bytes as four letters.
    size = count_bytes(model) * 4 / 3
    if size > _MOST_BYTES:
        raise ValueError(
            f"the model would take {size / 1e6:.1f} MB of the page, more than "
            f"{_MOST_BYTES / 1e6:.0f} MB"
        )
    rows, seen = (_in_numbers(steps, given) for given in (X, sample))
    view = View(estimator, some_rows(sample, 0, 1), "report", feature_names)
    names = {one.place: one.name for one in view.columns if one.stage == 0}
    known = _Known(steps, model["columns"])
    values = np.concatenate([rows, seen])
    columns = [
        known.column(j, names[j], values[:, j]) if j in names else None
        for j in range(model["columns"])
    ]
    return WhatIf(
        packed(model),
        columns,
        [plain(label) for label in labels_of(last)],
        [[None if np.isnan(v) else v for v in row] for row in rows.tolist()],
        _interval(estimator, sample) if is_regressor(last) else None,
    )


def _interval(estimator, sample) -> list[float] | None:
    """What intervals add to predictions, where that is the same for all rows."""
    ask = interval_function(estimator)
    if ask is None:
        return None
    few = some_rows(sample, 0, _ASKED)
    try:
        ends = ask(few, COVERAGE)
    except ValueError:  # too few rows were held out
        return None
    offsets = ends - estimator.predict(few)[:, None]
    first = offsets[0]
    if not np.allclose(offsets, first, atol=1e-6 * np.abs(ends).max()):
        return None
    return [COVERAGE, float(first[0]), float(first[1])]


def _refuse_deciders(estimator) -> None:
    """Refuse what answers in place of the model inside."""
    while estimator is not None:
        if isinstance(estimator, _DECIDERS):
            name = type(estimator).__name__
            raise TypeError(f"{name} decides in the place of the model inside")
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
            continue
        inner = getattr(estimator, "best_estimator_", None)
        estimator = getattr(estimator, "estimator", None) if inner is None else inner


def _in_numbers(steps: list, X) -> np.ndarray:
    """Rows as ``plain_model`` takes them."""
    if steps and isinstance(steps[0], TableEncoder):
        return steps[0].to_numbers(X)
    if sparse.issparse(X):
        return X.toarray().astype(float)
    try:
        return cells_of(X, np.arange(count_columns(X))).astype(float)
    except (TypeError, ValueError):
        raise TypeError("not all columns hold numbers") from None


class _Known:
    """What the steps know of columns."""

    def __init__(self, steps: list, n_columns: int):
        first = steps[0] if steps else None
        self._plan = first.plan() if isinstance(first, TableEncoder) else None
        self._tells = np.zeros(n_columns, bool)
        bins = [step for step in steps if isinstance(step, PiecewiseLinearEncoder)]
        if self._plan is not None:
            self._tells = np.array([one.tells_missing for one in self._plan.levels])
        elif bins:
            self._tells = bins[0].tells_missing_

    def column(self, j: int, name: str, values: np.ndarray) -> dict[str, Any]:
        """What column j may be changed to; ``values`` are those of the data."""
        kind = "number" if self._plan is None else str(self._plan.kinds[j])
        there = values[~np.isnan(values)]
        column: dict[str, Any] = {
            "name": plain(name),
            "kind": kind,
            "missing": bool(self._tells[j]) or len(there) < len(values),
        }
        if self._plan is not None and kind == "category":
            levels = self._plan.levels[j]
            column["levels"] = [plain(level) for level in levels.names[:_MOST_LEVELS]]
            n = len(levels.names)
            column["other"] = n if levels.pools or (there >= n).any() else None
            column["tried"] = list(range(len(column["levels"])))
            return column
        if kind == "boolean":
            return column | {"tried": [0, 1]}
        return column | _range(there)


def _range(values: np.ndarray) -> dict[str, Any]:
    """Ends of numbers, their deviation, and some of them to be tried."""
    if not len(values):
        values = np.zeros(1)
    shares = np.linspace(0, 1, _N_TRIED)
    tried = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    size = float(np.abs(values).max()) or 1.0  # squares stay within the range
    spread = float(np.std(values / size) * size)
    return {
        "low": float(values.min()),
        "high": float(values.max()),
        "whole": bool(np.all(values == np.round(values))),
        "spread": spread if np.isfinite(spread) and spread > 0 else 1.0,
        "tried": tried.tolist(),
    }
