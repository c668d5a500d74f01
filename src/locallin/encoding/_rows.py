"""Rows of a table in numbers to components, by one kernel."""

import numpy as np
from scipy.sparse import csr_matrix

from locallin.encoding._columns import DATE
from locallin.encoding._fitting import CATEGORY, Raw
from locallin.encoding.plan import Levels, Places, Plan, source_values
from locallin.engine.matrix import read_only
from locallin.engine.parallel import row_blocks
from locallin.kernels.encoding import (
    GAP,
    HIGH,
    LEVEL,
    LOW,
    NUMBERS,
    SLOPE,
    Encoding,
    TableLayout,
    dense_table,
    sparse_table,
)

_LARGEST_INDEX = np.iinfo(np.int32).max
# Rows whose numbers are laid out together: they stay in the cache.
_BLOCK = 4096


class RowWriter:
    """What a plan tells a kernel: layout of the rows, and which columns it reads.

    Numbers are the sources of the plan, then means of the target, then columns that
    have a component for missing values only. A mean is a line of slope 1.
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self._mean_columns: list[int] = []
        self._gap_columns: list[int] = []
        self._level_columns: list[int] = []
        self._lines: list[np.ndarray] = []
        self._places: list[np.ndarray] = []
        self._steps: list[tuple[int, int, int, int]] = []
        self._spots: list[np.ndarray] = []
        self._units: list[np.ndarray] = []
        self._n_lines = self._n_units = self._first_number = 0
        self._first_mean = len(plan.encoding.origins)
        n_means = sum(place.levels - place.means for place in plan.places)
        self._first_gap = len(plan.source_columns) + n_means
        for j, place in enumerate(plan.places):
            self._add_numbers(j, place)
            if place.end > place.levels:
                self._add_levels(j, plan.levels[j], place)
        self.layout = self._layout(n_means)

    def _add_numbers(self, j: int, place: Places) -> None:
        n_numbers, n_means = place.means - place.numbers, place.levels - place.means
        if not n_numbers + n_means:
            return
        # Lines of numbers, then those of means, which stand behind all of them.
        self._lines.append(self._first_number + np.arange(n_numbers))
        self._lines.append(self._first_mean + np.arange(n_means))
        self._first_number += n_numbers
        self._first_mean += n_means
        self._mean_columns += [j] if n_means else []
        self._places.append(np.arange(place.numbers, place.levels))
        stop = self._n_lines + n_numbers + n_means
        self._steps.append((NUMBERS, self._n_lines, stop, 0))
        self._n_lines = stop

    def _add_levels(self, j: int, levels: Levels, place: Places) -> None:
        kind, start = self._plan.kinds[j], self._n_units
        missing = place.missing if levels.tells_missing else -1
        if kind == CATEGORY or (kind == DATE and levels.n_kept):
            n_names = len(levels.names)
            spots = np.full(n_names + 2, place.other if levels.pools else -1)
            spots[0] = missing
            spots[1 : levels.n_kept + 1] = np.arange(place.levels, place.other)
            self._steps.append((LEVEL, len(self._level_columns), start, n_names))
            self._level_columns.append(j)
        else:
            spots = np.array([missing])
            row = self._first_gap + len(self._gap_columns)
            self._steps.append((GAP, row, start, 0))
            self._gap_columns.append(j)
        # Where nothing is shown, a zero goes to the first place.
        shown = spots >= 0
        spots[~shown] = place.levels
        self._spots.append(spots)
        self._units.append(np.where(shown, levels.units[spots - place.levels], 0))
        self._n_units += len(spots)

    def _layout(self, n_means: int) -> TableLayout:
        plan = self._plan
        origins, table = plan.encoding
        means = np.zeros((len(table), n_means))
        means[SLOPE], means[LOW], means[HIGH] = 1, -np.inf, np.inf
        first = len(plan.source_columns)
        origins = np.concatenate([origins, np.arange(first, first + n_means)])
        is_bent = np.append(plan.is_bent, np.zeros(n_means, bool))
        order = _joined(self._lines)
        table = np.concatenate([table, means], axis=1)[:, order]
        return TableLayout(
            Encoding(read_only(origins[order]), read_only(table)),
            read_only(_joined(self._places)),
            read_only(is_bent[order]),
            float(plan.smooth),
            read_only(np.array(self._steps, np.int64).reshape(-1, 4)),
            read_only(_joined(self._spots)),
            read_only(_joined(self._units, float)),
        )

    @property
    def n_out(self) -> int:
        """Number of components."""
        return self._plan.n_out

    @property
    def n_most(self) -> int:
        """Components of a row that are not zero, at the most."""
        return self._n_lines + len(self._spots)

    def row_bytes(self, dtype, gives_sparse: bool) -> int:
        """Bytes of the components of a row, at the most."""
        size = np.dtype(dtype).itemsize
        if gives_sparse:
            return self.n_most * (size + np.dtype(np.int32).itemsize)
        return self.n_out * size

    @property
    def n_inputs(self) -> tuple[int, int]:
        """Numbers and codes that a row is made of."""
        n_values = self._first_gap + len(self._gap_columns)
        return n_values, len(self._level_columns)

    def inputs(
        self, raws: list[Raw], means: dict[int, np.ndarray], start: int, stop: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and codes of consecutive rows, a row of them for each column.

        ``means`` are given ones, by column.
        """
        n_rows, (n_values, n_codes) = stop - start, self.n_inputs
        raws = [_part(raw, start, stop) for raw in raws]
        plan = self._plan
        first = len(plan.source_columns)
        values = np.empty((n_values, n_rows))
        source_values(plan.source_columns, plan.source_parts, raws, values[:first])
        for j in self._mean_columns:
            if j in means:
                found = means[j][start:stop]
            else:
                found = _level_means(plan.levels[j], raws[j])
            values[first : first + found.shape[1]] = found.T
            first += found.shape[1]
        for row, j in enumerate(self._gap_columns, self._first_gap):
            values[row] = raws[j].numbers()
        codes = np.empty((n_codes, n_rows), np.int32)
        for row, j in enumerate(self._level_columns):
            codes[row] = raws[j].places()
        return read_only(values), read_only(codes)

    def dense(self, raws: list[Raw], means, n_rows: int, dtype) -> np.ndarray:
        """Components of the rows; ``means`` are given ones, by column."""
        out = self._room(n_rows, dtype)
        for start, stop in row_blocks(n_rows, _BLOCK):
            inputs = self.inputs(raws, means, start, stop)
            dense_table(*inputs, self.layout, out[start:stop])
        return out

    def sparse(self, raws: list[Raw], means, n_rows: int, dtype) -> csr_matrix:
        """The same as a CSR matrix."""
        return self._sparse(*self.inputs(raws, means, 0, n_rows), dtype)

    def of_inputs(self, values, codes, dtype, gives_sparse: bool):
        """Components of rows whose inputs are there already."""
        if gives_sparse:
            return self._sparse(values, codes, dtype)
        out = self._room(values.shape[1], dtype)
        dense_table(values, codes, self.layout, out)
        return out

    def _room(self, n_rows: int, dtype) -> np.ndarray:
        """Room for components, zero unless each of them is written."""
        make = np.zeros if self._spots else np.empty
        return make((n_rows, self.n_out), dtype)

    def _sparse(self, values, codes, dtype) -> csr_matrix:
        n_rows = values.shape[1]
        n_most = n_rows * self.n_most
        kind = np.int32 if n_most <= _LARGEST_INDEX else np.int64
        data, indices = np.empty(n_most, dtype), np.empty(n_most, kind)
        indptr = np.zeros(n_rows + 1, kind)
        sparse_table(values, codes, self.layout, data, indices, indptr)
        n = int(indptr[-1])
        if n < n_most:
            data, indices = data[:n].copy(), indices[:n].copy()
        shape = n_rows, self.n_out
        made = csr_matrix((data, indices, indptr), shape=shape)
        made.has_canonical_format = True
        return made


def _part(raw: Raw, start: int, stop: int) -> Raw:
    """Some rows of a column, their values in double precision."""
    values, codes = raw.values, raw.codes
    return Raw(
        None if values is None else values[start:stop].astype(float, copy=False),
        None if codes is None else codes[start:stop],
    )


def _joined(parts: list[np.ndarray], dtype=np.int64) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)


def _level_means(levels: Levels, raw: Raw) -> np.ndarray:
    """Means of the target at the levels of rows; 0 at others and where missing."""
    nothing = np.zeros((2, levels.means.shape[1]))
    return np.concatenate([levels.means, nothing])[raw.places()]
