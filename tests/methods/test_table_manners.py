"""LocallyLinear*: going on from a fit, and telling of the search."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from locallin import LocallyLinearClassifier, LocallyLinearRegressor

callback = pytest.importorskip("sklearn.callback")

RNG = np.random.RandomState(7)
X = pd.DataFrame(
    {
        "x": RNG.normal(size=200),
        "z": RNG.normal(size=200),
        "town": RNG.choice([f"town {i}" for i in range(40)], size=200),
    }
)
LABELS = np.where(X["x"] * X["z"] > 0, "up", "down")
NUMBERS = (X["x"] * X["z"]).to_numpy()
CASES = [
    (LocallyLinearClassifier(0, random_state=0), LABELS),
    (LocallyLinearRegressor(0, random_state=0), NUMBERS),
]


@pytest.mark.parametrize(("model", "y"), CASES)
class TestWarmStart:
    def test_keeps_what_was_chosen_and_goes_on(self, model, y):
        model = clone(model).set_params(warm_start=True, n_members=2).fit(X, y)
        encoder, first = model.encoder_, model.model_
        coef = [member.coef_.copy() for member in first.members_]
        settings = model.chosen_
        model.fit(X, y)
        assert model.encoder_ is encoder
        assert model.chosen_ is settings
        for before, old, new in zip(
            coef, first.members_, model.model_.members_, strict=True
        ):
            assert_array_equal(old.coef_, before)
            assert (new.coef_ != before).any()
            assert not new.warm_start
        assert model.score(X, y) > 0.6

    def test_the_same_rows_have_means_from_other_rows(self, model, y):
        model = clone(model).set_params(warm_start=True).fit(X, y)
        assert model.encoder_.has_means_.any()
        assert_array_equal(
            model._encoded_again(model._training_rows(X, *self.given(model, y))),
            clone(model.encoder_).fit_transform(X, y),
        )
        half = model._training_rows(X[:100], *self.given(model, y[:100]))
        assert_array_equal(
            model._encoded_again(half), model.encoder_.transform(X[:100])
        )

    def given(self, model, y):
        if isinstance(model, LocallyLinearClassifier):
            return y, None, True
        return y[:, None], None

    def test_without_it_a_fit_begins_anew(self, model, y):
        model = clone(model).fit(X, y)
        before = model.predict(X)
        assert_array_equal(model.fit(X, y).predict(X), before)


def test_classes_of_a_fit_that_goes_on_are_known():
    model = LocallyLinearClassifier(0, warm_start=True, random_state=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="not among the known ones"):
        model.fit(X, np.where(NUMBERS > 1, "far up", LABELS))
    assert model.classes_.tolist() == ["down", "up"]


class Listener:
    """Hears of every step, and may ask for an end."""

    def __init__(self, stop_after=None):
        self.steps, self._stop_after = [], stop_after

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_begin(self, estimator, *given, **more):
        pass

    def on_fit_task_begin(self, estimator, context, **more):
        pass

    def on_fit_task_end(self, estimator, context, **more):
        self.steps.append(context.task_name)
        return len(self.steps) == self._stop_after

    def on_fit_end(self, estimator, *given, **more):
        pass


def test_callbacks_hear_of_trials_and_members():
    model = LocallyLinearClassifier(1, n_members=2, time_limit=60, random_state=0)
    listener = Listener()
    model.set_callbacks(listener).fit(X[["x", "z"]], LABELS)
    assert listener.steps.count("trial") == len(model.search_path_) + 2


def test_a_callback_can_end_the_search():
    model = LocallyLinearClassifier(1, random_state=0)
    model.set_callbacks(Listener(stop_after=2)).fit(X[["x", "z"]], LABELS)
    assert len(model.search_path_) == 2
    assert len(model.model_.members_) == 1
    assert model.predict_proba(X[["x", "z"]]).shape == (200, 2)
