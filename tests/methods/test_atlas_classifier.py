"""Machines on charts: kernels against their definition, solvers against others'."""

import pickle
from copy import copy
from threading import Event

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from locallin import Atlas, AtlasClassifier
from locallin.kernels.rows import PRODUCTS, SQUARES, expanded
from locallin.methods.chart_machines import charted_rows
from locallin.solvers.kernel_svm import ChartKernel, solve_kernel_svm

LINEAR = ["linear", "quadratic", "quadratic-cross"]
KERNELS = ["rbf", *LINEAR]


@pytest.fixture(scope="module")
def frozen(digits):
    return FrozenEstimator(Atlas(6, mdl=5.0, random_state=0).fit(digits[0]))


def gram(clf, X, Y):
    """The kernel as the classifier computes it."""
    kernel = ChartKernel.of(charted_rows(clf, Y), len(clf.atlas_.means_))
    return kernel.block(charted_rows(clf, X), len(Y))


def local_kernel(clf):
    if clf.kernel == "rbf":
        return lambda p, q: np.exp(-((p - q) ** 2).sum() / clf.sigma_**2)

    def product(p, q):
        f, g = (
            reference.chart_features(v / clf.scale_, clf.kernel, clf.intercept_scaling_)
            for v in (p, q)
        )
        return f @ g

    return product


def definition(clf, X, Y):
    """Eq. 5 or 6 in double precision, normalised where the classifier does so."""
    atlas, k = clf.atlas_, clf.n_nearest_
    gamma = np.inf if clf.assignment == "hard" else clf.gamma_  # eq. 6: weights of 1
    charts = atlas.means_, atlas.components_, gamma, k, local_kernel(clf)
    found = reference.chart_kernel(X, Y, *charts)
    if clf.normalize:
        own = [
            [reference.chart_kernel(x[None], x[None], *charts)[0, 0] for x in Z]
            for Z in (X, Y)
        ]
        found /= np.sqrt(np.outer(*own))
    return found


@pytest.mark.in_turn
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_rbf_kernel_is_that_of_the_definition(digits, frozen, assignment, normalize):
    X, y = digits[:2]
    clf = AtlasClassifier(
        frozen, assignment=assignment, normalize=normalize, gamma=1.5, sigma=2.0
    ).fit(X[:300], y[:300])
    found = gram(clf, X[:25], X[25:60])
    assert_allclose(found, definition(clf, X[:25], X[25:60]), atol=1e-10)
    whole = gram(clf, X[:80], X[:80])
    assert_allclose(whole, whole.T, atol=1e-12)
    assert np.linalg.eigvalsh(whole).min() > -1e-10
    if assignment == "hard":  # eq. 6: the kernel of the shared chart, or nothing
        nearest = clf.atlas_.reconstruction_errors(X[:80]).argmin(axis=1)
        assert ((whole > 0) == (nearest[:, None] == nearest)).all()
    if normalize:
        assert_allclose(np.diag(whole), 1, rtol=1e-12)


@pytest.mark.in_turn
@pytest.mark.parametrize("normalize", [True, False])
def test_charts_of_hard_assignment_may_overlap(digits, frozen, normalize):
    X, y = digits[:2]
    clf = AtlasClassifier(
        frozen, assignment="hard", n_nearest=3, normalize=normalize, sigma=2.0
    ).fit(X[:300], y[:300])
    found = gram(clf, X[:25], X[25:60])
    assert_allclose(found, definition(clf, X[:25], X[25:60]), atol=1e-10)
    charted = charted_rows(clf, X[:25])
    assert charted.charts.shape == (25, 3)
    assert (charted.weights == charted.weights[:, :1]).all()


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_hard_assignment_knows_no_unit(digits, frozen, kernel, normalize):
    X, y, X_test, _ = digits
    settings = {"kernel": kernel, "assignment": "hard", "normalize": normalize}
    clf = AtlasClassifier(frozen, random_state=0, **settings).fit(X, y)
    if not normalize:
        assert (charted_rows(clf, X_test).weights == 1).all()
    unit = 2.0**17  # exact
    large = copy(frozen.estimator)
    large.center_, large.means_ = unit * large.center_, unit * large.means_
    scaled = AtlasClassifier(FrozenEstimator(large), random_state=0, **settings)
    scores = scaled.fit(unit * X, y).decision_function(unit * X_test)
    assert_allclose(scores, clf.decision_function(X_test), rtol=1e-9)
    if kernel != "rbf":
        coef, intercept = clf.local_coef(X_test), clf.local_intercept(X_test)
        explained = np.einsum("ncd,nd->nc", coef, X_test) + intercept
        assert_allclose(explained, clf.decision_function(X_test), atol=1e-9)


def features(clf, X):
    """z = w [1, ...] of every chart (eq. 13-15), formed."""
    charted = charted_rows(clf, X)
    codes, points = charted.codes, charted.coordinates
    n, k, _ = points.shape
    rows = [
        [reference.chart_features(p, clf.kernel, clf.intercept_scaling_) for p in row]
        for row in points
    ]
    Z = np.zeros((n, len(clf.atlas_.means_), len(rows[0][0])))
    for entry, (chart, g) in enumerate(zip(codes.indices, codes.values, strict=True)):
        i, q = divmod(entry, k)
        Z[i, chart] = g * rows[i][q]
    return Z.reshape(n, -1)


@pytest.mark.in_turn
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernel", LINEAR)
def test_products_of_features_are_the_linear_kernels(digits, frozen, kernel, normalize):
    X, y = digits[0][:40], digits[1][:40]
    clf = AtlasClassifier(frozen, kernel=kernel, normalize=normalize, gamma=2.0)
    Z = features(clf.fit(X, y), X)
    assert_allclose(Z @ Z.T, definition(clf, X, X), atol=1e-10)


@pytest.mark.parametrize("kernel", LINEAR)
def test_linear_kernels_against_liblinear(digits, frozen, kernel):
    X, y = digits[0][:300], digits[1][:300]
    clf = AtlasClassifier(
        frozen, kernel=kernel, gamma=2.0, loss="squared_hinge", tol=1e-6,
        max_iter=5000, random_state=0,
    ).fit(X, y)  # fmt: skip
    Z = features(clf, X)
    assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-9)  # normalised
    C = 1 / (clf.alpha_ * len(X))
    peer = LinearSVC(C=C, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(Z, y)
    assert_allclose(clf.decision_function(X), peer.decision_function(Z), atol=2e-3)


def test_expanded_features_are_those_of_the_papers():
    p = np.random.RandomState(0).normal(size=(3, 4))
    for kind, kernel in ((SQUARES, "quadratic"), (PRODUCTS, "quadratic-cross")):
        found = expanded(p, kind)
        expected = [reference.chart_features(row, kernel, 1.0)[1:] for row in p]
        assert_allclose(found, expected)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_rbf_machine_equals_scikit_learns(digits, frozen, multi_class):
    X, y = digits[0][:400], digits[1][:400]
    test = digits[2][:200]
    clf = AtlasClassifier(
        frozen, loss="hinge", alpha=1 / (3 * 400), tol=1e-6, multi_class=multi_class
    ).fit(X, y)
    K, K_test = gram(clf, X, X), gram(clf, test, X)
    if multi_class == "ovo":
        svc = SVC(C=3, kernel="precomputed", tol=1e-6, decision_function_shape="ovo")
        svc.fit(K, y)
        pairs = svc.decision_function(K_test)
        scores = gram(clf, test, X[clf.support_]) @ clf.dual_coef_ + clf.intercept_
        assert_allclose(scores, pairs, atol=1e-4)
        assert_array_equal(clf.predict(test), svc.predict(K_test))
        svc.set_params(decision_function_shape="ovr")
        found = clf.decision_function(test)
        assert_allclose(found, svc.decision_function(K_test), atol=1e-4)
        return
    for c in range(10):
        svc = SVC(C=3, kernel="precomputed", tol=1e-6).fit(K, y == c)
        found = clf.decision_function(test)[:, c]
        assert_allclose(found, svc.decision_function(K_test), atol=1e-4)


@pytest.mark.parametrize("squared", [False, True])
def test_decomposition_reaches_the_optimum(monkeypatch, digits, frozen, squared):
    """Many small working sets end where one that holds all rows does."""
    X, y = digits[0][:500], np.where(digits[1][:500] > 4, 1, -1)
    clf = AtlasClassifier(frozen).fit(X, y)
    rows, m = charted_rows(clf, X), len(clf.atlas_.means_)
    upper = np.random.RandomState(0).uniform(1, 5, size=500)
    settings = {"squared": squared, "tol": 1e-5, "max_iter": 10_000, "stop": Event()}
    whole = solve_kernel_svm(rows, m, y, upper, **settings)
    monkeypatch.setattr("locallin.solvers.kernel_svm._WORKING_SET", 32)
    parts = solve_kernel_svm(rows, m, y, upper, **settings)
    assert whole.n_iter == 1
    assert parts.n_iter > 5
    assert parts.converged
    assert_allclose(parts.objective, whole.objective, rtol=1e-6)
    assert_allclose(parts.intercept, whole.intercept, atol=1e-4)


@pytest.mark.parametrize("squared", [False, True])
def test_kernel_svm_against_an_interior_point_solver(squared, digits, frozen):
    cvxpy = pytest.importorskip("cvxpy")
    X, y = digits[0][:60], np.where(digits[1][:60] > 4, 1, -1)
    clf = AtlasClassifier(frozen).fit(X, y)
    upper = np.random.RandomState(0).uniform(0.5, 3, size=60)
    settings = {"squared": squared, "tol": 1e-8, "max_iter": 1000, "stop": Event()}
    ours = solve_kernel_svm(
        charted_rows(clf, X), len(clf.atlas_.means_), y, upper, **settings
    )
    K = gram(clf, X, X)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(60))
    a = cvxpy.Variable(60)
    goal = 0.5 * cvxpy.sum_squares(root.T @ cvxpy.multiply(y, a)) - cvxpy.sum(a)
    constraints = [a >= 0, y @ a == 0]
    if squared:
        goal += cvxpy.sum(cvxpy.multiply(0.25 / upper, a**2))
    else:
        constraints.append(a <= upper)
    value = cvxpy.Problem(cvxpy.Minimize(goal), constraints).solve(solver="CLARABEL")
    assert_allclose(ours.objective, value, rtol=1e-5)


def test_one_chart_of_full_dimension_is_an_rbf_svm(moons):
    X, y = moons
    atlas = Atlas(2, mdl=1e6, random_state=0)
    clf = AtlasClassifier(atlas, loss="hinge", sigma=0.7, tol=1e-7, alpha=1 / 1500)
    clf.fit(X, y)
    assert len(clf.atlas_.means_) == 1
    svc = SVC(C=5, gamma=1 / 0.49, tol=1e-7).fit(X, y)
    assert_allclose(clf.decision_function(X), svc.decision_function(X), atol=1e-5)
    assert_allclose(gram(clf, X, X), rbf_kernel(X, gamma=1 / 0.49), atol=1e-10)
    assert_array_equal(clf.support_, np.sort(svc.support_))


def test_one_vs_one_linear_machines(digits, frozen):
    X, y = digits[0][:300], digits[1][:300]
    kept = y < 4
    X, y = X[kept], y[kept]
    settings = {"kernel": "linear", "alpha": 1e-3, "tol": 1e-6, "gamma": 2.0}
    clf = AtlasClassifier(frozen, multi_class="ovo", random_state=0, **settings)
    clf.fit(X, y)
    assert clf.coef_.shape[1] == 6
    # C is the same for all pairs, so alpha of a pair alone grows with its share.
    first = np.isin(y, (0, 1))
    settings["alpha"] *= len(y) / first.sum()
    pair = AtlasClassifier(frozen, random_state=0, **settings)
    pair.fit(X, np.where(first, y, -1))
    # The pair (0, 1) of one-vs-one is positive for 0, a two-class machine for 1.
    assert_allclose(clf.coef_[:, 0], -pair.coef_[:, 0], atol=2e-3)
    peer = OneVsOneClassifier(AtlasClassifier(frozen, kernel="linear")).fit(X, y)
    assert (peer.predict(X) == clf.predict(X)).mean() > 0.95


@pytest.mark.in_turn
@pytest.mark.parametrize("kernel", LINEAR)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_local_weights_explain_the_scores(digits, frozen, kernel, n_classes):
    X, y = digits[:2]
    kept = y < n_classes
    clf = AtlasClassifier(frozen, kernel=kernel, random_state=0)
    clf.fit(X[kept], y[kept])
    test = digits[2][:50]
    coef, intercept = clf.local_coef(test), clf.local_intercept(test)
    scores = np.einsum("ncd,nd->nc", coef, test) + intercept
    assert coef.shape == (50, 1 if n_classes == 2 else 10, 64)
    expected = clf.decision_function(test).reshape(scores.shape)
    assert_allclose(scores, expected, atol=1e-9)


def test_local_weights_that_do_not_exist_are_explained(digits, frozen):
    rbf = AtlasClassifier(frozen).fit(*digits[:2])
    assert not hasattr(rbf, "local_coef")
    with pytest.raises(AttributeError, match="local_coef"):
        rbf.local_coef(digits[2])
    votes = AtlasClassifier(frozen, kernel="linear", multi_class="ovo")
    assert not hasattr(votes, "local_intercept")


@pytest.mark.parametrize("kernel", KERNELS)
def test_digits_are_learned(digits, kernel):
    X, y, X_test, y_test = digits
    clf = AtlasClassifier(kernel=kernel, random_state=0, n_jobs=2).fit(X, y)
    assert clf.score(X_test, y_test) > 0.96


def test_unlabelled_rows_shape_the_charts_and_nothing_else(digits):
    X, y, X_test, y_test = digits
    few = np.full(len(y), -1)
    few[:60] = y[:60]
    clf = AtlasClassifier(random_state=0).fit(X, few)
    assert clf.classes_.tolist() == list(range(10))
    assert set(clf.support_) <= set(range(60))
    # The same charts, passed ready-made, give the same machine.
    ready = AtlasClassifier(FrozenEstimator(clf.atlas_), random_state=0)
    ready.set_params(gamma=clf.gamma_, sigma=clf.sigma_).fit(X[:60], y[:60])
    assert_array_equal(ready.decision_function(X), clf.decision_function(X))
    ours, alone = [], []
    for start in range(0, 300, 60):
        few = np.arange(start, start + 60)
        ours.append(ready.fit(X[few], y[few]).score(X_test, y_test))
        alone.append(SVC(C=10).fit(X[few], y[few]).score(X_test, y_test))
    assert np.mean(ours) > np.mean(alone)


def test_minus_one_beside_one_other_class_is_a_class(moons):
    X, y = moons
    signed = AtlasClassifier(random_state=0).fit(X, 2 * y - 1)
    plain = AtlasClassifier(random_state=0).fit(X, y)
    assert signed.classes_.tolist() == [-1, 1]
    assert_array_equal(signed.decision_function(X), plain.decision_function(X))


def test_one_atlas_serves_many_settings(digits, frozen):
    X, y = digits[:2]
    search = GridSearchCV(
        AtlasClassifier(frozen, random_state=0),
        {"kernel": ["rbf", "linear"], "gamma": [1.0, 2.0]},
        cv=3,
    ).fit(X[:300], y[:300])
    assert search.best_score_ > 0.9
    assert search.best_estimator_.atlas_ is frozen.estimator
    nested = make_pipeline(StandardScaler(), AtlasClassifier(Atlas(), random_state=0))
    nested.set_params(atlasclassifier__atlas__n_components=4)
    nested.fit(X[:300], y[:300])
    assert nested[-1].atlas_.n_components_ == 4
    assert nested[-1].atlas.n_components == 4
    assert not hasattr(nested[-1].atlas, "means_")


@pytest.mark.in_turn
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_weights_are_repetitions(digits, frozen, kernel, multi_class):
    X, y = digits[0][:120], digits[1][:120] % 3
    weights = np.random.RandomState(0).randint(0, 3, size=120)
    settings = {
        "kernel": kernel, "multi_class": multi_class, "gamma": 2.0, "tol": 1e-6,
        "max_iter": 10_000, "random_state": 0, "alpha": 0.01,
    }  # fmt: skip
    if kernel == "rbf":
        settings["sigma"] = 2.0
    else:  # the unit of coordinates comes from the rows
        frozen = FrozenEstimator(Atlas(6, mdl=1e9, random_state=0).fit(X))
    weighted = AtlasClassifier(frozen, **settings)
    repeated = AtlasClassifier(frozen, **settings)
    if kernel != "rbf":
        for clf in (weighted, repeated):
            clf._choose_bandwidths = lambda X, n, rng, clf=clf: vars(clf).update(
                n_nearest_=1, gamma_=2.0, scale_=1.0, intercept_scaling_=1.0
            )
    weighted.fit(X, y, sample_weight=weights)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    a, b = weighted.decision_function(X), repeated.decision_function(X)
    assert_allclose(a, b, atol=2e-3)


def test_class_weights_multiply(moons):
    X, y = moons
    frozen = FrozenEstimator(Atlas(1, random_state=0).fit(X))
    weighted = AtlasClassifier(frozen, alpha=0.1, class_weight={0: 3.0, 1: 1.0})
    plain = AtlasClassifier(frozen, alpha=0.1)
    by_class = weighted.fit(X, y)
    by_row = plain.fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert_allclose(by_class.decision_function(X), by_row.decision_function(X))
    plain.fit(X, y)
    assert by_class.predict(X).sum() < plain.predict(X).sum()


@pytest.mark.in_turn
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_agree(digits, kernel, dtype):
    X, y, test = (a[:300] for a in digits[:3])
    X, test = X.astype(dtype), test.astype(dtype)
    clf = AtlasClassifier(Atlas(5, random_state=0), kernel=kernel, random_state=0)
    if dtype == np.float64:
        clf.set_params(tol=1e-8)
    dense = clf.fit(X, y).decision_function(test)
    assert dense.dtype == dtype
    csr = clf.fit(sparse.csr_matrix(X), y).decision_function(sparse.csr_matrix(test))
    assert_allclose(csr, dense, atol=0.02 if dtype == np.float32 else 1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_change_no_bit(digits, kernel):
    X, y, test, _ = digits
    clf = AtlasClassifier(kernel=kernel, random_state=0, n_jobs=1)
    one = clf.fit(X, y).decision_function(np.tile(test, (4, 1)))
    clf.set_params(n_jobs=2)
    two = clf.fit(X, y).decision_function(np.tile(test, (4, 1)))
    assert_array_equal(one, two)


@pytest.mark.in_turn
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("normalize", [True, False])
def test_rows_far_from_every_chart_have_finite_scores(digits, kernel, normalize):
    X, y = digits[0][:200], digits[1][:200]
    clf = AtlasClassifier(kernel=kernel, normalize=normalize, random_state=0)
    clf.fit(X, y)
    far = np.full((2, 64), 1e4)
    far[1] = -1e6
    assert np.isfinite(clf.decision_function(far)).all()


def test_frozen_atlas_must_fit(digits):
    X, y = digits[0][:100], digits[1][:100]
    with pytest.raises(ValueError, match="has 64 features, but the atlas was"):
        AtlasClassifier(FrozenEstimator(Atlas(2).fit(X[:, :9]))).fit(X, y)
    with pytest.raises(ValueError, match="not fitted"):
        AtlasClassifier(FrozenEstimator(Atlas(2))).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"intercept_scaling": 2.0}, "setting of the linear kernels"),
        ({"kernel": "linear", "sigma": 1.0}, "setting of kernel='rbf'"),
        ({"kernel": "cubic"}, "'kernel' parameter"),
        ({"atlas": "charts"}, "'atlas' parameter"),
    ],
)
def test_choices_that_do_not_go_together(moons, settings, message):
    with pytest.raises(ValueError, match=message):
        AtlasClassifier(**settings).fit(*moons)


def test_labels_that_leave_nothing_to_learn(moons):
    X, y = moons
    with pytest.raises(ValueError, match="at least two classes"):
        AtlasClassifier().fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match="rows of positive weight"):
        AtlasClassifier().fit(X, y, sample_weight=y == 0)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_interrupt_leaves_a_usable_machine(digits, frozen, kernel, monkeypatch):
    from locallin.solvers import convex, kernel_svm

    def interrupt(*args):
        raise KeyboardInterrupt

    if kernel == "rbf":
        monkeypatch.setattr(kernel_svm, "smo_steps", interrupt)
    else:
        monkeypatch.setattr(convex, "dual_epoch", interrupt)
    clf = AtlasClassifier(frozen, kernel=kernel, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*digits[:2])
    assert np.isfinite(clf.decision_function(digits[2])).all()


def test_stopping_early_is_said(digits, frozen, monkeypatch):
    monkeypatch.setattr("locallin.solvers.kernel_svm._WORKING_SET", 32)
    for kernel in ("rbf", "linear"):
        clf = AtlasClassifier(frozen, kernel=kernel, max_iter=1, tol=1e-12)
        with pytest.warns(UserWarning, match="did not converge in max_iter=1"):
            clf.fit(*digits[:2])


def test_progress_and_pickles(digits, frozen, capsys):
    X, y, test, _ = digits
    for kernel, machines in (("rbf", 10), ("linear", 1)):
        clf = AtlasClassifier(frozen, kernel=kernel, verbose=1, random_state=0)
        clf.fit(X, y)
        assert len(capsys.readouterr().out.splitlines()) == machines
        again = pickle.loads(pickle.dumps(clf))
        assert_array_equal(again.decision_function(test), clf.decision_function(test))


@pytest.mark.in_turn
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_callbacks_see_the_atlas_and_every_machine(digits, kernel, multi_class):
    pytest.importorskip("sklearn.callback")
    X, y = digits[0][:300], digits[1][:300] % 4
    begun, ended = [], []

    class Recorder:
        max_propagation_depth = None

        def setup(self, estimator, context):
            begun.append("setup")

        def teardown(self, estimator, context):
            ended.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            begun.append(context.task_name)

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            ended.append(context.task_name)
            if context.parent is None:
                assert fitted_estimator.score(X, y) > 0.9
            return context.task_name == "sweep" or stop_at_machines

    stop_at_machines = False
    settings = {"kernel": kernel, "multi_class": multi_class, "random_state": 0}
    clf = AtlasClassifier(Atlas(6, mdl=5.0), n_jobs=2, **settings)
    clf.set_callbacks(Recorder()).fit(X, y)
    n_machines = {"ovo": 6, "ovr": 4 if kernel == "rbf" else 1}[multi_class]
    assert begun.count("sweep") == clf.atlas_.n_iter_ == 1
    # The atlas is the first step, and its end is that of the atlas's own fit.
    assert begun.count("machine") == 1 + n_machines
    assert ended.count("machine") == n_machines
    assert ended[-2:] == ["fit", "teardown"]
    scores = clf.decision_function(X)
    stop_at_machines = True  # without all machines there is no model
    clf.fit(X, y)
    assert ended.count("machine") == n_machines + 1
    assert_array_equal(clf.decision_function(X), scores)


def test_warnings_point_to_the_callers_line(digits, frozen):
    clf = AtlasClassifier(frozen, kernel="linear", max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning) as found:
        clf.fit(*digits[:2])
    assert found[0].filename == __file__
