"""Rows of a table that are encoded when they are asked for."""

import numpy as np

from locallin.encoding._fitting import Raw
from locallin.encoding._rows import RowWriter
from locallin.engine.lazy_rows import LazyRows
from locallin.engine.matrix import read_only
from locallin.engine.parallel import row_blocks

_BLOCK = 4096


class EncodedRows(LazyRows):
    """Rows of a table as what they are made of: one number or code of a column.

    Parameters
    ----------
    writer : RowWriter
        What encodes rows.
    raws : list of Raw
        The columns, whose values are replaced by the same ones in less memory.
    means : dict of int to ndarray
        Means of the target that are given, by column.
    n_rows : int
        Number of rows.
    dtype : dtype
        Type of the components.
    gives_sparse : bool
        Whether encoded rows are CSR rows.
    """

    def __init__(
        self,
        writer: RowWriter,
        raws: list[Raw],
        means: dict[int, np.ndarray],
        n_rows: int,
        dtype,
        gives_sparse: bool,
    ):
        self._writer, self._gives_sparse = writer, gives_sparse
        self.shape, self.dtype = (n_rows, writer.n_out), np.dtype(dtype)
        self.size = n_rows * (writer.n_most if gives_sparse else writer.n_out)
        n_values, n_codes = writer.n_inputs
        for j, raw in enumerate(raws):  # one by one, so that memory falls
            if raw.values is not None:
                raws[j] = raw._replace(values=_narrow(raw.values))
        self._codes = np.empty((n_rows, n_codes), np.int32)
        self._values: np.ndarray = np.empty((n_rows, n_values), np.float32)
        for start, stop in row_blocks(n_rows, _BLOCK):
            values, codes = writer.inputs(raws, means, start, stop)
            self._codes[start:stop] = codes.T
            if _narrow(values).dtype > self._values.dtype:
                before = self._values[:start]
                self._values = np.empty((n_rows, n_values))
                self._values[:start] = before
            self._values[start:stop] = values.T

    def __getitem__(self, chosen):
        values, codes = self._values[chosen].T, self._codes[chosen].T
        return self._writer.of_inputs(
            read_only(np.ascontiguousarray(values, float)),
            read_only(np.ascontiguousarray(codes)),
            self.dtype,
            self._gives_sparse,
        )


def _narrow(values: np.ndarray) -> np.ndarray:
    """The same values in single precision, if they all are."""
    with np.errstate(over="ignore", under="ignore"):
        found = values.astype(np.float32)
    return found if np.array_equal(values, found, equal_nan=True) else values
