"""Rows of LIBSVM (SVMlight) files."""

import io
import re
from collections.abc import Iterator
from itertools import islice

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from locallin.data._columns import Columns
from locallin.data._source import DataError, Options, Source, reading_errors

_PAIR = re.compile(r"\d+:\S+")


class LibsvmTable:
    """A LIBSVM file, read block by block as CSR; features count from one."""

    columns = Columns([], None, None, None)

    def __init__(self, source: Source, options: Options):
        self._name = source.name
        self._stream = source.stream
        self._n_features = options.n_features
        self._with_labels = options.with_labels
        self._zero_based = options.zero_based

    def blocks(self, size: int) -> Iterator[tuple[sparse.csr_matrix, np.ndarray]]:
        """Blocks of rows and of labels."""
        number = 1
        while True:
            with reading_errors(self._name):
                lines = list(islice(self._stream, size))
            if not lines:
                return
            try:
                X, y = load_svmlight_file(
                    io.BytesIO(b"".join(lines)),
                    n_features=self._n_features,
                    zero_based=self._zero_based,
                )
            except (ValueError, OverflowError) as error:
                self._complain(number, lines)
                raise DataError(f"{self._name}: {error}") from error
            if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
                self._complain(number, lines)
            number += len(lines)
            if X.shape[0]:
                yield X, y if self._with_labels else None

    def _complain(self, number: int, lines: list[bytes]) -> None:
        """Name the first line that breaks the format."""
        for line, raw in enumerate(lines, number):
            problem = self._problem(raw.decode("utf-8", errors="replace"))
            if problem:
                raise DataError(f"{self._name}, line {line}: {problem}")

    def _problem(self, line: str) -> str | None:
        tokens = line.split("#")[0].split()
        if not tokens:
            return None
        label, *pairs = tokens
        if pairs and pairs[0].startswith("qid:"):
            pairs = pairs[1:]
        if not _finite(label):
            advice = "begin the line with one number (0 where the class is not known)"
            return f"{label[:40]!r} is not a label: {advice}."
        first, last = 1 - self._zero_based, -1
        for pair in pairs:
            if not _PAIR.fullmatch(pair):
                return f"{pair[:40]!r} is not a pair index:value."
            index, value = pair.split(":", 1)
            if not _finite(value):
                return f"the value of feature {index}, {value[:40]!r}, is not finite."
            if int(index) < first:
                return (
                    "features are counted from 0: say so (zero_based=True; "
                    "--zero-based)."
                )
            if int(index) <= last:
                return f"feature {index} comes after feature {last}: sort them."
            last = int(index)
        if self._n_features is not None and last - first >= self._n_features:
            return (
                f"feature {last} is beyond the {self._n_features} features that are "
                "expected: train with as many features as all files have "
                "(features=...; --n-features)."
            )
        return None


def _finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
