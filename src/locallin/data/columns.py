"""Columns of features, of the label and of the weight, and kinds of labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import groupby

import numpy as np

from locallin.data.source import DataError, Options

# Names that are taken for the label where none is given.
LABEL_NAMES = ("label", "class", "target", "y")


@dataclass(frozen=True)
class Columns:
    """Positions of the features, of the label and of the weight, and their names.

    Files whose labels are no column have no position of it. ``guessed`` tells that
    nothing but its place speaks for the label. ``kept`` are positions of columns that
    are read beside the features, ``width`` is the number of all.
    """

    features: Sequence[int]
    label: int | None
    names: list[str] | None
    label_name: str | None
    weight: int | None = None
    guessed: bool = False
    kept: tuple[int, ...] = ()
    width: int = 0

    @property
    def read(self) -> list[int]:
        """Positions of what is read as a table: the features, then what is kept."""
        return [*self.features, *self.kept]

    @property
    def numbers(self) -> list[int]:
        """Positions of what is read as numbers: the features and, last, the weight."""
        return [*self.features, *([] if self.weight is None else [self.weight])]


def choose_columns(
    source: str, header: list[str] | None, width: int, options: Options
) -> Columns:
    """Tell features, label and weight apart.

    Where the features are known (``options.features``) a label is optional, and names
    say where they stand.
    """
    file = _File(source, header, width)
    weight = None
    if options.weight is not None:
        weight = file.position(options.weight, "weight")
    ignored = {file.position(column, "ignored") for column in options.ignore}
    known = options.features
    if header is None or known is None or isinstance(known, int):
        label = _label_position(file, weight, ignored, options)
        columns = _columns_beside(file, label, weight, ignored)
        guessed = options.label == "auto" and file.label("auto") is None
        columns = replace(columns, guessed=guessed)
    else:
        columns = _named_columns(file, header, list(known), weight, options)
    return replace(columns, kept=_kept(file, options), width=width)


def _kept(file: "_File", options: Options) -> tuple[int, ...]:
    """Positions of the columns to carry, where they exist, and of those to keep."""
    there = [c for c in options.carry if isinstance(c, int) or c in (file.header or ())]
    wanted = [file.position(column, "kept") for column in (*there, *options.keep)]
    return tuple(dict.fromkeys(wanted))


class _File:
    """The columns of a file: its name for messages, their names or None, and number."""

    def __init__(self, source: str, header: list[str] | None, width: int):
        self.source, self.header, self.width = source, header, width
        for column, name in enumerate(header or ()):
            if not name:
                raise DataError(
                    f"{source}: column {column + 1} has no name in the header. If it "
                    "is a row number, leave it out (pandas: index=False); otherwise "
                    "name it."
                )
        groups = groupby(sorted(header or ()))
        twice = [name for name, group in groups if len(list(group)) > 1]
        if twice:
            raise DataError(
                f"{source}: two columns are named {twice[0]!r}: rename one."
            )

    def position(self, column: str | int, what: str) -> int:
        """The position of a column that was named or counted."""
        if isinstance(column, int):
            if -self.width <= column < self.width:
                return column % self.width
            raise DataError(
                f"{self.source} has {self.width} columns, so none at the {what}'s "
                f"position {column + 1 if column >= 0 else column}."
            )
        if self.header is None:
            raise DataError(
                f"{self.source} has no header, so no {what} column {column!r}: give "
                "its position."
            )
        if column not in self.header:
            raise DataError(
                f"{self.source} has no {what} column {column!r}; "
                f"{_offered(column, self.header)}"
            )
        return self.header.index(column)

    def label(self, label: str | int | None) -> int | None:
        """The position of the label, if it is there."""
        if isinstance(label, int):
            return label % self.width if -self.width <= label < self.width else None
        if self.header is None or label is None:
            return None
        if label != "auto":
            return self.header.index(label) if label in self.header else None
        lower = [name.lower() for name in self.header]
        return next((lower.index(name) for name in LABEL_NAMES if name in lower), None)


def _named_columns(
    file: _File,
    header: list[str],
    known: list[str],
    weight: int | None,
    options: Options,
) -> Columns:
    """Features by their names, beside others."""
    missing = [name for name in known if name not in header]
    if missing:
        raise DataError(
            f"{file.source} has no column {missing[0]!r}"
            + (f" (nor {len(missing) - 1} others)" if len(missing) > 1 else "")
            + f"; {_offered(missing[0], header)}"
        )
    features = [header.index(name) for name in known]
    if weight is not None and weight in features:
        raise DataError(
            f"{file.source}: the weight {header[weight]!r} is one of the features."
        )
    label = file.label(options.label)
    label_name = None if label is None else header[label]
    return Columns(
        features, None if label in features else label, known, label_name, weight
    )


def _label_position(
    file: _File, weight: int | None, ignored: set[int], options: Options
) -> int | None:
    """The position of the label beside the features, or None where there is none."""
    others = [i for i in range(file.width) if i != weight and i not in ignored]
    if options.features is None:
        label = _given_label(file, others, options.label)
    else:
        label = _optional_label(file, others, options)
    if label is not None and label == weight:
        raise DataError(
            f"{file.source}: column {label + 1} cannot be both the label and the "
            "weight: say which column is the label."
        )
    return label


def _given_label(file: _File, others: list[int], label: str | int | None) -> int | None:
    if label is None:
        return None
    if label != "auto":
        return file.position(label, "label")
    found = file.label(label)
    return others[-1] if found is None and others else found


def _optional_label(file: _File, others: list[int], options: Options) -> int | None:
    """The position of the label, if there is one column more than features."""
    n_features = options.n_features or 0
    n_columns = len(others)
    if n_columns == n_features:
        return None
    if n_columns != n_features + 1 or options.label is None:
        raise DataError(
            f"{file.source} has {n_columns} columns where {n_features} features"
            f"{'' if options.label is None else ', and at most a label,'} are "
            "expected: is it the right file, with the right delimiter?"
        )
    label = file.label(options.label)
    if label is None and options.label != "auto":
        raise DataError(
            f"{file.source} has a column beside the {n_features} features: give the "
            f"position of the label (it was {options.label!r})."
        )
    return others[-1] if label is None else label


def _columns_beside(
    file: _File, label: int | None, weight: int | None, ignored: set[int]
) -> Columns:
    """The features are all columns beside the label, the weight and ignored ones."""
    beside = {label, weight, *ignored}
    features = [i for i in range(file.width) if i not in beside]
    if not features:
        raise DataError(
            f"{file.source} has one column only, which is the label: is the delimiter "
            "right?"
            if weight is None and not ignored
            else f"{file.source} has no columns beside the label"
            f"{'' if weight is None else ', the weight'}"
            f"{' and those that are left out' if ignored else ''}."
        )
    if file.header is None:
        return Columns(features, label, None, None, weight)
    names = [file.header[column] for column in features]
    label_name = None if label is None else file.header[label]
    return Columns(features, label, names, label_name, weight)


def _offered(name: str, header: Sequence[str]) -> str:
    """The column that may have been meant, or all of them."""
    close = suggestion(name, header)
    if close:
        return f"did you mean {close!r}?"
    return f"its columns are {_listed(header)}."


def suggestion(word: str, known: Sequence[str]) -> str | None:
    """A known word that is written nearly so, or None."""
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), by_lower, 1)
    return by_lower[close[0]] if close else None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 8 else shown


def label_kind(labels) -> str:
    """The kind of labels: "int", "float" or "text"."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "iub":
        return "int"
    try:
        numbers = labels.astype(np.float64)
    except (ValueError, TypeError):
        return "text"
    finite = np.isfinite(numbers).all()
    if not finite:
        return "text"
    return "int" if (numbers == np.rint(numbers)).all() else "float"


def as_labels(source: str, labels, kind: str) -> np.ndarray:
    """Labels of the given kind."""
    labels = np.asarray(labels)
    if kind == "text":
        if labels.dtype.kind == "U":
            return labels
        return np.array([str(label) for label in labels.tolist()])
    try:
        numbers = labels.astype(np.float64)
    except (ValueError, TypeError):
        strange = next(label for label in labels if label_kind([label]) == "text")
        raise DataError(
            f"{source}: the label {str(strange)!r} is not a number, but the labels "
            "before it, or the classes that are expected, are."
        ) from None
    if kind == "int" and (numbers == np.rint(numbers)).all():
        return numbers.astype(np.int64)
    return numbers
