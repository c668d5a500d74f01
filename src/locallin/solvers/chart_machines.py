"""Machines on charts, one-vs-rest or one-vs-one, each in a thread of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event

import numpy as np

from locallin.charts.affine import ChartedRows
from locallin.engine.parallel import in_threads
from locallin.kernels.linear import Target
from locallin.solvers.convex import Problem, Solution, solve_dual
from locallin.solvers.kernel_svm import KernelSolution, solve_kernel_svm

# Positive class, and negative class or None for all others.
Machine = tuple[int, int | None]
# Called with the number of a machine, from 0, and what it has reached.
Report = Callable[[int, str], None]


def solve_kernel_machines(
    rows: ChartedRows,
    n_charts: int,
    target: Target,
    machines: Sequence[Machine],
    alpha: float,
    *,
    report: Report,
    n_jobs: int | None,
    **settings,
) -> list[KernelSolution]:
    """Solve a kernel SVM for each machine; C is 1 / (alpha n) times a row's weight.

    ``settings`` are those of :func:`~locallin.solvers.kernel_svm.solve_kernel_svm`.
    Rows of other classes than a machine's have dual variables of zero.
    """
    labels = target.labels
    upper = target.weights / (alpha * len(rows))

    def solve(number, positive, negative):
        here: slice | np.ndarray = slice(None)
        if negative is not None:
            here = np.flatnonzero(np.isin(labels, (positive, negative)))
        signs = np.where(labels[here] == positive, 1, -1)
        solution = solve_kernel_svm(
            rows[here], n_charts, signs, upper[here], **settings
        )
        report(number, f"{np.count_nonzero(solution.dual)} support vectors")
        dual = np.zeros(len(rows))
        dual[here] = solution.dual
        return replace(solution, dual=dual)

    tasks = [(number, *machine) for number, machine in enumerate(machines)]
    return in_threads(solve, tasks, n_jobs)


def solve_linear_machines(
    problem: Problem,
    machines: Sequence[Machine],
    *,
    report: Report,
    rng: np.random.RandomState,
    stop: Event,
    **settings,
) -> list[Solution]:
    """Solve the problem of all rows at once, or that of each pair of classes.

    ``settings`` are those of :func:`~locallin.solvers.convex.solve_dual`. Ctrl-C sets
    ``stop``, which ends the work after the current pass.
    """
    problems = [problem]
    if machines[0][1] is not None:
        problems = [_pair(problem, machine) for machine in machines]
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(problems))

    def solve(number, part):
        solution = solve_dual(
            part,
            rng=np.random.RandomState(seeds[number]),
            monitor=lambda *_: stop.is_set(),
            **settings,
        )
        if solution.interrupted:
            stop.set()
        report(number, f"{solution.n_iter} passes")
        return solution

    return in_threads(solve, list(enumerate(problems)), problem.n_jobs)


def _pair(problem: Problem, machine: Machine) -> Problem:
    """The problem of the rows of two classes, with the C of all rows."""
    labels, _, weights = problem.target
    positive, negative = machine
    visits = np.flatnonzero((labels == positive) | (labels == negative))
    return replace(
        problem,
        target=Target(labels, np.array([positive]), weights),
        visits=visits,
        alpha=problem.alpha * problem.n_rows / len(visits),
        n_jobs=None,
    )
