import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from locallin.anchors import choose_anchors

STRATEGIES = ["kmeans", "random", "kmeans-per-class"]


@pytest.fixture
def clusters():
    rng = np.random.RandomState(0)
    centres = 10 * rng.normal(size=(6, 4))
    y = rng.randint(6, size=600)
    return centres, centres[y] + 0.1 * rng.normal(size=(600, 4)), y


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_anchors_are_dense_distinct_and_of_the_datas_kind(
    clusters, strategy, kind, dtype
):
    _, X, y = clusters
    X = kind(X.astype(dtype))
    anchors = choose_anchors(X, 9, strategy, y=y, random_state=0)
    assert anchors.shape == (9, 4)
    assert anchors.dtype == dtype
    assert anchors.flags.c_contiguous
    again = choose_anchors(X, 9, strategy, y=y, random_state=0)
    assert_array_equal(anchors, again)


def test_kmeans_per_class_finds_each_class(clusters):
    centres, X, y = clusters
    anchors = choose_anchors(X, 6, "kmeans-per-class", y=y, random_state=0)
    assert_allclose(anchors, centres, atol=0.1)


def test_shares_per_class_follow_the_rows():
    X = np.arange(100.0).reshape(-1, 1)
    y = np.repeat([0, 1], [90, 10])
    anchors = choose_anchors(X, 12, "kmeans-per-class", y=y, random_state=0)
    assert (anchors < 89.5).sum() == 10
    assert (anchors > 89.5).sum() == 2


def test_mini_batches_find_the_clusters_of_large_data(monkeypatch):
    monkeypatch.setattr("locallin.anchors._LLOYD_ENTRIES", 10_000)
    rng = np.random.RandomState(0)
    centres = 10 * rng.normal(size=(5, 3))
    X = centres[rng.randint(5, size=12_000)] + 0.1 * rng.normal(size=(12_000, 3))
    anchors = choose_anchors(X, 20, random_state=0)
    nearest = np.linalg.norm(X[:, None] - anchors, axis=2).min(axis=1)
    assert nearest.mean() < 0.3


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fewer_rows_than_anchors(strategy):
    X = np.array([[0.0, 1.0], [2.0, 3.0], [2.0, 3.0]])
    anchors = choose_anchors(X, 10, strategy, y=[0, 1, 1], random_state=0)
    assert_array_equal(np.unique(anchors, axis=0), X[:2])


def test_repeated_rows_give_fewer_anchors():
    X = np.repeat([[0.0], [1.0], [5.0]], 50, axis=0)
    anchors = choose_anchors(X, 10, random_state=0)
    assert_allclose(np.sort(anchors.ravel()), [0, 1, 5])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_of_weight_zero_are_not_seen(clusters, strategy):
    _, X, y = clusters
    weight = (np.arange(600) < 300).astype(float)
    seen = choose_anchors(X, 8, strategy, y=y, sample_weight=weight, random_state=0)
    alone = choose_anchors(X[:300], 8, strategy, y=y[:300], random_state=0)
    assert_array_equal(seen, alone)


def test_given_anchors_are_copied():
    given = np.array([[1.0, 2.0], [1.0, 2.0]])
    taken = choose_anchors(np.zeros((3, 2)), anchors=given)
    assert_array_equal(taken, given)
    given[:] = 7
    assert taken[0, 0] == 1


def test_errors_name_the_culprit():
    X = np.zeros((5, 3))
    with pytest.raises(ValueError, match="anchors has 2 features, but X has 3"):
        choose_anchors(X, anchors=np.zeros((4, 2)))
    with pytest.raises(ValueError, match="anchors contains NaN"):
        choose_anchors(X, anchors=[[np.nan, 0, 0]])
    with pytest.raises(ValueError, match="n_anchors=1 but there are 2 classes"):
        choose_anchors(X, 1, "kmeans-per-class", y=[0, 0, 1, 1, 1])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_clusters_of_any_scale_are_found(clusters, scale):
    _, X, _ = clusters
    X = X.astype(np.float32)
    anchors = choose_anchors(X, 6, random_state=0)
    scaled = choose_anchors(X * np.float32(scale), 6, random_state=0)
    assert_allclose(scaled, anchors * np.float32(scale), rtol=1e-2)
