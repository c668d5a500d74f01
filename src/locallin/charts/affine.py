"""Affine charts, coordinates in them, and weights of charts at a point."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from locallin.coding.base import bandwidth_for_perplexity
from locallin.engine.finite import all_finite, finite_results
from locallin.engine.matrix import BLOCK
from locallin.engine.parallel import in_threads, row_blocks, single_threaded_blas
from locallin.kernels.charts import chart_coordinates, subtract_squares
from locallin.kernels.coding import SOFT_ASSIGNMENT
from locallin.kernels.predict import entries_by_anchor
from locallin.kernels.products import row_products
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

    def errors(
        self, centered: np.ndarray, multiply: Callable = row_products
    ) -> np.ndarray:
        """Squared distances E_i(x) of centered rows from all charts (eq. 4).

        ``multiply`` makes the products of rows with rows.
        """
        n_charts, d, n_features = self.bases.shape
        offsets = np.einsum("idf,if->id", self.bases, self.means)
        out = multiply(centered, -2 * self.means)
        out += np.einsum("if,if->i", centered, centered)[:, None]
        out += np.einsum("if,if->i", self.means, self.means)
        step = max(1, _COLUMNS // max(d, 1))
        flat = self.bases.reshape(n_charts * d, n_features)
        for start in range(0, n_charts, step):
            part = slice(start, min(start + step, n_charts))
            projections = multiply(centered, flat[part.start * d : part.stop * d])
            subtract_squares(projections, offsets[part], out[:, part])
        return out

    def in_blocks(self, X, function: Callable, n_jobs: int | None = None) -> list:
        """Results of ``function(centered rows)`` for blocks of X."""
        with single_threaded_blas():
            return in_threads(
                lambda *bounds: function(self.centered(X, slice(*bounds))),
                row_blocks(X.shape[0], BLOCK),
                n_jobs,
            )

    def nearest(
        self, X, k: int, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k charts of smallest error and the errors, both (n, k), ascending."""

        def find(rows):
            return smallest(finite_results(self.errors, rows), k)

        parts = self.in_blocks(X, find, n_jobs)
        nearest, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
        return nearest.astype(np.int32), errors

    def coordinates(
        self, X, charts_of_rows: np.ndarray, n_jobs: int | None = None
    ) -> np.ndarray:
        """Coordinates C_i (x - mu_i) of each row in some charts, (n, k, d)."""
        n, k = charts_of_rows.shape
        out = np.empty((n, k, self.bases.shape[1]), X.dtype)

        def project(start, stop):
            with np.errstate(over="ignore", invalid="ignore"):
                rows = self.centered(X, slice(start, stop))
            here = codes_of(charts_of_rows[start:stop], charts_of_rows[start:stop])
            by_chart = entries_by_anchor(here, len(self))
            part = out[start:stop].reshape(-1, out.shape[2])
            chart_coordinates(rows, by_chart, self.means, self.bases, part)

        in_threads(project, row_blocks(n, BLOCK), n_jobs)
        return out if all_finite(out) else np.nan_to_num(out, copy=False)


def empty_charts(center: np.ndarray, n_charts: int, d: int) -> Charts:
    """Room for charts, all of them zero."""
    shape = n_charts, d, len(center)
    means = np.zeros((n_charts, len(center)), center.dtype)
    return Charts(center, means, np.zeros(shape, center.dtype))


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
    found, values = (np.take_along_axis(a, order, axis=1) for a in (found, values))
    return found, values


def sample_rows(X, rng):
    """A sample of rows that is large enough to choose a bandwidth from."""
    if X.shape[0] <= _BANDWIDTH_ROWS:
        return X
    return X[np.sort(rng.choice(X.shape[0], _BANDWIDTH_ROWS, replace=False))]


def center_and_variance(X) -> tuple[np.ndarray, float]:
    """Mean of the rows, and their mean squared distance from it.

    A variance outside the range of X's numbers is an error.
    """
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0), dtype=float).ravel()
        with np.errstate(over="ignore"):
            square = X.multiply(X).sum(dtype=float) / X.shape[0]
        variance = square - mean @ mean
    else:
        mean = X.mean(axis=0, dtype=float)
        with np.errstate(over="ignore"):
            variance = X.var(axis=0, dtype=float).sum()
    variance = max(float(variance), 0.0)
    limits = np.finfo(X.dtype)
    if not variance * X.shape[0] < float(limits.max) * float(limits.eps):
        raise ValueError(
            f"The rows of X have a mean squared norm of {variance:.2g}, outside "
            f"the range of {X.dtype}: scale the features, e.g. with "
            "StandardScaler."
        )
    return mean.astype(X.dtype), variance


def components_rule(wanted: int | str, n_features: int) -> int:
    """Dimension of the charts; "auto" is twice the root of the features, at most 30."""
    if isinstance(wanted, str):
        wanted = min(30, round(2 * np.sqrt(n_features)))
    return int(min(wanted, n_features))


def nearest_rule(wanted: int | str, n_charts: int) -> int:
    """Number of nearest charts that count; grows with the number of charts."""
    if isinstance(wanted, str):
        wanted = max(10, int(np.rint(2 * np.sqrt(n_charts))))
    return min(wanted, n_charts)


def gamma_rule(errors: np.ndarray) -> float:
    """Bandwidth at which a row's weight spreads over 60 % of its charts."""
    k = errors.shape[1]
    distances = np.sqrt(errors)
    beta = bandwidth_for_perplexity(distances, max(1.0, 0.6 * k), SOFT_ASSIGNMENT)
    return float(1.0 / np.sqrt(beta))


def chart_weights(
    nearest: np.ndarray, errors: np.ndarray, gamma: float, *, relative: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Charts of each row, ascending, and their weights exp(-E / gamma^2) (eq. 10).

    ``relative`` weights sum to one in each row. For them the smallest error is taken
    off first, so that a row far from every chart has weights too.
    """
    if relative:
        errors = errors - errors[:, :1]
    with np.errstate(over="ignore"):
        weights = np.exp(-errors / gamma / gamma).astype(errors.dtype)
    if relative:
        weights /= weights.sum(axis=1, keepdims=True)
    order = np.argsort(nearest, axis=1)
    charts, weights = (
        np.take_along_axis(values, order, axis=1) for values in (nearest, weights)
    )
    return charts, weights


@dataclass(frozen=True)
class ChartedRows:
    """Rows on their nearest charts.

    Row i has the weight ``weights[i, q]`` on chart ``charts[i, q]``, where its
    coordinates are ``coordinates[i, q]``, in some unit.
    """

    charts: np.ndarray  # (n, k), ascending
    weights: np.ndarray  # (n, k)
    coordinates: np.ndarray  # (n, k, d)

    def __len__(self) -> int:
        return len(self.charts)

    def __getitem__(self, rows) -> "ChartedRows":
        return ChartedRows(
            self.charts[rows], self.weights[rows], self.coordinates[rows]
        )

    @property
    def codes(self) -> Codes:
        """The weights as local coordinates."""
        return codes_of(self.charts, self.weights)


def codes_of(charts: np.ndarray, weights: np.ndarray) -> Codes:
    """Weights of k charts for each row as local coordinates."""
    n, k = charts.shape
    return Codes(np.arange(0, n * k + 1, k), charts.ravel(), weights.ravel())
