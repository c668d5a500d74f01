"""Outer loops of the solvers: epochs, buffers, stopping. No estimator in here.

Both solvers minimise the objective that :mod:`locallin.kernels.linear` states,
summed over the scores of a one-vs-rest problem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from locallin.engine.parallel import in_threads, score_ranges
from locallin.kernels.dual import (
    DualProblem,
    DualState,
    dual_epoch,
    dual_epoch_crammer_singer,
    sum_gaps,
    sum_gaps_crammer_singer,
    weights_from_dual,
)
from locallin.kernels.linear import (
    CRAMMER_SINGER,
    DataTerm,
    Iterate,
    Schedule,
    T,
    Target,
    feature_norms,
    fresh_state,
    settle,
    sgd_steps,
    sum_losses,
)
from locallin.kernels.losses import HINGE, LOGISTIC
from locallin.kernels.rows import Codes, Rows

# Multiply-adds after which a kernel hands back control: Ctrl-C waits that long.
_WORK_PER_CALL = 1e9
# Rows on which the first step of SGD is tried out.
_TRIAL_ROWS = 1000

# Called after every epoch with (epoch, objective, coef, intercept); returns True
# to stop. The arrays are the solver's own: copy what must last.
Monitor = Callable[[int, float, np.ndarray, np.ndarray], bool]


@dataclass(frozen=True)
class Problem:
    """The convex problem: data, codes, targets and the objective's parameters.

    ``visits`` names the rows that count; their weights have a mean of one.
    ``loss_parameters`` are those of a loss of numbers, one of each score, None where
    rows have classes. A free intercept has no penalty; only SGD solves that.
    """

    rows: Rows
    codes: Codes
    target: Target
    visits: np.ndarray
    n_anchors: int
    n_features: int
    alpha: float
    intercept_scaling: float
    loss: int
    strategy: int
    n_jobs: int | None = None
    loss_parameters: np.ndarray | None = None
    free_intercept: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return len(self.visits)

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        return len(self.target.positive)

    @property
    def intercept_step(self) -> float:
        """Square of the constant feature."""
        return self.intercept_scaling**2

    def schedule(self, t0: float, average: bool) -> Schedule:
        """Steps of SGD."""
        step = self.intercept_step
        return Schedule(self.alpha, t0, step, average, self.free_intercept)

    @property
    def data_term(self) -> DataTerm:
        """The sum of losses, as kernels take it."""
        return DataTerm(self.rows, self.codes, self.target, self.loss, self.strategy)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of scores that threads work on independently."""
        if self.strategy == CRAMMER_SINGER:
            return [(0, self.n_scores)]
        return score_ranges(self.n_scores, self.n_jobs)

    def zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights and intercepts of zero."""
        shape = (self.n_anchors, self.n_scores)
        dtype = self.rows.data.dtype
        return np.zeros((*shape, self.n_features), dtype), np.zeros(shape, dtype)

    def chunks(self, order: np.ndarray) -> list[np.ndarray]:
        """Cut an order of visits into pieces of a fraction of a second."""
        n = len(self.codes.indptr) - 1
        data = self.rows.data
        per_model = self.n_features if data.ndim == 3 else data.size / n
        row_work = (1.0 + per_model) * (self.codes.values.size / n)
        size = max(1, int(_WORK_PER_CALL / (row_work * self.n_scores)))
        return [order[s : s + size] for s in range(0, len(order), size)]

    def penalty(self, coef, intercept) -> np.ndarray:
        """alpha/2 (|W_c|^2 + |b_c|^2 / B^2) of each score; a free b is left out."""
        squares = np.einsum("jcd,jcd->c", coef, coef, dtype=float)
        if not self.free_intercept:
            squares += np.einsum("jc,jc->c", intercept, intercept, dtype=float) / (
                self.intercept_step
            )
        return 0.5 * self.alpha * squares

    def objective(self, coef, intercept, order=None) -> float:
        """Objective at the given weights, on all rows or on those in ``order``."""
        order = self.visits if order is None else order
        total = 0.0
        for chunk in self.chunks(order):
            work = partial(sum_losses, self.data_term, chunk, coef, intercept)
            total += sum(in_threads(work, self.ranges, self.n_jobs))
        return float(self.penalty(coef, intercept).sum() + total / len(order))


@dataclass
class Solution:
    """What a solver hands back, also when it was interrupted."""

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int
    objective_history: list[float]
    converged: bool
    interrupted: bool = False
    gap: float | None = None
    dual: np.ndarray | None = None
    clock: tuple[float, float] | None = None  # t and t0 of SGD
    iterate: tuple[np.ndarray, np.ndarray] | None = None  # the last, not averaged

    @property
    def learned(self) -> tuple[np.ndarray, np.ndarray]:
        """The parameters, as the monitor gets them."""
        return self.coef, self.intercept

    def state_arrays(self, averaged: bool) -> dict[str, np.ndarray]:
        """What SGD needs to go on, by name."""
        arrays = {}
        if self.clock is not None:
            arrays["t"], arrays["t0"] = map(np.asarray, self.clock)
        if averaged and self.iterate is not None:
            arrays["iterate_coef"], arrays["iterate_intercept"] = self.iterate
        return arrays


class Stall:
    """Tells when an objective has stopped falling; never with a tol of None."""

    def __init__(self, tol: float | None, patience: int):
        self._tol, self._patience = tol, patience
        self._best, self._waited = np.inf, 0

    def reached(self, objective: float) -> bool:
        """Take an epoch's objective; True after ``patience`` epochs without a fall.

        A fall is one by more than ``tol``, relative to the best so far.
        """
        if self._tol is None:
            return False
        fell = objective < self._best * (1.0 - self._tol)
        self._waited = 0 if fell else self._waited + 1
        self._best = min(self._best, objective)
        return self._waited >= self._patience


def solve_sgd(
    problem: Problem,
    start: tuple[np.ndarray, np.ndarray],
    *,
    max_iter: int,
    tol: float | None,
    n_iter_no_change: int,
    average: bool,
    shuffle: bool,
    rng: np.random.RandomState,
    clock: tuple[float, float | None] = (0.0, None),
    mean: tuple[np.ndarray, np.ndarray] | None = None,
    monitor: Monitor = lambda *_: False,
) -> Solution:
    """Algorithm 1 of the LL-SVM paper, averaged.

    ``start`` is updated in place. ``clock`` is (t, t0): t0 None is found from the
    data, by the step that serves best in one pass over a sample. Stops after
    ``max_iter`` epochs, or when the objective met on the way has not fallen by more
    than ``tol`` (relative) for ``n_iter_no_change`` epochs.
    """
    t, t0 = clock
    if t0 is None:
        t0 = 1.0 / (problem.alpha * find_step(problem, start, shuffle, rng))
    if mean is None:
        mean = (start[0].copy(), start[1].copy()) if average else start
    iterate = Iterate(*start, *mean)
    # Not below 2: the first step must not wipe out the start (eq. 13).
    t0 = max(float(t0), 2.0)
    schedule = problem.schedule(t0, average)
    states = [fresh_state(t) for _ in problem.ranges]
    history: list[float] = []
    stall = Stall(tol, n_iter_no_change)
    solution = Solution(*mean, 0, history, converged=tol is None)
    order = problem.visits.copy()
    try:
        for epoch in range(1, max_iter + 1):
            if shuffle:
                rng.shuffle(order)
            total = 0.0
            for chunk in problem.chunks(order):
                total += _sgd_chunk(problem, chunk, iterate, states, schedule)
            _settle_all(problem, iterate, states, schedule)
            solution.n_iter = epoch
            objective = total / problem.n_rows + float(
                problem.penalty(*iterate[:2]).sum()
            )
            history.append(objective)
            if monitor(epoch, objective, *mean):
                solution.converged = True
                break
            if stall.reached(objective):
                solution.converged = True
                break
    except KeyboardInterrupt:
        _settle_all(problem, iterate, states, schedule)
        solution.interrupted = True
    solution.clock = (float(states[0][T]), t0)
    solution.iterate = start
    return solution


def _sgd_chunk(problem, chunk, iterate, states, schedule) -> float:
    def work(first, last, state):
        return sgd_steps(data, chunk, iterate, state, schedule, first, last)

    data = problem.data_term
    tasks = [(*r, s) for r, s in zip(problem.ranges, states, strict=True)]
    return sum(in_threads(work, tasks, problem.n_jobs))


def _settle_all(problem, iterate, states, schedule) -> None:
    for (first, last), state in zip(problem.ranges, states, strict=True):
        settle(iterate, state, schedule, first, last)


def find_step(problem, start, shuffle, rng) -> float:
    """First step of SGD, as Bottou's SVMSGD2 finds it.

    One pass over a sample of rows from the given start, for steps apart by factors
    of two; the one with the lowest objective on the sample wins.
    """
    sample = problem.visits.copy()
    if problem.n_rows > _TRIAL_ROWS:
        sample = rng.choice(sample, _TRIAL_ROWS, replace=False)
    elif shuffle:
        rng.shuffle(sample)
    scratch = [a.copy() for a in start]
    trial = Iterate(*scratch, *scratch)

    def objective_after(eta):
        for a, b in zip(scratch, start, strict=True):
            a[...] = b
        t0 = max(1.0 / (problem.alpha * eta), 2.0)
        schedule = problem.schedule(t0, average=False)
        states = [fresh_state(0.0) for _ in problem.ranges]
        _sgd_chunk(problem, sample, trial, states, schedule)
        _settle_all(problem, trial, states, schedule)
        value = problem.objective(*scratch, order=sample)
        return value if np.isfinite(value) else np.inf

    norms = feature_norms(problem.rows, problem.codes, problem.intercept_step)
    eta = 1.0 / max(float(norms[sample].mean()), np.finfo(float).tiny)
    value = objective_after(eta)
    factor = 2.0
    if objective_after(eta * factor) >= value:
        factor = 0.5
    for _ in range(40):
        next_value = objective_after(eta * factor)
        if not next_value < value:
            break
        eta, value = eta * factor, next_value
    return eta


def solve_dual(
    problem: Problem,
    *,
    max_iter: int,
    tol: float | None,
    rng: np.random.RandomState,
    dual: np.ndarray | None = None,
    monitor: Monitor = lambda *_: False,
    descent_of: Callable | None = None,
) -> Solution:
    """Dual coordinate descent until the duality gap is ``tol`` of the objective.

    A ``tol`` of None makes all ``max_iter`` passes.

    The gap terms met during an epoch estimate the gap for free; when the estimate
    is small enough the exact gap is computed, and it alone ends the work on a score.
    ``dual`` is a start of shape (n, n_scores), cut to the box. ``descent_of`` makes the
    passes of a problem from such a start; None is for classes.
    """
    descent = (descent_of or _DualDescent)(problem, dual)
    n_scores, crammer_singer = problem.n_scores, problem.strategy == CRAMMER_SINGER
    history: list[float] = []
    solution = Solution(
        descent.coef, descent.intercept, 0, history,
        converged=tol is None, dual=descent.dual,
    )  # fmt: skip
    tol = 0.0 if tol is None else tol
    order = problem.visits.copy()
    gaps, values = np.full(n_scores, np.inf), np.zeros(n_scores)
    try:
        for epoch in range(1, max_iter + 1):
            rng.shuffle(order)
            met = descent.run(order)
            solution.n_iter = epoch
            busy = descent.busy
            gaps[busy] = problem.alpha * met[busy]
            values = descent.values()
            last = epoch == max_iter
            if last or (gaps <= tol * (values + gaps))[busy].any():
                gaps = descent.exact_gaps()
            if crammer_singer:
                done = np.full(n_scores, gaps[0] <= tol * (values.sum() + gaps[0]))
            else:
                done = gaps <= tol * (values + gaps)
            busy &= ~done
            objective = float((values + gaps).sum())
            history.append(objective)
            stop = monitor(epoch, objective, *solution.learned)
            if stop or not busy.any():
                solution.converged = True
                break
    except KeyboardInterrupt:
        solution.interrupted = True
    if solution.n_iter > 0:
        solution.gap = float(gaps.sum() / max((values + gaps).sum(), 1e-300))
        # A score may fall short where all of them together do not.
        solution.converged |= solution.gap <= tol and not solution.interrupted
    return solution


class _DualDescent:
    """Dual and primal variables of a problem, and passes over its rows.

    ``busy`` are the scores that are still worked on.
    """

    def __init__(self, problem: Problem, dual: np.ndarray | None):
        n, n_scores = len(problem.target.labels), problem.n_scores
        self._problem = problem
        self.coef, self.intercept = problem.zeros()
        upper = problem.target.weights / (problem.alpha * problem.n_rows)
        constant = problem.intercept_step
        norms = feature_norms(problem.rows, problem.codes, constant)
        self._terms = DualProblem(problem.data_term, upper, norms, constant)
        self.busy = np.ones(n_scores, bool)
        if dual is None:
            self.dual = np.zeros((n, n_scores), self.coef.dtype)
        else:
            self.dual = _into_box(dual, upper, problem)
        self._is_joint = problem.strategy == CRAMMER_SINGER
        rest = np.zeros((n, 2) if self._is_joint else (n, n_scores, 2), np.uint8)
        self._model = DualState(self.coef, self.intercept, self.dual, rest)
        if dual is not None:
            weights_from_dual(self._terms, problem.visits, self._model)

    def run(self, order: np.ndarray) -> np.ndarray:
        """One pass in this order; the gap terms met on the way, of each score."""
        gaps = np.zeros(self._problem.n_scores)
        for chunk in self._problem.chunks(order):
            self._descend(chunk, gaps)
        return gaps

    def _descend(self, chunk, gaps) -> None:
        problem, terms, model = self._problem, self._terms, self._model
        if self._is_joint:
            gaps[0] += dual_epoch_crammer_singer(terms, chunk, model)
            return

        def work(first, last):
            dual_epoch(terms, chunk, model, self.busy, first, last, gaps)

        in_threads(work, problem.ranges, problem.n_jobs)

    def values(self) -> np.ndarray:
        """Dual objective of each score."""
        model = self.coef, self.intercept, self.dual
        return _dual_values(self._problem, *model, self._terms.upper)

    def exact_gaps(self) -> np.ndarray:
        """Duality gap of each score; where the loss is joint, of all in the first."""
        problem, terms, model = self._problem, self._terms, self._model
        gaps = np.zeros(problem.n_scores)
        for chunk in problem.chunks(problem.visits):
            if self._is_joint:
                gaps[0] += sum_gaps_crammer_singer(terms, chunk, model)
                continue

            def work(first, last, chunk=chunk):
                sum_gaps(terms, chunk, model, first, last, gaps)

            in_threads(work, problem.ranges, problem.n_jobs)
        return problem.alpha * gaps


def _into_box(dual, upper, problem) -> np.ndarray:
    """Make a start feasible, and copy it."""
    if problem.strategy == CRAMMER_SINGER:
        own = problem.target.labels
        rows = np.arange(len(own))
        dual = np.minimum(dual, 0.0)
        dual[rows, own] = 0.0
        total = -dual.sum(axis=1)
        dual *= np.minimum(1.0, upper / np.maximum(total, 1e-300))[:, None]
        dual[rows, own] = -dual.sum(axis=1)
        return dual
    top = np.inf if problem.loss not in (HINGE, LOGISTIC) else upper[:, None]
    return np.clip(dual, 0.0, top).astype(dual.dtype)


def _dual_values(problem, coef, intercept, dual, upper) -> np.ndarray:
    """Dual objective of each score, in the units of the primal objective."""
    penalty = problem.penalty(coef, intercept)
    if problem.strategy == CRAMMER_SINGER:
        # sum over c != own of -a_c; the entries of a row add up to zero.
        own = dual[np.arange(len(dual)), problem.target.labels]
        values = -penalty
        values[0] += problem.alpha * own.sum(dtype=float)
        return values
    conjugate = np.zeros(problem.n_scores)
    if problem.loss == LOGISTIC:
        for c in range(problem.n_scores):
            a = dual[:, c]
            conjugate[c] = (_xlogx(a) + _xlogx(upper - a) - _xlogx(upper)).sum()
    else:
        conjugate = -dual.sum(axis=0, dtype=float)
        if problem.loss != HINGE:
            # Rows of weight 0 have a = 0 and no term.
            quarter = 0.25 / np.where(upper > 0, upper, 1.0)
            conjugate += np.einsum("ic,ic,i->c", dual, dual, quarter, dtype=float)
    return -penalty - problem.alpha * conjugate


def _xlogx(x):
    x = np.maximum(x, 0.0, dtype=float)
    return x * np.log(np.where(x > 0, x, 1.0))
