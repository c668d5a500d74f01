"""Manners of scikit-learn's classifiers that its common checks do not look at."""

from copy import deepcopy

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    EnsembleClassifier,
    LLSVMClassifier,
    LocallyLinearClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.coding import AdaptiveCoding, InverseDistanceCoding
from locallin.inspection import feature_importances


@pytest.fixture(scope="module")
def informative():
    """Two features that matter, in a circle, and six that do not."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 8))
    return X, (np.hypot(X[:, 2], X[:, 5]) > 1.1).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        LLSVMClassifier(6, tol=0.1, random_state=0),
        SAPLClassifier(6, max_iter=3, random_state=0),
        DULLSVMClassifier(6, max_iter=3, random_state=0),
        ML3Classifier(3, max_iter=3, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_history_of_held_out_rows_does_not_outlive_them(model, moons):
    model = deepcopy(model).set_params(early_stopping=True).fit(*moons)
    assert hasattr(model, "validation_history_")
    model.set_params(early_stopping=False).fit(*moons)
    assert not hasattr(model, "validation_history_")


@pytest.mark.parametrize(
    "model",
    [
        LLSVMClassifier(8, random_state=0),
        ML3Classifier(4, max_iter=10, random_state=0),
        EnsembleClassifier(LLSVMClassifier(8), 2, random_state=0),
        LocallyLinearClassifier(0, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_features_are_selected_by_their_importances(model, informative):
    X, y = informative
    importances = feature_importances(deepcopy(model).fit(X, y))
    assert importances.shape == (8,)
    assert (importances >= 0).all()
    search = RFECV(
        deepcopy(model), cv=3, min_features_to_select=2, step=2,
        importance_getter=feature_importances,
    ).fit(X, y)  # fmt: skip
    assert search.support_[[2, 5]].all()
    selector = SelectFromModel(
        make_pipeline(StandardScaler(), deepcopy(model)),
        importance_getter=feature_importances,
        max_features=2,
        threshold=-np.inf,
    )
    assert_array_equal(selector.fit(X, y).get_support(indices=True), [2, 5])


def test_importances_of_columns_are_those_of_what_they_become(informative):
    X, y = informative
    bins = PiecewiseLinearEncoder(4)
    pipeline = make_pipeline(StandardScaler(), bins, LLSVMClassifier(4, random_state=0))
    importances = feature_importances(pipeline.fit(X, y))
    assert set(importances.argsort()[-2:]) == {2, 5}
    squares = np.square(pipeline[-1].coef_).mean(axis=(0, 1))
    first = squares[pipeline[1].get_feature_origins() == 0].sum()
    assert_allclose(importances[0] ** 2, first)
    mixed = make_pipeline(PCA(3), LLSVMClassifier(4, random_state=0)).fit(X, y)
    assert feature_importances(mixed).shape == (3,)


def test_importances_need_weights_of_features(informative):
    for model in (LLSVMClassifier(6, local_model="constant"), AtlasClassifier()):
        with pytest.raises(ValueError, match="permutation_importance"):
            feature_importances(model.fit(*informative))
    model = AtlasClassifier(kernel="linear", random_state=0).fit(*informative)
    assert feature_importances(model).shape == (8,)


def test_weights_reach_score_by_routing_and_survive_a_stream(moons):
    X, y = moons
    weights = np.where(y == 1, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LLSVMClassifier(5, solver="sgd", tol=None, max_iter=5, random_state=0)
        model.set_fit_request(sample_weight=False)
        model.set_score_request(sample_weight=True)
        found = cross_validate(
            model, X, y, cv=2, params={"sample_weight": weights}, return_estimator=True
        )
        assert len(found["test_score"]) == 2
        model.fit_stream((X, y))
        requests = model.get_metadata_routing()
        assert requests.score.requests["sample_weight"] is True


@pytest.mark.parametrize(
    "coding",
    [AdaptiveCoding(5), InverseDistanceCoding(5, n_neighbors=3), Atlas()],
    ids=lambda c: type(c).__name__,
)
def test_frames_of_sparse_codes_are_refused_with_a_remedy(coding, moons):
    coding.set_output(transform="pandas").fit(moons[0])
    with pytest.raises(ValueError, match=r"set_output\(transform='default'\)"):
        coding.transform(moons[0])
    coding.set_output(transform="default").transform(moons[0])


def test_probabilities_are_there_where_the_loss_has_them(moons):
    model = LLSVMClassifier(5, loss="logistic", random_state=0)
    assert hasattr(model, "predict_proba")
    model.set_params(loss="hinge")
    assert not hasattr(model, "predict_proba")
    model.set_params(loss="logistic").fit(*moons)
    assert hasattr(model, "predict_log_proba")


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_an_ensemble_has_all_probabilities_of_its_members_or_none(loss, moons):
    mean = EnsembleClassifier(LLSVMClassifier(5, loss=loss), 2, random_state=0)
    for model in (mean, clone(mean).fit(*moons)):
        for method in ("predict_proba", "predict_log_proba"):
            assert hasattr(model, method) == (loss == "logistic")


def test_a_random_state_object_goes_on(moons):
    """The second fit draws other numbers than the first, as in scikit-learn."""
    rng = np.random.RandomState(3)
    first, second = (
        SAPLClassifier(6, max_iter=2, random_state=rng).fit(*moons).anchors_
        for _ in range(2)
    )
    again = SAPLClassifier(6, max_iter=2, random_state=np.random.RandomState(3))
    assert_array_equal(again.fit(*moons).anchors_, first)
    assert not np.array_equal(first, second)


def test_too_few_passes_are_told(moons):
    for model in (
        LLSVMClassifier(6, max_iter=1, tol=1e-8),
        AtlasClassifier(kernel="linear", max_iter=1, tol=1e-9),
    ):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            model.fit(*moons)


def test_one_partial_fit_is_one_epoch(moons):
    """Where nothing is chosen from the data: SGD of LL-SVM, in the rows' order."""
    X, y = moons
    model = LLSVMClassifier(
        anchors=X[:6], solver="sgd", alpha=1e-3, intercept_scaling=1.0, t0=100.0,
        shuffle=False, max_iter=1, tol=None, random_state=0,
    )  # fmt: skip
    block = deepcopy(model).partial_fit(X, y, classes=[0, 1])
    assert_allclose(block.coef_, model.fit(X, y).coef_, rtol=1e-12)
