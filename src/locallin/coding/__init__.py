"""How much each local model counts at a point: local coordinates.

A coding gives each row weights on a few of its nearest anchors. The weights are
non-negative, finite for any finite input, and sum to one. Codings are
transformers: alone in a pipeline they turn data into a sparse matrix of weights,
inside a classifier they decide which local models speak for a row.
"""

from locallin.coding.base import Coding
from locallin.coding.codings import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)

__all__ = [
    "AdaptiveCoding",
    "Coding",
    "InverseDistanceCoding",
    "SoftAssignmentCoding",
]

# Files and pages know codings by where users find them.
for _coding in (AdaptiveCoding, Coding, InverseDistanceCoding, SoftAssignmentCoding):
    _coding.__module__ = __name__
