"""The skeleton that regressors share."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score
from sklearn.utils.metaestimators import available_if

from locallin.engine.invariants import Array, Rule
from locallin.engine.sklearn_api import Interval, StrOptions, with_callbacks
from locallin.kernels.losses import (
    EPSILON_INSENSITIVE,
    GAMMA,
    HUBER,
    PINBALL,
    POISSON,
    SQUARED_INSENSITIVE,
    number_losses,
)
from locallin.methods.links import LOG_LINKED, exponentials
from locallin.methods.preparation import FitInput, HeldOut
from locallin.methods.skeleton import EpochEstimator, ScoringEstimator, validated_rows
from locallin.methods.targets import target_scale
from locallin.streams.run import NO_CLASSES, StreamSettings

# Codes of the losses in kernels, with the parameter that each has, and epsilon where it
# is None.
_LOSSES = {
    "squared": (HUBER, np.inf),
    "huber": (HUBER, None),
    "absolute": (EPSILON_INSENSITIVE, 0.0),
    "epsilon_insensitive": (EPSILON_INSENSITIVE, None),
    "squared_epsilon_insensitive": (SQUARED_INSENSITIVE, None),
    "pinball": (PINBALL, None),
    "poisson": (POISSON, 0.0),
    "gamma": (GAMMA, 0.0),
}
_EPSILONS = {
    "huber": 0.5,
    "epsilon_insensitive": 0.1,
    "squared_epsilon_insensitive": 0.1,
}


class ScoringRegressor(RegressorMixin, ScoringEstimator):
    """A regressor: its scores are what is predicted, or the logarithms of that."""

    @property
    def has_log_link(self) -> bool:
        """Whether scores are logarithms of what is predicted."""
        return False

    @property
    def quantile_levels(self) -> np.ndarray | None:
        """Levels of the quantiles that are predicted side by side, if they are."""
        return None

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
            What the local models of each row say; of one target an array of one axis,
            of several quantiles a column of each, in ascending order in every row.
            They are finite: a row so long that its products leave the range of its
            numbers counts as a shorter one in the same direction.
        """
        scores = self.linear_predictor(X)
        found = exponentials(scores) if self.has_log_link else scores
        return found.ravel() if found.shape[1] == 1 else found

    def linear_predictor(self, X) -> np.ndarray:
        """What local weights and intercepts of the rows add up to.

        It is what ``predict`` returns, in columns; with ``loss="poisson"`` and "gamma"
        the logarithm of that.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            ``(local_coef(X) * X[:, None]).sum(-1) + local_intercept(X)``, to rounding.
        """
        return self._scores(validated_rows(self, X, finite=False))

    def score(self, X, y, sample_weight=None) -> float:
        """How much of y is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            R2. Of several quantiles the mean of their D2: 1 - pinball loss / that of
            the quantile of y.
        """
        levels = self.quantile_levels
        if levels is None:
            return super().score(X, y, sample_weight)
        return quantile_score(levels, y, self.linear_predictor(X), sample_weight)


def quantile_score(levels, y, found: np.ndarray, sample_weight=None) -> float:
    """Mean D2 of quantiles, (n, n_levels): 1 - pinball loss / that of y's quantile."""
    scores = [
        d2_pinball_score(y, column, sample_weight=sample_weight, alpha=level)
        for column, level in zip(found.T, levels, strict=True)
    ]
    return float(np.mean(scores))


def _are_levels(levels: np.ndarray) -> bool:
    """Whether these are levels of quantiles, in ascending order."""
    if levels.ndim != 1 or levels.size == 0:
        return False
    inside = bool((levels > 0).all() and (levels < 1).all())
    return inside and bool((np.diff(levels) > 0).all())


class EpochRegressor(EpochEstimator, ScoringRegressor):
    """A regressor that learns in epochs, also from a stream.

    Solvers see y with its offset taken away and divided by its scale.
    """

    _parameter_constraints: dict = {
        **EpochEstimator._parameter_constraints,
        "loss": [StrOptions(set(_LOSSES))],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "quantile": [Interval(Real, 0, 1, closed="neither"), "array-like"],
    }

    # Options that a method need not offer.
    quantile: Any = 0.5

    _y_checks = {"multi_output": True, "y_numeric": True}
    _quality = "D2"

    @property
    def has_log_link(self) -> bool:
        """Whether scores are logarithms of what is predicted."""
        return self.loss in LOG_LINKED

    @property
    def quantile_levels(self) -> np.ndarray | None:
        """Levels of the quantiles that are predicted side by side, if they are."""
        if self.loss != "pinball" or isinstance(self.quantile, Real):
            return None
        try:
            return np.asarray(self.quantile, float)
        except (TypeError, ValueError):
            raise ValueError(
                f"quantile={self.quantile!r} must be a number between 0 and 1, or a "
                "list of such numbers."
            ) from None

    def _known_target(self, classes, *, resume: bool, stream: bool) -> Any:
        if not resume:
            return None
        return 1 if self.quantile_levels is not None else len(self.target_scale_)

    def _encode_target(self, y, known):
        targets = np.asarray(y, float).reshape(len(y), -1)
        self._check_target(targets)
        if known is not None and targets.shape[1] != known:
            raise ValueError(
                f"y has {targets.shape[1]} targets, but {type(self).__name__} has "
                f"learned {known}."
            )
        return None, targets

    def _check_target(self, targets: np.ndarray) -> None:
        """Refuse numbers that the loss is not for."""
        if self.quantile_levels is not None and targets.shape[1] > 1:
            raise ValueError(
                f"y has {targets.shape[1]} targets, but quantile={self.quantile!r} "
                "names several quantiles of one: fit one regressor for each target."
            )
        if self.loss == "poisson" and targets.min(initial=0.0) < 0:
            raise ValueError(
                f"y has the value {targets.min():g}, but loss='poisson' is for numbers "
                "that are not negative: take another loss."
            )
        if self.loss == "gamma" and targets.min(initial=1.0) <= 0:
            raise ValueError(
                f"y has the value {targets.min():g}, but loss='gamma' is for positive "
                "numbers: take another loss, 'poisson' where y may be zero."
            )

    def _strata(self, encoded: np.ndarray) -> None:
        return None

    def _note_target(self, given: FitInput) -> None:
        if not given.resume:
            self.target_offset_, self.target_scale_ = target_scale(
                given.encoded, given.weights, self.loss, self.quantile
            )
            return
        levels = self.quantile_levels
        if levels is not None and len(levels) != len(self.target_scale_):
            raise ValueError(
                f"quantile has {len(levels)} levels, but {type(self).__name__} has "
                f"learned {len(self.target_scale_)}: fit it anew, with "
                "warm_start=False."
            )

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "target_offset_": Array(("targets",)),
            "target_scale_": Array(("targets",), least=0.0),
        }

    def _standardised(self, y: np.ndarray) -> np.ndarray:
        """Numbers as solvers see them, a column of each score."""
        if self.has_log_link:
            with np.errstate(divide="ignore"):
                return np.exp(np.log(y) - self.target_offset_)
        return (y - self.target_offset_) / self.target_scale_

    def _loss_and_parameters(self) -> tuple[int, np.ndarray]:
        """The loss as kernels know it, with a parameter of each score."""
        loss, parameter = _LOSSES[self.loss]
        if self.loss == "pinball":
            parameter = self.quantile
        elif parameter is None:
            parameter = _EPSILONS[self.loss] if self.epsilon is None else self.epsilon
        return loss, np.full(len(self.target_scale_), parameter, float)

    def _check_choices(self) -> None:
        super()._check_choices()
        if self.epsilon is not None and self.loss not in _EPSILONS:
            raise ValueError(
                f"epsilon={self.epsilon} is a setting of loss="
                f"{' or '.join(map(repr, _EPSILONS))}, but loss={self.loss!r}: leave "
                "epsilon=None."
            )
        if self.loss != "pinball" and not np.array_equal(self.quantile, 0.5):
            raise ValueError(
                f"quantile={self.quantile} is a setting of loss='pinball', but loss="
                f"{self.loss!r}: leave quantile=0.5."
            )
        levels = self.quantile_levels
        if levels is not None and not _are_levels(levels):
            raise ValueError(
                f"quantile={self.quantile!r} must be a number between 0 and 1, or "
                "several of them in ascending order, such as [0.05, 0.5, 0.95]."
            )

    def _mean_loss(self, scores, wanted: np.ndarray, weights: np.ndarray) -> float:
        losses = np.empty(wanted.shape)
        number_losses(*self._loss_and_parameters(), scores, wanted, losses)
        return float(np.average(losses.sum(axis=1), weights=weights))

    def _held_out_quality(self, scores: np.ndarray, held: HeldOut) -> float:
        """1 - loss / loss of the offset: R2 or so where the loss is the square."""
        wanted = self._standardised(held.labels)
        first = self._mean_loss(np.zeros_like(wanted), wanted, held.weights)
        left = self._mean_loss(scores.astype(float), wanted, held.weights)
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
