"""Joint learning by Adam: local models, anchors, bandwidth and metric together.

The problem is stated in :mod:`locallin.kernels.joint`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from locallin.engine.groups import group_anchors
from locallin.engine.matrix import (
    BatchRows,
    CodingState,
    behind_metric,
    encode_with_distances,
    read_only,
    row_pointers,
    slice_rows,
)
from locallin.engine.parallel import (
    ThreadTeam,
    anchor_ranges,
    row_blocks,
    single_threaded_blas,
)
from locallin.kernels.joint import (
    CodedBatch,
    CodedLoss,
    Derivatives,
    Parameters,
    Penalty,
    Rates,
    adam,
    adam_step,
    map_gradient,
    row_gradient,
    scale_gradient,
    slopes_and_pulls,
)
from locallin.kernels.linear import Target
from locallin.kernels.predict import Entries, entries_by_anchor, entry_scores
from locallin.kernels.rows import Codes, Rows
from locallin.solvers.diversity import diversity_gradient

# Called after every epoch with (epoch, objective, coef, intercept, anchors,
# bandwidth) and, where there is one, the metric; returns True to stop. The arrays are
# the solver's own.
Monitor = Callable[..., bool]

# Share of the steps in which the rates of Adam rise from zero; of a stream whose end
# is not known, the number of steps, and after how many more the rates have halved.
_WARM_UP = 0.05
_STEPS_OF_WARM_UP = 50
_STEPS_TO_HALF = 3000
# Batches between two evaluations of the diversity term, about.
_DIVERSITY_EVERY = 20
# Batches after which anchors that have moved are put into groups anew.
_GROUPS_EVERY = 50
# Multiplications of a batch with one local model each from which on threads pay, those
# that finding the anchors of a row is worth, and the number of threads at the most.
WORK_FOR_THREADS = 300_000
_WORK_OF_A_ROW = 800
_MOST_THREADS = 64
ALONE = ThreadTeam(1, 1)
# Rows that a thread codes together at the least, and ranges of anchors of each thread:
# who is ready first takes another.
_LEAST_ROWS = 16
_RANGES_OF_A_THREAD = 2


@dataclass(frozen=True)
class JointProblem:
    """Data, targets and the objective's parameters.

    ``X`` is what anchors see and ``features`` what local models see, dense or CSR.
    ``coding`` is where anchors, bandwidth and metric start. ``visits`` names the rows
    that count; their weights have a mean of one. ``loss_parameters`` are those of a
    loss of numbers, one of each score, None where rows have classes.
    """

    X: Any
    features: Any
    target: Target
    visits: np.ndarray
    coding: CodingState
    alpha: float
    intercept_scaling: float
    loss: int
    diversity: float = 0.0
    loss_parameters: np.ndarray | None = None

    @property
    def intercept_step(self) -> float:
        """Square of the constant feature."""
        return self.intercept_scaling**2

    def zeros(self) -> Parameters:
        """Weights and intercepts of zero, on a copy of the first anchors."""
        anchors = self.coding.anchors.copy()
        shape = len(anchors), len(self.target.positive)
        return Parameters(
            np.zeros((*shape, self.features.shape[1]), anchors.dtype),
            np.zeros(shape, anchors.dtype),
            anchors,
        )

    def coded_loss(self, coding: CodingState) -> CodedLoss:
        """The loss of a row that is coded in this way."""
        return CodedLoss(self.loss, coding.kind, coding.bandwidth, self.loss_parameters)

    def penalty(self, parameters: Parameters) -> float:
        """alpha/2 (|W|^2 + |b|^2 / B^2)."""
        squares = np.vdot(parameters.coef, parameters.coef)
        offsets = np.vdot(parameters.intercept, parameters.intercept)
        return 0.5 * self.alpha * float(squares + offsets / self.intercept_step)


@dataclass
class JointSolution:
    """What a solver hands back, also when it was interrupted."""

    parameters: Parameters
    coding: CodingState
    n_iter: int = 0
    active_history: list[float] = field(default_factory=list)
    perplexity_history: list[float] = field(default_factory=list)
    objective_history: list[float] = field(default_factory=list)
    converged: bool = True
    interrupted: bool = False
    gap: None = None
    clock: tuple[float, float] | None = None  # t and t0 of SGD
    iterate: Parameters | None = None  # of SGD, not averaged
    importance: np.ndarray | None = None  # of SGD: sums of the codes

    def __post_init__(self):
        # The parameters, as the monitor gets them: arrays that are updated in place.
        coef, intercept, anchors = self.parameters
        moved = self.coding._replace(anchors=anchors).learned()
        self.learned = coef, intercept, *moved

    def state_arrays(self, averaged: bool) -> dict[str, np.ndarray]:
        """What SGD needs to go on, by name; nothing of Adam."""
        if self.clock is None:
            return {}
        arrays = dict(zip(("t", "t0"), map(np.asarray, self.clock), strict=True))
        if self.importance is not None:
            arrays["importance"] = self.importance
        if averaged and self.iterate is not None:
            fields = self.iterate._asdict().items()
            arrays |= {f"iterate_{name}": array for name, array in fields}
        return arrays

    def note(self, objective: float, active: float, perplexity: float) -> None:
        """Record an epoch."""
        self.n_iter += 1
        self.objective_history.append(objective)
        self.active_history.append(active)
        self.perplexity_history.append(perplexity)


class _Part(NamedTuple):
    """Some rows of a batch behind the metric, their codes and derivatives."""

    anchor_rows: Rows
    codes: Codes
    entries: Entries
    out: Derivatives


def differentiate(
    problem: JointProblem,
    parameters: Parameters,
    coding: CodingState,
    chosen: np.ndarray,
    rows: tuple[Rows, Rows],
    team: ThreadTeam = ALONE,
) -> tuple[CodedBatch, np.ndarray, np.ndarray]:
    """Codes and derivatives of the chosen rows at the current parameters.

    Also the derivatives by the logarithm of the bandwidth, and sums over the rows of
    loss, active anchors and perplexity. ``coding`` holds the current anchors, bandwidth
    and metric. Nothing of a row depends, in any bit, on those that a thread has beside
    it, and all that is summed is summed over the whole batch.
    """

    def work(start, stop):
        part = (slice_rows(view, start, stop) for view in rows)
        return _part(
            problem, parameters, coding, chosen[start:stop], tuple(part), len(chosen)
        )

    share = max(_LEAST_ROWS, -(-len(chosen) // team.n_workers))
    parts = team.run(work, row_blocks(len(chosen), share))
    anchor_rows, codes, entries, out = parts[0]
    if len(parts) > 1:
        z, several, _, outs = zip(*parts, strict=True)
        anchor_rows = rows[0] if coding.metric is None else _joined_rows(z, rows[0])
        codes = _joined_codes(several)
        entries = entries_by_anchor(codes, len(parameters.anchors))
        out = Derivatives(*map(np.concatenate, zip(*outs, strict=True)))
    n_widths = len(coding.bandwidth)
    whose = codes.indices if n_widths > 1 else np.zeros_like(codes.indices)
    widths = np.bincount(whose, out.widths, n_widths)
    batch = CodedBatch(anchor_rows, rows[1], codes, entries, out.slopes, out.pulls)
    return batch, widths, out.sums.sum(axis=0)


def _part(problem, parameters, coding, chosen, rows, n_batch) -> _Part:
    """The derivatives of some rows of a batch of ``n_batch``."""
    anchor_rows, model_rows = rows
    anchor_rows = behind_metric(anchor_rows, coding.metric, n_jobs=1)
    codes, distances = encode_with_distances(anchor_rows, coding, n_jobs=1)
    labels, positive, weights = problem.target
    target = Target(labels[chosen], positive, weights[chosen])
    model = read_only(parameters.coef), read_only(parameters.intercept)
    dtype = parameters.coef.dtype
    n_entries = len(codes.indices)
    scores = np.zeros((n_entries, len(positive)), dtype)
    entries = entries_by_anchor(codes, len(parameters.anchors))
    entry_scores(model_rows, entries, *model, scores)
    out = Derivatives(
        slopes=np.empty((len(chosen), len(positive)), dtype),
        pulls=np.empty(n_entries, dtype),
        widths=np.empty(n_entries),
        sums=np.empty((len(chosen), 3)),
    )
    objective = problem.coded_loss(coding)
    slopes_and_pulls(codes, distances, scores, target, objective, n_batch, out)
    return _Part(anchor_rows, codes, entries, out)


def _joined_rows(parts: Sequence[Rows], in_front: Rows) -> Rows:
    """Rows behind a metric from those of consecutive ones."""
    if parts[0].indptr is None:
        return Rows(read_only(np.concatenate([z.data for z in parts])), None, None)
    return Rows(parts[0].data, *in_front[1:])  # each has the entries of all


def _joined_codes(parts: Sequence[Codes]) -> Codes:
    """Codes of all rows from those of consecutive ones."""
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return Codes(
        row_pointers(lengths),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def metric_gradient(rows: Rows, batch: CodedBatch, coding: CodingState) -> np.ndarray:
    """Gradient of the batch's mean loss by the metric, at the current parameters.

    ``rows`` are those in front of the metric.
    """
    metric, anchors = coding.metric, coding.anchors
    assert metric is not None
    if metric.ndim == 1:
        out = np.empty_like(metric)
        scale_gradient(rows, batch, anchors, out)
        return out
    by_row = np.empty((len(batch.slopes), len(metric)), metric.dtype)
    row_gradient(batch, anchors, by_row)
    if rows.indptr is None:
        return by_row.T @ rows.data
    out = np.zeros_like(metric)
    map_gradient(rows, by_row, out)
    return out


class AdamState(NamedTuple):
    """Adam's memory from step to step. The arrays are updated in place."""

    first: Parameters
    second: Parameters
    log_first: np.ndarray  # of the logarithm of the bandwidth
    log_second: np.ndarray
    metric_first: np.ndarray  # of the metric; empty where there is none
    metric_second: np.ndarray
    importance: np.ndarray  # sums of the codes, for the diversity term
    steps: np.ndarray  # taken, and planned: 0 where no end is known
    plan: np.ndarray  # rows of a batch, and passes over the rows

    @classmethod
    def fresh(
        cls, problem: JointProblem, n_steps: int, batch_size: int, passes: int
    ) -> "AdamState":
        """Nothing learned yet; ``n_steps`` are planned, 0 where no end is known."""
        like = problem.zeros()
        metric = problem.coding.metric
        metric = np.empty(0, like.coef.dtype) if metric is None else metric
        return cls(
            Parameters(*map(np.zeros_like, like)),
            Parameters(*map(np.zeros_like, like)),
            np.zeros_like(problem.coding.bandwidth),
            np.zeros_like(problem.coding.bandwidth),
            np.zeros_like(metric),
            np.zeros_like(metric),
            np.zeros(len(like.anchors)),
            np.array([0.0, n_steps]),
            np.array([batch_size, passes], float),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "AdamState":
        """From what ``to_arrays`` returned."""

        def moment(order: str) -> Parameters:
            return Parameters(
                *(arrays[f"{order}_{name}"] for name in Parameters._fields)
            )

        rest = (arrays[name] for name in cls._fields[2:])
        return cls(moment("first"), moment("second"), *rest)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        arrays = {name: getattr(self, name) for name in self._fields[2:]}
        for moment in self._fields[:2]:
            fields = getattr(self, moment)._asdict().items()
            arrays |= {f"{moment}_{name}": array for name, array in fields}
        return arrays

    @property
    def batch_size(self) -> int:
        """Rows of a batch."""
        return int(self.plan[0])

    @property
    def passes(self) -> int:
        """Passes over the rows that are planned."""
        return int(self.plan[1])

    def advance(self, rates: dict[str, float]) -> tuple[Rates, float, float]:
        """The rates of the next step; those of bandwidth and metric apart."""
        self.steps[0] += 1.0
        step, n_steps = self.steps
        shape = _rate_shape(step / n_steps) if n_steps else _endless_shape(step)
        now = Rates(
            coef=shape * rates["coef"],
            intercept=shape * rates["intercept"],
            anchors=shape * rates["anchors"],
            first_bias=1.0 - 0.9**step,
            second_bias=1.0 - 0.999**step,
        )
        return now, shape * rates["bandwidth"], shape * rates["metric"]


def solve_adam(
    problem: JointProblem,
    parameters: Parameters | None,
    *,
    max_iter: int,
    batch_size: int,
    rates: dict[str, float],
    shuffle: bool,
    rng: np.random.RandomState,
    state: AdamState | None = None,
    n_jobs: int | None = None,
    monitor: Monitor = lambda *_: False,
) -> JointSolution:
    """Mini-batches with Adam; the rates rise, then fall along a cosine to zero.

    ``parameters`` are updated in place; None starts from zeros. ``rates`` has the keys
    coef, intercept, anchors, bandwidth and metric. ``state`` is that of an earlier
    call, whose plan goes on; without one the plan is ``max_iter`` epochs. Threads share
    the rows of a batch to find their anchors, and the anchors to step: the same bits
    for any number.
    """
    parameters = problem.zeros() if parameters is None else parameters
    order = problem.visits.copy()
    n_batches = max(1, round(len(order) / batch_size))
    if state is None:
        n_steps = max_iter * n_batches
        state = AdamState.fresh(problem, n_steps, batch_size, max_iter)
    coding = problem.coding.copy()._replace(anchors=parameters.anchors)
    solution = JointSolution(parameters, coding)
    products = problem.features.shape[1] * len(problem.target.positive)
    work = batch_size * (_WORK_OF_A_ROW + products)
    workers = n_jobs if work > WORK_FOR_THREADS else 1
    try:
        for epoch in range(1, max_iter + 1):
            if shuffle:
                rng.shuffle(order)
            batches = np.array_split(order, n_batches)
            # A batch is too small for threads of the BLAS: they wait for each other.
            with single_threaded_blas(), ThreadTeam(workers, _MOST_THREADS) as team:
                sums = _adam_epoch(problem, solution, batches, rates, state, team)
            sums /= len(order)
            objective = sums[0] + problem.penalty(parameters)
            solution.note(objective, *sums[1:])
            if monitor(epoch, objective, *solution.learned):
                break
    except KeyboardInterrupt:
        solution.interrupted = True
    return solution


def _adam_epoch(
    problem: JointProblem,
    solution: JointSolution,
    batches: list[np.ndarray],
    rates: dict[str, float],
    state: AdamState,
    team: ThreadTeam,
) -> np.ndarray:
    """Learn from batches of rows; sums of their losses, active anchors, perplexity."""
    parameters, coding = solution.parameters, solution.coding
    bandwidth, metric = coding.bandwidth, coding.metric
    importance = state.importance
    dtype = parameters.coef.dtype
    logs = np.log(bandwidth)
    with_diversity = problem.diversity > 0.0
    extra = np.empty(parameters.coef.shape if with_diversity else (0, 0, 0), dtype)
    spacing = -(-len(batches) // max(1, round(len(batches) / _DIVERSITY_EVERY)))
    penalty = Penalty(problem.alpha, problem.intercept_step, extra)
    totals = np.zeros(3)
    same = problem.features is problem.X
    views = (problem.X,) if same else (problem.X, problem.features)
    batch_rows = BatchRows(views, len(batches[0]))
    n_ranges = 1 if team.n_workers == 1 else _RANGES_OF_A_THREAD * team.n_workers
    rows = batch_rows.pick(batches[0])
    for number, chosen in enumerate(batches):
        if coding.groups is not None and number % _GROUPS_EVERY == 0:
            groups = group_anchors(coding.anchors, coding.groups.n_probes)
            coding = coding._replace(groups=groups)
        batch, widths, sums = differentiate(
            problem, parameters, coding, chosen, rows, team
        )
        totals += sums
        if with_diversity:
            importance += np.bincount(
                batch.codes.indices, batch.codes.values, len(importance)
            )
            if number % spacing == 0:
                shares = importance / importance.sum()
                diversity_gradient(parameters.coef, shares, out=extra)
                extra *= 0.5 * problem.diversity
        now, bandwidth_rate, metric_rate = state.advance(rates)
        tasks: list[tuple] = []
        if number + 1 < len(batches):
            tasks.append((batch_rows.pick, batches[number + 1]))
        if metric is not None and metric_rate > 0.0:
            before = coding._replace(anchors=coding.anchors.copy())
            step = partial(_step_metric, state=state, rate=metric_rate, rates=now)
            tasks.append((step, rows[0], batch, before))
        moments = state.first, state.second
        arguments = batch, parameters, moments, penalty, now
        for bounds in anchor_ranges(batch.entries.start, n_ranges):
            tasks.append((adam_step, *arguments, *bounds))
        rows, *_ = team.run(lambda work, *given: work(*given), tasks)
        if bandwidth_rate > 0.0:
            adam(logs, widths, state.log_first, state.log_second, bandwidth_rate, now)
            np.exp(logs, out=bandwidth)
    return totals


def _step_metric(
    rows: Rows, batch: CodedBatch, coding: CodingState, *, state, rate, rates
) -> None:
    metric, gradient = coding.metric, metric_gradient(rows, batch, coding)
    assert metric is not None
    arrays = metric, gradient, state.metric_first, state.metric_second
    adam(*(array.reshape(-1) for array in arrays), rate, rates)


def _rate_shape(progress: float) -> float:
    if progress >= 1.0:
        return 0.0
    rise = min(1.0, progress / _WARM_UP)
    return rise * 0.5 * (1.0 + np.cos(np.pi * progress))


def _endless_shape(step: float) -> float:
    rise = min(1.0, step / _STEPS_OF_WARM_UP)
    return rise / np.sqrt(1.0 + 3.0 * step / _STEPS_TO_HALF)
