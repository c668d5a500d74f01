"""Encoders: what local models see of the data's columns.

Every encoder has ``get_feature_origins``, which tells the input column that each
feature is made from, so that the contributions of a column's parts can be added up.
"""

from locallin.encoding.piecewise import PiecewiseLinearEncoder
from locallin.encoding.table import TableEncoder

__all__ = ["PiecewiseLinearEncoder", "TableEncoder"]
