"""Locally linear classifiers in scikit-learn's manner."""

from locallin._llsvm import LLSVMClassifier

__version__ = "0.1.0.dev0"
__all__ = ["LLSVMClassifier"]
