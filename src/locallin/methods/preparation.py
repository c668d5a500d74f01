"""Everything that is chosen before a solver runs: scales, anchors, coding, targets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.utils import check_array

from locallin.coding import (
    AdaptiveCoding,
    Coding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.encoding import PiecewiseLinearEncoder
from locallin.engine.input import sound_matrix
from locallin.engine.lazy_rows import LazyRows, blocks_of, whole
from locallin.engine.matrix import as_rows, find_nearest
from locallin.engine.parallel import single_threaded_blas
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


class FitInput(NamedTuple):
    """Checked input of ``fit``, ``partial_fit`` or ``fit_stream``.

    ``encoded`` is y as indices into ``classes``, or as numbers of shape (n, n_targets)
    where there are no classes; ``weights`` are the products of sample and class
    weights; ``class_weights`` are the latter, in the order of the classes, or None
    where all are one. ``resume`` says whether learning goes on from what is fitted.
    ``stream`` tells whether X is a block of a stream, ``n_rows`` how long the stream is
    where X is a sample of it, ``last_pass`` whether the rows come no more after this.
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
    stream: bool = False

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


class LearningRows(NamedTuple):
    """What local models learn from.

    ``views`` are the rows as anchors and as local models see them; ``visits`` names
    those that count.
    """

    views: tuple
    target: Target
    visits: np.ndarray


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


def make_target(estimator, given: FitInput) -> tuple[Target, np.ndarray]:
    """Targets of the scores, and the rows that count; their weights get a mean of one.

    Weights of a stream are taken as they are.
    """
    classes, weights = given.classes, given.weights
    visits = np.flatnonzero(weights > 0)
    if classes is None:
        labels = estimator._standardised(given.encoded)
        positive = np.arange(labels.shape[1])
    else:
        labels = given.encoded
        positive = np.array([1]) if len(classes) == 2 else np.arange(len(classes))
        if not given.stream:
            _check_present(estimator, classes, labels[visits])
    if not given.stream:
        weights = weights / weights[visits].mean(dtype=float)
    return Target(labels, positive, weights.astype(float)), visits


def _check_present(estimator, classes, labels) -> None:
    present = np.unique(labels)
    if len(present) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of at least two classes; the "
            "rows of positive weight have one class: "
            f"{classes.tolist()[present[0]]!r}."
        )


def fit_space(estimator, given: FitInput, *, in_batches: bool = False) -> LearningRows:
    """Choose feature map, scales, anchors and coding, unless a fit goes on.

    They become attributes of the estimator. With ``in_batches`` the rows of a feature
    map are made when they are asked for.
    """
    target, visits = make_target(estimator, given)
    if given.resume:
        views = row_views(estimator, given.X, in_batches)
        return LearningRows(views, target, visits)
    estimator.feature_map_ = None
    if estimator.feature_map is not None:
        y = given.encoded
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        estimator.feature_map_ = clone(estimator.feature_map).fit(given.X, y)
    views = views_of(estimator, given.X, in_batches)
    scales = choose_scales(estimator, views[1], given)
    estimator.alpha_, estimator.intercept_scaling_, estimator._row_norm = scales
    _fit_coding(estimator, given, views[0])
    return LearningRows(views, target, visits)


def _fit_coding(estimator, given: FitInput, X) -> None:
    """Choose the anchors of rows, and how far a row looks for them."""
    anchors, weights, labels = estimator.anchors, given.weights, given.labels
    vars(estimator).pop("anchor_path_", None)
    if not isinstance(anchors, str):
        _check_number(estimator.n_anchors, anchors)
    if estimator.n_anchors == "auto":
        anchors, estimator.anchor_path_ = estimator._grow(given, X)
    coding = _new_coding(estimator, anchors, given)
    if estimator.metric is not None:
        coding.metric = first_metric(estimator, X, given)
    if isinstance(X, MappedRows):
        most = max(_ANCHOR_ROWS, _ROWS_PER_CLUSTER * getattr(coding, "n_anchors", 0))
        seen = _sampled(given, most)
        X, weights = X[seen], weights[seen]
        labels = None if labels is None else labels[seen]
    uniform = weights.min() == weights.max()
    coding.fit(X, labels, None if uniform else weights)
    if estimator.metric is not None:
        coding.metric = None  # metric_ learns from here on
    estimator.coding_ = coding
    estimator._spacing = anchor_spacing(coding.anchors_) or _spread(X, weights)


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
    rows = X[seen]
    if sparse.issparse(rows):
        model = TruncatedSVD(wanted, random_state=seed)
    else:
        model = PCA(wanted, random_state=seed)
    with single_threaded_blas():  # the bits of its sums depend on its threads
        components = model.fit(rows).components_
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


def row_mapper(feature_map, dtype) -> Callable[[Any], Any]:
    """What a feature map makes of blocks of validated rows of this type.

    Of an encoder of the library's own it is known what it returns; a subclass may
    have another ``transform``.
    """
    transform = getattr(type(feature_map), "transform", None)
    if transform is PiecewiseLinearEncoder.transform:
        return feature_map.row_encoder(dtype)
    return partial(mapped_rows, feature_map)


class MappedRows(LazyRows):
    """The rows of a feature map, made when they are asked for.

    A solver that learns in batches never holds the mapped matrix.
    """

    def __init__(self, feature_map, X):
        self._map, self._X = row_mapper(feature_map, X.dtype), X
        first = self[:1]
        self.shape = X.shape[0], first.shape[1]
        self.size = self.shape[0] * self.shape[1]
        self.dtype = first.dtype

    def __getitem__(self, chosen):
        return self._map(self._X[chosen])


def views_of(estimator, X, in_batches: bool = False) -> tuple:
    """Rows as anchors see them (x or phi(x)), and as local models do (phi(x))."""
    mapped, feature_map = X, estimator.feature_map_
    if feature_map is not None:
        mapped = (MappedRows if in_batches else mapped_rows)(feature_map, X)
    return _two_views(estimator, X, mapped)


def _two_views(estimator, X, mapped) -> tuple:
    anchor_view = mapped if estimator.coding_space == "mapped" else X
    if estimator.local_model == "constant":
        return anchor_view, np.empty((X.shape[0], 0), X.dtype)
    return anchor_view, mapped


def row_views(estimator, X, in_batches: bool = False) -> tuple:
    """The same of a fitted estimator: rows of a map that has changed are refused."""
    views = views_of(estimator, X, in_batches)
    if estimator.feature_map_ is not None:
        _check_widths(estimator, *views)
    return views


def block_views(estimator, dtype) -> Callable[[Any], tuple]:
    """The same of blocks of validated rows of this type, one after the other."""
    if estimator.feature_map_ is None:
        return lambda block: _two_views(estimator, block, block)
    mapper = row_mapper(estimator.feature_map_, dtype)

    def views(block) -> tuple:
        seen = _two_views(estimator, block, mapper(block))
        _check_widths(estimator, *seen)
        return seen

    return views


def _check_widths(estimator, anchor_view, model_view) -> None:
    """Kernels check no bounds."""
    coding = estimator.coding_
    place = coding.anchors_ if coding.metric_ is None else coding.metric_
    arrays = place, vars(estimator).get("coef_", model_view)
    for view, fitted in zip((anchor_view, model_view), arrays, strict=True):
        if view.shape[1] != fitted.shape[-1]:
            raise ValueError(
                f"feature_map_ gives rows of {view.shape[1]} features, but "
                f"{type(estimator).__name__} was fitted to {fitted.shape[-1]}: fit it "
                "again."
            )


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
    kind, k, n_anchors = CODINGS[estimator.coding], estimator.n_neighbors, len(anchors)
    if isinstance(anchors, str):
        usual = rule_of_rows(estimator, given, USUAL_ANCHORS)
        n_anchors = estimator.n_anchors or usual
    if kind is AdaptiveCoding and k is not None:
        raise ValueError(
            f"n_neighbors={k}, but coding='adaptive' chooses the number of "
            "neighbors for each row: leave n_neighbors=None, or choose "
            "coding='soft'."
        )
    names = estimator.rules.coding_parameters
    settings = {name: getattr(estimator, name) for name in names}
    settings |= {"n_probes": estimator.n_probes, "random_state": seed}
    coding = kind(n_anchors, anchors=anchors, **settings)
    if kind is not AdaptiveCoding:
        coding.n_neighbors = min(coding.n_neighbors, n_anchors) if k is None else k
    return coding


def choose_scales(estimator, features, given: FitInput) -> Scales:
    """Alpha and B of an estimator: given, or by its rules from the features."""
    square = 1.0
    if features.shape[1]:
        square = mean_square(features, given.weights)
        _check_range(square, features.dtype)
    norm, rules, n_rows = np.sqrt(square), estimator.rules, given.n_planned
    scaling, alpha = estimator.intercept_scaling, estimator.alpha
    if isinstance(scaling, str):
        scaling = rules.intercept_scaling * norm
    if isinstance(alpha, str):
        alpha = square * rules.alpha(n_rows, given.n_classes) / n_rows
    return Scales(alpha, scaling, norm)


def mean_square(X, weights) -> float:
    """Mean square norm of the rows; 1 where it is zero."""
    norms = np.concatenate([squared_row_norms(as_rows(b)) for b in blocks_of(X)])
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
    X = whole(X)
    mean = np.asarray(X.T @ weights, float) / weights.sum(dtype=float)
    square = mean_square(X, weights)
    return float(np.sqrt(max(square - mean @ mean, 0.0))) or 1.0
