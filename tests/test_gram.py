"""The matrix of the chart kernel, and charts from elsewhere."""

import pickle
from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel
from sklearn.svm import SVC

from locallin import Atlas, AtlasClassifier
from locallin.gram import atlas_from_charts, chart_kernel


@pytest.fixture(scope="module")
def charted():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    return X, y, Atlas(5, init="kmeans", n_proposals=8, random_state=0).fit(X)


def slow(atlas, X, Y, local, normalize):
    """Eq. 5 and 8, row by row."""

    def seen(x):
        errors = []
        for mean, C in zip(atlas.means_, atlas.components_, strict=True):
            rest = (x - mean) - C.T @ (C @ (x - mean))
            errors.append(rest @ rest)
        near = np.argsort(errors)[: atlas.n_nearest_]
        weights = np.exp(-np.array(errors)[near] / atlas.gamma_**2)
        points = [atlas.components_[i] @ (x - atlas.means_[i]) for i in near]
        return dict(zip(near, zip(weights, points, strict=True), strict=True))

    def value(a, b):
        return sum(a[i][0] * b[i][0] * local(a[i][1], b[i][1]) for i in a if i in b)

    rows, others = [seen(x) for x in X], [seen(x) for x in Y]
    K = np.array([[value(a, b) for b in others] for a in rows])
    if normalize:
        K /= np.sqrt([value(a, a) for a in rows])[:, None]
        K /= np.sqrt([value(b, b) for b in others])
    return K


@pytest.mark.parametrize("normalize", [True, False])
def test_matrix_is_that_of_the_paper(charted, normalize):
    X, _, atlas = charted
    local = {
        "rbf": lambda p, q: np.exp(-((p - q) ** 2).sum() / 0.7**2),
        "linear": lambda p, q: p @ q + 1,
    }
    for kernel, function in local.items():
        sigma = 0.7 if kernel == "rbf" else None
        K = chart_kernel(
            atlas, X[:20], X[15:40], kernel=kernel, sigma=sigma, normalize=normalize
        )
        assert_allclose(K, slow(atlas, X[:20], X[15:40], function, normalize))


def test_machines_on_the_matrix_are_those_of_the_classifier(charted):
    X, y, atlas = charted
    clf = AtlasClassifier(
        FrozenEstimator(atlas), loss="hinge", alpha=1 / (3.0 * len(X)), tol=1e-6
    ).fit(X, y == 3)
    settings = {
        "sigma": clf.sigma_, "gamma": clf.gamma_, "n_nearest": clf.n_nearest_
    }  # fmt: skip
    K = chart_kernel(atlas, X, **settings)
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-6).fit(K, y == 3)
    assert_allclose(svc.decision_function(K), clf.decision_function(X), atol=1e-4)


def test_any_kernel_can_be_the_local_one(charted):
    X, _, atlas = charted
    for kernel in (laplacian_kernel, polynomial_kernel):
        K = chart_kernel(atlas, X[:60], kernel=kernel)
        assert_allclose(K, K.T)
        assert_allclose(np.diag(K), 1)
        assert np.linalg.eigvalsh(K).min() > -1e-8
    with pytest.raises(ValueError, match="returned an array of shape"):
        chart_kernel(atlas, X[:9], kernel=lambda P, Q: P)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_the_same_as_dense_ones(charted, dtype):
    X, _, atlas = charted
    X = X[:30].astype(dtype)
    K = chart_kernel(atlas, X, sigma=1.0)
    assert K.dtype == dtype
    assert_allclose(chart_kernel(atlas, sparse.csr_matrix(X), sigma=1.0), K)


def test_settings_are_checked(charted):
    X, _, atlas = charted
    with pytest.raises(ValueError, match="sigma=None"):
        chart_kernel(atlas, X)
    with pytest.raises(ValueError, match="kernel='cubic'"):
        chart_kernel(atlas, X, kernel="cubic")
    with pytest.raises(ValueError, match="gamma=-1"):
        chart_kernel(atlas, X, sigma=1.0, gamma=-1)
    with pytest.raises(ValueError, match="setting of kernel='rbf'"):
        chart_kernel(atlas, X, kernel="linear", sigma=1.0)


def test_charts_from_elsewhere_serve_as_learned_ones(charted):
    X, y, atlas = charted
    given = atlas_from_charts(
        atlas.means_, atlas.components_, X, gamma=atlas.gamma_, random_state=0
    )
    assert_allclose(given.transform(X).toarray(), atlas.transform(X).toarray())
    errors = atlas.reconstruction_errors(X)
    assert_array_equal(given.labels_, errors.argmin(axis=1))
    assert_array_equal(given.members(2), np.flatnonzero(given.labels_ == 2))
    assert given.energy_ == pytest.approx(errors.min(axis=1).sum())
    again = pickle.loads(pickle.dumps(given))
    clf = AtlasClassifier(FrozenEstimator(again)).fit(X, y)
    assert clf.score(X, y) > 0.95


def test_charts_that_are_none_are_refused(charted):
    X, _, atlas = charted
    with pytest.raises(ValueError, match=r"chart \d .* not orthonormal"):
        atlas_from_charts(atlas.means_, 2 * atlas.components_, X)
    with pytest.raises(ValueError, match="components has the shape"):
        atlas_from_charts(atlas.means_[:2], atlas.components_, X)
    with pytest.raises(ValueError, match="X has 3 features"):
        atlas_from_charts(atlas.means_, atlas.components_, X[:, :3])


def test_nearest_neighbours_by_the_kernel_are_those_of_the_chart(charted):
    X, _, atlas = charted
    K = chart_kernel(atlas, X[200:], X[:200], sigma=10.0, n_nearest=1)
    places = copy(atlas).set_params(output="coordinates").transform(X)
    for row, place in zip(K, places[200:], strict=True):
        same = np.flatnonzero(places[:200, 0] == place[0])
        lengths = ((places[same, 1:] - place[1:]) ** 2).sum(axis=1)
        assert row.argmax() == same[lengths.argmin()]
