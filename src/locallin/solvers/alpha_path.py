"""Paths over alpha: folds solved from the largest alpha to the smallest."""

from dataclasses import dataclass, replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from locallin.engine.parallel import ThreadTeam
from locallin.kernels.linear import CRAMMER_SINGER
from locallin.kernels.losses import HINGE, LOGISTIC
from locallin.solvers.convex import Problem, Solution, solve_dual
from locallin.solvers.growth import weighted_mean
from locallin.solvers.newton import solve_newton

# Standard errors by which held-out rows may lose before a descent ends.
_DOUBT = 2.0
# A descent finds out where to stop, not where exactly the minimum lies: gap that is
# enough for it, and passes to each alpha.
_DESCENT_GAP, _DESCENT_PASSES = 0.05, 50


def growth(problem: Problem, last: Solution, ratio: float) -> np.ndarray:
    """Factor for each score by which the dual variables start larger.

    ``last`` solves the problem at ``ratio`` times its alpha. Among its multiples by
    1 to ``ratio``, which all lie in the larger box, the best is found: the dual is
    concave along the ray, and quadratic but for the logistic loss.
    """
    a: Any = last.dual
    squares = 2.0 / problem.alpha * problem.penalty(*last.learned)
    upper = problem.target.weights / (problem.alpha * problem.n_rows)
    if problem.strategy == CRAMMER_SINGER:
        gain = np.maximum(a, 0.0).sum(dtype=float)
        factor = gain / max(squares.sum(), 1e-300)
        return np.full(problem.n_scores, np.clip(factor, 1.0, ratio))
    if problem.loss == LOGISTIC:
        return _logistic_growth(a[problem.visits], upper, problem, squares, ratio)
    curvature = squares
    if problem.loss != HINGE:
        ridge = 0.5 / np.where(upper > 0, upper, np.inf)
        curvature = squares + np.einsum("ic,ic,i->c", a, a, ridge, dtype=float)
    factor = a.sum(axis=0, dtype=float) / np.maximum(curvature, 1e-300)
    return np.clip(factor, 1.0, ratio)


def _grown_dual(problem: Problem, last: Solution | None, ratio: float):
    """Dual variables to start from, or None."""
    if last is None or last.dual is None:
        return None
    return last.dual * growth(problem, last, ratio).astype(last.dual.dtype)


def _logistic_growth(a, upper, problem, squares, ratio) -> np.ndarray:
    """Halve the range of factors where the dual's slope along the ray vanishes."""
    upper = upper[problem.visits, None]
    low, high = np.ones(problem.n_scores), np.full(problem.n_scores, ratio)
    for _ in range(4):
        middle = 0.5 * (low + high)
        grown = middle * a
        odds = np.maximum(grown, 1e-300) / np.maximum(upper - grown, 1e-300)
        rising = -middle * squares > np.einsum("ic,ic->c", a, np.log(odds))
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return 0.5 * (low + high)


@dataclass(frozen=True)
class Fold:
    """A problem without some rows, and these rows."""

    problem: Problem  # its alpha is the unit of those of the path
    held: Any  # rows, labels and weights, as ``score`` takes them
    X: Any  # the held-out rows as a scorer takes them
    y: np.ndarray


@dataclass
class Path:
    """What cross-validation has found; rows of NaN where it was interrupted."""

    scores: np.ndarray
    iterations: np.ndarray
    best: int | None = None
    mean: tuple[Any, Any] | None = None  # of the folds' weights at the best alpha
    interrupted: bool = False


def solve_path(
    folds: list[Fold],
    alphas: np.ndarray,
    score,
    *,
    solver: str = "dual",
    max_iter: int,
    tol: float | None,
    seeds,
    n_jobs: int | None,
    report=lambda *_: None,
) -> Path:
    """Solve and score every fold at every alpha, from the largest down.

    Each fold starts from its own solution at the last alpha; ``solver`` is "dual" or
    "newton". ``score(fold, solution,
    alpha)`` is a number, larger where better; ``report(i, path)`` is called when an
    alpha is done. The best alpha is the largest whose mean score no other exceeds.
    """
    shape = len(alphas), len(folds)
    path = Path(np.full(shape, np.nan), np.zeros(shape, int))
    rngs = [np.random.RandomState(seed) for seed in seeds]
    last: list[Solution | None] = [None] * len(folds)
    stopped = Event()

    def solve(i, f):
        fold = folds[f]
        solution = _step_down(
            fold.problem, alphas, i, last[f], solver, rngs[f],
            max_iter=max_iter, tol=tol, monitor=lambda *_: stopped.is_set(),
        )  # fmt: skip
        if solution.interrupted:
            raise KeyboardInterrupt
        last[f] = solution
        return score(fold, solution, alphas[i]), solution.n_iter

    def step(*task):
        try:
            return solve(*task)
        except BaseException:
            stopped.set()
            raise

    try:
        with ThreadTeam(n_jobs, len(folds)) as crew:
            for i in range(len(alphas)):
                try:
                    done = crew.run(step, [(i, f) for f in range(len(folds))])
                finally:
                    # Whoever still works after an error or Ctrl-C ends its epoch.
                    stopped.set()
                stopped.clear()
                path.scores[i], path.iterations[i] = zip(*done, strict=True)
                if path.best is None or _exceeds(path.scores, i, path.best):
                    path.best = i
                    solved = (s.learned for s in last if s is not None)
                    weights = zip(*solved, strict=True)
                    path.mean = tuple(np.mean(part, axis=0) for part in weights)
                report(i, path)
    except KeyboardInterrupt:
        path.interrupted = True
    return path


class Descent(NamedTuple):
    """Where a descent ended: a place among the alphas, its solution, and the losses."""

    place: int
    solution: Solution
    losses: np.ndarray  # mean of the held-out rows at each alpha that was tried


def descend(
    fold: Fold,
    alphas: np.ndarray,
    losses_at,
    *,
    solver: str = "dual",
    max_iter: int,
    tol: float | None,
    rng: np.random.RandomState,
    report=lambda *_: None,
) -> Descent:
    """Lower alpha as long as held-out rows do not lose by it.

    ``losses_at(solution)`` are the losses of the held-out rows. The descent ends where
    their mean exceeds the least one so far by more than two standard errors of the
    difference, row by row: the alpha before that is chosen, the weakest that held-out
    rows say nothing against. Each solve starts from the last. An interrupted one is
    handed back as it is.
    """
    means: list[float] = []
    chosen = best = None
    for i in range(len(alphas)):
        solution = _step_down(
            fold.problem, alphas, i, chosen, solver, rng,
            max_iter=min(max_iter, _DESCENT_PASSES),
            tol=max(tol or 0.0, _DESCENT_GAP),
        )  # fmt: skip
        losses = losses_at(solution)
        mean, _ = weighted_mean(losses, fold.held.weights)
        means.append(mean)
        report(i, mean)
        if solution.interrupted:
            return Descent(i, solution, np.array(means))
        if best is None or mean <= min(means):
            best = losses
        rise, doubt = weighted_mean(losses - best, fold.held.weights)
        if chosen is not None and rise > _DOUBT * doubt:
            return Descent(i - 1, chosen, np.array(means))
        chosen = solution
    assert chosen is not None
    return Descent(len(alphas) - 1, chosen, np.array(means))


def _step_down(problem, alphas, i, before, solver, rng, **settings) -> Solution:
    """Solve at the alpha of place i, from the solution at that of the place before."""
    problem = replace(problem, alpha=problem.alpha * alphas[i])
    if solver == "newton":
        start = None if before is None else before.learned
        return solve_newton(problem, start=start, **settings)
    ratio = 1.0 if before is None else alphas[i - 1] / alphas[i]
    dual = _grown_dual(problem, before, ratio)
    return solve_dual(problem, rng=rng, dual=dual, **settings)


def _exceeds(scores, i, best) -> bool:
    """Whether the mean of row i is larger, and not by rounding alone."""
    new, old = scores[i].mean(), scores[best].mean()
    return new > old and not np.isclose(new, old, rtol=1e-12, atol=0)
