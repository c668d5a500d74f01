"""Passes of dual coordinate descent on the convex problem of numbers."""

import numpy as np

from locallin.engine.parallel import in_threads
from locallin.kernels.dual import DualState
from locallin.kernels.dual_numbers import (
    Conjugate,
    NumberProblem,
    number_dual_epoch,
    sum_number_gaps,
    weights_from_numbers,
)
from locallin.kernels.linear import feature_norms
from locallin.kernels.losses import (
    EPSILON_INSENSITIVE,
    HUBER,
    PINBALL,
    SQUARED_INSENSITIVE,
)
from locallin.solvers.convex import Problem


def conjugate_of(loss: int, parameter: float, upper: np.ndarray) -> Conjugate:
    """The conjugate of a loss of residuals, of rows with the given C.

    See :mod:`locallin.kernels.dual_numbers` for the table.
    """
    # Rows of weight 0 are not visited.
    ridge = 1.0 / np.where(upper > 0, upper, 1.0)
    none = np.zeros(len(upper))
    if loss == PINBALL:
        return Conjugate(-(1.0 - parameter) * upper, parameter * upper, none, 0.0)
    if loss == EPSILON_INSENSITIVE:
        return Conjugate(-upper, upper.copy(), none, parameter)
    assert loss in (HUBER, SQUARED_INSENSITIVE)
    bound, flat = (parameter, 0.0) if loss == HUBER else (np.inf, parameter)
    high = np.full(len(upper), np.inf) if np.isinf(bound) else bound * upper
    return Conjugate(-high, high, ridge, flat)


class NumberDescent:
    """Dual and primal variables of a problem of numbers, and passes over its rows.

    What :func:`~locallin.solvers.convex.solve_dual` asks of a descent; ``busy`` are the
    scores that are still worked on.
    """

    def __init__(self, problem: Problem, dual: np.ndarray | None):
        n, n_scores = problem.target.labels.shape
        self._problem = problem
        self.coef, self.intercept = problem.zeros()
        upper = problem.target.weights / (problem.alpha * problem.n_rows)
        constant = problem.intercept_step
        norms = feature_norms(problem.rows, problem.codes, constant)
        assert problem.loss_parameters is not None
        self._conjugates = [
            conjugate_of(problem.loss, parameter, upper)
            for parameter in problem.loss_parameters
        ]
        # One score after the other, each in one piece.
        self._wanted = np.ascontiguousarray(problem.target.labels.T, float)
        self._terms = [
            NumberProblem(problem.rows, problem.codes, *of_score, norms, constant)
            for of_score in zip(self._wanted, self._conjugates, strict=True)
        ]
        self.busy = np.ones(n_scores, bool)
        self.dual = np.zeros((n, n_scores), self.coef.dtype)
        if dual is not None:
            for c, conjugate in enumerate(self._conjugates):
                self.dual[:, c] = np.clip(dual[:, c], conjugate.low, conjugate.high)
            self.dual[upper <= 0] = 0.0
            weights_from_numbers(
                problem.rows, problem.codes, problem.visits,
                self.coef, self.intercept, self.dual, constant,
            )  # fmt: skip
        self._models = [
            DualState(self.coef, self.intercept, self.dual, rest)
            for rest in np.zeros((n_scores, n, 2), np.uint8)
        ]

    def run(self, order: np.ndarray) -> np.ndarray:
        """One pass in this order; the gap terms met on the way, of each score."""
        chunks = self._problem.chunks(order)

        def descend(c):
            terms, model = self._terms[c], self._models[c]
            return sum(number_dual_epoch(terms, chunk, model, c) for chunk in chunks)

        return self._by_score(descend, np.flatnonzero(self.busy))

    def exact_gaps(self) -> np.ndarray:
        """Duality gap of each score."""
        problem = self._problem
        chunks = problem.chunks(problem.visits)

        def measure(c):
            terms, model = self._terms[c], self._models[c]
            return sum(sum_number_gaps(terms, chunk, model, c) for chunk in chunks)

        return problem.alpha * self._by_score(measure, np.arange(problem.n_scores))

    def _by_score(self, function, scores: np.ndarray) -> np.ndarray:
        found = np.zeros(self._problem.n_scores)
        tasks = [(int(c),) for c in scores]
        found[scores] = in_threads(function, tasks, self._problem.n_jobs)
        return found

    def values(self) -> np.ndarray:
        """Dual objective of each score, in the units of the primal objective."""
        problem = self._problem
        values = -problem.penalty(self.coef, self.intercept)
        for c, (_, _, ridge, flat) in enumerate(self._conjugates):
            a = self.dual[:, c].astype(float)
            gain = a @ self._wanted[c] - flat * np.abs(a).sum() - 0.5 * ridge @ (a * a)
            values[c] += problem.alpha * gain
        return values
