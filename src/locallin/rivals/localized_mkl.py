"""Localized multiple kernel learning (Goenen & Alpaydin, ICML 2008), linear kernels."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import special
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from locallin.anchors import choose_anchors
from locallin.engine.invariants import Array, Rule, number_of_scores
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    unchanged_on_error,
)
from locallin.methods.base import (
    ScoringClassifier,
    encode_classes,
    weights_of_classes,
)
from locallin.methods.skeleton import check_parameters
from locallin.rivals._labels import signs_of

# A step of the gates is halved this often before they rest.
_HALVINGS = 12


class LocalizedMKLClassifier(ScoringClassifier):
    """Localized multiple kernel learning (L-MKL) with linear kernels.

    m linear machines share a row by gates that see the row ([1]_)::

        f(x) = sum_j eta_j(x) w_j . x + b,   eta(x) = softmax(V x + v0)

    which is a support vector machine with the kernel ``sum_j eta_j(x) (x . x')
    eta_j(x')``. ``fit`` alternates: an SVM for the gates that are there, then a step of
    the gates down the gradient of the SVM's value J, halved until J falls::

        J(V) = max_a  sum_i a_i - 1/2 sum_ik a_i a_k y_i y_k K_V(x_i, x_k),
               0 <= a_i <= C s_i,  sum_i a_i y_i = 0

    Every step needs the Gram matrix of all rows: this is a rival for thousands of
    rows. Several classes are set against the rest one by one, each with its own gates.

    Parameters
    ----------
    n_kernels : int, default=3
        Number of machines (P).
    C : float, default=1.0
        Strength of the loss.
    init : {"kmeans", "random"}, default="kmeans"
        First gates. "kmeans" lets each machine have a cluster of the rows, "random"
        draws small gates, as the paper does.
    max_iter : int, default=50
        Largest number of steps of the gates.
    tol : float, default=1e-3
        Relative fall of J below which the gates rest.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The first gates depend on it.
    n_jobs : int or None, default=None
        Number of threads. Predictions use them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_scores, n_kernels, n_features)
        Weights of the machines.
    intercept_ : ndarray of shape (n_scores,)
        Intercepts b.
    gate_coef_ : ndarray of shape (n_scores, n_kernels, n_features)
        Gates V.
    gate_intercept_ : ndarray of shape (n_scores, n_kernels)
        Gates' intercepts.
    n_iter_ : int
        Steps made, by the score that took most.
    objective_history_ : ndarray of shape (n_steps,)
        J after each step, of the last score.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LDKLClassifier : A tree in place of the softmax, learned by stochastic steps.
    locallin.LLSVMClassifier : Local machines at anchors, a convex problem.

    Notes
    -----
    Rows are dense: sparse ones are refused.

    References
    ----------
    .. [1] Goenen and Alpaydin, Localized Multiple Kernel Learning, ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin.rivals import LocalizedMKLClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> clf = LocalizedMKLClassifier(4, C=10, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict = {
        "n_kernels": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"kmeans", "random"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_kernels: int = 3,
        *,
        C: float = 1.0,
        init: str = "kmeans",
        max_iter: int = 50,
        tol: float = 1e-3,
        class_weight=None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_kernels = n_kernels
        self.C = C
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _invariants(self) -> dict[str, Rule]:
        scores = number_of_scores(self)
        return {
            **super()._invariants(),
            "coef_": Array((scores, "kernels", "features")),
            "intercept_": Array((scores,)),
            "gate_coef_": Array((scores, "kernels", "features")),
            "gate_intercept_": Array((scores, "kernels")),
        }

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the loss. A weight of 0 is the same as leaving the
            row out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            check_parameters(self)
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
            weights = check_sample_weight(sample_weight, X)
            rows = np.flatnonzero(weights > 0)
            y, weights = y[rows], weights[rows].astype(float)
            self.classes_, encoded = encode_classes(y, None, type(self).__name__)
            by_class = weights_of_classes(self.class_weight, self.classes_, encoded)
            if by_class is not None:
                weights = weights * by_class[encoded]
            rng = check_random_state(self.random_state)
            wide = X[rows].astype(float)
            start = first_gates(wide, int(self.n_kernels), self.init, rng)
            found = [
                solve_localized_mkl(
                    MKLProblem(wide, signs, weights, self.C),
                    start,
                    max_iter=self.max_iter,
                    tol=self.tol,
                )
                for signs in signs_of(encoded, len(self.classes_)).T
            ]
            self._keep(found, X.dtype)
        return self

    def _keep(self, found: list["MKLSolution"], dtype) -> None:
        gates = np.stack([one.gates for one in found]).astype(dtype)
        self.coef_ = np.stack([one.coef for one in found]).astype(dtype)
        self.intercept_ = np.array([one.intercept for one in found], dtype)
        self.gate_coef_ = np.ascontiguousarray(gates[:, :, :-1])
        self.gate_intercept_ = np.ascontiguousarray(gates[:, :, -1])
        self.n_iter_ = max(len(one.history) for one in found)
        self.objective_history_ = np.array(found[-1].history)

    def _gates_of(self, X) -> np.ndarray:
        """Gates of rows, of shape (n, n_scores, n_kernels)."""
        inner = np.einsum("nd,skd->nsk", X, self.gate_coef_, optimize=True)
        return special.softmax(inner + self.gate_intercept_, axis=2)

    def _scores(self, X) -> np.ndarray:
        def score(part):
            values = np.einsum("nd,skd->nsk", part, self.coef_, optimize=True)
            return (self._gates_of(part) * values).sum(axis=2) + self.intercept_

        return self._in_blocks(X, score)


class MKLProblem(NamedTuple):
    """The problem for given gates: J(V) of the class's docstring."""

    X: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    C: float

    def shares(self, gates: np.ndarray) -> np.ndarray:
        """The eta of all rows."""
        return special.softmax(self.X @ gates[:, :-1].T + gates[:, -1], axis=1)

    def solve(self, gates: np.ndarray, tol: float = 1e-4):
        """Value J, its slope by the gates, weights of the machines, intercept.

        The slope takes the dual solution as it is (it is a maximum: its own change
        counts for nothing)::

            dJ/dv_j = - sum_i a_i y_i eta_ij (u_ij - sum_k eta_ik u_ik) [x_i; 1]

        with u_ij = w_j . x_i and w_j = sum_i a_i y_i eta_ij x_i.
        """
        eta = self.shares(gates)
        gram = (eta @ eta.T) * (self.X @ self.X.T)
        machine = SVC(C=self.C, kernel="precomputed", tol=tol)
        machine.fit(gram, self.signs, sample_weight=self.weights)
        pull = np.zeros(len(self.X))
        pull[machine.support_] = machine.dual_coef_[0]
        coef = (eta * pull[:, None]).T @ self.X
        values = self.X @ coef.T
        total = (eta * values).sum(axis=1)
        objective = np.abs(pull).sum() - 0.5 * pull @ total
        by_gate = -pull[:, None] * eta * (values - total[:, None])
        slope = np.column_stack([by_gate.T @ self.X, by_gate.sum(axis=0)])
        return float(objective), slope, coef, float(machine.intercept_[0])


class MKLSolution(NamedTuple):
    """Learned gates and machines, and J after each step."""

    gates: np.ndarray
    coef: np.ndarray
    intercept: float
    history: list[float]


def first_gates(X: np.ndarray, m: int, init: str, rng) -> np.ndarray:
    """Gates of clusters, whose softmax goes by the distance, or small random ones."""
    gates = np.zeros((m, X.shape[1] + 1))
    spread = float(np.sqrt(X.var(axis=0).sum())) or 1.0
    if init == "random":
        gates[:, :-1] = rng.standard_normal((m, X.shape[1])) / spread
        return gates
    centres = choose_anchors(X, min(m, len(X)), "kmeans", random_state=rng)
    scale = 2 * len(centres) / spread**2
    gates[: len(centres), :-1] = scale * centres
    gates[: len(centres), -1] = -scale / 2 * (centres**2).sum(axis=1)
    gates[len(centres) :, -1] = gates[:, -1].min() - 10
    return gates


def solve_localized_mkl(
    problem: MKLProblem, gates: np.ndarray, *, max_iter: int, tol: float
) -> MKLSolution:
    """Alternate between the SVM and steps of the gates as the paper does."""
    value, slope, coef, intercept = problem.solve(gates)
    history = [value]
    size = 0.1 * (np.abs(gates).max() or 1.0)
    rate = size / (np.abs(slope).max() or 1.0)
    for _ in range(max_iter):
        for _ in range(_HALVINGS):
            moved = gates - rate * slope
            found = problem.solve(moved)
            if found[0] < value:
                break
            rate /= 2
        else:
            break
        fall = value - found[0]
        gates, (value, slope, coef, intercept) = moved, found
        history.append(value)
        rate *= 2
        if fall <= tol * abs(value):
            break
    return MKLSolution(gates, coef, intercept, history)
