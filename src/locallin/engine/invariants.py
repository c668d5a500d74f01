"""What fitted attributes must satisfy, checked wherever a model comes from outside.

Kernels check no bounds: an array of another shape than they assume is memory that is
read or written where there is none. Each class states in ``_invariants`` what its
attributes must be like; models from files, pickles, checkpoints and clusters are held
against it before they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from locallin.engine.sklearn_api import validate_parameters

# A number of entries: given, that of a named dimension, or what a function makes of it.
Dimension = int | str | tuple[str, Callable[[int], int]]


class InvalidModelError(ValueError):
    """A fitted attribute is missing, or not as the library makes it."""


class Bindings:
    """Sizes of named dimensions, as the attributes of one object are gone through."""

    def __init__(self, owner: object):
        self._owner = type(owner).__name__
        self._sizes: dict[str, int] = {}

    def refuse(self, name: str, problem: str) -> NoReturn:
        """Say which attribute of which class is wrong."""
        raise InvalidModelError(
            f"{name} of {self._owner} {problem}: the model is damaged, or was not "
            "made by this version of locallin. Fit it again, or fetch it anew."
        )

    def size(self, dimension: Dimension) -> int | None:
        """Size of a dimension, None where nothing has told it yet."""
        if isinstance(dimension, str):
            return self._sizes.get(dimension)
        if isinstance(dimension, tuple):
            size = self._sizes.get(dimension[0])
            return None if size is None else dimension[1](size)
        return dimension

    def bind(self, name: str, dimension: Dimension, size: int) -> None:
        """Hold a size against the dimension; the first one to come tells it."""
        known = self.size(dimension)
        if known is None and isinstance(dimension, str):
            self._sizes[dimension] = size
        elif known != size:
            what = dimension if isinstance(dimension, str) else "entries"
            self.refuse(name, f"has {size} where the number of {what} is {known}")

    def bind_shape(self, name: str, dimensions: tuple, shape: tuple) -> None:
        """Hold the shape of an array against its dimensions."""
        if len(shape) != len(dimensions):
            self.refuse(name, f"has the shape {shape}, not {len(dimensions)} axes")
        for dimension, size in zip(dimensions, shape, strict=True):
            self.bind(name, dimension, size)


class Rule:
    """A requirement on one attribute; one that is optional need not be there."""

    optional = False
    takes_none = False

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse a value that does not meet it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Array(Rule):
    """An array in C order.

    Parameters
    ----------
    shape : tuple
        Sizes of the axes, or names of dimensions.
    kinds : str
        Kinds of numbers. Floats are of 32 or 64 bits, and finite; their squares are,
        too, where ``squares`` is true.
    least, below : number or dimension
        Bounds of the entries.
    ascending : bool
        Whether they must not fall.
    """

    shape: tuple
    kinds: str = "f"
    least: float | None = None
    below: Dimension | None = None
    ascending: bool = False
    squares: bool = True
    optional: bool = False

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse an array that is not like this."""
        _check_kind(name, value, self.kinds, bindings)
        bindings.bind_shape(name, self.shape, value.shape)
        if not value.flags.c_contiguous:
            bindings.refuse(name, "is not in C order")
        if value.dtype.kind == "f":
            _check_finite(name, value, self.squares, bindings)
        if not value.size:
            return
        below = None if self.below is None else bindings.size(self.below)
        if self.least is not None and value.min() < self.least:
            bindings.refuse(name, f"has entries below {self.least}")
        if below is not None and value.max() >= below:
            bindings.refuse(name, f"has entries that are not below {below}")
        if self.ascending and (value[1:] < value[:-1]).any():
            bindings.refuse(name, "does not ascend")


@dataclass(frozen=True)
class Starts(Rule):
    """Bounds of parts of an array: where each begins, and where the last ends."""

    parts: str
    entries: str

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse bounds that leave the array, or fall."""
        shape = ((self.parts, lambda size: size + 1),)
        Array(shape, "i", ascending=True).check(name, value, bindings)
        if value[0] != 0 or value[-1] != bindings.size(self.entries):
            bindings.refuse(name, f"does not reach to the last of {self.entries}")


def _check_kind(name: str, value: Any, kinds: str, bindings: Bindings) -> None:
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        bindings.refuse(name, f"is {type(value).__name__}, not an array")
    dtype = value.dtype
    usual = dtype.kind != "f" or dtype.itemsize in (4, 8)
    if dtype.kind not in kinds or not (dtype.isnative and usual):
        bindings.refuse(name, f"holds {dtype}")


def _check_finite(name: str, value: np.ndarray, squares: bool, bindings) -> None:
    if not value.size:
        return
    largest = max(value.max(), -value.min())
    if not np.isfinite(largest):
        bindings.refuse(name, "has entries that are not finite")
    if squares and largest > np.sqrt(np.finfo(value.dtype).max):
        bindings.refuse(name, "has entries whose squares leave the range of numbers")


@dataclass(frozen=True)
class Number(Rule):
    """A finite number above or from ``least``, at most ``most``.

    One that is an Integral can tell the size of the dimension ``tells``.
    """

    kind: Any = Real
    least: float = 0.0
    most: Dimension | float | None = None
    above: bool = False
    tells: str | None = None
    optional: bool = False

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse a value that is no such number."""
        if isinstance(value, bool) or not isinstance(value, self.kind):
            bindings.refuse(name, f"is {value!r:.50}, not a number of its kind")
        fine = value > self.least if self.above else value >= self.least
        if not (fine and abs(value) <= np.finfo(float).max):
            bindings.refuse(name, f"is {value!r:.50}, out of its range")
        most = self.most
        if most is not None and not isinstance(most, float):
            most = bindings.size(most)
        if most is not None and value > most:
            bindings.refuse(name, f"is {value}, more than {most}")
        if self.tells is not None:
            bindings.bind(name, self.tells, int(value))


@dataclass(frozen=True)
class Bandwidth(Rule):
    """A number, or one of each anchor."""

    positive: bool

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse what is neither."""
        if not isinstance(value, np.ndarray):
            return Number(above=self.positive).check(name, value, bindings)
        # One that is stored as an array may stand for all anchors.
        shape = () if value.ndim == 0 else (1,) if value.shape == (1,) else ("anchors",)
        Array(shape, squares=False).check(name, value, bindings)
        if value.min() < 0 or (self.positive and not value.min() > 0):
            bindings.refuse(name, "has entries that are not positive")


@dataclass(frozen=True)
class Text(Rule):
    """A string."""

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse anything else."""
        if not isinstance(value, str):
            bindings.refuse(name, f"is {type(value).__name__}, not a string")


@dataclass(frozen=True)
class Metric(Rule):
    """A scale of each feature, a linear map of them, or None."""

    takes_none = True

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse what is neither."""
        if value is None:
            return
        linear = isinstance(value, np.ndarray) and value.ndim == 2
        shape = ("components", "features") if linear else ("features",)
        Array(shape).check(name, value, bindings)


@dataclass(frozen=True)
class Classes(Rule):
    """Labels of at least two classes, ascending and each once."""

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse other labels."""
        _check_kind(name, value, "biufOUST", bindings)
        bindings.bind_shape(name, ("classes",), value.shape)
        if len(value) < 2:
            bindings.refuse(name, "has fewer than two classes")
        if value.dtype.kind == "O" and not all(
            isinstance(label, str | bytes | Real) for label in value
        ):
            bindings.refuse(name, "holds objects that are no labels")
        try:
            ascending = bool((value[:-1] < value[1:]).all())
        except TypeError:
            ascending = False
        if not ascending:
            bindings.refuse(name, "does not hold each label once, in ascending order")


@dataclass(frozen=True)
class Names(Rule):
    """Names of the features."""

    optional: bool = True

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse what is no array of so many strings."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "OUT":
            bindings.refuse(name, "is no array of strings")
        bindings.bind_shape(name, ("features",), value.shape)
        if not all(isinstance(one, str) for one in value):
            bindings.refuse(name, "holds names that are no strings")


@dataclass(frozen=True)
class Strings(Rule):
    """An array of strings, of those in ``among`` where that is not empty."""

    entries: str
    among: tuple[str, ...] = ()

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse what is no array of so many strings."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "OUT":
            bindings.refuse(name, "is no array of strings")
        bindings.bind_shape(name, (self.entries,), value.shape)
        if not all(isinstance(one, str) for one in value):
            bindings.refuse(name, "holds entries that are no strings")
        if self.among and not set(value) <= set(self.among):
            bindings.refuse(name, f"holds other words than {self.among}")


@dataclass(frozen=True)
class Part(Rule):
    """An object of a kind, whose own arrays must fit in with the others."""

    kind: type
    shapes: Mapping[str, tuple]

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse other objects, and arrays that do not fit."""
        if not isinstance(value, self.kind):
            bindings.refuse(
                name, f"is {type(value).__name__}, not {self.kind.__name__}"
            )
        check_fitted(value)
        for attribute, shape in self.shapes.items():
            where = f"{name}.{attribute}"
            array = getattr(value, attribute, None)
            if not isinstance(array, np.ndarray):
                bindings.refuse(where, "is missing")
            bindings.bind_shape(where, shape, array.shape)


@dataclass(frozen=True)
class Transformer(Rule):
    """A transformer where a parameter asks for one, else None."""

    wanted: bool
    takes_none = True

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse what cannot transform, and what is there without being asked for."""
        if not (hasattr(value, "transform") if self.wanted else value is None):
            bindings.refuse(name, f"is {type(value).__name__}")


@dataclass(frozen=True)
class Arrays(Rule):
    """Arrays by name, of which some are there; those of a group all or none."""

    rules: Mapping[str, Array]
    groups: tuple[tuple[str, ...], ...] = ()
    optional: bool = True

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse other names, and arrays that are not like the rules."""
        if not isinstance(value, Mapping):
            bindings.refuse(name, f"is {type(value).__name__}, not arrays by name")
        for key, array in value.items():
            if key not in self.rules:
                bindings.refuse(name, f"has {key!r:.50}, which is not known")
            self.rules[key].check(f"{name}[{key!r}]", array, bindings)
        for group in self.groups:
            missing = [key for key in group if key not in value]
            if 0 < len(missing) < len(group):
                bindings.refuse(name, f"has no {missing[0]!r}")


class CheckedState:
    """Refuses, when it is unpickled or loaded, what kernels must not be given.

    A class has an attribute ``_fitted_mark``, without which an object is not fitted,
    and a method ``_invariants``.
    """

    _fitted_mark: str

    def _invariants(self) -> dict[str, Rule]:
        """What the fitted attributes must satisfy, in the order of the checks."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return vars(self).get(self._fitted_mark) is not None

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        check_fitted(self)

    def __copy__(self):
        # What is in memory already need not be checked again.
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        return new


def check_fitted(estimator: Any) -> None:
    """Hold an estimator against its invariants; one that is not fitted passes.

    Parameters
    ----------
    estimator : CheckedState
        The estimator.

    Raises
    ------
    InvalidModelError
        Where a parameter or a fitted attribute is not as it should be.
    """
    bindings = Bindings(estimator)
    try:
        estimator.get_params(deep=False)
    except AttributeError as error:
        bindings.refuse(f"The parameter {error.name}", "is missing")
    if not estimator.__sklearn_is_fitted__():
        return
    try:
        validate_parameters(estimator)
    except (ValueError, TypeError) as error:
        raise InvalidModelError(str(error)) from error
    found = vars(estimator)
    for name, rule in estimator._invariants().items():
        value = found.get(name)
        if value is not None or (rule.takes_none and name in found):
            rule.check(name, value, bindings)
        elif not rule.optional:
            bindings.refuse(name, "is missing")


def count_of(estimator: object, name: str) -> int:
    """Number of entries of a fitted array; 0 where it is none."""
    value = vars(estimator).get(name)
    return value.size if isinstance(value, np.ndarray) else 0


def axes_of(estimator: object, name: str) -> int:
    """Number of axes of a fitted array; 0 where it is none."""
    value = vars(estimator).get(name)
    return value.ndim if isinstance(value, np.ndarray) else 0


def number_of_scores(estimator: object) -> int:
    """Scores of a row: one for two classes, else one of each."""
    n_classes = count_of(estimator, "classes_")
    return 1 if n_classes == 2 else n_classes


# Attributes that every estimator has.
INPUT = {
    "n_features_in_": Number(Integral, 1, tells="features"),
    "feature_names_in_": Names(),
}
CLASSIFIER: dict[str, Rule] = {
    **INPUT,
    "classes_": Classes(),
    "n_iter_": Number(Integral, optional=True),
}
# Its square is finite, and more than nothing.
INTERCEPT_SCALING = Number(least=1e-150, most=1e150)
