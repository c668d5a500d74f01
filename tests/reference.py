"""Slow, obvious twins of the papers' equations, in NumPy and double precision."""

from itertools import pairwise

import numpy as np
from scipy.linalg import logm
from scipy.special import xlogy

from locallin.kernels.coding import ADAPTIVE


def inverse_distance(X, anchors, k):
    """g_j proportional to 1 / d_j over the k nearest anchors (LL-SVM, section 4)."""
    codes = np.zeros((len(X), len(anchors)))
    for i, x in enumerate(X):
        d = np.linalg.norm(x - anchors, axis=1)
        near = np.argsort(d, kind="stable")[:k]
        if d[near[0]] == 0:
            codes[i, near] = d[near] == 0
        else:
            codes[i, near] = 1 / d[near]
        codes[i] /= codes[i].sum()
    return codes


def in_sight(x, coding):
    """The anchors of the groups that a row behind the metric looks at, ascending."""
    distances = np.linalg.norm(x - coding.group_centers_, axis=1)
    least = 1 if coding.kind == ADAPTIVE else coding.n_neighbors_
    seen = []
    for p, g in enumerate(np.argsort(distances, kind="stable")):
        if p >= coding.n_probes and len(seen) >= least:
            break
        seen += np.flatnonzero(coding.anchor_groups_ == g).tolist()
    return np.sort(seen)


def in_metric(X, metric):
    """Rows behind a scale of each feature, a linear map, or nothing."""
    if metric is None:
        return X
    return X * metric if metric.ndim == 1 else X @ metric.T


def soft_assignment(X, anchors, k, beta):
    """Eq. 2 of the LLC-SAPL paper; beta is a number, or one per anchor."""
    codes = np.zeros((len(X), len(anchors)))
    beta = np.broadcast_to(beta, len(anchors))
    for i, x in enumerate(X):
        d = ((x - anchors) ** 2).sum(axis=1)
        near = np.argsort(d, kind="stable")[:k]
        price = beta[near] * d[near]
        codes[i, near] = np.exp(-(price - price.min()))
        codes[i] /= codes[i].sum()
    return codes


def adaptive(X, anchors, mu):
    """Algorithm 1 of the DU-LLSVM paper, with its loop bound corrected to m.

    mu is a number, or one per anchor.
    """
    codes = np.zeros((len(X), len(anchors)))
    for i, x in enumerate(X):
        u = mu * np.linalg.norm(x - anchors, axis=1)
        u -= u.min()
        order = np.argsort(u, kind="stable")
        level, k = 1.0, 0
        while k < len(u) and level > u[order[k]]:
            k += 1
            near = u[order[:k]]
            root = np.sqrt(k + near.sum() ** 2 - k * (near**2).sum())
            level = (near.sum() + root) / k
        codes[i, order[:k]] = level - u[order[:k]]
        codes[i] /= codes[i].sum()
    return codes


def scores(X, codes, coef, intercept):
    """Eq. 8 of the LL-SVM paper; coef is (m, n_scores, D)."""
    out = np.zeros((len(X), coef.shape[1]))
    for i, (x, g) in enumerate(zip(X, codes, strict=True)):
        for j in range(len(coef)):
            out[i] += g[j] * (coef[j] @ x + intercept[j])
    return out


def materialise(X, codes, constant):
    """Features z = g (x) [x; B] on which LL-SVM is a linear SVM."""
    extended = np.column_stack([X, np.full(len(X), constant)])
    return np.einsum("ij,id->ijd", codes, extended).reshape(len(X), -1)


def loss(name, margin):
    violation = np.maximum(0, 1 - margin)
    return {
        "hinge": violation,
        "squared_hinge": violation**2,
        "logistic": np.logaddexp(0, -margin),
    }[name]


def slope(name, margin):
    violation = np.maximum(0, 1 - margin)
    return {
        "hinge": -(violation > 0).astype(float),
        "squared_hinge": -2 * violation,
        "logistic": -1 / (1 + np.exp(margin)),
    }[name]


def residual_loss(name, residual, epsilon=None, quantile=0.5):
    """Losses of numbers; epsilon is in the unit of the residual."""
    size = np.abs(residual)
    if name == "squared":
        return 0.5 * residual**2
    if name == "huber":
        return np.where(
            size <= epsilon, 0.5 * residual**2, epsilon * (size - 0.5 * epsilon)
        )
    if name == "absolute":
        return size
    if name == "epsilon_insensitive":
        return np.maximum(0, size - epsilon)
    if name == "squared_epsilon_insensitive":
        return 0.5 * np.maximum(0, size - epsilon) ** 2
    assert name == "pinball"
    return np.maximum(-quantile * residual, (1 - quantile) * residual)


def log_link_loss(name, scores, y):
    """Half the deviance of y where scores are logarithms of its mean."""
    if name == "poisson":
        return np.exp(scores) - y * scores + xlogy(y, y) - y
    assert name == "gamma"
    return scores - np.log(y) + y * np.exp(-scores) - 1


def multinomial(scores, labels):
    """-log softmax(f)_y of each row."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = np.log(np.exp(shifted).sum(axis=1))
    return logs - shifted[np.arange(len(labels)), labels]


def margins(scores, labels, positive, strategy):
    """Margins that the losses see: one per score, or one per row."""
    if strategy == "ovr":
        return np.where(labels[:, None] == positive, 1, -1) * scores
    rows = np.arange(len(labels))
    rivals = scores.copy()
    rivals[rows, labels] = -np.inf
    return (scores[rows, labels] - rivals.max(axis=1))[:, None]


def objective(
    X, codes, coef, intercept, labels, positive, name, alpha, constant,
    weights=None, strategy="ovr",
):  # fmt: skip
    """Eq. 9 with liblinear's constant feature; the weights are normalised here."""
    weights = np.ones(len(X)) if weights is None else weights
    m = margins(scores(X, codes, coef, intercept), labels, positive, strategy)
    penalty = (coef**2).sum() + (intercept**2).sum() / constant**2
    mean_loss = (weights[:, None] * loss(name, m)).sum() / weights.sum()
    return 0.5 * alpha * penalty + mean_loss


def sgd(
    X, codes, labels, positive, order, name, alpha, t0, constant, weights,
    strategy="ovr", decay=3.0, free_intercept=False,
):  # fmt: skip
    """Algorithm 1 of the LL-SVM paper with skip = 1, on explicit features.

    A free intercept does not shrink.

    Returns the last iterate and its polynomial-decay average, both as (n_scores,
    m * (D + 1)) matrices.
    """
    Z = materialise(X, codes, constant)
    curvature = {"hinge": 0.0, "squared_hinge": 2.0, "logistic": 0.25}[name]
    W = np.zeros((len(positive), Z.shape[1]))
    mean = W.copy()
    shrinks = np.ones(Z.shape[1])
    if free_intercept:
        shrinks[X.shape[1] :: X.shape[1] + 1] = 0
    for t, i in enumerate(order):
        z = Z[i]
        f = W @ z
        eta = weights[i] / (alpha * (t + t0))
        if curvature:
            reach = curvature * (z @ z) * (1 if strategy == "ovr" else 2)
            eta = min(eta, 1 / reach)
        W_next = W * (1 - shrinks / (t + t0))
        if strategy == "ovr":
            for c in range(len(positive)):
                y = 1 if labels[i] == positive[c] else -1
                W_next[c] -= eta * slope(name, y * f[c]) * y * z
        else:
            own = labels[i]
            rival = max((c for c in range(len(f)) if c != own), key=lambda c: f[c])
            s = slope(name, f[own] - f[rival])
            W_next[own] -= eta * s * z
            W_next[rival] += eta * s * z
        W = W_next
        share = (1 + decay) / (t + 2 + decay)
        mean = (1 - share) * mean + share * W
    return W, mean


def latent_score(z, p):
    """Eq. 14-16 of the ML3 paper: the best weights of the values z, and their score."""
    z = np.maximum(z, 0)
    if p == 1:
        beta = np.zeros_like(z)
        if z.max() > 0:
            beta[z.argmax()] = 1
        return beta, z.max()
    q = p / (p - 1)
    score = (z**q).sum() ** (1 / q)
    return (z / score) ** (q - 1) if score > 0 else np.zeros_like(z), score


def latent_objective(X, y, weights, W, p, alpha):
    """Eq. 9 of the ML3 paper as a mean; X ends with the constant, W is (c, m, D)."""
    total = 0.0
    for x, own, weight in zip(X, y, weights, strict=True):
        scores = np.array([latent_score(models @ x, p)[1] for models in W])
        rival = np.delete(scores, own).max()
        total += weight * max(0, 1 + rival - scores[own])
    return alpha / 2 * (W**2).sum() + total / weights.sum()


def latent_epoch(X, y, weights, W, p, alpha, s0, own, fixed=None):
    """Algorithm 2 of the ML3 paper, one row after another; W is updated in place.

    ``own`` are the frozen latent weights of each row's class, ``fixed`` those of all
    classes in the first epoch. Returns the mean of the models.
    """
    mean = np.zeros_like(W)
    for s, (x, c) in enumerate(zip(X, y, strict=True), start=1):
        values = W @ x
        if fixed is None:
            betas, scores = zip(*(latent_score(z, p) for z in values), strict=True)
        else:
            betas, scores = fixed[s - 1], (fixed[s - 1] * values).sum(axis=1)
        scores = np.array(scores)
        scores[c] = -np.inf
        rival = scores.argmax()
        loss = 1 + scores[rival] - own[s - 1] @ values[c]
        eta = 1 / (alpha * (s + s0))
        W *= 1 - eta * alpha
        if loss > 0:
            W[c] += eta * weights[s - 1] * np.outer(own[s - 1], x)
            W[rival] -= eta * weights[s - 1] * np.outer(betas[rival], x)
        W *= min(1, np.sqrt(2 / alpha) / max(np.linalg.norm(W), 1e-300))
        mean += (W - mean) / s
    return mean


def atlas_energy(errors, labels, neighbors, mdl):
    """Eq. 1 of the Atlas paper; errors is (n_charts, n)."""
    charts_of = [{labels[x]} for x in range(len(labels))]
    for y, near in enumerate(neighbors):
        for x in near:
            charts_of[x].add(labels[y])
    cost = sum(errors[i][x] for x, charts in enumerate(charts_of) for i in charts)
    return cost + mdl * len(set(labels))


def chart_errors(X, means, bases):
    """Eq. 2-4: squared distance of each row from its back-projection, (n, m)."""
    out = np.empty((len(X), len(means)))
    for n, x in enumerate(X):
        for i, (mean, basis) in enumerate(zip(means, bases, strict=True)):
            back = basis.T @ (basis @ (x - mean)) + mean
            out[n, i] = ((x - back) ** 2).sum()
    return out


def chart_weights(errors, gamma, k):
    """Eq. 10 on the k nearest charts; the others have no weight (section 4.3)."""
    weights = np.zeros_like(errors)
    for row, out in zip(errors, weights, strict=True):
        near = np.argsort(row, kind="stable")[:k]
        out[near] = np.exp(-row[near] / gamma**2)
    return weights


def chart_kernel(X, Y, means, bases, gamma, k, local):
    """Eq. 5 with ``local(p, q)`` as the kernel within a chart, not normalised."""
    weights_x = chart_weights(chart_errors(X, means, bases), gamma, k)
    weights_y = chart_weights(chart_errors(Y, means, bases), gamma, k)
    out = np.zeros((len(X), len(Y)))
    for a, x in enumerate(X):
        for b, y in enumerate(Y):
            for i, (mean, basis) in enumerate(zip(means, bases, strict=True)):
                p, q = basis @ (x - mean), basis @ (y - mean)
                out[a, b] += weights_x[a, i] * weights_y[b, i] * local(p, q)
    return out


def chart_features(p, kernel, constant):
    """Eq. 13-15 without the weight: what a chart's linear model sees."""
    features = [constant, *p]
    if kernel == "quadratic":
        features += [a * a for a in p]
    elif kernel == "quadratic-cross":
        features += [p[a] * p[b] for a in range(len(p)) for b in range(a + 1)]
    return np.array(features)


def diversity(coef, importance, ridge):
    """R(W) = -tr(Q log(G / tr G)), eq. 7 of the DU-LLSVM paper, with a ridge on G."""
    W = coef.reshape(len(coef), -1)
    G = W @ W.T
    G += ridge * np.trace(G) / len(G) * np.eye(len(G))
    return float(-np.trace(np.diag(importance) @ logm(G / np.trace(G))).real)


def piecewise_linear(x, edges, mean, scale, missing, *, extend=False):
    """Components of one number (Gorishniy et al. 2022, eq. 1), standardised.

    ``missing`` are those of NaN, before they are standardised.
    """
    parts = []
    for t, (left, right) in enumerate(pairwise(edges)):
        part = (x - left) / (right - left)
        if part < 0 and not (extend and t == 0):
            part = 0.0
        if part > 1 and not (extend and t == len(edges) - 2):
            part = 1.0
        parts.append(part)
    return (np.where(np.isnan(x), missing, parts) - mean) / scale
