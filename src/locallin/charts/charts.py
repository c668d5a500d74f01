"""Affine charts, and how much each counts at a point."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from locallin.coding import bandwidth_for_perplexity
from locallin.kernels.charts import subtract_squares
from locallin.kernels.coding import SOFT_ASSIGNMENT
from locallin.kernels.rows import Codes

# Columns of a product that go through the errors together.
_COLUMNS = 2048
# Rows from which a bandwidth is chosen.
_BANDWIDTH_ROWS = 5_000


@dataclass
class Charts:
    """Affine charts x -> C_i (x - mu_i), relative to ``center``."""

    center: np.ndarray  # (D,)
    means: np.ndarray  # (m, D), from the center
    bases: np.ndarray  # (m, d, D), rows orthonormal, or zero where the rank is less

    def __len__(self) -> int:
        return len(self.means)

    def keep(self, chosen) -> "Charts":
        """The chosen charts alone."""
        return Charts(self.center, self.means[chosen], self.bases[chosen])

    def centered(self, X, rows=slice(None)) -> np.ndarray:
        """Some rows of X as a dense array, less the center."""
        part = X[rows]
        if sparse.issparse(part):
            part = part.toarray()
        return part - self.center

    def errors(self, centered: np.ndarray) -> np.ndarray:
        """Squared distances E_i(x) of centered rows from all charts (eq. 4)."""
        n_charts, d, n_features = self.bases.shape
        offsets = np.einsum("idf,if->id", self.bases, self.means)
        out = centered @ (-2 * self.means.T)
        out += np.einsum("if,if->i", centered, centered)[:, None]
        out += np.einsum("if,if->i", self.means, self.means)
        step = max(1, _COLUMNS // max(d, 1))
        flat = self.bases.reshape(n_charts * d, n_features)
        for start in range(0, n_charts, step):
            part = slice(start, min(start + step, n_charts))
            projections = centered @ flat[part.start * d : part.stop * d].T
            subtract_squares(projections, offsets[part], out[:, part])
        return out


def principal_chart(rows: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and leading ``d`` principal directions of some rows, by their PCA.

    Directions beyond the rows' rank are zero: they add nothing to a projection.
    """
    mean = rows.mean(axis=0)
    rows = rows - mean
    n, n_features = rows.shape
    basis = np.zeros((d, n_features), rows.dtype)
    take = min(d, n, n_features)
    if n < n_features:
        values, vectors = linalg.eigh(
            rows @ rows.T, subset_by_index=(n - take, n - 1), check_finite=False
        )
        floor = max(values[-1], 0.0) * n * np.finfo(rows.dtype).eps
        kept = (values > floor) & (values > 0)
        found = (vectors[:, kept] / np.sqrt(values[kept])).T @ rows
        # One step of orthonormalisation: small eigenvalues lose digits above.
        found = np.linalg.qr(found[::-1].T)[0].T if len(found) else found
    else:
        values, vectors = linalg.eigh(
            rows.T @ rows,
            subset_by_index=(n_features - take, n_features - 1),
            check_finite=False,
        )
        found = vectors[:, values > 0].T[::-1]
    basis[: len(found)] = found
    return mean, basis


def smallest(errors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k charts of smallest error of each row and the errors, both ascending."""
    if k < errors.shape[1]:
        found = np.argpartition(errors, k - 1, axis=1)[:, :k]
    else:
        found = np.broadcast_to(np.arange(errors.shape[1]), errors.shape)
    values = np.take_along_axis(errors, found, axis=1)
    order = np.lexsort((found, values), axis=1)
    return tuple(np.take_along_axis(a, order, axis=1) for a in (found, values))


def sample_rows(X, rng):
    """A sample of rows that is large enough to choose a bandwidth from."""
    if X.shape[0] <= _BANDWIDTH_ROWS:
        return X
    return X[np.sort(rng.choice(X.shape[0], _BANDWIDTH_ROWS, replace=False))]


def nearest_rule(wanted: int | str, n_charts: int) -> int:
    """Number of nearest charts that count; grows with the number of charts."""
    if wanted == "auto":
        wanted = max(10, round(2 * np.sqrt(n_charts)))
    return min(wanted, n_charts)


def gamma_rule(errors: np.ndarray) -> float:
    """Bandwidth at which a row's weight spreads over 60 % of its charts."""
    k = errors.shape[1]
    distances = np.sqrt(errors)
    beta = bandwidth_for_perplexity(distances, max(1.0, 0.6 * k), SOFT_ASSIGNMENT)
    return float(1.0 / np.sqrt(beta))


def chart_codes(
    nearest: np.ndarray, errors: np.ndarray, gamma: float, *, relative: bool = True
) -> Codes:
    """Weights exp(-E / gamma^2) of eq. 10; ``relative`` ones sum to one in each row.

    For relative weights the smallest error is taken off first, so that a row far
    from every chart has weights too. Charts ascend within a row.
    """
    n, k = nearest.shape
    if relative:
        errors = errors - errors[:, :1]
    with np.errstate(over="ignore"):
        weights = np.exp(-errors / gamma / gamma).astype(errors.dtype)
    if relative:
        weights /= weights.sum(axis=1, keepdims=True)
    order = np.argsort(nearest, axis=1)
    return Codes(
        np.arange(0, n * k + 1, k),
        np.take_along_axis(nearest, order, axis=1).ravel(),
        np.take_along_axis(weights, order, axis=1).ravel(),
    )
