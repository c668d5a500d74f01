"""Checked input of a fit, and everything that is chosen before a solver runs.

An estimator is not changed here: its parameters and rules are read, and what was
checked or chosen is returned.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from locallin.coding import (
    AdaptiveCoding,
    Coding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.engine.input import checked_data, sound_matrix
from locallin.engine.matrix import BLOCK, as_rows, find_nearest
from locallin.engine.parallel import row_blocks
from locallin.engine.scales import warn_of_scales
from locallin.engine.sklearn_api import check_sample_weight, validate_parameters
from locallin.kernels.linear import Target
from locallin.kernels.rows import squared_row_norms

CODINGS = {
    "inverse-distance": InverseDistanceCoding,
    "soft": SoftAssignmentCoding,
    "adaptive": AdaptiveCoding,
}
# Anchors at the most, where n_anchors=None.
USUAL_ANCHORS = 100
# Dimensions of a linear metric, where n_dimensions=None, and rows that it starts from.
USUAL_COMPONENTS = 64
_METRIC_ROWS = 10_000
# Rows that anchors are chosen from where a feature map makes rows when asked for them:
# so many, or so many for each anchor.
_ANCHOR_ROWS = 30_000
_ROWS_PER_CLUSTER = 20
NO_HELD_OUT_ROWS = (
    "probability=True holds out rows, which a stream does not have: for its "
    "probabilities choose loss='logistic' or 'multinomial', where the method has them, "
    "or set probability=False and calibrate what is fitted with "
    "CalibratedClassifierCV(FrozenEstimator(model)) on other rows."
)


class FitInput(NamedTuple):
    """Checked input of ``fit``, ``partial_fit`` or ``fit_stream``.

    ``encoded`` is y as indices into ``classes``, or as numbers of shape (n, n_targets)
    where there are no classes; ``weights`` are the products of sample and class
    weights; ``class_weights`` are the latter, in the order of the classes, or None
    where all are one. ``resume`` says whether learning goes on from what is fitted.
    Where X is a sample of a stream, ``n_rows`` is the length of the stream;
    ``last_pass`` tells whether the rows come no more after this.
    """

    X: Any
    y: np.ndarray
    classes: Any
    encoded: np.ndarray
    weights: np.ndarray
    rng: np.random.RandomState
    resume: bool
    held_out: tuple | None
    n_rows: int | None = None
    last_pass: bool = True
    class_weights: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 where y is numbers."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def labels(self) -> np.ndarray | None:
        """Classes by their index, None where y is numbers."""
        return None if self.classes is None else self.encoded

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
    """Penalty and lengths in the units of the data.

    ``row_norm`` is the root mean square norm of the rows.
    """

    alpha: float
    intercept_scaling: float
    row_norm: float


def convex_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha of a convex machine: strong where rows are few, as held-out rows need it.

    It falls with the rows and with the number of classes.
    """
    share = (300 / n_rows) ** 1.25 / (n_classes - 1)
    return np.clip(share, 0.01, 1.0)


def joint_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha for anchors that move: they can follow single rows where these are few."""
    share = 300 / (n_rows * (n_classes - 1))
    return np.clip(share, 0.02, 1.0) * np.clip(np.sqrt(9000 / n_rows), 1.0, 3.0)


def latent_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha of latent weights: strong where rows are few, as held-out rows need it."""
    return np.clip(300 / n_rows, 0.1, 0.5)


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


class Space(NamedTuple):
    """Where local models sit and what they see."""

    feature_map: Any  # a fitted transformer, or None
    scales: Scales
    coding: Coding
    spacing: float  # median distance of an anchor to its nearest neighbour
    anchor_path: np.ndarray | None  # with n_anchors="auto"


def check_feature_map(estimator) -> None:
    """Refuse settings of the feature map that do not go together."""
    if estimator.coding_space == "mapped" and estimator.feature_map is None:
        raise ValueError("coding_space='mapped' needs a feature_map.")
    if (
        estimator.local_model == "constant"
        and estimator.feature_map is not None
        and estimator.coding_space == "input"
    ):
        raise ValueError(
            "local_model='constant' does not look at the features: drop "
            "feature_map, or use it for the coding with coding_space='mapped'."
        )


def check_coding(estimator) -> None:
    """Refuse settings of anchors beside a coding that is an object."""
    if isinstance(estimator.coding, str):
        return
    for name in ("n_anchors", "n_neighbors", "n_probes", "anchors"):
        default = signature(type(estimator)).parameters[name].default
        if getattr(estimator, name) is not default:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} does not reach a coding that "
                f"is passed as an object: set it there, as in "
                f"{type(estimator.coding).__name__}({name}=...)."
            )


def check_parameters(estimator) -> None:
    """Refuse parameters that are not allowed, alone or together."""
    validate_parameters(estimator)
    estimator._check_choices()


def validated_rows(estimator, X, *, finite: bool = True):
    """Rows as a fitted estimator checks them before it predicts."""
    check_is_fitted(estimator)
    return checked_data(estimator, X, reset=False, finite=finite)


def take_rows(estimator, X, y, sample_weight, validation) -> FitInput:
    """Check the arguments of ``fit``."""
    check_parameters(estimator)
    resume = estimator.warm_start and hasattr(estimator, "coef_")
    X, y = checked_data(estimator, X, y, reset=not resume, **estimator._y_checks)
    if not resume:
        warn_of_scales(estimator, X)
    known = estimator._known_target(None, resume=resume, stream=False)
    labels = estimator._encode_target(y, known)
    given = _new_input(estimator, X, y, labels, sample_weight, resume)
    return given._replace(held_out=_take_held_out(estimator, given, *validation))


def take_block(estimator, X, y, classes, sample_weight) -> FitInput:
    """Check the arguments of ``partial_fit``."""
    check_parameters(estimator)
    check_stream(estimator)
    resume = hasattr(estimator, "coef_")
    known = estimator._known_target(classes, resume=resume, stream=True)
    X, y = checked_data(estimator, X, y, reset=not resume, **estimator._y_checks)
    if not resume:
        warn_of_scales(estimator, X)
    labels = estimator._encode_target(y, known)
    return _new_input(estimator, X, y, labels, sample_weight, resume)


def _new_input(estimator, X, y, labels, sample_weight, resume) -> FitInput:
    classes, encoded = labels
    by_class = weights_of_classes(estimator.class_weight, classes, encoded)
    weights = row_weights(X, encoded, sample_weight, by_class)
    rng = check_random_state(estimator.random_state)
    return FitInput(
        X, y, classes, encoded, weights, rng, resume, None, class_weights=by_class
    )


def _take_held_out(estimator, given: FitInput, X_val, y_val, weights_val):
    """Rows for early stopping, (X, labels, weights): given, or drawn; or None.

    Rows that are drawn from the training rows get a weight of 0 there, in place.
    """
    if not estimator.early_stopping:
        if X_val is not None or y_val is not None:
            raise ValueError(
                "X_val and y_val serve early stopping: set early_stopping=True."
            )
        return None
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: pass both or neither.")
    if X_val is not None:
        X_val, y_val = checked_data(
            estimator, X_val, y_val, reset=False, **estimator._y_checks
        )
        labels = estimator._encode_target(y_val, given.classes)[1]
        return (
            X_val,
            labels,
            row_weights(X_val, labels, weights_val, given.class_weights),
        )
    counted = np.flatnonzero(given.weights > 0)
    chosen = train_test_split(
        counted,
        test_size=estimator.validation_fraction,
        stratify=estimator._strata(given.encoded[counted]),
        random_state=given.rng,
    )[1]
    held_weights = given.weights[chosen]
    given.weights[chosen] = 0.0
    return given.X[chosen], given.encoded[chosen], held_weights


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


def weights_of_classes(class_weight, classes, encoded) -> np.ndarray | None:
    """The weight of each class; None where all of them are one."""
    if class_weight is None:
        return None
    return compute_class_weight(class_weight, classes=classes, y=classes[encoded])


def row_weights(X, encoded, sample_weight, class_weights) -> np.ndarray:
    """Product of sample weights and class weights."""
    weights = check_sample_weight(sample_weight, X)
    if class_weights is not None:
        weights = weights * class_weights[encoded].astype(weights.dtype)
    return weights


def check_stream(estimator) -> None:
    """Refuse settings that need all rows at once."""
    if estimator.early_stopping:
        raise ValueError("partial_fit does not work with early_stopping=True.")
    if estimator.probability:
        raise ValueError(NO_HELD_OUT_ROWS)
    if isinstance(estimator.class_weight, str):
        raise ValueError(
            "class_weight='balanced' needs all rows at once: for partial_fit pass "
            "a dict of weights, e.g. from sklearn.utils.compute_class_weight."
        )


def make_target(
    given: FitInput, name: str, *, stream: bool = False
) -> tuple[Target, np.ndarray]:
    """Targets of the scores, and the rows that count; their weights get a mean of one.

    Weights of a stream are taken as they are; ``name`` is that of the estimator.
    """
    classes, encoded, weights = given.classes, given.encoded, given.weights
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


def fit_space(
    estimator, given: FitInput, in_batches: bool = False
) -> tuple[Space, tuple]:
    """Choose feature map, scales, anchors and coding.

    Returns them, and the rows as anchors and as local models see them: with
    ``in_batches`` those of a feature map are made when they are asked for.
    """
    X, encoded, weights = given.X, given.encoded, given.weights
    labels, feature_map = given.labels, None
    if estimator.feature_map is not None:
        y = encoded[:, 0] if encoded.ndim == 2 and encoded.shape[1] == 1 else encoded
        feature_map = clone(estimator.feature_map).fit(X, y)
    anchor_view, model_view = views = views_of(estimator, feature_map, X, in_batches)
    scales = choose_scales(estimator, model_view, given)
    anchors, path = estimator.anchors, None
    if not isinstance(anchors, str):
        _check_number(estimator.n_anchors, anchors)
    if estimator.n_anchors == "auto":
        anchors, path = estimator._grow(given, anchor_view)
    coding = _new_coding(estimator, anchors, given)
    if estimator.metric is not None:
        coding.metric = first_metric(estimator, anchor_view, given)
    if isinstance(anchor_view, MappedRows):
        most = max(_ANCHOR_ROWS, _ROWS_PER_CLUSTER * getattr(coding, "n_anchors", 0))
        seen = _sampled(given, most)
        anchor_view, weights = anchor_view[seen], weights[seen]
        labels = None if labels is None else labels[seen]
    uniform = weights.min() == weights.max()
    coding.fit(anchor_view, labels, None if uniform else weights)
    if estimator.metric is not None:
        coding.metric = None  # metric_ learns from here on
    spacing = anchor_spacing(coding.anchors_) or _spread(anchor_view, weights)
    return Space(feature_map, scales, coding, spacing, path), views


def first_metric(estimator, X, given: FitInput) -> np.ndarray:
    """Where a metric starts: at ones, at the identity, or at principal components."""
    n_features = X.shape[1]
    if estimator.metric == "scale":
        return np.ones(n_features, X.dtype)
    wanted = estimator.n_dimensions or USUAL_COMPONENTS
    if wanted >= n_features:
        return np.eye(n_features, dtype=X.dtype)
    seen = _sampled(given, _METRIC_ROWS)
    wanted = min(wanted, len(seen))
    seed = given.rng.randint(np.iinfo(np.int32).max)
    if sparse.issparse(X):
        model = TruncatedSVD(wanted, random_state=seed)
    else:
        model = PCA(wanted, random_state=seed)
    components = model.fit(X[seen]).components_
    return np.ascontiguousarray(components, X.dtype)


def _sampled(given: FitInput, most: int) -> np.ndarray:
    """At most so many of the rows that count, ascending."""
    counted = np.flatnonzero(given.weights > 0)
    if len(counted) <= most:
        return counted
    return np.sort(given.rng.choice(counted, most, replace=False))


def anchor_spacing(anchors: np.ndarray) -> float:
    """Median distance of an anchor to its nearest neighbour; 0 where there is none."""
    if len(anchors) < 2:
        return 0.0
    distances = find_nearest(as_rows(anchors), anchors, 2)[1][:, 1]
    return float(np.median(distances))


def mapped_rows(feature_map, X):
    """What a feature map makes of validated rows."""
    return check_array(
        sound_matrix(feature_map.transform(X), "feature_map's output"),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        input_name="feature_map's output",
    )


class MappedRows:
    """The rows of a feature map, made when they are asked for.

    A solver that learns in batches never holds the mapped matrix.
    """

    def __init__(self, feature_map, X):
        self._feature_map, self._X = feature_map, X
        first = mapped_rows(feature_map, X[:1])
        self.shape = X.shape[0], first.shape[1]
        self.dtype = first.dtype

    def __getitem__(self, chosen):
        return mapped_rows(self._feature_map, self._X[chosen])


def views_of(estimator, feature_map, X, in_batches: bool = False) -> tuple:
    """Rows as anchors see them (x or phi(x)), and as local models do (phi(x))."""
    mapped = X
    if feature_map is not None:
        mapped = (MappedRows if in_batches else mapped_rows)(feature_map, X)
    anchor_view = mapped if estimator.coding_space == "mapped" else X
    if estimator.local_model == "constant":
        return anchor_view, np.empty((X.shape[0], 0), X.dtype)
    return anchor_view, mapped


def _check_number(n_anchors, anchors) -> None:
    if n_anchors not in (None, len(anchors)):
        raise ValueError(
            f"n_anchors={n_anchors!r}, but {len(anchors)} anchors are given: "
            "leave n_anchors=None."
        )


def rule_of_rows(estimator, given: FitInput, most: int) -> int:
    """Number of anchors for so many rows."""
    share = given.n_planned // estimator.rules.rows_per_anchor
    return int(np.clip(share, given.n_classes, most))


def _new_coding(estimator, anchors, given: FitInput) -> Coding:
    """The coding an estimator asks for, not fitted yet."""
    seed = given.rng.randint(np.iinfo(np.int32).max)
    if not isinstance(estimator.coding, str):
        coding = clone(estimator.coding)
        if coding.random_state is None:
            coding.set_params(random_state=seed)
        return coding
    n_anchors = len(anchors)
    if isinstance(anchors, str):
        usual = rule_of_rows(estimator, given, USUAL_ANCHORS)
        n_anchors = estimator.n_anchors or usual
    coding = CODINGS[estimator.coding](
        n_anchors, anchors=anchors, n_probes=estimator.n_probes, random_state=seed
    )
    _set_neighbors(coding, estimator.n_neighbors, n_anchors)
    names = estimator.rules.coding_parameters
    return coding.set_params(**{name: getattr(estimator, name) for name in names})


def _set_neighbors(coding: Coding, k: int | None, n_anchors: int) -> None:
    if not isinstance(coding, AdaptiveCoding):
        coding.n_neighbors = min(coding.n_neighbors, n_anchors) if k is None else k
    elif k is not None:
        raise ValueError(
            f"n_neighbors={k}, but coding='adaptive' chooses the number of "
            "neighbors for each row: leave n_neighbors=None, or choose "
            "coding='soft'."
        )


def choose_scales(estimator, features, given: FitInput) -> Scales:
    """Alpha and B of an estimator: given, or by its rules from the features."""
    square = 1.0
    if features.shape[1]:
        square = _mean_square(features, given.weights)
        _check_range(square, features.dtype)
    norm, rules, n_rows = np.sqrt(square), estimator.rules, given.n_planned
    scaling, alpha = estimator.intercept_scaling, estimator.alpha
    if scaling == "auto":
        scaling = rules.intercept_scaling * norm
    if isinstance(alpha, str):
        alpha = square * rules.alpha(n_rows, given.n_classes) / n_rows
    return Scales(alpha, scaling, norm)


def _mean_square(X, weights) -> float:
    """Mean square norm of the rows; 1 where it is zero."""
    size = BLOCK if isinstance(X, MappedRows) else X.shape[0]
    blocks = (X[start:stop] for start, stop in row_blocks(X.shape[0], size))
    norms = np.concatenate([squared_row_norms(as_rows(block)) for block in blocks])
    return float(np.average(norms, weights=weights)) or 1.0


def _check_range(square: float, dtype) -> None:
    """Refuse rows whose squares leave the range of their type."""
    limits = np.finfo(dtype)
    low = float(limits.tiny) / float(limits.eps)
    high = float(limits.max) * float(limits.eps)
    if not low < square < high:
        raise ValueError(
            f"The rows of X have a root mean square norm of "
            f"{np.sqrt(square):.2g}, whose square is outside the range of "
            f"{dtype}: scale the features, e.g. with StandardScaler."
        )


def _spread(X, weights) -> float:
    mean = np.asarray(X.T @ weights, float) / weights.sum(dtype=float)
    square = _mean_square(X, weights)
    return float(np.sqrt(max(square - mean @ mean, 0.0))) or 1.0
