"""Prediction sets: their promise, its edges, and where they come from."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from locallin import (
    AtlasClassifier,
    EnsembleClassifier,
    LLSVMClassifier,
    LLSVMClassifierCV,
    LocallyLinearClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.engine.invariants import InvalidModelError, check_fitted
from locallin.methods.conformal import Conformity

MODELS = {
    "local": LocallyLinearClassifier(1, time_limit=0.01, n_members=1, random_state=0),
    "local-weighted": LocallyLinearClassifier(
        1, time_limit=0.01, n_members=1, class_weight="balanced", random_state=0
    ),
    "ll": LLSVMClassifier(4, probability=True, random_state=0),
    "ll-cv": LLSVMClassifierCV(2, n_anchors=4, cv=3, max_iter=1000, random_state=0),
    "sapl": SAPLClassifier(4, max_iter=15, probability=True, random_state=0),
    "ml3": ML3Classifier(3, max_iter=5, probability=True, random_state=0),
    "mean": EnsembleClassifier(
        SAPLClassifier(4, max_iter=15), 2, probability=True, random_state=0
    ),
    "atlas": AtlasClassifier(kernel="linear", probability=True, random_state=0),
}


def rows(n_rows, n_classes=3, seed=0):
    """Overlapping classes, the last of them rare."""
    rng = np.random.RandomState(seed)
    shares = np.r_[np.full(n_classes - 1, 0.9 / (n_classes - 1)), 0.1]
    y = rng.choice(n_classes, size=n_rows, p=shares)
    centres = np.random.RandomState(3).normal(size=(n_classes, 4))
    return centres[y] + 0.7 * rng.normal(size=(n_rows, 4)), y


def covered(sets, y):
    return sets[np.arange(len(y)), y]


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_sets_keep_their_promise(name, n_classes):
    X, y = rows(1500, n_classes)
    X_test, y_test = rows(4000, n_classes, seed=1)
    model = clone(MODELS[name]).fit(X, y)
    for coverage in (0.7, 0.95):
        sets = model.predict_set(X_test, coverage)
        assert sets.shape == (4000, n_classes)
        assert sets.dtype == bool
        # Held-out rows are few hundreds: their chance is that of the coverage, too.
        # Rows whose best class is in any case are covered more often than promised.
        assert covered(sets, y_test).mean() > coverage - 0.05
        assert sets[np.arange(4000), model.predict_proba(X_test).argmax(axis=1)].all()
        each = model.predict_set(X_test, coverage, class_conditional=True)
        for label in range(n_classes):
            own = y_test == label
            assert covered(each, y_test)[own].mean() > coverage - 0.15
    small, large = (model.predict_set(X_test, c) for c in (0.7, 0.99))
    assert (small <= large).all()
    assert small.sum() < large.sum()


def test_ranks_are_those_of_split_conformal_prediction():
    rng = np.random.RandomState(0)
    proba = rng.dirichlet(np.ones(3), size=500)
    labels = rng.randint(3, size=500)
    known = Conformity.of(proba, labels, np.ones(500))
    assert_array_equal(known.counts, [500, *np.bincount(labels)])
    gaps = np.sort(1 - proba[np.arange(500), labels])
    for coverage in (0.1, 0.5, 0.9, 0.99):
        wanted = gaps[int(np.ceil(501 * coverage)) - 1]
        assert_allclose(known.largest_gap(0, coverage), wanted, rtol=1e-5)
        own = gaps[int(np.ceil(501 * coverage)) - 1 :]
        assert known.largest_gap(0, coverage) <= own[min(1, len(own) - 1)] + 1e-6
    assert known.largest_gap(0, 0.9999) == 1.0
    one = np.sort(1 - proba[labels == 1, 1])
    rank = int(np.ceil((len(one) + 1) * 0.8))
    assert one[rank - 1] <= known.largest_gap(2, 0.8) + 1e-6 <= one[rank + 2]


def test_weights_are_repetitions():
    rng = np.random.RandomState(0)
    proba, labels = rng.dirichlet(np.ones(2), size=300), rng.randint(2, size=300)
    weights = rng.randint(1, 4, size=300)
    weighted = Conformity.of(proba, labels, weights.astype(float))
    repeated = (np.repeat(part, weights, axis=0) for part in (proba, labels))
    twin = Conformity.of(*repeated, np.ones(weights.sum()))
    assert_array_equal(weighted.table, twin.table)


def test_a_class_that_was_not_held_out_is_in_every_set():
    proba, labels = np.full((50, 3), 1 / 3), np.arange(50) % 2
    known = Conformity.of(proba, labels, np.ones(50))
    assert known.counts[3] == 0
    assert known.largest_gap(3, 0.5) == 1.0


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1, "much", True, None])
def test_coverage_is_a_share(coverage):
    X, y = rows(300)
    model = clone(MODELS["ll"]).fit(X, y)
    with pytest.raises(ValueError, match="coverage="):
        model.predict_set(X, coverage)


def test_no_sets_without_a_remedy():
    X, y = rows(200)
    for model, remedy in (
        (LocallyLinearClassifier(0, random_state=0), "Fit with effort=1"),
        (LLSVMClassifier(4, loss="logistic"), "set probability=True"),
        (LLSVMClassifierCV(2, n_anchors=4, loss="logistic"), "a margin loss"),
        (EnsembleClassifier(MODELS["sapl"], 2), "set probability=True"),
    ):
        model.fit(X, y)
        assert not hasattr(model, "predict_set")
        with pytest.raises(AttributeError) as error:
            model.predict_set(X)
        assert remedy in str(error.value.__cause__)


def test_files_keep_them_and_refuse_broken_ones():
    X, y = rows(300)
    model = clone(MODELS["local"]).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_set(X), model.predict_set(X))
    again.conformity_counts_ = again.conformity_counts_[:2]
    with pytest.raises(InvalidModelError, match="conformity_counts_"):
        check_fitted(again)
    again = clone(model).set_params(effort=0).fit(X, y)
    assert not hasattr(again, "conformity_")


@pytest.mark.parametrize("n_rows", [400, 1500])
def test_a_mean_is_judged_by_rows_that_no_member_has_seen(n_rows):
    """Labels that are noise: a member that had seen its rows would be sure of them."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(n_rows, 3)), rng.randint(2, size=n_rows)
    member = SAPLClassifier(n_rows // 4, max_iter=30, class_weight={0: 3, 1: 1})
    model = EnsembleClassifier(member, 2, probability=True, random_state=0).fit(X, y)
    held_out = n_rows if n_rows <= 1000 else n_rows // 5
    assert abs(model.conformity_counts_[0] - held_out) <= 1
    assert not any(hasattr(member, "predict_proba") for member in model.members_)
    new = rng.normal(size=(2000, 3))
    labels = rng.randint(2, size=2000)
    assert covered(model.predict_set(new, 0.9), labels).mean() > 0.87
    # Probabilities are those of the data, without the weights of the classes.
    assert abs(model.predict_proba(new)[:, 1].mean() - 0.5) < 0.05
