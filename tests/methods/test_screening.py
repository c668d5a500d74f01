"""Threads of the search, and columns that it leaves out."""

import warnings
from threading import Event

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning

from locallin import (
    DULLSVMClassifier,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
)
from locallin.inspection import explain
from locallin.methods import last_fit
from locallin.methods.parts import held_out_splits
from locallin.methods.screening import ranked_columns
from locallin.methods.settings import TrainingRows
from locallin.methods.tasks import ClassTask

pandas = pytest.importorskip("pandas")


def _untimed(path: list[dict]) -> list[dict]:
    return [{k: v for k, v in trial.items() if k != "seconds"} for trial in path]


@pytest.mark.parametrize("kind", [LocallyLinearClassifier, LocallyLinearRegressor])
def test_threads_change_nothing_but_the_time(kind, monkeypatch):
    monkeypatch.setattr(last_fit, "_MANY_NUMBERS", 0)
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(90, 5))
    y = X[:, 0] * X[:, 1]
    y = y > 0 if kind is LocallyLinearClassifier else y
    one, two = (kind(random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert _untimed(one.search_path_) == _untimed(two.search_path_)
    assert_array_equal(one.predict(X), two.predict(X))
    assert two.model_.members_[0].n_jobs == 2


def test_threads_know_when_to_end(monkeypatch):
    monkeypatch.setattr(last_fit, "_MANY_NUMBERS", 0)
    X, y = make_moons(400, noise=0.3, random_state=0)
    model = LocallyLinearClassifier(n_members=4, time_limit=1e-3, n_jobs=2)
    model.fit(X, y)
    assert len(model.search_path_) == 1
    assert model.chosen_["passes"] < 8 or len(model.model_.members_) <= 2


def test_threads_leave_the_filters_of_warnings_as_they_were():
    first_in, second_in, first_out = Event(), Event(), Event()

    def silence(before: Event | None, now: Event, after: Event, end: Event) -> bool:
        came = before is None or before.wait(5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            now.set()
            came &= after.wait(5)
        end.set()
        return came

    tasks = [(None, first_in, second_in, first_out)]
    tasks.append((first_in, second_in, first_out, Event()))
    before = list(warnings.filters)
    assert all(last_fit.side_by_side(silence, tasks, 2))
    assert warnings.filters == before


def test_a_fit_ends_where_one_beside_it_is_interrupted():
    X, y = make_moons(40, noise=0.3, random_state=0)
    others = [DULLSVMClassifier(4, max_iter=20_000, random_state=0) for _ in range(2)]
    begun = Event()

    def fit(model: DULLSVMClassifier | None) -> None:
        if model is None:
            assert begun.wait(5)
            raise KeyboardInterrupt
        begun.set()
        model.fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        last_fit.side_by_side(fit, [(None,), *((model,) for model in others)], 2)
    assert others[0].n_iter_ < 20_000
    assert not hasattr(others[1], "n_iter_")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(rng.uniform(-1, 1, size=(400, 12)))
    frame.columns = [f"x{j}" for j in range(12)]
    frame["x9"] = rng.choice(list("abc"), size=400)
    y = np.where((frame["x3"] > 0) ^ (frame["x7"] > 0), "in", "out")
    return LocallyLinearClassifier(random_state=0).fit(frame, y), frame, y


class TestColumnsThatTellNothing:
    def test_are_left_out(self, fitted):
        model, frame, y = fitted
        assert model.chosen_["n_columns"] == 2
        kept = [n for n, k in zip(frame, model.encoder_.kinds_, strict=True)
                if k != "ignored"]  # fmt: skip
        assert kept == ["x3", "x7"]
        assert model.score(frame, y) > 0.95

    def test_are_not_explained(self, fitted):
        model, frame, _ = fitted
        told = explain(model, frame[:20])
        assert list(told.feature_names) == ["x3", "x7"]
        sums = told.contributions.sum(axis=2) + told.bias
        assert_allclose(sums[:, 0], model.decision_function(frame[:20]), atol=1e-4)

    def test_may_hold_what_they_like(self, fitted):
        model, frame, _ = fitted
        other = frame.assign(x0=np.nan, x9="never seen")
        assert_array_equal(model.predict(other), model.predict(frame))


def test_columns_are_kept_where_all_tell():
    X, y = make_classification(
        400, 6, n_informative=6, n_redundant=0, class_sep=1.5, random_state=0
    )
    model = LocallyLinearClassifier(random_state=0).fit(X, y)
    assert model.chosen_["n_columns"] is None


def test_columns_of_numbers_are_told_apart():
    X, y = make_friedman1(300, 20, random_state=0)
    rows = LocallyLinearRegressor(random_state=0)._training_rows(X, y[:, None], None)
    ranking = ranked_columns(rows, None)
    assert set(ranking.columns[:5]) == set(range(5))
    assert ranking.left_out(5) == list(range(5, 20))


def test_categories_of_many_levels_are_kept():
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame({f"x{j}": rng.normal(size=600) for j in range(5)})
    frame["card"] = rng.randint(200, size=600).astype(str)
    rows = LocallyLinearClassifier(random_state=0)._training_rows(
        frame, frame["x2"] > 0, None, False
    )
    assert ranked_columns(rows, None).columns[:2].tolist() == [5, 2]


def _rows(X, n_classes: int) -> TrainingRows:
    y = np.arange(len(X)) % n_classes
    return TrainingRows(X, y, ClassTask(np.arange(n_classes)), np.ones(len(X)), 0)


@pytest.mark.parametrize(("n_rows", "n_classes"), [(9003, 10), (9000, 3000)])
def test_more_classes_than_rows_of_a_part(n_rows, n_classes):
    drawn, splits = held_out_splits(_rows(np.zeros((n_rows, 1)), n_classes), 9000)
    ((seen, held),) = splits
    assert len(drawn) == len(seen) + len(held) == 9000
    assert len(held) == 2250
    assert not set(seen) & set(held)


def test_more_classes_than_rows_that_are_not_looked_at():
    rows = _rows(np.random.RandomState(0).normal(size=(4003, 2)), 10)
    assert sorted(ranked_columns(rows, None).columns) == [0, 1]


def test_classes_have_their_share_of_what_is_drawn():
    rows = _rows(np.zeros((1000, 1)), 4)
    drawn, others = rows.draw(np.arange(100, 900), 200, 0)
    assert np.bincount(rows.y[drawn]).tolist() == [50] * 4
    assert np.array_equal(np.union1d(drawn, others), np.arange(100, 900))
    assert (np.diff(drawn) > 0).all()


def test_columns_that_do_not_vary_in_the_sample_are_kept():
    X = np.zeros((9000, 3))
    X[:2] = 1.0
    ranking = ranked_columns(_rows(X, 2), None)
    assert ranking.n_columns == 3
    assert ranking.left_out(1) == []
