"""Tables of training files: what their columns are, and what to say about them."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from locallin.cli._methods import CLASSIFICATION, REGRESSION, REGRESSORS
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
# With fewer rows for each of many numbers, these need not be classes.
_ROWS_OF_A_CLASS = 50


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


def given_kinds(args, table: Any, columns: Columns) -> dict[str, str]:
    """What options say of columns."""
    given: dict[str, str] = {}
    for option, kind in _GIVEN:
        for column in getattr(args, option):
            name = _name_of(column, option, columns, table.column_names)
            if given.get(name, kind) != kind:
                raise UsageError(
                    f"{name!r} cannot be both --{option} and {given[name]}"
                )
            given[name] = kind
    return given


def read_kinds(args, table: Any, columns: Columns) -> dict[str, str]:
    """What each column of a training file is."""
    given, signs = given_kinds(args, table, columns), signs_of(args)
    kinds = find_kinds(table, given, signs)
    tell_doubts(args, table, kinds)
    return kinds


def tell_doubts(args, table: Any, kinds: dict[str, str]) -> None:
    """Say what to know of text that may be meant as numbers."""
    for doubt in doubts(table, kinds, signs_of(args)):
        note(doubt)


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


def has_decimals(y: np.ndarray) -> bool:
    """Whether labels are numbers, and not all of them whole."""
    return y.dtype.kind in "iuf" and type_of_target(y).startswith("continuous")


def _label_in_words(columns: Columns) -> str:
    name = columns.label_name
    place = (columns.label or 0) + 1
    return f"column {place}" if name is None else f"the column {name!r}"


def find_task(args, columns: Columns, y: np.ndarray) -> str:
    """What the label is: as was said, or as it plainly is, which is said aloud."""
    task = getattr(args, "task", CLASSIFICATION)
    named = columns.label is not None and not columns.guessed
    if task == "auto":
        found = named and has_decimals(y) and args.method in REGRESSORS
        task = REGRESSION if found else CLASSIFICATION
        if found:
            note(
                f"the label, {_label_in_words(columns)}, holds {len(np.unique(y))} "
                "different numbers with decimals: this is regression; --task "
                "classification says otherwise"
            )
    if task == REGRESSION:
        as_numbers(args, y)
    elif columns.label is not None:
        _check_label(args, columns, y)
        if getattr(args, "task", task) == "auto":
            _ask_for_task(args, columns, y)
    return task


def _ask_for_task(args, columns: Columns, y: np.ndarray) -> None:
    """Refuse whole numbers that may be classes, or counts and prices."""
    n_classes = len(np.unique(y))
    if y.dtype.kind not in "iuf" or n_classes <= _MOST_GUESSED:
        return
    if args.method in REGRESSORS and len(y) < _ROWS_OF_A_CLASS * n_classes:
        raise DataError(
            f"{args.data}: the label, {_label_in_words(columns)}, holds {n_classes} "
            "different whole numbers: --task regression learns numbers, and --task "
            "classification classes."
        )


def as_numbers(args, y: np.ndarray) -> np.ndarray:
    """Labels as numbers, or an error that says what they are."""
    method = getattr(args, "method", None)
    if method is not None and method not in REGRESSORS:
        raise UsageError(
            f"--task regression is for --method {', '.join(REGRESSORS)}, not {method}"
        )
    try:
        return np.asarray(y).astype(float)
    except ValueError:
        raise DataError(
            f"{args.data}: --task regression learns numbers, but a label is "
            f"{str(y[0])!r}: --label names another column."
        ) from None


def _check_label(args, columns: Columns, y: np.ndarray) -> None:
    """Refuse a label that is no class, above all one that nobody has named."""
    what = _label_in_words(columns)
    n_classes = len(np.unique(y))
    numbers = y.dtype.kind in "iuf"
    if has_decimals(y):
        raise DataError(
            f"{args.data}: the label, {what}, holds {n_classes} different numbers with "
            "decimals, which are no classes: --task regression learns numbers, and "
            "--label names another column."
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
