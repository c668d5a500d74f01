"""The chart kernel, and a support vector machine on blocks of its Gram matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

import numpy as np

from locallin.charts.affine import ChartedRows
from locallin.kernels.products import blas_products, row_products
from locallin.kernels.smo import Dual, scatter_add, smo_steps

# Rows that are optimised together: their part of the Gram matrix is all that is held.
_WORKING_SET = 1024
# Steps within a working set, per row.
_INNER_STEPS = 100


class ChartKernel(NamedTuple):
    """Rows sorted by chart, to take their kernel with any others chart by chart.

    The kernel of two rows (eq. 5 and 8) is the sum over the charts they share of
    w w' exp(-|p - p'|^2), with coordinates in units of sigma.

    Chart i has the entries ``starts[i] .. starts[i + 1]``: the number of a row, and a
    point [sqrt(2) p, 1, log w - |p|^2] made of its coordinates and its weight. The
    product of two points, one with its last two numbers exchanged, is the logarithm of
    w w' exp(-|p - p'|^2): a matrix product and exp are all there is to do.
    """

    starts: np.ndarray  # (n_charts + 1,)
    rows: np.ndarray
    points: np.ndarray

    @classmethod
    def of(cls, charted: ChartedRows, n_charts: int) -> "ChartKernel":
        """Sort rows by chart."""
        k = charted.charts.shape[1]
        flat = charted.charts.ravel()
        order = np.argsort(flat, kind="stable")
        starts = np.searchsorted(flat[order], np.arange(n_charts + 1))
        here = order // k, order % k
        p, w = charted.coordinates[here], charted.weights[here]
        points = np.empty((len(p), p.shape[1] + 2), p.dtype)
        np.multiply(p, np.sqrt(2), out=points[:, :-2])
        points[:, -2] = 1
        # The smallest weight that has a logarithm is as good as none. NumPy's last bit
        # of it can depend on addresses where the result is written to a column.
        logarithms = np.log(np.maximum(w, np.finfo(w.dtype).tiny))
        points[:, -1] = logarithms - np.einsum("nd,nd->n", p, p)
        return cls(starts, here[0], points)

    def products(self, queries: "ChartKernel", multiply: Callable):
        """Yield (query rows, own rows, kernel) of each chart that both sides use.

        ``multiply`` makes the products of rows with rows.
        """
        shared = (np.diff(self.starts) > 0) & (np.diff(queries.starts) > 0)
        d = self.points.shape[1] - 2
        exchanged = queries.points[:, [*range(d), d + 1, d]]
        for chart in np.flatnonzero(shared):
            here = slice(*queries.starts[chart : chart + 2])
            there = slice(*self.starts[chart : chart + 2])
            values = multiply(exchanged[here], self.points[there])
            np.exp(values, out=values)
            yield queries.rows[here], self.rows[there], values

    def block(self, queries: ChartedRows, n_rows: int) -> np.ndarray:
        """Kernel of the queries with the ``n_rows`` own rows, dense."""
        out = np.zeros((len(queries), n_rows), self.points.dtype)
        sorted_queries = ChartKernel.of(queries, len(self.starts) - 1)
        for here, there, values in self.products(sorted_queries, blas_products):
            scatter_add(out, here, there, values)
        return out

    def scores(self, queries: ChartedRows, dual: np.ndarray) -> np.ndarray:
        """Kernel of the queries with own rows, times ``dual`` (own rows, scores).

        Scores of a query do not depend on those beside it.
        """
        out = np.zeros((len(queries), dual.shape[1]), self.points.dtype)
        sorted_queries = ChartKernel.of(queries, len(self.starts) - 1)
        by_score = np.ascontiguousarray(dual.T, float)  # of both signs: they cancel
        for here, there, values in self.products(sorted_queries, row_products):
            out[here] += row_products(values, by_score.take(there, axis=1))
        return out


@dataclass
class KernelSolution:
    """Signed dual variables y a of all rows, and the intercept."""

    dual: np.ndarray
    intercept: float
    n_iter: int
    objective: float
    converged: bool


def solve_kernel_svm(
    rows: ChartedRows,
    n_charts: int,
    y: np.ndarray,
    upper: np.ndarray,
    *,
    squared: bool,
    tol: float,
    max_iter: int,
    stop: Event,
    costs: np.ndarray | None = None,
) -> KernelSolution:
    """Solve a two-class kernel SVM on a Gram matrix that is never whole in memory.

    Decomposition (Osuna et al. 1997; Joachims 1999): the rows that violate the
    optimality conditions most are optimised together, half of them new and half kept
    from the last round, against the others' gradient. Up to the size of a working
    set this is plain SMO.

    Parameters
    ----------
    y : array of -1 and 1, shape (n,)
    upper : array of shape (n,)
        C of each row.
    squared : bool
        Whether the loss is the squared hinge.
    tol : float
        Violation at which to stop, as LIBSVM's.
    max_iter : int
        Largest number of rounds.
    stop : Event
        Ends the work after the current round where it is set; Ctrl-C sets it.
    costs : array of shape (n,), default=None
        What each dual variable costs. None is -1, that of a margin.
    """
    n = len(y)
    kernel = ChartKernel.of(rows, n_charts)
    costs = -np.ones(n) if costs is None else costs
    dual = _dual_of(y.astype(float), upper.astype(float), squared, costs)
    working = np.empty(0, np.intp)
    held = np.empty((0, n), rows.weights.dtype)
    iteration, converged = 0, False
    top, bottom = _violation(dual)
    try:
        while not (converged := top - bottom <= tol):
            if iteration == max_iter or stop.is_set():
                break
            iteration += 1
            chosen = _working_set(dual, working)
            kept = np.isin(working, chosen)
            fresh = np.setdiff1d(chosen, working)
            held = np.concatenate([held[kept], kernel.block(rows[fresh], n)])
            working = np.concatenate([working[kept], fresh])
            inner_tol = (
                tol if len(working) == n else max(0.1 * (top - bottom), 0.5 * tol)
            )
            _optimise(dual, working, held, inner_tol)
            top, bottom = _violation(dual)
    except KeyboardInterrupt:
        stop.set()
    variables, gradient = dual.variables, dual.gradient
    free = (variables > 0) & (variables < dual.upper)
    levels = -dual.y * gradient
    if free.any():
        intercept = levels[free].mean()
    else:  # a side is infinite where no row is on it
        sides = [side for side in (top, bottom) if np.isfinite(side)]
        intercept = sum(sides) / max(len(sides), 1)
    # 1/2 a'Qa + p'a, from g = Qa + p.
    objective = 0.5 * float(variables @ (gradient + costs))
    return KernelSolution(
        dual.y * variables, float(intercept), iteration, objective, converged
    )


def _dual_of(y: np.ndarray, upper: np.ndarray, squared: bool, costs) -> Dual:
    """The dual problem at zero."""
    n = len(y)
    ridge = 0.5 / upper if squared else np.zeros(n)
    if squared:
        upper = np.full(n, np.inf)
    return Dual(y, ridge, upper, np.zeros(n), costs.copy())


def _directions(dual: Dual) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-y g of all rows, and which y a can rise and which can fall."""
    above, below = dual.variables > 0, dual.variables < dual.upper
    can_rise = np.where(dual.y > 0, below, above)
    can_fall = np.where(dual.y > 0, above, below)
    return -dual.y * dual.gradient, can_rise, can_fall


def _violation(dual: Dual) -> tuple[float, float]:
    """Largest -y g of the rows that can rise, and smallest of those that can fall.

    The difference is what is left to gain: at the optimum it is not positive.
    """
    values, can_rise, can_fall = _directions(dual)
    top = values[can_rise].max(initial=-np.inf)
    return top, values[can_fall].min(initial=np.inf)


def _optimise(dual: Dual, working: np.ndarray, held: np.ndarray, tol: float) -> None:
    """Optimise over the working set; ``held`` are its rows of the Gram matrix."""
    part = Dual(*(values[working] for values in dual))
    block = np.ascontiguousarray(held[:, working])
    smo_steps(block, part, tol, _INNER_STEPS * len(working))
    change = part.variables - dual.variables[working]
    dual.variables[working] = part.variables
    dual.gradient[:] += dual.y * ((part.y * change).astype(held.dtype) @ held)
    dual.gradient[working] += part.ridge * change


def _working_set(dual: Dual, last: np.ndarray) -> np.ndarray:
    """Half of the last working set, and the rows that violate most."""
    n = len(dual.y)
    if n <= _WORKING_SET:
        return np.arange(n)
    values, can_rise, can_fall = _directions(dual)
    keep = last[-_WORKING_SET // 2 :]
    quarter = _WORKING_SET // 4
    taken = np.zeros(n, bool)
    taken[keep] = True
    for order, able in ((-values, can_rise), (values, can_fall)):
        able = np.flatnonzero(able & ~taken)
        if len(able) > quarter:
            able = able[np.argpartition(order[able], quarter - 1)[:quarter]]
        taken[able] = True
    return np.flatnonzero(taken)
