"""Alpha of a convex machine, where held-out rows decide it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from locallin.engine.matrix import as_rows
from locallin.engine.progress import Progress
from locallin.kernels.rows import Codes
from locallin.methods.anchored import CodedRows
from locallin.methods.preparation import FitInput, HeldOut, make_target
from locallin.solvers.alpha_path import Fold, descend
from locallin.solvers.convex import Problem, Solution
from locallin.solvers.growth import held_out_folds

# What is tried, in units of alpha="scale".
_FACTORS = np.geomspace(1000, 1, 7)
# Fewer rows say too little, and more than so many held-out rows say nothing new.
_LEAST_ROWS = 1000
_MOST_HELD = 5000


def make_fold(
    estimator, problem: Problem, views, given: FitInput, weights, train, held
):
    """The problem of some rows, and the others as they are scored, as a ``Fold``.

    ``weights`` are those of held-out rows.
    """
    kept = np.zeros_like(given.weights)
    kept[train] = given.weights[train]
    target, visits = make_target(estimator, given._replace(weights=kept))
    anchor_rows, model_rows = (as_rows(view[held]) for view in views)
    indptr, indices, values = problem.codes
    shape = len(given.weights), problem.n_anchors
    codes = sparse.csr_matrix((values, indices, indptr), shape)[held]
    codes = Codes(codes.indptr, codes.indices, codes.data)
    rows = CodedRows(anchor_rows, model_rows, codes)
    return Fold(
        replace(problem, target=target, visits=visits),
        HeldOut(rows, given.encoded[held], weights[held]),
        given.X[held],
        given.y[held],
    )


def row_losses(scores: np.ndarray, labels, loss: str, joint: bool) -> np.ndarray:
    """Loss of each row, summed over its scores, or that of its margin if ``joint``."""
    scores = scores.astype(float)
    n_scores = scores.shape[1]
    positive = np.array([1]) if n_scores == 1 else np.arange(n_scores)
    own = labels[:, None] == positive
    if joint and n_scores > 1:
        rival = np.where(own, -np.inf, scores).max(axis=1, keepdims=True)
        margins = scores[own][:, None] - rival
    else:
        margins = np.where(own, scores, -scores)
    if loss == "logistic":
        return np.logaddexp(0.0, -margins).sum(axis=1)
    violations = np.maximum(0.0, 1.0 - margins)
    return (violations if loss == "hinge" else violations**2).sum(axis=1)


class Choice(NamedTuple):
    """How much stronger alpha is to be, what was tried, and where to start."""

    factor: float
    path: np.ndarray  # factors, and the held-out loss of each
    start: Solution


def choose_factor(estimator, problem: Problem, views, given: FitInput) -> Choice | None:
    """By how much alpha must exceed that of ``problem``, by held-out rows.

    None where there are too few rows to say.
    """
    parts = _held_out_part(given)
    if parts is None:
        return None
    fold = make_fold(estimator, problem, views, given, given.weights, *parts)
    progress = Progress(estimator, len(_FACTORS), callbacks=False)
    joint = estimator.multi_class == "crammer_singer"

    def losses_at(solution: Solution) -> np.ndarray:
        scores = estimator._held_out_scores(fold.held.rows, *solution.learned)
        return row_losses(scores, fold.held.labels, estimator.loss, joint)

    def report(i: int, loss: float) -> None:
        alpha = estimator.alpha_ * _FACTORS[i]
        progress.step(i + 1, f"alpha = {alpha:.3g}: held-out loss {loss:.6g}")

    place, found, losses = descend(
        fold, _FACTORS, losses_at, solver=estimator.solver,
        max_iter=estimator.max_iter, tol=estimator.tol, rng=given.rng, report=report,
    )  # fmt: skip
    progress.end()
    path = np.column_stack([_FACTORS[: len(losses)], losses])
    if found.dual is not None:
        # All rows together have a smaller box than some of them.
        found.dual *= found.dual.dtype.type(fold.problem.n_rows / problem.n_rows)
    return Choice(float(_FACTORS[place]), path, found)


def _held_out_part(given: FitInput) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows to train on and rows to hold out, or None."""
    counted = np.flatnonzero(given.weights > 0)
    if len(counted) < _LEAST_ROWS:
        return None
    masks = held_out_folds(given.encoded[counted], 1, given.rng)
    if not masks:
        return None
    held = counted[masks[0]]
    if len(held) > _MOST_HELD:
        held = np.sort(given.rng.choice(held, _MOST_HELD, replace=False))
    return np.setdiff1d(counted, held, assume_unique=True), held
