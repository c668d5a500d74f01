"""Eigenfunctions for semi-supervised learning (Fergus, Weiss & Torralba, NIPS 2009)."""

from numbers import Integral, Real

import numpy as np
from scipy import linalg
from sklearn.utils.validation import validate_data

from locallin.engine.invariants import Array, Rule, number_of_scores
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.rivals._labels import FewLabelsClassifier, signs_of

# Rows of one bin that are added to all of them: empty ones would cut the line.
_FLOOR = 1e-3


class EigenFunctionClassifier(FewLabelsClassifier):
    """Few labels, smooth along the density of all rows (EigenFunction).

    A function that is smooth where rows are dense is a sum of the first eigenvectors
    of the graph's Laplacian. With many rows these are eigenfunctions of the density,
    and where the density is a product over directions, functions of one direction
    each, found on a histogram ([1]_). ``fit`` turns the rows into their
    principal directions, takes the functions g_k with the smallest eigenvalues s_k of
    all directions, and solves::

        min_a  sum_k s_k a_k^2
                   + label_weight sum_{i labelled} (y_i - sum_k a_k g_k(x_i))^2

    with one a for each class, y being 1 and -1.

    Rows of class -1 are unlabelled, as everywhere in scikit-learn. (Where y has but
    two values -1 is a class like any other.)

    Parameters
    ----------
    n_components : int, default=64
        Largest number of principal directions.
    n_functions : int, default=256
        Largest number of eigenfunctions (k).
    n_bins : int, default=50
        Bins of the histogram of each direction.
    bandwidth : float or "auto", default="auto"
        Width of the affinity of two points of a direction (epsilon), a length in the
        unit of the data. "auto" is the deviation along the first direction, divided
        by five.
    label_weight : float, default=50.0
        How much a label counts (lambda in the paper).
    n_jobs : int or None, default=None
        Number of threads. Predictions use them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the -1 of unlabelled rows.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    components_ : ndarray of shape (n_components, n_features)
        Principal directions.
    function_components_ : ndarray of shape (n_functions,)
        The direction of each function.
    bins_ : ndarray of shape (n_components, n_bins)
        Middles of the bins.
    functions_ : ndarray of shape (n_functions, n_bins)
        Values of the functions there; in between they are linear.
    eigenvalues_ : ndarray of shape (n_functions,)
        Their eigenvalues, ascending.
    coef_ : ndarray of shape (n_scores, n_functions)
        Coefficients a.
    intercept_ : ndarray of shape (n_scores,)
        Coefficients of the constant, whose eigenvalue is zero.
    transduction_ : ndarray of shape (n_samples,)
        Classes of the rows of ``fit``, the unlabelled ones among them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    AnchorGraphRegClassifier : Labels spread over a graph of anchors.
    locallin.AtlasClassifier : Charts for few labels.

    Notes
    -----
    Rows are dense: sparse ones have no principal directions here, and are refused.

    References
    ----------
    .. [1] Fergus, Weiss and Torralba, Semi-supervised Learning in Gigantic Image
       Collections, NIPS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from locallin.rivals import EigenFunctionClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.full(len(y), -1)
    >>> few[:100] = y[:100]
    >>> clf = EigenFunctionClassifier().fit(X, few)
    >>> bool((clf.transduction_ == y).mean() > 0.75)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_functions": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 3, None, closed="left")],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "label_weight": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 64,
        *,
        n_functions: int = 256,
        n_bins: int = 50,
        bandwidth: float | str = "auto",
        label_weight: float = 50.0,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.n_functions = n_functions
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.label_weight = label_weight
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _invariants(self) -> dict[str, Rule]:
        scores = number_of_scores(self)
        return {
            **super()._invariants(),
            "mean_": Array(("features",)),
            "components_": Array(("components", "features")),
            "bins_": Array(("components", "bins")),
            "function_components_": Array(
                ("functions",), "i", least=0, below="components"
            ),
            "functions_": Array(("functions", "bins")),
            "eigenvalues_": Array(("functions",)),
            "coef_": Array((scores, "functions")),
            "intercept_": Array((scores,)),
        }

    def _checked(self, X, y) -> tuple:
        return validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")

    def _learn(self, X, weights, labelled, encoded) -> np.ndarray:
        self._fit_functions(X, weights)
        found = solve_eigenfunctions(
            self._values(X[labelled]).astype(float),
            self.eigenvalues_.astype(float),
            signs_of(encoded, len(self.classes_)),
            self.label_weight * weights[labelled],
        )
        self.coef_ = np.ascontiguousarray(found[1:].T, X.dtype)
        self.intercept_ = found[0].astype(X.dtype)
        return self._scores(X)

    def _fit_functions(self, X: np.ndarray, weights: np.ndarray) -> None:
        shares = weights / weights.sum()
        mean = shares @ X
        centred = X - mean
        covariance = (centred * shares[:, None]).T @ centred
        variances, directions = linalg.eigh(covariance)
        order = np.argsort(-variances)[: self.n_components]
        order = order[variances[order] > 1e-12 * max(variances.max(), 0)]
        if not len(order):  # all rows are one point
            order = np.array([0])
        components = directions[:, order].T
        width = self.bandwidth
        if isinstance(width, str):
            width = float(np.sqrt(max(variances.max(), 0))) / 5 or 1.0
        places = centred @ components.T
        bins, found = [], []
        for j, column in enumerate(places.T):
            middles, density = histogram(column, shares, int(self.n_bins))
            bins.append(middles)
            values, functions = line_eigenfunctions(middles, density, width)
            found += [(s, j, g) for s, g in zip(values, functions.T, strict=True)]
        found.sort(key=lambda one: one[:2])
        found = found[: self.n_functions]
        dtype = X.dtype
        self.mean_ = mean.astype(dtype)
        self.components_ = np.ascontiguousarray(components, dtype)
        self.bins_ = np.array(bins, dtype)
        self.eigenvalues_ = np.array([s for s, _, _ in found], dtype)
        self.function_components_ = np.array([j for _, j, _ in found], np.intp)
        self.functions_ = np.array([g for _, _, g in found], dtype)

    def _values(self, X: np.ndarray) -> np.ndarray:
        """Functions at rows, of shape (n, n_functions)."""
        places = (X - self.mean_) @ self.components_.T
        values = np.empty((len(X), len(self.functions_)), X.dtype)
        for k, (j, g) in enumerate(
            zip(self.function_components_, self.functions_, strict=True)
        ):
            values[:, k] = np.interp(places[:, j], self.bins_[j], g)
        return values

    def _scores(self, X) -> np.ndarray:
        return self._in_blocks(
            X, lambda part: self._values(part) @ self.coef_.T + self.intercept_
        )


def histogram(
    places: np.ndarray, shares: np.ndarray, n_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """Middles of bins between the outer points, and a density over them.

    Parameters
    ----------
    places : ndarray of shape (n,)
        Points of a line.
    shares : ndarray of shape (n,)
        Weights of the points, which sum to one.
    n_bins : int
        Number of bins.

    Returns
    -------
    middles, density : ndarray of shape (n_bins,)
        Ascending middles, and shares of the bins, none of them empty.
    """
    seen = places[shares > 0]
    low, high = float(seen.min()), float(seen.max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    density, edges = np.histogram(places, n_bins, (low, high), weights=shares)
    density = density + _FLOOR / n_bins
    return (edges[:-1] + edges[1:]) / 2, density / density.sum()


def line_eigenfunctions(
    middles: np.ndarray, density: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenfunctions of the density of a line, without the constant.

    They solve the generalised problem ``(D - P W P) g = s P D' g`` of the
    paper, where W is the Gaussian affinity of the bins, P the density, and D and D'
    the sums of the columns of P W P and of P W, as diagonal matrices.

    Parameters
    ----------
    middles, density : ndarray of shape (n_bins,)
        Bins.
    width : float
        Width of the affinity.

    Returns
    -------
    values : ndarray of shape (n_found,)
        Eigenvalues, ascending.
    functions : ndarray of shape (n_bins, n_found)
        Functions, with a mean square of one over the density.
    """
    affinity = np.exp(-0.5 * ((middles[:, None] - middles) / width) ** 2)
    joint = density[:, None] * affinity * density
    laplacian = np.diag(joint.sum(axis=0)) - joint
    degrees = density * (density @ affinity)
    root = np.sqrt(degrees)
    values, functions = linalg.eigh(laplacian / root[:, None] / root)
    functions = functions / root[:, None]
    size = np.sqrt((density[:, None] * functions**2).sum(axis=0))
    # The sign is free: let the last bin decide, for the same model everywhere.
    functions = functions / np.where(functions[-1] < 0, -size, size)
    # The first is the constant; a second one near zero parts what is far apart.
    return np.maximum(values[1:], 0), functions[:, 1:]


def solve_eigenfunctions(
    values: np.ndarray, penalties: np.ndarray, signs: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Solve for the coefficients of the functions, and of the constant.

    The problem of the class's docstring, with a constant whose penalty is zero.

    Parameters
    ----------
    values : ndarray of shape (n_labelled, n_functions)
        Functions at the labelled rows.
    penalties : ndarray of shape (n_functions,)
        Eigenvalues.
    signs : ndarray of shape (n_labelled, n_scores)
        Targets.
    weights : ndarray of shape (n_labelled,)
        Weights of the labels.

    Returns
    -------
    ndarray of shape (1 + n_functions, n_scores)
        The constant's coefficients, and the others.
    """
    full = np.column_stack([np.ones(len(values)), values])
    weighted = full * weights[:, None]
    system = weighted.T @ full + np.diag(np.concatenate([[1e-9], penalties]))
    return linalg.solve(system, weighted.T @ signs, assume_a="pos")
