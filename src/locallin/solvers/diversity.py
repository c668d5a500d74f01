"""The diversity term of DU-LLSVM: local models that differ from each other."""

import numpy as np

# Ridge on the Gram matrix of the local models, relative to its mean diagonal, in every
# case: with more anchors than weights it is singular and has no logarithm.
RIDGE = 1e-3
# Directions of the local models, relative to the longest, that are none: the ridge is
# far longer.
_NO_LENGTH = 1e-12


def diversity_gradient(
    coef: np.ndarray, importance: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """Exact gradient of the diversity term by the weights, in ``out`` if given.

    R(W) = -tr(Q log(G / tr G)), eq. 7 of the DU-LLSVM paper: the relative entropy of Q
    to the normalised Gram matrix G of the local models, up to a constant, with a ridge
    on G. ``coef`` has shape (n_anchors, n_scores, n_features), and the local models of
    one anchor count as one vector; ``importance`` is the diagonal of Q, each anchor's
    share of all coding weight.

    The paper's W G^-1 Q is right only where Q and G commute. In general the
    derivative of the matrix logarithm in its eigenbasis is the table of divided
    differences of log. Of that basis only the directions U of the local models are
    needed: across them G is the ridge alone, and (I - U U') Q U says how Q mixes the
    two. With r directions, at most n_anchors and at most the weights of an anchor,
    this takes time in proportion to n_anchors r^2, not n_anchors^3.
    """
    out = np.empty_like(coef) if out is None else out
    flat = coef.reshape(len(coef), -1)
    if not 0.0 < np.vdot(flat, flat) < np.inf:  # what is infinite is told elsewhere
        out.fill(0.0)
        return out
    squares, directions = _spectrum(flat)
    trace = squares.sum()
    m = len(flat)
    ridge = RIDGE * trace / m
    values = squares + ridge
    weighted = importance[:, None] * directions
    within = directions.T @ weighted
    along = _divided_differences(values[:, None], values) * within
    across = _divided_differences(values, ridge)
    mixed = directions @ (along - within * across) + weighted * across
    # The ridge moves with the trace, and so does the normalisation.
    inside = np.diag(within)
    derivative_trace = (inside / values).sum() + (
        importance.sum() - inside.sum()
    ) / ridge
    shared = 1.0 / trace - RIDGE / m * derivative_trace
    by_gram = (2.0 * (shared * directions - mixed)).astype(coef.dtype)
    lengths = directions.T.astype(coef.dtype) @ flat
    np.matmul(by_gram, lengths, out=out.reshape(m, -1))
    return out


def _divided_differences(a, b):
    """(log a - log b) / (a - b), 1 / a where they are equal."""
    difference = a - b
    mean = 0.5 * (a + b)
    close = np.abs(difference) <= 1e-7 * mean
    gap = np.log(a) - np.log(b)
    return np.where(close, 1.0 / mean, gap / np.where(close, 1.0, difference))


def _spectrum(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared lengths and unit directions, in columns, of W W', from its smaller side.

    Products are formed in the precision of the weights: the ridge is far above their
    rounding.
    """
    tall = len(flat) > flat.shape[1]
    gram = (flat.T @ flat if tall else flat @ flat.T).astype(float)
    squares, vectors = np.linalg.eigh(gram)
    some = squares > _NO_LENGTH * squares[-1]
    squares, vectors = squares[some], vectors[:, some]
    if tall:
        vectors = flat @ vectors / np.sqrt(squares)
    return squares, vectors
