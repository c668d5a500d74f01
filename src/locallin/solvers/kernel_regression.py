"""Numbers on the chart kernel: ridge in closed form, and support vector regression."""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from locallin.charts.affine import ChartedRows
from locallin.engine.parallel import in_threads
from locallin.solvers.kernel_svm import ChartKernel, KernelSolution, solve_kernel_svm


def solve_kernel_ridge(
    rows: ChartedRows, n_charts: int, wanted: np.ndarray, upper: np.ndarray
) -> list[KernelSolution]:
    """Minimise 1/2 |w|^2 + sum_i C_i (f(x_i) - y_i)^2 / 2 with a free intercept.

    The dual variables solve (K + 1/C) a = y - b with a sum of zero: one factorisation
    of the whole Gram matrix serves all targets.

    Parameters
    ----------
    wanted : array of shape (n, n_targets)
    upper : array of shape (n,)
        C of each row.
    """
    n = len(rows)
    gram = ChartKernel.of(rows, n_charts).block(rows, n).astype(float)
    gram[np.diag_indices(n)] += 1.0 / upper
    factor = cho_factor(gram, lower=True, overwrite_a=True)
    found = cho_solve(factor, np.column_stack([wanted, np.ones(n)]))
    by_ones = found[:, -1]
    solutions = []
    for target, dual in zip(wanted.T, found[:, :-1].T, strict=True):
        intercept = float(dual.sum() / by_ones.sum())
        dual = dual - intercept * by_ones
        objective = -0.5 * float(dual @ (target - intercept))
        solutions.append(KernelSolution(dual, intercept, 1, objective, True))
    return solutions


def solve_kernel_svr(
    rows: ChartedRows,
    n_charts: int,
    wanted: np.ndarray,
    upper: np.ndarray,
    *,
    epsilon: float,
    report,
    n_jobs: int | None,
    **settings,
) -> list[KernelSolution]:
    """Minimise 1/2 |w|^2 + sum_i C_i max(0, |f(x_i) - y_i| - epsilon).

    f has a free intercept. A row has two variables, one that lifts f and one that
    lowers it: a machine for two classes of the rows and the same rows again, in which a
    variable costs epsilon less or plus what y wants. ``settings`` are those of
    :func:`~locallin.solvers.kernel_svm.solve_kernel_svm`.
    """
    n = len(rows)
    twice = rows[np.tile(np.arange(n), 2)]
    signs = np.repeat([1, -1], n)

    def solve(number, target):
        solution = solve_kernel_svm(
            twice, n_charts, signs, np.tile(upper, 2), squared=False,
            costs=epsilon - signs * np.tile(target, 2), **settings,
        )  # fmt: skip
        dual = solution.dual[:n] + solution.dual[n:]
        report(number, f"{np.count_nonzero(dual)} support vectors")
        return replace(solution, dual=dual)

    return in_threads(solve, list(enumerate(wanted.T)), n_jobs)
