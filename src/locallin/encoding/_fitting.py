"""What a table's columns become: chosen one by one, then laid out side by side."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from locallin.encoding._columns import (
    BOOLEAN,
    DATE,
    TEXT,
    Column,
    as_days,
    as_levels,
    as_numbers,
)
from locallin.encoding._dates import (
    PART_NAMES,
    TIME_SIN,
    VALUE,
    WEEKDAYS,
    date_part,
    weekdays,
)
from locallin.encoding._levels import (
    LevelPlaces,
    Levels,
    find_levels,
    level_codes,
    places_of,
)
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import Seen, look_through, sums_of_powers

CATEGORY, CONSTANT, IGNORED, NUMBER = "category", "constant", "ignored", "number"
KINDS = (NUMBER, BOOLEAN, CATEGORY, DATE, CONSTANT, IGNORED)
# Cyclic parts run from -1 to 1; opposite ones are as far apart as two levels.
_CYCLIC_SCALE = 2.0
# A deviation of zero, up to rounding.
_NO_SPREAD = 1e-12
# A component of a level is 0 or this: rows with two levels are 1 apart.
_LEVEL_UNIT = np.sqrt(0.5)
_LEAST_DEVIATION = 0.1
_NORMAL_QUARTILES = 1.349  # distance of a normal distribution's quartiles


_NO_LEVELS = Levels(np.empty(0, dtype=object), 0, False)


class Source(NamedTuple):
    """A number that components are made of: a column, or a part of its date."""

    part: int
    center: float
    scale: float
    is_binned: bool


class Raw(NamedTuple):
    """Rows of one column in numbers: its value or days, and the code of its level.

    A code is -1 where the value is missing. Numbers have no codes, categories no
    values, and columns without a component neither. ``seen`` is what values were found
    to be, where they are a whole column's.
    """

    values: np.ndarray | None = None
    codes: np.ndarray | None = None
    seen: Seen | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is made of the column."""
        return self.values is None and self.codes is None

    def numbers(self) -> np.ndarray:
        """The values."""
        if self.values is None:
            raise ValueError("a column that is not of numbers has no values")
        return self.values

    def look(self) -> Seen:
        """What the values were found to be."""
        if self.seen is None:
            raise ValueError("a column that is not of numbers was not looked through")
        return self.seen

    def places(self) -> np.ndarray:
        """The codes."""
        if self.codes is None:
            raise ValueError("a column that is not of levels has no codes")
        return self.codes


@dataclass
class Fitted:
    """What one column becomes."""

    kind: str
    sources: list[Source] = field(default_factory=list)
    levels: Levels = _NO_LEVELS
    has_means: bool = False
    tells_missing: bool = False
    missing_share: float = 0.0
    shares: np.ndarray | None = None
    raw: Raw = field(default_factory=Raw)


def given_kinds(encoder, names: list[str]) -> dict[int, str]:
    """Kinds of columns that parameters tell, by place."""
    found: dict[int, str] = {}
    for parameter, kind in (
        ("categorical", CATEGORY),
        ("numeric", NUMBER),
        ("dates", DATE),
        ("ignore", IGNORED),
    ):
        chosen = getattr(encoder, parameter)
        for column in chosen if chosen is not None else ():
            place = _place(column, names, parameter)
            if found.get(place, kind) != kind:
                raise ValueError(
                    f"Column {column!r} is in {parameter} and also in another of "
                    "categorical, numeric, dates and ignore: choose one."
                )
            found[place] = kind
    return found


def _place(column, names: list[str], parameter: str) -> int:
    """Place of a column that is given by name, or by place."""
    if isinstance(column, int | np.integer) and -len(names) <= column < len(names):
        return int(column) % len(names)
    if column in names:
        return names.index(column)
    raise ValueError(
        f"{parameter} names the column {column!r}, but X has the columns "
        f"{', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}."
    )


def kind_of(column: Column, given: str | None, max_integer_levels: int) -> str:
    """What a column is taken as: given, or by what it holds."""
    if given is not None:
        return given
    if column.kind == TEXT or column.declared:
        return CATEGORY
    if column.kind == NUMBER and column.is_integer and max_integer_levels:
        assert column.values is not None
        known = column.values[~np.isnan(column.values)]
        return CATEGORY if len(np.unique(known)) <= max_integer_levels else NUMBER
    return column.kind


NO_PLACES = places_of(np.empty(0, dtype=object))


def raw_rows(column: Column, kind: str, levels: LevelPlaces, what: str) -> Raw:
    """A column in numbers, as its kind asks for; ``what`` names it in errors."""
    if kind == CATEGORY:
        return Raw(codes=level_codes(as_levels(column), levels))
    if kind in (CONSTANT, IGNORED):
        return Raw()
    if kind == DATE:
        values, wrong = as_days(column)
        noun, remedy = "dates", "dates=[...] takes ISO dates (2024-05-31 or 20:15:00)"
    else:
        values, wrong = as_numbers(column)
        noun, remedy = "numbers", "mend it, or fit with categorical=[...]"
    if wrong:
        raise ValueError(
            f"Column {what} is taken as {noun}, but holds {wrong[0]!r}: {remedy}; an "
            "empty value is None or NaN."
        )
    values = np.ascontiguousarray(values, dtype=float)
    seen = look_through(read_only(values))
    if seen.n_infinite:
        raise ValueError(
            f"Input X contains infinity or a value too large, in column {what}: "
            "replace it, for example by NaN if it stands for a missing value."
        )
    return Raw(values, weekdays(values) if kind == DATE else None, seen)


def fit_numbers(raw: Raw, kind: str, numbers: str) -> Fitted:
    """Lines or bins of a column of numbers, of dates or of booleans."""
    values, n_rows, seen = raw.numbers(), len(raw.numbers()), raw.look()
    fitted = Fitted(kind, tells_missing=0 < seen.n_missing < n_rows, raw=raw)
    fitted.missing_share = seen.n_missing / n_rows
    if seen.high - seen.low > np.finfo(float).tiny:  # squares of less are lost
        mean, deviation = _moments(values, seen)
        if kind == BOOLEAN:
            source = Source(VALUE, mean, 1.0, False)
        elif numbers == "robust":
            source = Source(VALUE, *_robust(values, deviation), False)
        else:
            source = Source(VALUE, mean, deviation, numbers == "piecewise")
        fitted.sources.append(source)
    if kind == DATE and seen.n_missing < n_rows:
        _fit_parts(fitted, values[~np.isnan(values)])
    return fitted


def _moments(values: np.ndarray, seen: Seen) -> tuple[float, float]:
    """Mean and standard deviation of the values that are there."""
    n_known = len(values) - seen.n_missing
    size = max(-seen.low, seen.high)  # squares stay within the range of numbers
    mean = sums_of_powers(read_only(values), size, 0.0)[0] / n_known
    variance = sums_of_powers(read_only(values), size, mean)[1] / n_known
    least = _NO_SPREAD * min(size, 1.0)
    return mean * size, max(np.sqrt(variance) * size, least)


def _robust(values: np.ndarray, deviation: float) -> tuple[float, float]:
    """Median, and the deviation that the quartiles of a normal distribution tell."""
    low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75])
    spread = (high / 2 - low / 2) * 2 / _NORMAL_QUARTILES
    return float(middle), float(spread) if spread > 0 else deviation


def _fit_parts(fitted: Fitted, days: np.ndarray) -> None:
    for part in range(VALUE + 1, len(PART_NAMES)):
        if part >= TIME_SIN and (days == np.floor(days)).all():
            continue
        values = date_part(days, part)
        if values.std() > _NO_SPREAD:
            mean = float(values.mean())
            fitted.sources.append(Source(part, mean, _CYCLIC_SCALE, False))
    shares = np.bincount(weekdays(days), minlength=7) / len(days)
    if np.count_nonzero(shares) > 1:
        fitted.levels = Levels(WEEKDAYS, len(WEEKDAYS), False)
        fitted.shares = shares


def fit_category(column: Column, max_levels: int, min_rows: int, means: str) -> Fitted:
    """Levels of a column; ``means`` are "all", "none", or "auto": where some pool."""
    column = as_levels(column)
    assert column.codes is not None
    levels, counts, codes = find_levels(column, max_levels, min_rows, means)
    n_rows, n_known = len(column.codes), int(counts.sum())
    tells_missing = 0 < n_known < n_rows
    if levels.n_kept + levels.pools < 2 and not tells_missing:
        return Fitted(CONSTANT)
    fitted = Fitted(CATEGORY, [], levels, levels.has_means, tells_missing)
    kept = counts[: levels.n_kept]
    fitted.shares = np.append(kept, n_known - kept.sum()) / n_rows
    fitted.missing_share = (n_rows - n_known) / n_rows
    fitted.raw = Raw(codes=codes)
    return fitted


def level_units(fitted: Fitted, scaling: str) -> np.ndarray:
    """What the components of levels, the pool and the flag are where they apply."""
    n = fitted.levels.n_kept + fitted.levels.pools
    if scaling == "distance":
        return np.full(n + fitted.tells_missing, _LEVEL_UNIT)
    shares = np.zeros(n) if fitted.shares is None else fitted.shares[:n]
    if fitted.tells_missing:
        shares = np.append(shares, fitted.missing_share)
    return 1 / np.maximum(np.sqrt(shares * (1 - shares)), _LEAST_DEVIATION)
