"""What y is: classes, or numbers."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array

from locallin.encoding._columns import codes_of

# Integers with more distinct values are taken as numbers.
_MOST_CLASSES = 50
# Classes that are told apart one after the other, and rows that are likely to show
# where there are more.
_FEW, _HEAD = 4, 100


class Told(NamedTuple):
    """What y tells of rows: numbers, or the places of their classes among all."""

    values: np.ndarray
    is_number: bool


def read_target(y: np.ndarray, target_type: str) -> Told:
    """Numbers or classes, by what a parameter says or by what y holds."""
    if target_type == "numbers" or (target_type == "auto" and _has_decimals(y)):
        return Told(y, True)
    codes = class_codes(y)
    many = codes.max(initial=0) >= _MOST_CLASSES
    if target_type == "auto" and y.dtype.kind in "iuf" and many:
        return Told(y, True)
    return Told(codes, False)


def _has_decimals(y: np.ndarray) -> bool:
    if y.dtype.kind in "biuU" or (y.dtype.kind == "O" and isinstance(y[0], str)):
        return False
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass", "continuous"):
        raise ValueError(
            f"Unknown label type: {kind}: y must hold one class or one number of each "
            "row."
        )
    return kind == "continuous"


def standardised(told: Told) -> np.ndarray:
    """Numbers, or whether rows are of each class, in deviations: (n, n_targets).

    Of two classes the second is enough.
    """
    if told.is_number:
        values = told.values.astype(float).reshape(len(told.values), -1)
    else:
        n_classes = told.values.max(initial=0) + 1
        shown = np.arange(n_classes == 2, n_classes)
        values = (told.values[:, None] == shown).astype(float)
    with np.errstate(over="ignore"):  # whoever learns from such values tells
        deviation = values.std(axis=0)
    values = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return np.ascontiguousarray(values)


def class_codes(y: np.ndarray) -> np.ndarray:
    """The place of each value among the distinct ones, in ascending order."""
    kind = y.dtype.kind
    if kind in "OU":
        codes, found = _codes_of_few(y) or codes_of(y.tolist())
        if all(isinstance(value, str) for value in found):
            places = np.empty(len(found), np.intp)
            places[sorted(range(len(found)), key=found.__getitem__)] = np.arange(
                len(found)
            )
            return places[codes]
    if kind in "iu" and len(y) and int(y.max()) - int(y.min()) <= len(y):
        distance = y.astype(np.int64) - y.min().astype(np.int64)
        counts = np.bincount(distance)
        return (np.cumsum(counts > 0) - 1)[distance]
    return np.unique(y, return_inverse=True)[1]


def _codes_of_few(y: np.ndarray) -> tuple[np.ndarray, list] | None:
    """What ``codes_of`` finds, where it is a few strings.

    Comparing all of them with one takes a fifth of the time of looking each up.
    """
    head = y[:_HEAD].tolist()
    if not all(isinstance(value, str) for value in head) or len(set(head)) > _FEW:
        return None
    codes, rest = np.zeros(len(y), np.intp), np.arange(len(y))
    found: list[str] = []
    while len(y):
        if len(found) == _FEW or not isinstance(y[0], str):
            return None
        found.append(str(y[0]))
        is_other = y != y[0]
        y, rest = y[is_other], rest[is_other]
        codes[rest] = len(found)
    return codes, found


def tree_target(told: Told) -> Told:
    """The target as a tree takes it: its numbers are finite."""
    if not told.is_number:
        return told
    return Told(check_array(told.values, ensure_2d=False, dtype=float), True)
