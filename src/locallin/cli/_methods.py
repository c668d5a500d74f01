"""The methods by name, and their parameters as options of the command line."""

import argparse
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import locallin
from locallin.engine.sklearn_api import parameter_choices

METHODS = {
    "local": "LocallyLinearClassifier",
    "du": "DULLSVMClassifier",
    "ll": "LLSVMClassifier",
    "ll-cv": "LLSVMClassifierCV",
    "sapl": "SAPLClassifier",
    "ml3": "ML3Classifier",
    "atlas": "AtlasClassifier",
}
# Those that learn numbers, too.
REGRESSORS = {
    "local": "LocallyLinearRegressor",
    "du": "DULLSVMRegressor",
    "ll": "LLSVMRegressor",
    "sapl": "SAPLRegressor",
    "atlas": "AtlasRegressor",
}
CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")
# The method that encodes tables, and chooses its settings.
TABLE_METHOD = "local"
# Those that search settings themselves.
SEARCHING = (TABLE_METHOD, "ll-cv")
_BLOCKWISE_METHOD = "du"

# Objects, and what makes no sense in a process that fits once.
_NOT_OPTIONS = {"warm_start", "feature_map", "atlas", "output", "encoder"}
# The same command gives the same model.
_DEFAULTS = {"random_state": 0}
# Options of the atlas inside a machine on charts begin with this.
_ATLAS = "atlas__"


def default_method(command: str | None, stream: bool) -> str:
    """The method of a command that names none."""
    return _BLOCKWISE_METHOD if stream or command == "tune" else TABLE_METHOD


@dataclass(frozen=True)
class Parameter:
    """A constructor's parameter: default, allowed words, and text of its docstring.

    ``choices`` is empty where more than words can be typed.
    """

    name: str
    default: Any
    choices: tuple[str, ...]
    type: str
    text: str

    def joined(self, other: "Parameter") -> "Parameter":
        """The parameter of that name of two methods."""
        choices = dict.fromkeys((*self.choices, *other.choices))
        both = self.choices and other.choices
        return replace(self, choices=tuple(choices) if both else ())


@lru_cache
def parameters(class_name: str) -> tuple[Parameter, ...]:
    """The parameters of an estimator."""
    kind = getattr(locallin, class_name)
    choices = parameter_choices(kind)
    section = (inspect.getdoc(kind) or "").split("Parameters\n----------\n", 1)[1]
    section = section.split("\n\n", 1)[0]
    described = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, _, text = entry.partition("\n")
        name, _, type_ = head.partition(" : ")
        described[name] = _without_markup(type_), _without_markup(text)
    return tuple(
        Parameter(
            name,
            _DEFAULTS.get(name, parameter.default),
            tuple(choices.get(name, ())),
            *described[name],
        )
        for name, parameter in inspect.signature(kind).parameters.items()
        if name not in _NOT_OPTIONS
    )


def _without_markup(text: str) -> str:
    """Text of a docstring without its markup, on one line."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")
    return re.sub(r"\s+", " ", text).strip()


def class_of(method: str, task: str) -> str:
    """The class of a method."""
    return (REGRESSORS if task == REGRESSION else METHODS)[method]


def method_parameters(
    method: str, task: str = CLASSIFICATION
) -> Iterator[tuple[str, Parameter]]:
    """All options of a method: the argument's name, and the parameter."""
    for parameter in parameters(class_of(method, task)):
        yield parameter.name, parameter
    if method == "atlas":
        for parameter in parameters("Atlas"):
            if parameter.name not in ("n_jobs", "random_state", "verbose"):
                yield _ATLAS + parameter.name, parameter


def _all_parameters(method: str) -> Iterator[tuple[str, Parameter]]:
    """Options of a method, for classes and for numbers."""
    yield from method_parameters(method)
    if method in REGRESSORS:
        yield from method_parameters(method, REGRESSION)


def methods_with(flag: str) -> list[str]:
    """The methods that have an option."""
    return [
        method
        for method in METHODS
        if any(_flag(name) == flag for name, _ in _all_parameters(method))
    ]


def _flag(name: str) -> str:
    return "--" + name.replace("__", "-").replace("_", "-")


def add_parameters(parser: argparse.ArgumentParser, methods: Sequence[str]) -> None:
    """Add the parameters of methods to a parser."""
    kinds = ", ".join(f"{METHODS[method]} ({method})" for method in methods)
    group = parser.add_argument_group(f"parameters of {kinds}")
    found: dict[str, Parameter] = {}
    for method in methods:
        for name, parameter in _all_parameters(method):
            known = found.get(name)
            found[name] = parameter if known is None else known.joined(parameter)
    for name, parameter in found.items():
        help = f"{parameter.text} (default: {parameter.default})".replace("%", "%%")
        settings: dict[str, Any] = {
            "dest": f"parameter.{name}",
            "default": argparse.SUPPRESS,
        }
        if isinstance(parameter.default, bool):
            settings["action"] = argparse.BooleanOptionalAction
        elif parameter.choices:
            settings["choices"] = parameter.choices
        elif parameter.name == "class_weight":
            settings |= {"type": class_weight, "metavar": "balanced|A:2,B:1"}
        else:
            settings |= {"type": value, "metavar": "VALUE"}
        group.add_argument(_flag(name), help=help, **settings)


def chosen_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters that were given as options."""
    given = {
        name.removeprefix("parameter."): value
        for name, value in vars(args).items()
        if name.startswith("parameter.")
    }
    return _DEFAULTS | given


def make_estimator(method: str, settings: dict[str, Any], task: str = CLASSIFICATION):
    """An estimator of a method, not fitted."""
    own = {n: v for n, v in settings.items() if not n.startswith(_ATLAS)}
    inner = {
        n.removeprefix(_ATLAS): v for n, v in settings.items() if n.startswith(_ATLAS)
    }
    if inner:
        own["atlas"] = locallin.Atlas(**inner)
    return getattr(locallin, class_of(method, task))(**own)


def method_of(estimator) -> str:
    """The name of an estimator's method, or that of its class."""
    both = (*METHODS.items(), *REGRESSORS.items())
    names = {class_name: method for method, class_name in both}
    return names.get(type(estimator).__name__, type(estimator).__name__)


def value(text: str) -> Any:
    """The value that was typed: none, true, a number, numbers with commas, a word."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    if "," in text:
        return [value(part.strip()) for part in text.split(",")]
    return text


def class_weight(text: str) -> str | dict[str, float] | None:
    """Weights of classes: "balanced", "none", or pairs class:weight."""
    if ":" not in text:
        return None if text.lower() == "none" else text
    pairs = (pair.rpartition(":") for pair in text.split(","))
    return {name.strip(): float(weight) for name, _, weight in pairs}
