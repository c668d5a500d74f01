"""Fits on a cluster on which something goes wrong."""

import os
import signal
import time
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

pytest.importorskip("distributed")

import dask
import dask.array as da
from clusters import LOOPBACK, assert_same, cut, make
from distributed import Client, LocalCluster

from locallin.dask import BlockError, _fit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


class Leaving(TransformerMixin, BaseEstimator):
    """Changes nothing, slowly, and leaves a file with the worker's process."""

    def __init__(self, folder, seconds=0.05):
        self.folder = folder
        self.seconds = seconds

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        path = os.path.join(self.folder, f"{time.time_ns()}-{os.getpid()}")
        with open(path, "w"):
            time.sleep(self.seconds)
        return X


@contextmanager
def in_the_middle(folder, action, after):
    """Do something with the process that has left the last of several files."""
    done = []

    def work():
        ends = time.monotonic() + 30
        while len(os.listdir(folder)) < after and time.monotonic() < ends:
            time.sleep(0.002)
        last = sorted(os.listdir(folder))[-1]
        action(int(last.split("-")[1]))
        done.append(True)

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert done


def kill(process):
    os.kill(process, signal.SIGKILL)


def slow(tmp_path, **more):
    return make("LLSVMClassifier", feature_map=Leaving(str(tmp_path)), **more)


@pytest.fixture(scope="module")
def undisturbed(rows):
    with Client(processes=False, n_workers=1, **LOOPBACK):
        return make("LLSVMClassifier", max_iter=4).fit(*cut(*rows))


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_a_worker_that_dies_in_a_round_changes_nothing(
    client, rows, undisturbed, tmp_path, monkeypatch, seconds
):
    monkeypatch.setattr(_fit, "SECONDS_BETWEEN_COPIES", seconds)
    with in_the_middle(tmp_path, kill, after=14):
        model = slow(tmp_path, max_iter=4).fit(*cut(*rows))
    assert_same(model, undisturbed)


def test_a_worker_that_comes_late_changes_nothing(
    client, cluster, rows, undisturbed, tmp_path
):
    with in_the_middle(tmp_path, lambda _: cluster.scale(3), after=12):
        model = slow(tmp_path, max_iter=4).fit(*cut(*rows))
    client.wait_for_workers(3, timeout=30)
    cluster.scale(2)
    assert_same(model, undisturbed)


def test_a_block_that_raises_has_a_name(client, rows):
    def load(part, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            raise OSError("the disk is gone")
        return part

    X, y = cut(*rows)
    with pytest.raises(BlockError, match=r"Block 2 \(rows 80 to 119\): the disk"):
        make("LLSVMClassifier").fit(X.map_blocks(load, dtype=float), y)


def test_data_that_is_lost_for_good_is_an_error(client, rows, tmp_path):
    X, y = rows
    workers = sorted(client.nthreads())
    parts = [
        da.from_delayed(
            dask.delayed(client.scatter(X[s : s + 50], workers=[workers[i % 2]])),
            (50, X.shape[1]),
            float,
        )
        for i, s in enumerate(range(0, 350, 50))
    ]
    labels = da.from_array(y, chunks=50)
    with (
        in_the_middle(tmp_path, kill, after=10),
        pytest.raises(BlockError, match=r"Block \d \(rows \d+ to \d+\) was lost"),
    ):
        slow(tmp_path, max_iter=20).fit(da.concatenate(parts), labels)


def test_no_worker_at_all_is_an_error_in_time(client, cluster, rows, tmp_path):
    with (
        in_the_middle(tmp_path, lambda _: cluster.scale(0), after=5),
        pytest.raises(TimeoutError, match="no worker for 1 seconds"),
    ):
        slow(tmp_path, max_iter=50, timeout=1.0).fit(*cut(*rows))
    cluster.scale(2)
    client.wait_for_workers(2, timeout=30)


@pytest.mark.parametrize("after", np.random.RandomState(0).randint(1, 29, size=10))
def test_a_worker_may_die_at_any_moment(client, rows, undisturbed, tmp_path, after):
    with in_the_middle(tmp_path, kill, after=int(after)):
        model = slow(tmp_path, max_iter=4).fit(*cut(*rows))
    assert_same(model, undisturbed)


def hungry(part):
    """A block that no worker has room for."""
    return part if len(part) < 2 else np.ones((len(part), 10**7))[:, : part.shape[1]]


@contextmanager
def of_its_own(**more):
    """A cluster of one worker, and its client."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", **LOOPBACK, **more
    ) as found:
        client = found.get_client()
        yield found, client
        client.close(timeout=5)


def test_a_worker_with_too_little_memory_is_an_error(rows):
    X, y = cut(*rows)
    failures = {"distributed.scheduler.allowed-failures": 0}
    with (
        dask.config.set(failures),
        of_its_own(memory_limit="700MiB"),
        # The second where the worker takes long to come back.
        pytest.raises((BlockError, TimeoutError), match=r"Block \d|no worker for"),
    ):
        make("LLSVMClassifier").fit(X.map_blocks(hungry, dtype=float), y)


@pytest.mark.parametrize("lost", [0, 1], ids=["scheduler", "client"])
def test_a_lost_client_or_scheduler_is_an_error(rows, tmp_path, lost):
    with (
        of_its_own() as found,
        in_the_middle(tmp_path, lambda _: found[lost].close(timeout=5), after=12),
        pytest.raises((RuntimeError, TimeoutError), match="cluster"),
    ):
        slow(tmp_path, max_iter=50, timeout=5.0).fit(*cut(*rows))


def test_a_restarted_cluster_is_an_error(client, rows, tmp_path):
    with (
        in_the_middle(tmp_path, lambda _: client.restart(timeout=60), after=12),
        pytest.raises(RuntimeError, match="The cluster has dropped the fit"),
    ):
        slow(tmp_path, max_iter=50).fit(*cut(*rows))
