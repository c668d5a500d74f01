"""What stands between estimators and kernels.

Matrices as kernels take them, threads, files, and scikit-learn's recent interfaces.
"""
