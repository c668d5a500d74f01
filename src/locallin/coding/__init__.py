"""How much each local model counts at a point: local coordinates.

A coding gives each row weights on a few of its nearest anchors. The weights are
finite for any finite input, and sum to one; they are shares, not negative, but for
those of LLC and LCC. OCC has planes for anchors, and coordinates for weights. Codings
are transformers: alone in a pipeline they turn data into a sparse matrix of weights,
inside a classifier they decide which local models speak for a row.
"""

from locallin.coding.base import Coding
from locallin.coding.codings import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.coding.planes import OCCCoding
from locallin.coding.reconstruction import LAECoding, LCCCoding, LLCCoding
from locallin.coding.tangents import LocalTangents

__all__ = [
    "AdaptiveCoding",
    "Coding",
    "InverseDistanceCoding",
    "LAECoding",
    "LCCCoding",
    "LLCCoding",
    "LocalTangents",
    "OCCCoding",
    "SoftAssignmentCoding",
]

# Files and pages know codings by where users find them.
for _coding in __all__:
    globals()[_coding].__module__ = __name__
