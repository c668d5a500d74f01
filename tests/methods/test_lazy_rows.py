"""LocallyLinear*: rows that are encoded batch by batch give the same models."""

import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from locallin import LocallyLinearClassifier, LocallyLinearRegressor
from locallin.engine.lazy_rows import LazyRows
from locallin.engine.progress import ending_by
from locallin.methods import settings
from locallin.methods.last_fit import begin_choice, mean_of, new_members
from locallin.methods.settings import Choice, TrainingRows
from locallin.methods.tasks import ClassTask, NumberTask

N_ROWS = 1200
RNG = np.random.RandomState(11)
NUMBERS = RNG.normal(size=(N_ROWS, 9))
Y = NUMBERS[:, 0] * NUMBERS[:, 1] + NUMBERS[:, 2]
CLASSES = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = RNG.choice([0.0, 1.0, 2.5], size=N_ROWS)
NUMBERS[RNG.uniform(size=NUMBERS.shape) < 0.05] = np.nan
MIXED = pd.DataFrame(NUMBERS, columns=[f"x{j}" for j in range(9)]).assign(
    town=RNG.choice([f"town {i}" for i in range(60)], size=N_ROWS),
    day=pd.Timestamp("2024-01-01")
    + pd.to_timedelta(RNG.randint(700, size=N_ROWS), "D"),
)
WORDS = pd.DataFrame(
    {f"word {j}": RNG.choice(list("abcdefghijklmn"), size=N_ROWS) for j in range(6)}
)
LINEAR = Choice("multinomial", n_bins=16, n_anchors=8, passes=3)
CHOICES = {
    "projected": LINEAR,
    "not projected": replace(LINEAR, n_bins=0),
    "no metric": replace(LINEAR, metric=None),
    "one local model": replace(LINEAR, n_anchors=1),
    "few columns": replace(LINEAR, n_columns=4),
}


def rows_of(X, y, weights=None) -> TrainingRows:
    weights = np.ones(N_ROWS) if weights is None else weights
    if y.dtype.kind == "i":
        return TrainingRows(X, y, ClassTask(np.unique(y)), weights, seed=0)
    return TrainingRows(X, y[:, None], NumberTask(y[:, None]), weights, seed=0)


def fitted(rows: TrainingRows, choice: Choice, *, lazily: bool, end: float = np.inf):
    """Two members that are fitted to all rows, and what they were fitted to."""
    begun = begin_choice(rows, choice, None, 1, lazily=lazily)
    members = new_members(rows, begun, 2)
    with ending_by(end):
        for member in members:
            member.fit(begun.X, rows.task.told(rows.y), rows.weights)
    return mean_of(rows, begun, members, 2), begun.X


def assert_same(one, other):
    assert one.n_features_in_ == other.n_features_in_
    for first, second in zip(one.members_, other.members_, strict=True):
        assert first.alpha_ == second.alpha_
        assert first.n_iter_ == second.n_iter_
        for name in ("coef_", "intercept_", "anchors_"):
            assert_array_equal(getattr(first, name), getattr(second, name), name)
        for name in ("metric_", "bandwidth_"):
            found = [getattr(member.coding_, name) for member in (first, second)]
            assert_array_equal(*found, name)


@pytest.fixture
def all_lazily(monkeypatch):
    monkeypatch.setattr(settings, "_MOST_BYTES", 0)


@pytest.mark.usefixtures("all_lazily")
class TestLastFit:
    def check(self, rows, choice, end=np.inf):
        lazily, X = fitted(rows, choice, lazily=True, end=end)
        at_once, matrix = fitted(rows, choice, lazily=False, end=end)
        assert isinstance(X, LazyRows)
        assert X.shape == matrix.shape
        assert sparse.issparse(X[:1]) == sparse.issparse(matrix)
        assert_same(lazily, at_once)
        return lazily, X, matrix

    @pytest.mark.parametrize("name", CHOICES)
    @pytest.mark.parametrize("weights", [None, WEIGHTS])
    def test_classes(self, name, weights):
        self.check(rows_of(MIXED, CLASSES, weights), CHOICES[name])

    @pytest.mark.parametrize("loss", ["squared", "huber"])
    @pytest.mark.parametrize("y", [Y, 1e9 + Y])  # in single, and in double precision
    def test_numbers(self, loss, y):
        self.check(rows_of(MIXED, y, WEIGHTS), replace(LINEAR, loss=loss))

    @pytest.mark.parametrize("name", CHOICES)
    def test_rows_with_many_zeros(self, name):
        choice = CHOICES[name]
        _, X, matrix = self.check(rows_of(WORDS, CLASSES, WEIGHTS), choice)
        assert sparse.issparse(matrix)
        assert X[:].nnz == matrix.nnz

    def test_plain_arrays(self):
        X = np.nan_to_num(NUMBERS).astype(np.float32)
        self.check(rows_of(X, CLASSES), LINEAR)

    def test_a_fit_that_ends_by_its_time(self):
        model, *_ = self.check(rows_of(MIXED, CLASSES), LINEAR, end=time.monotonic())
        assert [member.n_iter_ for member in model.members_] == [1, 1]

    def test_scores(self):
        model, X, matrix = self.check(rows_of(MIXED, CLASSES), LINEAR)
        assert_array_equal(model.decision_function(X), model.decision_function(matrix))


CASES = [
    (LocallyLinearClassifier(0, n_members=3, random_state=0), CLASSES),
    (LocallyLinearRegressor(0, n_members=3, random_state=0), Y),
]


@pytest.mark.parametrize(("model", "y"), CASES)
class TestEstimators:
    def both(self, monkeypatch, fit, most_bytes=0):
        at_once = fit()
        monkeypatch.setattr(settings, "_MOST_BYTES", most_bytes)
        lazily = fit()
        assert_same(lazily.model_, at_once.model_)
        return lazily, at_once

    def test_several_members_in_threads(self, model, y, monkeypatch):
        monkeypatch.setattr("locallin.methods.last_fit._MANY_NUMBERS", 0)
        in_threads = clone(model).set_params(n_jobs=2)
        self.both(monkeypatch, lambda: clone(in_threads).fit(MIXED, y, WEIGHTS))

    def test_warm_start(self, model, y, monkeypatch):
        def fit():
            first = clone(model).set_params(warm_start=True, n_members=1)
            return first.fit(MIXED, y).fit(MIXED, y)

        self.both(monkeypatch, fit)

    @pytest.mark.slow
    def test_search(self, model, y, monkeypatch):
        X, y = MIXED[:400], y[:400]
        searching = clone(model).set_params(effort=1, n_members="auto")
        models = self.both(monkeypatch, lambda: clone(searching).fit(X, y))
        for paths in zip(*(each.search_path_ for each in models), strict=True):
            one, other = ({**trial, "seconds": 0} for trial in paths)
            assert one == other

    def test_encoders_that_are_given_return_matrices(self, model, y, monkeypatch):
        encoder = settings.TableEncoder(n_bins=4, random_state=0)
        given = clone(model).set_params(encoder=encoder, n_members=1)
        self.both(monkeypatch, lambda: clone(given).fit(MIXED, y))


def test_large_encoded_matrices_are_not_held():
    X = RNG.normal(size=(40_000, 10)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    task, weights = ClassTask(np.arange(2)), np.ones(len(y), np.float32)
    rows = TrainingRows(X, y, task, weights, seed=0)
    choice = replace(LINEAR, n_bins=64, passes=1)
    tracemalloc.start()
    try:
        _, encoded = fitted(rows, choice, lazily=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Of 10,000 rows the first metric is made, by copies of them.
    assert peak < 0.8 * encoded.size * encoded.dtype.itemsize


@pytest.mark.parametrize(("model", "y"), CASES)
def test_many_rows_are_predicted_in_blocks(model, y, monkeypatch):
    model = clone(model).set_params(n_members=1).fit(MIXED, y)
    methods = [name for name in ("predict", "predict_proba") if hasattr(model, name)]
    at_once = [getattr(model, name)(MIXED) for name in methods]
    monkeypatch.setattr(settings, "_MOST_BYTES", 0)
    monkeypatch.setattr("locallin.methods.tables._ENCODED_TOGETHER", 500)
    for name, before in zip(methods, at_once, strict=True):
        assert_array_equal(getattr(model, name)(MIXED), before)


def test_predictions_do_not_hold_the_encoded_matrix():
    X = RNG.normal(size=(3000, 10))
    model = LocallyLinearClassifier(0, n_members=1, random_state=0)
    model.fit(X, X[:, 0] * X[:, 1] > 0)
    many = RNG.normal(size=(150_000, 10)).astype(np.float32)
    encoded = many.shape[0] * len(model.encoder_.get_feature_names_out()) * 4
    tracemalloc.start()
    try:
        model.predict_proba(many)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * encoded
