"""Local coordinates: against the twins, at the edges of the number range, in use."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.coding.base import bandwidth_for_perplexity
from locallin.kernels.coding import ADAPTIVE, SOFT_ASSIGNMENT, mean_perplexity

CODINGS = [
    InverseDistanceCoding(12, n_neighbors=5, random_state=0),
    SoftAssignmentCoding(12, n_neighbors=5, random_state=0),
    AdaptiveCoding(12, perplexity=3, random_state=0),
]


def twin(coding, X):
    anchors = coding.anchors_.astype(float)
    if isinstance(coding, InverseDistanceCoding):
        return reference.inverse_distance(X, anchors, coding.n_neighbors_)
    if isinstance(coding, AdaptiveCoding):
        return reference.adaptive(X, anchors, coding.bandwidth_)
    return reference.soft_assignment(X, anchors, coding.n_neighbors_, coding.bandwidth_)


@pytest.mark.in_turn
@pytest.mark.parametrize("coding", CODINGS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0, 1000])
def test_codes_equal_the_twin(coding, dtype, shift):
    """Also far from the origin, where products of rows and anchors lose digits."""
    rng = np.random.RandomState(0)
    X = (rng.normal(size=(300, 9)) + shift).astype(dtype)
    X[:12] = X[12:24]
    coding.fit(X)
    codes = coding.transform(X)
    assert codes.dtype == dtype
    assert codes.has_canonical_format
    assert_allclose(
        codes.toarray(), twin(coding, X.astype(float)),
        rtol=1e-9 if dtype == np.float64 else 2e-3, atol=1e-12,
    )  # fmt: skip
    # Fewer rows take another route to the same bits.
    assert abs(coding.transform(X[:3]) - codes[:3]).max() == 0
    as_csr = coding.transform(sparse.csr_matrix(X))
    assert_allclose(as_csr.toarray(), codes.toarray(), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("coding", CODINGS, ids=lambda c: type(c).__name__)
def test_sparse_rows_equal_dense_rows(coding):
    X = sparse.random(200, 40, 0.1, "csr", random_state=0)
    X = sparse.vstack([X, sparse.csr_matrix((1, 40))], format="csr")
    on_anchors = coding.fit(X.toarray()).anchors_
    X = sparse.vstack([X, sparse.csr_matrix(on_anchors)], format="csr")
    dense = coding.transform(X.toarray()).toarray()
    for index in (np.int32, np.int64):
        matrix = X.copy()
        matrix.indices = matrix.indices.astype(index)
        matrix.indptr = matrix.indptr.astype(index)
        assert_allclose(coding.transform(matrix).toarray(), dense, atol=1e-10)
    shuffled = sparse.csr_matrix(
        (
            np.concatenate([X.data[::-1] / 2, X.data[::-1] / 2]),
            (np.tile(X.tocoo().row[::-1], 2), np.tile(X.indices[::-1], 2)),
        ),
        X.shape,
    )
    assert_allclose(coding.transform(shuffled).toarray(), dense, atol=1e-10)


finite = {"allow_nan": False, "allow_infinity": False}


@settings(max_examples=200)
@given(
    data=st.data(),
    dtype=st.sampled_from([np.float32, np.float64]),
    make=st.sampled_from(
        [
            lambda anchors: InverseDistanceCoding(n_neighbors=3, anchors=anchors),
            lambda anchors: SoftAssignmentCoding(n_neighbors=3, anchors=anchors),
            lambda anchors: AdaptiveCoding(anchors=anchors),
        ]
    ),
)
def test_weights_are_weights_for_any_finite_input(data, dtype, make):
    width = 32 if dtype == np.float32 else 64
    values = st.floats(width=width, **finite)
    anchors = data.draw(hnp.arrays(dtype, (4, 2), elements=values))
    X = data.draw(hnp.arrays(dtype, (3, 2), elements=values))
    if data.draw(st.booleans()):
        X[0] = anchors[0]
    coding = make(anchors).fit(X)
    for matrix in (X, np.tile(X, (4, 1)), sparse.csr_matrix(X)):
        codes = coding.transform(matrix).toarray()
        assert np.isfinite(codes).all()
        assert (codes >= 0).all()
        assert_allclose(codes.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1, 1e15, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_does_not_matter(scale, dtype):
    anchors = np.array([[0.0, 1.0], [2.0, 0.0], [5.0, 5.0]], dtype) * dtype(scale)
    X = np.array([[0.0, 1.0], [1.0, 0.5], [-3.0, 0.1]], dtype) * dtype(scale)
    codes = InverseDistanceCoding(n_neighbors=3, anchors=anchors).fit(X).transform(X)
    expected = reference.inverse_distance(
        X.astype(float) / scale, anchors.astype(float) / scale, 3
    )
    assert_allclose(codes.toarray(), expected, rtol=1e-5, atol=1e-7)
    assert codes.toarray()[0].tolist() == [1, 0, 0]


def test_ties_go_to_the_first_anchor_and_share_the_weight():
    anchors = [[1.0], [-1.0], [1.0], [-1.0]]
    for coding in (
        InverseDistanceCoding(n_neighbors=2, anchors=anchors),
        SoftAssignmentCoding(n_neighbors=2, anchors=anchors, beta=3.0),
    ):
        coding.fit([[0.0]])
        assert coding.transform([[0.0]]).toarray().tolist() == [[0.5, 0.5, 0, 0]]
        on_two = coding.transform([[1.0]]).toarray()
        assert on_two.tolist() == [[0.5, 0, 0.5, 0]]


@pytest.mark.parametrize("perplexity", [1.0, 1.5, 2.7, 4.9, 5.0])
@pytest.mark.parametrize("adaptive", [False, True])
def test_perplexity_is_met_and_frozen(perplexity, adaptive):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 3))
    if adaptive:
        coding = AdaptiveCoding(20, perplexity=perplexity)
    else:
        coding = SoftAssignmentCoding(20, n_neighbors=5, perplexity=perplexity)
    codes = coding.fit(X).transform(X).toarray()
    entropy = -(codes * np.log(np.where(codes > 0, codes, 1))).sum(axis=1)
    assert_allclose(np.exp(entropy).mean(), perplexity, rtol=1e-3)
    half = coding.transform(X[:200]).toarray()
    assert (half == codes[:200]).all()


@pytest.mark.parametrize("kind", [SOFT_ASSIGNMENT, ADAPTIVE])
def test_perplexity_is_met_in_any_unit(kind):
    distances = np.sort(np.random.RandomState(0).uniform(1, 2, size=(50, 6)), axis=1)
    for scale in (1e-140, 1e-20, 1, 1e20, 1e140):
        bandwidth = bandwidth_for_perplexity(distances * scale, 3.0, kind)
        found = mean_perplexity(distances * scale, kind, bandwidth)
        assert_allclose(found, 3.0, rtol=1e-3)


def test_bandwidth_of_equal_distances_is_finite():
    for value in (0.0, 1.0, 1e200):
        assert np.isfinite(bandwidth_for_perplexity(np.full((5, 3), value), 2.0))
    # Squared distances of 1e-316: their reciprocal leaves the range of a float.
    tiny = bandwidth_for_perplexity(np.array([[0.0, 1e-158]]), 1.5)
    assert 0 < tiny < np.inf


def test_codes_stand_alone_in_a_pipeline(digits):
    """LCC+SVM: a linear SVM on the local coordinates (LL-SVM paper, eq. 15)."""
    X, y, X_test, y_test = digits
    model = make_pipeline(
        SoftAssignmentCoding(200, random_state=0), LinearSVC(C=10, random_state=0)
    )
    assert model.fit(X, y).score(X_test, y_test) > 0.95


def test_pandas_output_is_refused_with_scikit_learns_advice():
    coding = SoftAssignmentCoding(3, n_neighbors=2).set_output(transform="pandas")
    with pytest.raises(ValueError, match="sparse"):
        coding.fit_transform(np.random.RandomState(0).normal(size=(9, 2)))


@pytest.mark.parametrize(
    ("coding", "error"),
    [
        (InverseDistanceCoding(4, n_neighbors=5), "n_neighbors=5 is more than n_anch"),
        (InverseDistanceCoding(anchors=[[1.0, 2.0]]), "n_neighbors=8 is more than the"),
        (
            InverseDistanceCoding(n_neighbors=1, anchors=[[1.0]]),
            "anchors has 1 features",
        ),
        (SoftAssignmentCoding(perplexity=17), "perplexity=17 is more than"),
        (SoftAssignmentCoding(perplexity=3, beta=1.0), "give one of them"),
        (SoftAssignmentCoding(beta=0.0), "'beta' parameter"),
        (SoftAssignmentCoding(anchors="nowhere"), "'anchors' parameter"),
        (SoftAssignmentCoding(anchors="kmeans-per-class"), "needs y"),
        (SoftAssignmentCoding("10"), "'n_anchors' parameter"),
        (AdaptiveCoding(mu=1.0, perplexity=2.0), "give one of them"),
        (AdaptiveCoding(mu=0.0), "'mu' parameter"),
    ],
)
def test_wrong_arguments_are_named(coding, error):
    with pytest.raises((ValueError, TypeError), match=error):
        coding.fit(np.random.RandomState(0).normal(size=(200, 2)))
    assert not hasattr(coding, "anchors_")
    assert not hasattr(coding, "n_features_in_")


def test_adaptive_coding_solves_its_convex_program():
    """Eq. 9 of the DU-LLSVM paper, by an interior-point solver."""
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.RandomState(0)
    for mu in (0.05, 0.5, 2.0, 20.0):
        X, anchors = rng.normal(size=(4, 3)), rng.normal(size=(7, 3))
        codes = AdaptiveCoding(mu=mu, anchors=anchors).fit(X).transform(X).toarray()
        for x, g in zip(X, codes, strict=True):
            u = mu * np.linalg.norm(x - anchors, axis=1)
            v = cvxpy.Variable(7)
            goal = cvxpy.Minimize(cvxpy.norm(v) + u @ v)
            cvxpy.Problem(goal, [v >= 0, cvxpy.sum(v) == 1]).solve(solver="CLARABEL")
            ours, theirs = (np.linalg.norm(w) + u @ w for w in (g, v.value))
            assert ours <= theirs + 1e-6
            assert_allclose(g, v.value, atol=1e-3)


def test_adaptive_coding_at_its_ends():
    anchors = np.arange(40.0)[:, None]
    all_active = AdaptiveCoding(mu=1e-6, anchors=anchors).fit([[0.0]])
    codes = all_active.transform([[3.2]]).toarray()
    assert_allclose(codes, 1 / 40, rtol=1e-3)
    nearest = AdaptiveCoding(mu=1e6, anchors=anchors).fit([[0.0]])
    assert nearest.transform([[3.2]]).toarray().argmax() == 3
    assert nearest.transform([[3.2]]).nnz == 1
    assert nearest.transform([[3.5]]).toarray()[0, 3:5].tolist() == [0.5, 0.5]
    one = AdaptiveCoding(anchors=[[7.0]]).fit([[0.0], [9.0]])
    assert one.transform([[1.0]]).toarray().tolist() == [[1.0]]
    same = AdaptiveCoding(mu=1.0, anchors=[[1.0]] * 5).fit([[0.0]])
    assert_allclose(same.transform([[1.0]]).toarray(), 0.2)


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_adaptive_coding_with_a_price_for_each_anchor(dtype, offset):
    """Also far from the origin, where the products that choose candidates round."""
    rng = np.random.RandomState(0)
    X = (offset + rng.normal(size=(200, 5))).astype(dtype)
    anchors = (offset + rng.normal(size=(60, 5))).astype(dtype)
    coding = AdaptiveCoding(mu=1.0, anchors=anchors).fit(X)
    coding.bandwidth_ = np.exp(rng.normal(size=60))
    slow = reference.adaptive(X.astype(float), anchors.astype(float), coding.bandwidth_)
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    assert_allclose(coding.transform(X).toarray(), slow, atol=tolerance)
    same = sparse.csr_matrix(X)
    assert_allclose(coding.transform(same).toarray(), slow, atol=10 * tolerance)


@pytest.mark.in_turn
@pytest.mark.parametrize("coding", [InverseDistanceCoding, AdaptiveCoding])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_metric_is_the_coding_of_mapped_rows(coding, kind):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 5))
    linear = rng.normal(size=(3, 5))
    for metric, mapped in ((linear, X @ linear.T), (linear[0], X * linear[0])):
        found = coding(metric=metric, anchors=mapped[:9]).fit(kind(X))
        wanted = coding(anchors=mapped[:9]).fit(mapped)
        codes = found.transform(kind(X)).toarray()
        np.testing.assert_allclose(codes, wanted.transform(mapped).toarray(), atol=1e-9)
        back = reference.in_metric(found.anchors_in_input(), metric)
        np.testing.assert_allclose(back, found.anchors_, atol=1e-9)


def test_a_metric_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="one scale of each"):
        AdaptiveCoding(2, metric=[[1.0, 2.0]]).fit(np.eye(3))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_metric_of_zeros_and_ones_codes_by_a_part_of_the_features(kind):
    X = np.random.RandomState(0).normal(size=(80, 6))
    part = np.array([1.0, 0, 1, 1, 0, 0])
    settings = {"n_neighbors": 4, "random_state": 0}
    some = SoftAssignmentCoding(9, metric=part, **settings).fit(kind(X))
    alone = SoftAssignmentCoding(9, **settings).fit(X[:, part > 0])
    codes = some.transform(kind(X)).toarray()
    assert_allclose(codes, alone.transform(X[:, part > 0]).toarray(), atol=1e-7)
