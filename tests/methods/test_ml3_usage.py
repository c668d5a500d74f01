"""ML3 in use: scores, streams, early stopping, interruption, wrong input."""

import pickle

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from locallin import ML3Classifier
from locallin.kernels.latent import (
    class_scores,
)
from locallin.methods.skeleton import StreamLearner
from locallin.solvers import latent as solver


def test_xor_needs_two_models():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert LinearSVC(random_state=0).fit(X, y).score(X, y) < 0.7
    model = ML3Classifier(2, p=1, alpha=1e-3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_digits(digits, init):
    X, y, X_test, y_test = digits
    model = ML3Classifier(init=init, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.965
    assert model.coef_.shape == (10, 10, 64)
    assert model.intercept_.shape == (10, 10)
    assert model.n_iter_ == len(model.objective_history_) == model.max_iter
    assert model.objective_history_[-1] < model.objective_history_[0] / 3
    # No class has died: every one has rows on which it scores.
    assert (model.decision_function(X) > 0).any(axis=0).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("p", [1, 1.5, 3])
@pytest.mark.parametrize("classes", [2, 10])
def test_local_weights_explain_the_score(digits, dtype, kind, p, classes):
    X, y, X_test, _ = digits
    keep = y < classes
    model = ML3Classifier(3, p=p, max_iter=2, random_state=0)
    model.fit(kind(X[keep].astype(dtype)), y[keep])
    rows = X_test.astype(dtype)
    assert model.coef_.dtype == model.decision_function(kind(rows)).dtype == dtype
    scores = 1 if classes == 2 else 10
    weights = model.local_coef(kind(rows))
    assert weights.shape == (len(rows), scores, 64)
    explained = (weights * rows[:, None]).sum(axis=2) + model.local_intercept(
        kind(rows)
    )
    expected = model.decision_function(kind(rows)).reshape(len(rows), scores)
    scale = np.abs(weights).sum(axis=2).max()
    assert_allclose(explained, expected, atol=scale * 5 * np.finfo(dtype).eps)


def test_scores_are_those_of_the_formula(digits):
    X, y, X_test, _ = digits
    model = ML3Classifier(5, max_iter=2, random_state=0).fit(X, y)
    scores = model.decision_function(X_test)
    for i in range(20):
        for c in range(10):
            values = model.coef_[c] @ X_test[i] + model.intercept_[c]
            assert_allclose(scores[i, c], reference.latent_score(values, 1.5)[1])
    beta = model.latent_weights(X_test)
    values = np.einsum("cmd,nd->ncm", model.coef_, X_test) + model.intercept_
    assert beta.shape == (len(X_test), 10, 5)
    assert_allclose((beta * values).sum(axis=2), scores, atol=1e-10)
    two = ML3Classifier(5, max_iter=2, random_state=0).fit(X[y < 2], y[y < 2])
    values = np.einsum("cmd,nd->ncm", two.coef_, X_test) + two.intercept_
    out = np.empty((len(X_test), 2))
    class_scores(np.ascontiguousarray(values.reshape(len(X_test), -1)), 3.0, out)
    assert_allclose(two.decision_function(X_test), out[:, 1] - out[:, 0], atol=1e-12)
    assert_array_equal(two.predict(X_test), (out[:, 1] > out[:, 0]).astype(int))


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_same_seed_same_bits(digits, kind, init, monkeypatch):
    monkeypatch.setattr(solver, "_WORTH_A_THREAD", 0)
    X, y, X_test, _ = digits
    models = [
        ML3Classifier(40, max_iter=3, init=init, n_jobs=n, random_state=0)
        .fit(kind(X), y)
        for n in (1, 2, 3)
    ]  # fmt: skip
    for other in models[1:]:
        assert_array_equal(models[0].coef_, other.coef_)
        assert_array_equal(models[0].intercept_, other.intercept_)
    big = kind(np.tile(X_test, (4, 1)))
    assert_array_equal(*(m.decision_function(big) for m in models[1:]))


def test_shrinking_reaches_the_objective_of_all_rows(digits):
    X, y, _, _ = digits
    reached = []
    for shrinking in (False, True):
        model = ML3Classifier(5, shrinking=shrinking, random_state=0).fit(X, y)
        W = np.concatenate(
            [model.coef_, model.intercept_[:, :, None] / model.intercept_scaling_],
            axis=2,
        )
        rows = np.hstack([X, np.full((len(X), 1), model.intercept_scaling_)])
        reached.append(
            reference.latent_objective(rows, y, np.ones(1200), W, 1.5, model.alpha_)
        )
    assert reached[1] < 1.05 * reached[0]


def test_warm_start_goes_on(digits):
    X, y, _, _ = digits
    settings = {"shuffle": False, "shrinking": False, "average": False}
    whole = ML3Classifier(5, max_iter=7, random_state=0, **settings).fit(X, y)
    parts = ML3Classifier(5, max_iter=4, warm_start=True, random_state=0, **settings)
    parts.fit(X, y).set_params(max_iter=3).fit(X, y)
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert parts.t_ == whole.t_ == 7 * 1200


def test_a_stream_of_whole_passes_is_a_fit(digits):
    X, y, _, _ = digits
    settings = {"shuffle": False, "shrinking": False, "average": False}
    whole = ML3Classifier(5, max_iter=3, random_state=0, **settings).fit(X, y)
    stream = ML3Classifier(5, random_state=0, **settings)
    for _ in range(3):
        stream.partial_fit(X, y, classes=np.arange(10))
    assert_allclose(stream.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert stream.n_iter_ == len(stream.objective_history_) == 3


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_streams_learn_classes_that_come_late(digits, kind):
    X, y, X_test, y_test = digits
    stream = ML3Classifier(5, random_state=0)
    early = y < 5
    stream.partial_fit(kind(X[early]), y[early], classes=np.arange(10))
    assert stream.decision_function(X)[:, 5:].max() == 0  # not met yet
    for _ in range(6):
        for start in range(0, 1200, 300):
            rows = slice(start, start + 300)
            stream.partial_fit(kind(X[rows]), y[rows])
    stream.partial_fit(kind(X[:1]), y[:1])
    assert stream.score(X_test, y_test) > 0.95
    with pytest.raises(ValueError, match="not among the known ones"):
        stream.partial_fit(kind(X[:2]), [3, 17])
    with pytest.raises(ValueError, match="classes must be passed"):
        ML3Classifier().partial_fit(kind(X), y)


def test_the_result_of_a_stream_is_the_mean_over_the_last_block(digits):
    X, y, _, _ = digits
    plain = ML3Classifier(5, average=False, random_state=0)
    mean = ML3Classifier(5, random_state=0)
    for model in (plain, mean):
        for _ in range(2):
            model.partial_fit(X, y, classes=np.arange(10))
    iterate = StreamLearner(mean).state["iterate_coef"]
    assert_array_equal(iterate.reshape(10, 5, 64), plain.coef_)
    assert np.abs(mean.coef_ - plain.coef_).max() > 1e-3


def test_warm_start_after_a_stream_wakes_classes_that_were_not_met(digits):
    X, y, X_test, y_test = digits
    model = ML3Classifier(5, warm_start=True, random_state=0)
    model.partial_fit(X[y < 5], y[y < 5], classes=np.arange(10))
    assert model.fit(X, y).score(X_test, y_test) > 0.95


def test_parameters_set_after_fit_do_not_change_predictions(digits):
    X, y, X_test, _ = digits
    model = ML3Classifier(3, max_iter=2, random_state=0).fit(X, y)
    before = model.decision_function(X_test)
    assert_array_equal(model.set_params(p=3.0).decision_function(X_test), before)


def test_a_stream_goes_on_after_fit(digits):
    X, y, X_test, y_test = digits
    model = ML3Classifier(5, random_state=0).fit(X[:900], y[:900])
    before = model.score(X_test, y_test)
    model.partial_fit(X[900:], y[900:])
    assert model.t_ == 900 * model.max_iter + 300
    assert model.score(X_test, y_test) > before - 0.01


def test_early_stopping_keeps_the_best_models(digits):
    X, y, X_test, y_test = digits
    model = ML3Classifier(
        5, early_stopping=True, n_iter_no_change=2, max_iter=40, random_state=0
    ).fit(X, y, X_val=X_test, y_val=y_test)
    history = model.validation_history_
    assert len(history) == model.n_iter_ < 40
    assert model.score(X_test, y_test) == history.max() == history[-3]
    held = ML3Classifier(5, early_stopping=True, max_iter=3, random_state=0).fit(X, y)
    assert len(held.validation_history_) == 3


def test_weights_of_zero_leave_rows_out(digits):
    X, y, _, _ = digits
    keep = np.arange(1200) % 3 > 0
    a = ML3Classifier(5, max_iter=3, random_state=0).fit(X, y, keep)
    b = ML3Classifier(5, max_iter=3, random_state=0).fit(X[keep], y[keep])
    assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_weights_shift_the_decision():
    X, y = make_classification(400, class_sep=0.3, random_state=0)
    plain = ML3Classifier(3, alpha=1e-2, random_state=0).fit(X, y)
    heavy = ML3Classifier(3, alpha=1e-2, class_weight={1: 5.0}, random_state=0)
    heavy.fit(X, y)
    same = ML3Classifier(3, alpha=1e-2, random_state=0)
    same.fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    assert heavy.predict(X).mean() > plain.predict(X).mean() + 0.05
    assert_array_equal(heavy.coef_, same.coef_)


@pytest.mark.in_turn
@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_the_unit_of_the_data_does_not_matter(moons, scale, init):
    X, y = moons
    plain = ML3Classifier(4, max_iter=5, init=init, random_state=0).fit(X, y)
    scaled = ML3Classifier(4, max_iter=5, init=init, random_state=0).fit(scale * X, y)
    assert_allclose(
        scaled.decision_function(scale * X), plain.decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interruption_leaves_a_usable_model(digits, n_jobs, monkeypatch):
    monkeypatch.setattr(solver, "_WORTH_A_THREAD", 0)
    X, y, X_test, y_test = digits
    calls = []
    steps = solver.latent_steps

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return steps(*args)

    monkeypatch.setattr(solver, "latent_steps", interrupted)
    model = ML3Classifier(5, n_jobs=n_jobs, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 0 < model.n_iter_ < model.max_iter
    assert model.score(X_test, y_test) > 0.8


def test_pickle_pipeline_and_grid_search(digits):
    X, y, X_test, _ = digits
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ML3Classifier(max_iter=5, random_state=0)),
        {"ml3classifier__n_models": [1, 5], "ml3classifier__p": [1, 1.5]},
        cv=2,
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict(X_test), search.predict(X_test))
    assert search.best_params_["ml3classifier__n_models"] == 5


def test_verbose_prints_a_line_per_iteration(moons, capsys):
    ML3Classifier(3, max_iter=3, verbose=1, random_state=0).fit(*moons)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "[ML3Classifier] epoch 3/3: objective" in lines[-1]


CASES = {
    "one row per class": (np.eye(3), np.arange(3)),
    "duplicates": (np.ones((30, 2)), np.arange(30) % 2),
    "a constant feature": (np.c_[np.arange(30.0), np.ones(30)], np.arange(30) > 14),
    "one feature": (np.arange(30.0)[:, None], np.arange(30) // 10),
    "empty rows": (np.r_[np.zeros((5, 3)), np.eye(3)], np.arange(8) % 2),
    "all zero": (np.zeros((9, 2)), np.arange(9) % 3),
    "huge": (1e30 * np.random.RandomState(0).normal(size=(40, 3)), np.arange(40) % 2),
    "tiny": (1e-30 * np.random.RandomState(0).normal(size=(40, 3)), np.arange(40) % 2),
}


@pytest.mark.in_turn
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("init", ["kmeans", "random"])
@pytest.mark.parametrize("p", [1, 1.5, 100.0])
def test_degenerate_data_works(case, kind, init, p):
    X, y = CASES[case]
    model = ML3Classifier(20, p=p, init=init, random_state=0).fit(kind(X), y)
    assert np.isfinite(model.decision_function(kind(X))).all()
    assert np.isfinite(model.local_coef(kind(X))).all()
    assert np.isfinite(model.objective_history_).all()


def test_prediction_needs_a_fit(moons):
    for method in ("predict", "local_coef", "local_intercept", "latent_weights"):
        with pytest.raises(NotFittedError):
            getattr(ML3Classifier(), method)(moons[0])


def test_read_only_and_fortran_arrays(digits):
    X, y, _, _ = digits
    plain = ML3Classifier(3, max_iter=2, random_state=0).fit(X, y)
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    model = ML3Classifier(3, max_iter=2, random_state=0).fit(frozen, y)
    assert_array_equal(model.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("classifier", "error"),
    [
        (ML3Classifier(0), "'n_models' parameter"),
        (ML3Classifier(p=0.5), "'p' parameter"),
        (ML3Classifier(p=np.inf), "'p' parameter"),
        (ML3Classifier(init="ones"), "'init' parameter"),
        (ML3Classifier(alpha=0.0), "'alpha' parameter"),
    ],
)
def test_wrong_arguments_are_named(moons, classifier, error):
    with pytest.raises(ValueError, match=error):
        classifier.fit(*moons)
    assert not hasattr(classifier, "coef_")
