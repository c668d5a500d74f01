"""Small fits on dask clusters, and what is the same about two of them."""

import dask.array as da
import numpy as np

import locallin
from locallin.dask import ClusterClassifier

SETTINGS = {
    "LLSVMClassifier": {"n_anchors": 6, "max_iter": 3, "tol": None, "solver": "sgd"},
    "SAPLClassifier": {"n_anchors": 6, "max_iter": 3},
    "DULLSVMClassifier": {"n_anchors": 6, "max_iter": 3},
    "ML3Classifier": {"n_models": 4, "max_iter": 3},
}
# Without these, dask's HTTP servers listen to everybody, on ports that may be taken.
LOOPBACK = {
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
}
LEARNED = ("coef_", "intercept_", "objective_history_", "n_iter_", "alpha_")


def make(name, *, n_shards=2, timeout=60.0, **more):
    kind = getattr(locallin, name)
    local = kind(random_state=0, **SETTINGS[name] | more)
    return ClusterClassifier(local, n_shards=n_shards, timeout=timeout)


def fitted(model):
    return getattr(model, "estimator_", model)


def cut(X, *others, size=40):
    return [da.from_array(a, chunks=(size, -1)[: a.ndim]) for a in (X, *others)]


def assert_same(one, other):
    one, other = fitted(one), fitted(other)
    for name in LEARNED:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    if hasattr(one, "anchors_"):
        assert np.array_equal(one.anchors_, other.anchors_)
        assert np.array_equal(one.coding_.bandwidth_, other.coding_.bandwidth_)
