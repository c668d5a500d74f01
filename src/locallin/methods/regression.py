"""The skeleton that regressors share."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from locallin.engine.invariants import Array, Rule
from locallin.engine.sklearn_api import Interval, StrOptions, with_callbacks
from locallin.kernels.linear import ONE_VS_REST
from locallin.kernels.losses import (
    EPSILON_INSENSITIVE,
    HUBER,
    PINBALL,
    SQUARED_INSENSITIVE,
    residual_losses,
)
from locallin.methods.anchored import AnchoredEstimator
from locallin.methods.preparation import FitInput, HeldOut
from locallin.methods.skeleton import EpochEstimator, ScoringEstimator, validated_rows
from locallin.streams.run import NO_CLASSES, StreamSettings

# Codes of the losses in kernels, and epsilon where it is None.
_LOSSES = {
    "squared": HUBER,
    "huber": HUBER,
    "absolute": EPSILON_INSENSITIVE,
    "epsilon_insensitive": EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": SQUARED_INSENSITIVE,
    "pinball": PINBALL,
}
_EPSILONS = {
    "huber": 0.5,
    "epsilon_insensitive": 0.1,
    "squared_epsilon_insensitive": 0.1,
}
# Of a normal distribution: the distance of its quartiles in standard deviations.
_QUARTILES = 1.349


class TargetScale(NamedTuple):
    """Where each target lies, and how far it spreads, both of shape (n_targets,)."""

    offset: np.ndarray
    scale: np.ndarray


def target_scale(y: np.ndarray, weights: np.ndarray, loss: str, quantile: float):
    """Mean and deviation of targets; of losses that bear outliers, quantiles.

    ``y`` has the shape (n, n_targets). Where a loss has quantiles, the scale is what
    the distance of the quartiles is of a normal distribution, if they differ.
    """
    y, weights = y[weights > 0], weights[weights > 0].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        offset = np.average(y, axis=0, weights=weights)
        scale = np.sqrt(np.average((y - offset) ** 2, axis=0, weights=weights))
    if not (np.isfinite(offset).all() and np.isfinite(scale).all()):
        raise ValueError(
            "y has values whose squares leave the range of numbers: scale it, e.g. "
            "with sklearn.compose.TransformedTargetRegressor."
        )
    if loss not in ("squared", "squared_epsilon_insensitive"):
        middle = quantile if loss == "pinball" else 0.5
        low, offset, high = weighted_quantiles(y, weights, (0.25, middle, 0.75))
        spread = (high - low) / _QUARTILES
        scale = np.where(spread > 0, spread, scale)
    # What rounding has left of a constant is no scale.
    size = np.abs(y).max(axis=0)
    scale = np.where(scale > 1e-13 * size, scale, 1.0)
    return TargetScale(np.asarray(offset, float), np.asarray(scale, float))


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, levels) -> list:
    """The smallest value of each column up to which lies such a share of the weight."""
    order = np.argsort(values, axis=0, kind="stable")
    shares = np.cumsum(weights[order], axis=0)
    found = []
    for level in levels:
        at = (shares < level * shares[-1] * (1 - 1e-12)).sum(axis=0)
        columns = np.arange(values.shape[1])
        found.append(values[order[np.minimum(at, len(values) - 1), columns], columns])
    return found


class ScoringRegressor(RegressorMixin, ScoringEstimator):
    """A regressor: its scores are what is predicted."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def predict(self, X) -> np.ndarray:
        """Numbers of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            What the local models of each row say; of one target an array of one axis.
            They are finite: a row so long that its products leave the range of its
            numbers counts as a shorter one in the same direction.
        """
        scores = self._scores(validated_rows(self, X, finite=False))
        return scores.ravel() if scores.shape[1] == 1 else scores


class EpochRegressor(EpochEstimator, ScoringRegressor):
    """A regressor that learns in epochs, also from a stream.

    Solvers see y with its offset taken away and divided by its scale.
    """

    _parameter_constraints: dict = {
        **EpochEstimator._parameter_constraints,
        "loss": [StrOptions(set(_LOSSES))],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    # Options that a method need not offer.
    quantile: float = 0.5

    _y_checks = {"multi_output": True, "y_numeric": True}
    _quality = "D2"

    def _known_target(self, classes, *, resume: bool, stream: bool) -> Any:
        return len(self.target_scale_) if resume else None

    def _encode_target(self, y, known):
        targets = np.asarray(y, float).reshape(len(y), -1)
        if known is not None and targets.shape[1] != known:
            raise ValueError(
                f"y has {targets.shape[1]} targets, but {type(self).__name__} has "
                f"learned {known}."
            )
        return None, targets

    def _strata(self, encoded: np.ndarray) -> None:
        return None

    def _note_target(self, given: FitInput) -> None:
        if not given.resume:
            self.target_offset_, self.target_scale_ = target_scale(
                given.encoded, given.weights, self.loss, self.quantile
            )

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "target_offset_": Array(("targets",)),
            "target_scale_": Array(("targets",), least=0.0),
        }

    def _standardised(self, y: np.ndarray) -> np.ndarray:
        return (y - self.target_offset_) / self.target_scale_

    def _loss_and_parameter(self) -> tuple[int, float]:
        """The loss as kernels know it."""
        if self.loss == "squared":
            return HUBER, np.inf
        if self.loss == "absolute":
            return EPSILON_INSENSITIVE, 0.0
        if self.loss == "pinball":
            return PINBALL, float(self.quantile)
        epsilon = _EPSILONS[self.loss] if self.epsilon is None else self.epsilon
        return _LOSSES[self.loss], float(epsilon)

    def _check_choices(self) -> None:
        super()._check_choices()
        if self.epsilon is not None and self.loss not in _EPSILONS:
            raise ValueError(
                f"epsilon={self.epsilon} is a setting of loss="
                f"{' or '.join(map(repr, _EPSILONS))}, but loss={self.loss!r}: leave "
                "epsilon=None."
            )
        if self.quantile != 0.5 and self.loss != "pinball":
            raise ValueError(
                f"quantile={self.quantile} is a setting of loss='pinball', but loss="
                f"{self.loss!r}: leave quantile=0.5."
            )

    def _mean_loss(self, residuals: np.ndarray, weights: np.ndarray) -> float:
        losses = np.empty(residuals.shape)
        residual_losses(*self._loss_and_parameter(), residuals, losses)
        return float(np.average(losses.sum(axis=1), weights=weights))

    def _held_out_quality(self, scores: np.ndarray, held: HeldOut) -> float:
        """1 - loss / loss of the offset: R2 or so where the loss is the square."""
        wanted = self._standardised(held.labels)
        first = self._mean_loss(-wanted, held.weights)
        left = self._mean_loss(scores - wanted, held.weights)
        return 1.0 - left / first if first > 0 else 0.0

    @with_callbacks
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective and in the choice of anchors. A
            weight of 0 is the same as leaving the row out.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Rows to watch for early stopping, in place of a fraction of X.
        y_val : array-like of shape (n_val,) or (n_val, n_targets), default=None
            Their numbers.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        validation = X_val, y_val, sample_weight_val
        return self._fit_rows(X, y, sample_weight, validation, self._fit)

    @available_if(lambda self: self._is_stream_method())
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from a block of a stream, in one pass.

        A block whose values or weights are so large that the model would hold NaN or
        infinity is refused, and the model stays as it was.

        What the first call chooses from its block stays: offset and scale of y, alpha
        and the scale of the intercepts where they are "auto", anchors and bandwidth.
        Make it a large one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A block of rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, taken as they are.

        Returns
        -------
        self : object
            The regressor.
        """
        return self._fit_block(X, y, None, sample_weight)

    @available_if(lambda self: self._is_stream_method())
    @with_callbacks
    def fit_stream(
        self,
        batches,
        *,
        epochs: int = 1,
        n_rows: int | None = None,
        scan: bool = True,
        sample_size: int = 20_000,
        buffer_size: int = 16_384,
        checkpoint=None,
        checkpoint_every: int = 10,
    ):
        """Fit the model to a stream, in memory for a buffer and a sample of rows.

        A first pass counts the rows and draws a sample, from which offset and scale of
        y, alpha, anchors, bandwidth and first steps are chosen as ``fit`` chooses them
        from all rows. Then the stream is learned from ``epochs`` times, buffer after
        buffer; the rows of a buffer are shuffled. The model depends on the order of the
        rows and the seed, not on how the stream is cut into blocks. Rows that are
        sorted over stretches longer than a buffer should be shuffled beforehand.

        Parameters
        ----------
        batches : Batches, path, list of paths, tuple of arrays, iterable or callable
            What :func:`locallin.data.as_batches` takes: files and folders, arrays
            (also memory maps), an iterable of blocks (X, y) or (X, y, weights), or a
            callable that returns one for each pass. Weights are taken as they are.
        epochs : int, default=1
            Passes to learn from, in place of ``max_iter``.
        n_rows : int, default=None
            Number of rows, which plans the steps and scales alpha; None counts them in
            the first pass.
        scan : bool, default=True
            Whether to make the first pass. Without it, and for an iterator that can be
            gone through once only, the sample is the head of the stream; ``n_rows``
            must then be given.
        sample_size : int, default=20000
            Rows of the sample.
        buffer_size : int, default=16384
            Rows that are held and shuffled together.
        checkpoint : str or path-like, default=None
            Folder in which the state of the run is kept. The same call after a crash
            goes on from there and ends with the model of an undisturbed run, bit for
            bit. Files there are pickles: use folders that nobody else writes to.
        checkpoint_every : int, default=10
            Buffers between two checkpoints.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        settings = StreamSettings(
            NO_CLASSES, epochs, n_rows, scan, sample_size, buffer_size, checkpoint_every
        )
        return self._fit_stream(batches, settings, checkpoint)


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
        loss, parameter = self._loss_and_parameter()
        return {
            "alpha": self.alpha_,
            "loss": loss,
            "loss_parameter": parameter,
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
