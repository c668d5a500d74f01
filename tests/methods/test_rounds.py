"""Training in rounds: the same from any engine, as good as a fit of one machine."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    DULLSVMRegressor,
    LLSVMClassifier,
    LLSVMRegressor,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.base import Rounds

MODELS = [
    LLSVMClassifier(8, solver="sgd", max_iter=10, random_state=0),
    SAPLClassifier(8, max_iter=10, random_state=0),
    DULLSVMClassifier(8, max_iter=10, random_state=0),
    ML3Classifier(4, max_iter=10, random_state=0),
]


def cut(X, y, n_parts):
    return [(X[i::n_parts], y[i::n_parts]) for i in range(n_parts)]


def trained(model, parts, sample, n_rows, mapped=map, **more):
    rounds = Rounds(model, *sample, n_rows=n_rows, n_parts=len(parts), **more)
    while not rounds.done:
        learn = pickle.loads(pickle.dumps(rounds)).learn
        turns = mapped(lambda i, f=learn: f(*parts[i], part=i), range(len(parts)))
        rounds.average(list(turns))
    return rounds.finish()


@pytest.mark.in_turn
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_parts", [1, 3])
def test_rounds_are_about_as_good_as_a_fit(model, n_parts, moons):
    X, y = moons
    found = trained(model, cut(X, y, n_parts), (X[:100], y[:100]), len(y))
    assert found.score(X, y) > 0.9
    assert found.n_iter_ == 10
    assert pickle.loads(pickle.dumps(found)).score(X, y) == found.score(X, y)


def test_numbers():
    X = np.random.RandomState(0).uniform(-3, 3, size=(300, 1))
    y = np.column_stack([100 + 5 * np.sin(2 * X[:, 0]), X[:, 0]])
    model = DULLSVMRegressor(10, max_iter=30, random_state=0)
    found = trained(model, cut(X, y, 3), (X[:100], y[:100]), len(y))
    assert found.score(X, y) > 0.9
    with pytest.raises(TypeError, match="LLSVMRegressor cannot learn"):
        Rounds(LLSVMRegressor(), X, y, n_rows=300)


def test_threads_give_the_same_bits(moons):
    X, y = moons
    parts, model = cut(X, y, 4), MODELS[2]
    sample = X[:80], y[:80]
    with ThreadPoolExecutor(2) as pool:
        several = trained(model, parts, sample, len(y), pool.map)
    alone = trained(model, parts, sample, len(y))
    assert_array_equal(several.coef_, alone.coef_)
    assert_array_equal(several.anchors_, alone.anchors_)


def test_learning_changes_nothing_here(moons):
    X, y = moons
    rounds = Rounds(MODELS[1], X, y, n_rows=len(y), n_parts=2)
    before = pickle.dumps(rounds)
    first = rounds.learn(X, y, part=0)
    assert pickle.dumps(rounds) == before
    again = rounds.learn(X, y, part=0)
    for name, array in first.state.items():
        assert_array_equal(array, again.state[name])


def test_empty_parts_missing_classes_weights_and_sparse_rows(moons):
    X, y = moons
    S = sparse.csr_matrix(X)
    rounds = Rounds(MODELS[2], S[:90], y[:90], n_rows=300, n_parts=3, classes=[0, 1])
    while not rounds.done:
        turns = [
            rounds.learn(S[y == 0], y[y == 0], np.ones((y == 0).sum()), part=0),
            rounds.learn(S[:0], y[:0], part=1),
            rounds.learn(S[y == 1], y[y == 1], np.ones((y == 1).sum()), part=2),
        ]
        assert turns[1] is None
        rounds.average(turns)
    assert rounds.finish().score(S, y) > 0.8


def test_what_cannot_be_done_says_so(moons):
    X, y = moons
    with pytest.raises(TypeError, match="AtlasClassifier cannot learn from"):
        Rounds(AtlasClassifier(), X, y, n_rows=300)
    with pytest.raises(ValueError, match="needs all rows at once: use solver='sgd'"):
        Rounds(LLSVMClassifier(4), X, y, n_rows=300)
    with pytest.raises(ValueError, match="n_parts=0 must be a whole number"):
        Rounds(MODELS[0], X, y, n_rows=300, n_parts=0)
    rounds = Rounds(MODELS[0], X, y, n_rows=300)
    with pytest.raises(ValueError, match="nothing to average"):
        rounds.average([None])
