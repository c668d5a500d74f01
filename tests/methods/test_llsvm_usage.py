"""LL-SVM in use: streams, early stopping, interruption, pipelines, wrong input."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import (
    LLSVMClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.coding import InverseDistanceCoding, SoftAssignmentCoding
from locallin.feature_maps import IntersectionSampler
from locallin.solvers import convex


def sgd(**parameters):
    return LLSVMClassifier(
        **{"solver": "sgd", "max_iter": 10, "tol": None, "random_state": 0} | parameters
    )


# ------------------------------------------------------------------- streams


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("sizes", [[1200], [700, 500], [1, 2, 300, 896, 1]])
def test_a_pass_over_blocks_is_an_epoch_of_fit(digits, sizes, average, kind):
    X, y, _, _ = digits
    parameters = {
        "coding": SoftAssignmentCoding(n_neighbors=5, anchors=X[:20], beta=1.0),
        "alpha": 1e-4, "intercept_scaling": 1.0, "t0": 1e4, "shuffle": False,
        "average": average,
    }  # fmt: skip
    whole = sgd(max_iter=1, **parameters).fit(kind(X), y)
    stream = sgd(**parameters)
    for block in np.split(np.arange(1200), np.cumsum(sizes)[:-1]):
        stream.partial_fit(kind(X[block]), y[block], classes=np.arange(10))
    assert_allclose(stream.coef_, whole.coef_, atol=1e-10)
    assert_allclose(stream.intercept_, whole.intercept_, atol=1e-10)
    assert stream.t_ == whole.t_ == 1200


def test_streams_learn_and_go_on_after_fit(digits):
    X, y, X_test, y_test = digits
    stream = sgd(anchors=X[:40], alpha=1e-3)
    for _ in range(3):
        for start in range(0, 1200, 300):
            stream.partial_fit(
                X[start : start + 300], y[start : start + 300], classes=np.arange(10)
            )
    assert stream.score(X_test, y_test) > 0.95
    assert stream.n_iter_ == len(stream.objective_history_) == 12
    refined = sgd(n_anchors=30, max_iter=2).fit(X[:600], y[:600])
    before = refined.score(X_test, y_test)
    clock = refined.t_
    for _ in range(5):
        refined.partial_fit(X[600:], y[600:])
    assert refined.t_ == clock + 5 * 600
    assert refined.score(X_test, y_test) > before


def test_a_stream_keeps_its_classes(digits):
    X, y, _, _ = digits
    names = np.array(list("abcdefghij"))
    stream = sgd(anchors=X[:20])
    with pytest.raises(ValueError, match="classes must be passed to the first call"):
        stream.partial_fit(X, names[y])
    few = y < 3
    stream.partial_fit(X[few], names[y[few]], classes=names)
    assert_array_equal(stream.classes_, names)
    with pytest.raises(ValueError, match=r"not among the known ones: \['z'\]"):
        stream.partial_fit(X[:2], ["a", "z"])
    with pytest.raises(ValueError, match="differs from the first call"):
        stream.partial_fit(X[:2], ["a", "b"], classes=["a", "b"])
    with pytest.raises(ValueError, match="8 features"):
        stream.partial_fit(X[:2, :8], ["a", "b"])
    before = stream.coef_.copy()
    stream.partial_fit(X[y == 7], names[y[y == 7]])
    assert not np.array_equal(before, stream.coef_)


def test_streams_need_sgd():
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as error:
        getattr(LLSVMClassifier(), "partial_fit")  # noqa: B009
    assert "needs solver='sgd'" in str(error.value.__cause__)
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        sgd(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="early_stopping"):
        sgd(early_stopping=True).partial_fit(X, y, classes=[0, 1])


# ------------------------------------------- early stopping, warm start, interrupts


@pytest.mark.parametrize("solver", ["sgd", "dual"])
def test_early_stopping_keeps_the_best_weights(digits, solver):
    X, y, X_test, y_test = digits
    parameters = {
        "solver": solver, "early_stopping": True, "max_iter": 60, "tol": 1e-12,
        "n_iter_no_change": 3, "random_state": 0, "alpha": 1e-3,
    }  # fmt: skip
    model = LLSVMClassifier(20, **parameters).fit(X, y, X_val=X_test, y_val=y_test)
    history = model.validation_history_
    assert len(history) == model.n_iter_ < 60
    assert model.score(X_test, y_test) == history.max() == history[-4]
    weights = (y_test < 5).astype(float)
    weighted = LLSVMClassifier(20, **parameters).fit(
        X, y, X_val=X_test, y_val=y_test, sample_weight_val=weights
    )
    assert weighted.validation_history_.max() == weighted.score(X_test, y_test, weights)


def test_held_out_rows_do_not_train(digits):
    """A fraction is set aside: it neither moves the anchors nor the weights."""
    X, y, _, _ = digits
    model = LLSVMClassifier(
        20, early_stopping=True, validation_fraction=0.25, random_state=0
    ).fit(X, y)
    assert model.validation_history_.max() > 0.9
    counts = np.unique(model.validation_history_ * 300)
    assert_allclose(counts, counts.round())


def test_validation_data_is_checked(digits):
    X, y, X_test, y_test = digits
    with pytest.raises(ValueError, match="set early_stopping=True"):
        LLSVMClassifier().fit(X, y, X_val=X_test, y_val=y_test)
    model = LLSVMClassifier(early_stopping=True)
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        model.fit(X, y, X_val=X_test)
    with pytest.raises(ValueError, match="8 features"):
        model.fit(X, y, X_val=X_test[:, :8], y_val=y_test)
    with pytest.raises(ValueError, match="not among the known ones"):
        model.fit(X, y, X_val=X_test, y_val=y_test + 5)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_dual_warm_start_resumes(digits, multi_class):
    X, y, _, _ = digits
    model = LLSVMClassifier(
        20, warm_start=True, loss="hinge", multi_class=multi_class, tol=1e-4,
        max_iter=5000, random_state=0,
    ).fit(X, y)  # fmt: skip
    anchors, first = model.anchors_, model.n_iter_
    coef = model.coef_
    model.fit(X, y)
    assert model.anchors_ is anchors
    assert model.n_iter_ < first / 4
    assert_allclose(model.coef_, coef, atol=0.05)
    # Other rows, and as many: a start like any other.
    model.set_params(tol=1e-3).fit(X[::-1], y[::-1])
    assert model.dual_gap_ <= 1e-3
    model.fit(X[:500], y[:500])
    assert model.dual_gap_ <= 1e-3


def test_sgd_warm_start_resumes(digits):
    X, y, _, _ = digits
    model = sgd(n_anchors=20, warm_start=True, max_iter=5).fit(X, y)
    first = model.objective_history_
    second = model.fit(X, y).objective_history_
    assert second[0] < first[1]
    with pytest.raises(ValueError, match="not among the known ones"):
        model.fit(X, y + 1)


@pytest.mark.in_turn
@pytest.mark.parametrize("solver", ["sgd", "dual"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interruption_leaves_a_usable_model(digits, solver, n_jobs, monkeypatch):
    X, y, X_test, y_test = digits
    kernel = "sgd_steps" if solver == "sgd" else "dual_epoch"
    original, calls = getattr(convex, kernel), []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 12 * n_jobs and calls[-1]:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(convex, kernel, interrupted)
    model = LLSVMClassifier(
        20, solver=solver, max_iter=1000, tol=1e-12,
        t0=1e4 if solver == "sgd" else "auto", n_jobs=n_jobs, random_state=0,
        alpha="scale",
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 12
    assert model.score(X_test, y_test) > 0.9


def test_interruption_before_training_leaves_the_estimator_as_it_was(
    digits, monkeypatch
):
    X, y, _, _ = digits
    model = LLSVMClassifier(10, random_state=0).fit(X, y)
    before = vars(model).copy()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("locallin.coding.base.choose_anchors", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :9], y > 3)
    assert vars(model) == before


def test_warning_says_what_to_do(digits):
    X, y, _, _ = digits
    with pytest.warns(ConvergenceWarning, match="duality gap.*Raise max_iter, alpha"):
        LLSVMClassifier(20, max_iter=2, tol=1e-6).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="objective still falls") as record:
        sgd(max_iter=2, tol=1e-3).fit(X, y)
    assert record[0].filename == __file__


def test_verbose_prints_a_line_per_epoch(moons, capsys):
    model = LLSVMClassifier(5, verbose=1, early_stopping=True, random_state=0)
    model.fit(*moons)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("[LLSVMClassifier] epoch 1/200: objective ")
    assert "held-out accuracy" in lines[0]


@pytest.mark.parametrize(
    "model",
    [
        sgd(n_anchors=10, max_iter=50),
        SAPLClassifier(10, max_iter=50, random_state=0),
        ML3Classifier(5, max_iter=50, random_state=0),
    ],
)
def test_callbacks_of_scikit_learn(moons, model):
    pytest.importorskip("sklearn.callback")
    X, y = moons
    seen = []

    class Recorder:
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            seen.append("begin")

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "epoch":
                seen.append(fitted_estimator.score(X, y))
                return len(seen) > 10
            return False

    model = clone(model).set_callbacks(Recorder())
    model.fit(X, y)
    assert model.n_iter_ < 50
    assert seen[0] == "setup"
    assert seen[-1] == "teardown"
    scores = [s for s in seen if isinstance(s, float)]
    assert len(scores) == model.n_iter_
    assert min(scores) > 0.7


# -------------------------------------------------------- scikit-learn's company


def test_pickle_and_clone(digits):
    X, y, X_test, _ = digits
    model = LLSVMClassifier(
        20, feature_map=IntersectionSampler(), tol=0.1, random_state=0
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X_test), model.decision_function(X_test))
    refitted = clone(model).fit(X, y)
    assert_array_equal(refitted.coef_, model.coef_)


def test_grid_search_reaches_nested_parameters(moons):
    X, y = moons
    pipeline = make_pipeline(
        StandardScaler(),
        LLSVMClassifier(coding=SoftAssignmentCoding(8, n_neighbors=2), random_state=0),
    )
    grid = {
        "llsvmclassifier__alpha": [1e-3, 1e-1],
        "llsvmclassifier__coding__n_anchors": [2, 12],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["llsvmclassifier__coding__n_anchors"] == 12
    assert search.best_score_ > 0.93


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names(digits, library):
    frames = pytest.importorskip(library)
    X, y, X_test, _ = digits
    names = [f"pixel {i}" for i in range(64)]
    make = {
        "pandas": lambda a: frames.DataFrame(a, columns=names),
        "polars": lambda a: frames.DataFrame(dict(zip(names, a.T, strict=True))),
    }[library]
    if not hasattr(StandardScaler().fit(make(X)), "feature_names_in_"):
        pytest.skip(f"this scikit-learn does not see the names of {library} frames")
    model = LLSVMClassifier(20, random_state=0).fit(make(X), y)
    assert_array_equal(model.feature_names_in_, names)
    plain = LLSVMClassifier(20, random_state=0).fit(X, y)
    assert_allclose(
        model.decision_function(make(X_test)), plain.decision_function(X_test)
    )
    assert list(model.coding_.get_feature_names_out()[:1]) == ["adaptivecoding0"]


@pytest.mark.parametrize("classes", [2, 10])
def test_probabilities(digits, classes):
    X, y, X_test, y_test = digits
    y, y_test = y % classes, y_test % classes
    model = LLSVMClassifier(20, loss="logistic", random_state=0).fit(X, y)
    p = model.predict_proba(X_test)
    assert p.shape == (len(X_test), classes)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_test))
    assert_allclose(model.predict_log_proba(X_test), np.log(p))
    likelihood = np.log(p[np.arange(len(y_test)), y_test]).mean()
    assert likelihood > 0.5 * np.log(1 / classes)


def test_margin_losses_name_the_way_to_probabilities(moons):
    X, y = moons
    model = LLSVMClassifier(10, random_state=0)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    for remedy in ("probability=True", "loss='logistic'", "CalibratedClassifierCV"):
        assert remedy in str(error.value.__cause__)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    assert calibrated.score(X, y) > 0.9


@pytest.mark.in_turn
@pytest.mark.parametrize("space", ["input", "mapped"])
@pytest.mark.parametrize(
    "feature_map",
    [
        IntersectionSampler(),
        AdditiveChi2Sampler(),
        Nystroem(n_components=50, random_state=0),
    ],
    ids=lambda t: type(t).__name__,
)
def test_feature_maps(digits, feature_map, space):
    X, y, X_test, y_test = digits
    model = LLSVMClassifier(
        10, feature_map=feature_map, coding_space=space, random_state=0
    ).fit(X, y)
    width = feature_map.fit_transform(X[:50]).shape[1]
    assert model.coef_.shape == (10, 10, width)
    assert model.anchors_.shape[1] == (width if space == "mapped" else 64)
    assert model.score(X_test, y_test) > 0.96


def test_a_kind_of_encoder_transforms_in_its_own_way(digits):
    class Doubled(PiecewiseLinearEncoder):
        def transform(self, X):
            return 2.0 * super().transform(X)

    X, y, *_ = digits
    model = LLSVMClassifier(10, feature_map=Doubled(4), random_state=0).fit(X, y)
    mapped = model.feature_map_.transform(X[:50])
    scores = np.einsum("icd,id->ic", model.local_coef(X[:50]), mapped)
    scores += model.local_intercept(X[:50])
    assert_allclose(model.decision_function(X[:50]), scores)


def test_a_map_for_the_coding_of_constant_models(digits):
    X, y, X_test, y_test = digits
    model = LLSVMClassifier(
        60,
        local_model="constant",
        feature_map=Nystroem(n_components=50, random_state=0),
        coding_space="mapped",
        random_state=0,
    ).fit(X, y)
    assert model.anchors_.shape == (60, 50)
    assert model.coef_.shape == (60, 10, 0)
    assert model.score(X_test, y_test) > 0.85


def test_all_passes_without_a_tolerance(digits):
    X, y, _, _ = digits
    model = LLSVMClassifier(20, tol=None, max_iter=7, random_state=0).fit(X, y)
    assert model.n_iter_ == 7


@pytest.mark.parametrize("strategy", ["kmeans", "random", "kmeans-per-class", "given"])
def test_anchor_strategies(digits, strategy):
    X, y, X_test, y_test = digits
    anchors = X[::30] if strategy == "given" else strategy
    model = LLSVMClassifier(
        n_anchors=None if strategy == "given" else 40, anchors=anchors, random_state=0
    ).fit(X, y)
    assert len(model.anchors_) == 40
    assert model.score(X_test, y_test) > 0.96


# ------------------------------------------------------------ degenerate, and wrong


@pytest.mark.in_turn
@pytest.mark.parametrize("solver", ["sgd", "dual"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "case", ["few rows", "duplicates", "constant", "one feature", "zeros"]
)
def test_degenerate_data_works(case, kind, solver):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    y = np.arange(40) % 3
    X, y = {
        "few rows": (X[:3], y[:3]),
        "duplicates": (np.repeat(X[:3], 10, axis=0), np.repeat([0, 1, 2], 10)),
        "constant": (np.ones_like(X), y),
        "one feature": (X[:, :1] + y[:, None], y),
        "zeros": (np.where(rng.uniform(size=X.shape) < 0.8, 0, X), y),
    }[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for parameters in ({}, {"n_anchors": 10}, {"coding": "inverse-distance"}):
            model = LLSVMClassifier(
                solver=solver, max_iter=20, random_state=0, **parameters
            ).fit(kind(X), y)
            scores = model.decision_function(kind(X))
            assert np.isfinite(scores).all()
            assert np.isfinite(model.coef_).all()
    if case in ("duplicates", "few rows", "one feature"):
        assert (model.predict(kind(X)) == y).mean() > 0.5


@pytest.mark.in_turn
@pytest.mark.parametrize("eta", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_sgd_survives_any_first_step(moons, eta, loss):
    X, y = moons
    model = sgd(n_anchors=10, loss=loss, alpha=1e-6, t0=max(1 / (1e-6 * eta), 2))
    model.fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_read_only_and_fortran_arrays(digits):
    X, y, X_test, _ = digits
    plain = LLSVMClassifier(10, tol=0.1, random_state=0).fit(X, y)
    frozen = X.copy()
    frozen.setflags(write=False)
    for same in (frozen, np.asfortranarray(X)):
        model = LLSVMClassifier(10, tol=0.1, random_state=0).fit(same, y)
        assert_array_equal(model.coef_, plain.coef_)
    test = np.asfortranarray(X_test)
    assert_array_equal(model.decision_function(test), plain.decision_function(X_test))


def test_input_is_not_changed(digits):
    X, y, _, _ = digits
    X, y, weights = X.copy(), y.copy(), np.linspace(0.5, 2, len(y))
    given = X[:10].copy()
    copies = X.copy(), y.copy(), weights.copy(), given.copy()
    model = LLSVMClassifier(anchors=given, early_stopping=True, random_state=0)
    model.fit(X, y, weights)
    model.predict(X)
    for now, before in zip((X, y, weights, given), copies, strict=True):
        assert_array_equal(now, before)


GOOD = np.random.RandomState(0).normal(size=(60, 4))
LABELS = np.arange(60) % 3


def changed(where, value):
    X = GOOD.copy()
    X[where] = value
    return X


@pytest.mark.parametrize(
    ("parameters", "X", "y", "weights", "error"),
    [
        ({}, changed((3, 1), np.nan), LABELS, None, "X contains NaN.*TableEncoder"),
        ({}, changed((3, 1), np.inf), LABELS, None, "X contains infinity"),
        ({}, GOOD[0], LABELS, None, "Expected 2D array"),
        ({}, GOOD, LABELS[:-1], None, "inconsistent numbers of samples"),
        ({}, GOOD, np.zeros(60), None, "y has one class: 0.0"),
        ({}, GOOD, GOOD[:, 0], None, "continuous"),
        ({}, GOOD, LABELS, -np.ones(60), "[Nn]egative values .*sample_weight"),
        ({}, GOOD, LABELS, np.ones(59), "sample_weight.shape"),
        ({}, GOOD, LABELS, np.zeros(60), "sample_weight is zero|non-zero"),
        ({}, GOOD, LABELS, LABELS == 1, "positive weight have one class"),
        ({}, [["a", "b"]] * 60, LABELS, None, "X has text in column 0"),
        ({}, GOOD.astype(np.float32) * 1e30, LABELS, None, "scale the features"),
        ({}, GOOD.astype(np.float32) * 1e-30, LABELS, None, "scale the features"),
        (
            {"n_anchors": 4, "n_neighbors": 5, "coding": "soft"},
            GOOD,
            LABELS,
            None,
            "n_neighbors=5 is mo",
        ),
        ({"anchors": np.ones((9, 3))}, GOOD, LABELS, None, "anchors has 3 features"),
        ({"anchors": [[np.nan] * 4]}, GOOD, LABELS, None, "anchors contains NaN"),
        ({"anchors": GOOD[:9], "n_anchors": 4}, GOOD, LABELS, None, "9 anchors are gi"),
        ({"n_anchors": "many"}, GOOD, LABELS, None, "'n_anchors' parameter"),
        ({"alpha": -1.0}, GOOD, LABELS, None, "'alpha' parameter"),
        ({"alpha": "1"}, GOOD, LABELS, None, "'alpha' parameter"),
        ({"loss": "huber"}, GOOD, LABELS, None, "'loss' parameter"),
        ({"coding": "sparse"}, GOOD, LABELS, None, "'coding' parameter"),
        ({"max_iter": 0}, GOOD, LABELS, None, "'max_iter' parameter"),
        ({"t0": 10.0}, GOOD, LABELS, None, "t0=10.0 is a setting of solver='sgd'"),
        ({"intercept_scaling": "free"}, GOOD, LABELS, None, "choose solver='sgd'"),
        ({"coding_space": "mapped"}, GOOD, LABELS, None, "needs a feature_map"),
        (
            {"local_model": "constant", "feature_map": StandardScaler()},
            GOOD, LABELS, None, "does not look at the features",
        ),
        (
            {"multi_class": "crammer_singer"},
            GOOD, LABELS, None, "has no loss='squared_hinge'",
        ),
        (
            {"coding": InverseDistanceCoding(), "n_anchors": 7},
            GOOD, LABELS, None, "n_anchors=7 does not reach",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_named_and_changes_nothing(parameters, X, y, weights, error):
    model = LLSVMClassifier(6, max_iter=3, tol=1.0, random_state=0).fit(GOOD, LABELS)
    model.set_params(**{"n_anchors": None} | parameters)
    before = vars(model).copy()
    with pytest.raises((ValueError, TypeError), match=error):
        model.fit(X, y, weights)
    assert vars(model) == before
    fresh = clone(model)
    with pytest.raises((ValueError, TypeError), match=error):
        fresh.fit(X, y, weights)
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_prediction_checks_its_input():
    with pytest.raises(NotFittedError):
        LLSVMClassifier().predict(GOOD)
    with pytest.raises(NotFittedError):
        LLSVMClassifier().local_coef(GOOD)
    model = LLSVMClassifier(6, max_iter=3, tol=1.0, random_state=0).fit(GOOD, LABELS)
    for method in (model.predict, model.decision_function, model.local_coef):
        with pytest.raises(ValueError, match="3 features"):
            method(GOOD[:, :3])
        with pytest.raises(ValueError, match="NaN"):
            method(changed((0, 0), np.nan))


def test_cross_validation_scores_locals_above_linear(moons):
    X, y = moons
    local = cross_val_score(LLSVMClassifier(15, random_state=0), X, y, cv=5)
    single = cross_val_score(LLSVMClassifier(1, random_state=0), X, y, cv=5)
    assert local.mean() > single.mean() + 0.05


def test_all_scores_together_may_converge_where_one_does_not():
    rng = np.random.RandomState(2)
    y = np.repeat(np.arange(30), 10)
    X = rng.normal(size=(300, 5)) + 2 * rng.normal(size=(30, 5))[y]
    model = LLSVMClassifier(5, random_state=0).fit(X, y)  # a warning would be an error
    assert model.n_iter_ == model.max_iter
    assert model.dual_gap_ <= model.tol
