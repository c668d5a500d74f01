"""How fast encoded numbers move with the values that they are made of."""

import numpy as np

from locallin.kernels.encoding import HIGH, LEFT, LOW, SLOPE, START, Encoding

_ROUNDING = 1e-9


def line_slopes(values: np.ndarray, encoding: Encoding) -> np.ndarray:
    """Slopes of the clipped lines to the right of the values, NaN where one is missing.

    ``values`` has shape (n_rows, n_sources), the result (n_rows, n_out).
    """
    origins, table = encoding
    x = values[:, origins]
    line = (x - table[LEFT]) * table[SLOPE] + table[START]
    # A value on the edge between two bins belongs to the right one, also by rounding.
    low, high = table[LOW], table[HIGH]
    inside = (line >= low) & (high - line > _ROUNDING * (high - low))
    slopes = np.where(inside, table[SLOPE], 0.0)
    return np.where(np.isnan(x), np.nan, slopes)


def bent_slopes(values: np.ndarray, encoding: Encoding, smooth: float) -> np.ndarray:
    """Slopes where the lines are bent: z becomes z / sqrt(1 + (z / smooth)^2)."""
    origins, table = encoding
    line = (values[:, origins] - table[LEFT]) * table[SLOPE] + table[START]
    line = np.clip(line, table[LOW], table[HIGH])
    return line_slopes(values, encoding) * (1 + (line / smooth) ** 2) ** -1.5
