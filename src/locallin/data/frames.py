"""Arrow tables: what their columns are, found out once and then kept to.

A kind is "number", "integer", "boolean", "text", "category" or "date", which a format
may follow: "date %d.%m.%Y".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import numpy as np

from locallin.data.columns import Columns
from locallin.data.source import DataError, Options

NUMBER, INTEGER, BOOLEAN = "number", "integer", "boolean"
TEXT, CATEGORY, DATE = "text", "category", "date"

_ZONE = r"(Z|[+-]\d\d:?\d\d)"
_ISO_DATE = rf"^\d{{4}}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{{1,6}})?)?{_ZONE}?)?$"
# Ways to write a date beside ISO's; without --date only the first is taken for one.
_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d", "%m/%d/%Y", "%d/%m/%Y")
_UNMISTAKABLE = ("%d.%m.%Y", "%Y/%m/%d")
_TRUTH = {"true": True, "false": False}
# Text that would be numbers, were it not for so few words.
_FEW_WORDS = 3
_MOST_STRANGE = 0.2


@dataclass(frozen=True)
class Signs:
    """Signs in numbers: of decimals, and between thousands ("" for none)."""

    decimal: str = "."
    thousands: str = ""


def column_labels(
    columns: Columns, options: Options, header: Sequence[str] | None
) -> list[str]:
    """Names of the columns of a table: the features, and what is kept beside them."""
    places = columns.read
    if header is not None:
        return [header[place] for place in places]
    names = [f"column {place + 1}" for place in places]
    if options.features is not None and not isinstance(options.features, int):
        names[: len(columns.features)] = list(options.features)
    return names


def as_missing(table: Any, words: Sequence[str]) -> Any:
    """The table with trimmed text, and null in place of nothing and of some words."""
    import pyarrow
    from pyarrow import compute

    known = pyarrow.array(["", *words], pyarrow.string())
    columns = []
    for column in table.columns:
        if pyarrow.types.is_string(column.type):
            column = compute.utf8_trim_whitespace(column)
            is_word = compute.is_in(column, value_set=known)
            none = pyarrow.scalar(None, pyarrow.string())
            column = compute.if_else(is_word, none, column)
        columns.append(column)
    return pyarrow.table(columns, names=table.column_names)


def find_kinds(
    table: Any, given: Mapping[str, str], signs: Signs, *, dates: bool = True
) -> dict[str, str]:
    """What each column is: as given, or by type, or by what its text can be read as.

    Text is not read as dates where ``dates`` is False.
    """
    return {
        name: _given_kind(column, given[name], signs)
        if name in given
        else _kind_of(column, signs, dates)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def common_kinds(
    first: Mapping[str, str | None],
    second: Mapping[str, str | None],
    given: Mapping[str, str],
) -> dict[str, str | None]:
    """What columns are, from what they are in two parts; None tells nothing."""
    return {
        name: _common_kind(first.get(name), kind, name in given)
        for name, kind in second.items()
    }


def _common_kind(one: str | None, other: str | None, given: bool) -> str | None:
    if one is None or other is None or one == other:
        return one or other
    if {one, other} == {INTEGER, NUMBER}:
        return NUMBER
    if given:
        return max(one, other, key=len)  # dates whose way of writing one part tells
    return TEXT


def _given_kind(column: Any, kind: str, signs: Signs) -> str:
    if kind == DATE and _is_text(column):
        texts = column.drop_null()
        formats = [one for one in _FORMATS if _fits(texts, one)]
        if not _matches(texts, _ISO_DATE) and len(formats) == 1:
            return f"{DATE} {formats[0]}"
    if kind == NUMBER and _is_text(column) and _are_integers(column.drop_null(), signs):
        return INTEGER
    return kind


def _kind_of(column: Any, signs: Signs, dates: bool) -> str:
    import pyarrow

    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        return CATEGORY
    if types.is_boolean(kind):
        return BOOLEAN
    if types.is_integer(kind):
        return INTEGER
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_duration(kind):
        return NUMBER
    if types.is_date(kind) or types.is_timestamp(kind):
        return DATE
    if not _is_text(column):
        return NUMBER if types.is_null(kind) else TEXT
    texts = column.drop_null()
    if not len(texts):
        return NUMBER
    if _are_codes(texts):
        return TEXT
    if _are_integers(texts, signs):
        return INTEGER
    if _are_numbers(texts, signs):
        return NUMBER
    if {text.lower() for text in _levels(texts, 5)} <= set(_TRUTH):
        return BOOLEAN
    return _date_kind(texts) if dates else TEXT


def _date_kind(texts: Any) -> str:
    """The kind of dates that are written in a way that cannot be mistaken, or text."""
    if _matches(texts, _ISO_DATE) and _as_dates(texts, DATE).null_count == 0:
        return DATE
    found = [one for one in _UNMISTAKABLE if _fits(texts, one)]
    return f"{DATE} {found[0]}" if found else TEXT


def _is_text(column: Any) -> bool:
    import pyarrow

    kind = column.type
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)


def _levels(texts: Any, most: int) -> list[str]:
    """Some of the distinct values."""
    return texts.unique().slice(0, most).to_pylist()


def _matches(texts: Any, pattern: str) -> bool:
    from pyarrow import compute

    found = compute.match_substring_regex(texts, pattern)
    return bool(compute.all(found, min_count=0).as_py())


def _are_codes(texts: Any) -> bool:
    """Whether digits begin with 0 as those of codes do, and not of numbers."""
    from pyarrow import compute

    if not _matches(texts, r"^\d+$"):
        return False
    return bool(compute.any(compute.match_substring_regex(texts, r"^0\d")).as_py())


def _whole_pattern(signs: Signs) -> str:
    if not signs.thousands:
        return r"\d+"
    return rf"(\d{{1,3}}({re.escape(signs.thousands)}\d{{3}})+|\d+)"


def _number_pattern(signs: Signs) -> str:
    whole, point = _whole_pattern(signs), re.escape(signs.decimal)
    return rf"^[+-]?({whole}({point}\d*)?|{point}\d+)([eE][+-]?\d+)?$"


def _are_numbers(texts: Any, signs: Signs) -> bool:
    return _matches(texts, _number_pattern(signs)) and bool(
        np.isfinite(_parsed(texts, signs).to_numpy()).all()
    )


def _are_integers(texts: Any, signs: Signs) -> bool:
    whole = rf"^[+-]?{_whole_pattern(signs)}$"
    return _matches(texts, whole) and _are_numbers(texts, signs)


def _parsed(texts: Any, signs: Signs) -> Any:
    """Numbers of text that looks like numbers."""
    import pyarrow
    from pyarrow import compute

    texts = compute.utf8_ltrim(_with_points(texts, signs), "+")
    return texts.cast(pyarrow.float64())


def written_plainly(texts: Any, signs: Signs) -> Any:
    """Text with its numbers in digits and a point."""
    from pyarrow import compute

    fits = compute.match_substring_regex(texts, _number_pattern(signs))
    return compute.if_else(fits, _with_points(texts, signs), texts)


def _with_points(texts: Any, signs: Signs) -> Any:
    from pyarrow import compute

    if signs.thousands:
        texts = compute.replace_substring(texts, signs.thousands, "")
    if signs.decimal != ".":
        texts = compute.replace_substring(texts, signs.decimal, ".")
    return texts


def _fits(texts: Any, format: str) -> bool:
    """Whether all dates are written in a format."""
    return len(texts) > 0 and _as_dates(texts, f"{DATE} {format}").null_count == 0


def _as_dates(texts: Any, kind: str) -> Any:
    """Times, of those with a zone in UTC; null where a text is none."""
    import pyarrow
    from pyarrow import compute

    _, _, format = kind.partition(" ")
    if format:
        # Digits of another number than the format's are no date for anybody else.
        digits = re.sub(r"%[dm]", r"\\d\\d?", re.escape(format).replace("%Y", r"\d{4}"))
        digits = r"\d{8}" if format == "%Y%m%d" else digits
        is_date = compute.match_substring_regex(texts, f"^{digits}$")
        none = pyarrow.scalar(None, pyarrow.string())
        texts = compute.if_else(is_date, texts, none)
        return compute.strptime(texts, format, unit="us", error_is_null=True)
    none = pyarrow.scalar(None, pyarrow.string())
    texts = compute.if_else(
        compute.match_substring_regex(texts, _ISO_DATE), texts, none
    )
    has_zone = compute.match_substring_regex(texts, f"{_ZONE}$")
    plain, in_utc = pyarrow.timestamp("us"), pyarrow.timestamp("us", "UTC")
    try:
        return compute.coalesce(
            compute.if_else(has_zone, none, texts).cast(plain),
            compute.if_else(has_zone, texts, none).cast(in_utc).cast(plain),
        )
    except pyarrow.ArrowInvalid:  # the 31st of February
        values = [_one_date(text) for text in texts.to_pylist()]
        return pyarrow.chunked_array([pyarrow.array(values, plain)])


def _one_date(text: str | None) -> datetime | None:
    try:
        stamp = datetime.fromisoformat(text or "")
        return stamp.astimezone(UTC).replace(tzinfo=None) if stamp.tzinfo else stamp
    except (ValueError, OverflowError):
        return None


def typed(
    source: str, table: Any, kinds: Mapping[str, str], signs: Signs, start: int = 0
) -> Any:
    """The columns with a kind, as it asks for; ``start`` rows have come before."""
    import pyarrow

    columns = [
        _Reader(source, name, signs, start).read(table.column(name), kind)
        for name, kind in kinds.items()
    ]
    return pyarrow.table(columns, names=list(kinds))


class _Reader:
    """Reads a column of a table as its kind; name and place are for messages."""

    def __init__(self, source: str, name: str, signs: Signs, start: int):
        self._where = f"column {name!r}"
        self._name, self._source = name, source
        self._signs, self._start = signs, start

    def read(self, column: Any, kind: str) -> Any:
        import pyarrow

        if pyarrow.types.is_nested(column.type):
            raise DataError(
                f"{self._source}, {self._where}: holds {column.type}, several values "
                "in one cell. Take it apart, or leave it out with --ignore."
            )
        if pyarrow.types.is_dictionary(column.type) and kind != CATEGORY:
            column = column.cast(column.type.value_type)
        if kind in (NUMBER, INTEGER):
            return self._numbers(column, kind)
        if kind == BOOLEAN:
            return self._truths(column)
        if kind.startswith(DATE):
            return self._dates(column, kind)
        return self._texts(column, kind)

    def _texts(self, column: Any, kind: str) -> Any:
        import pyarrow

        if pyarrow.types.is_dictionary(column.type):
            return column
        if pyarrow.types.is_floating(column.type):
            # Whole numbers with gaps are levels without decimals.
            values = column.to_numpy()
            if (values[np.isfinite(values)] % 1 == 0).all():
                column = column.cast(pyarrow.int64(), safe=False)
        column = column.cast(pyarrow.string())
        return column.dictionary_encode() if kind == CATEGORY else column

    def _numbers(self, column: Any, kind: str) -> Any:
        import pyarrow

        types = pyarrow.types
        if types.is_boolean(column.type):
            return column.cast(pyarrow.int8())
        if types.is_decimal(column.type) or types.is_null(column.type):
            return column.cast(pyarrow.float64())
        if not _is_text(column):
            return column
        if not _are_numbers(column.drop_null(), self._signs):
            self._refuse(column, _number_pattern(self._signs), "number")
        numbers = _parsed(column, self._signs)
        if kind == INTEGER and _are_integers(column.drop_null(), self._signs):
            try:
                return numbers.cast(pyarrow.int64())
            except pyarrow.ArrowInvalid:  # more digits than fit
                pass
        return numbers

    def _truths(self, column: Any) -> Any:
        import pyarrow
        from pyarrow import compute

        if not _is_text(column):
            return column.cast(pyarrow.bool_(), safe=False)
        lower = compute.utf8_lower(column)
        self._check(column, compute.is_in(lower, pyarrow.array(list(_TRUTH))), "truth")
        none = pyarrow.scalar(None, pyarrow.bool_())
        is_true = compute.equal(lower, "true")
        return compute.if_else(compute.is_null(column), none, is_true)

    def _dates(self, column: Any, kind: str) -> Any:
        import pyarrow
        from pyarrow import compute

        if pyarrow.types.is_integer(column.type):
            column = column.cast(pyarrow.string())
        if not _is_text(column):
            return column
        dates = _as_dates(column, kind)
        self._check(column, compute.is_valid(dates), "date")
        return dates

    def _refuse(self, column: Any, pattern: str, what: str) -> None:
        from pyarrow import compute

        fits = compute.match_substring_regex(column, pattern)
        self._check(column, compute.fill_null(fits, True), what)
        raise DataError(
            f"{self._source}, {self._where}: a number is too large to be read."
        )

    def _check(self, column: Any, fits: Any, what: str) -> None:
        """Name the first cell that is not missing and does not fit."""
        from pyarrow import compute

        fits = compute.or_(compute.is_null(column), compute.fill_null(fits, False))
        if compute.all(fits, min_count=0).as_py():
            return
        row = fits.to_pylist().index(False)
        cell = column[row].as_py()
        noun = {"truth": "true or false", "date": "a date (2024-05-31)"}
        remedy = {
            "number": "--decimal and --thousands say how numbers are written",
            "date": "in training --date finds 31/12/2024 and 12/31/2024, too, where "
            "days above 12 tell days from months",
            "truth": "training rows were true or false",
        }
        raise DataError(
            f"{self._source}, row {self._start + row + 1}, {self._where}: "
            f"{cell[:40]!r} is not {noun.get(what, 'a number')}. {remedy[what]}; "
            f"--na {cell[:40]!r} takes it as missing."
        )


def as_frame(table: Any, *, nullable: bool = True) -> Any:
    """A pandas frame where pandas is installed, otherwise the Arrow table.

    Integers and truth values with gaps keep their type where ``nullable``; otherwise
    the frame is as pandas would read it from a file.
    """
    if find_spec("pandas") is None:
        return table
    import pandas
    import pyarrow

    if nullable:
        kinds = {
            pyarrow.bool_(): pandas.BooleanDtype(),
            pyarrow.int64(): pandas.Int64Dtype(),
        }
        return table.to_pandas(types_mapper=kinds.get)
    frame = table.to_pandas()
    for name, column in frame.items():
        if column.dtype.kind == "O":
            frame[name] = column.where(column.notna(), np.nan)
    return frame


def on_top(frames: Sequence[Any]) -> Any:
    """Frames as one."""
    if hasattr(frames[0], "iloc"):
        import pandas

        return pandas.concat(frames, ignore_index=True)
    import pyarrow

    return pyarrow.concat_tables(frames)


def is_frame(X: Any) -> bool:
    """Whether rows are what ``as_frame`` returns."""
    return hasattr(X, "iloc") or hasattr(X, "column_names")


def as_matrix(table: Any) -> np.ndarray:
    """Columns of numbers as an array."""
    columns = [np.asarray(column, dtype=float) for column in table.columns]
    return np.column_stack(columns)


def is_numeric(table: Any, kinds: Mapping[str, str]) -> bool:
    """Whether all columns are numbers, none of them missing or infinite."""
    plain = all(kind in (NUMBER, INTEGER) for kind in kinds.values())
    return plain and bool(np.isfinite(as_matrix(table)).all())


def doubts(table: Any, kinds: Mapping[str, str], signs: Signs) -> list[str]:
    """What to know of text that would be numbers, were it written otherwise."""
    notes = []
    for name, kind in kinds.items():
        column = table.column(name)
        if kind == TEXT and _is_text(column):
            texts = column.drop_null()
            found = _doubt_of_dates(texts, name) or _doubt(texts, signs)
            if found is not None:
                notes.append(f"column {name!r} {found}")
    return notes


def _doubt_of_dates(texts: Any, name: str) -> str | None:
    fitting = [one for one in _FORMATS if _fits(texts, one)]
    if not fitting:
        return None
    taken = f"is taken as text, but holds {texts[0].as_py()!r}:"
    if len(fitting) == 1:
        return f"{taken} dates are read so with --date {name!r}"
    return f"{taken} dates are read where written 2024-05-31, and no month may be a day"


def _doubt(texts: Any, signs: Signs) -> str | None:
    import pyarrow
    from pyarrow import compute

    for other, option in (
        (Signs(",", signs.thousands.replace(",", "")), "--decimal ,"),
        (Signs(",", "."), "--decimal , --thousands ."),
        (Signs(".", ","), "--thousands ,"),
    ):
        if other != signs and _are_numbers(texts, other) and not _are_codes(texts):
            example = next(t for t in texts.to_pylist() if not t.isdigit())
            return (
                f"is taken as text, but holds {example!r}: numbers are read so with "
                f"{option}"
            )
    fits = compute.match_substring_regex(texts, _number_pattern(signs))
    none = pyarrow.scalar(None, texts.type)
    numbers = _parsed(compute.if_else(fits, texts, none), signs).to_numpy()
    strange = texts.filter(pyarrow.array(~np.isfinite(numbers)))
    words = _levels(strange, _FEW_WORDS + 1)
    few = 0 < len(words) <= _FEW_WORDS and len(strange) <= _MOST_STRANGE * len(texts)
    if not few:
        return None
    listed = ", ".join(map(repr, words))
    return (
        f"is taken as text, because it holds {listed} among numbers: --na "
        f"{' '.join(map(repr, words))} takes that as missing"
    )
