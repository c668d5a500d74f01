"""Checked input and everything that is chosen before a solver runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from locallin.engine.matrix import as_rows
from locallin.engine.sklearn_api import check_sample_weight
from locallin.kernels.linear import Target
from locallin.kernels.rows import squared_row_norms


class FitInput(NamedTuple):
    """Checked input of ``fit``, ``partial_fit`` or ``fit_stream``.

    ``encoded`` are the classes as indices into ``classes_``, ``weights`` the products
    of sample and class weights. ``resume`` says whether learning goes on from what is
    fitted. Where X is a sample of a stream, ``n_rows`` is the length of the stream;
    ``last_pass`` tells whether the rows come no more after this.
    """

    X: Any
    y: np.ndarray
    encoded: np.ndarray
    weights: np.ndarray
    rng: np.random.RandomState
    resume: bool
    held_out: tuple | None
    n_rows: int | None = None
    last_pass: bool = True

    @property
    def n_planned(self) -> int:
        """Rows that count, in all of the stream."""
        return self.n_rows or int(np.count_nonzero(self.weights))


@dataclass(frozen=True)
class HeldOut:
    """Rows that early stopping watches, in the form their classifier scores."""

    rows: Any
    labels: np.ndarray
    weights: np.ndarray


class Scales(NamedTuple):
    """The penalty, B, and the rows' root mean square norm, all in units of the data."""

    alpha: float
    intercept_scaling: float
    row_norm: float


def convex_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha of a convex machine: strong where rows are few, as held-out rows need it.

    It falls with the rows and with the number of classes.
    """
    share = (300 / n_rows) ** 1.25 / (n_classes - 1)
    return np.clip(share, 0.01, 1.0)


@dataclass(frozen=True)
class Rules:
    """Rules of a method for what its parameters leave open.

    ``alpha`` takes the numbers of rows and of classes and returns alpha for rows of
    unit norm, times their number; ``intercept_scaling`` is in units of the rows' norm.
    ``coding_parameters`` are parameters of the estimator that its coding gets, and
    ``while_growing`` those that change while the number of anchors is looked for.
    """

    alpha: Callable[[int, int], float] = convex_alpha
    intercept_scaling: float = 1.0
    rows_per_anchor: int = 25
    most_anchors: int = 400
    coding_parameters: tuple[str, ...] = ()
    while_growing: Mapping[str, Any] = field(default_factory=dict)


def encode_classes(y, known, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and y as indices into them.

    ``known`` are the classes that an earlier call has fixed, or None; ``name`` is
    that of the estimator.
    """
    check_classification_targets(y)
    found, encoded = np.unique(y, return_inverse=True)
    if known is None:
        if len(found) < 2:
            raise ValueError(
                f"{name} needs rows of at least two classes; "
                f"y has one class: {found[0]!r}."
            )
        return found, encoded
    unknown = np.setdiff1d(found, known)
    if len(unknown):
        raise ValueError(
            f"y has classes that are not among the known ones: {unknown}; "
            f"known classes: {known}."
        )
    return known, np.searchsorted(known, found)[encoded]


def stream_classes(classes, known) -> np.ndarray:
    """Classes of a stream: as given now, or as ``known`` from an earlier call."""
    if classes is None:
        if known is None:
            raise ValueError("classes must be passed to the first call of partial_fit.")
        return known
    classes = np.unique(classes)
    if known is not None and not np.array_equal(classes, known):
        raise ValueError(
            f"classes={classes} differs from the first call of partial_fit, "
            f"which had {known}."
        )
    if len(classes) < 2:
        raise ValueError(f"classes={classes} must name at least two classes.")
    return classes


def row_weights(X, encoded, classes, sample_weight, class_weight) -> np.ndarray:
    """Product of sample weights and class weights."""
    weights = check_sample_weight(sample_weight, X)
    if class_weight is not None:
        per_class = compute_class_weight(
            class_weight, classes=classes, y=classes[encoded]
        )
        weights = weights * per_class[encoded].astype(weights.dtype)
    return weights


def check_stream(estimator) -> None:
    """Refuse settings that need all rows at once."""
    if estimator.early_stopping:
        raise ValueError("partial_fit does not work with early_stopping=True.")
    if isinstance(estimator.class_weight, str):
        raise ValueError(
            "class_weight='balanced' needs all rows at once: for partial_fit pass "
            "a dict of weights, e.g. from sklearn.utils.compute_class_weight."
        )


def make_target(
    encoded, weights, classes, name: str, *, stream: bool = False
) -> tuple[Target, np.ndarray]:
    """Targets of the scores, and the rows that count; their weights get a mean of one.

    Weights of a stream are taken as they are.
    """
    positive = np.array([1]) if len(classes) == 2 else np.arange(len(classes))
    visits = np.flatnonzero(weights > 0)
    if not stream:
        present = np.unique(encoded[visits])
        if len(present) < 2:
            raise ValueError(
                f"{name} needs rows of at least two classes; the "
                "rows of positive weight have one class: "
                f"{classes[present[0]]!r}."
            )
        weights = weights / weights[visits].mean(dtype=float)
    return Target(encoded, positive, weights.astype(float)), visits


def choose_scales(estimator, features, weights, n_rows: int) -> Scales:
    """Alpha and B of an estimator: given, or by its rules from the features."""
    square = 1.0
    if features.shape[1]:
        square = _mean_square(features, weights)
    norm, rules = np.sqrt(square), estimator.rules
    scaling, alpha = estimator.intercept_scaling, estimator.alpha
    if scaling == "auto":
        scaling = rules.intercept_scaling * norm
    if alpha == "auto":
        alpha = square * rules.alpha(n_rows, len(estimator.classes_)) / n_rows
    return Scales(alpha, scaling, norm)


def _mean_square(features, weights) -> float:
    """Mean square norm of the rows; an error where it leaves the range of floats."""
    norms = squared_row_norms(as_rows(features))
    square = float(np.average(norms, weights=weights)) or 1.0
    limits = np.finfo(features.dtype)
    low = float(limits.tiny) / float(limits.eps)
    high = float(limits.max) * float(limits.eps)
    if not low < square < high:
        raise ValueError(
            f"The rows of X have a root mean square norm of "
            f"{np.sqrt(square):.2g}, whose square is outside the range of "
            f"{features.dtype}: scale the features, e.g. with StandardScaler."
        )
    return square


def spread_of(X, weights) -> float:
    """Root mean square distance of the rows from their mean; 1 where it is zero."""
    square = np.average(squared_row_norms(as_rows(X)), weights=weights)
    mean = np.asarray(X.T @ weights, float) / weights.sum(dtype=float)
    return float(np.sqrt(max(square - mean @ mean, 0.0))) or 1.0


def draw_held_out(X, encoded, weights, fraction: float, rng) -> tuple:
    """Rows for early stopping, (X, labels, weights), drawn from the training rows.

    Their weights in training become 0, in place.
    """
    chosen = train_test_split(
        np.flatnonzero(weights > 0),
        test_size=fraction,
        stratify=encoded[weights > 0],
        random_state=rng,
    )[1]
    held_weights = weights[chosen]
    weights[chosen] = 0.0
    return X[chosen], encoded[chosen], held_weights
