"""Probabilities: of the loss, of held-out rows, and free of class weights."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    EnsembleClassifier,
    LLSVMClassifier,
    LLSVMClassifierCV,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.methods.calibration import draw_folds
from locallin.methods.links import Link, fit_link
from locallin.rivals import CSVMClassifier, LDKLClassifier, PVMClassifier

LOGISTIC = {LLSVMClassifier, SAPLClassifier, LDKLClassifier}
MODELS = {
    "ll": LLSVMClassifier(8, probability=True, random_state=0),
    "ll-newton": LLSVMClassifier(8, solver="newton", probability=True, random_state=0),
    "ll-sgd": LLSVMClassifier(
        8, solver="sgd", max_iter=20, tol=None, probability=True, random_state=0
    ),
    "ll-hinge": LLSVMClassifier(8, loss="hinge", probability=True, random_state=0),
    "ll-logistic": LLSVMClassifier(
        8, loss="logistic", probability=True, random_state=0
    ),
    "ll-cv": LLSVMClassifierCV(3, n_anchors=8, cv=3, max_iter=1000, random_state=0),
    "sapl": SAPLClassifier(8, max_iter=10, probability=True, random_state=0),
    "u": DULLSVMClassifier(
        8, diversity=0.0, max_iter=10, probability=True, random_state=0
    ),
    "du": DULLSVMClassifier(8, max_iter=10, probability=True, random_state=0),
    "du-sgd": DULLSVMClassifier(
        8, solver="sgd", max_iter=10, probability=True, random_state=0
    ),
    "ml3": ML3Classifier(5, max_iter=10, probability=True, random_state=0),
    "atlas": AtlasClassifier(probability=True, random_state=0),
    "atlas-linear": AtlasClassifier(kernel="linear", probability=True, random_state=0),
    "atlas-votes": AtlasClassifier(multi_class="ovo", probability=True, random_state=0),
    "mean": EnsembleClassifier(
        SAPLClassifier(8, max_iter=10, probability=True), 2, random_state=0
    ),
    "mean-held-out": EnsembleClassifier(
        SAPLClassifier(8, max_iter=10), 2, probability=True, random_state=0
    ),
    "mean-of-charts": EnsembleClassifier(
        AtlasClassifier(kernel="linear"), 2, probability=True, random_state=0
    ),
}


def noisy(n_rows, n_classes, seed=0):
    """Rows of overlapping classes, and the probabilities they were drawn with."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n_rows, 3))
    centres = np.random.RandomState(5).normal(size=(n_classes, 3))
    logits = 1.2 * X @ centres.T + np.sin(2 * X[:, :1]) * np.arange(n_classes)
    shares = np.exp(log_softmax(logits, axis=1))
    y = (rng.uniform(size=(n_rows, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return X, np.minimum(y, n_classes - 1), shares


def check_probabilities(name, n_classes, n_rows):
    X, y, _ = noisy(n_rows, n_classes)
    X_test, y_test, truth = noisy(2000, n_classes, seed=1)
    model = clone(MODELS[name])
    assert hasattr(model, "predict_proba")
    model.fit(X, y)
    found = model.predict_proba(X_test)
    assert found.shape == truth.shape
    assert_allclose(found.sum(axis=1), 1)
    least = log_loss(y_test, truth)
    chance = log_loss(y_test, np.tile(np.bincount(y) / len(y), (len(y_test), 1)))
    # Most of what can be known about the classes is known. SGD and votes know less.
    share = 0.5 if "sgd" in name or "votes" in name else 0.6
    assert log_loss(y_test, found) < least + (1 - share) * (chance - least)
    # On average they are the frequencies.
    assert_allclose(found.mean(axis=0), np.bincount(y_test) / len(y_test), atol=0.06)
    scores = model.decision_function(X_test)
    winners = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
    assert_array_equal(model.predict(X_test), model.classes_[winners.astype(int)])
    again = clone(model).fit(X, y)
    assert_array_equal(again.predict_proba(X_test), found)


@pytest.mark.in_turn
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_every_classifier_has_calibrated_probabilities(name, n_classes):
    check_probabilities(name, n_classes, 400)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "name",
    ["ll", *(pytest.param(n, marks=pytest.mark.slow) for n in MODELS if n != "ll")],
)
def test_many_rows_have_calibrated_probabilities(name, n_classes):
    """A part of them is held out, once."""
    check_probabilities(name, n_classes, 1500)


def test_calibration_keeps_up_with_that_of_scikit_learn():
    X, y, _ = noisy(4000, 2)
    X_test, y_test, _ = noisy(4000, 2, seed=1)
    model = LLSVMClassifier(16, probability=True, random_state=0).fit(X, y)
    peer = CalibratedClassifierCV(LLSVMClassifier(16, random_state=0), ensemble=False)
    peer.fit(X, y)
    ours, theirs = (
        log_loss(y_test, one.predict_proba(X_test)) for one in (model, peer)
    )
    assert ours < theirs + 0.02


@pytest.mark.in_turn
@pytest.mark.parametrize("name", ["ll", "du", "ml3", "atlas", "ll-cv", "ll-logistic"])
@pytest.mark.parametrize("n_rows", [600, 2500])
def test_class_weights_move_scores_and_not_probabilities(name, n_rows):
    X, y, _ = noisy(n_rows, 2)
    rare = (y == 0) | (np.arange(n_rows) % 4 == 0)
    X, y = X[rare], y[rare]
    plain = clone(MODELS[name]).fit(X, y)
    weighted = clone(MODELS[name]).set_params(class_weight="balanced").fit(X, y)
    assert (weighted.predict(X) == 1).mean() > (plain.predict(X) == 1).mean() + 0.03
    assert_allclose(weighted.predict_proba(X)[:, 1].mean(), y.mean(), atol=0.04)


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_class_weights_are_taken_out_of_the_loss(loss, n_classes):
    X, y, _ = noisy(2000, n_classes)
    weights = {c: 1.0 + 4 * c for c in range(n_classes)}
    model = DULLSVMClassifier(
        4, loss=loss, class_weight=weights, max_iter=10, random_state=0
    ).fit(X, y)
    shares = np.bincount(y) / len(y)
    assert_allclose(model.predict_proba(X).mean(axis=0), shares, atol=0.05)
    model.partial_fit(X, y)
    assert_allclose(model.proba_offset_, -np.log(list(weights.values())))


def test_few_rows_leave_the_model_as_it_is_without_probabilities():
    X, y, _ = noisy(300, 3)
    plain = SAPLClassifier(6, max_iter=5, random_state=0).fit(X, y)
    model = clone(plain).set_params(probability=True).fit(X, y)
    assert_array_equal(model.coef_, plain.coef_)
    assert model.proba_scale_ > 0


def test_nothing_of_an_earlier_fit_stays():
    X, y, _ = noisy(1500, 2)
    model = SAPLClassifier(
        6, max_iter=3, early_stopping=True, probability=True, random_state=0
    ).fit(X, y)
    model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(model, "validation_history_")
    fresh = clone(model).fit(X, y)
    assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))


def test_early_stopping_lends_its_rows():
    X, y, _ = noisy(1500, 2)
    plain = SAPLClassifier(6, max_iter=5, early_stopping=True, random_state=0)
    model = clone(plain).set_params(probability=True).fit(X, y)
    assert_array_equal(model.coef_, plain.fit(X, y).coef_)
    X_val, y_val, _ = noisy(500, 2, seed=3)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores = model.decision_function(X_val)[:, None]
    link = fit_link(scores, y_val, np.ones(500), None, 2)
    assert_allclose(model.proba_scale_, link.scale)


def test_a_warm_start_keeps_its_calibration():
    X, y, _ = noisy(1500, 2)
    model = SAPLClassifier(
        6, max_iter=5, probability=True, warm_start=True, random_state=0
    ).fit(X, y)
    scale, coef = model.proba_scale_, model.coef_
    model.fit(X, y)
    assert model.proba_scale_ == scale
    assert not np.array_equal(model.coef_, coef)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types(dtype, kind):
    X, y, _ = noisy(1200, 3)
    X = kind(X.astype(dtype))
    model = LLSVMClassifier(6, probability=True, random_state=0).fit(X, y)
    assert model.predict_proba(X).dtype == dtype
    names = np.array(["a", "b", "c"], object)[y]
    assert_array_equal(
        clone(model).fit(X, names).predict_proba(X), model.predict_proba(X)
    )


def test_weights_of_zero_are_rows_left_out():
    X, y, _ = noisy(1400, 2)
    weights = np.ones(1400)
    weights[1200:] = 0
    model = LLSVMClassifier(anchors=X[:6], probability=True, random_state=0)
    flipped = np.where(weights > 0, y, 1 - y)
    found = [clone(model).fit(X, labels, weights) for labels in (y, flipped)]
    assert found[0].proba_scale_ == found[1].proba_scale_


def test_no_probabilities_without_a_remedy():
    X, y, _ = noisy(300, 2)
    for model in (LLSVMClassifier(4), ML3Classifier(4), AtlasClassifier()):
        for one in (model, clone(model).fit(X, y)):
            assert not hasattr(one, "predict_proba")
            with pytest.raises(AttributeError) as error:
                one.predict_proba(X)
            assert "set probability=True" in str(error.value.__cause__)
    mean = EnsembleClassifier(LLSVMClassifier(4), 2).fit(X, y)
    with pytest.raises(AttributeError) as error:
        mean.predict_proba(X)
    assert "probability=True" in str(error.value.__cause__)
    # A switch that comes after the fit does not conjure them up.
    late = ML3Classifier(4, max_iter=3, random_state=0).fit(X, y)
    assert not hasattr(late.set_params(probability=True), "predict_proba")


@pytest.mark.parametrize(
    "model", [SAPLClassifier(4, probability=True), ML3Classifier(4, probability=True)]
)
def test_streams_say_where_probabilities_come_from(model):
    X, y, _ = noisy(300, 2)
    for method in ("partial_fit", "fit_stream"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as error:
            getattr(model, method)((X, y))
        assert "choose loss='logistic'" in str(error.value.__cause__)


def test_rows_that_cannot_be_held_out_are_told():
    X = np.array([[0.0], [1.0]])
    with pytest.raises(ValueError, match="set probability=False"):
        LLSVMClassifier(1, probability=True).fit(X, [0, 1])


@pytest.mark.parametrize("n_rows", [60, 1000, 1001, 5000])
def test_no_class_is_held_out_whole(n_rows):
    rng = np.random.RandomState(0)
    labels = np.r_[np.zeros(1, int), np.ones(3, int), rng.randint(2, 5, n_rows - 4)]
    weights = (rng.uniform(size=n_rows) > 0.1).astype(float)
    weights[:4] = 1
    folds = draw_folds(labels, weights, rng)
    together = np.concatenate(folds)
    assert len(together) == len(np.unique(together))
    assert weights[together].all()
    for held in folds:
        rest = np.setdiff1d(np.flatnonzero(weights), held)
        assert set(labels[rest]) == set(labels)
    if n_rows <= 1000:
        assert len(folds) == 5
        assert max(map(len, folds)) - min(map(len, folds)) <= 1
        assert len(together) == weights.sum() - 1


def test_two_classes_are_scaled_as_a_logistic_regression_would():
    rng = np.random.RandomState(0)
    scores = rng.normal(size=20_000)
    labels = (rng.uniform(size=20_000) < expit(2.5 * scores - 0.7)).astype(int)
    weights = rng.uniform(0.5, 2, size=20_000)
    link = fit_link(scores[:, None], labels, weights, None, 2)
    peer = LogisticRegression(C=1e6).fit(scores[:, None], labels, weights)
    assert_allclose(link.scale, peer.coef_[0, 0], rtol=5e-3)
    assert_allclose(link.offset, [0, peer.intercept_[0]], atol=5e-3)


def test_several_classes_have_a_temperature():
    rng = np.random.RandomState(0)
    logits = rng.normal(size=(30_000, 4)) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    link = fit_link(logits * 3, labels, np.ones(30_000), None, 4)
    assert_allclose(link.scale, 1 / 3, rtol=0.02)
    assert_array_equal(link.offset, 0)


def test_rows_that_are_all_told_apart_leave_a_doubt():
    labels = np.arange(20) % 2
    link = fit_link((labels * 2.0 - 1)[:, None], labels, np.ones(20), None, 2)
    odds = link.probabilities(np.array([1.0]))[0, 1]
    assert 0.85 < odds < 0.97


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
def test_probabilities_of_extreme_scores(kind):
    link = Link(kind, 1e90, np.array([0.0, -3.0, 2.0]))
    for size in (0, 1e-30, 1e30, -1e38):
        scores = size * np.array([[1, 2, 3], [-1, -1, -1]], np.float32)
        found = link.probabilities(scores)
        assert np.isfinite(found).all()
        assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
    assert np.isfinite(link.probabilities(np.array([[1e300, -1e300, 1e300]]))).all()


@pytest.mark.parametrize(
    "model",
    [
        LLSVMClassifier(4),
        SAPLClassifier(4),
        ML3Classifier(4),
        AtlasClassifier(),
        PVMClassifier(),
        CSVMClassifier(),
        LDKLClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_way_to_probabilities_is_one_that_the_method_has(model):
    with pytest.raises(AttributeError) as error:
        model.predict_proba([[0.0]])
    told = str(error.value.__cause__)
    X, y, _ = noisy(120, 2)
    named = re.findall(r"(?:set|or) (\w+)='?(\w+)'?", told)
    ways = [{key: True if value == "True" else value} for key, value in named]
    assert ({"loss": "logistic"} in ways) == (type(model) in LOGISTIC)
    for settings in ways:
        fitted = clone(model).set_params(**settings).fit(X, y)
        assert_allclose(fitted.predict_proba(X).sum(axis=1), 1, rtol=1e-6)
    if not ways:
        fitted = CalibratedClassifierCV(model, cv=3).fit(X, y)
        assert hasattr(fitted, "predict_proba")
