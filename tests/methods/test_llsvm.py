"""LL-SVM against independent solvers and the identities of its paper."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from locallin import LLSVMClassifier
from locallin.coding import SoftAssignmentCoding

MARGIN_LOSSES = ["hinge", "squared_hinge"]


def fitted(X, y, weights=None, **parameters):
    defaults = {"tol": 1e-9, "max_iter": 20_000, "random_state": 0}
    return LLSVMClassifier(**{**defaults, **parameters}).fit(X, y, weights)


def objective(model, X, y, weights=None):
    labels = np.searchsorted(model.classes_, y)
    n_classes = len(model.classes_)
    return reference.objective(
        X if model.local_model == "linear" else X[:, :0],
        model.coding_.transform(X).toarray(),
        model.coef_,
        model.intercept_,
        labels,
        np.array([1]) if n_classes == 2 else np.arange(n_classes),
        model.loss,
        model.alpha_,
        model.intercept_scaling_,
        weights,
        model.multi_class,
    )


def linear_objective(peer, Z, y, loss, alpha, constant, weights=None):
    """The same objective for a linear model on explicit features."""
    coef = np.concatenate([peer.coef_, peer.intercept_[:, None] / constant], axis=1)
    scores = Z @ peer.coef_.T + peer.intercept_
    labels = np.searchsorted(peer.classes_, y)
    positive = np.array([1]) if len(coef) == 1 else np.arange(len(coef))
    margins = np.where(labels[:, None] == positive, 1, -1) * scores
    weights = np.ones(len(y)) if weights is None else weights
    losses = (weights[:, None] * reference.loss(loss, margins)).sum() / weights.sum()
    return 0.5 * alpha * (coef**2).sum() + losses


@pytest.mark.in_turn
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_one_anchor_is_a_linear_svm(blobs, loss, weighted):
    X, y, weights = blobs
    weights = weights if weighted else None
    alpha, constant = 0.02, 1.5
    model = fitted(
        X, y, weights, n_anchors=1, loss=loss, alpha=alpha, intercept_scaling=constant
    )
    total = len(y) if weights is None else weights.sum()
    peer = LinearSVC(
        loss=loss, C=1 / (alpha * total), intercept_scaling=constant,
        tol=1e-10, max_iter=10**6,
    ).fit(X, y, weights)  # fmt: skip
    ours = objective(model, X, y, weights)
    theirs = linear_objective(peer, X, y, loss, alpha, constant, weights)
    assert_allclose(ours, theirs, rtol=1e-6)
    assert_allclose(model.coef_[0], peer.coef_, atol=1e-3)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-2)


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("coding", ["soft", "inverse-distance"])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_convex_solution_is_linear_svc_on_explicit_features(blobs, loss, coding, kind):
    X, y, weights = blobs
    alpha, constant = 0.01, 0.8
    model = fitted(
        kind(X), y, weights, n_anchors=6, n_neighbors=3, coding=coding, loss=loss,
        alpha=alpha, intercept_scaling=constant,
    )  # fmt: skip
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), constant)
    peer = LinearSVC(
        loss=loss, C=1 / (alpha * weights.sum()), fit_intercept=False,
        tol=1e-10, max_iter=10**6,
    ).fit(Z, y, weights)  # fmt: skip
    peer.intercept_ = np.zeros(5)
    theirs = linear_objective(peer, Z, y, loss, alpha, 1.0, weights)
    assert_allclose(objective(model, X, y, weights), theirs, rtol=1e-6)
    assert model.dual_gap_ <= 1e-9
    assert_allclose(model.objective_history_[-1], theirs, rtol=1e-6)
    assert_allclose(model.decision_function(X), Z @ peer.coef_.T, atol=1e-2)


def test_exact_solution_of_equation_10(moons):
    """The quadratic program, by an interior-point solver."""
    cvxpy = pytest.importorskip("cvxpy")
    X, y = moons
    model = fitted(
        X, y, n_anchors=8, n_neighbors=4, coding="soft", loss="hinge", alpha=1e-3,
        intercept_scaling=2.0,
    )  # fmt: skip
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), 2.0)
    w, slack = cvxpy.Variable(Z.shape[1]), cvxpy.Variable(len(X))
    goal = 0.5e-3 * cvxpy.sum_squares(w) + cvxpy.sum(slack) / len(X)
    signs = 2.0 * y - 1
    program = cvxpy.Problem(
        cvxpy.Minimize(goal),
        [slack >= 0, slack >= 1 - cvxpy.multiply(signs, Z @ w)],
    )
    program.solve(solver="CLARABEL")
    assert_allclose(objective(model, X, y), program.value, rtol=1e-6)


def test_logistic_solution_is_logistic_regression_on_explicit_features(moons):
    X, y = moons
    weights = np.random.RandomState(0).uniform(0.5, 2, len(y))
    model = fitted(
        X, y, weights, n_anchors=6, loss="logistic", alpha=1e-2, intercept_scaling=1.0
    )
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), 1.0)
    peer = LogisticRegression(
        C=1 / (1e-2 * weights.sum()), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(Z, y, weights)
    assert_allclose(
        objective(model, X, y, weights),
        linear_objective(peer, Z, y, "logistic", 1e-2, 1.0, weights),
        rtol=1e-6,
    )
    assert_allclose(model.predict_proba(X), peer.predict_proba(Z), atol=1e-4)


def test_crammer_singer_is_linear_svc_on_explicit_features(blobs):
    X, y, weights = blobs
    alpha = 0.02
    model = fitted(
        X, y, weights, n_anchors=5, n_neighbors=3, coding="soft", loss="hinge",
        alpha=alpha, multi_class="crammer_singer", intercept_scaling=1.0,
    )  # fmt: skip
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), 1.0)
    peer = LinearSVC(
        multi_class="crammer_singer", C=1 / (alpha * weights.sum()),
        fit_intercept=False, tol=1e-8, max_iter=10**6,
    ).fit(Z, y, weights)  # fmt: skip
    scores = Z @ peer.coef_.T
    margins = reference.margins(scores, y, None, "crammer_singer")[:, 0]
    losses = np.average(reference.loss("hinge", margins), weights=weights)
    theirs = 0.5 * alpha * (peer.coef_**2).sum() + losses
    assert_allclose(objective(model, X, y, weights), theirs, rtol=1e-5)


def test_crammer_singer_of_two_classes(moons):
    """Solved as one score; the two-score program gives the same objective."""
    cvxpy = pytest.importorskip("cvxpy")
    X, y = moons
    alpha = 5e-3
    model = fitted(
        X, y, n_anchors=5, loss="hinge", alpha=alpha, intercept_scaling=1.0,
        multi_class="crammer_singer",
    )  # fmt: skip
    Z = reference.materialise(X, model.coding_.transform(X).toarray(), 1.0)
    W = cvxpy.Variable((2, Z.shape[1]))
    signs = 2.0 * y - 1
    margins = cvxpy.multiply(signs, Z @ (W[1] - W[0]))
    goal = alpha / 2 * cvxpy.sum_squares(W) + cvxpy.sum(cvxpy.pos(1 - margins)) / len(X)
    program = cvxpy.Problem(cvxpy.Minimize(goal))
    program.solve(solver="CLARABEL")
    assert_allclose(model.objective_history_[-1], program.value, rtol=1e-6)
    difference = Z @ (W.value[1] - W.value[0])
    assert_allclose(model.decision_function(X), difference, atol=1e-3)


@pytest.mark.in_turn
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_sgd_reaches_the_dual_objective(blobs, loss, multi_class):
    X, y, weights = blobs
    if multi_class == "crammer_singer" and loss != "hinge":
        pytest.skip("no dual twin")
    X = X / np.sqrt((X**2).sum(axis=1).mean())
    shared = {
        "n_anchors": 6, "n_neighbors": 3, "coding": "soft", "loss": loss, "alpha": 1e-3,
        "multi_class": multi_class,
    }  # fmt: skip
    exact = fitted(X, y, weights, **shared)
    sgd = fitted(X, y, weights, solver="sgd", max_iter=1000, tol=None, **shared)
    best = objective(exact, X, y, weights)
    assert best <= objective(sgd, X, y, weights) <= 1.01 * best
    assert_allclose(sgd.objective_history_[-1], best, rtol=0.05)


def test_free_intercept_is_that_of_svc(moons):
    """Eq. 9 as it is printed: libsvm's b has no penalty either."""
    X, y = moons
    X, alpha = X + 2.0, 0.05
    model = fitted(
        X, y, n_anchors=1, loss="hinge", alpha=alpha, intercept_scaling="free",
        solver="sgd", max_iter=3000,
    )  # fmt: skip
    peer = SVC(kernel="linear", C=1 / (alpha * len(y)), tol=1e-8).fit(X, y)
    signs = 2.0 * (y == model.classes_[1]) - 1

    def objective_of(coef, scores):
        losses = reference.loss("hinge", signs * scores)
        return 0.5 * alpha * (coef**2).sum() + losses.mean()

    best = objective_of(peer.coef_, peer.decision_function(X))
    assert best <= objective_of(model.coef_, model.decision_function(X)) <= 1.01 * best
    assert_allclose(model.objective_history_[-1], best, rtol=0.05)
    penalised = fitted(X, y, n_anchors=1, loss="hinge", alpha=alpha)
    assert objective_of(penalised.coef_, penalised.decision_function(X)) > 1.001 * best


def test_free_intercept_goes_on_as_one_fit(blobs):
    """A stream of blocks has the steps of one pass, and files keep the model."""
    X, y, _ = blobs
    settings = {
        "n_anchors": 6, "solver": "sgd", "intercept_scaling": "free", "alpha": 1e-3,
        "shuffle": False, "t0": 1e3, "anchors": X[:6], "random_state": 0,
    }  # fmt: skip
    whole = LLSVMClassifier(max_iter=1, tol=None, **settings).fit(X, y)
    stream = LLSVMClassifier(**settings)
    stream.partial_fit(X, y, classes=np.unique(y))
    assert_allclose(stream.intercept_, whole.intercept_)
    assert whole.intercept_scaling_ == pytest.approx(np.sqrt((X**2).sum(axis=1).mean()))
    assert_allclose(
        whole.local_intercept(X[:5])
        + np.einsum("icd,id->ic", whole.local_coef(X[:5]), X[:5]),
        whole.decision_function(X[:5]),
    )


def test_constant_local_models_are_a_linear_svm_on_the_codes(blobs):
    """LCC+SVM, eq. 15."""
    X, y, _ = blobs
    model = fitted(
        X,
        y,
        n_anchors=9,
        n_neighbors=4,
        coding="soft",
        local_model="constant",
        alpha=1e-3,
    )
    codes = model.coding_.transform(X)
    peer = LinearSVC(
        C=1 / (1e-3 * len(y)), fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(codes, y)
    assert model.coef_.shape == (9, 5, 0)
    assert model.intercept_scaling_ == 1
    assert_allclose(model.decision_function(X), codes @ peer.coef_.T, atol=1e-3)
    assert_allclose(
        model.local_coef(X).sum(axis=2) + model.local_intercept(X),
        model.decision_function(X),
    )


def test_equal_local_models_are_one_linear_model(digits):
    """Eq. 14: local coordinates sum to one."""
    X, y, X_test, _ = digits
    model = LLSVMClassifier(30, random_state=0, max_iter=3, tol=1.0).fit(X, y)
    rng = np.random.RandomState(0)
    w, b = rng.normal(size=model.coef_.shape[1:]), rng.normal(size=10)
    model.coef_[:], model.intercept_[:] = w, b
    assert_allclose(model.decision_function(X_test), X_test @ w.T + b, atol=1e-10)


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("case", ["two", "many", "constant", "mapped", "mapped-coding"])
def test_local_weights_explain_the_score(digits, case, kind, dtype):
    from locallin.feature_maps import IntersectionSampler

    X, y, X_test, _ = digits
    X, X_test = X.astype(dtype), X_test.astype(dtype)
    y = y > 4 if case == "two" else y
    model = LLSVMClassifier(
        20,
        local_model="constant" if case == "constant" else "linear",
        feature_map=IntersectionSampler(sample_steps=2) if "mapped" in case else None,
        coding_space="mapped" if case == "mapped-coding" else "input",
        tol=0.1,
        random_state=0,
    ).fit(kind(X), y)
    assert model.coef_.dtype == model.intercept_.dtype == dtype
    scores = model.decision_function(kind(X_test))
    assert scores.dtype == dtype
    coef, intercept = model.local_coef(kind(X_test)), model.local_intercept(X_test)
    assert coef.dtype == dtype
    seen = model.feature_map_.transform(X_test) if "mapped" in case else X_test
    explained = np.einsum("icd,id->ic", coef, seen) + intercept
    assert_allclose(
        explained.squeeze(), scores, atol=1e-3 if dtype == np.float32 else 1e-10
    )


@pytest.mark.in_turn
@pytest.mark.parametrize("solver", ["dual", "newton", "sgd"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_same_seed_same_bits_for_any_number_of_threads(digits, solver, loss):
    X, y, X_test, _ = digits
    models = [
        LLSVMClassifier(
            30, solver=solver, loss=loss, max_iter=40, n_jobs=n_jobs, random_state=0,
            tol=None if solver == "sgd" else 0.1,
        ).fit(X, y)
        for n_jobs in (1, 2, 3)
    ]  # fmt: skip
    for other in models[1:]:
        assert_array_equal(models[0].coef_, other.coef_)
        assert_array_equal(models[0].intercept_, other.intercept_)
        big = np.tile(X_test, (4, 1))
        assert_array_equal(
            models[0].decision_function(big), other.decision_function(big)
        )


@pytest.mark.parametrize("solver", ["dual", "newton", "sgd"])
def test_dense_and_csr_agree(digits, solver):
    X, y, X_test, _ = digits
    anchors = X[:25]
    make = lambda: LLSVMClassifier(  # noqa: E731
        anchors=anchors, solver=solver, max_iter=40, tol=0.1, random_state=0
    )
    dense = make().fit(X, y)
    for index in (np.int32, np.int64):
        matrix = sparse.csr_matrix(X)
        matrix.indices = matrix.indices.astype(index)
        matrix.indptr = matrix.indptr.astype(index)
        csr = make().fit(matrix, y)
        assert_allclose(csr.coef_, dense.coef_, atol=1e-8)
        assert_allclose(
            csr.decision_function(sparse.csr_matrix(X_test)),
            dense.decision_function(X_test),
            atol=1e-8,
        )


@pytest.mark.parametrize("solver", ["dual", "newton", "sgd"])
def test_single_precision_agrees_with_double(digits, solver):
    X, y, X_test, _ = digits
    single, double = (
        LLSVMClassifier(
            anchors=X[:25],
            solver=solver,
            max_iter=100,
            tol=1e-4 if solver == "newton" else 1e-2,
            random_state=0,
        ).fit(X.astype(dtype), y)
        for dtype in (np.float32, np.float64)
    )
    a = single.decision_function(X_test.astype(np.float32))
    b = double.decision_function(X_test)
    assert a.dtype == np.float32
    assert_allclose(a, b, atol=0.05)
    # A model meets data of the other kind: the finer of the two decides.
    mixed = single.decision_function(X_test.astype(np.float64))
    assert mixed.dtype == np.float64
    assert_allclose(mixed, a, atol=1e-3)


@pytest.mark.in_turn
@pytest.mark.parametrize("solver", ["dual", "sgd"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_weights_are_repetitions(blobs, solver, loss):
    """With anchors and bandwidth given, on the objective."""
    X, y, _ = blobs
    rng = np.random.RandomState(0)
    repeats = rng.randint(0, 4, len(y))
    shared = {
        "coding": SoftAssignmentCoding(n_neighbors=3, anchors=X[:6], beta=0.1),
        "alpha": 1e-2, "loss": loss, "solver": solver,
        "max_iter": 20_000 if solver == "dual" else 300,
        "tol": 1e-8 if solver == "dual" else None,
    }  # fmt: skip
    weighted = fitted(X, y, repeats, **shared)
    repeated = fitted(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), **shared)
    value = objective(weighted, X, y, repeats)
    tolerance = 1e-6 if solver == "dual" else 1e-2
    assert_allclose(value, objective(repeated, X, y, repeats), rtol=tolerance)
    assert_allclose(weighted.intercept_scaling_, repeated.intercept_scaling_)
    # Only their proportions matter.
    scaled = fitted(X, y, 1000.0 * repeats, **shared)
    assert_allclose(objective(scaled, X, y, repeats), value, rtol=tolerance)


def test_class_weights_are_sample_weights(blobs):
    X, y, weights = blobs
    by_class = {0: 3.0, 1: 0.5, 2: 1.0, 3: 1.0, 4: 2.0}
    as_rows = weights * np.array([by_class[c] for c in y])
    a = fitted(X, y, weights, class_weight=by_class, n_anchors=4, tol=1e-6)
    b = fitted(X, y, as_rows, n_anchors=4, tol=1e-6)
    assert_allclose(a.coef_, b.coef_, atol=1e-10)
    counts = np.bincount(y)
    balanced = fitted(X, y, class_weight="balanced", n_anchors=4, tol=1e-6)
    by_hand = fitted(X, y, (len(y) / (5 * counts))[y], n_anchors=4, tol=1e-6)
    assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-10)


@pytest.mark.in_turn
@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e6, 1e20])
@pytest.mark.parametrize(
    ("solver", "constant"),
    [("dual", "auto"), ("newton", "auto"), ("sgd", "auto"), ("sgd", "free")],
)
def test_defaults_do_not_depend_on_the_unit_of_the_data(moons, scale, solver, constant):
    X, y = moons
    make = lambda: LLSVMClassifier(  # noqa: E731
        10, solver=solver, intercept_scaling=constant, max_iter=20, tol=0.05,
        random_state=0,
    )  # fmt: skip
    plain, scaled = make().fit(X, y), make().fit(scale * X, y)
    assert_allclose(
        scaled.decision_function(scale * X), plain.decision_function(X), atol=1e-4
    )


def test_accuracy_lies_between_linear_and_kernel(digits):
    from sklearn.svm import SVC

    X, y, X_test, y_test = digits
    ours = LLSVMClassifier(random_state=0).fit(X, y).score(X_test, y_test)
    assert ours > LinearSVC().fit(X, y).score(X_test, y_test)
    assert ours > SVC(C=10).fit(X, y).score(X_test, y_test) - 0.02


def test_objective_falls(digits):
    X, y, _, _ = digits
    for solver in ("dual", "sgd"):
        model = LLSVMClassifier(
            30, solver=solver, max_iter=12, tol=None if solver == "sgd" else 1e-3,
            random_state=0, alpha="scale",
        )  # fmt: skip
        if solver == "dual":
            with pytest.warns(match="duality gap"):
                model.fit(X, y)
        else:
            model.fit(X, y)
        history = model.objective_history_
        assert len(history) == model.n_iter_ == 12
        assert history[-1] < 0.7 * history[0]
        assert (np.diff(history) < 0.02 * history[:-1]).all()
