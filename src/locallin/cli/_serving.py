"""Rows of files as a model takes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from locallin import TableEncoder
from locallin.cli._files import Model
from locallin.cli._parser import UsageError
from locallin.cli._tables import signs_of
from locallin.cli._training import reading_options
from locallin.data.blocks import count, is_table, joined
from locallin.data.frames import (
    BOOLEAN,
    DATE,
    NUMBER,
    TEXT,
    Signs,
    as_frame,
    as_matrix,
    find_kinds,
    typed,
)
from locallin.data.predictions import rows_of_a_block
from locallin.data.reading import blocks
from locallin.data.source import Options
from locallin.engine.sklearn_api import safe_indexing
from locallin.methods.tables import TableEstimator

_LARGEST_BLOCK = 16384
# What an encoder calls its columns.
_KINDS = {"number": NUMBER, "boolean": BOOLEAN, "date": DATE}


class Rows(NamedTuple):
    """Rows, their labels or None, and columns that stay beside predictions."""

    X: Any
    y: np.ndarray | None
    kept: dict[str, np.ndarray]


@dataclass(frozen=True)
class _Layout:
    """How a model takes tables: names and kinds of the columns, frame or matrix.

    Kinds that the model does not know are what the file tells.
    """

    names: list[str]
    kinds: Mapping[str, str] | None = None
    matrix: bool = False

    def frame(self, name: str, table: Any, signs: Signs, start: int = 0) -> Any:
        """The rows of a table."""
        kinds = self.kinds
        if kinds is None:
            kinds = find_kinds(table, {}, signs, dates=False)
        table = typed(name, table, kinds, signs, start)
        if self.matrix:
            return as_matrix(table)
        return as_frame(table, nullable=self.kinds is not None)


def _layout(model: Model, keep: bool) -> _Layout | None:
    """The layout of a table that the model takes, None where it takes numbers."""
    if kinds := model.about.get("columns"):
        return _Layout(list(kinds), kinds)
    if names := model.about.get("names"):
        numbers = dict.fromkeys(names, NUMBER)
        return _Layout(names, numbers, matrix=True) if keep else None
    found = getattr(model.estimator, "feature_names_in_", None)
    if found is None:
        return None
    names = [str(name) for name in found]
    encoder = _encoder_of(model.estimator)
    if not isinstance(encoder, TableEncoder):
        return _Layout(names)
    kinds = [_KINDS.get(kind, TEXT) for kind in encoder.kinds_]
    return _Layout(names, dict(zip(names, kinds, strict=True)))


def _encoder_of(estimator: Any) -> Any:
    """What takes the rows first."""
    while steps := getattr(estimator, "steps", None):
        estimator = steps[0][1]
    if isinstance(estimator, TableEstimator):
        return estimator.encoder_
    return estimator


def model_blocks(
    model: Model, args, *, labels: bool = False, largest: int | None = None
) -> Iterator[Rows]:
    """Blocks of a command's data as the model takes them."""
    keep = tuple(getattr(args, "keep", ()))
    layout = _layout(model, bool(keep))
    options = replace(reading_options(args, model), with_labels=labels)
    size = rows_of_a_block(model.estimator.n_features_in_, largest or _LARGEST_BLOCK)
    if layout is not None:
        carry = () if model.about.get("id") is None else (model.about["id"],)
        options = replace(
            options, features=layout.names, table=True, keep=keep, carry=carry
        )
        yield from _table_blocks(model, args, layout, options, size)
        return
    for X, y in _blocks(model, args, options, size):
        if sparse.issparse(X) and model.about.get("dense"):
            X = X.toarray()
        yield Rows(X, y, {})


def _blocks(model: Model, args, options: Options, size: int) -> Iterator[tuple]:
    classes = getattr(model.classifier, "classes_", None)
    return blocks(args.data, size, options, classes)


def _table_blocks(
    model: Model, args, layout: _Layout, options: Options, size: int
) -> Iterator[Rows]:
    signs, name = signs_of(args, model.about), str(args.data)
    parts = _blocks(model, args, options, size)
    if layout.kinds is None:
        # Only all rows tell what a column is.
        parts = iter([joined(list(parts))])
    start = 0
    for X, y in parts:
        kept = {}
        if is_table(X):
            n_features = len(layout.names)
            kept = _kept(X.select(range(n_features, X.num_columns)))
            features = X.select(range(n_features))
            X = layout.frame(name, features, signs, start)
        elif options.keep:
            raise UsageError("--keep is for CSV, Parquet and Arrow files")
        else:
            X = layout.frame(name, _by_position(X, layout.names), signs, start)
        whole = Rows(X, y, kept)
        yield from [whole] if layout.kinds else _cut(whole, size)
        start += count((X,))


def _by_position(X: Any, names: list[str]) -> Any:
    """A table of rows of numbers, which are in the order of the model's columns."""
    import pyarrow

    columns = X.toarray().T if sparse.issparse(X) else X.T
    return pyarrow.table(list(map(pyarrow.array, columns)), names=names)


def _kept(table: Any) -> dict[str, np.ndarray]:
    """Columns to copy, as they are; nothing where a value is missing."""
    return {
        name: np.array(["" if v is None else v for v in column.to_pylist()])
        if column.null_count
        else np.array(column.to_pylist())
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _cut(rows: Rows, size: int) -> Iterator[Rows]:
    """The same rows in blocks."""
    for start in range(0, count((rows.X,)), size):
        part = slice(start, start + size)
        yield Rows(
            safe_indexing(rows.X, part),
            None if rows.y is None else rows.y[part],
            {name: column[part] for name, column in rows.kept.items()},
        )
