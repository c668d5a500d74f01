"""The skeleton of regressors whose anchors are learned."""

import numpy as np

from locallin.engine.sklearn_api import StrOptions
from locallin.kernels.joint import Parameters
from locallin.methods.anchored_regressor import AnchoredRegressor
from locallin.methods.joint import JointEstimator

JOINT_LOSSES = {
    "squared", "huber", "absolute", "epsilon_insensitive", "pinball",
    "poisson", "gamma",
}  # fmt: skip


def joint_regression_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha for anchors that move, of a loss that is half a square."""
    share = np.clip(300 / n_rows, 0.02, 1.0)
    return 0.5 * share * np.clip(np.sqrt(9000 / n_rows), 1.0, 3.0)


class JointRegressor(JointEstimator, AnchoredRegressor):
    """A joint method for numbers."""

    _parameter_constraints: dict = {
        **JointEstimator._parameter_constraints,
        **AnchoredRegressor._parameter_constraints,
        "loss": [StrOptions(JOINT_LOSSES)],
    }

    # There is one solver, which makes all passes over the rows.
    tol: float | None = None

    def _joint_loss(self, n_scores: int) -> dict:
        loss, parameters = self._loss_and_parameters()
        return {"loss": loss, "loss_parameters": parameters}

    def _parameters(self) -> Parameters:
        return Parameters(*self._in_unit_of_solver(), self.anchors_)
