"""The monitor of a solver: held-out rows, best parameters, progress, warnings."""

from copy import deepcopy

import numpy as np

from locallin.engine.progress import Progress, warn_not_converged
from locallin.methods.preparation import HeldOut

_REMEDY = (
    "Raise max_iter, alpha or tol, scale the features, or stop on held-out accuracy "
    "with early_stopping=True."
)


class FitMonitor:
    """Follows a fit from epoch to epoch; solvers call it.

    Reports each epoch to callbacks and screen, judges it by held-out rows,
    keeps the best weights seen, and asks to stop when ``n_iter_no_change`` epochs have
    not improved on them.
    """

    def __init__(self, estimator, held_out: HeldOut | None, X, y, *, callbacks=True):
        self._estimator = estimator
        self._held_out = held_out
        self._progress = Progress(
            estimator, estimator.max_iter, X, y, callbacks=callbacks
        )
        self._best: tuple | None = None
        self._best_epoch = 0
        self._history: list[float] = []
        self._qualities: list[float] = []

    def __call__(self, epoch: int, objective: float, *learned) -> bool:
        """Take note of an epoch that ended at the given parameters; True to stop."""
        self._history.append(objective)
        held_out = self._held_out
        last = held_out is not None and self._measure(held_out, epoch, learned)
        text = f"epoch {epoch}/{self._estimator.max_iter}: objective {objective:.6g}"
        if self._qualities:
            name = self._estimator._quality
            text += f", held-out {name} {self._qualities[-1]:.4f}"
        return self._progress.step(
            epoch, text, lambda: self._attributes(learned, epoch), last=last
        )

    def _measure(self, held: HeldOut, epoch: int, learned: tuple) -> bool:
        scores = self._estimator._held_out_scores(held.rows, *learned)
        quality = self._estimator._held_out_quality(scores, held)
        if not self._qualities or quality > max(self._qualities):
            self._best = deepcopy(learned)
            self._best_epoch = epoch
        self._qualities.append(quality)
        return epoch - self._best_epoch >= self._estimator.n_iter_no_change

    def _attributes(self, learned, n_iter) -> dict:
        attributes = {
            **self._estimator._reached_attributes(*learned),
            "n_iter_": n_iter,
            "objective_history_": np.array(self._history),
        }
        if self._held_out is not None:
            attributes["validation_history_"] = np.array(self._qualities)
        return attributes

    def finish(self, solution, remedy: str = _REMEDY) -> dict:
        """Fitted attributes: the best held-out parameters, or the solver's last."""
        attributes = self._attributes(self._best or solution.learned, solution.n_iter)
        self._progress.end(lambda: attributes)
        if not (solution.converged or solution.interrupted):
            warn_not_converged(
                self._estimator, "epochs", self._reached(solution.gap), remedy
            )
        return attributes

    def _reached(self, gap: float | None) -> str:
        tol = self._estimator.tol
        if gap is None:
            return f"the objective still falls by more than tol={tol}"
        return f"the relative duality gap is {gap:.2g}, tol={tol}"
