"""Values that a column may take: levels that were seen, numbers within the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from locallin.inspection.columns import is_missing
from locallin.inspection.origins import Trace, column_parts, followed_by, trace

_MOST_LEVELS = 256
# Numbers with more values than this are tried at quantiles.
_FEW_VALUES = 24
_N_QUANTILES = 33
# Squares of what is below are finite.
_LARGE = 1e150


class ColumnValues:
    """What is known of the values of one column.

    Parameters
    ----------
    cells : ndarray of shape (n_rows,)
        Values of the rows that are explained.
    reference : ndarray or None
        Values of other rows, which then say what is valid.
    levels : list or None
        Levels that an encoder knows; they count where there is no reference.

    Attributes
    ----------
    is_number, is_whole : bool
        Whether the column holds numbers, and whether these are integers.
    low, high : float
        Range of the reference, infinite without one.
    spread, middle : float
        Standard deviation and median of numbers, 0 where they are not known.
    """

    def __init__(self, cells: np.ndarray, reference: np.ndarray | None, levels):
        self._levels = levels if reference is None else None
        self._seen = cells if reference is None else reference
        self.is_number = all(one.dtype.kind in "iuf" for one in (cells, self._seen))
        self.is_whole = cells.dtype.kind in "iu"
        self.low, self.high, self.spread = -np.inf, np.inf, 0.0
        self.middle = 0.0
        present = self._seen
        if self.is_number:
            present = present[np.isfinite(present)].astype(float)
            if len(present):
                self.spread = _deviation(present)
                self.middle = float(np.median(present))
        if self.is_number and reference is not None and len(present):
            self.low, self.high = float(present.min()), float(present.max())
            self.is_whole = bool(np.all(present == np.round(present)))

    def candidates(self) -> list:
        """Values to try: levels, or numbers of the data."""
        if self._levels is not None:
            return self._levels[:_MOST_LEVELS]
        if not self.is_number:
            cells = [cell for cell in self._seen.tolist() if not is_missing(cell)]
            return [level for level, _ in Counter(cells).most_common(_MOST_LEVELS)]
        present = self._seen[np.isfinite(self._seen)]
        values = np.unique(present)
        if len(values) > _FEW_VALUES:
            shares = np.linspace(0, 1, _N_QUANTILES)
            values = np.unique(np.quantile(present, shares, method="inverted_cdf"))
        return values.tolist()


def _deviation(values: np.ndarray) -> float:
    """Standard deviation, also of values whose squares leave the range of numbers."""
    size = np.abs(values).max()
    if not size > _LARGE:
        return float(values.std())
    return float(min((values / size).std() * size, np.finfo(float).max))


def known_levels(steps: list, n_columns: int) -> dict[int, list]:
    """Levels of columns that encoders among the steps know, by position."""
    found: dict[int, list] = {}
    whole = Trace(np.arange(n_columns), np.ones(n_columns))
    for place, levels in _levels_in(steps, whole):
        found.setdefault(place, levels)
    return found


def _levels_in(steps: list, before: Trace) -> Iterator[tuple[int, list]]:
    """Columns and their levels; ``before`` is what the steps are given."""
    filled: set = set()
    for step in steps:
        if isinstance(step, Pipeline):
            yield from _levels_in([part for _, part in step.steps], before)
        elif isinstance(step, ColumnTransformer):
            for _, part, chosen in column_parts(step, len(before.origins)):
                given = Trace(before.origins[chosen], before.slopes[chosen])
                yield from _levels_in([part], given)
        levels = getattr(step, "categories_", None)
        if isinstance(levels, list) and len(levels) == len(before.origins):
            yield from _unfilled(levels, before, filled)
        if getattr(step, "strategy", None) == "constant":
            filled |= set(np.ravel(step.statistics_).tolist())
        then = trace(step, len(before.origins))
        if then is None:
            return
        before = followed_by(before, then)


def _unfilled(levels, before: Trace, filled: set) -> Iterator[tuple[int, list]]:
    """Levels of columns that come unchanged, without what stands for missing."""
    for own, place, slope in zip(levels, before.origins, before.slopes, strict=True):
        if place >= 0 and slope == 1:
            kept = [one for one in own.tolist() if not is_missing(one)]
            yield int(place), [one for one in kept if one not in filled]
