"""ML3 one row at a time: Algorithm 2 of the paper as it is written, compiled."""

import numpy as np

from locallin.kernels._jit import jit
from locallin.kernels.latent import dual_exponent, latent_weights
from locallin.kernels.rows import add_scaled, dot


@jit
def _epoch(X, labels, order, W, own, fixed, q, alpha, offset, mean):
    """Take a step for every row; W, mean: (n_models of all classes, n_features)."""
    n_models, m = W.shape[0], own.shape[1]
    n_classes = n_models // m
    values, betas = np.empty(n_models, W.dtype), np.empty((n_classes, m), W.dtype)
    scale, square = 1.0, 0.0
    for w in W:
        square += dot(w, None, w)
    for s in range(order.size):
        i = order[s]
        x, y = X[i], labels[i]
        for j in range(n_models):
            values[j] = scale * dot(x, None, W[j])
        rival, highest = -1, -np.inf
        for c in range(n_classes):
            z = values[c * m : (c + 1) * m]
            if fixed.size:
                betas[c] = fixed[s, c * m : (c + 1) * m]
                score = dot(z, None, betas[c])
            else:
                score = latent_weights(z, q, betas[c])
            if c != y and score > highest:
                rival, highest = c, score
        true = dot(values[y * m : (y + 1) * m], None, own[i])
        t = s + 1.0 + offset
        before, scale = scale, scale * (1.0 - 1.0 / t)
        if 1.0 + highest - true > 0.0:
            step = 1.0 / (alpha * t * scale)
            size = dot(own[i], None, own[i]) + dot(betas[rival], None, betas[rival])
            square += 2.0 * step * (true - highest) / before
            square += step * step * size * dot(x, None, x)
            for j in range(m):
                up, down = step * own[i, j], -step * betas[rival, j]
                add_scaled(x, None, W.dtype.type(up), W[y * m + j])
                add_scaled(x, None, W.dtype.type(down), W[rival * m + j])
        length = scale * np.sqrt(max(square, 0.0))
        if length * length * alpha > 2.0:
            scale *= np.sqrt(2.0 / alpha) / length
        if mean.size:
            for j in range(n_models):
                for d in range(W.shape[1]):
                    mean[j, d] += (scale * W[j, d] - mean[j, d]) / (s + 1)
    W *= W.dtype.type(scale)


def fit(X, labels, n_models, alpha, *, constant, max_iter=30, p=1.5, seed=0):
    """Mean of the models over the last iteration; the last feature is the constant."""
    n, n_classes, q = len(X), labels.max() + 1, dual_exponent(p)
    rng = np.random.RandomState(seed)
    X = np.hstack([X, np.full((n, 1), constant, X.dtype)])
    W = np.zeros((n_classes * n_models, X.shape[1]), X.dtype)
    nothing = np.empty((0, 0), X.dtype)
    mean = nothing
    for iteration in range(max_iter + 1):
        order = rng.permutation(n)
        fixed, own = nothing, np.zeros((n, n_models), X.dtype)
        if iteration == 0:
            fixed = rng.exponential(size=(n, n_classes, n_models)).astype(X.dtype)
            fixed = (fixed / fixed.sum(axis=2, keepdims=True)) ** (1 / p)
            own[order] = fixed[np.arange(n), labels[order]]
            fixed = fixed.reshape(n, -1)
        else:
            for c in range(n_classes):
                rows = labels == c
                for_class = X[rows] @ W[c * n_models : (c + 1) * n_models].T
                for k, i in enumerate(np.flatnonzero(rows)):
                    latent_weights(for_class[k], q, own[i])
        if iteration == max_iter:
            mean = np.zeros_like(W)
        offset = 2.0 * n * max(iteration, 1)
        _epoch(X, labels, order, W, own, fixed, q, alpha, offset, mean)
    return mean
