"""Pupils of slow teachers, and groups that are held out together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from locallin import (
    DULLSVMClassifier,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
    distill,
)
from locallin.methods.choosing import Choosing
from locallin.methods.settings import TrainingRows
from locallin.methods.tasks import ClassTask

PUPIL = DULLSVMClassifier(6, loss="multinomial", max_iter=15, random_state=0)


def rows(n_rows=600, n_classes=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n_rows, 2))
    y = (np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) % 1 * n_classes).astype(int)
    return X, y


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "teacher",
    [
        RandomForestClassifier(20, random_state=0),
        SVC(C=10),
        LinearSVC(),
        NearestCentroid(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_pupils_agree_with_any_teacher(teacher, n_classes):
    X, y = rows(n_classes=n_classes)
    names = np.array(["a", "b", "c"])[y]
    teacher.fit(X[:150], names[:150])
    pupil = distill(teacher, X, estimator=PUPIL)
    X_test, _ = rows(seed=1, n_classes=n_classes)
    assert (pupil.predict(X_test) == teacher.predict(X_test)).mean() > 0.85
    assert_array_equal(pupil.classes_, teacher.classes_)


def test_a_pupil_of_one_local_model_is_its_linear_teacher():
    X, y = rows(2000, 2)
    teacher = LogisticRegression().fit(X, y)
    one = DULLSVMClassifier(
        1, loss="multinomial", alpha=1e-7, diversity=0.0, random_state=0
    )
    pupil = distill(teacher, X, estimator=one, least=0.0)
    assert_allclose(pupil.predict_proba(X), teacher.predict_proba(X), atol=0.02)


def test_small_shares_are_left_out_and_weights_add_up():
    class Noted(DULLSVMClassifier):
        def fit(self, X, y, sample_weight=None):
            self.noted_ = X, y, sample_weight
            return super().fit(X, y, sample_weight)

    X, y = rows()
    teacher = LogisticRegression().fit(X, y)
    weights = np.linspace(1, 2, len(X))
    pupil = distill(
        teacher, sparse.csr_matrix(X), estimator=Noted(3, max_iter=1, random_state=0),
        sample_weight=weights, least=0.2,
    )  # fmt: skip
    found, labels, shares = pupil.noted_
    kept = teacher.predict_proba(X) >= 0.2
    assert found.shape[0] == len(labels) == kept.sum()
    assert_allclose(shares.sum(), weights.sum())
    assert (shares / np.repeat(weights, kept.sum(axis=1))).min() >= 0.2


def test_the_usual_pupil_takes_tables():
    rng = np.random.RandomState(0)
    table = np.empty((120, 2), object)
    table[:, 0] = rng.choice(["own", "rent"], size=120)
    table[:, 1] = rng.normal(size=120)
    teacher = LocallyLinearClassifier(0, random_state=0)
    teacher.fit(table, table[:, 0] == "rent")
    pupil = distill(teacher, table, estimator=LocallyLinearClassifier(0))
    assert (pupil.predict(table) == teacher.predict(table)).mean() > 0.95


def test_wrong_arguments_are_told():
    X, y = rows()
    teacher = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="least=1"):
        distill(teacher, X, least=1)
    with pytest.raises(ValueError, match="score_scale=0"):
        distill(teacher, X, score_scale=0)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_scores_of_pairs_are_refused(n_classes):
    X, y = rows(n_classes=n_classes)
    pairs = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        distill(pairs.fit(X, y), X)


@pytest.mark.parametrize("n_rows", [300, 9000])
def test_groups_are_held_out_together(n_rows):
    rng = np.random.RandomState(0)
    groups = rng.randint(n_rows // 4, size=n_rows)
    X, y = rows(n_rows)
    given = TrainingRows(X, y, ClassTask(np.arange(3)), np.ones(n_rows), 0, groups)
    choosing = Choosing(given, None, 1, np.inf, None)
    assert choosing._hold_out()
    for seen, held in choosing._parts.splits:
        assert not set(groups[seen]) & set(groups[held])
        assert len(held) > n_rows / 8
    model = LocallyLinearClassifier(1, time_limit=0.01, n_members=1, random_state=0)
    if n_rows < 1000:
        names = np.array([f"household {g}" for g in groups])
        model.fit(X, y, groups=names)
        assert model.predict_set(X).shape == (n_rows, 3)
        with pytest.raises(ValueError, match="inconsistent"):
            model.fit(X, y, groups=names[1:])


def test_one_group_holds_nothing_out():
    X, y = rows(100)
    groups = np.zeros(100)
    for model, told in (
        (LocallyLinearClassifier(1, random_state=0), y),
        (LocallyLinearRegressor(1, random_state=0), X[:, 0]),
    ):
        with pytest.warns(UserWarning, match="No group can be held out") as warned:
            model.fit(X, told, groups=groups)
        assert warned[0].filename == __file__
        assert model.search_path_ == []
        model.set_params(effort=0).fit(X, told, groups=groups)


def test_groups_of_one_class_each_hold_nothing_out():
    X, y = rows(100)
    with pytest.warns(UserWarning, match="No group can be held out"):
        LocallyLinearClassifier(1, random_state=0).fit(X, y > 0, groups=y > 0)
