"""From columns in numbers to components: what transform, C and ONNX have in common."""

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from locallin.encoding._columns import BOOLEAN, NUMBER
from locallin.encoding._dates import (
    PART_NAMES,
    TIME_COS,
    VALUE,
    YEAR,
    YEAR_COS,
    YEAR_SIN,
    date_part,
)
from locallin.encoding._fitting import Raw
from locallin.encoding._slopes import bent_slopes, line_slopes
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import HIGH, LEFT, LOW, SLOPE, Encoding

# Deviations at which numbers end: beyond lie slips of the pen, and squares overflow.
_FURTHEST = 1e4
# Deviations where the smooth clip of robust scaling levels off.
SMOOTH = 3.0
# Share of components that are not zero up to which CSR rows serve a model faster.
_LEAST_FULL = 1 / 8


class Places(NamedTuple):
    """Where the components of a column begin, and where they end.

    First come numbers, then means of the target, levels, the pool of other levels, and
    the component for missing values.
    """

    numbers: int
    means: int
    levels: int
    other: int
    missing: int
    end: int


class Levels(NamedTuple):
    """Levels of one column: their names, means and components.

    The first ``n_kept`` names have a component; ``units`` are what these, the one of
    other levels and the one of missing values are where they apply.
    """

    names: np.ndarray
    n_kept: int
    pools: bool
    tells_missing: bool
    means: np.ndarray  # (n_names, n_means)
    units: np.ndarray

    def unit_table(self) -> np.ndarray:
        """Components at each code, the last two those of another and of no value."""
        n = len(self.names)
        table = np.zeros((n + 2, len(self.units)))
        for code in range(n + 1):
            place = min(code, self.n_kept)
            if place < self.n_kept or self.pools:
                table[code, place] = self.units[place]
        if self.tells_missing:
            table[n + 1, -1] = self.units[-1]
        return table


class Wave(NamedTuple):
    """A cyclic part of a date: sin(2 pi (days / period + shift))."""

    period: float
    shift: float


class Plan(NamedTuple):
    """A fitted table encoder.

    Sources are numbers: a column's values, or parts of its dates. ``encoding`` tells
    what becomes of them, and ``is_bent`` which components have bent tails.
    """

    kinds: np.ndarray
    levels: list[Levels]
    source_columns: np.ndarray
    source_parts: np.ndarray
    encoding: Encoding
    is_bent: np.ndarray
    places: list[Places]

    @property
    def n_out(self) -> int:
        """Number of components."""
        return self.places[-1].end

    @property
    def smooth(self) -> float:
        """Where bent tails level off: z becomes z / sqrt(1 + (z / smooth)^2)."""
        return SMOOTH

    def wave(self, part: int) -> Wave | None:
        """How a part is made of days; None for the value itself."""
        if part == VALUE:
            return None
        period = YEAR if part in (YEAR_SIN, YEAR_COS) else 1.0
        return Wave(period, 0.25 if part in (YEAR_COS, TIME_COS) else 0.0)

    def edges_of(self, j: int) -> np.ndarray:
        """Left ends of the lines that are made of a column's values."""
        sources = (self.source_columns == j) & (self.source_parts == VALUE)
        return self.encoding.table[LEFT, sources[self.encoding.origins]]

    @property
    def number_places(self) -> np.ndarray:
        """Places of the components that are made of sources."""
        ranges = [np.arange(one.numbers, one.means) for one in self.places]
        return np.concatenate(ranges)


def plan_of(encoder) -> Plan:
    """The plan of a fitted TableEncoder."""
    encoding = _encoding(encoder)
    sizes: list[tuple[int, ...]] = []
    levels, unit = [], 0
    n_numbers = np.bincount(
        encoder.source_columns_[encoding.origins], minlength=encoder.n_features_in_
    ).tolist()
    for j in range(encoder.n_features_in_):
        start, stop = encoder.level_starts_[j : j + 2]
        n_kept, pools = int(encoder.n_kept_[j]), bool(encoder.pools_[j])
        tells = bool(encoder.tells_missing_[j])
        n_means = encoder.level_means_.shape[1] * int(encoder.has_means_[j])
        n_units = n_kept + pools + tells
        levels.append(
            Levels(
                encoder.levels_[start:stop],
                n_kept,
                pools,
                tells,
                encoder.level_means_[start:stop, :n_means],
                encoder.level_units_[unit : unit + n_units],
            )
        )
        unit += n_units
        sizes.append((n_numbers[j], n_means, n_kept, int(pools), int(tells)))
    return Plan(
        encoder.kinds_,
        levels,
        encoder.source_columns_,
        encoder.source_parts_,
        encoding,
        _is_bent(encoder)[encoding.origins],
        _side_by_side(sizes),
    )


def _encoding(encoder) -> Encoding:
    """What becomes of the sources, in double precision."""
    table = np.zeros((6, len(encoder.center_)))
    table[LEFT], table[SLOPE] = encoder.center_, 1 / encoder.scale_
    table[LOW], table[HIGH] = -_FURTHEST, _FURTHEST
    origins = np.flatnonzero(~encoder.is_binned_)
    table = table[:, origins]
    if encoder.bins_ is not None:
        bins = encoder.bins_.kernel_state(np.float64)
        binned = np.flatnonzero(encoder.is_binned_)[bins.origins]
        origins = np.concatenate([origins, binned])
        table = np.concatenate([table, bins.table], axis=1)
    order = np.argsort(origins, kind="stable")
    table = np.ascontiguousarray(table[:, order])
    return Encoding(read_only(origins[order]), read_only(table))


def _is_bent(encoder) -> np.ndarray:
    kinds = encoder.kinds_[encoder.source_columns_]
    is_value = (encoder.source_parts_ == VALUE) & (kinds != BOOLEAN)
    return is_value & (encoder.numbers == "robust")


def _side_by_side(sizes: list[tuple[int, ...]]) -> list[Places]:
    found, end = [], 0
    for row in sizes:
        found.append(Places(*accumulate(row, initial=end)))
        end = found[-1].end
    return found


def is_sparse(plan: Plan) -> bool:
    """Whether so few components are not zero that products with CSR rows are faster."""
    n_full = sum(one.levels - one.numbers for one in plan.places)
    n_full += sum(one.end > one.levels for one in plan.places)
    return n_full < _LEAST_FULL * plan.n_out


def source_values(columns, parts, raws: list[Raw], out: np.ndarray) -> None:
    """Write the values of the sources to ``out``, of shape (n_sources, n_rows)."""
    for row, j, part in zip(out, columns, parts, strict=True):
        row[:] = date_part(raws[j].numbers(), part)


def local_slopes(plan: Plan, raws: list[Raw], n_rows: int) -> np.ndarray:
    """Slopes of the components at rows, NaN where a column is no number there."""
    out = np.full((n_rows, plan.n_out), np.nan)
    columns, parts = plan.source_columns, plan.source_parts
    sources = np.empty((len(columns), n_rows))
    source_values(columns, parts, raws, sources)
    values = sources.T
    slopes = line_slopes(values, plan.encoding)
    bent = bent_slopes(values, plan.encoding, plan.smooth)
    out[:, plan.number_places] = np.where(plan.is_bent, bent, slopes)
    for j, (kind, place) in enumerate(zip(plan.kinds, plan.places, strict=True)):
        own = slice(place.numbers, place.end)
        if kind not in (NUMBER, BOOLEAN):
            out[:, own] = np.nan
            continue
        there = ~np.isnan(raws[j].numbers())
        out[there, place.missing : place.end] = 0.0  # the component of a missing value
    return out


def number_names(plan: Plan, j: int, name: str, is_binned: np.ndarray) -> list[str]:
    """Names of a column's components that are made of sources."""
    made: list[str] = []
    for s in np.flatnonzero(plan.source_columns == j):
        part = name + PART_NAMES[plan.source_parts[s]]
        n = np.count_nonzero(plan.encoding.origins == s)
        bins = [f"{part}_bin{t + 1}" for t in range(n)]
        made += bins if is_binned[s] else [part]
    return made
