"""Kernels against their slow twins, finite differences and generic optimisers."""

import ast
from pathlib import Path

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize_scalar

from locallin.engine.matrix import as_rows
from locallin.kernels import charts, dual, linear, losses, predict, products
from locallin.kernels.rows import Codes

STRATEGIES = {"ovr": linear.ONE_VS_REST, "crammer_singer": linear.CRAMMER_SINGER}


def csr_codes(codes):
    matrix = sparse.csr_matrix(codes)
    return Codes(matrix.indptr, matrix.indices, matrix.data)


@pytest.fixture
def local_problem(blobs):
    X, y, weights = blobs
    anchors = X[:7]
    codes = reference.soft_assignment(X, anchors, 3, 0.2)
    return X, codes, y, weights / weights.mean()


@pytest.mark.parametrize("name", losses.LOSSES)
def test_slope_is_the_derivative(name):
    code = losses.LOSSES[name]
    margins = np.array([-700.0, -30.0, -1.3, -1e-9, 0.0, 0.4, 0.97, 1.04, 3.0, 700.0])
    h = 1e-6
    for m in margins:
        numeric = (losses.loss_value(code, m + h) - losses.loss_value(code, m - h)) / (
            2 * h
        )
        assert_allclose(losses.loss_slope(code, m), numeric, rtol=1e-5, atol=1e-7)
        assert_allclose(losses.loss_value(code, m), reference.loss(name, m), rtol=1e-12)


@pytest.mark.parametrize("name", losses.LOSSES)
def test_curvature_bounds_the_second_difference(name):
    code = losses.LOSSES[name]
    margins = np.linspace(-6, 6, 200)
    slopes = np.array([losses.loss_slope(code, m) for m in margins])
    bends = np.diff(slopes) / np.diff(margins)
    if name == "hinge":
        assert losses.loss_curvature(code) == 0
    else:
        assert bends.max() <= losses.loss_curvature(code) * (1 + 1e-9)
        assert bends.max() >= 0.9 * losses.loss_curvature(code)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", ["dense", "csr", "csr64"])
@pytest.mark.parametrize("n_scores", [1, 2, 4, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_equal_the_twin(local_problem, kind, n_scores, dtype):
    X, codes, _, _ = local_problem
    X = X * (np.abs(X) > 0.5)
    rng = np.random.RandomState(1)
    coef = rng.normal(size=(7, n_scores, 6)).astype(dtype)
    intercept = rng.normal(size=(7, n_scores)).astype(dtype)
    out = np.empty((len(X), n_scores), dtype)
    kernel_codes = csr_codes(codes.astype(dtype))
    if kind == "dense":
        predict.dense_scores(X.astype(dtype), kernel_codes, coef, intercept, out)
    else:
        matrix = sparse.csr_matrix(X.astype(dtype))
        if kind == "csr64":
            matrix.indices = matrix.indices.astype(np.int64)
            matrix.indptr = matrix.indptr.astype(np.int64)
        predict.csr_scores(as_rows(matrix), kernel_codes, coef, intercept, out)
    expected = reference.scores(X, codes, coef, intercept)
    assert_allclose(
        out, expected, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-5
    )


def test_a_row_scores_the_same_alone_and_in_a_batch(local_problem):
    X, codes, _, _ = local_problem
    rng = np.random.RandomState(1)
    coef, intercept = rng.normal(size=(7, 6, 6)), rng.normal(size=(7, 6))
    together = np.empty((len(X), 6))
    predict.dense_scores(X, csr_codes(codes), coef, intercept, together)
    for i in range(len(X)):
        alone = np.empty((1, 6))
        predict.dense_scores(
            X[i : i + 1], csr_codes(codes[i : i + 1]), coef, intercept, alone
        )
        assert (alone == together[i]).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [0, 1, 6, 127, 128, 131])
@pytest.mark.parametrize("n_columns", [1, 9, 261])
def test_products_are_those_of_each_row(width, n_columns, dtype):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(6, width)).astype(dtype)
    table = rng.normal(size=(n_columns, width)).astype(dtype)
    together = products.row_products(X, table)
    sums = products.row_sums(X, np.ascontiguousarray(table.T))
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    for found in (together, sums, products.blas_products(X, table)):
        assert found.dtype == dtype
        assert_allclose(found, np.einsum("if,jf->ij", X, table), atol=tolerance)
    for rows in ([5], [2, 0], [4, 3, 1, 0, 2]):
        assert (products.row_products(X[rows], table) == together[rows]).all()


def test_coordinates_equal_the_twin(local_problem):
    X, codes, _, _ = local_problem
    rng = np.random.RandomState(0)
    means, bases = rng.normal(size=(7, 6)), rng.normal(size=(7, 3, 6))
    entries = predict.entries_by_anchor(csr_codes(codes), 7)
    out = np.empty((len(entries[1]), 3))
    charts.chart_coordinates(X, entries, means, bases, out)
    i, j = codes.nonzero()
    expected = np.einsum("edf,ef->ed", bases[j], X[i] - means[j])
    assert_allclose(out, expected, atol=1e-12)


@pytest.mark.in_turn
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", losses.LOSSES)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("free", [False, True])
def test_sgd_equals_the_twin(local_problem, name, strategy, kind, free):
    X, codes, y, weights = local_problem
    alpha, t0, constant = 0.01, 30.0, 0.7
    order = np.random.RandomState(2).randint(len(X), size=400)
    positive = np.arange(5)
    shape = (7, 5)
    iterate = linear.Iterate(
        np.zeros((*shape, 6)), np.zeros(shape), np.zeros((*shape, 6)), np.zeros(shape)
    )
    rows = as_rows(X if kind == "dense" else sparse.csr_matrix(X))
    target = linear.Target(y, positive, weights)
    schedule = linear.Schedule(alpha, t0, constant**2, True, free)
    loss, how = losses.LOSSES[name], STRATEGIES[strategy]
    data = linear.DataTerm(rows, csr_codes(codes), target, loss, how)
    # Two ranges in turn, as two threads would take them.
    ranges = [(0, 4), (4, 5)] if strategy == "ovr" else [(0, 5)]
    for first, last in ranges:
        state = linear.fresh_state(0.0)
        linear.sgd_steps(data, order, iterate, state, schedule, first, last)
        linear.settle(iterate, state, schedule, first, last)
    last, mean = reference.sgd(
        X, codes, y, positive, order, name, alpha, t0, constant, weights, strategy,
        free_intercept=free,
    )  # fmt: skip
    for coef, intercept, expected in (
        (iterate.coef, iterate.intercept, last),
        (iterate.mean_coef, iterate.mean_intercept, mean),
    ):
        packed = np.concatenate([coef, intercept[..., None] / constant], axis=2)
        packed = packed.transpose(1, 0, 2).reshape(5, -1)
        assert_allclose(packed, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("free", [False, True])
def test_settling_in_the_middle_changes_nothing(local_problem, free):
    X, codes, y, weights = local_problem
    order = np.random.RandomState(3).randint(len(X), size=200)
    data = linear.DataTerm(
        as_rows(X), csr_codes(codes), linear.Target(y, np.arange(5), weights),
        losses.SQUARED_HINGE, linear.ONE_VS_REST,
    )  # fmt: skip
    schedule = linear.Schedule(0.05, 5.0, 1.0, True, free)
    results = []
    for pieces in (1, 5):
        iterate = linear.Iterate(*(np.zeros(s) for s in ((7, 5, 6), (7, 5)) * 2))
        state = linear.fresh_state(0.0)
        for part in np.array_split(order, pieces):
            linear.sgd_steps(data, part, iterate, state, schedule, 0, 5)
            linear.settle(iterate, state, schedule, 0, 5)
        assert state[0] == 200
        results.append(iterate)
    for a, b in zip(*results, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", losses.LOSSES)
def test_gap_terms_are_a_duality_gap(name):
    """Never negative, and zero where the variable suits the margin."""
    code = losses.LOSSES[name]
    rng = np.random.RandomState(0)
    for _ in range(300):
        upper = np.exp(rng.normal())
        margin = 2 * rng.normal()
        if name == "squared_hinge":
            a = abs(rng.normal())
            best = 2 * upper * max(0, 1 - margin)
        elif name == "logistic":
            a = upper * rng.uniform()
            best = upper / (1 + np.exp(margin))
        else:
            a = upper * rng.uniform()
            best = upper * (margin < 1)
        assert dual.gap_term(code, margin, a, upper) >= -1e-12
        assert abs(dual.gap_term(code, margin, best, upper)) < 1e-9 * (1 + upper)


def test_logistic_step_minimises_its_variable():
    rng = np.random.RandomState(0)
    for _ in range(200):
        upper, quadratic = np.exp(3 * rng.normal(size=2))
        a, margin = upper * rng.uniform(), 5 * rng.normal()

        def value(v, a=a, upper=upper, quadratic=quadratic, margin=margin):
            rest = upper - v
            entropy = v * np.log(v) + rest * np.log(rest)
            return quadratic / 2 * (v - a) ** 2 + margin * (v - a) + entropy

        found = dual._logistic_minimiser(a, upper, quadratic, margin)
        assert 0 < found < upper
        best = minimize_scalar(
            value,
            bounds=(1e-14 * upper, upper * (1 - 1e-14)),
            method="bounded",
            options={"xatol": 1e-12 * upper},
        )
        assert value(found) <= best.fun + 1e-9 * (1 + abs(best.fun))


def test_crammer_singer_step_minimises_its_block():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.RandomState(0)
    for _ in range(25):
        n, label = 5, rng.randint(5)
        f, norm, upper = rng.normal(size=n), np.exp(rng.normal()), np.exp(rng.normal())
        old = -upper * rng.dirichlet(np.ones(n)) * rng.uniform()
        old[label] = 0
        old[label] = -old.sum()
        found = np.empty(n)
        dual._block_minimiser(f, label, upper, norm, old, found)
        cost = np.arange(n) != label
        a = cvxpy.Variable(n)
        linear_part = f + cost - norm * old
        goal = cvxpy.Minimize(norm / 2 * cvxpy.sum_squares(a) + linear_part @ a)
        bounds = [cvxpy.sum(a) == 0, a <= upper * (np.arange(n) == label)]
        cvxpy.Problem(goal, bounds).solve(solver="CLARABEL")
        assert_allclose(found, a.value, atol=1e-6)


def test_no_kernel_has_more_than_eight_arguments():
    """What belongs together is a named tuple."""
    found = {}
    for file in Path(linear.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                decorators = [ast.unparse(one) for one in node.decorator_list]
                if any(one.split("(")[0] == "jit" for one in decorators):
                    found[f"{file.stem}.{node.name}"] = len(node.args.args)
    assert len(found) > 100
    assert {name: count for name, count in found.items() if count > 8} == {}
