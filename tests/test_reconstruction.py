"""Codings by reconstruction: optimal, sparse as dense, and usable in classifiers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn.datasets import load_digits, make_moons

from locallin import LLSVMClassifier
from locallin.coding import LAECoding, LCCCoding, LLCCoding
from locallin.coding.anchor_learning import NearCodes, best_anchors, bound
from locallin.coding.local_problems import lasso_minima, simplex_minima
from locallin.kernels.local_problems import project

CODINGS = [
    LLCCoding(12, random_state=0),
    LAECoding(12, n_neighbors=4, random_state=0),
    LCCCoding(12, n_neighbors=6, random_state=0),
]


def near(coding, x):
    """Nearest anchors of a row, ascending by their number."""
    distances = ((coding.anchors_ - x) ** 2).sum(axis=1)
    return np.sort(np.argsort(distances, kind="stable")[: coding.n_neighbors_])


def test_llc_is_the_closed_form():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 9))
    coding = LLCCoding(12, penalty=1e-2, random_state=0).fit(X)
    codes = coding.transform(X).toarray()
    for x, code in zip(X, codes, strict=True):
        chosen = near(coding, x)
        differences = x - coding.anchors_[chosen]
        C = differences @ differences.T
        C += 1e-2 * np.trace(C) * np.eye(len(C))
        g = np.linalg.solve(C, np.ones(len(C)))
        assert_allclose(code[chosen], g / g.sum(), rtol=1e-8, atol=1e-10)
        assert np.count_nonzero(code) == len(chosen)


def test_lae_is_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3)) * 2
    coding = LAECoding(15, n_neighbors=5, random_state=0).fit(X)
    codes = coding.transform(X).toarray()
    assert codes.min() >= 0
    assert_allclose(codes.sum(axis=1), 1)
    for x, code in zip(X, codes, strict=True):
        chosen = near(coding, x)
        V = coding.anchors_[chosen]
        found = optimize.minimize(
            lambda g, V=V, x=x: ((x - g @ V) ** 2).sum(),
            np.full(len(V), 1 / len(V)),
            jac=lambda g, V=V, x=x: -2 * V @ (x - g @ V),
            bounds=[(0, 1)] * len(V),
            constraints={"type": "eq", "fun": lambda g: g.sum() - 1},
            options={"ftol": 1e-14},
        )
        assert ((x - code[chosen] @ V) ** 2).sum() <= found.fun + 1e-7


def test_simplex_minima_meet_the_conditions_of_optimality():
    rng = np.random.default_rng(2)
    roots = rng.standard_normal((200, 6, 6)) * np.logspace(-2, 0, 6)
    Q = roots @ roots.swapaxes(1, 2)
    Q /= np.trace(Q, axis1=1, axis2=2)[:, None, None]
    g = simplex_minima(Q)
    slopes = (Q @ g[:, :, None])[:, :, 0]
    least = slopes.min(axis=1)
    assert ((g * slopes).sum(axis=1) - least).max() < 1e-5
    assert_allclose(simplex_minima(np.zeros((2, 3, 3))), 1 / 3)


def test_lcc_minimises_its_bound():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((25, 4)) * 2
    coding = LCCCoding(12, n_neighbors=5, mu=0.05, random_state=0).fit(X)
    codes = coding.transform(X).toarray()
    assert codes.min() < 0
    assert_allclose(codes.sum(axis=1), 1)
    for x, code in zip(X, codes, strict=True):
        V = coding.anchors_[near(coding, x)]
        distances = ((x - V) ** 2).sum(axis=1)

        def bound(g, V=V, x=x, distances=distances):
            return ((x - g @ V) ** 2).sum() / 2 + 0.05 * np.abs(g) @ distances

        # Parts of either sign, each of them smooth.
        found = optimize.minimize(
            lambda pair, bound=bound: bound(pair[:5] - pair[5:]),
            np.r_[np.full(5, 0.2), np.zeros(5)],
            bounds=[(0, None)] * 10,
            constraints={"type": "eq", "fun": lambda p: p[:5].sum() - p[5:].sum() - 1},
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert bound(code[near(coding, x)]) <= found.fun + 1e-5


def slow_bound(X, V, G, mu, weights):
    """What LCC minimises over weights and anchors, as it is written."""
    total = 0.0
    for x, g, weight in zip(X, G, weights, strict=True):
        lengths = ((x - V) ** 2).sum(axis=1)
        total += weight * (((x - g @ V) ** 2).sum() / 2 + mu * np.abs(g) @ lengths)
    return total / weights.sum()


def test_anchors_are_the_best_for_the_codes():
    rng = np.random.default_rng(7)
    X, V = rng.standard_normal((30, 3)), rng.standard_normal((6, 3))
    weights = rng.uniform(0, 2, 30)
    nearest = np.array([np.sort(rng.choice(5, 3, False)) for _ in X])
    codes = NearCodes(nearest, rng.dirichlet(np.ones(3), 30) * 3 - 2 / 3)
    G = np.zeros((30, 6))
    np.put_along_axis(G, codes.nearest, codes.weights, axis=1)
    share, unit = weights / weights.sum(), np.float64(2.0)
    got = bound(X, V, codes, 0.1, share, unit) * 4
    assert got == pytest.approx(slow_bound(X, V, G, 0.1, weights))
    best = best_anchors(X, V, codes, 0.1, share, unit)
    assert_allclose(best[5], V[5], rtol=1e-12)  # no row uses it
    found = optimize.minimize(
        lambda flat: slow_bound(X, flat.reshape(6, 3), G, 0.1, weights),
        V.ravel(),
        options={"gtol": 1e-8},
    )
    assert_allclose(best, found.x.reshape(6, 3), atol=1e-5)
    as_csr = best_anchors(sparse.csr_matrix(X), V, codes, 0.1, share, unit)
    assert_allclose(as_csr, best)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_learning_anchors_lowers_the_bound(form):
    X = load_digits().data[:300] / 16
    weights = np.random.default_rng(8).uniform(0, 2, 300)
    settings = {"n_neighbors": 5, "random_state": 0}
    start = LCCCoding(20, max_iter=0, **settings).fit(form(X), None, weights)
    assert start.n_iter_ == 0
    moved = LCCCoding(20, tol=0, **settings).fit(form(X), None, weights)
    assert moved.n_iter_ > 2
    assert (np.diff(moved.objective_history_) < 0).all()
    ends = [
        slow_bound(X, c.anchors_, c.transform(X).toarray(), 0.1, weights)
        for c in (start, moved)
    ]
    assert ends[1] < 0.97 * ends[0]
    assert ends[1] / ends[0] == pytest.approx(moved.objective_history_[-1], rel=1e-4)
    again = LCCCoding(anchors=start.anchors_, tol=0, **settings)
    again.fit(form(X), None, weights)
    assert_allclose(again.anchors_, moved.anchors_)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_anchors_learn_in_any_unit(size):
    X = make_moons(100, noise=0.1, random_state=0)[0]
    ends = [
        LCCCoding(10, n_neighbors=3, anchors=X[:10] * unit).fit(X * unit).anchors_
        for unit in (1.0, size)
    ]
    assert_allclose(ends[1] / size, ends[0], rtol=1e-3, atol=1e-3)


def projected(points, prices, signed):
    found = np.empty_like(points)
    for i in range(len(points)):
        project(points[i], prices[i], signed, np.empty(2 * points.shape[1]), found[i])
    return found


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_shrinking_is_soft_thresholding_at_the_shift_where_weights_sum_to_one(k):
    rng = np.random.default_rng(k)
    points, prices = rng.standard_normal((40, k)), rng.uniform(0, 1, (40, k))
    points[:10] = np.round(points[:10])  # thresholds that coincide
    prices[:10] = np.round(prices[:10], 1)
    for signed in (True, False):
        c = prices if signed else np.zeros_like(prices)
        found = projected(points, c, signed)
        for point, price, weights in zip(points, c, found, strict=True):

            def left(shift, point=point, price=price, signed=signed):
                moved = point - shift
                least = -np.inf if signed else 0.0
                shrunk = np.sign(moved) * np.maximum(np.abs(moved) - price, 0)
                return np.maximum(shrunk, least)

            shift = optimize.brentq(lambda s, left=left: left(s).sum() - 1, -20, 20)
            assert_allclose(weights, left(shift), atol=1e-9)


def test_shrinking_is_a_minimum_and_no_price_is_a_projection():
    rng = np.random.default_rng(6)
    points, prices = rng.standard_normal((60, 5)), rng.uniform(0, 1, (60, 5))
    found = projected(points, prices, signed=True)
    assert_allclose(found.sum(axis=1), 1)

    def value(g):
        return ((g - points) ** 2).sum(axis=1) / 2 + (prices * np.abs(g)).sum(axis=1)

    for _ in range(50):
        other = rng.standard_normal((60, 5)) * 0.3
        other -= other.mean(axis=1, keepdims=True)
        assert (value(found) <= value(found + other) + 1e-9).all()
    free = lasso_minima(np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)))
    assert_allclose(free, 1 / 3, atol=1e-6)


def test_projection_onto_the_simplex():
    points = np.random.default_rng(3).standard_normal((50, 4)) * 3
    found = projected(points, np.zeros_like(points), signed=False)
    assert_allclose(found.sum(axis=1), 1)
    assert found.min() >= 0
    others = np.random.default_rng(4).dirichlet(np.ones(4), 500)
    best = ((points[:, None] - others) ** 2).sum(axis=2).min(axis=1)
    assert (((points - found) ** 2).sum(axis=1) <= best).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("coding", CODINGS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_and_rows_alone_have_the_same_codes(coding, dtype):
    X = sparse.random(300, 40, 0.1, "csr", dtype=dtype, random_state=0)
    codes = coding.fit(X.toarray()).transform(X.toarray())
    assert codes.dtype == dtype
    assert codes.has_canonical_format
    atol = 1e-9 if dtype == np.float64 else 2e-2
    assert_allclose(coding.transform(X).toarray(), codes.toarray(), atol=atol)
    alone = sparse.vstack([coding.transform(X[i : i + 1].toarray()) for i in range(9)])
    assert_allclose(alone.toarray(), codes[:9].toarray(), atol=atol)


@pytest.mark.parametrize("coding", CODINGS, ids=lambda c: type(c).__name__)
def test_codes_are_finite_at_the_edges(coding):
    X = np.random.default_rng(0).standard_normal((40, 2))
    X[:10] = X[10]
    coding.fit(X)
    hard = np.vstack([coding.anchors_, [[1e300, -1e300], [1e-300, 0], [0, 0]]])
    codes = coding.transform(hard).toarray()
    assert np.isfinite(codes).all()
    assert_allclose(codes.sum(axis=1), 1, atol=1e-6)
    assert_allclose(codes[:12] @ coding.anchors_, coding.anchors_, atol=1e-2)


def test_classifiers_learn_with_weights_of_either_sign():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    coding = LLCCoding(30, n_neighbors=5, random_state=0)
    clf = LLSVMClassifier(coding=coding, random_state=0).fit(X[:1000], y[:1000])
    assert clf.coding_.transform(X).min() < 0
    assert clf.score(X[1000:], y[1000:]) > 0.93
    rows = X[1000:1020]
    local = (clf.local_coef(rows) * rows[:, None]).sum(-1) + clf.local_intercept(rows)
    assert_allclose(local, clf.decision_function(rows))


def test_explanations_are_sums_and_exports_say_what_to_do(tmp_path):
    from locallin.export import load, save, to_c
    from locallin.inspection import explain

    X, y = make_moons(200, noise=0.1, random_state=0)
    clf = LLSVMClassifier(coding=LLCCoding(8, random_state=0), random_state=0)
    clf.fit(X, y)
    assert str(explain(clf, X[:1]))
    with pytest.raises(TypeError, match=r"LLCCoding.*only Python"):
        to_c(clf, "moons")
    pytest.importorskip("skops")
    save(clf, tmp_path / "llc.skops")
    again = load(tmp_path / "llc.skops")
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


def test_more_neighbors_than_anchors_are_refused():
    with pytest.raises(ValueError, match="n_neighbors=9"):
        LLCCoding(4, n_neighbors=9).fit([[0.0], [1.0]])
