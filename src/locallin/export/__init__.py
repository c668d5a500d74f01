"""Take fitted models elsewhere: C, ONNX, smaller copies, safe files and cards.

Nothing here is imported with the package. ``to_c`` and ``compress`` need no more than
the library itself; ``to_onnx`` needs the extra [onnx], ``save`` and ``load`` need [io]
(``pip install '.[onnx,io]'`` in the clone), both when they are called.
"""

from locallin.export.c import to_c
from locallin.export.card import model_card
from locallin.export.files import load, save, trusted_types
from locallin.export.onnx import to_onnx
from locallin.export.size import CompressedClassifier, compress

__all__ = [
    "CompressedClassifier",
    "compress",
    "load",
    "model_card",
    "save",
    "to_c",
    "to_onnx",
    "trusted_types",
]
