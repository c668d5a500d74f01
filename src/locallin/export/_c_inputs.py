"""What happens to a row in C before a classifier sees it."""

from typing import NamedTuple

import numpy as np

from locallin.encoding import PiecewiseLinearEncoder
from locallin.export._scalers import affine
from locallin.kernels.encoding import HIGH, LEFT, LOW, MISSING, SLOPE, START


class Row(NamedTuple):
    """A row in C: the name of its array, and of its length."""

    name: str = "x"
    size: str = "@@_FEATURES"


def scaled(header, steps: list, row: Row) -> Row:
    """Write scalers, if any, as one (x - shift) * factor."""
    if not steps:
        return row
    n_features = steps[0].n_features_in_
    shift, factor = np.zeros(n_features), np.ones(n_features)
    for step in steps:
        more, times = _affine(step)
        shift, factor = shift + more / factor, factor * times
    number = header.new("scaled")
    header.table(f"shift{number}", shift)
    header.table(f"factor{number}", factor)
    header.stack += 4 * n_features
    text = _SCALE.replace("NEW", f"scaled{number}").replace("NUMBER", number)
    header.prepare(text.replace("ROW", row.name).replace("SIZE", row.size))
    return Row(f"scaled{number}", row.size)


def _affine(step) -> tuple[np.ndarray, np.ndarray]:
    found = affine(step)
    if found is None:
        raise TypeError(
            f"to_c has no {type(step).__name__} in a pipeline: it takes "
            "StandardScaler, MinMaxScaler and MaxAbsScaler without clip, "
            "PiecewiseLinearEncoder, and TableEncoder as the first step. Apply other "
            "steps before calling the C code, and export the classifier alone."
        )
    return found


def encoded(header, encoder: PiecewiseLinearEncoder, row: Row) -> Row:
    """Write an encoder: each component a clipped line of its feature."""
    state = encoder.kernel_state(np.float64)
    number = header.new("encoded")
    size = f"@@_ENCODED{number}"
    header.size(f"ENCODED{number}", len(state.origins))
    line_tables(header, number, state.origins, state.table)
    header.stack += 4 * len(state.origins)
    header.takes_missing = True
    text = _ENCODE.replace("NEW", f"encoded{number}").replace("NUMBER", number)
    header.prepare(text.replace("ROW", row.name).replace("SIZE", size))
    return Row(f"encoded{number}", size)


def line_tables(header, number: str, origins, table, offsets=None) -> None:
    """Write the numbers of clipped lines; features come less their ``offsets``."""
    header.table(f"origin{number}", origins, kind="int")
    limits = np.finfo(np.float32)
    left = table[LEFT]
    if offsets is not None:
        left = left - offsets[origins]
    # An edge that single precision does not have is the sum of two that it has.
    near = np.clip(left, -limits.max / 4, limits.max / 4).astype(np.float32)
    rest = left - near
    tables = {
        "left": near,
        "rest": np.where(np.abs(rest) <= np.abs(near), rest, 0),
        "slope": np.clip(table[SLOPE], 0, limits.max),
    }
    for name, place in _TABLES.items():
        tables[name] = table[place]
    for name, values in tables.items():
        header.table(f"{name}{number}", values)


_TABLES = {"start": START, "low": LOW, "high": HIGH, "gap": MISSING}

_SCALE = """\
    float NEW[SIZE];
    for (int i = 0; i < SIZE; i++)
        NEW[i] = (ROW[i] - @_shiftNUMBER[i]) * @_factorNUMBER[i];
"""

_ENCODE = """\
    float NEW[SIZE];
    for (int t = 0; t < SIZE; t++) {
        const float v = ROW[@_originNUMBER[t]];
        float e = (v - @_leftNUMBER[t] - @_restNUMBER[t]) * @_slopeNUMBER[t];
        e += @_startNUMBER[t];
        e = e > @_lowNUMBER[t] ? e : @_lowNUMBER[t];
        e = e < @_highNUMBER[t] ? e : @_highNUMBER[t];
        NEW[t] = isnan(v) ? @_gapNUMBER[t] : e;
    }
"""
