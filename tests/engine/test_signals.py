"""Ctrl-C at any moment, fork, lack of memory, and many fits in one process."""

import multiprocessing
import os
import subprocess
import sys
import threading
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.core.dispatcher import Dispatcher
from numpy.testing import assert_array_equal

from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)

CLASSIFIERS = [
    LLSVMClassifier(5, max_iter=5, tol=None, random_state=0),
    SAPLClassifier(5, max_iter=2, random_state=0),
    DULLSVMClassifier(5, max_iter=2, random_state=0),
    ML3Classifier(3, max_iter=2, random_state=0),
    AtlasClassifier(random_state=0),
]

# Presses Ctrl-C at random moments of some work; prints what was not as it should be.
INTERRUPTED = """
import os, random, signal, sys, threading, time, warnings
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from locallin import *
warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
X, y = X[:500] / 16, y[:500]
make = lambda: %s
times = []
for _ in range(2):
    began = time.perf_counter()
    work = lambda model: %s
    work(make())
    times.append(time.perf_counter() - began)
rng = random.Random(0)
pressed = 0
for _ in range(%d):
    model, threads = make(), threading.active_count()
    wait, over = rng.random() * times[-1], threading.Event()
    def press():
        if not over.wait(wait):
            os.kill(os.getpid(), signal.SIGINT)
    presser = threading.Thread(target=press)
    try:
        presser.start()
        work(model)
        over.set()
        presser.join()
    except KeyboardInterrupt:
        pressed += 1
    over.set()
    presser.join()
    try:
        scores = model.decision_function(X[:9])
        assert np.isfinite(scores).all()
    except NotFittedError:
        assert not hasattr(model, "classes_")
    deadline = time.monotonic() + 20
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == threads
assert pressed > 0
print("good")
"""


def press_ctrl_c(make: str, work: str, times: int) -> None:
    script = INTERRUPTED % (make, work, times)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.strip() == "good", done.stderr


FIT = "model.fit(X, y)"
STREAM = "model.fit_stream((X, y), epochs=2, buffer_size=200, sample_size=200)"
INTERRUPTED_WORK = [
    ("LLSVMClassifier(10, max_iter=20, tol=None, random_state=0, n_jobs=2)", FIT),
    ("LLSVMClassifierCV(3, cv=2, n_anchors=5, random_state=0, n_jobs=2)", FIT),
    ("SAPLClassifier(20, max_iter=4, random_state=0)", FIT),
    ("DULLSVMClassifier(20, max_iter=4, random_state=0)", FIT),
    ("ML3Classifier(5, max_iter=5, random_state=0, n_jobs=2)", FIT),
    ("AtlasClassifier(random_state=0, n_jobs=2)", FIT),
    ("AtlasClassifier(kernel='linear', random_state=0, n_jobs=2)", FIT),
    ("SAPLClassifier(20, solver='sgd', random_state=0)", STREAM),
    ("DULLSVMClassifier(20, random_state=0)", STREAM),
    ("ML3Classifier(5, random_state=0)", STREAM),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "work"), INTERRUPTED_WORK)
def test_ctrl_c_leaves_a_model_or_none(make, work):
    press_ctrl_c(make, work, 12)


def test_kernels_hand_no_arrays_to_python(moons):
    """Ctrl-C while Numba makes an array of a result is a SystemError.

    Kernels fill arrays that they are given, and return numbers.
    """
    X, y = moons
    for model in deepcopy(CLASSIFIERS):
        model.fit(X, y).predict(X)
    compiled = 0
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("locallin."):
            continue
        for kernel in vars(module).values():
            # What has no entry for Python is called by other kernels alone.
            if not isinstance(kernel, Dispatcher) or kernel.targetoptions.get(
                "no_cpython_wrapper"
            ):
                continue
            for signature in kernel.nopython_signatures:
                compiled += 1
                assert not returns_array(signature.return_type), kernel
    assert compiled > 10


def returns_array(kind) -> bool:
    parts = getattr(kind, "types", [kind])
    return any(isinstance(part, types.Array) for part in parts)


def fit_in_child(seed: int) -> float:
    X, y = np.random.RandomState(0).normal(size=(200, 4)), np.arange(200) % 2
    return AtlasClassifier(n_jobs=2, random_state=seed).fit(X, y).score(X, y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:Loky-backed", "ignore:.*fork:DeprecationWarning")
def test_forked_processes_fit():
    expected = [fit_in_child(seed) for seed in range(2)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(fit_in_child, range(2)).get(timeout=120) == expected


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_lack_of_memory_leaves_the_estimator_as_it_was(model, moons, monkeypatch):
    X, y = moons
    model = deepcopy(model).fit(X, y)
    expected = model.decision_function(X)

    def unfinished(given, *more):
        model.classes_ = np.array(["none"])
        raise MemoryError

    monkeypatch.setattr(model, "_fit", unfinished, raising=True)
    with pytest.raises(MemoryError):
        model.fit(X, y)
    monkeypatch.undo()
    assert_array_equal(model.decision_function(X), expected)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_many_fits_leave_nothing_behind(moons):
    X, y = moons

    def fit_all():
        for model in deepcopy(CLASSIFIERS):
            model.set_params(n_jobs=2).fit(X, y).predict(X)

    def held():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        files = len(list(Path("/proc/self/fd").iterdir()))
        return (
            pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            files,
            threading.active_count(),
        )

    for _ in range(5):
        fit_all()
    memory, files, threads = held()
    for _ in range(35):
        fit_all()
    assert held()[1:] == (files, threads)
    assert held()[0] < memory + 20
