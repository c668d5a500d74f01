"""Finite numbers in, finite numbers out: refused blocks, and rows that are long."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)

STREAMS = [
    LLSVMClassifier(6, solver="sgd", random_state=0),
    SAPLClassifier(6, random_state=0),
    SAPLClassifier(6, solver="sgd", random_state=0),
    DULLSVMClassifier(6, random_state=0),
    DULLSVMClassifier(6, solver="sgd", random_state=0),
    ML3Classifier(4, random_state=0),
    ML3Classifier(4, average=False, random_state=0),
]
CLASSIFIERS = [
    LLSVMClassifier(6, max_iter=5, tol=None, random_state=0),
    LLSVMClassifier(6, coding="soft", loss="logistic", tol=0.1, random_state=0),
    LLSVMClassifier(6, coding="inverse-distance", tol=0.1, random_state=0),
    LLSVMClassifier(6, local_model="constant", tol=0.1, random_state=0),
    SAPLClassifier(6, max_iter=2, random_state=0),
    DULLSVMClassifier(6, max_iter=2, random_state=0),
    ML3Classifier(3, max_iter=2, random_state=0),
    ML3Classifier(3, p=1, max_iter=2, random_state=0),
    AtlasClassifier(random_state=0),
    AtlasClassifier(multi_class="ovo", normalize=False, random_state=0),
    AtlasClassifier(kernel="linear", random_state=0),
    AtlasClassifier(kernel="quadratic", random_state=0),
    AtlasClassifier(kernel="quadratic-cross", normalize=False, random_state=0),
]


def name_of(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=120)
    return rng.normal(size=(120, 5)) + 2 * rng.normal(size=(3, 5))[y], y


def spoiled(X, y):
    """Blocks that leave NaN or infinity in some models: (rows, weights)."""
    even = np.ones(len(y))
    for value in (1e300, np.finfo(float).max):
        huge = X.copy()
        huge[7, 2] = value
        yield huge, even
    for offset in (1e4, 1e8, 1e15, 1e150):
        yield X + offset, even
    for weight in (1e30, 1e300):
        yield X, weight * even


def is_finite(model):
    return all(np.isfinite(array).all() for array in model._get_state().values())


@pytest.mark.parametrize("model", STREAMS, ids=name_of)
def test_a_block_that_would_leave_nan_is_refused(model, rows):
    X, y = rows
    model = deepcopy(model).partial_fit(X, y, classes=[0, 1, 2])
    expected = deepcopy(model).partial_fit(X, y)
    refused = 0
    for huge, weights in spoiled(X, y):
        tried = deepcopy(model)
        try:
            tried.partial_fit(huge, y, sample_weight=weights)
        except ValueError as error:
            refused += "stays as it was" in str(error)
            tried.partial_fit(X, y)  # it goes on as if nothing had been
            assert_array_equal(tried.coef_, expected.coef_)
        assert is_finite(tried)
    assert refused > 0


@pytest.mark.parametrize("model", STREAMS, ids=name_of)
def test_a_stream_with_such_a_block_is_refused(model, rows):
    X, y = rows
    before = deepcopy(model).partial_fit(X, y, classes=[0, 1, 2])
    for huge, weights in spoiled(X, y):
        tried = deepcopy(before)
        blocks = [(X, y, np.ones(len(y))), (huge, y, weights)]
        try:
            tried.fit_stream(
                blocks, buffer_size=60, scan=False, classes=[0, 1, 2], n_rows=240
            )
        except ValueError:
            assert_array_equal(tried.coef_, before.coef_)
        assert is_finite(tried)


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_scores_of_long_rows_are_finite(model, form, dtype, rows):
    X, y = rows
    X = X.astype(dtype)
    model.fit(form(X), y)
    powers = np.linspace(0, np.log10(np.finfo(dtype).max), 12)[:-1]
    long = np.vstack([X[:4] * dtype(10.0**power / 10) for power in powers])
    most = np.finfo(dtype).max
    extreme = np.array([[most] * 5, [-most] * 5, [most, -most, 0, 1, most]], dtype)
    long = np.vstack([long, extreme, X])
    names = ["decision_function", "local_coef", "local_intercept", "predict_proba"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in filter(lambda name: hasattr(model, name), names):
            together = getattr(model, name)(form(long))
            assert np.isfinite(together).all()
            alone = getattr(model, name)(form(X))
            assert_allclose(together[-len(X) :], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "transformer",
    [
        Atlas(random_state=0),
        Atlas(output="coordinates", random_state=0),
        InverseDistanceCoding(6, n_neighbors=3, random_state=0),
        SoftAssignmentCoding(6, n_neighbors=3, random_state=0),
        AdaptiveCoding(6, random_state=0),
    ],
    ids=name_of,
)
def test_features_of_long_rows_are_finite(transformer, rows):
    X = rows[0]
    transformer.fit(X)
    for size in (1e100, 1e154, 1e200, np.finfo(float).max / 20):
        found = transformer.transform(X * size)
        values = found.data if sparse.issparse(found) else found
        assert np.isfinite(values).all()
        if isinstance(transformer, Atlas):
            assert np.isfinite(transformer.reconstruction_errors(X * size)).all()
