"""A truncated Newton method for the convex problem with a smooth loss.

Each score is minimised on its own: the Newton equation by conjugate gradients with
a preconditioner per anchor, then an exact search along the step. See
:mod:`locallin.kernels.newton` for the products.
"""

from contextlib import suppress

import numpy as np

from locallin.engine.parallel import in_threads, single_threaded_blas
from locallin.kernels.newton import (
    add_hessian_diagonal,
    add_hessian_product,
    add_rows,
    bend_losses,
    gather_entries,
    row_products,
    solve_blocks,
    sum_along,
)
from locallin.kernels.predict import entries_by_anchor
from locallin.solvers.convex import Monitor, Problem, Solution

# Largest width of a local model, and number of elements in all, for which each
# anchor's own part of the Hessian is factorised.
_WIDEST_BLOCK = 128
_MOST_ELEMENTS = 2e7
# Conjugate gradients end when the residual, in the preconditioner's norm, has fallen
# to this share, or after so many products.
_RESIDUAL = 0.4
_MOST_PRODUCTS = 250
# The search along a step ends where the slope has fallen to this share.
_SLOPE = 0.05


def solve_newton(
    problem: Problem,
    *,
    max_iter: int,
    tol: float | None,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    monitor: Monitor = lambda *_: False,
) -> Solution:
    """Newton steps until the duality gap is ``tol`` of the objective.

    The gap is that to the dual point which the slopes of the losses are: |gradient|^2
    / (2 alpha). A score also ends where rounding keeps its objective from falling,
    and with a ``tol`` of None nowhere else.
    """
    coef, intercept = problem.zeros()
    history: list[float] = []
    solution = Solution(coef, intercept, 0, history, converged=False)
    shared = _SharedRows(problem)
    scores = [_Score(shared, c, start) for c in range(problem.n_scores)]
    for score in scores:
        score.write(coef, intercept)
    tol = 0.0 if tol is None else tol
    try:
        with single_threaded_blas():
            _each(problem, scores, _Score.begin)
            for epoch in range(1, max_iter + 1):
                busy = [score for score in scores if not score.is_done(tol)]
                _each(problem, busy, _Score.step)
                for score in scores:
                    score.write(coef, intercept)
                solution.n_iter = epoch
                objective = sum(score.value for score in scores)
                history.append(objective)
                stop = monitor(epoch, objective, coef, intercept)
                if stop or all(score.is_done(tol) for score in scores):
                    solution.converged = True
                    break
    except KeyboardInterrupt:
        solution.interrupted = True
    if solution.n_iter > 0:
        gap = sum(score.gap for score in scores)
        solution.gap = gap / max(sum(score.value for score in scores), 1e-300)
    return solution


def _each(problem: Problem, scores: list, function) -> None:
    in_threads(function, [(score,) for score in scores], problem.n_jobs)


class _SharedRows:
    """What all scores see of a problem."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.weights = problem.target.weights / problem.n_rows
        self.constant = problem.intercept_scaling
        self.shape = problem.n_anchors, problem.n_features + 1
        self.dtype = problem.rows.data.dtype
        width = self.shape[1]
        self.has_blocks = (
            width <= _WIDEST_BLOCK and problem.n_anchors * width**2 <= _MOST_ELEMENTS
        )
        if self.has_blocks:
            self.entries = entries_by_anchor(problem.codes, problem.n_anchors)

    @property
    def data(self) -> tuple:
        return self.problem.rows, self.problem.codes


class _Score:
    """One score: its weights, margins and gradient, and a step of the method."""

    def __init__(self, shared: _SharedRows, number: int, start):
        problem = shared.problem
        self._shared, self._problem, self._number = shared, problem, number
        self._signs, self._shift = _aims(problem, number)
        given = problem.loss_parameters
        self._parameter = None if given is None else float(given[number])
        self._v = np.zeros(shared.shape)
        if start is not None:
            coef, intercept = start
            self._v[:, :-1] = coef[:, number]
            self._v[:, -1] = intercept[:, number] / shared.constant
        self.value = self.gap = np.inf
        self._bound = 0.0
        self._is_stuck = False

    def begin(self) -> None:
        """Look around at the start, or where the way through it from zero is best."""
        self._margins = self._products(self._v) - self._shift
        if self._v.any():
            self._search(self._v.copy())
        self._look()

    def is_done(self, tol: float) -> bool:
        """Whether another step is not needed, or not possible."""
        return self._is_stuck or self.gap <= tol * self.value

    def write(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Put the weights where all scores have theirs."""
        coef[:, self._number] = self._v[:, :-1]
        intercept[:, self._number] = self._v[:, -1] * self._shared.constant

    def step(self) -> None:
        """One step of Newton's method."""
        before = self.value
        self._search(self._newton_direction())
        self._look()
        self._is_stuck = not self.value < before

    def _products(self, v: np.ndarray) -> np.ndarray:
        """y_i z_i . v of every row that counts."""
        out = np.zeros(len(self._signs))
        for chunk in self._problem.chunks(self._problem.visits):
            row_products(*self._shared.data, chunk, v, self._shared.constant, out)
        return out * self._signs

    def _bend(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Sum of the losses, and their derivatives by each row's margin."""
        problem, slopes, curvature = self._problem, *np.zeros((2, len(self._signs)))
        losses = bend_losses(
            problem.loss, self._parameter, problem.visits, self._shared.weights,
            self._margins, slopes, curvature,
        )  # fmt: skip
        return losses, slopes, curvature

    def _look(self) -> None:
        """Objective, gradient and gap at the present weights."""
        problem, shared = self._problem, self._shared
        losses, slopes, _ = self._bend()
        self.value = losses + 0.5 * problem.alpha * _dot(self._v, self._v)
        slopes *= self._signs
        self._gradient = problem.alpha * self._v
        for chunk in problem.chunks(problem.visits):
            add_rows(*shared.data, chunk, slopes, shared.constant, self._gradient)
        # The slopes are a point of the dual, whose value no objective falls below.
        gap = _dot(self._gradient, self._gradient) / (2.0 * problem.alpha)
        self._bound = max(self._bound, self.value - gap)
        self.gap = self.value - self._bound

    def _newton_direction(self) -> np.ndarray:
        """Solve the Newton equation by preconditioned conjugate gradients."""
        problem, shared = self._problem, self._shared
        _, _, curvature = self._bend()
        chunks = problem.chunks(problem.visits[curvature[problem.visits] > 0.0])
        precondition = _preconditioner(shared, chunks, curvature)
        direction = np.zeros(shared.shape)
        residual = -self._gradient
        conjugate = z = precondition(residual)
        first = product = _dot(residual, z)
        for _ in range(_MOST_PRODUCTS):
            bent = self._hessian_product(chunks, curvature, conjugate)
            length = product / _dot(conjugate, bent)
            direction += length * conjugate
            residual -= length * bent
            z = precondition(residual)
            last, product = product, _dot(residual, z)
            if product <= _RESIDUAL**2 * first:
                break
            conjugate = z + (product / last) * conjugate
        return direction

    def _hessian_product(self, chunks, curvature, v: np.ndarray) -> np.ndarray:
        shared = self._shared
        out = np.zeros(shared.shape, shared.dtype)
        in_kind = v.astype(shared.dtype)
        for chunk in chunks:
            add_hessian_product(
                *shared.data, chunk, curvature, in_kind, shared.constant, out
            )
        return out + self._problem.alpha * v

    def _search(self, direction: np.ndarray) -> None:
        """Go along a direction to the minimum, nearly, and keep the margins."""
        problem = self._problem
        changes = self._products(direction)
        along, square = _dot(self._v, direction), _dot(direction, direction)

        def derivatives(t):
            _, slope, bend = sum_along(
                problem.loss, self._parameter, problem.visits,
                self._shared.weights, self._margins, changes, t,
            )  # fmt: skip
            penalty = problem.alpha * (along + t * square)
            return slope + penalty, bend + problem.alpha * square

        t = _root(derivatives)
        self._v += t * direction
        self._margins += t * changes


def _aims(problem: Problem, number: int) -> tuple[np.ndarray, np.ndarray | float]:
    """Signs and shifts that make margins, or residuals, of the scores of the rows."""
    labels = problem.target.labels
    if problem.loss_parameters is not None:
        return np.ones(len(labels), np.int8), labels[:, number]
    positive = labels == problem.target.positive[number]
    return np.where(positive, 1, -1).astype(np.int8), 0.0


def _root(derivatives) -> float:
    """Where the slope of a convex function along a line nearly vanishes."""
    first, bend = derivatives(0.0)
    if not first < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(50):
        slope, bend = derivatives(t)
        if abs(slope) <= _SLOPE * abs(first):
            break
        if slope < 0.0:
            low = t
        else:
            high = t
        t -= slope / max(bend, 1e-300)
        if np.isinf(high):
            t = min(t, 10.0 * low)
        elif not low < t < high:
            t = 0.5 * (low + high)
    return t


def _preconditioner(shared: _SharedRows, chunks, curvature):
    """A function that solves an approximate Newton equation."""
    if shared.has_blocks:
        factors = _factors(shared, curvature)

        def solve(v):
            out = np.empty_like(v)
            solve_blocks(factors, v, out)
            return out

        return solve
    diagonal = np.full(shared.shape, shared.problem.alpha)
    for chunk in chunks:
        add_hessian_diagonal(*shared.data, chunk, curvature, shared.constant, diagonal)
    return lambda v: v / diagonal


def _factors(shared: _SharedRows, curvature) -> np.ndarray:
    """Cholesky factors of each anchor's own part of the Hessian."""
    start, entry, row = shared.entries
    root = np.sqrt(curvature)
    m, width = shared.shape
    room = np.empty((np.diff(start).max(initial=1), width))
    factors = np.empty((m, width, width))
    for j in range(m):
        own = slice(start[j], start[j + 1])
        filled = gather_entries(
            *shared.data, entry[own], row[own], root, shared.constant, room
        )
        block = room[:filled].T @ room[:filled]
        block.flat[:: width + 1] += shared.problem.alpha
        factors[j] = _cholesky(block)
    return factors


def _cholesky(block: np.ndarray) -> np.ndarray:
    """Factorise, with a larger diagonal where rounding has made it too small."""
    diagonal = block.diagonal().copy()
    for ridge in (0.0, 1e-14, 1e-11, 1e-8):
        np.fill_diagonal(block, diagonal + ridge * diagonal.sum())
        with suppress(np.linalg.LinAlgError):
            return np.linalg.cholesky(block)
    return np.diag(np.sqrt(diagonal))


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.vdot(a, b))
