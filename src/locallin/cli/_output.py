"""Results, notes and warnings that commands print."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout

import numpy as np


def as_json(result, **settings) -> str:
    """JSON of plain objects and of NumPy's numbers and arrays."""
    return json.dumps(result, default=_as_plain_value, **settings)


def _as_plain_value(value):
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def show(args, result: dict, lines: Iterable[str]) -> None:
    """Print a result as JSON, or as lines of text."""
    print(as_json(result, indent=2) if args.json else "\n".join(lines))


def pairs(result: dict) -> list[str]:
    """Lines of names and values."""
    width = max(map(len, result))
    return [
        f"{name.replace('_', ' '):{width}}  {_text(value)}"
        for name, value in result.items()
        if value is not None
    ]


def _text(value) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple | np.ndarray):
        shown = ", ".join(map(_text, value[:10]))
        return f"{shown}, ... ({len(value)})" if len(value) > 10 else shown
    return str(value)


def note(text: str) -> None:
    """Say something beside the result."""
    print(f"locallin: {text}", file=sys.stderr)


@contextmanager
def fitting(quiet: bool = False) -> Iterator[None]:
    """Keep what a fit prints and its warnings off standard output."""
    with (
        warnings.catch_warnings(record=True) as caught,
        redirect_stdout(sys.stderr),
    ):
        warnings.simplefilter("default")
        try:
            yield
        finally:
            messages = [] if quiet else [str(warning.message) for warning in caught]
            for message in dict.fromkeys(messages):
                note(f"warning: {' '.join(message.split())}")
