"""Other papers' machines, for comparisons.

What the papers behind ``locallin`` were measured against, and no other Python
library has: each in one file, by its own paper, with scikit-learn's manners. They are
here so that a comparison can be made again; for work of your own begin with
:class:`locallin.LocallyLinearClassifier`.
"""

from locallin.rivals.anchor_graph import AnchorGraphRegClassifier
from locallin.rivals.csvm import CSVMClassifier
from locallin.rivals.eigenfunction import EigenFunctionClassifier
from locallin.rivals.ldkl import LDKLClassifier
from locallin.rivals.localized_mkl import LocalizedMKLClassifier
from locallin.rivals.prototype_vector import PVMClassifier
from locallin.rivals.svm_knn import SVMKNNClassifier

__all__ = [
    "AnchorGraphRegClassifier",
    "CSVMClassifier",
    "EigenFunctionClassifier",
    "LDKLClassifier",
    "LocalizedMKLClassifier",
    "PVMClassifier",
    "SVMKNNClassifier",
]

# Files and pages know them by where users find them.
for _rival in __all__:
    globals()[_rival].__module__ = __name__
