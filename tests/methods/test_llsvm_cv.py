"""Cross-validation along a path, against explicit loops over LLSVMClassifier."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import LLSVMClassifier, LLSVMClassifierCV
from locallin.coding import SoftAssignmentCoding
from locallin.feature_maps import IntersectionSampler
from locallin.methods.preparation import fit_space
from locallin.methods.skeleton import take_rows
from locallin.solvers import alpha_path, convex
from locallin.solvers.alpha_path import growth

ALPHAS = [0.3, 0.03, 0.003]
TIGHT = {"tol": 1e-9, "max_iter": 20_000, "random_state": 0}
VARIANTS = [
    {"loss": "squared_hinge"},
    {"loss": "hinge"},
    {"loss": "logistic"},
    {"loss": "hinge", "multi_class": "crammer_singer"},
]


def fixed(X, **parameters):
    """Settings that leave nothing for the folds to choose."""
    coding = SoftAssignmentCoding(n_neighbors=4, anchors=X[:8], beta=0.3)
    return {"coding": coding, "intercept_scaling": 1.5, **TIGHT, **parameters}


def explicit_scores(X, y, weights, parameters, folds, alphas=ALPHAS):
    scores = []
    for alpha in alphas:
        scores.append([])
        for train, held in folds:
            model = LLSVMClassifier(alpha=alpha, **parameters)
            model.fit(X[train], y[train], weights[train])
            scores[-1].append(model.score(X[held], y[held], weights[held]))
    return np.array(scores)


# ------------------------------------------------------------------ correctness


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_scores_are_those_of_an_explicit_loop(blobs, variant, n_classes):
    X, y, weights = blobs
    y = y % n_classes
    parameters = fixed(X, **variant)
    model = LLSVMClassifierCV(ALPHAS[::-1], cv=4, **parameters).fit(X, y, weights)
    folds = list(StratifiedKFold(4).split(X, y))
    assert_array_equal(model.alphas_, ALPHAS)
    assert_allclose(
        model.scores_, explicit_scores(X, y, weights, parameters, folds), rtol=1e-9
    )
    assert model.best_score_ == model.scores_.mean(axis=1).max()


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_kinds_of_data(blobs, kind, dtype):
    X, y, weights = blobs
    X = X.astype(dtype)
    parameters = fixed(X, tol=1e-4)
    model = LLSVMClassifierCV(ALPHAS, cv=3, **parameters).fit(kind(X), y)
    folds = list(StratifiedKFold(3).split(X, y))
    expected = explicit_scores(X, y, np.ones_like(weights), parameters, folds)
    assert_allclose(model.scores_, expected, atol=0.021)
    assert model.coef_.dtype == dtype


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "hinge", "multi_class": "crammer_singer", "max_iter": 1000},
        {"loss": "logistic", "class_weight": "balanced"},
        {"coding": "adaptive", "local_model": "constant"},
        {"feature_map": IntersectionSampler(), "anchors": "random"},
        {"anchors": "kmeans-per-class", "coding": "inverse-distance"},
    ],
    ids=lambda p: "-".join(p) or "defaults",
)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_model_is_that_of_its_alpha(digits, parameters, n_classes):
    X, y, X_test, _ = digits
    X, y = X[:500], y[:500] % n_classes
    parameters = {**parameters, "random_state": 3, "n_anchors": 12}
    model = LLSVMClassifierCV(4, cv=3, **parameters).fit(X, y)
    alone = LLSVMClassifier(alpha=model.alpha_, **parameters).fit(X, y)
    assert_array_equal(model.coef_, alone.coef_)
    assert_array_equal(model.decision_function(X_test), alone.decision_function(X_test))
    assert_array_equal(model.local_coef(X_test[:5]), alone.local_coef(X_test[:5]))
    assert model.n_iter_ == alone.n_iter_
    assert model.dual_gap_ == alone.dual_gap_
    if model.loss == "logistic":
        assert_array_equal(model.predict_proba(X_test), alone.predict_proba(X_test))


def test_the_default_path_surrounds_the_default_alpha(moons):
    X, y = moons
    auto = LLSVMClassifier(random_state=0).fit(X, y).alpha_
    model = LLSVMClassifierCV(random_state=0).fit(X, y)
    assert_allclose(model.alphas_, auto * np.geomspace(100, 0.1, 10))
    assert np.isclose(model.alphas_, auto).any()
    assert model.scores_.shape == model.path_iterations_.shape == (10, 5)
    assert model.alpha_ in model.alphas_
    one = LLSVMClassifierCV(1, random_state=0).fit(X, y)
    assert one.alpha_ == auto


def test_ties_go_to_the_largest_alpha(moons):
    X, y = moons
    seen = []

    def scorer(model, X_held, y_held):
        seen.append(model.alpha_)
        return {1.0: 0.1, 0.1: 0.7, 0.01: 0.7, 0.001: 0.5}[model.alpha_]

    model = LLSVMClassifierCV(
        [0.001, 0.01, 0.1, 1.0, 0.1], cv=3, n_anchors=5, scoring=scorer, random_state=0
    ).fit(X, y)
    assert seen == [1.0] * 3 + [0.1] * 3 + [0.01] * 3 + [0.001] * 3
    assert model.alpha_ == 0.1
    assert model.best_score_ == pytest.approx(0.7)


def test_means_that_differ_by_rounding_are_ties():
    first, second = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]
    for rows in ([first, second], [second, first]):
        assert not alpha_path._exceeds(np.array(rows), 1, 0)
    assert alpha_path._exceeds(np.array([first, [0.1, 0.2, 0.301]]), 1, 0)


@pytest.mark.parametrize("given", ["splitter", "pairs"])
def test_weights_of_zero_leave_rows_out(blobs, given):
    X, y, weights = blobs
    weights[::7] = 0
    keep = np.flatnonzero(weights)
    parameters = fixed(X)
    folds = list(KFold(3).split(X[keep]))
    cv = KFold(3) if given == "splitter" else [(keep[a], keep[b]) for a, b in folds]
    model = LLSVMClassifierCV(ALPHAS, cv=cv, **parameters).fit(X, y, weights)
    less = LLSVMClassifierCV(ALPHAS, cv=folds, **parameters)
    less.fit(X[keep], y[keep], weights[keep])
    assert_allclose(model.scores_, less.scores_)
    assert_allclose(model.decision_function(X), less.decision_function(X), atol=1e-4)


def test_a_class_that_a_fold_does_not_see(blobs):
    X, y, _ = blobs
    order = np.argsort(y, kind="stable")
    parameters = fixed(X)
    model = LLSVMClassifierCV([0.01], cv=KFold(5), **parameters)
    model.fit(X[order], y[order])
    assert model.scores_.shape == (1, 5)
    assert model.scores_.min() < 0.3
    assert_array_equal(model.classes_, np.arange(5))


# -------------------------------------------------------------------- warm starts


def path_problem(X, y, **parameters):
    """A problem at alpha = 1, as the path has it."""
    model = LLSVMClassifier(8, random_state=0, **parameters)
    given = take_rows(model, X, y, None, (None, None, None))
    rows = fit_space(model, given)
    model.alpha_ = 1.0
    return model._convex_problem(rows)


def solve(problem, dual=None, tol=1e-8):
    rng = np.random.RandomState(0)
    return convex.solve_dual(problem, max_iter=50_000, tol=tol, rng=rng, dual=dual)


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_warm_and_cold_starts_meet(blobs, variant, n_classes):
    X, y, _ = blobs
    base = path_problem(X, y % n_classes, **variant)
    strong, weak = (replace(base, alpha=base.alpha * a) for a in (0.03, 0.01))
    last, cold = solve(strong), solve(weak)
    start = last.dual * growth(weak, last, 3.0)
    warm = solve(weak, start)
    assert_allclose(
        weak.objective(*warm.learned), weak.objective(*cold.learned), rtol=1e-7
    )


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_the_start_is_the_best_on_its_ray(blobs, variant):
    """Compared with the dual value at other multiples of the last solution."""
    X, y, _ = blobs
    base = path_problem(X, y, **variant)
    strong, weak = (replace(base, alpha=base.alpha * a) for a in (0.03, 0.01))
    last = solve(strong)
    upper = weak.target.weights / (weak.alpha * weak.n_rows)

    def value(factor):
        parts = last.coef * factor[:, None], last.intercept * factor
        values = convex._dual_values(weak, *parts, last.dual * factor, upper)
        return values.sum() if "multi_class" in variant else values

    chosen = growth(weak, last, 3.0)
    assert chosen.min() >= 1
    assert chosen.max() <= 3
    grid = np.array([value(np.full(5, f)) for f in np.linspace(1, 3, 81)])
    slack = 2e-3 if variant["loss"] == "logistic" else 1e-6
    assert np.all(value(chosen) >= grid.max(axis=0) * (1 - slack))


def test_nothing_learned_is_no_reason_to_grow(blobs):
    X, y, _ = blobs
    for variant in VARIANTS:
        problem = path_problem(X, y, **variant)
        zero = convex.Solution(
            *problem.zeros(), 1, [], True, dual=np.zeros((len(y), 5))
        )
        assert np.isfinite(growth(problem, zero, 2.0)).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_a_path_takes_fewer_epochs_than_cold_starts(digits, loss):
    X, y, _, _ = digits
    X, y = X[:500], y[:500] % 5
    parameters = fixed(X, loss=loss, tol=1e-3)
    alphas = np.geomspace(1e-1, 1e-4, 7)
    warm = LLSVMClassifierCV(alphas, cv=3, **parameters).fit(X, y)
    cold = [
        LLSVMClassifierCV([a], cv=3, **parameters).fit(X, y).path_iterations_.sum()
        for a in alphas
    ]
    assert warm.path_iterations_[0].sum() == cold[0]
    assert warm.path_iterations_.sum() < 0.85 * sum(cold)


# -------------------------------------------------------------------- in use


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_threads_give_the_same_bits(digits, scoring):
    X, y, _, _ = digits
    X, y = X[:400], y[:400]
    parameters = {"cv": 5, "scoring": scoring, "loss": "logistic", "random_state": 0}
    one = LLSVMClassifierCV(4, n_anchors=10, **parameters).fit(X, y)
    for n_jobs in (2, 7):
        many = LLSVMClassifierCV(4, n_anchors=10, n_jobs=n_jobs, **parameters)
        many.fit(X, y)
        assert_array_equal(many.scores_, one.scores_)
        assert_array_equal(many.path_iterations_, one.path_iterations_)
        assert_array_equal(many.coef_, one.coef_)


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc_ovr"])
def test_scorers(blobs, scoring):
    X, y, weights = blobs
    parameters = fixed(X, loss="logistic", tol=1e-6)
    model = LLSVMClassifierCV(ALPHAS, scoring=scoring, cv=3, **parameters)
    model.fit(X, y)
    search = GridSearchCV(
        LLSVMClassifier(**parameters), {"alpha": ALPHAS}, scoring=scoring, cv=3
    ).fit(X, y)
    assert_allclose(model.scores_.mean(1), search.cv_results_["mean_test_score"], 1e-3)
    model.fit(X, y, weights)
    if scoring == "accuracy":
        again = model.set_params(scoring=None).fit(X, y, weights)
        assert_allclose(again.scores_, model.scores_)


def test_groups_reach_the_splitter(blobs):
    X, y, weights = blobs
    groups = np.arange(len(y)) // 5
    weights[:20] = 0
    model = LLSVMClassifierCV(ALPHAS, cv=GroupKFold(3), **fixed(X))
    model.fit(X, y, weights, groups=groups)
    keep = np.flatnonzero(weights)
    folds = [
        (keep[a], keep[b]) for a, b in GroupKFold(3).split(X[keep], y[keep], keep // 5)
    ]
    assert_allclose(
        model.scores_, explicit_scores(X, y, weights, fixed(X), folds), rtol=1e-9
    )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, groups=groups[:-1])


def test_frames_keep_their_names(blobs):
    frames = pytest.importorskip("pandas")
    X, y, _ = blobs
    frame = frames.DataFrame(X, columns=list("abcdef"))
    model = LLSVMClassifierCV(3, cv=3, scoring="f1_macro", random_state=0)
    model.fit(frame, y)
    assert_array_equal(model.feature_names_in_, list("abcdef"))
    assert_array_equal(model.predict(frame), clone(model).fit(X, y).predict(X))


def test_pickle_clone_and_names(digits):
    X, y, X_test, y_test = digits
    names = np.array(list("abcdefghij"))
    model = LLSVMClassifierCV(4, cv=ShuffleSplit(2, random_state=0), random_state=0)
    model.fit(X[:600], names[y[:600]])
    assert model.score(X_test, names[y_test]) > 0.9
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X_test), model.predict(X_test))
    refitted = clone(model).fit(X[:600], names[y[:600]])
    assert_array_equal(refitted.scores_, model.scores_)
    assert "alpha" not in model.get_params()


def test_grid_search_over_the_number_of_anchors(moons):
    X, y = moons
    pipeline = make_pipeline(
        StandardScaler(), LLSVMClassifierCV(3, cv=3, random_state=0)
    )
    grid = {"llsvmclassifiercv__n_anchors": [1, 12]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"llsvmclassifiercv__n_anchors": 12}
    assert search.best_estimator_[-1].best_score_ > 0.93


def test_verbose_prints_a_line_per_alpha(moons, capsys):
    model = LLSVMClassifierCV(3, cv=3, n_anchors=5, verbose=1, random_state=0)
    model.fit(*moons)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + model.n_iter_
    assert lines[0].startswith("[LLSVMClassifierCV] alpha 1/3 = ")
    assert f": score {model.scores_[0].mean():.4f}, " in lines[0]
    assert lines[3].startswith("[LLSVMClassifierCV] epoch 1/200: objective ")


def test_warning_says_what_to_do(digits):
    X, y, _, _ = digits
    model = LLSVMClassifierCV(2, n_anchors=10, cv=2, max_iter=2, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="leave out the smallest") as record:
        model.fit(X, y)
    assert len(record) == 1
    assert record[0].filename == __file__


# -------------------------------------------------------------------- interruption


def interrupt_after(calls, monkeypatch):
    """Let the descent make so many epochs, then press Ctrl-C."""
    original, made = convex.dual_epoch, []

    def interrupted(*args):
        made.append(1)
        if len(made) > calls:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(convex, "dual_epoch", interrupted)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_path_takes_the_best_so_far(moons, n_jobs, monkeypatch):
    X, y = moons
    model = LLSVMClassifierCV(8, n_anchors=12, random_state=0, n_jobs=n_jobs)
    whole = clone(model).fit(X, y)
    calls = whole.path_iterations_[:4].sum() + 2
    interrupt_after(calls, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_array_equal(model.scores_[:4], whole.scores_[:4])
    assert np.isnan(model.scores_[4:]).all()
    assert_array_equal(model.path_iterations_[4:], 0)
    best = whole.scores_[:4].mean(axis=1).argmax()
    assert model.alpha_ == model.alphas_[best]
    assert model.best_score_ == whole.scores_[best].mean()
    assert model.n_iter_ == len(model.objective_history_) == 0
    assert abs(model.score(X, y) - model.best_score_) < 0.05


def test_interrupted_last_solve_keeps_its_weights(moons, monkeypatch):
    X, y = moons
    model = LLSVMClassifierCV(3, cv=3, n_anchors=12, tol=1e-6, random_state=0)
    whole = clone(model).fit(X, y)
    interrupt_after(whole.path_iterations_.sum() + 3, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_array_equal(model.scores_, whole.scores_)
    assert model.n_iter_ == 3
    assert model.score(X, y) > 0.9


def test_early_interruption_leaves_the_estimator_as_it_was(moons, monkeypatch):
    X, y = moons
    model = LLSVMClassifierCV(3, cv=3, n_anchors=5, random_state=0).fit(X, y)
    before = vars(model).copy()
    interrupt_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, ::-1], y)
    assert vars(model) == before


# -------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": 0}, "'alphas' parameter"),
        ({"alphas": [0.1, 0.0]}, "alphas=.*values above 0"),
        ({"alphas": [[0.1], [0.2]]}, "alphas=.*a list of values"),
        ({"alphas": [0.1, np.inf]}, "alphas contains infinity"),
        ({"alphas": []}, "minimum of 1 is required"),
        ({"cv": 1}, "'cv' parameter"),
        ({"cv": []}, r"cv=\[\] has no folds"),
        ({"cv": [([0, 1, 2], [])]}, "fold 0 3 rows of 2 classes .* and 0 rows"),
        ({"cv": [([0, 2], [1])]}, "fold 0 2 rows of 1 classes"),
        ({"cv": 6}, "cannot be greater than the number of members"),
        ({"scoring": "beauty"}, "beauty"),
        ({"scoring": lambda *_: np.nan}, "is NaN for .* held-out rows at alpha="),
        ({"multi_class": "crammer_singer"}, "has no loss='squared_hinge'"),
        ({"intercept_scaling": "free"}, "'intercept_scaling' parameter"),
        ({"coding_space": "mapped"}, "needs a feature_map"),
        ({"anchors": np.eye(2), "n_anchors": 3}, "2 anchors are given"),
    ],
)
def test_errors_say_what_is_wrong(parameters, message):
    X = np.arange(20.0).reshape(10, 2)
    y = [0, 1] * 5
    model = LLSVMClassifierCV(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_weights_need_a_scorer_that_takes_them(blobs):
    X, y, weights = blobs
    model = LLSVMClassifierCV(2, cv=3, scoring=lambda model, X, y: 1.0)
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, weights)
    recall = make_scorer(recall_score, average="macro")
    model.set_params(scoring=recall).fit(X, y, weights)


def test_there_is_no_stream():
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as error:
        getattr(LLSVMClassifierCV(), "partial_fit")  # noqa: B009
    assert "needs all rows at once" in str(error.value.__cause__)
