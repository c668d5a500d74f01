"""A fitted model as a C99 header that needs nothing but math.h."""

import re
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from locallin.encoding import PiecewiseLinearEncoder
from locallin.export import _c_text as piece
from locallin.export._c_inputs import Row, encoded
from locallin.export._c_proba import probabilities
from locallin.export._c_steps import prepared
from locallin.export._codings import kind_of
from locallin.export._columns import columns_of_features
from locallin.export._targets import AFFINE, EXP, EXPM1, SQUARE, Way, opened
from locallin.kernels.coding import ADAPTIVE, INVERSE_DISTANCE
from locallin.kernels.groups import members_by_group
from locallin.kernels.latent import dual_exponent
from locallin.methods.anchored import AnchoredEstimator
from locallin.methods.ensemble_regressor import number_of_targets
from locallin.methods.links import LARGEST_POWER
from locallin.methods.members import Ensemble
from locallin.methods.ml3 import ML3Classifier
from locallin.methods.regression import ScoringRegressor

__all__ = ["to_c"]


def to_c(estimator, name: str = "model", *, contributions: bool = False) -> str:
    """Write a fitted classifier or regressor as a C99 header without dependencies.

    The header has the parameters as constant arrays and two functions, three where
    the classifier has probabilities::

        static inline void <name>_scores(const float *x, float *scores);
        static inline int <name>_predict(const float *x);
        static inline void <name>_proba(const float *x, float *proba);

    ``<name>_scores`` writes what ``decision_function`` returns for the row x, one
    score for two classes. ``<name>_predict`` returns the index of the class, whose
    name is in the array ``<name>_classes``. ``<name>_proba`` writes what
    ``predict_proba`` returns, one number for each class. Of a regressor,
    ``<name>_scores`` writes what ``predict`` returns, and ``<name>_predict``, which
    there is for one target, returns it as a float; with ``loss="poisson"`` and "gamma"
    scores are the logarithms of it, and ``<name>_predict`` also writes several. They
    work in single precision,
    allocate nothing, and use a fixed amount of stack, which a comment in the header
    states.

    Parameters
    ----------
    estimator : fitted classifier, regressor or Pipeline
        LLSVMClassifier (without a feature map, or with PiecewiseLinearEncoder),
        LLSVMClassifierCV, SAPLClassifier, DULLSVMClassifier or ML3Classifier,
        LLSVMRegressor, SAPLRegressor or DULLSVMRegressor, a mean of these, or a
        pipeline that ends in one of them after any number of StandardScaler,
        MinMaxScaler, MaxAbsScaler and PiecewiseLinearEncoder, or TableEncoder as the
        first step. A regressor may be inside of TransformedTargetRegressor with a
        scaler, or with ``inverse_func`` np.exp, np.expm1 or np.square.
        With an encoder a row may have NaN in the place of missing values;
        a comment in the header says how a table's row is written in numbers.
    name : str, default="model"
        Beginning of all names in the header.
    contributions : bool, default=False
        Whether there is one function more::

            static inline void <name>_contributions(const float *x, float *parts);

        It writes what each entry of x adds to the score of the predicted class, and
        then the bias: <NAME>_FEATURES + 1 numbers that add up to the score, those of
        :func:`locallin.inspection.explain`. The score of the first of two classes is
        that of the second with its sign changed. Of a regressor, which must have one
        target, they add up to the prediction, or to its logarithm; of a transformed
        target to what the regressor inside predicts.

    Returns
    -------
    str
        The header.

    See Also
    --------
    to_onnx : A graph for other runtimes, also of pipelines.
    compress : A smaller copy, for Python.
    save : A file that is safe to load.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.export import to_c
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(4, random_state=0).fit(X, y)
    >>> header = to_c(clf, "moons")
    >>> "static inline int moons_predict(const float *x)" in header
    True
    """
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(
            f"name={name!r} cannot begin a name in C: use letters, digits and _, "
            "beginning with a letter."
        )
    estimator, ways = opened(estimator)
    steps, model = _steps_of(estimator)
    check_is_fitted(model)
    header = _Header(name, bool(contributions))
    write = _body_of(model)
    row = prepared(header, steps)
    stages = header.stages()
    write(header, model, row)
    header.scores += "".join(map(_way_back, ways))
    if contributions:
        header.table("column", columns_of_features(steps, model), kind="int")
        text = _contributions(model).replace("ROW", row.name)
        header.function(piece.TELL_CONTRIBUTIONS, text.replace("STAGES", stages))
    if hasattr(model, "predict_proba"):
        header.function(piece.TELL_PROBA, probabilities(header, model.link()))
    return header.text(model, (steps[0] if steps else model).n_features_in_)


def _way_back(way: Way) -> str:
    """A step of predictions towards the unit of y."""
    factor, shift = _number(way.factor), _number(way.shift)
    formula = {
        AFFINE: f"scores[c] * {factor} + {shift}",
        EXP: "expf(scores[c])",
        EXPM1: "expm1f(scores[c])",
        SQUARE: "scores[c] * scores[c]",
    }[way.kind]
    return piece.EACH_SCORE.replace("FORMULA", formula)


def _body_of(model):
    """What writes the scores of a model."""
    if isinstance(model, ML3Classifier):
        return _latent_body
    if isinstance(model, Ensemble):
        return _mean_body
    if isinstance(model, AnchoredEstimator):
        return _anchored_body
    raise TypeError(
        f"to_c has no {type(model).__name__}: it takes LocallyLinearClassifier, "
        "LLSVMClassifier, SAPLClassifier, DULLSVMClassifier and ML3Classifier, and the "
        "regressors LocallyLinearRegressor, LLSVMRegressor, SAPLRegressor and "
        "DULLSVMRegressor."
    )


def _contributions(model) -> str:
    """The function that writes contributions to the score that is predicted."""
    one = _number_of_scores(model) == 1
    if not isinstance(model, ScoringRegressor):
        score = piece.THE_ONE if one else piece.THE_BEST
        return piece.CONTRIBUTIONS.replace("SCORE", score)
    if not one:
        raise ValueError(
            f"contributions=True is for one target, but {type(model).__name__} has "
            f"{number_of_targets(model)}: export it without, or fit one for each."
        )
    text = piece.CONTRIBUTIONS.replace("SCORE", piece.THE_NUMBER)
    return text.replace(piece.FIND_BEST, "")


def _number_of_scores(model) -> int:
    if isinstance(model, ScoringRegressor):
        return number_of_targets(model)
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def _steps_of(estimator) -> tuple[list, Any]:
    """The transformers of a pipeline, and the model."""
    if not isinstance(estimator, Pipeline):
        return [], estimator
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return steps[:-1], steps[-1]


def _views(header: "_Header", model, row: Row) -> tuple[Row, Row]:
    """The row as anchors see it, and as local models do."""
    feature_map = getattr(model, "feature_map_", None)
    if feature_map is None:
        return row, row
    if not isinstance(feature_map, PiecewiseLinearEncoder):
        raise TypeError(
            f"to_c has PiecewiseLinearEncoder as a feature map, but feature_map="
            f"{model.feature_map!r}: map the rows first and fit without one, or export "
            "with to_onnx."
        )
    mapped = encoded(header, feature_map, row)
    return (mapped if model.coding_space == "mapped" else row), mapped


def _anchored_body(header: "_Header", model, row: Row) -> None:
    before = header.stages()
    place, seen = _views(header, model, row)
    mapping = header.stages().removeprefix(before)
    coding = model.coding_
    linear = model.coef_.shape[2] > 0
    kind = kind_of(coding)
    m, k = len(coding.anchors_), coding.n_neighbors_
    header.size("ANCHORS", m)
    header.size("DIMENSIONS", coding.anchors_.shape[1])
    header.table("anchors", coding.anchors_)
    header.table("intercept", model.intercept_)
    if linear:
        header.table("coef", model.coef_)
    bandwidth = np.asarray(coding.bandwidth_, float)
    price = "@_bandwidth[j]" if bandwidth.ndim else _number(bandwidth)
    if bandwidth.ndim:
        header.table("bandwidth", bandwidth)
    header.add(piece.DISTANCE)
    if kind == ADAPTIVE:
        header.stack += 4 * m
        walk = piece.ADAPTIVE.replace("PRICE", price)
    else:
        header.size("NEIGHBORS", k)
        header.stack += 8 * k
        if kind == INVERSE_DISTANCE:
            weights = piece.INVERSE_DISTANCE
        elif bandwidth.ndim:
            weights = piece.SOFT_BY_ANCHOR
        else:
            weights = piece.SOFT.replace("PRICE", price)
        walk = piece.NEAREST.replace("WEIGHTS", weights)
    walk = _at_chosen(header, coding, 1 if kind == ADAPTIVE else k, walk)
    metric = coding.metric_
    if metric is not None:
        header.table("metric", metric)
        header.stack += 4 * coding.anchors_.shape[1]
        project = piece.SCALED if metric.ndim == 1 else piece.PROJECTED
        walk = project.replace("SIZE", place.size) + walk
    walk = walk.replace("PLACE", place.name if metric is None else "z")
    walk = walk.replace("ROW", place.name)

    def at_each_anchor(begin: str, local: str) -> str:
        local = local.replace("ROW", seen.name).replace("SIZE", seen.size)
        return walk.replace("BEGIN", begin).replace("LOCAL", local)

    header.scores = at_each_anchor(
        piece.NO_SCORES, piece.LINEAR if linear else piece.CONSTANT
    )
    if getattr(model, "quantile_levels", None) is not None:
        header.scores += piece.SORT
    header.add_parts(
        row.name,
        mapping
        + at_each_anchor(
            piece.NO_PARTS, piece.LINEAR_PARTS if linear else piece.CONSTANT_PARTS
        ),
    )


def _at_chosen(header: "_Header", coding, least: int, walk: str) -> str:
    """The walk over all anchors, or over those that the row looks at."""
    groups = coding.state().groups
    if groups is None:
        return walk.replace("EACH", piece.EACH_ANCHOR).replace("COUNT", "j")
    m, count = len(groups.of_anchor), len(groups.centers)
    starts, members = members_by_group(groups.of_anchor, count)
    header.size("GROUPS", count)
    header.size("PROBES", groups.n_probes)
    header.table("group_centers", groups.centers)
    header.table("group_starts", starts, kind="int")
    header.table("group_members", members, kind="int")
    header.add(piece.LOOK)
    header.stack += 4 * (m + count)
    walk = walk.replace("EACH", piece.EACH_CHOSEN).replace("COUNT", "q")
    return piece.CHOOSE.replace("LEAST", str(least)) + walk


def _mean_body(header: "_Header", model, row: Row) -> None:
    """Each member is a function of its own, with tables and sizes of its own."""
    calls, parts, deepest = "", "", 0
    for number, member in enumerate(model.members_, 1):
        part = _Header("", header.contributions)
        _body_of(member)(part, member, Row("x", row.size))
        header.adopt(part, f"m{number}")
        deepest = max(deepest, part.stack)
        calls += piece.ADD_MEMBER.replace("MEMBER", f"m{number}")
        parts += piece.ADD_PARTS.replace("MEMBER", f"m{number}")
    calls, parts = (text.replace("ROW", row.name) for text in (calls, parts))
    header.stack += deepest + 4 * _number_of_scores(model)
    factor = _number(getattr(model, "scale_", 1.0) / len(model.members_))
    header.scores = piece.MEAN.replace("CALLS", calls).replace("FACTOR", factor)
    header.add_parts(row.name, parts.replace("FACTOR", factor))


def _latent_body(header: "_Header", model, row: Row) -> None:
    q = dual_exponent(model.p_)
    header.size("MODELS", model.coef_.shape[1])
    header.table("coef", model.coef_)
    header.table("intercept", model.intercept_)
    header.stack += 4 * model.coef_.shape[1]
    two = len(model.classes_) == 2
    if np.isinf(q):
        norm, weights = "    return best;\n", piece.BEST_WEIGHT
    else:
        power = {2.0: "r * r", 3.0: "r * r * r"}.get(q, f"powf(r, {_number(q)})")
        norm = piece.NORM.replace("POWER", power).replace("ROOT", _number(1 / q))
        weights = piece.LATENT_WEIGHTS.replace("POWER", power)
        weights = weights.replace("LESS", _number(q - 1))
        weights = weights.replace("ROOT", _number((1 - q) / q))
    header.add(piece.CLASS_SCORE.replace("NORM", norm).replace("SIZE", row.size))
    scores = piece.TWO_CLASSES if two else piece.MANY_CLASSES
    header.scores = scores.replace("ROW", row.name)
    if header.contributions:
        body = piece.CLASS_PARTS.replace("WEIGHTS", weights)
        header.add(body.replace("SIZE", row.size))
    parts = piece.TWO_PARTS if two else piece.MANY_PARTS
    header.add_parts(row.name, parts.replace("ROW", row.name))


class _Header:
    """Collects the pieces of a header; ``@`` stands for the name, ``@@`` in capitals.

    ``stack`` counts the bytes of local arrays, ``scores`` is the body of the function
    that computes the scores; ``takes_missing`` tells whether a number may be NaN,
    ``contributions`` whether these are asked for.
    """

    def __init__(self, name: str, contributions: bool = False):
        self._name = name
        self.contributions = contributions
        self._sizes: list[str] = []
        self._pieces: list[str] = []
        self._stages: list[str] = []
        self._used: list[str] = []
        self._functions: list[str] = []
        self._told = ""
        self.stack = 0
        self.takes_missing = False
        self.scores = ""

    def size(self, name: str, value: int) -> None:
        self._sizes.append(f"#define @@_{name} {value}")

    def new(self, name: str) -> str:
        """What makes the next use of a name another one: nothing at first, then 2."""
        self._used.append(name)
        number = self._used.count(name)
        return "" if number == 1 else str(number)

    def prepare(self, stage: str) -> None:
        """A stage that a row goes through before it is scored."""
        self._stages.append(stage)

    def table(self, name: str, values: np.ndarray, kind: str = "float") -> None:
        """A constant array of floats or integers, row after row."""
        write = _number if kind == "float" else str
        numbers = [write(v) for v in np.asarray(values).ravel().tolist()]
        self._pieces.append(
            f"static const {kind} @_{name}[{len(numbers)}] = {{\n"
            f"{_in_lines(numbers)}\n}};\n"
        )

    def strings(self, name: str, values) -> None:
        """A constant array of strings."""
        words = [_quoted(str(value)) for value in values]
        self._pieces.append(
            f"static const char *const @_{name}[{len(words)}] = {{\n"
            f"{_in_lines(words)}\n}};\n"
        )

    def stages(self) -> str:
        """What a row goes through, so far."""
        return "".join(self._stages)

    def add_parts(self, row: str, body: str) -> None:
        """The function that adds up contributions to a score, where they are wanted."""
        if self.contributions:
            text = piece.PARTS.replace("ROW", row).replace("BODY", body)
            self._functions.append(text)

    def function(self, told: str, text: str) -> None:
        """A function behind the scores, and what the first comment says of it."""
        self._told += told
        self._functions.append(text)

    def number(self, value) -> str:
        """A float as C writes it."""
        return _number(value)

    def add(self, text: str) -> None:
        self._pieces.append(text)

    def adopt(self, other: "_Header", prefix: str) -> None:
        """Take in the pieces of another one, whose own names get a prefix."""
        sizes = "|".join(size.split()[1].removeprefix("@@_") for size in other._sizes)

        def renamed(text: str) -> str:
            text = re.sub(rf"@@_({sizes})\b", rf"@@_{prefix.upper()}_\1", text)
            return re.sub(r"(?<!@)@_", f"@_{prefix}_", text)

        self._sizes += map(renamed, other._sizes)
        body = piece.SCORES.replace("BODY", "".join(other._stages) + other.scores)
        self._pieces += map(renamed, [*other._pieces, body, *other._functions])
        self.takes_missing |= other.takes_missing

    def text(self, model, n_features: int) -> str:
        n_scores = _number_of_scores(model)
        self.size("FEATURES", n_features)
        if isinstance(model, ScoringRegressor):
            (what, predict), classes = _number_pieces(model, n_scores), []
        else:
            self.size("CLASSES", len(model.classes_))
            what, classes = piece.CLASSES, [_class_table(model.classes_)]
            predict = piece.PREDICT_TWO if n_scores == 1 else piece.PREDICT_MANY
        self.size("SCORES", n_scores)
        stack = (self.stack + 4 * n_scores) * (2 if self.contributions else 1)
        gaps = piece.GAPS if self.takes_missing else piece.NO_GAPS
        head = piece.HEAD.replace("KIND", type(model).__name__).replace("WHAT", what)
        head = head.replace("STACK", str(stack)).replace("MORE", self._told)
        head = head.replace("NUMBERS", gaps)
        scores = "".join(self._stages) + self.scores
        pieces = [
            head + "\n".join(self._sizes) + "\n",
            *classes,
            *self._pieces,
            piece.SCORES.replace("BODY", scores),
            predict,
            *self._functions,
            "#endif",
        ]
        text = "\n".join(pieces) + "\n"
        return text.replace("@@", self._name.upper()).replace("@", self._name)


def _number_pieces(model, n_scores: int) -> tuple[str, str]:
    """What a header of a regressor tells of scores, and how it predicts."""
    one = n_scores == 1
    if not model.has_log_link:
        return (piece.NUMBER, piece.PREDICT_NUMBER) if one else (piece.SEVERAL, "")
    predict = piece.PREDICT_POWER if one else piece.PREDICT_POWERS
    predict = predict.replace("MOST", _number(LARGEST_POWER))
    return (piece.LOGARITHM if one else piece.LOGARITHMS), predict


def _number(value) -> str:
    """A float as C writes it, exact in single precision."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        raise ValueError(
            f"A parameter of the model is {float(value):g}, outside the range of C's "
            "float: scale the features, e.g. with StandardScaler, and fit again."
        )
    text = f"{single:.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


def _in_lines(words: list[str]) -> str:
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 88:
            lines.append(line)
            line = "   "
        line += f" {word},"
    return "\n".join([*lines, line])


def _class_table(classes: np.ndarray) -> str:
    """The classes as an array of integers, of numbers or of strings."""
    if classes.dtype.kind in "iub":
        kind, words = "long long", [_integer(int(c)) for c in classes]
    elif classes.dtype.kind == "f":
        kind, words = "double", [repr(float(c)) for c in classes]
    else:
        kind, words = "char *const", [_quoted(str(c)) for c in classes]
    return (
        f"static const {kind} @_classes[{len(words)}] = {{\n{_in_lines(words)}\n}};\n"
    )


def _integer(value: int) -> str:
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    if value > 2**63 - 1:
        raise ValueError(f"Class {value} is too large for C's long long.")
    return f"{value}LL"


def _quoted(text: str) -> str:
    """A string in C; what is not plain ASCII as octal bytes of UTF-8.

    ``@`` is such a byte here, and so is ``?``, which begins C's trigraphs.
    """
    plain = set(range(32, 127)) - set(b'"\\@?')
    escaped = [chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()]
    return f'"{"".join(escaped)}"'
