"""Rows to encoded rows: what one feature becomes is a few clipped lines."""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

# Rows of an encoding's table.
LEFT, SLOPE, START, LOW, HIGH, MISSING = range(6)


class Encoding(NamedTuple):
    """An encoder as arrays: component t of a row is made of its feature origins[t].

    With l, s, a, low, high and m in column t of ``table``, it is (x - l) s + a, clipped
    to low..high, and m where x is NaN. Origins must be columns of the rows.

    See Also
    --------
    encode_block : Encodes rows.
    locallin.PiecewiseLinearEncoder : Learns the numbers.
    """

    origins: np.ndarray  # (n_out,), int64
    table: np.ndarray  # (6, n_out), of the rows' type


@jit
def encode_block(rows, state, out):
    """Write the encoded rows to ``out``, of shape (n_rows, n_out)."""
    origins, table = state
    left, slope, start = table[LEFT], table[SLOPE], table[START]
    low, high, missing = table[LOW], table[HIGH], table[MISSING]
    for i in range(len(rows)):
        row, made = rows[i], out[i]
        # Two loops: the second has no gathering, and uses vector registers.
        for t in range(len(origins)):
            made[t] = row[origins[t]]
        for t in range(len(origins)):
            x = made[t]
            value = (x - left[t]) * slope[t] + start[t]
            value = value if value > low[t] else low[t]
            value = value if value < high[t] else high[t]
            made[t] = value if x == x else missing[t]
