"""What does a cluster cost, and what is a fit on it worth?

"error": test errors of local fits and of fits on two workers, after the same number of
epochs. "time": seconds of an epoch, of the local fit in one thread (from two fits of
different length) and on one worker, several times in turn; the ratio is the median of
those of each turn. ML3 visits every row in both. "bytes": what workers send in a round,
to each other and to the client, of models and of data (dask may copy a block to an idle
worker), beside the size of all data and of what a shard learns, the model with the
moments or the iterate of its solver. "pieces": errors on held-out training rows, by the
rows that a shard learns from between two averages.

Workers are processes of one machine with one thread each. MNIST has rows of norm one,
COVTYPE standardised features. ``n_shards`` is the default, chosen on held-out training
rows.
"""

import pickle
from collections import Counter
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import product
from statistics import median
from unittest.mock import patch

import dask
import dask.array as da
from distributed import Client, LocalCluster

import locallin
from benchmarks._common import Report, error, seconds, summary
from benchmarks._data import DIGITS, Split, load
from locallin.dask import ClusterClassifier, _fit

SETS = ("mnist", "covtype")
METHODS = {
    "LLSVMClassifier": {"solver": "sgd", "tol": None, "max_iter": 20},
    "SAPLClassifier": {"max_iter": 20},
    "DULLSVMClassifier": {"max_iter": 20},
    "ML3Classifier": {"max_iter": 20},
}
BLOCKS = 8
SHARDS = ClusterClassifier(None).n_shards
SEEDS = range(3)
# Whose time and bytes are measured, after one more; and how often the time.
EPOCHS = 4
# Whose rows between two averages are varied, and how.
PIECES = ("covtype", "DULLSVMClassifier")
LEAST_ROWS = (4096, 8192, 16384, 65536)
TURNS = 3
# Tasks whose results are models; other transfers are rows, or codes of rows.
MODELS = {"begin", "begin_again", "share", "keep", "learn", "average"}
PROCESSES = True
# No port is open to other machines.
LOOPBACK = {
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
}


@contextmanager
def workers(number: int):
    where = {"host": "127.0.0.1"} if PROCESSES else {}
    with (
        LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=PROCESSES,
            **where,
            **LOOPBACK,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@lru_cache(maxsize=1)
def split_of(folder, name) -> Split:
    if name in DIGITS:
        return load(folder, name).scaled_for(name)
    return load(folder, name).dense().standardised()


def collections(client, split) -> tuple:
    """The training rows in blocks, shared out among the workers."""
    addresses = sorted(client.nthreads())
    size = -(-len(split.y) // BLOCKS)

    def there(part):
        blocks = []
        for start in range(0, len(part), size):
            piece = part[start : start + size]
            owner = addresses[start * len(addresses) // len(part)]
            held = dask.delayed(client.scatter(piece, workers=[owner]))
            blocks.append(da.from_delayed(held, piece.shape, piece.dtype))
        return da.concatenate(blocks)

    return there(split.X), there(split.y)


def estimator(method, **more):
    settings = {"random_state": 0, **METHODS[method], **more}
    return getattr(locallin, method)(**settings)


def errors(folder, name, method) -> dict:
    split = split_of(folder, name)
    test = split.X_test, split.y_test
    local, there = [], []
    for seed in SEEDS:
        model = estimator(method, random_state=seed)
        local.append(error(model.fit(split.X, split.y), *test))
        with workers(2) as client:
            model = ClusterClassifier(estimator(method, random_state=seed))
            there.append(error(model.fit(*collections(client, split)), *test))
    found = {"local": summary(local), "cluster": summary(there)}
    difference = found["cluster"]["mean"] - found["local"]["mean"]
    return {**found, "difference": round(difference, 3)}


def pieces(folder, name, method) -> dict:
    split = split_of(folder, name).held_out(0, 1 / 5)
    held_out = split.X_test, split.y_test
    found = {"local": []} | {f"at least {rows} rows": [] for rows in LEAST_ROWS}
    for seed in SEEDS:
        model = estimator(method, random_state=seed)
        found["local"].append(error(model.fit(split.X, split.y), *held_out))
        for rows in LEAST_ROWS:
            limits = {"LEAST_ROWS": rows, "BYTES_PER_BYTE_OF_MODELS": 0.0}
            with workers(2) as client, patch.multiple(_fit, **limits):
                model = ClusterClassifier(estimator(method, random_state=seed))
                model.fit(*collections(client, split))
            found[f"at least {rows} rows"].append(error(model, *held_out))
    return {key: summary(errors) for key, errors in found.items()}


def epochs(client, split, method, n_shards=SHARDS, **more):
    """A fit and its models after epochs; the first comes after a warm-up.

    The last epoch, in which some methods average, is not among them.
    """
    local = estimator(method, max_iter=EPOCHS + 2, **more)
    model = ClusterClassifier(local, n_shards=n_shards)
    fit = model.prepare(*collections(client, split))
    current = fit.begin()
    for number in range(1, EPOCHS + 2):
        current, _ = fit.epoch(number, current)
        yield fit, current


def times(folder, name, method) -> dict:
    split = split_of(folder, name)
    same_work = {"shrinking": False} if method == "ML3Classifier" else {}

    def local_fit(n_epochs) -> float:
        model = estimator(method, max_iter=n_epochs, **same_work)
        return seconds(partial(model.fit, split.X, split.y))[0]

    def local_epoch() -> float:
        return (local_fit(EPOCHS + 1) - local_fit(1)) / EPOCHS

    def there(n_shards) -> float:
        with workers(1) as client:
            course = epochs(client, split, method, **same_work, n_shards=n_shards)
            next(course)
            return seconds(partial(list, course))[0] / EPOCHS

    local_fit(1)  # compile
    turns = [(local_epoch(), there(1), there(SHARDS)) for _ in range(TURNS)]
    found = {"local_epoch_seconds": median(turn[0] for turn in turns)}
    for at, n_shards in enumerate((1, SHARDS), 1):
        found[f"one worker, n_shards={n_shards}"] = {
            "epoch_seconds": median(turn[at] for turn in turns),
            "ratio": median(turn[at] / turn[0] for turn in turns),
        }
    return found


def _sent(dask_worker) -> Counter:
    """Bytes that a worker has sent, of models and of data."""
    sent = Counter()
    for transfer in dask_worker.transfer_outgoing_log:
        for key, size in transfer["keys"].items():
            task = str(key).partition("-")[0]
            sent["models" if task in MODELS else "data"] += size
    return sent


def traffic(folder, name, method) -> dict:
    split = split_of(folder, name)
    with workers(2) as client:
        course = epochs(client, split, method)
        next(course)
        before = sum(client.run(_sent).values(), Counter())
        *_, (fit, current) = course
        sent = sum(client.run(_sent).values(), Counter()) - before
        state = current.result().state
    rounds = fit._plan.n_rounds
    return {
        "model_bytes_per_round": sent["models"] / (EPOCHS * rounds),
        "data_bytes_per_round": sent["data"] / (EPOCHS * rounds),
        "rounds_per_epoch": rounds,
        "learner_bytes": len(pickle.dumps(state)),
        "data_bytes": split.X.nbytes + split.y.nbytes,
    }


def run(job) -> None:
    report = Report(
        job, "cluster", methods=METHODS, blocks=BLOCKS, n_shards=SHARDS, epochs=EPOCHS
    )
    every = list(product(SETS, METHODS))
    measures = {
        "error": (errors, every),
        "time": (times, every),
        "bytes": (traffic, every),
        "pieces": (pieces, [PIECES]),
    }
    for part in job.parts(measures):
        measure, cases = measures[part]
        report.fill(
            {
                (part, name, method): partial(measure, job.data, name, method)
                for name, method in cases
                if name in job.named(SETS)
            }
        )
