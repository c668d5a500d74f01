"""Ctrl-C at any moment, fork, lack of memory, and many fits in one process."""

import multiprocessing
import os
import subprocess
import sys
import threading
from copy import deepcopy
from pathlib import Path

import interruptions
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


@pytest.mark.slow
@pytest.mark.parametrize("case", [*interruptions.ESTIMATORS, *interruptions.COMMANDS])
def test_ctrl_c_leaves_a_model_or_none(case):
    command = [sys.executable, interruptions.__file__, "--case", case]
    done = subprocess.run(
        [*command, "--presses", "12"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


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


@pytest.mark.slow
def test_spawned_processes_fit():
    expected = [fit_in_child(seed) for seed in range(2)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map_async(fit_in_child, range(2)).get(timeout=600) == expected


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
