"""The tree of local deep kernel learning: its problem, how it is learned, its scores.

See :class:`locallin.rivals.LDKLClassifier`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from locallin.anchors import choose_anchors

# Splits sharpen from the first to the last of these over the planned steps, by which
# time they are all but steps; the rest of the plan has them hard.
_SHARPNESS = 1.0, 64.0
_SOFT_SHARE = 0.7
# Adam's memory of gradients and of their squares, and what is added to their roots.
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8
# Rows that a split of the first tree is chosen from.
_SPLIT_ROWS = 3000


class Nodes(NamedTuple):
    """A learned tree, for predictions: hard splits."""

    coef: np.ndarray
    intercept: np.ndarray
    gate_coef: np.ndarray
    gate_intercept: np.ndarray
    split_coef: np.ndarray
    split_intercept: np.ndarray

    def paths(self, X) -> np.ndarray:
        """Nodes from the root to the leaf of each row."""
        right = X @ self.split_coef.T + self.split_intercept <= 0
        depth = len(self.split_intercept).bit_length()
        path = np.zeros((X.shape[0], depth + 1), np.intp)
        every = np.arange(X.shape[0])
        for level in range(depth):
            node = path[:, level]
            path[:, level + 1] = 2 * node + 1 + right[every, node]
        return path

    def gates(self, X, sigma: float):
        """For each node its number, the rows that pass it, and its gates at them."""
        path = self.paths(X)
        for node in range(len(self.coef)):
            level = (node + 1).bit_length() - 1
            rows = np.flatnonzero(path[:, level] == node)
            if len(rows):
                inner = X[rows] @ self.gate_coef[node].T + self.gate_intercept[node]
                yield node, rows, np.tanh(sigma * inner)

    def scores(self, X, sigma: float) -> np.ndarray:
        """Sums over the nodes of each row's path."""
        total = np.zeros((X.shape[0], self.coef.shape[1]), self.coef.dtype)
        for node, rows, gates in self.gates(X, sigma):
            total[rows] += gates * (X[rows] @ self.coef[node].T + self.intercept[node])
        return total


class LDKLProblem(NamedTuple):
    """The problem of LDKL, on splits of a given sharpness s.

    It is::

        min  1/2 sum_r penalty_r |table_r|^2  +  1/n sum_i weights_i sum_c
                 loss(signs_ic sum_k I_k(x_i) tanh(sigma v_kc . x_i) w_kc . x_i)

        I_0 = 1,   I_{2k+1} = I_k (1 + t_k) / 2,   I_{2k+2} = I_k (1 - t_k) / 2,
        t_k = tanh(s theta_k . x_i), or its sign where s is infinite

    with x standing for [x; constant]. One table holds all parameters, so that a batch
    is one product with it: w of all nodes and scores, then v, then theta; the last
    column belongs to the constant feature.
    """

    X: Any
    signs: np.ndarray
    weights: np.ndarray
    visits: np.ndarray
    n_splits: int
    sigma: float
    loss: str
    alpha: float
    alpha_gate: float
    alpha_split: float
    constant: float
    rate: float

    @property
    def n_machines(self) -> int:
        """Rows of the table that are machines; as many are gates."""
        return (2 * self.n_splits + 1) * self.signs.shape[1]

    @property
    def penalty(self) -> np.ndarray:
        """Strength of the penalty of each row of the table."""
        strengths = self.alpha, self.alpha_gate, self.alpha_split
        counts = self.n_machines, self.n_machines, self.n_splits
        return np.repeat(strengths, counts)[:, None].astype(self.X.dtype)

    def table_of(self, learned: tuple) -> np.ndarray:
        """The table of a model's coefficients and intercepts."""
        n_features = self.X.shape[1]
        coef = [part.reshape(-1, n_features) for part in learned[::2]]
        constants = np.concatenate([part.ravel() for part in learned[1::2]])
        table = np.column_stack([np.concatenate(coef), constants / self.constant])
        return table.astype(self.X.dtype, copy=False)

    def parts_of(self, table: np.ndarray) -> tuple[np.ndarray, ...]:
        """Coefficients and intercepts, in arrays of their own."""
        m, shape = self.n_machines, (2 * self.n_splits + 1, self.signs.shape[1])
        parts: list[np.ndarray] = []
        for rows, lead in (
            (table[:m], shape),
            (table[m : 2 * m], shape),
            (table[2 * m :], (self.n_splits,)),
        ):
            parts.append(rows[:, :-1].reshape(*lead, -1).copy())
            parts.append((rows[:, -1] * self.constant).reshape(lead))
        return tuple(np.ascontiguousarray(part) for part in parts)

    def gradient(
        self, table: np.ndarray, chosen: np.ndarray, sharpness: float
    ) -> tuple[float, np.ndarray]:
        """Mean loss of some rows, and its gradient by the table."""
        X, weights = self.X[chosen], self.weights[chosen][:, None]
        m, shape = self.n_machines, (len(chosen), -1, self.signs.shape[1])
        inner = X @ table[:, :-1].T + self.constant * table[:, -1]
        values, gates = inner[:, :m].reshape(shape), inner[:, m : 2 * m].reshape(shape)
        gates = np.tanh(self.sigma * gates)
        turns = _turns(inner[:, 2 * m :], sharpness)
        reached = _reached(turns)
        signs = self.signs[chosen]
        margins = signs * np.einsum("ik,ikc,ikc->ic", reached, gates, values)
        losses, slopes = _losses(margins, self.loss)
        pull = (slopes * signs * weights / len(chosen))[:, None]
        pulled = pull * reached[:, :, None]
        steps = np.empty_like(inner)
        steps[:, :m] = (pulled * gates).reshape(len(chosen), -1)
        by_gate = pulled * values * self.sigma * (1 - gates**2)
        steps[:, m : 2 * m] = by_gate.reshape(len(chosen), -1)
        by_node = (pull * gates * values).sum(axis=2)
        steps[:, 2 * m :] = _split_slopes(by_node, turns, reached, sharpness)
        slope = np.empty_like(table)
        slope[:, :-1] = (X.T @ steps).T
        slope[:, -1] = self.constant * steps.sum(axis=0)
        return float((losses * weights).sum()) / len(chosen), slope


def _turns(inner: np.ndarray, sharpness: float) -> np.ndarray:
    if np.isinf(sharpness):
        return np.where(inner > 0, 1.0, -1.0).astype(inner.dtype)
    return np.tanh(sharpness * inner)


def _reached(turns: np.ndarray) -> np.ndarray:
    """I: how much of each row reaches each node."""
    reached = np.ones((len(turns), 2 * turns.shape[1] + 1), turns.dtype)
    for k in range(turns.shape[1]):
        reached[:, 2 * k + 1] = reached[:, k] * (1 + turns[:, k]) / 2
        reached[:, 2 * k + 2] = reached[:, k] * (1 - turns[:, k]) / 2
    return reached


def _split_slopes(by_node, turns, reached, sharpness: float) -> np.ndarray:
    """Slopes by theta . x, from those by I, from the leaves to the root."""
    slopes = np.zeros_like(turns)
    if np.isinf(sharpness):
        return slopes
    for k in reversed(range(turns.shape[1])):
        left, right = by_node[:, 2 * k + 1], by_node[:, 2 * k + 2]
        slopes[:, k] = reached[:, k] * (left - right) / 2
        by_node[:, k] += left * (1 + turns[:, k]) / 2 + right * (1 - turns[:, k]) / 2
    return slopes * sharpness * (1 - turns**2)


def _losses(margins: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Losses and their slopes by the margin."""
    if loss == "logistic":
        losses = np.logaddexp(0, -margins)
        return losses, np.exp(-losses) - 1
    short = np.maximum(1 - margins, 0)
    if loss == "hinge":
        return short, -(short > 0).astype(margins.dtype)
    return short**2, -2 * short


def first_table(problem: LDKLProblem, init: str, norm: float, rng) -> np.ndarray:
    """Splits by clusters or by pairs of rows, open gates, and machines of zero."""
    X, m = problem.X, problem.n_machines
    table = np.zeros((2 * m + problem.n_splits, X.shape[1] + 1), X.dtype)
    gates = rng.standard_normal((m, X.shape[1])) * (0.5 / norm)
    table[m : 2 * m, :-1] = gates / np.sqrt(max(1.0, X.shape[1] / 16))
    table[m : 2 * m, -1] = 1.0 / (problem.sigma * problem.constant)
    most = _SPLIT_ROWS * (problem.n_splits + 1)
    rows = problem.visits
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    members = {0: rows}
    for k in range(problem.n_splits):
        found = members.pop(k)
        coef, constant = _split(X, found, init, norm, rng)
        table[2 * m + k, :-1] = coef
        table[2 * m + k, -1] = constant / problem.constant
        side = X[found] @ coef + constant > 0
        members[2 * k + 1], members[2 * k + 2] = found[side], found[~side]
    return table


def _split(X, rows: np.ndarray, init: str, norm: float, rng) -> tuple:
    """A split of some rows, whose values have a root mean square of one."""
    if len(rows) > _SPLIT_ROWS:
        rows = rng.choice(rows, _SPLIT_ROWS, replace=False)
    pair = np.empty((0, X.shape[1]))
    if len(rows) > 1:
        how = "kmeans" if init == "kmeans" else "random"
        pair = choose_anchors(X[rows], 2, how, random_state=rng)
    if len(pair) < 2:  # nothing to tell apart
        return (rng.standard_normal(X.shape[1]) / norm).astype(X.dtype), 0.0
    coef = pair[1] - pair[0]
    constant = -0.5 * float(coef @ (pair[0] + pair[1]))
    size = float(np.sqrt(np.mean((X[rows] @ coef + constant) ** 2))) or 1.0
    return (coef / size).astype(X.dtype), constant / size


@dataclass
class AdamState:
    """The table, Adam's moments, and the clock of a plan of steps."""

    table: np.ndarray
    first: np.ndarray
    second: np.ndarray
    step: int
    n_steps: int
    keeps_tree: bool

    @classmethod
    def fresh(cls, table: np.ndarray, n_steps: int, keeps_tree: bool) -> "AdamState":
        """At the beginning of a plan."""
        zeros = np.zeros_like(table)
        return cls(table, zeros, zeros.copy(), 0, n_steps, keeps_tree)

    @property
    def sharpness(self) -> float:
        """How steep splits are now: infinite where the tree is done."""
        first, last = _SHARPNESS
        share = self.step / (_SOFT_SHARE * self.n_steps)
        if self.keeps_tree or share >= 1:
            return np.inf
        return first * (last / first) ** share

    def move(self, slope: np.ndarray, rate: float, moving: int) -> None:
        """Take a step with the first rows of the table, those that move."""
        self.step += 1
        part = slice(moving)
        first, second, slope = self.first[part], self.second[part], slope[part]
        first += (1 - _FIRST) * (slope - first)
        second += (1 - _SECOND) * (slope**2 - second)
        size = np.sqrt(second / (1 - _SECOND**self.step)) + _EPSILON
        self.table[part] -= rate / (1 - _FIRST**self.step) * first / size


class Solution(NamedTuple):
    """What a solver returns, in the form that a monitor takes."""

    learned: tuple
    objective_history: list[float]
    interrupted: bool
    converged: bool = True
    gap: None = None

    @property
    def n_iter(self) -> int:
        """Epochs that were made."""
        return len(self.objective_history)


def solve_adam(
    problem: LDKLProblem,
    state: AdamState,
    *,
    max_iter: int,
    batch_size: int,
    shuffle: bool,
    rng,
    last_rate: float = 0.0,
    monitor=None,
) -> Solution:
    """Learn for some epochs, from where the state is.

    As in the paper, by mini-batches: the sharpness of the splits and the rate
    follow the plan of the state, which is changed in place.
    """
    penalty, history, interrupted = problem.penalty, [], False
    visits = problem.visits
    try:
        for epoch in range(1, max_iter + 1):
            order = rng.permutation(visits) if shuffle else visits
            total = 0.0
            for start in range(0, len(order), batch_size):
                chosen = order[start : start + batch_size]
                sharpness = state.sharpness
                loss, slope = problem.gradient(state.table, chosen, sharpness)
                slope += penalty * state.table
                left = max(1 - state.step / state.n_steps, last_rate)
                moving = len(slope) - problem.n_splits * bool(np.isinf(sharpness))
                state.move(slope, problem.rate * left, moving)
                total += loss * len(chosen)
            size = float((penalty * state.table**2).sum()) / 2
            history.append(total / max(len(order), 1) + size)
            if monitor is not None:
                learned = problem.parts_of(state.table)
                if monitor(epoch, history[-1], *learned):
                    break
    except KeyboardInterrupt:
        interrupted = True
    return Solution(problem.parts_of(state.table), history, interrupted)
