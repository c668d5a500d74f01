"""Columns of pandas, polars and Arrow tables and of arrays, in one form.

A library is used only where the table at hand is its own.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal
from itertools import count
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from locallin.engine.matrix import read_only
from locallin.kernels.texts import Strings, code_strings

NUMBER, BOOLEAN, TEXT, DATE = "number", "boolean", "text", "date"
_DAY = np.timedelta64(1, "D")
_MICROSECONDS = 8.64e10  # of a day
_ZONED = re.compile(r"\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d(:?\d\d)?)")
# Bytes that are read from each string, at the least.
_BEHIND = 16
# Levels that are looked for first: their table stays in the cache.
_FEW_LEVELS = 2048


class Column(NamedTuple):
    """A column: numbers (dates in days since 1970), or codes of levels.

    Missing values are NaN, or have the code -1. ``declared`` tells whether the table
    itself calls the column a category.
    """

    kind: str
    values: np.ndarray | None = None
    codes: np.ndarray | None = None
    levels: np.ndarray | None = None
    is_integer: bool = False
    declared: bool = False


def is_frame(X) -> bool:
    """Whether X is a table with named columns."""
    return _reader(X) is not None


def column_names(X) -> list:
    """Names of the columns of a table."""
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def read_columns(X, names: list[str]) -> list[Column]:
    """All columns of a table, or of an array of two dimensions.

    The names are those of the columns in errors.
    """
    split, read = _reader(X) or (_split_array, array_column)
    columns = []
    for name, part in zip(names, split(X), strict=True):
        try:
            columns.append(read(part))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"Column {name!r}: {error}") from None
    return columns


def _reader(X) -> tuple[Callable[[Any], Iterable], Callable[[Any], Column]] | None:
    """What cuts a table into columns, and what reads one of them."""
    if isinstance(X, np.ndarray) or len(getattr(X, "shape", ())) != 2:
        return None
    kind = type(X)  # a frame of pandas takes long to say what it does not have
    if hasattr(kind, "iloc") and hasattr(kind, "dtypes"):
        return _split_pandas, _pandas_column
    if hasattr(kind, "get_columns") and hasattr(kind, "schema"):
        return lambda X: X.get_columns(), _polars_column
    if hasattr(kind, "column_names") and hasattr(kind, "schema"):
        return lambda X: X.itercolumns(), _arrow_column
    return None


# pandas


def _split_pandas(X) -> Iterable:
    return (series for _, series in X.items())


def _pandas_column(series) -> Column:
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if hasattr(dtype, "categories"):
        codes = np.asarray(series.array.codes)
        return _text(codes, dtype.categories.tolist(), declared=True)
    if isinstance(dtype, np.dtype) and kind != "O":
        return array_column(series.to_numpy())
    if kind in "biuf":
        values = series.to_numpy(dtype=float, na_value=np.nan)
        found = BOOLEAN if kind == "b" else NUMBER
        return Column(found, values, is_integer=kind in "iu")
    if kind == "M":
        if getattr(dtype, "tz", None) is not None:
            series = series.dt.tz_convert(None)
        return Column(DATE, _days(series.to_numpy(dtype="datetime64[us]")))
    if kind == "m":
        return Column(NUMBER, series.to_numpy(dtype="timedelta64[us]") / _DAY)
    if getattr(dtype, "storage", None) == "pyarrow":  # text, decimals, times of day
        return _arrow_column(series.array.__arrow_array__())
    if str(dtype).startswith("period"):
        return array_column(series.dt.to_timestamp().to_numpy())
    try:
        codes, levels = series.factorize()
    except TypeError as error:  # a list, or something else that has no hash
        raise _strange(str(error)) from None
    return _sorted_out(codes, levels.tolist())


# polars


def _polars_column(series) -> Column:
    dtype = series.dtype
    name = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
    if name == "Boolean":
        return Column(BOOLEAN, _polars_numbers(series))
    if dtype.is_numeric():
        values = _polars_numbers(series)
        return Column(NUMBER, values, is_integer=dtype.is_integer())
    if name in ("Date", "Datetime"):
        return Column(DATE, _polars_numbers(series.dt.timestamp("us")) / _MICROSECONDS)
    if name == "Duration":
        spans = _polars_numbers(series.dt.total_microseconds())
        return Column(NUMBER, spans / _MICROSECONDS)
    if name == "Time":
        nanoseconds = _polars_numbers(series.cast(_polars().Int64))
        return Column(NUMBER, nanoseconds / (1000 * _MICROSECONDS))
    if dtype.is_nested():
        raise _strange(str(dtype))
    levels = series.drop_nulls().unique(maintain_order=True)
    text = series.to_list() if name == "Object" else None
    if text is not None:
        return array_column(np.array(text, dtype=object))
    known = levels.cast(_polars().String)
    ranks = series.cast(_polars().String).cast(_polars().Enum(known)).to_physical()
    codes = ranks.cast(_polars().Int32).fill_null(-1).to_numpy()
    return _text(codes, known.to_list(), declared=name in ("Categorical", "Enum"))


def _polars():
    import polars

    return polars


def _polars_numbers(series) -> np.ndarray:
    cast = series.cast(_polars().Float64)
    return np.array(cast.fill_null(float("nan")).to_numpy(), dtype=float)


# Arrow


def _arrow_column(chunked) -> Column:
    import pyarrow as pa

    kind = chunked.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        chunked.validate(full=True)  # Arrow follows what it finds, and so do we
    if pa.types.is_dictionary(kind):
        if pa.types.is_null(kind.value_type):  # Arrow cannot unify these
            return _text(np.full(len(chunked), -1), [], declared=True)
        array = chunked.unify_dictionaries().combine_chunks()
        array = array if isinstance(array, pa.Array) else array.chunk(0)
        codes = array.indices.cast(pa.int32()).fill_null(-1).to_numpy()
        return _text(codes, array.dictionary.to_pylist(), declared=True)
    if pa.types.is_boolean(kind):
        return Column(BOOLEAN, _arrow_numbers(chunked.cast(pa.int8())))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = _arrow_numbers(chunked)
        return Column(NUMBER, values, is_integer=pa.types.is_integer(kind))
    if pa.types.is_decimal(kind):
        return Column(NUMBER, _arrow_numbers(chunked))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        stamps = chunked.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        return Column(DATE, _arrow_numbers(stamps) / _MICROSECONDS)
    if pa.types.is_duration(kind):
        spans = chunked.cast(pa.duration("us"), safe=False).cast(pa.int64())
        return Column(NUMBER, _arrow_numbers(spans) / _MICROSECONDS)
    if pa.types.is_time(kind):
        spans = chunked.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return Column(NUMBER, _arrow_numbers(spans) / _MICROSECONDS)
    if pa.types.is_null(kind):
        return Column(NUMBER, np.full(len(chunked), np.nan))
    try:
        return _arrow_text(chunked)
    except pa.ArrowException:  # lists, structures, types of one's own
        raise _strange(str(kind)) from None


def _code_strings(
    strings: Strings, longest: int, most: int, codes: np.ndarray
) -> np.ndarray | None:
    """Write codes; rows in which each is first seen, None for more than ``most``."""
    n_bits = (2 * most).bit_length()
    firsts, heads = np.empty(most, np.int64), np.empty((most, 3), np.uint64)
    slots, shift = np.zeros(1 << n_bits, np.int32), np.uint64(64 - n_bits)
    n_codes = code_strings(strings, longest, slots, shift, heads, codes, firsts)
    return None if n_codes < 0 else firsts[:n_codes]


def _arrow_text(chunked) -> Column:
    """A column of strings; their own bytes are compared, no string of Python is made.

    Arrow's own dictionary takes twice as long.
    """
    import pyarrow as pa

    if not pa.types.is_large_string(chunked.type):
        chunked = chunked.cast(pa.large_string())
    chunked.validate()  # the sizes of its buffers
    # Two words of eight bytes begin at any byte, and end behind the last string.
    behind = pa.array([" " * _BEHIND], pa.large_string())
    strings = pa.concat_arrays([*chunked.chunks, behind])
    n, first = len(strings) - 1, strings.offset
    valid, offsets, data = (
        np.frombuffer(part if part is not None else b"", kind)
        for part, kind in zip(strings.buffers(), "BqB", strict=True)
    )
    offsets = offsets[first : first + n + 1]
    sizes = np.diff(offsets)
    longest, size = int(sizes.max(initial=0)), len(data) - _BEHIND
    # No size may be so large that a sum of them turns around.
    ascends = offsets[0] >= 0 and sizes.min(initial=0) >= 0 and longest <= size
    if not ascends or offsets[-1] > size:
        raise ValueError("a column of strings is damaged: its offsets do not ascend.")
    data = data[offsets[0] :]
    words = np.ndarray(len(data) - 7, np.uint64, data, strides=(1,))
    coded = Strings(read_only(words), read_only(offsets), read_only(valid), first)
    codes = np.empty(n, np.int32)
    firsts = _code_strings(coded, longest, min(n, _FEW_LEVELS), codes)
    if firsts is None:
        firsts = _code_strings(coded, longest, n, codes)
    levels = strings.take(pa.array(firsts)).to_pylist()
    return Column(TEXT, codes=codes, levels=np.array(levels, dtype=object))


def _arrow_numbers(chunked) -> np.ndarray:
    import pyarrow as pa

    found = chunked.cast(pa.float64(), safe=False).to_numpy()
    return np.array(found, dtype=float)


# Arrays


def _split_array(X: np.ndarray) -> Iterable:
    return X.T


def array_column(values: np.ndarray) -> Column:
    """A column of an array: numbers, or objects of any kind."""
    kind = values.dtype.kind
    if kind == "b":
        return Column(BOOLEAN, values.astype(float))
    if kind in "iuf":
        numbers = values.astype(float, copy=False)
        return Column(NUMBER, numbers, is_integer=kind in "iu")
    if kind == "M":
        return Column(DATE, _days(values.astype("datetime64[us]")))
    if kind == "m":
        return Column(NUMBER, values / _DAY)
    if kind == "c":
        raise ValueError("Complex data not supported.")
    try:
        codes, levels = codes_of(values.tolist())
    except TypeError as error:  # a list, or something else that has no hash
        raise _strange(str(error)) from None
    missing = [place for place, level in enumerate(levels) if _is_missing(level)]
    if missing:
        codes[np.isin(codes, missing)] = -1
    return _sorted_out(codes, levels, frozenset(missing))


def codes_of(values: list) -> tuple[np.ndarray, list]:
    """Codes of values by first appearance, and the values that they stand for."""
    table: defaultdict = defaultdict(count().__next__)
    codes = np.fromiter(map(table.__getitem__, values), np.intp, len(values))
    return codes, list(table)


def _is_missing(level) -> bool:
    """None, NaN, NaT and pandas.NA."""
    if level is None:
        return True
    try:
        return bool(level != level)
    except TypeError:  # pandas.NA has no truth value
        return True


def _sorted_out(
    codes: np.ndarray, levels: list, missing: frozenset = frozenset()
) -> Column:
    """What a column of objects holds, by what its levels are, but for missing ones."""
    used = [code for code in range(len(levels)) if code not in missing]
    kinds = {type(levels[code]) for code in used}
    if not kinds:
        return Column(NUMBER, np.full(len(codes), np.nan))
    if kinds <= {bool, np.bool_}:
        return Column(BOOLEAN, _looked_up(codes, used, levels))
    if all(issubclass(kind, Real | Decimal) and kind is not bool for kind in kinds):
        values = _looked_up(codes, used, levels)
        whole = all(issubclass(kind, int | np.integer) for kind in kinds)
        return Column(NUMBER, values, is_integer=whole)
    if all(issubclass(kind, date | datetime | np.datetime64) for kind in kinds):
        stamps = np.array([_in_utc(levels[code]) for code in used], "datetime64[us]")
        days = dict(zip(used, _days(stamps), strict=True))
        return Column(DATE, _looked_up(codes, used, days))
    if kinds == {time}:
        shares = {code: _share_of_day(levels[code]) for code in used}
        return Column(NUMBER, _looked_up(codes, used, shares))
    plain = str | bytes | Real | Decimal | date | time | np.datetime64
    strange = [kind for kind in kinds if not issubclass(kind, plain)]
    if strange:
        raise _strange(strange[0].__name__)
    return _text(codes, levels)


def _strange(what: str) -> TypeError:
    return TypeError(
        f"holds objects that are no values ({what}): each argument must be a string or "
        "a number, a date, or None where it is missing."
    )


def _looked_up(codes, used, levels) -> np.ndarray:
    table = np.full(used[-1] + 2, np.nan)  # the last is that of code -1
    for code in used:
        table[code] = _as_float(levels[code])
    return table[codes]


def _share_of_day(clock: time) -> float:
    seconds = 3600 * clock.hour + 60 * clock.minute + clock.second
    return (1e6 * seconds + clock.microsecond) / _MICROSECONDS


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer beyond all floats
        return math.copysign(math.inf, number > 0 or -1)


def _text(codes: np.ndarray, levels: list, *, declared: bool = False) -> Column:
    """Codes of levels as strings; levels that are the same string become one."""
    names = [level_name(level) for level in levels]
    known = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(known) < len(names):
        merged = np.array([*(known[name] for name in names), -1])
        codes = merged[codes]
    found = np.array(list(known), dtype=object)
    codes = codes.astype(np.int32, copy=False)
    return Column(TEXT, codes=codes, levels=found, declared=declared)


def level_name(level) -> str:
    """A level as a string; a whole number is the same with and without decimals."""
    if isinstance(level, str):
        return str(level)
    if isinstance(level, bytes):
        return level.decode(errors="replace")
    if isinstance(level, bool | np.bool_) or not isinstance(level, Real | Decimal):
        return str(level)
    number = _as_float(level)
    return str(int(number)) if number.is_integer() else repr(number)


def _in_utc(stamp):
    """A date or time; without its zone, of which NumPy would warn, where it has one."""
    offset = stamp.utcoffset() if getattr(stamp, "tzinfo", None) else None
    if offset is None:
        return stamp
    return np.datetime64(stamp.replace(tzinfo=None), "us") - np.timedelta64(offset)


def _days(stamps) -> np.ndarray:
    """Days since 1970, NaN for NaT."""
    return (stamps - np.datetime64(0, "us")) / _DAY


# Other views of a column


def as_levels(column: Column) -> Column:
    """The column as codes of levels."""
    if column.kind == TEXT:
        return column
    values = column.values
    assert values is not None
    is_missing = np.isnan(values)
    found, inverse = np.unique(values[~is_missing], return_inverse=True)
    codes = np.full(len(values), -1)
    codes[~is_missing] = inverse
    levels = found.astype(bool) if column.kind == BOOLEAN else found
    return _text(codes, levels.tolist())


def as_numbers(column: Column) -> tuple[np.ndarray, list[str]]:
    """The column as numbers, and the levels that are none."""
    if column.kind != TEXT:
        assert column.values is not None
        return column.values, []
    return _parsed(column, _as_number)


def as_days(column: Column) -> tuple[np.ndarray, list[str]]:
    """The column as days since 1970, and the levels that are no date."""
    if column.kind != TEXT:
        assert column.values is not None
        return column.values, []
    return _parsed(column, _as_day)


def _parsed(column: Column, parse: Callable[[str], float]):
    assert column.levels is not None
    assert column.codes is not None
    table = np.array([*map(parse, column.levels), np.nan])
    used = np.unique(column.codes[column.codes >= 0])
    wrong = [str(column.levels[code]) for code in used if np.isnan(table[code])]
    return table[column.codes], wrong


def _as_number(level: str) -> float:
    try:
        number = float(level)
    except ValueError:
        return np.nan
    return number if math.isfinite(number) else np.nan


def _as_day(level: str) -> float:
    text = level.strip().replace(" ", "T")
    try:
        zoned = _ZONED.fullmatch(text)
        stamp = _in_utc(datetime.fromisoformat(text)) if zoned else text
        return float(_days(np.datetime64(stamp, "us")))
    except ValueError:
        return np.nan
