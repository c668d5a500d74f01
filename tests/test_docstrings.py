"""Docstrings of what is public, read side by side."""

import inspect
import re
from importlib import import_module
from pkgutil import resolve_name

import pytest
from test_docs import MODULES

import locallin

# Names that mean something else, or offer other choices, from one class to the next.
OWN_MEANING = {
    "anchors",  # where they stay, and where they start
    "average",
    "bandwidth",
    "estimator",  # whose mean is taken, and what learns from a teacher
    "beta",  # fixed, and the first of those that are learned
    "init",
    "max_iter",  # sweeps of Atlas
    "metric",  # given, and learned
    "mu",
    "multi_class",
    "n_neighbors",  # of Atlas: rows
    "solver",
    "tol",
}


def parameters(kind):
    """Name and first sentence of each parameter in the docstring of a class."""
    text = inspect.getdoc(kind).split("Parameters\n----------\n")[1].split("\n\n")[0]
    for entry in re.split(r"\n(?=\S)", text):
        head, description = entry.split("\n", 1)
        sentence = re.split(r"(?<=[.:;])\s", description.strip())[0]
        for name in head.split(" : ")[0].split(", "):
            yield name, " ".join(sentence.split())


def test_parameters_of_one_name_begin_with_the_same_sentence():
    found = {}
    for name in set(locallin.__all__) - {"__version__", "FeatureScaleWarning"}:
        for parameter, sentence in parameters(getattr(locallin, name)):
            found.setdefault(parameter, set()).add(sentence)
    assert len(found) > 40
    assert {name for name, texts in found.items() if len(texts) > 1} == OWN_MEANING


@pytest.mark.parametrize("module", MODULES)
def test_public_classes_and_functions_say_what_to_see_also(module):
    home = import_module(f"locallin{module}")
    for name in home.__all__:
        found = getattr(home, name)
        if not callable(found):
            continue
        section = re.search(r"^ *See Also\n *-+\n((?: *\S.*\n)+)", found.__doc__, re.M)
        assert section, name
        others = re.findall(r"^ *([\w.]+) : .+\.$", section[1], re.M)
        assert 2 <= len(others) <= 4, name
        assert name not in others
        for other in others:
            assert other in (*home.__all__, *locallin.__all__) or resolve_name(other)
