"""The kernel of charts as a matrix, and charts that come from elsewhere.

With the matrix any kernel machine works on an atlas: ``SVR(kernel="precomputed")``,
``KernelPCA(kernel="precomputed")``, ``KernelRidge``, spectral clustering.
"""

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.atlas import Atlas, fitted_charts
from locallin.charts.affine import (
    ChartedRows,
    Charts,
    center_and_variance,
    chart_weights,
    gamma_rule,
    nearest_rule,
    sample_rows,
)
from locallin.engine.input import checked_data
from locallin.engine.sklearn_api import validate_parameters

__all__ = ["atlas_from_charts", "chart_kernel"]

# How far from orthonormal directions may be, in units of their kind's precision.
_ORTHONORMAL = 1e-3


def chart_kernel(
    atlas: Atlas,
    X,
    Y=None,
    *,
    kernel: str | Callable = "rbf",
    sigma: float | None = None,
    n_nearest: int | None = None,
    gamma: float | None = None,
    normalize: bool = True,
) -> np.ndarray:
    """Gram matrix of the chart kernel (eq. 5 and 8 of the Atlas paper).

    Two rows are compared chart by chart, by any kernel k of their coordinates there::

        K(x, y) = sum_i w_i(x) w_i(y) k(C_i (x - mu_i), C_i (y - mu_i))

    with the weights ``w_i = exp(-E_i / gamma^2)`` of their nearest charts. It is
    positive semidefinite where k is.

    Parameters
    ----------
    atlas : Atlas
        A fitted atlas.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    Y : {array-like, sparse matrix} of shape (n_others, n_features) or None, \
            default=None
        Rows to compare them with; None is X.
    kernel : {"rbf", "linear"} or callable, default="rbf"
        The local kernel. "rbf" is ``exp(-|p - q|^2 / sigma^2)``, "linear" is
        ``p . q + 1``; a callable takes coordinates P of shape (a, d) and Q of shape
        (b, d) and returns a matrix of shape (a, b).
    sigma : float or None, default=None
        Width of "rbf", in the unit of the data: the ``sigma_`` of a fitted
        ``AtlasClassifier``, say. It has no default, since one that the rows decide
        would be another for other rows.
    n_nearest : int or None, default=None
        Number of nearest charts that count; None is that of the atlas.
    gamma : float or None, default=None
        Bandwidth of the weights; None is that of the atlas.
    normalize : bool, default=True
        Whether ``K(x, x)`` is one for every row, as in ``AtlasClassifier``.

    Returns
    -------
    ndarray of shape (n_samples, n_others)
        The matrix.

    See Also
    --------
    locallin.AtlasClassifier : Machines of this kernel, without the matrix.
    locallin.Atlas : Learns the charts.
    atlas_from_charts : Takes charts that are there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVR
    >>> from locallin import Atlas
    >>> from locallin.gram import chart_kernel
    >>> angle = np.random.RandomState(0).uniform(0, 2 * np.pi, size=300)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> atlas = Atlas(n_components=1, mdl=1.0, random_state=0).fit(X)
    >>> K = chart_kernel(atlas, X, sigma=0.5)
    >>> model = SVR(kernel="precomputed").fit(K, np.sin(2 * angle))
    >>> bool(model.score(K, np.sin(2 * angle)) > 0.9)
    True
    """
    check_is_fitted(atlas)
    local = _local_kernel(kernel, sigma)
    for name, value in (("n_nearest", n_nearest), ("gamma", gamma)):
        if value is not None and not value > 0:
            raise ValueError(f"{name}={value!r} must be positive, or None.")
    k = atlas.n_nearest_ if n_nearest is None else min(n_nearest, len(atlas.means_))
    width = atlas.gamma_ if gamma is None else gamma

    def charted(rows) -> ChartedRows:
        rows = checked_data(atlas, rows, reset=False)
        charts = fitted_charts(atlas, rows.dtype)
        nearest, errors = charts.nearest(rows, k, atlas.n_jobs)
        found, weights = chart_weights(nearest, errors, width, relative=normalize)
        points = charts.coordinates(rows, found, atlas.n_jobs)
        if normalize:
            weights = weights / _lengths(weights, points, local)[:, None]
        return ChartedRows(found, weights, points)

    first = charted(X)
    return _gram(first, first if Y is None else charted(Y), len(atlas.means_), local)


def _local_kernel(kernel, sigma) -> Callable:
    if kernel == "rbf":
        if sigma is None or not sigma > 0:
            raise ValueError(
                f"sigma={sigma!r}, but kernel='rbf' needs a positive width in the unit "
                "of the data, e.g. the sigma_ of a fitted AtlasClassifier."
            )
        return lambda P, Q: np.exp(-_squares(P / sigma, Q / sigma))
    if sigma is not None:
        raise ValueError(f"sigma={sigma!r} is a setting of kernel='rbf'.")
    if kernel == "linear":
        return lambda P, Q: P @ Q.T + 1
    if not callable(kernel):
        raise ValueError(
            f"kernel={kernel!r} is not known: choose 'rbf', 'linear', or a callable."
        )

    def checked(P, Q):
        found = np.asarray(kernel(P, Q))
        if found.shape != (len(P), len(Q)):
            raise ValueError(
                f"kernel returned an array of shape {found.shape} for coordinates of "
                f"{len(P)} and {len(Q)} rows: return one of shape "
                f"{(len(P), len(Q))}."
            )
        return found

    return checked


def _squares(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Squared distances of rows from rows."""
    inner = P @ Q.T
    sizes = [np.einsum("nd,nd->n", part, part) for part in (P, Q)]
    return np.maximum(sizes[0][:, None] + sizes[1] - 2 * inner, 0)


def _lengths(weights: np.ndarray, points: np.ndarray, local: Callable) -> np.ndarray:
    """Roots of K(x, x)."""
    n, k, d = points.shape
    flat = points.reshape(-1, d)
    own = [float(local(p[None], p[None])[0, 0]) for p in flat]
    squares = (np.square(weights) * np.reshape(own, (n, k))).sum(axis=1)
    return np.sqrt(np.where(squares > 0, squares, 1.0)).astype(weights.dtype)


def _gram(a: ChartedRows, b: ChartedRows, n_charts: int, local: Callable) -> np.ndarray:
    """Sums over the charts that two rows share."""
    out = np.zeros((len(a), len(b)), np.result_type(a.weights, b.weights))
    for chart in range(n_charts):
        (here, at), (there, by) = ((rows.charts == chart).nonzero() for rows in (a, b))
        if len(here) and len(there):
            values = local(a.coordinates[here, at], b.coordinates[there, by])
            values = a.weights[here, at][:, None] * values * b.weights[there, by]
            out[np.ix_(here, there)] += values
    return out


def atlas_from_charts(
    means,
    components,
    X,
    *,
    n_nearest: int | str = "auto",
    gamma: float | str = "auto",
    output: str = "weights",
    n_jobs: int | None = None,
    random_state=None,
) -> Atlas:
    """Make a fitted atlas of charts that are known, or come from another learner.

    ``AtlasClassifier(atlas=FrozenEstimator(atlas))`` learns on them; ``transform``,
    ``chart_kernel`` and pictures work as with learned ones.

    Parameters
    ----------
    means : array-like of shape (n_charts, n_features)
        Means mu_i of the charts.
    components : array-like of shape (n_charts, n_components, n_features)
        Their directions C_i: orthonormal, or zero from some on.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, each of which is then a member of its nearest chart. ``gamma="auto"``
        goes by them.
    n_nearest : int or "auto", default="auto"
        Number of nearest charts of a row.
    gamma : float or "auto", default="auto"
        Bandwidth of the weights.
    output : {"weights", "coordinates"}, default="weights"
        What ``transform`` returns.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The rows that gamma is chosen from depend on
        it.

    Returns
    -------
    Atlas
        The atlas. Its ``mdl_`` is zero: nobody paid for the charts.

    See Also
    --------
    locallin.Atlas : Learns the charts.
    chart_kernel : The kernel of an atlas, as a matrix.

    Examples
    --------
    >>> from locallin.gram import atlas_from_charts
    >>> X = [[0.0, 0.1], [1.0, -0.1], [2.0, 1.1], [2.1, 2.0]]
    >>> lines = [[[1.0, 0.0]], [[0.0, 1.0]]]
    >>> atlas = atlas_from_charts([[0.0, 0.0], [2.0, 1.0]], lines, X)
    >>> atlas.labels_
    array([0, 0, 1, 1])
    """
    components = check_array(
        components, dtype=[np.float64, np.float32], order="C", allow_nd=True,
        copy=True, input_name="components",
    )  # fmt: skip
    means = check_array(means, dtype=components.dtype, order="C", input_name="means")
    _check_charts(means, components)
    atlas = Atlas(
        components.shape[1],
        mdl=0.0,
        n_neighbors=0,
        output=output,
        n_nearest=n_nearest,
        gamma=gamma,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    validate_parameters(atlas)
    X = checked_data(atlas, X, reset=True)
    if X.shape[1] != means.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but the charts have {means.shape[1]}."
        )
    center = center_and_variance(X)[0].astype(means.dtype)
    charts = Charts(center, means - center, components)
    same = X.astype(means.dtype, copy=False)
    nearest, errors = charts.nearest(same, 1, n_jobs)
    labels = nearest[:, 0].astype(np.int64)
    sizes = np.bincount(labels, minlength=len(means))
    count = nearest_rule(n_nearest, len(means))
    width = gamma
    if isinstance(width, str):
        sample = sample_rows(same, check_random_state(random_state))
        width = gamma_rule(charts.nearest(sample, count, n_jobs)[1])
    energy = float(errors.sum(dtype=float))
    attributes = {
        "center_": center,
        "means_": means,
        "components_": components,
        "n_components_": components.shape[1],
        "labels_": labels,
        "member_starts_": np.concatenate([[0], np.cumsum(sizes)]),
        "member_rows_": np.argsort(labels, kind="stable"),
        "sizes_": sizes,
        "mdl_": 0.0,
        "energy_": energy,
        "energy_history_": np.array([energy]),
        "stage_history_": np.array(["given"]),
        "n_iter_": 0,
        "n_nearest_": count,
        "gamma_": float(width),
    }
    for name, value in attributes.items():
        setattr(atlas, name, value)
    return atlas


def _check_charts(means: np.ndarray, components: np.ndarray) -> None:
    """Refuse directions that are not orthonormal, or do not fit the means."""
    if components.ndim != 3 or components.shape[::2] != means.shape:
        raise ValueError(
            f"components has the shape {components.shape}, but means {means.shape}: "
            "pass directions of shape (n_charts, n_components, n_features)."
        )
    inner = components @ components.swapaxes(1, 2)
    used = np.einsum("idd->id", inner) > 0.5
    wanted = np.eye(components.shape[1]) * used[:, None]
    off = np.abs(inner - wanted).max(axis=(1, 2))
    if off.max() > _ORTHONORMAL:
        raise ValueError(
            f"The directions of chart {off.argmax()} are not orthonormal: make them "
            "so with numpy.linalg.qr(directions.T)[0].T, or by an SVD."
        )
