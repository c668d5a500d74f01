"""Rows from files: LIBSVM text, CSV, Parquet and NumPy's formats.

``read`` takes a whole file, ``batches`` goes through one in blocks. A file that is
broken raises ``DataError``, which says where and what to do.
"""

from locallin.data._read import Data, batches, read
from locallin.data._source import FORMATS, DataError

__all__ = ["FORMATS", "Data", "DataError", "batches", "read"]
