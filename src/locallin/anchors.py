"""Where local models sit: the choice of anchor points."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from threadpoolctl import threadpool_limits

__all__ = ["choose_anchors"]

# Up to this many entries, and products of an entry with an anchor, Lloyd's algorithm
# sees all rows; beyond it mini-batches give anchors of the same use at a cost that does
# not grow with the data.
_LLOYD_ENTRIES = 2_000_000
_LLOYD_PRODUCTS = 200_000_000


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.array(X)


def distinct(anchors: np.ndarray) -> np.ndarray:
    """Drop repeated anchors, keeping the order of first appearance."""
    # np.unique makes another error of Ctrl-C while it compares rows.
    first: dict[bytes, int] = {}
    for i, row in enumerate(anchors + 0.0):  # no minus zero
        first.setdefault(row.tobytes(), i)
    return np.ascontiguousarray(anchors[list(first.values())])


def cluster(X, n_anchors: int, sample_weight, rng) -> np.ndarray:
    """Centres of k-means, of Lloyd's algorithm or of mini-batches."""
    if X.shape[0] <= n_anchors:
        return _dense(X)
    unit = max(abs(X.max()), abs(X.min()))
    limits = np.finfo(X.dtype)
    if unit > 0 and not limits.tiny**0.25 < unit < limits.max**0.25:
        # Clustering squares its data.
        return cluster(X / unit, n_anchors, sample_weight, rng) * unit
    seed = rng.randint(np.iinfo(np.int32).max)
    if X.size <= min(_LLOYD_ENTRIES, _LLOYD_PRODUCTS // n_anchors):
        model = KMeans(n_anchors, n_init=1, max_iter=100, random_state=seed)
    else:
        model = MiniBatchKMeans(
            n_anchors,
            n_init=1,
            batch_size=1024,
            init_size=max(1024, 3 * n_anchors),
            compute_labels=False,
            random_state=seed,
        )
    with warnings.catch_warnings():
        # Fewer distinct rows than anchors: the caller drops the repetitions.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Lloyd's sums depend on the number of OpenMP threads in the last bits.
        with threadpool_limits(1, "openmp"):
            model.fit(X, sample_weight=sample_weight)
    return model.cluster_centers_.astype(X.dtype, copy=False)


def apportion(total: int, claims: np.ndarray) -> np.ndarray:
    """Share out whole things in proportion to claims, largest remainders first."""
    if claims.sum() == 0:
        claims = np.ones(len(claims))
    ideal = total * claims / claims.sum()
    share = np.floor(ideal).astype(int)
    rest = total - share.sum()
    share[np.argsort(share - ideal, kind="stable")[:rest]] += 1
    return share


def _random_rows(X, n_anchors, rng) -> np.ndarray:
    size = min(n_anchors, X.shape[0])
    return _dense(X[np.sort(rng.choice(X.shape[0], size, replace=False))])


def _kmeans_per_class(X, y, n_anchors, sample_weight, rng) -> np.ndarray:
    classes, encoded, counts = np.unique(y, return_inverse=True, return_counts=True)
    if n_anchors < len(classes):
        raise ValueError(
            f"anchors='kmeans-per-class' needs at least one anchor per class: "
            f"n_anchors={n_anchors} but there are {len(classes)} classes."
        )
    share = apportion(n_anchors - len(classes), counts)  # beyond one for each
    return np.vstack(
        [
            cluster(X[encoded == c], 1 + share[c], sample_weight[encoded == c], rng)
            for c in range(len(classes))
        ]
    )


def choose_anchors(
    X,
    n_anchors: int = 100,
    anchors="kmeans",
    *,
    y=None,
    sample_weight: np.ndarray | None = None,
    random_state=None,
) -> np.ndarray:
    """Choose at most ``n_anchors`` distinct anchor points for the rows of X.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        The data, of dtype float32 or float64.
    n_anchors : int, default=100
        Number of anchors. Fewer are returned where the data has fewer distinct
        rows. Not used where ``anchors`` is an array.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like, default="kmeans"
        "kmeans" clusters the rows (in mini-batches above 2 million entries, or
        200 million products of entries with anchors),
        "random" draws rows, "kmeans-per-class" clusters the rows of each class,
        giving each class one anchor and the others in proportion to its rows. An
        array of shape (n_anchors, n_features) is taken as it is.
    y : array-like of shape (n_samples,), default=None
        Classes, for "kmeans-per-class".
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the rows. Rows of weight 0 are not seen.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering or the draw.

    Returns
    -------
    ndarray of shape (at most n_anchors, n_features)
        The anchors, in the dtype of X.

    See Also
    --------
    locallin.coding.Coding : Finds the nearest anchors of a row, and weighs them.
    sklearn.cluster.KMeans : What chooses them by default.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin.anchors import choose_anchors
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> np.sort(choose_anchors(X, 2, random_state=0), axis=0)
    array([[ 0.5],
           [10.5]])
    """
    if not isinstance(anchors, str):
        try:
            given = check_array(
                anchors, dtype=X.dtype, order="C", copy=True, input_name="anchors"
            )
        except TypeError as error:
            raise TypeError(
                f"anchors={anchors!r} is no array: pass 'kmeans', 'random', "
                "'kmeans-per-class', or an array of shape (n_anchors, n_features)."
            ) from error
        if given.shape[1] != X.shape[1]:
            raise ValueError(
                f"anchors has {given.shape[1]} features, but X has {X.shape[1]}: "
                "pass anchors of shape (n_anchors, n_features)."
            )
        return given
    rng = check_random_state(random_state)
    if sample_weight is None:
        sample_weight = np.ones(X.shape[0], X.dtype)
    elif (sample_weight == sample_weight[0]).all():
        sample_weight = np.ones_like(sample_weight)  # sums of others are rounded
    elif not sample_weight.all():
        seen = sample_weight > 0
        X, sample_weight = X[seen], sample_weight[seen]
        y = None if y is None else np.asarray(y)[seen]
    if anchors == "random":
        chosen = _random_rows(X, n_anchors, rng)
    elif anchors == "kmeans-per-class":
        if y is None:
            raise ValueError("anchors='kmeans-per-class' needs y: pass the classes.")
        chosen = _kmeans_per_class(X, y, n_anchors, sample_weight, rng)
    else:
        chosen = cluster(X, n_anchors, sample_weight, rng)
    return distinct(chosen)
