"""The computations of the models as ONNX nodes."""

from typing import NamedTuple

import numpy as np

from locallin.charts.machines import machines_of
from locallin.engine.optional import import_optional
from locallin.export._codings import kind_of
from locallin.kernels.coding import ADAPTIVE, INVERSE_DISTANCE
from locallin.kernels.encoding import (
    HIGH,
    LEFT,
    LOW,
    MISSING,
    SLOPE,
    START,
    Encoding,
)
from locallin.kernels.latent import dual_exponent
from locallin.methods.chart_machines import has_unit_length, weight_bandwidth
from locallin.methods.links import LARGEST_POWER
from locallin.methods.regression import ScoringRegressor

# A distance that no anchor has, whose square is still a number.
_FAR = np.float64(1e100)


class Inputs(NamedTuple):
    """Names of the rows, and of the rows behind the feature map."""

    x: str
    mapped: str


class Graph:
    """Adds nodes and constants to a skl2onnx container, and names what they give."""

    def __init__(self, scope, container):
        self._scope = scope
        self._container = container
        self._types = import_optional("onnx", "onnx").TensorProto

    def constant(self, values) -> str:
        """A constant of type float, double, int64 or str."""
        values = np.asarray(values)
        kinds = {
            np.dtype(np.float32): self._types.FLOAT,
            np.dtype(np.float64): self._types.DOUBLE,
            np.dtype(np.int64): self._types.INT64,
        }
        kind = kinds.get(values.dtype, self._types.STRING)
        if kind == self._types.STRING:
            content = [str(v).encode() for v in values.ravel()]
        else:
            content = values.ravel().tolist()
        name = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, kind, list(values.shape), content)
        return name

    def __call__(self, kind: str, *inputs, n_out: int = 1, **attributes):
        """Add a node; inputs that are not names become constants."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        unique = self._scope.get_unique_variable_name
        outputs = [unique(kind.lower()) for _ in range(n_out)]
        self._container.add_node(
            kind,
            names,
            outputs,
            name=self._scope.get_unique_operator_name(kind),
            **attributes,
        )
        return outputs[0] if n_out == 1 else outputs

    def name(self, what: str, name: str) -> None:
        """Give a result the name of an output."""
        self._container.add_node(
            "Identity",
            [what],
            [name],
            name=self._scope.get_unique_operator_name("Identity"),
        )

    def single(self, x: str) -> str:
        """As float."""
        return self("Cast", x, to=self._types.FLOAT)

    def double(self, x: str) -> str:
        """As double."""
        return self("Cast", x, to=self._types.DOUBLE)

    def integer(self, x: str) -> str:
        """As int64."""
        return self("Cast", x, to=self._types.INT64)

    def sum(self, x: str, axis: int, *, keep: bool = True) -> str:
        """Sum along an axis."""
        return self("ReduceSum", x, np.array([axis]), keepdims=int(keep))

    def smallest(self, x: str, k: int) -> tuple[str, str]:
        """The k smallest of each row, ascending, and where they stand."""
        return self("TopK", x, np.array([k]), n_out=2, axis=-1, largest=0, sorted=1)

    def first(self, x: str) -> str:
        """The first column."""
        return self("Gather", x, np.array([0]), axis=1)

    def spread(self, weights: str, where: str, like: str) -> str:
        """Put weights where they belong in rows of zeros, of the shape of ``like``."""
        zeros = self("Mul", like, np.float64(0))
        return self("ScatterElements", zeros, where, weights, axis=1)


def _square_sum(g: Graph, x: str) -> str:
    return g.sum(g("Mul", x, x), 1)


def _distances(g: Graph, x: str, anchors) -> str:
    """Distances in double precision, (n, m)."""
    center = np.asarray(anchors, float).mean(axis=0)
    anchors = np.asarray(anchors, float) - center
    x = g("Sub", g.double(x), center)
    squares = g("MatMul", x, -2 * anchors.T)
    squares = g("Add", squares, np.square(anchors).sum(axis=1))
    squares = g("Add", squares, _square_sum(g, x))
    return g("Sqrt", g("Max", squares, np.float64(0)))


def _normalized(g: Graph, weights: str) -> str:
    return g("Div", weights, g.sum(weights, 1))


def coding_weights(g: Graph, coding, x: str) -> str:
    """Local coordinates in double precision, dense (n, m)."""
    kind = kind_of(coding)
    if coding.metric_ is not None:
        metric = np.asarray(coding.metric_, float)
        kind_of_map = "Mul" if metric.ndim == 1 else "MatMul"
        x = g(kind_of_map, g.double(x), np.ascontiguousarray(metric.T))
    distances = _distances(g, x, coding.anchors_)
    if coding.n_probes is not None:
        least = 1 if kind == ADAPTIVE else coding.n_neighbors_
        distances = _in_sight(g, coding, x, distances, least)
    bandwidth = np.asarray(coding.bandwidth_, float)
    if kind == ADAPTIVE:
        return _adaptive(g, g("Mul", distances, bandwidth), len(coding.anchors_))
    near, where = g.smallest(distances, coding.n_neighbors_)
    if kind == INVERSE_DISTANCE:
        tiny = np.float64(1e-300)
        first = g("Max", g.first(near), tiny)
        weights = g("Div", first, g("Max", near, tiny))
    else:
        if bandwidth.ndim:
            roots = g("Gather", np.sqrt(bandwidth), where, axis=0)
        else:
            roots = np.sqrt(bandwidth)
        near = g("Mul", near, roots)
        least = g.smallest(near, 1)[0]
        product = g("Mul", g("Sub", least, near), g("Add", least, near))
        weights = g("Exp", product)
    return g.spread(_normalized(g, weights), where, distances)


def _in_sight(g: Graph, coding, x: str, distances: str, least: int) -> str:
    """Distances to the anchors that a row looks at; the others are far away."""
    groups = coding.state().groups
    sizes = np.bincount(groups.of_anchor, minlength=len(groups.centers)).astype(float)
    to_centers = _distances(g, x, groups.centers)
    _, order = g.smallest(to_centers, len(sizes))
    own = g("Gather", sizes, order, axis=0)
    before = g("Sub", g("CumSum", own, np.int64(1)), own)
    wanted = g.double(g("Less", before, np.float64(least)))
    always = np.where(np.arange(len(sizes)) < groups.n_probes, 1.0, 0.0)
    seen = g.spread(g("Max", wanted, always[None]), order, to_centers)
    by_anchor = g("Gather", seen, groups.of_anchor.astype(np.int64), axis=1)
    return g("Where", g("Less", by_anchor, np.float64(0.5)), _FAR, distances)


def _adaptive(g: Graph, u: str, m: int) -> str:
    """Adaptive weights, from the thresholds of every k in closed form.

    With T and S the sums of the k smallest u and of their squares, the threshold is
    (T + sqrt(k + T^2 - k S)) / k. It holds for the largest k whose u lies below the
    threshold of k - 1; beyond that one, no u does.
    """
    near, _ = g.smallest(u, m)
    first = g.first(near)
    near, u = g("Sub", near, first), g("Sub", u, first)
    axis = np.int64(1)
    total = g("CumSum", near, axis)
    squares = g("CumSum", g("Mul", near, near), axis)
    k = np.arange(1.0, m + 1)
    inside = g("Sub", g("Add", g("Mul", total, total), k), g("Mul", squares, k))
    root = g("Sqrt", g("Max", inside, np.float64(0)))
    levels = g("Div", g("Add", total, root), k)
    if m == 1:
        level = levels
    else:
        before = g("Gather", levels, np.arange(m - 1), axis=1)
        after = g("Gather", near, np.arange(1, m), axis=1)
        count = g.sum(g.integer(g("Less", after, before)), 1)
        level = g("GatherElements", levels, count, axis=1)
    room = g("Max", g("Sub", level, u), np.float64(0))
    return _normalized(g, room)


def anchor_weights(g: Graph, coding, rows: Inputs) -> str:
    """Weights that a coding's ``transform`` returns, dense."""
    return g.single(coding_weights(g, coding, rows.x))


def anchored_scores(g: Graph, model, rows: Inputs) -> str:
    """f_c(x) = sum_j g_j(x) (w_jc . x + b_jc), from all local models at once."""
    where = rows.mapped if model.coding_space == "mapped" else rows.x
    weights = g.single(coding_weights(g, model.coding_, where))
    intercept = model.intercept_.astype(np.float32)
    constant = g("MatMul", weights, intercept)
    m, n_scores, n_features = model.coef_.shape
    if n_features == 0:
        return constant
    flat = model.coef_.reshape(m * n_scores, n_features).astype(np.float32)
    values = g("MatMul", rows.mapped, np.ascontiguousarray(flat.T))
    values = g("Reshape", values, np.array([-1, m, n_scores]))
    weights = g("Unsqueeze", weights, np.array([1]))
    mixed = g("Squeeze", g("MatMul", weights, values), np.array([1]))
    return g("Add", mixed, constant)


def anchored_numbers(g: Graph, model, rows: Inputs) -> str:
    """Scores of a regressor with anchors: several quantiles ascend in each row."""
    scores = anchored_scores(g, model, rows)
    levels = model.quantile_levels
    return scores if levels is None else g.smallest(scores, len(levels))[0]


def numbers(g: Graph, scores: str, model) -> str:
    """What ``predict`` makes of the scores of a regressor."""
    if not model.has_log_link:
        return scores
    bounds = np.float32(-LARGEST_POWER), np.float32(LARGEST_POWER)
    return g("Exp", g("Clip", scores, *bounds))


def mean_scores(g: Graph, model, rows: Inputs, of_member) -> str:
    """Scores of a mean, from those of its members."""
    parts = []
    for member in model.members_:
        if getattr(member, "feature_map_", None) is not None:
            raise TypeError(
                "to_onnx has no members with a feature map: encode the rows in a step "
                "before the ensemble."
            )
        parts.append(of_member(g, member, rows))
    total = parts[0]
    for part in parts[1:]:
        total = g("Add", total, part)
    scale = getattr(model, "scale_", 1.0)
    return g("Mul", total, np.float32(scale / len(parts)))


def latent_scores(g: Graph, model, rows: Inputs) -> str:
    """s_c(x) = |(W_c x + b_c)+|_q."""
    n_classes, m, n_features = model.coef_.shape
    flat = model.coef_.reshape(n_classes * m, n_features).astype(np.float32)
    values = g("MatMul", rows.x, np.ascontiguousarray(flat.T))
    values = g("Add", values, model.intercept_.ravel().astype(np.float32))
    values = g("Relu", g("Reshape", values, np.array([-1, n_classes, m])))
    values = g.double(values)
    best, _ = g("TopK", values, np.array([1]), n_out=2, axis=-1, largest=1, sorted=1)
    q = dual_exponent(model.p_)
    scores = best
    if np.isfinite(q):
        ratios = g("Div", values, g("Max", best, np.float64(1e-300)))
        total = g.sum(g("Pow", ratios, np.float64(q)), 2)
        scores = g("Mul", best, g("Pow", total, np.float64(1 / q)))
    scores = g("Squeeze", scores, np.array([2]))
    if n_classes == 2:
        pair = [g("Gather", scores, np.array([c]), axis=1) for c in (1, 0)]
        scores = g("Sub", *pair)
    return g.single(scores)


def bins(g: Graph, encoder, rows: Inputs) -> str:
    """Components of a PiecewiseLinearEncoder."""
    state = encoder.kernel_state(np.float64)
    return g.single(bin_components(g, state, g.double(rows.x)))


def bin_components(g: Graph, state: Encoding, x: str) -> str:
    """Clipped lines of numbers, in double precision."""
    origins, table = state
    x = g("Gather", x, origins, axis=1)
    value = g("Mul", g("Sub", x, table[LEFT]), table[SLOPE])
    value = g("Max", g("Add", value, table[START]), table[LOW])
    value = g("Min", value, table[HIGH])
    return g("Where", g("IsNaN", x), table[MISSING], value)


def waves(g: Graph, sampler, rows: Inputs) -> str:
    """The features of IntersectionSampler."""
    step = sampler.sample_interval_
    positive = g("Greater", rows.x, np.float32(0))
    roots = g("Sqrt", rows.x)
    logs = g("Log", g("Where", positive, rows.x, np.float32(1)))
    parts = [g("Mul", roots, np.float32(np.sqrt(step * 2 / np.pi)))]
    for j in range(1, sampler.sample_steps):
        density = 2 / (np.pi * (1 + 4 * (j * step) ** 2))
        amplitude = g("Mul", roots, np.float32(np.sqrt(2 * step * density)))
        phase = g("Mul", logs, np.float32(j * step))
        parts += [g("Mul", amplitude, g(wave, phase)) for wave in ("Cos", "Sin")]
    return g("Concat", *parts, axis=1)


class _Charted(NamedTuple):
    """Rows as an atlas sees them, in double precision."""

    weights: str  # (n, m), zero beyond the nearest charts
    nearest: str  # (n, k)
    points: str  # (n, m, d)


def _charted(g: Graph, atlas, x: str, k: int, gamma: float, *, relative=True):
    center = atlas.center_.astype(float)
    means = atlas.means_.astype(float) - center
    m, d, n_features = atlas.components_.shape
    bases = atlas.components_.astype(float)
    offsets = np.einsum("idf,if->id", bases, means)
    x = g("Sub", g.double(x), center)
    flat = bases.reshape(m * d, n_features)
    points = g("Sub", g("MatMul", x, np.ascontiguousarray(flat.T)), offsets.ravel())
    points = g("Reshape", points, np.array([-1, m, d]))
    errors = g("Add", g("MatMul", x, -2 * means.T), np.square(means).sum(axis=1))
    errors = g("Add", errors, _square_sum(g, x))
    errors = g("Sub", errors, g.sum(g("Mul", points, points), 2, keep=False))
    errors = g("Max", errors, np.float64(0))
    near, where = g.smallest(errors, k)
    if relative:
        near = g("Sub", near, g.first(near))
    weights = g("Exp", g("Div", near, np.float64(-(float(gamma) ** 2))))
    if relative:
        weights = _normalized(g, weights)
    return _Charted(g.spread(weights, where, errors), where, points)


def charts(g: Graph, atlas, rows: Inputs) -> str:
    """Weights or coordinates that an atlas's ``transform`` returns, dense."""
    k = atlas.n_nearest_ if atlas.output == "weights" else 1
    charted = _charted(g, atlas, rows.x, k, atlas.gamma_)
    if atlas.output == "weights":
        return g.single(charted.weights)
    # One chart has all the weight.
    only = g("Unsqueeze", charted.weights, np.array([2]))
    point = g.sum(g("Mul", only, charted.points), 1, keep=False)
    return g.single(g("Concat", g.double(charted.nearest), point, axis=1))


def chart_scores(g: Graph, model, rows: Inputs) -> str:
    """Scores of machines on charts."""
    charted = _charted(
        g, model.atlas_, rows.x, model.n_nearest_, weight_bandwidth(model),
        relative=model.normalize,
    )  # fmt: skip
    score = _rbf_scores if model.kernel == "rbf" else _linear_scores
    scores = score(g, model, charted)
    if isinstance(model, ScoringRegressor):
        return g("Add", scores, model.target_offset_.astype(np.float32))
    n_classes = len(model.classes_)
    if n_classes > 2 and model.multi_class == "ovo":
        return _votes(g, scores, n_classes)
    return scores


def _over_charts(g: Graph, weights: str, values: str) -> str:
    """Weights (n, m) times values (m, n, s), summed over m."""
    weights = g("Transpose", weights, perm=[1, 0])
    weights = g("Unsqueeze", weights, np.array([2]))
    return g.sum(g("Mul", weights, values), 0, keep=False)


def _linear_scores(g: Graph, model, charted: _Charted) -> str:
    points = g("Div", charted.points, np.float64(model.scale_))
    d = model.atlas_.components_.shape[1]
    if model.kernel == "quadratic":
        points = g("Concat", points, g("Mul", points, points), axis=2)
    elif model.kernel == "quadratic-cross":
        pairs = [g("Gather", points, index, axis=2) for index in np.tril_indices(d)]
        points = g("Concat", points, g("Mul", *pairs), axis=2)
    weights = charted.weights
    if has_unit_length(model):
        squares = g.sum(g("Mul", points, points), 2, keep=False)
        squares = g("Add", squares, np.float64(model.intercept_scaling_**2))
        squares = g("Mul", g("Mul", weights, weights), squares)
        weights = g("Div", weights, g("Sqrt", g.sum(squares, 1)))
    weights = g.single(weights)
    points = g("Transpose", g.single(points), perm=[1, 0, 2])
    coef = model.coef_.astype(np.float32).transpose(0, 2, 1)
    values = g("MatMul", points, np.ascontiguousarray(coef))
    mixed = _over_charts(g, weights, values)
    return g("Add", mixed, g("MatMul", weights, model.intercept_.astype(np.float32)))


def _rbf_scores(g: Graph, model, charted: _Charted) -> str:
    """Kernel with the support vectors of each chart, in tables of equal length.

    A product of points is the logarithm of w' exp(-|p - p'|^2); see ChartKernel. In
    double precision: large dual variables of both signs cancel.
    """
    starts, rows = model.support_starts_, model.support_rows_
    counts = np.diff(starts)
    m, most = len(counts), max(int(counts.max(initial=0)), 1)
    width = model.support_points_.shape[1]
    points = np.zeros((m, most, width))
    dual = np.zeros((m, most, model.dual_coef_.shape[1]))
    for chart in range(m):
        here = slice(starts[chart], starts[chart + 1])
        points[chart, : counts[chart]] = model.support_points_[here]
        dual[chart, : counts[chart]] = model.dual_coef_[rows[here]]
    weights = charted.weights
    if model.normalize:
        weights = g("Div", weights, g("Sqrt", _square_sum(g, weights)))
    # Transposed before the last sums: onnxruntime 1.20 merges a transpose into the
    # product behind it, and then has no such product in double precision.
    p = g("Transpose", charted.points, perm=[1, 0, 2])
    p = g("Div", p, np.float64(model.sigma_))
    square = g("Neg", g.sum(g("Mul", p, p), 2))
    one = g("Add", g("Mul", square, np.float64(0)), np.float64(1))
    queries = g("Concat", g("Mul", p, np.float64(np.sqrt(2))), square, one, axis=2)
    kernel = g("Exp", g("MatMul", queries, points.transpose(0, 2, 1)))
    scores = _over_charts(g, weights, g("MatMul", kernel, dual))
    return g.single(g("Add", scores, model.intercept_.astype(float)))


def _votes(g: Graph, scores: str, n_classes: int) -> str:
    """Votes of one-vs-one machines, ties broken by the sum of their scores."""
    machines = machines_of(n_classes, "ovo")
    positive, negative = np.zeros((2, len(machines), n_classes), np.float32)
    for i, (winner, loser) in enumerate(machines):
        positive[i, winner] = negative[i, loser] = 1
    won = g.single(g("Greater", scores, np.float32(0)))
    lost = g("Sub", np.float32(1), won)
    votes = g("Add", g("MatMul", won, positive), g("MatMul", lost, negative))
    total = g("MatMul", scores, positive - negative)
    size = g("Mul", g("Add", g("Abs", total), np.float32(1)), np.float32(3))
    return g("Add", votes, g("Div", total, size))


def labels(g: Graph, model, scores: str) -> str:
    """The class of the largest score."""
    if len(model.classes_) == 2:
        above = g.integer(g("Greater", scores, np.float32(0)))
        winners = g("Squeeze", above, np.array([1]))
    else:
        winners = g("ArgMax", scores, axis=1, keepdims=0)
    classes = model.classes_
    if classes.dtype.kind in "iub":
        classes = classes.astype(np.int64)
    return g("Gather", classes, winners, axis=0)


def probabilities(g: Graph, scores: str, model) -> str:
    """Probabilities that ``predict_proba`` returns."""
    kind, scale, offset = model.link()
    if scale != 1:
        scores = g.single(g("Mul", g.double(scores), np.float64(scale)))
    if len(offset) == 2:
        shift = np.float32(offset[1] - offset[0])
        odds = g("Sigmoid", g("Add", scores, shift))
        return g("Concat", g("Sub", np.float32(1), odds), odds, axis=1)
    if kind == "multinomial":
        return g("Softmax", g("Add", scores, offset.astype(np.float32)), axis=1)
    factors = np.exp(offset - offset.max()).astype(np.float32)
    odds = g("Mul", g("Sigmoid", scores), factors)
    total = g.sum(odds, 1)
    positive = g("Greater", total, np.float32(0))
    shares = g("Div", odds, g("Where", positive, total, np.float32(1)))
    return g("Where", positive, shares, np.float32(1 / len(offset)))
