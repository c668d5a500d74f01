"""Finite feature maps of kernels that scikit-learn does not have."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    check_is_fitted,
    check_non_negative,
)

from locallin.engine.input import checked_data
from locallin.engine.invariants import INPUT, CheckedState, Number, Rule
from locallin.engine.sklearn_api import (
    Interval,
    check_feature_names_in,
    validate_parameters,
)

__all__ = ["IntersectionSampler"]

# Sampling intervals that minimise the mean squared error of the approximated
# kernel over the unit square, by number of steps.
_BEST_INTERVALS = {1: 1.2566, 2: 0.9380, 3: 0.8136, 4: 0.7437, 5: 0.6974, 6: 0.6637}


class IntersectionSampler(CheckedState, TransformerMixin, BaseEstimator):
    """Approximate feature map of the histogram intersection kernel.

    The kernel is k(x, y) = sum_i min(x_i, y_i), for non-negative data. Its spectrum
    is 2 / (pi (1 + 4 l^2)); sampling it at regular intervals gives
    ``2 * sample_steps - 1`` features per feature (Vedaldi & Zisserman [1]_), whose
    inner products approximate the kernel. With it, the locally additive SVM of the
    LL-SVM paper (section 3.2) is
    ``LLSVMClassifier(feature_map=IntersectionSampler())``.

    scikit-learn's :class:`~sklearn.kernel_approximation.AdditiveChi2Sampler` is the
    same construction for the chi-squared kernel.

    Parameters
    ----------
    sample_steps : int, default=3
        Number of sampling points of the spectrum.
    sample_interval : float or None, default=None
        Distance of the sampling points. None takes the one with the smallest mean
        squared error over [0, 1] x [0, 1], which is known for up to 6 steps.

    Attributes
    ----------
    sample_interval_ : float
        The distance in use.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    locallin.LLSVMClassifier : Takes a feature map for its local models.
    sklearn.kernel_approximation.AdditiveChi2Sampler : A map of another kernel.

    References
    ----------
    .. [1] Vedaldi and Zisserman, Efficient Additive Kernels via Explicit Feature
       Maps, CVPR 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin.feature_maps import IntersectionSampler
    >>> X = np.array([[0.2, 0.8], [0.6, 0.4]])
    >>> Z = IntersectionSampler(sample_steps=5).fit_transform(X)
    >>> Z.shape
    (2, 18)
    >>> float(np.minimum(*X).sum()), float((Z[0] @ Z[1]).round(2))
    (0.6000000000000001, 0.64)
    """

    _parameter_constraints: dict = {
        # Far more than make sense; beyond, work or numbers would leave all bounds.
        "sample_steps": [Interval(Integral, 1, 1000, closed="both")],
        "sample_interval": [Interval(Real, 0, 1000, closed="right"), None],
    }

    _fitted_mark = "sample_interval_"

    def _invariants(self) -> dict[str, Rule]:
        return {**INPUT, "sample_interval_": Number(above=True, most=1000)}

    def __init__(self, *, sample_steps: int = 3, sample_interval: float | None = None):
        self.sample_steps = sample_steps
        self.sample_interval = sample_interval

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Check the data and set the sampling interval.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative data.
        y : None
            Not used, present for the pipeline.

        Returns
        -------
        self : object
            The transformer.
        """
        validate_parameters(self)
        self._validate(X, reset=True)
        interval = self.sample_interval
        if interval is None:
            if self.sample_steps not in _BEST_INTERVALS:
                raise ValueError(
                    f"sample_interval must be given for sample_steps="
                    f"{self.sample_steps}; a good one is known for 1 to 6 steps."
                )
            interval = _BEST_INTERVALS[self.sample_steps]
        self.sample_interval_ = float(interval)
        return self

    def _validate(self, X, reset):
        X = checked_data(self, X, reset=reset)
        check_non_negative(X, "IntersectionSampler")
        return X

    def transform(self, X):
        """Map the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative data.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, (2 * sample_steps - 1) * n_features)
            The features: first the zero frequency of every feature, then cosine and
            sine of the first frequency, and so on. Sparse for sparse X.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        values = X.data if sparse.issparse(X) else X
        parts = self._waves(values)
        if not sparse.issparse(X):
            return np.hstack(parts)
        blocks = [sparse.csr_matrix((p, X.indices, X.indptr), X.shape) for p in parts]
        return sparse.hstack(blocks, format="csr")

    def _waves(self, values) -> list[np.ndarray]:
        step = self.sample_interval_
        roots = np.sqrt(values)
        logs = np.log(np.where(values > 0, values, 1))
        parts = [roots * values.dtype.type(np.sqrt(step * 2 / np.pi))]
        for j in range(1, self.sample_steps):
            density = 2 / (np.pi * (1 + 4 * (j * step) ** 2))
            amplitude = roots * values.dtype.type(np.sqrt(2 * step * density))
            phase = logs * values.dtype.type(j * step)
            parts += [amplitude * np.cos(phase), amplitude * np.sin(phase)]
        return parts

    def get_feature_origins(self) -> np.ndarray:
        """The feature of X that each feature of ``transform`` is made of.

        Returns
        -------
        ndarray of int of shape ((2 * sample_steps - 1) * n_features_in_,)
            Positions of features of X.
        """
        check_is_fitted(self)
        return np.tile(np.arange(self.n_features_in_), 2 * self.sample_steps - 1)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the features that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features of X; those seen at fit where None.

        Returns
        -------
        ndarray of str
            Names such as "x0_sqrt", "x0_cos1", "x0_sin1".
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        kinds = ["sqrt"]
        for j in range(1, self.sample_steps):
            kinds += [f"cos{j}", f"sin{j}"]
        return np.array([f"{name}_{kind}" for kind in kinds for name in names], object)
