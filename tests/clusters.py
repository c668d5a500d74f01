"""Small fits on dask clusters, and what is the same about two of them."""

import pickle

import dask.array as da
import numpy as np

import locallin
from locallin.dask import ClusterClassifier, ClusterRegressor
from locallin.methods.skeleton import StreamLearner
from locallin.streams.run import StreamSurvey
from locallin.streams.state import LearningState

SETTINGS = {
    "LLSVMClassifier": {"n_anchors": 6, "max_iter": 3, "tol": None, "solver": "sgd"},
    "SAPLClassifier": {"n_anchors": 6, "max_iter": 3},
    "DULLSVMClassifier": {"n_anchors": 6, "max_iter": 3},
    "ML3Classifier": {"n_models": 4, "max_iter": 3},
}
OF_NUMBERS = {
    "SAPLRegressor": {"n_anchors": 6, "max_iter": 3},
    "DULLSVMRegressor": {"n_anchors": 6, "max_iter": 3},
}
# Without these, dask's HTTP servers listen to everybody, on ports that may be taken.
LOOPBACK = {
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
}
LEARNED = ("coef_", "intercept_", "objective_history_", "n_iter_", "alpha_")


def make(name, *, n_shards=2, timeout=60.0, **more):
    wrapper = ClusterRegressor if name in OF_NUMBERS else ClusterClassifier
    return wrapper(make_local(name, **more), n_shards=n_shards, timeout=timeout)


def make_local(name, **more):
    settings = {**SETTINGS, **OF_NUMBERS}[name] | more
    return getattr(locallin, name)(random_state=0, **settings)


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


def in_one_process(name, X, y, n_shards, block=40, pieces=1, **more):
    """The scheme in a loop, for data that the sample covers.

    ``block`` is the size of the pieces into which the blocks are cut.
    """
    local = make_local(name, **more)
    starts = range(0, len(X), block)
    blocks = [(X[s : s + block], y[s : s + block]) for s in starts]
    rng = np.random.RandomState(0)
    seeds = rng.randint(2**31 - 1, size=len(blocks) // pieces + 2)
    first = np.random.RandomState(seeds[-2])
    survey = StreamSurvey(np.unique(y), len(X), (X, y))
    StreamLearner(local).begin(survey, local.max_iter, first)
    shards = np.array_split(np.arange(len(blocks)), n_shards)
    n_rounds = len(shards[0])
    arrays = StreamLearner(local).state.to_arrays()
    if "t0" in arrays:
        arrays["t0"] = np.asarray(max(arrays["t0"] / n_shards, 2.0))
    if "steps" in arrays:
        batch = arrays["plan"][0] = max(1, arrays["plan"][0] // n_shards)
        steps = np.mean([max(1, round(len(b[1]) / batch)) for b in blocks])
        arrays["steps"][1] = local.max_iter * n_rounds * steps
    history = []
    for epoch in range(1, local.max_iter + 1):
        seeds = rng.randint(2**31 - 1, size=len(blocks))
        orders = [rng.permutation(shard) for shard in shards]
        met = 0.0
        for r in range(n_rounds):
            chosen = [order[r] for order in orders if r < len(order)]
            turns, losses = [], []
            for i in chosen:
                learner = StreamLearner(pickle.loads(pickle.dumps(local)))
                learner.state = LearningState(pickle.loads(pickle.dumps(arrays)))
                last_pass = epoch == local.max_iter
                own = np.random.RandomState(seeds[i])
                learner.learn(blocks[i], own, last_pass=last_pass)
                size = len(blocks[i][1])
                turns.append((learner.state.to_arrays(), size))
                losses.append(learner.estimator.objective_history_[-1] * size)
            met += sum(losses)
            arrays = mixed(arrays, turns)
        history.append(met / len(X))
    learner = StreamLearner(local)
    learner.state = LearningState(arrays)
    local.n_iter_, local.objective_history_ = local.max_iter, np.array(history)
    return local


def mixed(start, turns):
    arrays, weights = zip(*turns, strict=True)
    if len(turns) == 1:
        return arrays[0]
    shares = np.array(weights) / np.sum(weights)

    def mean(name):
        values = [turn[name] for turn in arrays]
        origin = start.get(name, values[0])
        if origin.dtype == bool:
            return np.any(values, axis=0)
        moves = zip(shares, values, strict=True)
        return sum((share * (value - origin) for share, value in moves), 1.0 * origin)

    return {name: mean(name) for name in arrays[0]}
