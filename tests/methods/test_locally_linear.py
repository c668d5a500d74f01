"""The classifier to reach for, and the mean of members it predicts with."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

from locallin import (
    DULLSVMClassifier,
    EnsembleClassifier,
    LLSVMClassifier,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
    SAPLClassifier,
)
from locallin.engine.invariants import InvalidModelError
from locallin.engine.progress import ending_by
from locallin.inspection import explain
from locallin.methods import last_fit
from locallin.methods.choosing import Choosing, Trial, standard_error
from locallin.methods.parts import Parts
from locallin.methods.settings import Choice, TrainingRows, new_member
from locallin.methods.tasks import ClassTask

pandas = pytest.importorskip("pandas")


def table(n=400, seed=0):
    """A frame with numbers, text and gaps, and who pays late."""
    rng = np.random.RandomState(seed)
    frame = pandas.DataFrame(
        {
            "age": rng.uniform(20, 70, size=n),
            "income": rng.lognormal(3, 1, size=n),
            "home": rng.choice(["own", "rent", "parents"], size=n),
        }
    )
    risk = (frame["age"] < 40) ^ (frame["home"] == "rent")
    frame.loc[rng.uniform(size=n) < 0.2, "income"] = np.nan
    frame.loc[rng.uniform(size=n) < 0.1, "home"] = None
    noise = rng.uniform(size=n) < 0.05
    return frame, np.where(risk ^ noise, "late", "in time")


@pytest.fixture(scope="module")
def fitted():
    frame, y = table()
    return LocallyLinearClassifier(random_state=0).fit(frame, y), frame, y


class TestEnsemble:
    def test_frames_have_local_weights(self, blobs):
        X, y, _ = blobs
        model = EnsembleClassifier(SAPLClassifier(3, max_iter=1), 2, random_state=0)
        frame = pandas.DataFrame(X).add_prefix("x")
        model.fit(frame, y)
        wanted = EnsembleClassifier(SAPLClassifier(3, max_iter=1), 2, random_state=0)
        wanted.fit(X, y)
        assert_array_equal(model.local_coef(frame), wanted.local_coef(X))
        assert_array_equal(model.local_intercept(frame), wanted.local_intercept(X))

    def test_scores_and_weights_are_means_of_the_members(self, blobs):
        X, y, _ = blobs
        model = EnsembleClassifier(SAPLClassifier(5, max_iter=3), 3, random_state=0)
        model.fit(X, y)
        scores = [member.decision_function(X) for member in model.members_]
        assert_allclose(model.decision_function(X), np.mean(scores, axis=0))
        assert not np.array_equal(scores[0], scores[1])
        sums = (model.local_coef(X) * X[:, None]).sum(axis=2)
        sums += model.local_intercept(X)
        assert_allclose(sums, model.decision_function(X), atol=1e-8)

    def test_one_member_is_that_member(self, blobs):
        X, y, _ = blobs
        model = EnsembleClassifier(LLSVMClassifier(4), 1, random_state=0).fit(X, y)
        assert_array_equal(
            model.decision_function(X), model.members_[0].decision_function(X)
        )

    def test_probabilities_follow_the_loss(self, blobs):
        X, y, _ = blobs
        first = SAPLClassifier(4, max_iter=3, loss="multinomial")
        model = EnsembleClassifier(first, 2, random_state=0).fit(X, y)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
        model = EnsembleClassifier(SAPLClassifier(4, max_iter=3), 2).fit(X, y)
        assert not hasattr(model, "predict_proba")

    def test_others_are_refused(self, blobs):
        X, y, _ = blobs
        with pytest.raises(TypeError, match="no classifier of locallin"):
            EnsembleClassifier(LogisticRegression()).fit(X, y)

    @pytest.mark.parametrize("what", ["none", "other", "features", "classes"])
    def test_members_that_do_not_fit_are_refused(self, what, blobs):
        X, y, _ = blobs
        first = SAPLClassifier(4, max_iter=2)
        model = EnsembleClassifier(first, 2, random_state=0).fit(X, y)
        model.members_ = {
            "none": [],
            "other": [LogisticRegression()],
            "features": [clone(first).fit(X[:, :3], y)],
            "classes": [clone(first).fit(X, y % 2)],
        }[what]
        with pytest.raises(InvalidModelError, match="members_"):
            pickle.loads(pickle.dumps(model))


class TestTables:
    def test_takes_the_frame_as_it_is(self, fitted):
        model, _, _ = fitted
        test, truth = table(seed=1)
        assert model.score(test, truth) > 0.85
        assert list(model.feature_names_in_) == ["age", "income", "home"]
        assert model.n_features_in_ == 3
        loss = log_loss(truth, model.predict_proba(test), labels=model.classes_)
        assert loss < 0.45

    def test_scores_are_the_log_odds(self, fitted):
        model, frame, _ = fitted
        odds = model.predict_proba(frame)
        assert_allclose(
            np.log(odds[:, 1] / odds[:, 0]), model.decision_function(frame), rtol=1e-4
        )
        assert_allclose(np.exp(model.predict_log_proba(frame)), odds, rtol=1e-6)

    def test_pipeline_of_the_steps_scores_the_same(self, fitted):
        model, frame, _ = fitted
        pipeline = model.to_pipeline()
        assert_array_equal(
            pipeline.decision_function(frame), model.decision_function(frame)
        )
        encoded = model.encoder_.transform(frame)
        encoded = encoded.toarray() if sparse.issparse(encoded) else encoded
        sums = (model.local_coef(frame) * encoded[:, None]).sum(axis=2)
        sums += model.local_intercept(frame)
        assert_allclose(sums[:, 0], model.decision_function(frame), atol=1e-4)

    def test_tells_what_was_tried(self, fitted):
        model, _, _ = fitted
        losses = [trial["log_loss"] for trial in model.search_path_]
        assert len(losses) >= 5
        chosen = [
            trial
            for trial in model.search_path_
            if all(trial[name] == value for name, value in model.chosen_.items())
        ]
        assert [trial["n_members"] for trial in chosen] == [1, 3]
        costs = [trial["log_loss"] + trial["error"] for trial in model.search_path_]
        doubt = max(trial["standard_error"] for trial in model.search_path_)
        alone = chosen[0]["log_loss"] + chosen[0]["error"]
        assert min(costs) <= alone <= min(costs) + doubt
        # Few rows take all members.
        assert len(model.model_.members_) == 3

    @pytest.mark.slow
    def test_repeats(self, fitted, monkeypatch):
        monkeypatch.setattr(last_fit, "_MANY_NUMBERS", 0)
        model, frame, y = fitted
        again = clone(model).set_params(n_jobs=2).fit(frame, y)
        assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))

    def test_pickles(self, fitted):
        model, frame, _ = fitted
        loaded = pickle.loads(pickle.dumps(model))
        assert_array_equal(loaded.predict(frame), model.predict(frame))

    def test_polars_and_arrow(self, fitted):
        model, frame, _ = fitted
        polars = pytest.importorskip("polars")
        pytest.importorskip("pyarrow")
        other = polars.from_pandas(frame)
        assert_allclose(model.predict_proba(other), model.predict_proba(frame))


def test_arrays_sparse_matrices_and_texts(digits):
    X, y, X_test, y_test = digits
    for kind in (np.asarray, sparse.csr_matrix):
        model = LocallyLinearClassifier(effort=0, random_state=0).fit(kind(X), y)
        assert model.score(kind(X_test), y_test) > 0.93
    with pytest.raises(ValueError, match="64 features"):
        model.predict(sparse.csr_matrix(X_test[:, :5]))


def test_weights_of_classes_move_predictions_and_not_probabilities():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] + rng.normal(size=3000) > 2.2).astype(int)
    plain, weighted = (
        LocallyLinearClassifier(0, class_weight=w, random_state=0).fit(X, y)
        for w in (None, "balanced")
    )
    assert weighted.predict(X).mean() > 2 * plain.predict(X).mean()
    found = [model.predict_proba(X)[:, 1].mean() for model in (plain, weighted)]
    assert_allclose(found, y.mean(), rtol=0.2)


def test_tells_of_every_choice_where_asked(capsys):
    frame, y = table(60)
    model = LocallyLinearClassifier(verbose=1, n_members=1, random_state=0)
    model.fit(frame, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.search_path_) + len(model.model_.members_)
    assert "loss='squared_hinge'" in "".join(lines)
    assert "log_loss=" in lines[0]


@pytest.mark.slow
def test_members_are_taken_where_they_are_worth_it():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    y = X[:, 0] + rng.normal(size=6000) > 0
    model = LocallyLinearClassifier(random_state=0).fit(X, y)
    assert model.search_path_[-1]["n_members"] == 3
    assert len(model.model_.members_) == 1  # there is nothing that members could save
    assert LocallyLinearClassifier(n_members=2, random_state=0).fit(
        X, y
    ).model_.scale_ == pytest.approx(model.model_.scale_, rel=0.2)


def test_a_choice_is_left_for_more_than_chance():
    labels = np.arange(400) % 2
    scores = (labels - 0.5)[:, None] + np.random.RandomState(0).normal(size=(400, 1))
    task = ClassTask(np.arange(2))
    rows = TrainingRows(scores, labels, task, np.ones(400), 0)
    search = Choosing(rows, None, 1, np.inf, None)
    assert search._hold_out()
    held = search._parts.held

    def made(s):
        figures, costs = task.judge(s[held], labels[held], np.ones(400))
        return Trial(Choice("multinomial"), 1, figures, 0.0, costs.mean(), costs)

    first, better = made(scores), made(scores + (labels - 0.5)[:, None])
    assert search._is_better(better, first, by=1.0)
    assert not search._is_better(first, better, by=0.0)
    assert not search._is_better(first, first, by=0.0)


def choosing_by(monkeypatch, name: str, costs: dict) -> tuple[Choosing, Trial]:
    """A search in which a setting has given costs, and a first trial that costs 1."""
    noise = np.random.RandomState(0).normal(size=100)
    rows = TrainingRows(np.zeros((16_000, 1)), np.zeros(16_000, int), None,
                        np.ones(16_000), 0)  # fmt: skip
    choosing = Choosing(rows, None, 1, np.inf, None)
    splits = [(np.arange(12_000), np.arange(100))]
    choosing._parts = Parts(rows, splits, None, None)
    start = Trial(Choice("multinomial"), 1, {}, 0.0, 1.0, np.ones(100))

    def attempt(self, choice, end=np.inf):
        cost = costs.get(getattr(choice, name), 2.0)
        held = cost + noise * (choice != start.choice)
        trial = Trial(choice, 1, {}, 0.0, cost, held - held.mean() + cost)
        self._parts.trials.append(trial)
        return trial

    monkeypatch.setattr(Choosing, "_try", attempt)
    monkeypatch.setattr(Choosing, "_n_weights", lambda _, choice: choice.n_anchors)
    monkeypatch.setattr(Choosing, "_width", lambda _, choice: choice.n_bins)
    choosing._parts.trials.append(start)
    return choosing, start


@pytest.mark.parametrize(("cost", "expected"), [(0.96, 16), (0.94, 64)])
def test_large_models_have_to_be_worth_it(monkeypatch, cost, expected):
    choosing, start = choosing_by(monkeypatch, "n_anchors", {64: cost})
    monkeypatch.setattr(Choosing, "_n_weights", lambda *_: 10**7)
    monkeypatch.setattr(Choosing, "_is_better", lambda _, trial, best, by: (
        trial.cost < best.cost))  # fmt: skip
    assert choosing._grow(start).choice.n_anchors == expected


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ({64: 0.999, 256: 0.5, 1000: 0.4}, 1000),  # beyond a gain that may be chance
        ({64: 1.1, 256: 0.5}, 16),
        ({64: 0.5, 256: 0.7}, 64),
        ({1: 1.02}, 1),  # worse by less than chance
        ({1: 1.2}, 16),
        ({1: 1.02, 4: 0.5}, 4),
    ],
)
def test_local_models_are_added_as_long_as_they_may_gain(monkeypatch, costs, expected):
    choosing, start = choosing_by(monkeypatch, "n_anchors", costs)
    assert choosing._grow(start).choice.n_anchors == expected


def test_rows_without_a_weight_are_no_more_rows():
    X = np.random.RandomState(0).normal(size=(200, 2))
    y, weights = (X[:, 0] > 0).astype(int), np.repeat([1.0, 0.0], 100)
    rows = TrainingRows(X, y, ClassTask(np.arange(2)), weights, 0)
    choosing = Choosing(rows, None, 1, np.inf, None)
    assert choosing._hold_out()
    choosing._tell = lambda trial: False
    first = choosing._try(Choice("multinomial", n_bins=0, n_anchors=1))
    assert choosing._look_at_more_rows(first) is first


@pytest.mark.parametrize(
    ("in_time", "teach"), [(True, True), (True, False), (False, True)]
)
def test_more_rows_are_asked_for_more_local_models(monkeypatch, in_time, teach):
    monkeypatch.setattr("locallin.methods.choosing._ROWS", {1: 300})
    X = np.random.RandomState(0).uniform(-2, 2, size=(2000, 2))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 > 0
    rows = TrainingRows(X, y.astype(int), ClassTask(np.arange(2)), np.ones(2000), 0)
    choosing = Choosing(rows, None, 1, np.inf, None)
    assert choosing._hold_out()
    choosing._tell = lambda trial: False
    first = choosing._try(Choice("multinomial", n_bins=0, n_anchors=4))
    few = choosing._parts
    if not in_time:
        monkeypatch.setattr(Choosing, "_end", lambda *_: -np.inf)
        monkeypatch.setattr(Choosing, "_has_time", lambda *_: True)
    monkeypatch.setattr(Parts, "teach", lambda *_: teach)
    best = choosing._look_at_more_rows(first)
    if in_time and teach:
        assert best.choice.n_anchors > 4
        assert len(choosing._parts.rows) == 2000
        assert len(choosing.trials) > len(choosing._parts.trials) > 1
        assert choosing._look_at_more_rows(best) is best
    else:
        assert best is first
        assert choosing._parts is few
        assert choosing.trials == [first]


@pytest.mark.parametrize(
    ("costs", "expected", "n_tried"),
    [
        ({32: 0.5, 128: 0.2}, 128, 2),
        ({32: 0.5, 128: 0.6}, 32, 2),
        ({32: 0.5, 128: 0.4955}, 32, 2),  # a row would take longer to predict
        ({32: 1.1, 128: 0.2}, 8, 1),
    ],
)
def test_bins_become_finer_as_long_as_they_gain(monkeypatch, costs, expected, n_tried):
    choosing, start = choosing_by(monkeypatch, "n_bins", costs)
    assert choosing._finer(start).choice.n_bins == expected
    assert len(choosing._parts.trials) == 1 + n_tried


def test_bins_become_no_finer_than_values(monkeypatch):
    choosing, start = choosing_by(monkeypatch, "n_bins", {32: 0.5})
    monkeypatch.setattr(Choosing, "_width", lambda *_: 9)
    assert choosing._finer(start) is start
    assert len(choosing._parts.trials) == 1


@pytest.mark.parametrize(("cost", "expected"), [(0.7, "tree"), (0.96, "quantile")])
def test_bins_follow_the_target_where_that_is_no_chance(monkeypatch, cost, expected):
    choosing, start = choosing_by(monkeypatch, "bins", {"quantile": 2.0, "tree": cost})
    assert choosing._choose_bins(start).choice.bins == expected
    gains = start.costs - choosing._parts.trials[-1].costs
    chance = standard_error(gains, np.full(100, 0.01))
    assert (gains.mean() > chance) == (expected == "tree")


def test_narrow_steps_are_found_by_bins_that_follow_the_target():
    X = np.random.RandomState(0).exponential(size=(1500, 2))
    y = (X[:, 0] > 2.9) & (X[:, 0] < 3.3) | (X[:, 1] > 3.2) & (X[:, 1] < 3.8)
    model = LocallyLinearClassifier(random_state=0).fit(X, y)
    assert model.chosen_["bins"] == model.encoder_.strategy == "tree"


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(20, 8), (256, 8), (400, 17), (1000, 32), (3000, "auto")]
)
def test_few_rows_are_learned_in_small_batches(n_rows, expected):
    X, y = np.random.RandomState(0).normal(size=(n_rows, 2)), np.arange(n_rows) % 2
    task = ClassTask(np.arange(2))
    made = new_member(task, Choice("multinomial"), X, y, np.ones(n_rows), None)
    assert made.batch_size == expected


def test_scale_of_few_rows_without_errors_is_not_certain():
    labels = np.arange(40) % 2
    task = ClassTask(np.arange(2))
    found, _ = task.judge((labels - 0.5)[:, None], labels, np.ones(40))
    assert found["error"] == 0
    # One more of each class, wrong: 20 of 22 are right.
    assert 1 / (1 + np.exp(-0.5 * found["scale"])) == pytest.approx(21 / 22, rel=0.01)


def test_time_limit_leaves_one_choice_and_one_member():
    frame, y = table()
    model = LocallyLinearClassifier(time_limit=1e-6, random_state=0).fit(frame, y)
    assert len(model.search_path_) == 1
    assert len(model.model_.members_) == 1


def test_a_given_encoder_and_search_over_it():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] > 0
    model = LocallyLinearClassifier(0, encoder=StandardScaler(), random_state=0)
    assert isinstance(model.fit(X, y).encoder_, StandardScaler)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(model, {"encoder": [None, StandardScaler()]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.9


def test_rare_classes_and_few_rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 3))
    y = np.repeat([0, 1, 2, 3], [60, 55, 4, 1])
    X[:, 0] += y
    model = LocallyLinearClassifier(random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (120, 4)
    few = LocallyLinearClassifier(random_state=0).fit(X[55:64], y[55:64])
    assert few.search_path_ == []
    with pytest.raises(ValueError, match="two classes"):
        LocallyLinearClassifier().fit(X[:5], y[:5])


@pytest.mark.parametrize("effort", [0, 1])
def test_columns_that_tell_nothing_apart(effort):
    model = LocallyLinearClassifier(effort, random_state=0)
    y = np.arange(30) % 2
    for value in (1.0, np.nan):
        with pytest.raises(ValueError, match="TableEncoder leaves nothing of the col"):
            model.fit(np.full((30, 2), value), y)
    X = np.ones((30, 1))
    X[3] = 2  # one fold has no other row
    assert model.fit(X, y).predict_proba(X).shape == (30, 2)


def test_a_class_of_one_row_is_in_no_other_fold():
    X = np.arange(12.0)[:, None]
    model = LocallyLinearClassifier(random_state=0).fit(X, X[:, 0] == 11)
    assert not model.search_path_
    assert np.isfinite(model.predict_proba(X)).all()


class Odd(TransformerMixin, BaseEstimator):
    """Returns what it was made with."""

    def __init__(self, out):
        self.out = out

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.out


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.full((30, 2), np.nan), "X after Odd contains NaN"),
        (np.ones((3, 2)), "Odd returns 3 rows for 30"),
    ],
)
def test_an_encoder_that_returns_no_matrix_is_named(out, message):
    X, y = np.arange(30.0)[:, None], np.arange(30) % 2
    with pytest.raises(ValueError, match=message):
        LocallyLinearClassifier(0, encoder=Odd(out)).fit(X, y)


@pytest.mark.parametrize("effort", [0, 1])
def test_an_encoder_may_return_frames(effort):
    frame, y = table(60)
    X = frame[["age"]].assign(twice=2 * frame["age"])
    scaler = StandardScaler()
    wanted = LocallyLinearClassifier(
        effort, n_members=1, encoder=scaler, random_state=0
    ).fit(X, y)
    framed = clone(wanted).set_params(
        encoder=StandardScaler().set_output(transform="pandas")
    )
    assert_array_equal(framed.fit(X, y).predict_proba(X), wanted.predict_proba(X))
    assert_array_equal(framed.to_pipeline().predict(X), wanted.predict(X))
    assert list(explain(framed, X[:2]).feature_names) == ["age", "twice"]


def test_frames_asked_of_all_transformers_change_nothing():
    frame = pandas.DataFrame({"name": [f"level {i // 6}" for i in range(60)]})
    y = np.arange(60) % 4 == 0
    model = LocallyLinearClassifier(0, random_state=0)
    wanted = model.fit(frame, y).predict_proba(frame)
    assert sparse.issparse(model.encoder_.transform(frame))
    with sklearn.config_context(transform_output="pandas"):
        assert_array_equal(model.fit(frame, y).predict_proba(frame), wanted)


@pytest.mark.parametrize("kind", [LocallyLinearClassifier, LocallyLinearRegressor])
def test_weights_that_are_all_the_same_change_nothing(kind):
    X = np.random.RandomState(0).normal(size=(150, 2))
    y, model = X[:, 0] * X[:, 1] > 0, kind(1, random_state=0)
    wanted = model.fit(X, y).predict(X)
    tried = [trial["n_anchors"] for trial in model.search_path_]
    for weight in (1, 7):
        assert_array_equal(model.fit(X, y, np.full(150, weight)).predict(X), wanted)
        assert [trial["n_anchors"] for trial in model.search_path_] == tried


@pytest.mark.parametrize("kind", [LocallyLinearClassifier, LocallyLinearRegressor])
def test_a_truth_value_is_no_effort(kind):
    X, y = np.arange(30.0)[:, None], np.arange(30) % 2
    with pytest.raises(ValueError, match=r"'effort' .* range \[0, 2\]. Got True"):
        kind(True).fit(X, y)


def test_errors_leave_the_model_as_it_was(fitted):
    model, frame, y = fitted
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="y"):
        model.fit(frame, None)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(frame, y[:-1])
    assert pickle.dumps(model) == before


def test_judgement_finds_the_scale():
    rng = np.random.RandomState(0)
    scores = rng.normal(size=(4000, 1))
    labels = (rng.uniform(size=4000) < 1 / (1 + np.exp(-3 * scores[:, 0]))).astype(int)
    found, _ = ClassTask(np.arange(2)).judge(scores, labels, np.ones(4000))
    assert found["scale"] == pytest.approx(3, rel=0.1)
    assert found["error"] == pytest.approx(np.mean((scores[:, 0] > 0) != labels))


def test_default_member_is_the_joint_method(blobs):
    X, y, _ = blobs
    model = EnsembleClassifier(n_members=1, random_state=0).fit(X, y)
    assert isinstance(model.members_[0], DULLSVMClassifier)


class _Clock:
    """A clock by which every look at it takes a second."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 1.0
        return self.now

    perf_counter = monotonic


def test_a_fit_ends_by_its_time(monkeypatch):
    X, y = make_moons(200, noise=0.3, random_state=0)
    whole = LocallyLinearClassifier(n_members=1, random_state=0).fit(X, y)
    clock = _Clock()
    for name in ("methods.choosing", "methods.last_fit", "engine.progress"):
        monkeypatch.setattr(f"locallin.{name}.time", clock)
    monkeypatch.setattr(LocallyLinearClassifier, "_deadline", lambda *_: 1000.0)
    model = LocallyLinearClassifier(n_members=1, random_state=0).fit(X, y)
    assert 1 < len(model.search_path_) < len(whole.search_path_)
    # The best of the trials that came to their end, and passes that there is time for.
    chosen = {k: v for k, v in model.chosen_.items() if k != "passes"}
    tried = [{k: trial[k] for k in chosen} for trial in model.search_path_]
    assert chosen in tried
    assert clock.now < 1100


def test_work_ends_with_the_step_after_its_time():
    X, y = make_moons(200, noise=0.3, random_state=0)
    model = DULLSVMClassifier(4, max_iter=9, random_state=0)
    with ending_by(-np.inf):
        assert clone(model).fit(X, y).n_iter_ == 1
    with ending_by(np.inf):
        assert clone(model).fit(X, y).n_iter_ == 9
    assert clone(model).fit(X, y).n_iter_ == 9
