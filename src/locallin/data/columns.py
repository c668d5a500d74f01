"""Which columns are features, which one is the label, and what labels are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from locallin.data.source import DataError, Options

# Names that are taken for the label where none is given.
LABEL_NAMES = ("label", "class", "target", "y")


@dataclass(frozen=True)
class Columns:
    """Positions of the features, of the label and of the weight, and their names.

    Files whose labels are no column have no position of it.
    """

    features: list[int]
    label: int | None
    names: list[str] | None
    label_name: str | None
    weight: int | None = None

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
    if header is not None:
        _check_header(source, header)
    weight = None
    if options.weight is not None:
        weight = _position(source, header, width, options.weight, "weight")
    known = options.features
    named = header is not None and known is not None and not isinstance(known, int)
    if named:
        missing = [name for name in known if name not in header]
        if missing:
            raise DataError(
                f"{source} has no column {missing[0]!r}"
                + (f" (nor {len(missing) - 1} others)" if len(missing) > 1 else "")
                + f"; its columns are {_listed(header)}."
            )
        features = [header.index(name) for name in known]
        if weight in features:
            raise DataError(
                f"{source}: the weight {header[weight]!r} is one of the features."
            )
        label = _optional_label(header, width, options)
        return Columns(
            features,
            None if label in features else label,
            list(known),
            None if label is None else header[label],
            weight,
        )
    # Where the label is if nobody says so.
    last = width - 2 if weight == width - 1 else width - 1
    if known is None:
        label = _label(source, header, width, options.label, last)
    else:
        count = options.n_features
        label = None
        others = width - (weight is not None)
        if others == count + 1 and options.label is not None:
            label = _expected_label(source, header, width, options, last)
        elif others != count:
            raise DataError(
                f"{source} has {others} columns where {count} features"
                f"{'' if options.label is None else ', and at most a label,'} are "
                "expected: is it the right file, with the right delimiter?"
            )
    if label is not None and label == weight:
        raise DataError(
            f"{source}: column {label + 1} cannot be both the label and the weight: "
            "say which column is the label."
        )
    features = [column for column in range(width) if column not in (label, weight)]
    if not features:
        raise DataError(
            f"{source} has one column only, which is the label: is the delimiter right?"
            if weight is None
            else f"{source} has no columns beside the label and the weight."
        )
    names = None if header is None else [header[column] for column in features]
    label_name = None if header is None or label is None else header[label]
    return Columns(features, label, names, label_name, weight)


def _check_header(source, header) -> None:
    for column, name in enumerate(header):
        if not name:
            raise DataError(
                f"{source}: column {column + 1} has no name in the header. If it is a "
                "row number, leave it out (pandas: index=False); otherwise name it."
            )
    twice = [name for name, group in groupby(sorted(header)) if len(list(group)) > 1]
    if twice:
        raise DataError(f"{source}: two columns are named {twice[0]!r}: rename one.")


def _label(source, header, width, label, last: int) -> int | None:
    if label is None:
        return None
    if label == "auto":
        label = _optional_label(header, width, Options())
        return last if label is None else label
    return _position(source, header, width, label, "label")


def _position(source, header, width, column: str | int, what: str) -> int:
    """Where a column is that was named or counted."""
    if isinstance(column, str):
        if header is None:
            raise DataError(
                f"{source} has no header, so no {what} column {column!r}: give its "
                "position."
            )
        if column not in header:
            raise DataError(
                f"{source} has no {what} column {column!r}; its columns are "
                f"{_listed(header)}."
            )
        return header.index(column)
    if not -width <= column < width:
        raise DataError(
            f"{source} has {width} columns, so none at the {what}'s position "
            f"{column + 1 if column >= 0 else column}."
        )
    return column % width


def _optional_label(header, width, options) -> int | None:
    """Where the label is, if it is there."""
    label = options.label
    if isinstance(label, int):
        return label % width if -width <= label < width else None
    if header is None or label is None:
        return None
    if label != "auto":
        return header.index(label) if label in header else None
    lower = [name.lower() for name in header]
    return next((lower.index(name) for name in LABEL_NAMES if name in lower), None)


def _expected_label(source, header, width, options, last: int) -> int:
    """Where the label is in a file with one column more than there are features."""
    label = _optional_label(header, width, options)
    if label is not None:
        return label
    if options.label == "auto":
        return last
    raise DataError(
        f"{source} has a column beside the {options.n_features} features: give the "
        f"position of the label (it was {options.label!r})."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 8 else shown


def label_kind(labels) -> str:
    """What labels are: "int", "float" or "text"."""
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
