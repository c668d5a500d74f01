"""Joint learning by the papers' steps, one row at a time: SAPL and DU-LLSVM.

The problem is stated in :mod:`locallin.kernels.joint`.
"""

import numpy as np

from locallin.engine.matrix import as_rows, encode
from locallin.kernels.joint import Parameters
from locallin.kernels.joint_sgd import (
    AnchorMoves,
    JointIterate,
    joint_sgd_steps,
    settle_all,
)
from locallin.kernels.linear import Schedule, T, fresh_state
from locallin.solvers.convex import Stall
from locallin.solvers.diversity import diversity_gradient
from locallin.solvers.joint import (
    JointProblem,
    JointSolution,
    Monitor,
)

# Pieces of an epoch, between which the diversity term is applied.
_PIECES = 50


def solve_joint_sgd(
    problem: JointProblem,
    start: Parameters,
    *,
    max_iter: int,
    tol: float | None,
    n_iter_no_change: int,
    clock: tuple[float, float],
    anchor_rate: float,
    anchor_reach: float,
    average: bool,
    shuffle: bool,
    rng: np.random.RandomState,
    means: Parameters | None = None,
    importance: np.ndarray | None = None,
    monitor: Monitor = lambda *_: False,
) -> JointSolution:
    """Algorithm 1 of the LLC-SAPL paper, Algorithm 2 of the DU-LLSVM paper.

    ``start`` is updated in place; ``clock`` is (t, t0). ``means`` and ``importance``,
    the sums of the codes, are those of an earlier call that goes on. The diversity
    term is applied after every piece of an epoch (the papers' ``skip``). Stops as
    :func:`locallin.solvers.convex.solve_sgd` does.
    """
    if means is None:
        means = Parameters(*(a.copy() for a in start)) if average else start
    if importance is None:
        importance = np.zeros(len(start.anchors))
    t, t0 = clock
    schedule = Schedule(problem.alpha, max(t0, 2.0), problem.intercept_step, average)
    state = fresh_state(t)
    moves = AnchorMoves(problem.coding.n_neighbors, anchor_rate, anchor_reach)
    iterate = JointIterate(start, means)
    order = problem.visits.copy()
    solution = JointSolution(
        means,
        problem.coding,
        converged=tol is None,
        iterate=start,
        importance=importance,
    )
    stall = Stall(tol, n_iter_no_change)
    try:
        for epoch in range(1, max_iter + 1):
            if shuffle:
                rng.shuffle(order)
            sums = _sgd_epoch(
                problem, iterate, importance, order, state, schedule, moves
            )
            sums /= len(order)
            objective = sums[0] + problem.penalty(start)
            solution.note(objective, *sums[1:])
            stop = monitor(epoch, objective, *solution.learned)
            if stop or stall.reached(objective):
                solution.converged = True
                break
    except KeyboardInterrupt:
        settle_all(iterate, state, schedule)
        solution.interrupted = True
    solution.clock = (float(state[T]), schedule.t0)
    return solution


def _sgd_epoch(
    problem: JointProblem, iterate: JointIterate, importance, order, state, schedule,
    moves,
) -> np.ndarray:  # fmt: skip
    """One pass in this order; sums of losses, active anchors, perplexity."""
    anchor_rows = model_rows = as_rows(problem.X)
    if problem.features is not problem.X:
        model_rows = as_rows(problem.features)
    coding = problem.coding
    objective = problem.coded_loss(coding)
    rows = anchor_rows, model_rows
    totals = np.zeros(3)
    for piece in np.array_split(order, min(len(order), _PIECES)):
        totals += joint_sgd_steps(
            rows, problem.target, piece, iterate, state, schedule, objective, moves
        )
        if problem.diversity > 0.0:
            settle_all(iterate, state, schedule)
            parameters = iterate.parameters
            _diversify(problem, parameters, importance, piece, state, schedule)
    settle_all(iterate, state, schedule)
    return totals


def _diversify(problem, parameters, importance, piece, state, schedule) -> None:
    """Eq. 16 of the DU-LLSVM paper, its second term, for the steps of one piece."""
    coding = problem.coding._replace(anchors=parameters.anchors)
    codes = encode(as_rows(problem.X[piece]), coding)
    importance += np.bincount(codes.indices, codes.values, len(importance))
    gradient = diversity_gradient(parameters.coef, importance / importance.sum())
    # A step as long as the weights themselves would be no step any more.
    rate = len(piece) / (schedule.alpha * (state[T] + schedule.t0))
    step = 0.5 * problem.diversity * rate * gradient
    length, size = float(np.linalg.norm(step)), float(np.linalg.norm(parameters.coef))
    parameters.coef[...] -= step * min(1.0, 0.1 * size / max(length, 1e-300))
