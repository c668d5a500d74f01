"""Rows from files: LIBSVM text, CSV, Parquet, Arrow and NumPy's formats.

``read`` takes a whole file; ``batches`` goes through files of any size in blocks, and
``as_batches`` through arrays, iterators and callables as well; ``write_predictions``
predicts what they give, and writes it. What is broken raises ``DataError``, which says
where and what to do.
"""

from locallin.data.batching import Batches, as_batches, batches
from locallin.data.predictions import write_predictions
from locallin.data.reading import Data, read
from locallin.data.source import FORMATS, DataError

__all__ = [
    "FORMATS",
    "Batches",
    "Data",
    "DataError",
    "as_batches",
    "batches",
    "read",
    "write_predictions",
]
