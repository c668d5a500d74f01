"""Cells of CSV text, by pyarrow."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

_BLOCK = 1 << 19
Parsed = tuple[np.ndarray, np.ndarray | None]


def arrow_parser(
    delimiter: str, width: int, numbers: list[int], label: int | None
) -> Callable[[memoryview, bool], Parsed | None]:
    """A function from lines, and whether they hold quotes, to numbers and labels.

    It returns None where pyarrow is missing, or finds anything but finite numbers and
    labels in rows of ``width`` cells.
    """
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return lambda text, quoted: None

    names = [str(column) for column in range(width)]
    types = {names[column]: pyarrow.float64() for column in numbers}
    if label is not None:
        types[names[label]] = pyarrow.string()
    # Without quotes it is faster.
    layouts = [
        csv.ParseOptions(delimiter=delimiter, quote_char=quote)
        for quote in (False, '"')
    ]
    conversion = csv.ConvertOptions(
        column_types=types, include_columns=list(types), null_values=[]
    )

    def parse(text: memoryview, quoted: bool) -> Parsed | None:
        # Blocks that fit into a cache. A row that is longer than one is refused.
        short = b"\n" in bytes(text[: _BLOCK // 8])
        read_options = csv.ReadOptions(
            column_names=names, block_size=_BLOCK if short else len(text)
        )
        source = pyarrow.BufferReader(text)
        try:
            # In the main thread pyarrow puts handlers of its own in the place of ours
            # while it reads, and now and then a Ctrl-C or SIGTERM is lost to them.
            with ThreadPoolExecutor(1) as reader:
                table = reader.submit(
                    csv.read_csv, source, read_options, layouts[quoted], conversion
                ).result()
        except pyarrow.ArrowInvalid:
            return None
        return _finite(table, len(numbers), label is not None)

    return parse


def _finite(table: Any, n_numbers: int, has_labels: bool) -> Parsed | None:
    """Numbers and labels of a table; None where a number or a label is none."""
    rows = np.empty((table.num_rows, n_numbers))
    for place in range(n_numbers):
        rows[:, place] = table.column(place).to_numpy()
    if not np.isfinite(rows).all():
        return None
    if not has_labels:
        return rows, None
    labels = [label.strip() for label in table.column(n_numbers).to_pylist()]
    return None if "" in labels else (rows, np.array(labels))
