"""Prototype vector machine (Zhang, Kwok & Parvin, ICML 2009)."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state, gen_batches

from locallin.anchors import choose_anchors
from locallin.engine.invariants import Array, Number, Rule, number_of_scores
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.rivals._labels import FewLabelsClassifier, signs_of

# Rows whose kernels with the prototypes are held at a time.
_ROWS = 4096
# Of the largest eigenvalue: directions of the prototypes' kernel that are left out.
_RANK = 1e-8
# Of the mean diagonal: it decides where nothing else does.
_RIDGE = 1e-8
# Newton's steps of the squared hinge, and the share of a gradient at which it rests.
_MOST_STEPS, _REST = 100, 1e-8


class PVMClassifier(FewLabelsClassifier):
    """Few labels, smooth on the graph of all rows, by prototypes (PVM).

    Two rows are alike by a Gaussian of their distance, and a score should be alike on
    rows that are. The prototypes v_j, centres of k-means, stand for all rows twice: in
    the scores, and in the kernel K of the rows, which is never formed::

        f(x) = sum_j a_j k(x, v_j),     K ~ E W^-1 E'

    where E has the kernels of rows and prototypes, and W those of the prototypes. With
    f = E a the scores of the rows, ``fit`` solves for each class ([1]_, C1 and C2)::

        min_a  f' L f  +  label_weight sum_{i labelled} loss(y_i, f_i)
                       +  shrinkage sum_{i unlabelled} f_i^2,     L = (D - K) / d

    where y is 1 and -1, D the degrees of the rows, and d their mean, so that the unit
    of the kernel makes no difference. It is a problem as large as there are prototypes,
    and memory does not grow with rows times prototypes.

    Rows of class -1 are unlabelled, as everywhere in scikit-learn. (Where y has but
    two values -1 is a class like any other.)

    Parameters
    ----------
    n_anchors : int or None, default=None
        Number of prototypes (m). None is one for every ten rows, from 10 to 500. Not
        used where ``anchors`` is an array.
    anchors : {"kmeans", "random"} or array-like of shape (n_anchors, n_features), \
            default="kmeans"
        Where the prototypes come from: see :func:`locallin.anchors.choose_anchors`.
    gamma : float or "auto", default="auto"
        Width of the Gaussian, ``k(x, v) = exp(-gamma |x - v|^2)``. "auto" is four over
        the mean squared distance of a prototype from the one next to it: a graph in
        which every row is near every other says nothing.
    loss : {"squared_hinge", "squared_error"}, default="squared_hinge"
        Loss of the labelled rows.
    label_weight : float, default=1.0
        How much a label counts (C1 in the paper).
    shrinkage : float, default=1e-3
        How much scores of unlabelled rows are drawn to zero (C2 in the paper).
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of prototypes depends on it.
    n_jobs : int or None, default=None
        Number of threads. Predictions use them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the -1 of unlabelled rows.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The prototypes.
    gamma_ : float
        The width in use.
    coef_ : ndarray of shape (n_anchors, n_scores)
        Coefficients a of the prototypes.
    transduction_ : ndarray of shape (n_samples,)
        Classes of the rows of ``fit``, the unlabelled ones among them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    AnchorGraphRegClassifier : Labels spread over a graph of anchors.
    EigenFunctionClassifier : Functions that are smooth where rows are dense.
    locallin.AtlasClassifier : Charts for few labels.

    Notes
    -----
    The paper has the hinge loss, by a quadratic program, and the squared error; here
    the squared hinge takes the place of the former. Negative eigenvalues of E' L E,
    which come from K being approximate, are set to zero.

    References
    ----------
    .. [1] Zhang, Kwok and Parvin, Prototype Vector Machine for Large Scale
       Semi-Supervised Learning, ICML 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from locallin.rivals import PVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.full(len(y), -1)
    >>> few[:100] = y[:100]
    >>> clf = PVMClassifier(random_state=0).fit(X, few)
    >>> bool((clf.transduction_ == y).mean() > 0.85)
    True
    """

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "anchors": [StrOptions({"kmeans", "random"}), "array-like"],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "loss": [StrOptions({"squared_hinge", "squared_error"})],
        "label_weight": [Interval(Real, 0, None, closed="neither")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_anchors: int | None = None,
        *,
        anchors="kmeans",
        gamma: float | str = "auto",
        loss: str = "squared_hinge",
        label_weight: float = 1.0,
        shrinkage: float = 1e-3,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.anchors = anchors
        self.gamma = gamma
        self.loss = loss
        self.label_weight = label_weight
        self.shrinkage = shrinkage
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "anchors_": Array(("anchors", "features")),
            "gamma_": Number(above=True),
            "coef_": Array(("anchors", number_of_scores(self))),
        }

    def _learn(self, X, weights, labelled, encoded) -> np.ndarray:
        counted = np.flatnonzero(weights > 0)
        seen = X if len(counted) == X.shape[0] else X[counted]
        self._choose_prototypes(seen, weights[counted])
        graph = prototype_graph(
            lambda part: self._kernels(seen[part]),
            self._kernels(self.anchors_),
            weights[counted],
        )
        signs = signs_of(encoded, len(self.classes_))
        E, kept = self._kernels(X[labelled]), weights[labelled]
        found = solve_prototypes(
            graph, E, signs, kept, self.label_weight, self.shrinkage, self.loss
        )
        self.coef_ = np.ascontiguousarray(found, self.anchors_.dtype)
        return self._scores(X)

    def _choose_prototypes(self, X, weights: np.ndarray) -> None:
        n_anchors: Any = self.n_anchors
        if n_anchors is None:
            n_anchors = int(np.clip(X.shape[0] // 10, 10, 500))
        self.anchors_ = choose_anchors(
            X,
            n_anchors,
            self.anchors,
            sample_weight=weights.astype(X.dtype),
            random_state=check_random_state(self.random_state),
        )
        gamma: Any = self.gamma
        self.gamma_ = width_rule(self.anchors_) if gamma == "auto" else float(gamma)

    def _kernels(self, X) -> np.ndarray:
        return gaussians(X, self.anchors_, self.gamma_)

    def _scores(self, X) -> np.ndarray:
        return self._in_blocks(X, lambda part: self._kernels(part) @ self.coef_)


def _squared_distances(X, anchors: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = euclidean_distances(X, anchors, squared=True)
    # Where squares overflow, the difference of two infinities is far away.
    return np.nan_to_num(squares, copy=False, nan=np.finfo(squares.dtype).max)


def width_rule(anchors: np.ndarray) -> float:
    """Four over the mean squared distance of a prototype from the one next to it."""
    if len(anchors) < 2:
        return 1.0
    squares = _squared_distances(anchors, anchors).astype(float)
    np.fill_diagonal(squares, np.inf)
    mean = np.minimum(squares.min(axis=1), 1e200).mean()
    return float(4 / np.clip(mean, 1e-200, 1e200))


def gaussians(X, anchors: np.ndarray, gamma: float) -> np.ndarray:
    """Kernels of rows with the prototypes."""
    return np.exp(-np.minimum(gamma * _squared_distances(X, anchors), 1e3))


class PrototypeGraph(NamedTuple):
    """What all rows, labelled or not, say of the prototypes' coefficients.

    With E the kernels of the rows with the prototypes, and S their weights:
    ``laplacian`` is E' L E, ``products`` is E' S E, both of shape (m, m).
    """

    laplacian: np.ndarray
    products: np.ndarray


def prototype_graph(
    kernels: Callable[[slice], np.ndarray], W: np.ndarray, weights: np.ndarray
) -> PrototypeGraph:
    """Go through the rows twice, once for the degrees.

    Parameters
    ----------
    kernels : callable
        Gives E, the kernels with the prototypes, of a slice of the rows.
    W : ndarray of shape (m, m)
        Kernels of the prototypes.
    weights : ndarray of shape (n,)
        Weights of the rows, which count as often as these say.

    Returns
    -------
    PrototypeGraph
        Of positive semidefinite matrices.
    """
    m, n = len(W), len(weights)
    inverse = linalg.pinvh(W.astype(float), rtol=_RANK)
    products, sums = np.zeros((m, m)), np.zeros(m)
    for part in gen_batches(n, _ROWS):
        E = kernels(part).astype(float)
        weighted = E * weights[part, None]
        products += E.T @ weighted
        sums += weighted.sum(axis=0)
    to_degrees, of_degrees, total = inverse @ sums, np.zeros((m, m)), 0.0
    for part in gen_batches(n, _ROWS):
        E = kernels(part).astype(float)
        degrees = np.maximum(E @ to_degrees, 0) * weights[part]
        of_degrees += E.T @ (E * degrees[:, None])
        total += degrees.sum()
    mean = total / weights.sum()
    laplacian = of_degrees - products @ inverse @ products
    values, vectors = linalg.eigh((laplacian + laplacian.T) / 2)
    values = np.maximum(values, 0) / (mean if mean > 0 else 1.0)
    return PrototypeGraph((vectors * values) @ vectors.T, products)


def solve_prototypes(
    graph: PrototypeGraph,
    E: np.ndarray,
    signs: np.ndarray,
    weights: np.ndarray,
    label_weight: float,
    shrinkage: float,
    loss: str,
) -> np.ndarray:
    """Coefficients of the prototypes, for the labels of some of the graph's rows.

    Parameters
    ----------
    graph : PrototypeGraph
        Of all rows.
    E : ndarray of shape (n_labelled, m)
        Kernels of the labelled rows.
    signs : ndarray of shape (n_labelled, n_scores)
        1 where a row has the class of a score, -1 elsewhere.
    weights : ndarray of shape (n_labelled,)
        Weights of the labelled rows.
    label_weight, shrinkage : float
        How much a label counts, and how much other scores are drawn to zero.
    loss : {"squared_hinge", "squared_error"}
        Loss of the labelled rows.

    Returns
    -------
    ndarray of shape (m, n_scores)
        The coefficients.
    """
    E = E.astype(float)
    unlabelled = graph.products - (E * weights[:, None]).T @ E
    smooth = graph.laplacian + shrinkage * unlabelled
    solve, prices = _SOLVERS[loss], label_weight * weights
    return np.transpose([solve(smooth, E, column, prices) for column in signs.T])


def _least_squares(smooth, E, signs, prices) -> np.ndarray:
    """Minimise a' smooth a + sum_i prices_i (signs_i - E_i a)^2."""
    system = smooth + (E * prices[:, None]).T @ E
    ridge = _RIDGE * system.trace() / len(system)
    system[np.diag_indices_from(system)] += ridge or 1.0
    return linalg.solve(system, E.T @ (prices * signs), assume_a="pos")


def _squared_hinge(smooth, E, signs, prices) -> np.ndarray:
    """Minimise a' smooth a + sum_i prices_i max(0, 1 - signs_i E_i a)^2.

    Newton's method: least squares on the rows that violate the margin, and half the
    way back as long as the objective does not fall.
    """
    a = np.zeros(len(smooth))

    def objective(a):
        short = np.maximum(1 - signs * (E @ a), 0)
        return a @ smooth @ a + prices @ short**2

    value = objective(a)
    for _ in range(_MOST_STEPS):
        violated = signs * (E @ a) < 1
        if not violated.any():
            break
        chosen = E[violated], signs[violated], prices[violated]
        move, step = _least_squares(smooth, *chosen) - a, 1.0
        while (new := objective(a + step * move)) > value and step > _REST:
            step /= 2
        if value - new <= _REST * value:
            break
        a, value = a + step * move, new
    return a


_SOLVERS = {"squared_error": _least_squares, "squared_hinge": _squared_hinge}
