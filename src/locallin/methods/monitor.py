"""What happens around a solver: held-out rows, progress, callbacks, warnings."""

import time
import warnings
from copy import deepcopy

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from locallin.engine.sklearn_api import FRAMES_AROUND_FIT, FitTask
from locallin.methods.preparation import HeldOut


class Watch:
    """Follows a fit from epoch to epoch; the solvers' monitor.

    Reports each epoch to the callbacks and, where ``verbose`` is set, as a line;
    measures the accuracy on held-out rows, keeps the best weights seen, and asks to
    stop when ``n_iter_no_change`` epochs have not improved on them.
    """

    def __init__(self, estimator, held_out: HeldOut | None, X, y):
        self._estimator = estimator
        self._held_out = held_out
        self._task = FitTask(estimator, estimator.max_iter, X, y)
        self._task.begin_epoch()
        self._began = time.perf_counter()
        self._best: tuple | None = None
        self._best_epoch = 0
        self._history: list[float] = []
        self._accuracy: list[float] = []
        self.stopped = False

    def __call__(self, epoch: int, objective: float, *learned) -> bool:
        """Take note of an epoch that ended at the given parameters; True to stop."""
        self._history.append(objective)
        if self._held_out is not None:
            self.stopped = self._measure(epoch, learned)
        if self._estimator.verbose:
            self._print(epoch, objective)
        self.stopped |= self._task.end_epoch(lambda: self._attributes(learned, epoch))
        if not self.stopped and epoch < self._estimator.max_iter:
            self._task.begin_epoch()
        return self.stopped

    def _measure(self, epoch, learned) -> bool:
        held = self._held_out
        scores = self._estimator._held_out_scores(held.rows, *learned)
        right = self._estimator._winners(scores) == held.labels
        accuracy = float(np.average(right, weights=held.weights))
        if not self._accuracy or accuracy > max(self._accuracy):
            self._best = deepcopy(learned)
            self._best_epoch = epoch
        self._accuracy.append(accuracy)
        return epoch - self._best_epoch >= self._estimator.n_iter_no_change

    def _print(self, epoch, objective) -> None:
        accuracy = ""
        if self._accuracy:
            accuracy = f", held-out accuracy {self._accuracy[-1]:.4f}"
        print(
            f"[{type(self._estimator).__name__}] epoch {epoch}/"
            f"{self._estimator.max_iter}: objective {objective:.6g}{accuracy}, "
            f"{time.perf_counter() - self._began:.1f} s",
            flush=True,
        )

    def _attributes(self, learned, n_iter) -> dict:
        attributes = {
            **self._estimator._learned_attributes(*learned),
            "n_iter_": n_iter,
            "objective_history_": np.array(self._history),
        }
        if self._held_out is not None:
            attributes["validation_history_"] = np.array(self._accuracy)
        return attributes

    def finish(self, solution) -> dict:
        """Fitted attributes: the best held-out parameters, or the solver's last."""
        attributes = self._attributes(self._best or solution.learned, solution.n_iter)
        self._task.end(lambda: attributes)
        if not (solution.converged or solution.interrupted):
            self._warn(solution)
        return attributes

    def _warn(self, solution) -> None:
        estimator = self._estimator
        reached = (
            f"the relative duality gap is {solution.gap:.2g}, tol={estimator.tol}"
            if solution.gap is not None
            else f"the objective still falls by more than tol={estimator.tol}"
        )
        warnings.warn(
            f"{type(estimator).__name__} did not converge in max_iter="
            f"{estimator.max_iter} epochs: {reached}. Raise max_iter, alpha or tol, "
            "scale the features, or stop on held-out accuracy with "
            "early_stopping=True.",
            ConvergenceWarning,
            stacklevel=5 + FRAMES_AROUND_FIT,
        )
