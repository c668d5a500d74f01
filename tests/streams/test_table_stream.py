"""Streams of raw tables: settings from a sample, then all rows."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import TargetEncoder

from locallin import LocallyLinearClassifier, LocallyLinearRegressor, TableEncoder
from locallin.data import DataError, batches
from locallin.methods.table_streams import (
    TableLearner,
    cross_fitted_columns,
    with_cross_fitted,
)
from locallin.streams.checkpoint import Checkpoints
from locallin.streams.state import LearningState


def table(n_rows=600, seed=0):
    """A frame with numbers, text and gaps, classes, and numbers."""
    rng = np.random.RandomState(1000 + seed)  # others than the sample draws
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, size=n_rows),
            "income": rng.lognormal(3, 1, size=n_rows),
            "home": rng.choice(["own", "rent", "parents"], size=n_rows),
            "town": rng.choice([f"town {i}" for i in range(60)], size=n_rows),
        }
    )
    frame.loc[rng.uniform(size=n_rows) < 0.2, "income"] = np.nan
    late = (frame["age"] < 40) ^ (frame["home"] == "rent")
    cost = frame["age"] * np.where(frame["home"] == "rent", 2.0, -1.0)
    return frame, np.where(late, "late", "paid"), cost.to_numpy()


FRAME, LATE, COST = table()
EFFORTS = [0, pytest.param(1, id="searched")]
SMALL = {"buffer_size": 150, "sample_size": 300, "epochs": 15}


def models(**settings):
    given = {"effort": 0, "random_state": 0} | settings
    return [
        (LocallyLinearClassifier(**given), LATE),
        (LocallyLinearRegressor(**given), COST),
    ]


def quality(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.score(X, y)


@pytest.mark.parametrize(("model", "y"), models())
def test_learns_from_frames_in_blocks(model, y):
    model.fit_stream((FRAME, y), **SMALL)
    assert quality(model, FRAME, y) > 0.85
    assert list(model.feature_names_in_) == list(FRAME.columns)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    assert "_cross_fitted" not in vars(model)


@pytest.mark.parametrize(("model", "y"), models())
def test_the_cut_into_blocks_makes_no_difference(model, y):
    def blocks(size):
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            yield FRAME[part], y[part]

    first = clone(model).fit_stream(lambda: blocks(70), **SMALL)
    second = clone(model).fit_stream(lambda: blocks(200), **SMALL)
    assert_array_equal(first.predict(FRAME), second.predict(FRAME))
    coef = [m.model_.members_[0].coef_ for m in (first, second)]
    assert_array_equal(*coef)


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, lambda X: X])
def test_tables_of_all_libraries(make):
    model = LocallyLinearClassifier(0, random_state=0)
    expected = clone(model).fit_stream((FRAME, LATE), **SMALL).predict(FRAME)
    found = model.fit_stream((make(FRAME), LATE), **SMALL).predict(make(FRAME))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    labelled = FRAME.assign(late=LATE)
    if kind == "csv":
        labelled.to_csv(path, index=False)
    else:
        labelled.to_parquet(path)
    model = LocallyLinearClassifier(0, random_state=0)
    model.fit_stream(batches(path, label="late", table=True), **SMALL)
    expected = clone(model).fit_stream((FRAME, LATE), **SMALL)
    assert_allclose(
        model.decision_function(FRAME), expected.decision_function(FRAME), rtol=1e-3
    )
    assert model.fit_stream(path, **SMALL).score(FRAME, LATE) > 0.85


def test_sparse_rows_and_numbers_need_no_encoder():
    X = np.random.RandomState(0).normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] > 0
    for rows in (sparse.csr_matrix(X), X, X.astype(np.float32)):
        model = LocallyLinearClassifier(0, random_state=0)
        model.fit_stream((rows, y), **SMALL)
        assert model.score(rows, y) > 0.85
        model.partial_fit(rows[:100], y[:100])


class Killed(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize(("model", "y"), models(n_members=2))
def test_a_killed_run_ends_with_the_same_bits(tmp_path, monkeypatch, model, y):
    settings = SMALL | {"epochs": 3, "checkpoint_every": 1}
    expected = clone(model).fit_stream((FRAME, y), **settings)
    saves, save = [], Checkpoints.save

    def save_or_die(self, content):
        save(self, content)
        saves.append(content["position"])
        if len(saves) == 6:
            raise Killed

    monkeypatch.setattr(Checkpoints, "save", save_or_die)
    with pytest.raises(Killed):
        clone(model).fit_stream((FRAME, y), checkpoint=tmp_path, **settings)
    monkeypatch.setattr(
        "locallin.methods.table_streams.begin_choice",
        lambda *given: pytest.fail("what was chosen is in the checkpoint"),
    )
    found = clone(model).fit_stream((FRAME, y), checkpoint=tmp_path, **settings)
    assert_array_equal(found.predict(FRAME), expected.predict(FRAME))
    for one, other in zip(found.model_.members_, expected.model_.members_, strict=True):
        assert_array_equal(one.coef_, other.coef_)
        assert_array_equal(one.anchors_, other.anchors_)


def test_a_checkpoint_of_other_rows_is_refused(tmp_path):
    model = LocallyLinearClassifier(0, random_state=0)
    model.fit_stream((FRAME, LATE), checkpoint=tmp_path, **SMALL)
    with pytest.raises(ValueError, match="differs in the first row"):
        clone(model).fit_stream((FRAME[1:], LATE[1:]), checkpoint=tmp_path, **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "y"), models(effort=1, n_members=1))
def test_the_sample_chooses_and_calibrates(model, y):
    model.fit_stream((FRAME, y), **SMALL)
    assert model.search_path_
    if y is LATE:
        proba = model.predict_proba(FRAME)
        assert proba.shape == (600, 2)
        assert model.predict_set(FRAME, 0.9).any(axis=1).all()
        assert model.conformity_counts_[0] == 60
    else:
        low, high = model.predict_interval(FRAME, 0.8).T
        assert 0.7 < ((low <= y) & (y <= high)).mean() <= 1
        assert len(model.residuals_) == 60


@pytest.mark.slow
@pytest.mark.parametrize(("model", "y"), models(effort=1, n_members=1))
def test_held_out_rows_of_the_first_block_judge_every_model(model, y):
    told = {"classes": np.unique(y)} if y is LATE else {}
    model.partial_fit(FRAME[:300], y[:300], **told)
    name = "conformity_" if y is LATE else "residuals_"
    first = getattr(model, name).copy()
    for start in range(0, 300, 100):
        rows = slice(300 + start, 400 + start)
        model.partial_fit(FRAME[rows], y[rows])
    model = pickle.loads(pickle.dumps(model))
    assert len(model._held_out["y"]) == 60
    assert getattr(model, name).shape == first.shape
    assert (getattr(model, name) != first).any()
    model.fit(FRAME, y)
    assert "_held_out" not in vars(model)


@pytest.mark.parametrize(("model", "y"), models())
def test_blocks_one_after_the_other(model, y):
    told = {"classes": np.unique(y)} if y is LATE else {}
    model.partial_fit(FRAME[:300], y[:300], **told)
    first = pickle.loads(pickle.dumps(model))
    before = first.predict(FRAME)
    encoder = model.encoder_
    for _ in range(20):
        model.partial_fit(FRAME, y)
    assert model.encoder_ is encoder
    assert quality(model, FRAME, y) > 0.85
    assert quality(model, FRAME, y) > quality(first, FRAME, y)
    assert_array_equal(first.predict(FRAME), before)


def test_a_block_that_fails_changes_nothing():
    model = LocallyLinearClassifier(0, random_state=0)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(FRAME, LATE)
    model.partial_fit(FRAME, LATE, classes=["late", "paid"])
    before = model.decision_function(FRAME)
    with pytest.raises(ValueError, match="not among the known"):
        model.partial_fit(FRAME[:2], ["late", "never"])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(FRAME.rename(columns={"age": "years"}), LATE)
    assert_array_equal(model.decision_function(FRAME), before)


def test_a_class_and_a_level_that_the_sample_has_not():
    frame, y = FRAME.copy(), LATE.astype("U8")
    frame.loc[400:, "home"] = "boat"
    y[590:] = "unknown"
    model = LocallyLinearClassifier(0, random_state=0)
    blocks = iter([(frame[:400], y[:400]), (frame[400:], y[400:])])
    with pytest.raises(ValueError, match="classes and n_rows must be given"):
        model.fit_stream(iter([(frame, y)]))
    model.fit_stream(
        blocks, classes=np.unique(y), n_rows=600, sample_size=300, buffer_size=100
    )
    assert model.classes_.tolist() == ["late", "paid", "unknown"]
    assert "boat" not in model.encoder_.levels_
    assert model.predict_proba(frame[-5:]).shape == (5, 3)


def test_weights_of_classes_in_streams():
    rare = (LATE == "late") & (np.arange(600) % 8 == 0)
    plain, weighted = (
        LocallyLinearClassifier(0, class_weight=w, random_state=0).fit_stream(
            (FRAME, rare), **SMALL
        )
        for w in (None, "balanced")
    )
    assert weighted.predict(FRAME).sum() > plain.predict(FRAME).sum()
    assert weighted.class_weight_[1] > 4
    given = LocallyLinearClassifier(0, class_weight={True: 8.0}, random_state=0)
    given.partial_fit(FRAME, rare, classes=[False, True]).partial_fit(FRAME, rare)
    assert given.class_weight_.tolist() == [1.0, 8.0]


class TestMeansOfTheTarget:
    """Rows of the sample have means of the target from other rows."""

    def test_are_put_into_their_places(self):
        rng = np.random.RandomState(0)
        plain = rng.normal(size=(4, 3)).astype(np.float32)
        encoded = plain.copy()
        encoded[:, 1] += 1
        kept = cross_fitted_columns(np.array([2, 3, 7, 9]), plain, encoded)
        rows = np.zeros((5, 3), np.float32)
        expected = rows.copy()
        expected[[0, 4], 1] = encoded[[1, 2], 1]
        for X in (rows, sparse.csr_matrix(rows)):
            found = with_cross_fitted(X, kept, 3)
            found = found.toarray() if sparse.issparse(found) else found
            assert_allclose(found, expected, atol=1e-6)
        assert with_cross_fitted(rows, kept, 10) is rows

    def test_columns_that_do_not_differ_are_not_kept(self):
        X = np.ones((3, 2))
        assert cross_fitted_columns(np.arange(3), X, X) == {}
        assert cross_fitted_columns(np.arange(3), *[sparse.csr_matrix(X)] * 2) == {}

    def test_noise_is_not_learned(self):
        """Means of levels of few rows would tell the class of these rows."""
        rng = np.random.RandomState(0)
        frame = pd.DataFrame({"id": rng.randint(0, 300, size=600).astype(str)})
        y = rng.randint(0, 2, size=600)
        model = LocallyLinearClassifier(0, random_state=0)
        model.fit_stream((frame, y), **SMALL | {"sample_size": 600})
        assert model.encoder_.has_means_.any()
        assert abs(model.model_.local_coef(model.encoder_.transform(frame))).max() < 1.5
        fitted = clone(model).fit(frame, y)
        assert abs(model.score(frame, y) - fitted.score(frame, y)) < 0.15

    def test_other_encoders(self):
        X = np.random.RandomState(0).randint(0, 9, size=(400, 2))
        y = X.sum(axis=1) > 8
        encoder = TargetEncoder()
        model = LocallyLinearClassifier(0, encoder=encoder, random_state=0)
        assert model.fit_stream((X, y), **SMALL).score(X, y) > 0.9


def test_the_learning_state_is_one_object():
    model = LocallyLinearClassifier(0, n_members=2, random_state=0).fit(FRAME, LATE)
    learner = TableLearner(model)
    state = learner.state
    assert isinstance(state, LearningState)
    assert {"0.coef", "1.coef", "1.anchors"} <= set(state)
    before = model.decision_function(FRAME)
    learner.state = state.replaced(**{"1.coef": 0 * state["1.coef"]})
    assert (model.decision_function(FRAME) != before).any()
    learner.state = state
    assert_array_equal(model.decision_function(FRAME), before)


def test_interrupted_streams_leave_a_model(monkeypatch):
    model = LocallyLinearClassifier(0, n_members=2, random_state=0)
    learn, calls = TableLearner.learn, []

    def interrupted(self, block, rng, **more):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn(self, block, rng, **more)

    monkeypatch.setattr(TableLearner, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream((FRAME, LATE), **SMALL)
    assert model.predict(FRAME).shape == (600,)
    pickle.loads(pickle.dumps(model))


def test_what_is_wrong_is_told():
    model = LocallyLinearClassifier(0, random_state=0)
    with pytest.raises(ValueError, match="epochs=0 must be a whole number"):
        model.fit_stream((FRAME, LATE), epochs=0)
    with pytest.raises(ValueError, match="has no labels"):
        model.fit_stream((FRAME,))
    with pytest.raises(DataError, match="no rows"):
        model.fit_stream(list)
    with pytest.raises(ValueError, match="effort"):
        LocallyLinearClassifier(7).fit_stream((FRAME, LATE))
    assert not hasattr(model, "model_")


def test_a_table_encoder_of_ones_own():
    encoder = TableEncoder(numbers="standard", ignore=["town"])
    model = LocallyLinearRegressor(0, encoder=encoder, random_state=0)
    assert model.fit_stream((FRAME, COST), **SMALL).score(FRAME, COST) > 0.85
