"""The skeleton of regressors whose local models sit at anchors."""

from numbers import Integral
from typing import Any

import numpy as np

from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.kernels.linear import ONE_VS_REST
from locallin.methods.anchored import AnchoredEstimator
from locallin.methods.regression import EpochRegressor
from locallin.methods.skeleton import validated_rows


class AnchoredRegressor(AnchoredEstimator, EpochRegressor):
    """A regressor whose local models sit at anchors.

    Its fitted weights and intercepts are in the unit of y.
    """

    _parameter_constraints: dict = {
        **EpochRegressor._parameter_constraints,
        **AnchoredEstimator._parameter_constraints,
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "anchors": [StrOptions({"kmeans", "random"}), "array-like"],
    }

    def _score_dimension(self) -> str:
        return "targets"

    def _convex_loss(self) -> dict[str, Any]:
        loss, parameters = self._loss_and_parameters()
        return {
            "alpha": self.alpha_,
            "loss": loss,
            "loss_parameters": parameters,
            "strategy": ONE_VS_REST,
        }

    def _reached_attributes(self, coef, intercept, *moved) -> dict:
        return self._learned_attributes(*self._in_unit_of_y(coef, intercept), *moved)

    # The codes of a row add up to one: an offset of all intercepts is one of f.
    def _in_unit_of_y(self, coef, intercept) -> tuple[np.ndarray, np.ndarray]:
        dtype, scale = coef.dtype, self.target_scale_
        raised = intercept * scale + self.target_offset_
        return (coef * scale[:, None]).astype(dtype), raised.astype(dtype)

    def _in_unit_of_solver(self) -> tuple[np.ndarray, np.ndarray]:
        dtype, scale = self.coef_.dtype, self.target_scale_
        lowered = (self.intercept_ - self.target_offset_) / scale
        return (self.coef_ / scale[:, None]).astype(dtype), lowered.astype(dtype)

    # Quantiles that cross change places: the lowest function of a row speaks for the
    # lowest level. It is linear still, and no sum of pinball losses rises by it.
    def _scores(self, X) -> np.ndarray:
        scores = super()._scores(X)
        return scores if self.quantile_levels is None else np.sort(scores, axis=1)

    def local_coef(self, X) -> np.ndarray:
        """Effective weights w_c(x) = sum_j g_j(x) w_jc of each row.

        With the row's local coordinates held fixed they explain its score exactly:
        ``linear_predictor(X)``, which is ``predict(X)`` but for a log link, is
        ``(local_coef(X) * X[:, None]).sum(-1) + local_intercept(X)`` to rounding, with
        X replaced by its feature map where there is one. Constant local models have
        weights of zero. Where two quantiles would cross at a row, each has the weights
        of the other there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights; n_scores is 1 for one target, and the number of quantiles.
        """
        return self._by_rank(X, super().local_coef(X))

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts b_c(x) = sum_j g_j(x) b_jc of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; n_scores is 1 for one target, and the number of quantiles.
        """
        return self._by_rank(X, super().local_intercept(X))

    def _by_rank(self, X, parts: np.ndarray) -> np.ndarray:
        """Parts of scores, (n, n_scores, ..), in the order of each row's scores."""
        if self.quantile_levels is None:
            return parts
        scores = super()._scores(validated_rows(self, X, finite=False))
        order = np.argsort(scores, axis=1, kind="stable")
        order = order.reshape(order.shape + (1,) * (parts.ndim - 2))
        return np.take_along_axis(parts, order, axis=1)
