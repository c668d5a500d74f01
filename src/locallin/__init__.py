"""Locally linear classifiers in scikit-learn's manner.

Near kernel-SVM accuracy at near-linear cost, small models, and an exact weight
vector behind every prediction.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see in place of _HOME
    from locallin.atlas import Atlas as Atlas
    from locallin.coding import AdaptiveCoding as AdaptiveCoding
    from locallin.coding import InverseDistanceCoding as InverseDistanceCoding
    from locallin.coding import SoftAssignmentCoding as SoftAssignmentCoding
    from locallin.encoding.piecewise import (
        PiecewiseLinearEncoder as PiecewiseLinearEncoder,
    )
    from locallin.encoding.table import TableEncoder as TableEncoder
    from locallin.engine.scales import FeatureScaleWarning as FeatureScaleWarning
    from locallin.feature_maps import IntersectionSampler as IntersectionSampler
    from locallin.methods.atlas import AtlasClassifier as AtlasClassifier
    from locallin.methods.atlas_regressor import AtlasRegressor as AtlasRegressor
    from locallin.methods.distillation import distill as distill
    from locallin.methods.dullsvm import DULLSVMClassifier as DULLSVMClassifier
    from locallin.methods.dullsvm_regressor import DULLSVMRegressor as DULLSVMRegressor
    from locallin.methods.ensemble import EnsembleClassifier as EnsembleClassifier
    from locallin.methods.ensemble_regressor import (
        EnsembleRegressor as EnsembleRegressor,
    )
    from locallin.methods.llsvm import LLSVMClassifier as LLSVMClassifier
    from locallin.methods.llsvm_cv import LLSVMClassifierCV as LLSVMClassifierCV
    from locallin.methods.llsvm_regressor import LLSVMRegressor as LLSVMRegressor
    from locallin.methods.locally_linear import (
        LocallyLinearClassifier as LocallyLinearClassifier,
    )
    from locallin.methods.locally_linear_regressor import (
        LocallyLinearRegressor as LocallyLinearRegressor,
    )
    from locallin.methods.ml3 import ML3Classifier as ML3Classifier
    from locallin.methods.sapl import SAPLClassifier as SAPLClassifier
    from locallin.methods.sapl_regressor import SAPLRegressor as SAPLRegressor

__version__ = "0.1.0"

_HOME = {
    "LocallyLinearClassifier": "locallin.methods.locally_linear",
    "EnsembleClassifier": "locallin.methods.ensemble",
    "LLSVMClassifier": "locallin.methods.llsvm",
    "LLSVMClassifierCV": "locallin.methods.llsvm_cv",
    "SAPLClassifier": "locallin.methods.sapl",
    "DULLSVMClassifier": "locallin.methods.dullsvm",
    "LocallyLinearRegressor": "locallin.methods.locally_linear_regressor",
    "EnsembleRegressor": "locallin.methods.ensemble_regressor",
    "LLSVMRegressor": "locallin.methods.llsvm_regressor",
    "SAPLRegressor": "locallin.methods.sapl_regressor",
    "DULLSVMRegressor": "locallin.methods.dullsvm_regressor",
    "ML3Classifier": "locallin.methods.ml3",
    "AtlasClassifier": "locallin.methods.atlas",
    "AtlasRegressor": "locallin.methods.atlas_regressor",
    "Atlas": "locallin.atlas",
    "AdaptiveCoding": "locallin.coding",
    "InverseDistanceCoding": "locallin.coding",
    "SoftAssignmentCoding": "locallin.coding",
    "IntersectionSampler": "locallin.feature_maps",
    "PiecewiseLinearEncoder": "locallin.encoding.piecewise",
    "TableEncoder": "locallin.encoding.table",
    "distill": "locallin.methods.distillation",
    "FeatureScaleWarning": "locallin.engine.scales",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used: importing the package alone
    # loads neither Numba nor scikit-learn.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'locallin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
