"""The skeleton of methods whose anchors are learned."""

from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np

from locallin.engine.invariants import Array, Arrays, axes_of, count_of
from locallin.engine.sklearn_api import HasMethods, Interval, StrOptions
from locallin.kernels.joint import Parameters
from locallin.kernels.losses import LOGISTIC, LOSSES, MULTINOMIAL
from locallin.methods.anchored import (
    AnchoredClassifier,
    AnchoredEstimator,
    CodedRows,
    score_rows,
)
from locallin.methods.preparation import (
    FitInput,
    LearningRows,
    Rules,
    check_feature_map,
    fit_space,
    joint_alpha,
)
from locallin.methods.skeleton import FitMonitor
from locallin.solvers.convex import solve_dual
from locallin.solvers.joint import AdamState, JointProblem, solve_adam
from locallin.solvers.joint_sgd import solve_joint_sgd

# In units of the distance between neighbouring anchors, per coordinate: the steps that
# bring the objective low are the same for 30 and for 1000 anchors. Half as long ones
# bring it lower still, but longer ones keep rows from being memorised. Rows that come
# once need shorter ones.
_ANCHOR_RATE = 0.12
_METRIC_RATE = 0.08
# Of "sgd": the first rate, and the longest step in units of the same distance.
_SGD_ANCHOR_RATE = 0.01
_ANCHOR_REACH = 0.075
_ANCHOR_RATE_PER_PASS = 0.05
# Steps that are enough: where rows allow more, batches are larger instead, whose
# gradients have less noise.
_STEPS = 7200


def joint_rules(*coding_parameters: str, alpha=joint_alpha) -> Rules:
    """Rules of a joint method; the parameters are those that its coding gets."""
    return Rules(
        alpha=alpha,
        rows_per_anchor=12,
        most_anchors=200,
        coding_parameters=coding_parameters,
        while_growing={"max_iter": 15},
    )


class JointEstimator(AnchoredEstimator):
    """Local models, anchors and bandwidth learned together, by Adam.

    A subclass names its coding and has a constructor with the parameters below.
    """

    diversity = 0.0

    _parameter_constraints: dict = {
        **AnchoredEstimator._parameter_constraints,
        "perplexity": [Interval(Real, 1, None, closed="left"), None],
        "bandwidth": [StrOptions({"auto", "fixed", "shared", "per-anchor"})],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "coding_space": [StrOptions({"input", "mapped"})],
        "metric": [StrOptions({"scale", "linear"}), None],
        "n_dimensions": [Interval(Integral, 1, None, closed="left"), None],
        "n_probes": [Interval(Integral, 1, None, closed="left"), None],
        "metric_rate": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "anchor_rate": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def _learning_invariants(self, scores: Any, model: dict[str, Array]) -> Arrays:
        axes = axes_of(self.coding_, "metric_")
        coded = self._coded_features()
        metric = {1: (coded,), 2: ("components", coded)}.get(axes, (0,))
        width = "components" if axes == 2 else coded
        model = {**model, "anchors": Array(("anchors", width))}
        by_anchor = Array(("anchors",), least=0.0, squares=False)
        bandwidths = count_of(self.coding_, "bandwidth_") or 1
        clock = {"t": Array((), least=0.0), "t0": Array((), least=0.0)}
        iterates = {f"iterate_{name}": rule for name, rule in model.items()}
        adam = {
            **{f"first_{name}": rule for name, rule in model.items()},
            **{
                f"second_{name}": Array(rule.shape, least=0.0, squares=False)
                for name, rule in model.items()
            },
            "log_first": Array((bandwidths,)),
            "log_second": Array((bandwidths,), least=0.0),
            "metric_first": Array(metric),
            "metric_second": Array(metric, least=0.0, squares=False),
            "steps": Array((2,), least=0.0),
            "plan": Array((2,), least=1.0),
        }
        return Arrays(
            {**clock, **iterates, **adam, "importance": by_anchor},
            (tuple(clock), tuple(iterates), tuple(adam)),
        )

    def _fit(self, given: FitInput) -> bool:
        rows = fit_space(self, given, in_batches=self._learns_in_batches())
        problem = self._joint_problem(rows)
        monitor = FitMonitor(self, given)
        self._learning = {}
        solution = self._solve(problem, rows, given, monitor)
        monitor.finish(solution)
        self._record(solution)
        return solution.interrupted

    def _solve(self, problem: JointProblem, rows: LearningRows, given, monitor):
        return self._run_adam(problem, self._start(given), given, monitor)

    def _run_adam(self, problem: JointProblem, start, given: FitInput, monitor):
        return solve_adam(
            problem,
            start,
            max_iter=self.max_iter,
            batch_size=self._batch_size(len(problem.visits), self.max_iter),
            rates=self._rates(self.max_iter),
            shuffle=self.shuffle,
            rng=given.rng,
            n_jobs=self.n_jobs,
            monitor=monitor,
        )

    def _start(self, given: FitInput) -> Parameters | None:
        """First parameters, which the solver may change; None for zeros."""
        return Parameters(*map(np.copy, self._parameters())) if given.resume else None

    def _begin_stream(self, given: FitInput, epochs: int) -> None:
        """Choose space, scales and first steps from a sample, and learn nothing yet."""
        rows = fit_space(self, given, in_batches=self._learns_in_batches())
        problem = self._joint_problem(rows)
        start = self._parameters() if given.resume else problem.zeros()
        self._learning = self._first_state(problem, start, rows, given, epochs)
        moved = problem.coding._replace(anchors=start.anchors).learned()
        self._set(self._reached_attributes(start.coef, start.intercept, *moved))

    def _first_state(self, problem, start, rows, given: FitInput, epochs: int) -> dict:
        """The learning state at the beginning of a stream."""
        batch_size = self._batch_size(given.n_planned, epochs)
        n_steps = epochs * max(1, round(given.n_planned / batch_size))
        return AdamState.fresh(problem, n_steps, batch_size, epochs).to_arrays()

    def _end_stream(self) -> None:
        self._learning = {}  # the plan of Adam has come to its end

    def _partial_fit(self, given: FitInput) -> bool:
        rows = fit_space(self, given, in_batches=self._learns_in_batches())
        problem = self._joint_problem(rows)
        start = self._parameters() if given.resume else problem.zeros()
        solution = self._learn_block(problem, start, rows, given)
        self._set(self._reached_attributes(*solution.learned))
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self._record(solution, getattr(self, "objective_history_", []))
        return solution.interrupted

    def _learn_block(self, problem, start, rows, given: FitInput):
        return self._stream_adam(problem, start, given.rng)

    def _stream_adam(self, problem, start, rng):
        if "steps" in self._learning:
            state = AdamState.from_arrays(self._learning)
        else:
            batch_size = self._batch_size(len(problem.visits), 1)
            state = AdamState.fresh(problem, 0, batch_size, 1)
        solution = solve_adam(
            problem, start, max_iter=1, batch_size=state.batch_size,
            rates=self._rates(state.passes), shuffle=self.shuffle, rng=rng, state=state,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        self._learning = state.to_arrays()
        return solution

    def _learns_in_batches(self) -> bool:
        return True

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""
        check_feature_map(self)
        if self.metric != "linear" and self.n_dimensions is not None:
            raise ValueError(
                f"n_dimensions={self.n_dimensions} is the dimension of "
                f"metric='linear', but metric={self.metric!r}."
            )
        super()._check_choices()

    def _record(self, solution, earlier=None) -> None:
        """Set the attributes that tell how learning went."""
        if earlier is not None:
            self.objective_history_ = np.append(earlier, solution.objective_history)
        self.active_history_ = np.array(solution.active_history)
        self.perplexity_history_ = np.array(solution.perplexity_history)

    def _parameters(self) -> Parameters:
        return Parameters(self.coef_, self.intercept_, self.anchors_)

    def _model_arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "anchors": self.coding_.anchors_,
            "bandwidth": np.asarray(self.coding_.bandwidth_),
        }
        metric = self.coding_.metric_
        return arrays if metric is None else {**arrays, "metric": metric}

    def _joint_problem(self, rows: LearningRows) -> JointProblem:
        anchor_view, model_view = rows.views
        loss = self._joint_loss(len(rows.target.positive))
        learns_each, coding = self._learns_each_bandwidth(), self.coding_.state()
        if learns_each and len(coding.bandwidth) == 1:
            each = np.repeat(coding.bandwidth, len(coding.anchors))
            coding = coding._replace(bandwidth=each)
        return JointProblem(
            X=anchor_view,
            features=model_view,
            target=rows.target,
            visits=rows.visits,
            coding=coding,
            alpha=self.alpha_,
            intercept_scaling=float(self.intercept_scaling_),
            diversity=float(self.diversity),
            **loss,
        )

    def _joint_loss(self, n_scores: int) -> dict:
        """What a joint problem says of the loss: its code, and its parameter."""
        raise NotImplementedError

    def _is_stream_method(self) -> bool:
        return True

    def _batch_size(self, n_rows: int, passes: int) -> int:
        if self.batch_size != "auto":
            return self.batch_size
        most = np.clip(passes * n_rows // _STEPS, 256, 1024)
        return int(np.clip(n_rows // 64, 8, most))

    def _anchor_rate(self, passes: int) -> float:
        if self.anchor_rate != "auto":
            return self.anchor_rate
        return min(_ANCHOR_RATE, passes * _ANCHOR_RATE_PER_PASS)

    def _metric_rate(self) -> float:
        return _METRIC_RATE if self.metric_rate == "auto" else self.metric_rate

    def _learns_each_bandwidth(self) -> bool:
        return self.bandwidth in ("auto", "per-anchor")

    def _bandwidth_rate(self) -> float:
        """Step of the logarithm of the bandwidth."""
        if self.bandwidth == "fixed":
            return 0.0
        return 0.01 if self._learns_each_bandwidth() else 0.03

    def _rates(self, passes: int) -> dict[str, float]:
        """Largest steps of Adam in a plan of so many passes over the rows."""
        spacing = self._spacing / np.sqrt(self.coding_.anchors_.shape[1])
        return {
            "coef": self.learning_rate / self._row_norm,
            "intercept": self.learning_rate,
            "anchors": self._anchor_rate(passes) * spacing,
            "bandwidth": self._bandwidth_rate(),
            "metric": self._metric_rate() * spacing / self._row_norm,
        }

    def _held_out_scores(self, rows: CodedRows, coef, intercept, *moved) -> np.ndarray:
        codes = self._coding_at(*moved).encode(rows.anchor_rows)
        return score_rows(rows.model_rows, codes, coef, intercept)

    def _coding_at(self, anchors, bandwidth, metric=None):
        coding = copy(self.coding_)
        coding.anchors_, coding.metric_ = anchors, metric
        coding.bandwidth_ = bandwidth if bandwidth.size > 1 else bandwidth.item()
        coding.regroup()
        return coding

    def _learned_attributes(self, coef, intercept, *moved) -> dict:
        return {
            "coef_": coef,
            "intercept_": intercept,
            "coding_": self._coding_at(*moved),
        }


class JointClassifier(JointEstimator, AnchoredClassifier):
    """A joint method for classes; also with the papers' steps, one row at a time."""

    _parameter_constraints: dict = {
        **AnchoredClassifier._parameter_constraints,
        **JointEstimator._parameter_constraints,
        "solver": [StrOptions({"adam", "sgd"})],
        "init": [StrOptions({"zeros", "convex"})],
        "loss": [StrOptions({*LOSSES, "multinomial"})],
    }

    def _solve(self, problem: JointProblem, rows: LearningRows, given, monitor):
        start = self._start(given)
        from_convex = not given.resume and self.init == "convex"
        if self.solver == "adam" and not from_convex:
            return self._run_adam(problem, start, given, monitor)
        start, convex = start or problem.zeros(), self._convex_problem(rows)
        if from_convex:
            solution = solve_dual(convex, max_iter=100, tol=0.05, rng=given.rng)
            start = Parameters(*solution.learned, start.anchors)
        if self.solver == "adam":
            return self._run_adam(problem, start, given, monitor)
        clock = 0.0, self._first_clock(convex, start, given.rng)
        solution = self._run_sgd(
            problem, start, clock, given.rng, max_iter=self.max_iter, monitor=monitor
        )
        self._learning = solution.state_arrays(averaged=False)
        return solution

    def _first_state(self, problem, start, rows, given: FitInput, epochs: int) -> dict:
        if self.solver == "adam":
            return super()._first_state(problem, start, rows, given, epochs)
        convex = self._convex_problem(rows)
        t0 = self._first_clock(convex, start, given.rng)
        return {"t": np.asarray(0.0), "t0": np.asarray(t0)}

    def _end_stream(self) -> None:
        if self.solver == "adam":
            super()._end_stream()

    def _learn_block(self, problem, start, rows, given: FitInput):
        if self.solver == "adam":
            return self._stream_adam(problem, start, given.rng)
        return self._stream_sgd(problem, start, rows, given)

    def _stream_sgd(self, problem, start, rows, given: FitInput):
        means = start if given.resume and self.average else None
        carried = self._learning
        if "iterate_coef" in carried:
            names = (f"iterate_{name}" for name in Parameters._fields)
            start = Parameters(*(carried[name] for name in names))
        else:
            start = Parameters(*map(np.copy, start))
        clock = tuple(carried[name].item() for name in ("t", "t0") if name in carried)
        if not clock:
            convex = self._convex_problem(rows)
            clock = 0.0, self._first_clock(convex, start, given.rng)
        solution = self._run_sgd(
            problem, start, clock, given.rng, max_iter=1, tol=None, means=means,
            importance=carried.get("importance"),
        )  # fmt: skip
        self._learning = solution.state_arrays(self.average)
        return solution

    def _learns_in_batches(self) -> bool:
        return self.solver == "adam" and self.init == "zeros"

    def _check_choices(self) -> None:
        super()._check_choices()
        if self.solver == "sgd" and self.bandwidth not in ("auto", "fixed"):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is learned by solver='adam' only: with "
                "solver='sgd' leave bandwidth='auto'."
            )
        if self.metric is not None and self.solver != "adam":
            raise ValueError(
                f"metric={self.metric!r} is learned by solver='adam' only: with "
                "solver='sgd' leave metric=None."
            )
        if self.n_probes is not None and self.solver != "adam":
            raise ValueError(
                f"n_probes={self.n_probes} is for solver='adam' only: the paper's "
                "steps, solver='sgd', look at all anchors. Leave n_probes=None."
            )
        if self.solver == "adam" and self.t0 != "auto":
            raise ValueError(
                f"t0={self.t0} is a setting of solver='sgd', but solver='adam'."
            )
        if self.solver == "sgd" and self.batch_size != "auto":
            raise ValueError(
                f"batch_size={self.batch_size} is a setting of solver='adam', but "
                "solver='sgd' takes one row at a time."
            )

    def _joint_loss(self, n_scores: int) -> dict:
        if self.loss == "multinomial":
            return {"loss": MULTINOMIAL if n_scores > 1 else LOGISTIC}
        return {"loss": LOSSES[self.loss]}

    def _learns_each_bandwidth(self) -> bool:
        return self.solver == "adam" and super()._learns_each_bandwidth()

    def _run_sgd(self, problem, start, clock, rng, **more):
        rate = _SGD_ANCHOR_RATE if self.anchor_rate == "auto" else self.anchor_rate
        # Gradients by an anchor are inverse lengths: a rate is a squared length.
        return solve_joint_sgd(
            problem,
            start,
            clock=clock,
            anchor_rate=rate * self._spacing**2,
            anchor_reach=_ANCHOR_REACH * self._spacing,
            average=self.average,
            shuffle=self.shuffle,
            rng=rng,
            n_iter_no_change=self.n_iter_no_change,
            **{"tol": None if self.early_stopping else self.tol, **more},
        )
