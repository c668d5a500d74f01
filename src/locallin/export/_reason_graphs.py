"""Local models behind scores, and what columns add to these, as ONNX nodes."""

from typing import NamedTuple

import numpy as np

from locallin.export._graphs import Graph, Inputs, coding_weights
from locallin.kernels.latent import dual_exponent


class LocalModel(NamedTuple):
    """Names of the weights (n, n_scores, n_features) and intercepts (n, n_scores).

    Constant local models have no weights.
    """

    coef: str | None
    intercept: str


class Columns(NamedTuple):
    """Columns of a model's features, how many there are in all, and classes.

    A regressor has none, and one target.
    """

    of_features: tuple[int, ...]
    n_columns: int
    n_classes: int


def anchored_model(g: Graph, model, rows: Inputs) -> LocalModel:
    """Effective weights and intercepts, sum_j g_j(x) (w_jc, b_jc)."""
    where = rows.mapped if model.coding_space == "mapped" else rows.x
    codes = g.single(coding_weights(g, model.coding_, where))
    m, n_scores, n_features = model.coef_.shape
    intercept = g("MatMul", codes, model.intercept_.astype(np.float32))
    if n_features == 0:
        return LocalModel(None, intercept)
    flat = model.coef_.reshape(m, n_scores * n_features).astype(np.float32)
    coef = g("MatMul", codes, np.ascontiguousarray(flat))
    coef = g("Reshape", coef, np.array([-1, n_scores, n_features]))
    return LocalModel(coef, intercept)


def mean_model(g: Graph, model, rows: Inputs, of_member) -> LocalModel:
    """The mean of the members' local models, times the scale."""
    parts = [of_member(g, member, rows) for member in model.members_]
    factor = np.float32(getattr(model, "scale_", 1.0) / len(parts))

    def mean(names):
        if None in names:
            return None
        total = names[0]
        for name in names[1:]:
            total = g("Add", total, name)
        return g("Mul", total, factor)

    return LocalModel(*(mean(names) for names in zip(*parts, strict=True)))


def latent_model(g: Graph, model, rows: Inputs) -> LocalModel:
    """Sums of each class's models, by the latent weights (z_j / s)^(q - 1)."""
    n_classes, m, n_features = model.coef_.shape
    flat = model.coef_.reshape(n_classes * m, n_features).astype(np.float32)
    values = g("MatMul", rows.x, np.ascontiguousarray(flat.T))
    values = g("Add", values, model.intercept_.ravel().astype(np.float32))
    values = g("Relu", g("Reshape", values, np.array([-1, n_classes, m])))
    values = g.double(values)
    best, place = g(
        "TopK", values, np.array([1]), n_out=2, axis=-1, largest=1, sorted=1
    )
    q = dual_exponent(model.p_)
    positive = g.double(g("Greater", best, np.float64(0)))
    if np.isfinite(q):
        ratios = g("Div", values, g("Max", best, np.float64(1e-300)))
        total = g.sum(g("Pow", ratios, np.float64(q)), 2)
        total = g("Max", total, np.float64(1e-300))
        weights = g("Pow", ratios, np.float64(q - 1))
        weights = g("Mul", weights, g("Pow", total, np.float64((1 - q) / q)))
        weights = g("Mul", weights, positive)
    else:
        zeros = g("Mul", values, np.float64(0))
        weights = g("ScatterElements", zeros, place, positive, axis=2)
    weights = g("Transpose", g.single(weights), perm=[1, 0, 2])
    found = []
    for table in (model.coef_, model.intercept_[:, :, None]):
        mixed = g("MatMul", weights, np.ascontiguousarray(table, np.float32))
        mixed = g("Transpose", mixed, perm=[1, 0, 2])
        if n_classes == 2:
            pair = [g("Gather", mixed, np.array([c]), axis=1) for c in (1, 0)]
            mixed = g("Sub", *pair)
        found.append(mixed)
    return LocalModel(found[0], g("Squeeze", found[1], np.array([2])))


def contributions(
    g: Graph, local: LocalModel, scores: str, features: str, columns: Columns
) -> str:
    """What each column adds to the score of the predicted class, and the bias.

    Of a regressor to its prediction.
    """
    if columns.n_classes == 0:
        ones = g("Mul", scores, np.float32(0))
        chosen = g("Add", ones, np.float32(1))
    elif columns.n_classes == 2:
        above = g.single(g("Greater", scores, np.float32(0)))
        chosen = g("Sub", g("Mul", above, np.float32(2)), np.float32(1))
    else:
        winners = g("ArgMax", scores, axis=1, keepdims=1)
        chosen = g.single(g("Equal", winners, np.arange(columns.n_classes)[None]))
    bias = g.sum(g("Mul", chosen, local.intercept), 1)
    if local.coef is None:
        nothing = g("Mul", bias, np.zeros((1, columns.n_columns), np.float32))
        return g("Concat", nothing, bias, axis=1)
    chosen = g("Unsqueeze", chosen, np.array([2]))
    weights = g.sum(g("Mul", chosen, local.coef), 1, keep=False)
    belongs = np.zeros((len(columns.of_features), columns.n_columns), np.float32)
    belongs[np.arange(len(belongs)), list(columns.of_features)] = 1
    parts = g("MatMul", g("Mul", weights, features), belongs)
    return g("Concat", parts, bias, axis=1)
