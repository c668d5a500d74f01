import logging
from operator import is_

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits, make_moons

# The same examples in every run: a red test is then a change in the code.
settings.register_profile("locallin", derandomize=True, deadline=None)
settings.load_profile("locallin")


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(items):
    """Leave most combinations of a test ``in_turn`` to the slow ones."""
    for item in items:
        if item.get_closest_marker("in_turn") and not has_its_turn(item):
            item.add_marker("slow")


def has_its_turn(item):
    """Whether it is one of the combinations that together have every value."""
    places = []
    for mark in item.iter_markers("parametrize"):
        names, values = mark.args
        names = names.split(",") if isinstance(names, str) else names
        given = [item.callspec.params[name] for name in names]
        sets = [set_of(value, len(names)) for value in values]
        here = [all(map(is_, given, each)) for each in sets]
        places.append((here.index(True), len(sets)))
    turns = range(max(size for _, size in places))
    return any(all(place == turn % size for place, size in places) for turn in turns)


def set_of(value, size):
    """The values of as many parameters."""
    if isinstance(value, type(pytest.param())):
        return value.values
    return value if size > 1 else (value,)


@pytest.fixture(autouse=True)
def logger_as_it_was():
    """What a test, or an example of the docs, does to the logger ends with it."""
    yield
    logger = logging.getLogger("locallin")
    logger.setLevel(logging.NOTSET)
    logger.handlers.clear()


@pytest.fixture(scope="session")
def moons():
    """Two classes that no line separates."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    return X, y


@pytest.fixture(scope="session")
def digits():
    """Real images, ten classes: (X_train, y_train, X_test, y_test)."""
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    return X[:1200], y[:1200], X[1200:], y[1200:]


@pytest.fixture
def blobs():
    """Five overlapping classes in six dimensions, with weights."""
    rng = np.random.RandomState(0)
    y = rng.randint(5, size=150)
    X = rng.normal(size=(150, 6)) + 1.2 * rng.normal(size=(5, 6))[y]
    return X, y, rng.uniform(0.2, 3, size=150)


@pytest.fixture(scope="module")
def cluster():
    """Two processes."""
    distributed = pytest.importorskip("distributed")
    from clusters import LOOPBACK

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", **LOOPBACK
    ) as found:
        yield found


@pytest.fixture
def client(cluster):
    """A client of the two processes."""
    with cluster.get_client() as found:
        found.wait_for_workers(2, timeout=30)
        yield found


@pytest.fixture
def threads():
    """One process, four threads."""
    distributed = pytest.importorskip("distributed")
    from clusters import LOOPBACK

    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=4, **LOOPBACK
    ) as found:
        yield found


@pytest.fixture(scope="module")
def rows():
    """Real images of ten classes, in blocks of 40 and one of 30: (X, y)."""
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(X))[:350]
    return X[order] / 16, y[order]
