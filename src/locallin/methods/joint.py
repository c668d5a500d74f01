"""What the classifiers with learned anchors share."""

from copy import copy
from numbers import Integral, Real

import numpy as np

from locallin.engine.matrix import as_rows
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
)
from locallin.kernels.joint import Parameters
from locallin.kernels.losses import LOSSES
from locallin.kernels.rows import squared_row_norms
from locallin.methods.anchored import AnchoredClassifier, CodedRows, score_rows
from locallin.methods.base import Given
from locallin.methods.monitor import Watch
from locallin.solvers.convex import solve_dual
from locallin.solvers.joint import (
    AdamState,
    JointProblem,
    solve_adam,
    solve_joint_sgd,
)

# What served best on held-out rows of several data sets. Rows that come back are less
# easily learned by heart where anchors take long steps; rows that come once need them
# shorter.
_ANCHOR_RATES = {"adam": 0.1, "sgd": 0.005}
_ANCHOR_RATE_PER_PASS = 0.03
# Steps that are enough: where rows allow more, batches are larger instead, whose
# gradients have less noise.
_STEPS = 7200


class JointClassifier(AnchoredClassifier):
    """Local models, anchors and bandwidth learned together.

    A subclass names its coding and has a constructor with the parameters below.
    """

    coding: str
    _price: str  # the coding's own name of its bandwidth
    # The convex start is that of LL-SVM, without its other options.
    feature_map = None
    coding_space = "input"
    multi_class = "ovr"
    diversity = 0.0
    _rows_per_anchor = 12
    _most_anchors = 200
    _while_growing = {"max_iter": 15}

    _parameter_constraints: dict = {
        **AnchoredClassifier._parameter_constraints,
        "perplexity": [Interval(Real, 1, None, closed="left"), None],
        "bandwidth": [StrOptions({"auto", "fixed", "shared", "per-anchor"})],
        "solver": [StrOptions({"adam", "sgd"})],
        "init": [StrOptions({"zeros", "convex"})],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "anchor_rate": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def _fit(self, given: Given) -> bool:
        X, y, encoded, weights, rng, refit, held_out, *_ = given
        spaces = self._fit_maps(X, encoded, weights, rng, refit)
        problem = self._joint_problem(*spaces, encoded, weights)
        start, t0 = self._start(problem, spaces, encoded, weights, refit, rng)
        watch = Watch(self, held_out and self._held_out(*held_out), X, y)
        if self.solver == "adam":
            solution = solve_adam(
                problem,
                start,
                max_iter=self.max_iter,
                batch_size=self._batch_size(len(problem.visits), self.max_iter),
                rates=self._rates(self.max_iter),
                shuffle=self.shuffle,
                rng=rng,
                monitor=watch,
            )
        else:
            solution = self._run_sgd(
                problem, start, (0.0, t0), rng, max_iter=self.max_iter, monitor=watch
            )
        for name in ("_adam", "_iterate"):
            vars(self).pop(name, None)
        vars(self).update(watch.finish(solution))
        self._record(solution)
        return solution.interrupted

    def _begin_stream(self, given: Given, epochs: int) -> None:
        """Choose maps, scales and first steps from a sample, and learn nothing yet."""
        X, _, encoded, weights, rng, begun, *_ = given
        n_rows = given.n_rows
        spaces = self._fit_maps(X, encoded, weights, rng, begun, n_rows)
        problem = self._joint_problem(*spaces, encoded, weights, stream=True)
        for name in ("_adam", "_iterate", "t_", "t0_"):
            vars(self).pop(name, None)
        if self.solver == "adam":
            self._rows_of_batch = self._batch_size(n_rows, epochs)
            self._passes = epochs
            n_steps = epochs * max(1, round(n_rows / self._rows_of_batch))
            self._adam = AdamState.fresh(problem, n_steps).stored()
        start = self._parameters() if begun else problem.zeros()
        if self.solver == "sgd":
            convex = self._convex_problem(*spaces, encoded, weights, stream=True)
            self.t_, self.t0_ = 0.0, self._first_clock(convex, start, rng)
        bandwidth = problem.coding.bandwidth
        vars(self).update(self._learned_attributes(*start, bandwidth))

    def _end_stream(self) -> None:
        vars(self).pop("_adam", None)  # its plan has come to its end

    def _partial_fit(self, given: Given) -> bool:
        X, _, encoded, weights, rng, begun, *_ = given
        spaces = self._fit_maps(X, encoded, weights, rng, begun)
        problem = self._joint_problem(*spaces, encoded, weights, stream=True)
        start = self._parameters() if begun else problem.zeros()
        if self.solver == "adam":
            solution = self._stream_adam(problem, start, rng)
        else:
            solution = self._stream_sgd(
                problem, start, spaces, encoded, weights, begun, rng
            )
        vars(self).update(self._learned_attributes(*solution.learned))
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self._record(solution, getattr(self, "objective_history_", []))
        return solution.interrupted

    def _stream_adam(self, problem, start, rng):
        if hasattr(self, "_adam"):
            state = AdamState.restored(self._adam)
        else:
            state = AdamState.fresh(problem, 0)
            self._passes = 1
            self._rows_of_batch = self._batch_size(len(problem.visits), self._passes)
        solution = solve_adam(
            problem, start, max_iter=1, batch_size=self._rows_of_batch,
            rates=self._rates(self._passes), shuffle=self.shuffle, rng=rng, state=state,
        )  # fmt: skip
        self._adam = solution.state.stored()
        return solution

    def _stream_sgd(self, problem, start, spaces, encoded, weights, begun, rng):
        means = start if begun and self.average else None
        iterate = getattr(self, "_iterate", None) or map(np.copy, start)
        start = Parameters(*iterate)
        clock = getattr(self, "t_", 0.0), getattr(self, "t0_", None)
        if clock[1] is None:
            convex = self._convex_problem(*spaces, encoded, weights, stream=True)
            clock = clock[0], self._first_clock(convex, start, rng)
        solution = self._run_sgd(
            problem, start, clock, rng, max_iter=1, tol=None, means=means
        )
        if self.average:
            self._iterate = tuple(solution.iterate)
        return solution

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""
        if self.solver == "sgd" and self.bandwidth not in ("auto", "fixed"):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is learned by solver='adam' only: with "
                "solver='sgd' leave bandwidth='auto'."
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

    def _default_alpha(self, n_rows: int) -> float:
        # Anchors that move can follow single rows where there are few.
        share = 300 / (n_rows * (len(self.classes_) - 1))
        return np.clip(share, 0.02, 1.0) * np.clip(np.sqrt(9000 / n_rows), 1.0, 3.0)

    def _new_coding(self, anchors, n_rows: int, rng):
        coding = super()._new_coding(anchors, n_rows, rng)
        return coding.set_params(
            perplexity=self.perplexity, **{self._price: getattr(self, self._price)}
        )

    def _record(self, solution, earlier=None) -> None:
        """Set the attributes that tell how learning went."""
        if earlier is not None:
            self.objective_history_ = np.append(earlier, solution.objective_history)
        self.active_history_ = np.array(solution.active_history)
        self.perplexity_history_ = np.array(solution.perplexity_history)
        if solution.clock is not None:
            self.t_, self.t0_ = solution.clock

    def _parameters(self) -> Parameters:
        return Parameters(self.coef_, self.intercept_, self.anchors_)

    def _joint_problem(self, X, features, encoded, weights, *, stream=False):
        target, visits = self._target(encoded, weights, stream=stream)
        coding = self.coding_.state()
        if self._learns_each_bandwidth() and len(coding.bandwidth) == 1:
            each = np.repeat(coding.bandwidth, len(coding.anchors))
            coding = coding._replace(bandwidth=each)
        return JointProblem(
            X=X,
            features=features,
            target=target,
            visits=visits,
            coding=coding,
            alpha=self.alpha_,
            intercept_scaling=float(self.intercept_scaling_),
            loss=LOSSES[self.loss],
            diversity=float(self.diversity),
        )

    def _is_stream_method(self) -> bool:
        return True

    def _fit_maps(self, X, encoded, weights, rng, keep: bool, n_rows=None):
        if not keep:
            # Root mean square distance from the mean: the unit of anchors' steps.
            square = np.average(squared_row_norms(as_rows(X)), weights=weights)
            mean = np.asarray(X.T @ weights, float) / weights.sum(dtype=float)
            self._spread = float(np.sqrt(max(square - mean @ mean, 0.0))) or 1.0
        return super()._fit_maps(X, encoded, weights, rng, keep, n_rows)

    def _start(self, problem, spaces, encoded, weights, refit, rng):
        """Where learning begins, and t0 where SGD needs it."""
        if refit:
            start = Parameters(*map(np.copy, self._parameters()))
        else:
            start = problem.zeros()
        if self.solver == "adam" and (refit or self.init == "zeros"):
            return start, None
        convex = self._convex_problem(*spaces, encoded, weights)
        if not refit and self.init == "convex":
            solution = solve_dual(convex, max_iter=100, tol=0.05, rng=rng)
            start = Parameters(*solution.learned, start.anchors)
        t0 = None
        if self.solver == "sgd":
            t0 = self._first_clock(convex, start, rng)
        return start, t0

    def _batch_size(self, n_rows: int, passes: int) -> int:
        if self.batch_size != "auto":
            return self.batch_size
        most = np.clip(passes * n_rows // _STEPS, 256, 1024)
        return int(np.clip(n_rows // 64, 8, most))

    def _anchor_rate(self, passes: int | None = None) -> float:
        if self.anchor_rate != "auto":
            return self.anchor_rate
        rate = _ANCHOR_RATES[self.solver]
        return min(rate, passes * _ANCHOR_RATE_PER_PASS) if passes else rate

    def _learns_each_bandwidth(self) -> bool:
        wanted = {"adam": ("auto", "per-anchor"), "sgd": ()}
        return self.bandwidth in wanted[self.solver]

    def _bandwidth_rate(self) -> float:
        """Step of the logarithm of the bandwidth."""
        if self.bandwidth == "fixed":
            return 0.0
        return 0.01 if self._learns_each_bandwidth() else 0.03

    def _rates(self, passes: int) -> dict[str, float]:
        """Largest steps of Adam in a plan of so many passes over the rows."""
        deviation = self._spread / np.sqrt(self.n_features_in_)
        return {
            "coef": self.learning_rate / self._row_norm,
            "intercept": self.learning_rate,
            "anchors": self._anchor_rate(passes) * deviation,
            "bandwidth": self._bandwidth_rate(),
        }

    def _run_sgd(self, problem, start, clock, rng, **more):
        # Gradients by an anchor are inverse lengths: a rate is a squared length.
        return solve_joint_sgd(
            problem,
            start,
            clock=clock,
            anchor_rate=self._anchor_rate() * self._spread**2,
            anchor_reach=0.05 * self._spread,
            average=self.average,
            shuffle=self.shuffle,
            rng=rng,
            n_iter_no_change=self.n_iter_no_change,
            **{"tol": None if self.early_stopping else self.tol, **more},
        )

    def _held_out_scores(self, rows: CodedRows, coef, intercept, anchors, bandwidth):
        coding = self._coding_at(anchors, bandwidth)
        return score_rows(rows.what, coding.encode(rows.where), coef, intercept)

    def _coding_at(self, anchors, bandwidth):
        coding = copy(self.coding_)
        coding.anchors_ = anchors
        coding.bandwidth_ = float(bandwidth[0]) if len(bandwidth) == 1 else bandwidth
        return coding

    def _learned_attributes(self, coef, intercept, anchors, bandwidth) -> dict:
        return {
            "coef_": coef,
            "intercept_": intercept,
            "coding_": self._coding_at(anchors, bandwidth),
        }
