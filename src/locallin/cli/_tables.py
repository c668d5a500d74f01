"""Tables of training files: what their columns are, and what to say about them."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from locallin.cli._output import note
from locallin.cli._parser import UsageError
from locallin.data import DataError
from locallin.data.columns import Columns, suggestion
from locallin.data.frames import (
    CATEGORY,
    DATE,
    NUMBER,
    Signs,
    doubts,
    find_kinds,
    typed,
)

_GIVEN = (("categorical", CATEGORY), ("numeric", NUMBER), ("date", DATE))
# Classes that a label column may have which nobody has named.
_MOST_GUESSED = 30


def asks_for_table(args) -> bool:
    """Whether an option speaks of what only a table can hold."""
    options = ("categorical", "numeric", "date", "decimal", "thousands", "na")
    return any(getattr(args, option, None) for option in options)


def signs_of(args, about: dict[str, Any] | None = None) -> Signs:
    """Signs in numbers: as given, or as in training."""
    about = about or {}
    decimal = args.decimal or about.get("decimal") or "."
    thousands = args.thousands or about.get("thousands") or ""
    if decimal == thousands:
        raise UsageError(f"--decimal and --thousands are both {decimal!r}")
    return Signs(decimal, thousands)


def read_kinds(args, table: Any, columns: Columns) -> dict[str, str]:
    """What each column of a training file is."""
    given: dict[str, str] = {}
    for option, kind in _GIVEN:
        for column in getattr(args, option):
            name = _name_of(column, option, columns, table.column_names)
            if given.get(name, kind) != kind:
                raise UsageError(
                    f"{name!r} cannot be both --{option} and {given[name]}"
                )
            given[name] = kind
    signs = signs_of(args)
    kinds = find_kinds(table, given, signs)
    for doubt in doubts(table, kinds, signs):
        note(doubt)
    return kinds


def _name_of(column: str | int, option: str, columns: Columns, names: list[str]) -> str:
    """The name of a feature; positions count the columns of the file."""
    if isinstance(column, int):
        place = column % columns.width if column < 0 else column
        if place in columns.features:
            return names[columns.features.index(place)]
        column = place + 1
    if column in names:
        return str(column)
    close = suggestion(str(column), names)
    meant = f"did you mean {close!r}?" if close else "it may be the label, or left out"
    raise UsageError(f"--{option}: there is no feature {column!r}; {meant}")


def typed_table(args, table: Any, kinds: dict[str, str]) -> Any:
    """The table with columns of their kinds."""
    return typed(str(args.data), table, kinds, signs_of(args))


def check_label(args, columns: Columns, y: np.ndarray) -> None:
    """Refuse a label that is no class, above all one that nobody has named."""
    name = columns.label_name
    if columns.label is None:
        return
    what = f"column {columns.label + 1}" if name is None else f"the column {name!r}"
    n_classes = len(np.unique(y))
    numbers = y.dtype.kind in "iuf"
    if numbers and type_of_target(y).startswith("continuous"):
        raise DataError(
            f"{args.data}: the label, {what}, holds {n_classes} different numbers with "
            "decimals, which are no classes: --label names another column."
        )
    few = _MOST_GUESSED if numbers else max(_MOST_GUESSED, len(y) // 20)
    if columns.guessed and n_classes > few:
        raise DataError(
            f"{args.data}: no column is named label, class, target or y, and the last, "
            f"{what}, holds {n_classes} different "
            f"{'numbers' if numbers else 'words'}: --label names the label."
        )


def tell_notes(encoder: Any) -> None:
    """What an encoder has to say about the columns, in words of the command line."""
    for text in getattr(encoder, "notes_", ()):
        name = text.split("'")[1] if "'" in text else "COLUMN"
        note(text.replace("ignore=[...]", f"--ignore {_quoted(name)}"))


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
