"""Which column each feature comes from, through the steps of a pipeline.

A fitted step has a trace: for every feature that it puts out, the position of the one
column that it comes from, and how fast it moves with that column. A transformer tells
its origins by a method ``get_feature_origins()``, an integer for each output and -1 for
one that comes from no single column; scikit-learn's own are known by what they publish
of their fitted state. What cannot be told is not guessed. By ``get_feature_slopes()`` a
transformer tells how fast its outputs move, NaN for those that are no straight lines,
and by ``get_local_slopes(X)`` how fast they move at the values of some rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

MIXED = -1


class Trace(NamedTuple):
    """Where the outputs of a step come from.

    Parameters
    ----------
    origins : ndarray of int of shape (n_features_out,)
        Column of the input, -1 where there is no single one.
    slopes : ndarray of shape (n_features_out,)
        Change of the output by that of its column where it is the same everywhere,
        NaN where it is not.
    """

    origins: np.ndarray
    slopes: np.ndarray


def trace(step, n_columns: int, names=None) -> Trace | None:
    """Trace of a fitted step that is given some columns; None where it mixes all.

    ``names`` are those of the columns, where they are known.
    """
    if step is None or isinstance(step, str):
        return _unchanged(n_columns)
    if hasattr(step, "get_feature_origins"):
        return _told(step, n_columns)
    for kind, rule in _RULES:
        if isinstance(step, kind):
            return rule(step, n_columns)
    if hasattr(step, "indicator_"):
        return _imputed(step, n_columns)
    if isinstance(step, OneToOneFeatureMixin):
        return _bent(np.arange(n_columns))
    if isinstance(step, ClassNamePrefixFeaturesOutMixin):
        return None
    return _by_name(step, names)


def followed_by(first: Trace, then: Trace) -> Trace:
    """The trace of one step after another."""
    origins = np.full(len(then.origins), MIXED)
    slopes = np.full(len(then.origins), np.nan)
    known = then.origins >= 0
    at = then.origins[known]
    origins[known] = first.origins[at]
    slopes[known] = first.slopes[at] * then.slopes[known]
    return Trace(origins, slopes)


def names_out(transformer, names) -> list[str] | None:
    """Names of a transformer's output, None where it cannot tell."""
    try:
        return list(map(str, transformer.get_feature_names_out(names)))
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _checked_origins(step, n_columns: int) -> np.ndarray:
    origins = np.asarray(step.get_feature_origins())
    whole = origins.ndim == 1 and np.issubdtype(origins.dtype, np.integer)
    if not whole or (len(origins) and not -1 <= origins.min() <= origins.max()):
        whole = False
    if not whole or (len(origins) and origins.max() >= n_columns):
        raise ValueError(
            f"{type(step).__name__}.get_feature_origins must return one integer for "
            f"each output, a column of 0 to {n_columns - 1}, or -1 for none."
        )
    return origins.astype(np.intp)


def _told(step, n_columns: int) -> Trace:
    """What a transformer tells of itself."""
    found = _bent(_checked_origins(step, n_columns))
    if not hasattr(step, "get_feature_slopes"):
        return found
    slopes = np.asarray(step.get_feature_slopes(), dtype=float)
    if slopes.shape != found.origins.shape:
        raise ValueError(
            f"{type(step).__name__}.get_feature_slopes must return one number for each "
            f"of the {len(found.origins)} outputs, NaN for those that are no straight "
            f"lines in their columns, but has shape {slopes.shape}."
        )
    return Trace(found.origins, slopes)


def _unchanged(n_columns: int) -> Trace:
    return Trace(np.arange(n_columns), np.ones(n_columns))


def _bent(origins) -> Trace:
    """Outputs that are no straight lines in their columns."""
    origins = np.asarray(origins, dtype=np.intp)
    return Trace(origins, np.full(len(origins), np.nan))


def _scaled(slopes, n_columns: int) -> Trace:
    slopes = np.broadcast_to(np.asarray(slopes, dtype=float), (n_columns,))
    return Trace(np.arange(n_columns), slopes)


def _divided(step, n_columns: int) -> Trace:
    """Standard, robust and largest-value scalers, which divide by ``scale_``."""
    if getattr(step, "clip", False):
        return _bent(np.arange(n_columns))
    return _scaled(1.0 if step.scale_ is None else 1 / step.scale_, n_columns)


def _min_max(step, n_columns: int) -> Trace:
    if step.clip:
        return _bent(np.arange(n_columns))
    return _scaled(step.scale_, n_columns)


def _function(step, n_columns: int) -> Trace | None:
    if step.func is None:
        return _unchanged(n_columns)
    alike = step.feature_names_out == "one-to-one"
    return _bent(np.arange(n_columns)) if alike else None


def _one_hot(step, n_columns: int) -> Trace:
    rare = getattr(step, "infrequent_categories_", [None] * n_columns)
    dropped = [None] * n_columns if step.drop_idx_ is None else step.drop_idx_
    counts = []
    for levels, pooled, left_out in zip(step.categories_, rare, dropped, strict=True):
        together = 0 if pooled is None or not len(pooled) else len(pooled) - 1
        counts.append(len(levels) - together - (left_out is not None))
    return _bent(np.repeat(np.arange(n_columns), counts))


def _binned(step, n_columns: int) -> Trace:
    if step.encode == "ordinal":
        return _bent(np.arange(n_columns))
    return _bent(np.repeat(np.arange(n_columns), step.n_bins_))


def _splines(step, n_columns: int) -> Trace:
    each = step.n_features_out_ // n_columns
    return _bent(np.repeat(np.arange(n_columns), each))


def _target_means(step, n_columns: int) -> Trace:
    several = step.target_type_ == "multiclass"
    each = len(step.classes_) if several else 1
    return _bent(np.repeat(np.arange(n_columns), each))


def _waves(step, n_columns: int) -> Trace:
    return _bent(np.tile(np.arange(n_columns), 2 * step.sample_steps - 1))


def _powers(step, n_columns: int) -> Trace:
    powers = step.powers_
    alone = np.count_nonzero(powers, axis=1) == 1
    straight = alone & (powers.sum(axis=1) == 1)
    return Trace(
        np.where(alone, powers.argmax(axis=1), MIXED), np.where(straight, 1.0, np.nan)
    )


def _selected(step, n_columns: int) -> Trace:
    kept = step.get_support(indices=True)
    return Trace(kept, np.ones(len(kept)))


def _indicated(step, n_columns: int) -> Trace:
    return Trace(np.asarray(step.features_), np.zeros(len(step.features_)))


def _imputed(step, n_columns: int) -> Trace | None:
    """Columns whose gaps are filled, and then those that tell where gaps were.

    Columns without any value may be left out: what stays is known by its name.
    """
    told = step.indicator_
    gaps = np.zeros(0, np.intp) if told is None else np.asarray(told.features_)
    outs = names_out(step, None)
    if outs is None:
        return None
    n_kept = len(outs) - len(gaps)
    kept = np.arange(n_columns)
    if n_kept != n_columns:
        named = getattr(step, "feature_names_in_", [f"x{i}" for i in kept])
        places = {str(name): place for place, name in enumerate(named)}
        if not set(outs[:n_kept]) <= set(places):
            return None
        kept = np.array([places[name] for name in outs[:n_kept]], dtype=np.intp)
    return Trace(
        np.concatenate([kept, gaps]),
        np.concatenate([np.ones(len(kept)), np.zeros(len(gaps))]),
    )


def _pipeline(step, n_columns: int) -> Trace | None:
    found = _unchanged(n_columns)
    for _, part in step.steps:
        then = trace(part, len(found.origins), getattr(part, "feature_names_in_", None))
        if then is None:
            return None
        found = followed_by(found, then)
    return found


def _columns(step, n_columns: int) -> Trace:
    """A transformer for each of several sets of columns."""
    names = getattr(step, "feature_names_in_", None)
    n_out = max((part.stop for part in step.output_indices_.values()), default=0)
    found = Trace(np.full(n_out, MIXED), np.full(n_out, np.nan))
    for place, part, chosen in column_parts(step, n_columns):
        inner = trace(part, len(chosen), None if names is None else names[chosen])
        if inner is None or len(inner.origins) != place.stop - place.start:
            continue
        found.origins[place], found.slopes[place] = followed_by(
            Trace(chosen, np.ones(len(chosen))), inner
        )
    return found


def column_parts(step: ColumnTransformer, n_columns: int) -> Iterator[tuple]:
    """Outputs, transformer and columns of the parts of a ColumnTransformer."""
    names = getattr(step, "feature_names_in_", None)
    for name, part, wanted in step.transformers_:
        place = step.output_indices_.get(name, slice(0, 0))
        if place.stop > place.start:
            yield place, part, _positions(wanted, names, n_columns)


def _positions(wanted, names, n_columns: int) -> np.ndarray:
    """Positions of the columns that a part of a ColumnTransformer was given."""
    every = np.arange(n_columns)
    if isinstance(wanted, slice) and not any(
        isinstance(end, str) for end in (wanted.start, wanted.stop)
    ):
        return every[wanted]
    places = {} if names is None else {name: i for i, name in enumerate(names)}
    if isinstance(wanted, slice):
        start = 0 if wanted.start is None else places[wanted.start]
        stop = n_columns if wanted.stop is None else places[wanted.stop] + 1
        return every[start : stop : wanted.step]
    if isinstance(wanted, str | int | np.integer):
        wanted = [wanted]
    wanted = list(wanted)
    if wanted and isinstance(wanted[0], bool | np.bool_):
        return every[np.asarray(wanted)]
    return every[[places[one] if isinstance(one, str) else one for one in wanted]]


def _union(step, n_columns: int) -> Trace | None:
    names = getattr(step, "feature_names_in_", None)
    parts = []
    for _, part in step.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        found = trace(part, n_columns, names)
        if found is None:
            outs = names_out(part, names)
            if outs is None:
                return None
            found = _bent(np.full(len(outs), MIXED))
        parts.append(found)
    if not parts:
        return None
    origins, slopes = zip(*parts, strict=True)
    return Trace(np.concatenate(origins), np.concatenate(slopes))


def _by_name(step, names) -> Trace | None:
    """Outputs that bear the names of columns, where names are different."""
    names = getattr(step, "feature_names_in_", names)
    outs = None if names is None else names_out(step, names)
    places = {} if names is None else {str(name): i for i, name in enumerate(names)}
    if outs is None or len(places) != len(names) or not set(outs) & set(places):
        return None
    return _bent([places.get(name, MIXED) for name in outs])


_RULES: tuple[tuple[Any, Any], ...] = (
    (Pipeline, _pipeline),
    (ColumnTransformer, _columns),
    (FeatureUnion, _union),
    (StandardScaler, _divided),
    (RobustScaler, _divided),
    (MaxAbsScaler, _divided),
    (MinMaxScaler, _min_max),
    (FunctionTransformer, _function),
    (OneHotEncoder, _one_hot),
    (KBinsDiscretizer, _binned),
    (SplineTransformer, _splines),
    (TargetEncoder, _target_means),
    (AdditiveChi2Sampler, _waves),
    (PolynomialFeatures, _powers),
    (SelectorMixin, _selected),
    (MissingIndicator, _indicated),
)
