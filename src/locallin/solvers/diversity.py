"""The diversity term of DU-LLSVM: local models apart, and as long as they matter."""

import numpy as np

# Ridge on the Gram matrix, relative to its mean diagonal, in every case: with more
# anchors than weights it is singular and its logarithm does not exist.
RIDGE = 1e-3


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
    differences of log.
    """
    out = np.empty_like(coef) if out is None else out
    values, vectors = _spectrum(coef)
    if values is None:
        out.fill(0.0)
        return out
    difference = values[:, None] - values
    logs = np.log(values)
    close = np.abs(difference) <= 1e-7 * (values[:, None] + values)
    mean = 0.5 * (values[:, None] + values)
    table = np.where(
        close, 1.0 / mean, (logs[:, None] - logs) / np.where(close, 1.0, difference)
    )
    inner = table * ((vectors.T * importance) @ vectors)
    by_gram = -(vectors @ inner @ vectors.T)
    m = len(values)
    # The ridge moves with the trace, and so does the normalisation.
    trace = values.sum() / (1.0 + RIDGE)
    by_gram[np.diag_indices(m)] += RIDGE / m * np.trace(by_gram) + 1.0 / trace
    by_gram = (2.0 * by_gram).astype(coef.dtype)
    np.matmul(by_gram, coef.reshape(m, -1), out=out.reshape(m, -1))
    return out


def _spectrum(coef):
    """Eigenvalues and eigenvectors of the ridged Gram matrix."""
    flat = coef.reshape(len(coef), -1)
    gram = (flat @ flat.T).astype(float)  # the ridge is far above float32's rounding
    trace = np.trace(gram)
    if not trace > 0.0:
        return None, None
    gram[np.diag_indices(len(gram))] += RIDGE * trace / len(gram)
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values, 1e-12 * values[-1]), vectors
