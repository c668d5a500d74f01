"""The four methods that learn from streams, on a cluster."""

import locallin
from locallin.dask._base import ClusterClassifier, constraints, constructor


class LLSVMClassifier(ClusterClassifier, locallin.LLSVMClassifier):
    """Locally linear support vector machine, fitted on a dask cluster.

    The convex problem of :class:`locallin.LLSVMClassifier`, solved by averaged SGD in
    shards: see :mod:`locallin.dask` for the scheme.

    Parameters
    ----------
    n_anchors, n_neighbors, coding, anchors, local_model, feature_map, coding_space, \
loss, alpha, intercept_scaling, multi_class, solver, max_iter, tol, t0, average, \
shuffle, early_stopping, validation_fraction, n_iter_no_change, class_weight, \
warm_start, n_jobs, random_state, verbose
        As in :class:`locallin.LLSVMClassifier`, but ``solver`` is "sgd", its default
        here, and there is no early stopping. ``n_jobs`` are threads within a task.
    n_shards : int, default=2
        Parts of the data that are learned from at the same time: more workers than
        that are of no use. More shards take fewer steps in an epoch.
    timeout : float, default=60.0
        Seconds that ``fit`` waits while the cluster has no worker at all.

    Attributes
    ----------
    classes_, anchors_, coef_, intercept_, coding_, feature_map_, alpha_, \
intercept_scaling_, n_iter_, objective_history_, t_, t0_, n_features_in_, \
feature_names_in_
        As in :class:`locallin.LLSVMClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from locallin.dask import LLSVMClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> here = {"dashboard_address": "127.0.0.1:0"}  # nothing is open to others
    >>> here["worker_dashboard_address"] = "127.0.0.1:0"
    >>> with Client(processes=False, **here):
    ...     rows, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, 100)
    ...     clf = LLSVMClassifier(random_state=0).fit(rows, labels)
    >>> clf.to_local().score(X, y) > 0.97
    True
    >>> clf.predict(rows)  # computed when it is needed
    dask.array<..., shape=(400,), dtype=int64, chunksize=(100,), ...>
    """

    _local = locallin.LLSVMClassifier
    _parameter_constraints: dict = constraints(_local)
    __init__ = constructor(_local, solver="sgd")


class SAPLClassifier(ClusterClassifier, locallin.SAPLClassifier):
    """Locally linear SVM whose anchors learn from the labels, on a dask cluster.

    :class:`locallin.SAPLClassifier`, learned in shards: see :mod:`locallin.dask` for
    the scheme.

    Parameters
    ----------
    n_anchors, n_neighbors, perplexity, beta, bandwidth, anchors, local_model, loss, \
alpha, intercept_scaling, solver, init, max_iter, tol, batch_size, learning_rate, \
anchor_rate, t0, average, shuffle, early_stopping, validation_fraction, \
n_iter_no_change, class_weight, warm_start, n_jobs, random_state, verbose
        As in :class:`locallin.SAPLClassifier`, but ``init`` is "zeros", and there is no
        early stopping. ``n_jobs`` are threads within a task.
    n_shards : int, default=2
        Parts of the data that are learned from at the same time: more workers than
        that are of no use. More shards take fewer steps in an epoch.
    timeout : float, default=60.0
        Seconds that ``fit`` waits while the cluster has no worker at all.

    Attributes
    ----------
    classes_, anchors_, coef_, intercept_, coding_, alpha_, intercept_scaling_, \
n_iter_, objective_history_, active_history_, perplexity_history_, n_features_in_, \
feature_names_in_
        As in :class:`locallin.SAPLClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from locallin.dask import SAPLClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> here = {"dashboard_address": "127.0.0.1:0"}  # nothing is open to others
    >>> here["worker_dashboard_address"] = "127.0.0.1:0"
    >>> with Client(processes=False, **here):
    ...     rows, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, 100)
    ...     clf = SAPLClassifier(4, random_state=0).fit(rows, labels)
    >>> clf.score(X, y) > 0.97
    True
    """

    _local = locallin.SAPLClassifier
    _parameter_constraints: dict = constraints(_local)
    __init__ = constructor(_local)


class DULLSVMClassifier(ClusterClassifier, locallin.DULLSVMClassifier):
    """Locally linear SVM that learns anchors and their number per row, on a cluster.

    :class:`locallin.DULLSVMClassifier`, learned in shards: see :mod:`locallin.dask` for
    the scheme.

    Parameters
    ----------
    n_anchors, perplexity, mu, bandwidth, anchors, diversity, loss, alpha, \
intercept_scaling, solver, init, max_iter, tol, batch_size, learning_rate, \
anchor_rate, t0, average, shuffle, early_stopping, validation_fraction, \
n_iter_no_change, class_weight, warm_start, n_jobs, random_state, verbose
        As in :class:`locallin.DULLSVMClassifier`, but ``init`` is "zeros", and there is
        no early stopping. ``n_jobs`` are threads within a task.
    n_shards : int, default=2
        Parts of the data that are learned from at the same time: more workers than
        that are of no use. More shards take fewer steps in an epoch.
    timeout : float, default=60.0
        Seconds that ``fit`` waits while the cluster has no worker at all.

    Attributes
    ----------
    classes_, anchors_, coef_, intercept_, coding_, alpha_, intercept_scaling_, \
n_iter_, objective_history_, active_history_, perplexity_history_, n_features_in_, \
feature_names_in_
        As in :class:`locallin.DULLSVMClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from locallin.dask import DULLSVMClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> here = {"dashboard_address": "127.0.0.1:0"}  # nothing is open to others
    >>> here["worker_dashboard_address"] = "127.0.0.1:0"
    >>> with Client(processes=False, **here):
    ...     rows, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, 100)
    ...     clf = DULLSVMClassifier(6, random_state=0).fit(rows, labels)
    >>> clf.score(X, y) > 0.97
    True
    """

    _local = locallin.DULLSVMClassifier
    _parameter_constraints: dict = constraints(_local)
    __init__ = constructor(_local)


class ML3Classifier(ClusterClassifier, locallin.ML3Classifier):
    """Multiclass latent locally linear SVM, fitted on a dask cluster.

    :class:`locallin.ML3Classifier`, learned in shards: see :mod:`locallin.dask` for the
    scheme. A first pass over a sample makes the start.

    Parameters
    ----------
    n_models, p, init, alpha, intercept_scaling, max_iter, average, shuffle, \
shrinking, early_stopping, validation_fraction, n_iter_no_change, class_weight, \
warm_start, n_jobs, random_state, verbose
        As in :class:`locallin.ML3Classifier`, but there is no early stopping, and every
        row is visited in every epoch. ``n_jobs`` are threads within a task.
    n_shards : int, default=2
        Parts of the data that are learned from at the same time: more workers than
        that are of no use. More shards take fewer steps in an epoch.
    timeout : float, default=60.0
        Seconds that ``fit`` waits while the cluster has no worker at all.

    Attributes
    ----------
    classes_, coef_, intercept_, alpha_, intercept_scaling_, p_, n_iter_, \
objective_history_, t_, n_features_in_, feature_names_in_
        As in :class:`locallin.ML3Classifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from locallin.dask import ML3Classifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> here = {"dashboard_address": "127.0.0.1:0"}  # nothing is open to others
    >>> here["worker_dashboard_address"] = "127.0.0.1:0"
    >>> with Client(processes=False, **here):
    ...     rows, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, 100)
    ...     clf = ML3Classifier(random_state=0).fit(rows, labels)
    >>> clf.score(X, y) > 0.97
    True
    """

    _local = locallin.ML3Classifier
    _parameter_constraints: dict = constraints(_local)
    __init__ = constructor(_local)
