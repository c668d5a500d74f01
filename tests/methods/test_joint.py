"""Joint learning: gradients by finite differences, identities, behaviour in use."""

import pickle

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

from locallin import (
    DULLSVMClassifier,
    LLSVMClassifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.coding import AdaptiveCoding, SoftAssignmentCoding
from locallin.engine.matrix import BatchRows
from locallin.kernels.joint import Parameters, Rates, adam, anchor_gradient
from locallin.kernels.linear import Target
from locallin.kernels.losses import LOSSES, MULTINOMIAL
from locallin.solvers import joint
from locallin.solvers.diversity import RIDGE, diversity_gradient
from locallin.solvers.joint import JointProblem, differentiate, metric_gradient

BOTH = [SAPLClassifier, DULLSVMClassifier]


def kernel_gradient(X, labels, weights, coding, parameters, loss, constant=False):
    """Gradients by W, b, V, log bandwidth and metric, as the solvers compute them."""
    features = X[:, :0] if constant else X
    n_scores = parameters.intercept.shape[1]
    positive = np.array([1]) if n_scores == 1 else np.arange(n_scores)
    target = Target(labels, positive, weights)
    visits = np.arange(len(labels))
    state = coding.state()
    code = LOSSES.get(loss, MULTINOMIAL)
    problem = JointProblem(X, features, target, visits, state, 0.1, 1.0, code)
    rows = BatchRows((X, features), len(visits)).pick(visits)
    state = state._replace(anchors=parameters.anchors)
    batch, widths, sums = differentiate(problem, parameters, state, visits, rows)
    by_metric = None
    if state.metric is not None:
        by_metric = metric_gradient(rows[0], batch, state)
    out = Parameters(*map(np.zeros_like, parameters))
    for j in range(len(parameters.anchors)):
        anchor_gradient(batch, j, parameters.anchors, tuple(a[j] for a in out))
    return out, widths, by_metric, sums


def mean_loss(X, labels, weights, coding, parameters, bandwidth, loss):
    """The same batch's mean loss from the slow twins."""
    features = X[:, : parameters.coef.shape[2]]
    X = reference.in_metric(X, coding.metric_)
    if isinstance(coding, AdaptiveCoding):
        codes = reference.adaptive(X, parameters.anchors, bandwidth)
    else:
        codes = reference.soft_assignment(
            X, parameters.anchors, coding.n_neighbors_, bandwidth
        )
    n_scores = parameters.intercept.shape[1]
    positive = np.array([1]) if n_scores == 1 else np.arange(n_scores)
    scores = reference.scores(features, codes, parameters.coef, parameters.intercept)
    if loss == "multinomial":
        return weights @ reference.multinomial(scores, labels) / len(X)
    margins = reference.margins(scores, labels, positive, "ovr")
    return (weights[:, None] * reference.loss(loss, margins)).sum() / len(X)


def differences(function, array, h=1e-6):
    out = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        old = array[index]
        array[index] = old + h
        above = function()
        array[index] = old - h
        below = function()
        array[index] = old
        out[index] = (above - below) / (2 * h)
    return out


def diversity(coef, importance):
    return reference.diversity(coef, importance, RIDGE)


CASES = ["dense", "csr", "constant", "per-anchor", "two"]
CASES += ["scale", "csr scale", "linear", "csr linear", "constant linear"]


@pytest.mark.in_turn
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("loss", [*LOSSES, "multinomial"])
@pytest.mark.parametrize("coding_kind", ["soft", "adaptive"])
def test_gradients_equal_finite_differences(blobs, coding_kind, loss, case):
    if loss == "multinomial" and case == "two":
        loss = "logistic"  # one score: the same
    X, labels, weights = blobs
    X, labels, weights = X[:25], labels[:25].copy(), weights[:25]
    if case == "two":
        labels = labels % 2
    rng = np.random.RandomState(1)
    metric = None
    if "scale" in case:
        metric = rng.uniform(0.5, 1.5, size=6)
    elif "linear" in case:
        metric = 0.5 * rng.normal(size=(3, 6))
    anchors = rng.normal(size=(6, 3 if "linear" in case else 6))
    place = {"anchors": anchors, "metric": metric}
    if coding_kind == "soft":
        coding = SoftAssignmentCoding(n_neighbors=4, beta=0.2, **place)
    else:
        coding = AdaptiveCoding(mu=0.4, **place)
    coding.fit(X)
    bandwidth = np.atleast_1d(np.asarray(coding.bandwidth_, float))
    if case == "per-anchor":
        bandwidth = rng.uniform(0.1, 0.3, size=6)
        coding.bandwidth_ = bandwidth
    n_scores = 1 if case == "two" else 5
    parameters = Parameters(
        0.5 * rng.normal(size=(6, n_scores, 0 if "constant" in case else 6)),
        0.5 * rng.normal(size=(6, n_scores)),
        anchors,
    )
    data = sparse.csr_matrix(X) if "csr" in case else X
    gradient, widths, by_metric, sums = kernel_gradient(
        data, labels, weights, coding, parameters, loss, "constant" in case
    )

    def value():
        return mean_loss(X, labels, weights, coding, parameters, bandwidth, loss)

    assert_allclose(sums[0] / len(X), value(), rtol=1e-10)
    for name in Parameters._fields:
        numeric = differences(value, getattr(parameters, name))
        assert_allclose(
            getattr(gradient, name), numeric, rtol=1e-4, atol=1e-7, err_msg=name
        )
    logs = np.log(bandwidth)

    def by_logs():
        bandwidth[:] = np.exp(logs)
        return value()

    assert_allclose(widths, differences(by_logs, logs), rtol=1e-4, atol=1e-8)
    if metric is not None:
        numeric = differences(value, coding.metric_)
        assert_allclose(by_metric, numeric, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("shape", [(4, 1, 7), (4, 3, 5), (9, 1, 3), (1, 2, 4)])
def test_diversity_gradient_equals_finite_differences(shape):
    """Also with more anchors than weights, where the Gram matrix is singular."""
    rng = np.random.RandomState(0)
    coef = rng.normal(size=shape)
    importance = rng.dirichlet(np.ones(shape[0]))
    numeric = differences(lambda: diversity(coef, importance), coef)
    found = diversity_gradient(coef, importance)
    assert_allclose(found, numeric, rtol=1e-4, atol=1e-6)


def test_diversity_is_least_for_orthogonal_models_of_the_right_length():
    importance = np.array([0.5, 0.3, 0.2])
    best = np.sqrt(importance)[:, None] * np.eye(3)
    rng = np.random.RandomState(0)
    for _ in range(20):
        other = best + 0.3 * rng.normal(size=(3, 3))
        assert diversity(other[:, None], importance) > diversity(
            best[:, None], importance
        )
    assert (diversity_gradient(np.zeros((3, 1, 3)), importance) == 0).all()
    equal = np.ones((3, 1, 4))
    assert np.isfinite(diversity_gradient(equal, importance)).all()


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", LOSSES)
def test_frozen_anchors_are_ll_svm(digits, loss, kind):
    """The same steps in the same order, to rounding."""
    X, y, _, _ = digits
    X, y = X[:300], y[:300]
    shared = {
        "loss": loss, "alpha": 1e-3, "intercept_scaling": 1.5, "t0": 1e4,
        "max_iter": 3, "tol": None, "solver": "sgd", "random_state": 3,
    }  # fmt: skip
    weights = np.random.RandomState(0).uniform(0.5, 2, len(y))
    for Joint, coding in (
        (
            SAPLClassifier(
                anchors=X[:12], n_neighbors=5, beta=0.3, anchor_rate=0.0, **shared
            ),
            SoftAssignmentCoding(anchors=X[:12], n_neighbors=5, beta=0.3),
        ),
        (
            DULLSVMClassifier(
                anchors=X[:12], mu=0.5, diversity=0.0, anchor_rate=0.0, **shared
            ),
            AdaptiveCoding(anchors=X[:12], mu=0.5),
        ),
    ):
        joint = Joint.fit(kind(X), y, weights)
        convex = LLSVMClassifier(coding=coding, **shared).fit(kind(X), y, weights)
        assert_allclose(joint.coef_, convex.coef_, rtol=1e-6, atol=1e-9)
        assert_allclose(joint.intercept_, convex.intercept_, rtol=1e-6, atol=1e-9)
        assert_allclose(joint.anchors_, convex.anchors_, rtol=1e-12)


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_diversity_changes_the_model_and_zero_does_not(digits, solver):
    X, y, _, _ = digits
    X, y = X[:300], y[:300]

    def fit(diversity):
        model = DULLSVMClassifier(
            12, diversity=diversity, solver=solver, max_iter=3, random_state=0
        )
        return model.fit(X, y)

    none, some = fit(0.0), fit(0.1)
    assert_array_equal(none.coef_, fit(0.0).coef_)
    assert not np.allclose(none.coef_, some.coef_)
    share = np.full(12, 1 / 12)
    assert diversity(some.coef_, share) < diversity(none.coef_, share)


@pytest.mark.in_turn
@pytest.mark.parametrize("Classifier", BOTH)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_falls_and_the_anchors_move(digits, Classifier, solver, loss):
    X, y, X_test, y_test = digits
    model = Classifier(
        30, alpha=3e-4, solver=solver, loss=loss, max_iter=15, random_state=0
    )
    model.fit(X, y)
    history = model.objective_history_
    assert len(history) == model.n_iter_ == 15
    assert history[-1] < 0.5 * history[0]
    assert history[10:].max() < history[:5].min()
    start = LLSVMClassifier(30, max_iter=1, tol=1.0, random_state=0).fit(X, y)
    assert not np.allclose(start.anchors_, model.anchors_)
    assert np.abs(model.anchors_).max() < 3 * np.abs(X).max()
    assert model.score(X_test, y_test) > 0.94
    assert model.active_history_.shape == model.perplexity_history_.shape == (15,)
    assert (model.perplexity_history_ <= model.active_history_ + 1e-9).all()


@pytest.mark.parametrize("Classifier", BOTH)
def test_four_anchors_solve_the_sine_data(Classifier):
    """Figure 1 of the LLC-SAPL paper: anchors that do not learn cannot."""
    rng = np.random.RandomState(0)
    t = rng.uniform(0, 3 * np.pi, size=1000)
    y = np.arange(1000) % 2
    X = np.column_stack([t, np.sin(t) + 0.8 * y]) + 0.12 * rng.normal(size=(1000, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    learned = Classifier(4, bandwidth="shared", alpha=1e-4, max_iter=60, random_state=0)
    learned.fit(X, y)
    fixed = LLSVMClassifier(4, alpha=1e-4, tol=0.1, random_state=0).fit(X, y)
    assert fixed.score(X, y) < 0.95
    assert learned.score(X, y) > 0.99


def test_constant_local_models_learn_their_anchors(digits):
    X, y, X_test, y_test = digits
    learned = SAPLClassifier(20, local_model="constant", random_state=0).fit(X, y)
    fixed = LLSVMClassifier(20, local_model="constant", random_state=0).fit(X, y)
    assert learned.coef_.shape == (20, 10, 0)
    assert learned.score(X_test, y_test) > fixed.score(X_test, y_test)


@pytest.mark.parametrize("Classifier", BOTH)
def test_a_stream_goes_on_with_the_bandwidth_of_each_anchor(digits, Classifier):
    """Frozen anchors and tiny steps: the codes, and so the scores, stay."""
    X, y, X_test, _ = digits
    model = Classifier(20, max_iter=5, random_state=0).fit(X, y)
    before, widths = model.decision_function(X_test), model.coding_.bandwidth_
    model.set_params(solver="sgd", anchor_rate=0.0, t0=1e12, average=False)
    model.partial_fit(X, y)
    assert_array_equal(model.coding_.bandwidth_, widths)
    assert_allclose(model.decision_function(X_test), before, atol=1e-4)
    correct = (model.predict(X) == y).mean()
    losses = reference.loss(
        "squared_hinge",
        reference.margins(model.decision_function(X), y, np.arange(10), "ovr"),
    ).sum(axis=1)
    penalty = model.objective_history_[-1] - losses.mean()
    squares = (model.coef_**2).sum()
    squares += (model.intercept_**2).sum() / model.intercept_scaling_**2
    assert_allclose(penalty, 0.5 * model.alpha_ * squares, rtol=1e-3)
    assert correct > 0.95


@pytest.mark.in_turn
@pytest.mark.parametrize("Classifier", BOTH)
@pytest.mark.parametrize("bandwidth", ["fixed", "shared", "per-anchor"])
def test_bandwidths(digits, bandwidth, Classifier):
    X, y, X_test, y_test = digits
    model = Classifier(20, bandwidth=bandwidth, max_iter=10, random_state=0)
    model.fit(X, y)
    start = LLSVMClassifier(20, coding=model.coding, max_iter=1, tol=1.0)
    first = start.set_params(random_state=0).fit(X, y)
    found = model.coding_.bandwidth_
    if bandwidth == "per-anchor":
        assert found.shape == (20,)
        assert found.std() > 0
        codes = model.coding_.transform(X_test[:50]).toarray()
        if Classifier is SAPLClassifier:
            k = model.coding_.n_neighbors_
            slow = reference.soft_assignment(X_test[:50], model.anchors_, k, found)
        else:
            slow = reference.adaptive(X_test[:50], model.anchors_, found)
        assert_allclose(codes, slow, atol=1e-10)
    else:
        same = np.isclose(found, first.coding_.bandwidth_)
        assert same == (bandwidth == "fixed")
    assert model.score(X_test, y_test) > 0.94


@pytest.mark.in_turn
@pytest.mark.parametrize("Classifier", BOTH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_local_weights_explain_the_score(digits, Classifier, dtype, kind):
    X, y, X_test, y_test = digits
    X, X_test = kind(X.astype(dtype)), X_test.astype(dtype)
    model = Classifier(20, max_iter=5, random_state=0).fit(X, y)
    assert model.coef_.dtype == model.anchors_.dtype == dtype
    scores = model.decision_function(kind(X_test))
    explained = np.einsum("icd,id->ic", model.local_coef(X_test), X_test)
    explained += model.local_intercept(kind(X_test))
    assert_allclose(explained, scores, atol=1e-3 if dtype == np.float32 else 1e-9)
    assert model.score(kind(X_test), y_test) > 0.9


@pytest.mark.in_turn
@pytest.mark.parametrize("Classifier", BOTH)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_same_seed_same_bits(digits, Classifier, solver, monkeypatch):
    monkeypatch.setattr(joint, "WORK_FOR_THREADS", 0)
    X, y, X_test, _ = digits
    models = [
        Classifier(
            20, solver=solver, max_iter=3, n_jobs=n_jobs, random_state=0
        ).fit(X, y)
        for n_jobs in (1, 2)
    ]  # fmt: skip
    assert_array_equal(models[0].coef_, models[1].coef_)
    assert_array_equal(models[0].anchors_, models[1].anchors_)
    big = np.tile(X_test, (4, 1))
    assert_array_equal(*(m.decision_function(big) for m in models))


@pytest.mark.parametrize("Classifier", BOTH)
def test_anchors_learn_from_a_stream(digits, Classifier):
    X, y, X_test, y_test = digits
    parameters = {"t0": 1e4, "alpha": 1e-3, "intercept_scaling": 1.0, "shuffle": False}
    more = {"mu": 0.3} if Classifier is DULLSVMClassifier else {"beta": 0.3}
    more |= {"diversity": 0.0} if Classifier is DULLSVMClassifier else {}

    def make(**further):
        return Classifier(
            anchors=X[:30],
            solver="sgd",
            random_state=0,
            **parameters,
            **more,
            **further,
        )

    whole = make(max_iter=1).fit(X, y)
    stream = make()
    for block in (slice(0, 1), slice(1, 500), slice(500, 1200)):
        stream.partial_fit(X[block], y[block], classes=np.arange(10))
    # The unit of the anchors' steps is that of the first block for a stream.
    assert stream.coef_.shape == whole.coef_.shape
    assert stream.t_ == whole.t_ == 1200
    for _ in range(4):
        stream.partial_fit(X, y)
    assert stream.score(X_test, y_test) > 0.93
    assert not np.allclose(stream.anchors_, X[:30])
    with pytest.raises(ValueError, match="not among the known ones"):
        stream.partial_fit(X[:2], [3, 17])


@pytest.mark.parametrize("Classifier", BOTH)
def test_early_stopping_keeps_the_best_parameters(digits, Classifier):
    X, y, X_test, y_test = digits
    model = Classifier(
        20, early_stopping=True, n_iter_no_change=3, max_iter=40, random_state=0
    ).fit(X, y, X_val=X_test, y_val=y_test)
    history = model.validation_history_
    assert len(history) == model.n_iter_ < 40
    assert model.score(X_test, y_test) == history.max() == history[-4]


@pytest.mark.parametrize("Classifier", BOTH)
def test_weights_of_zero_leave_rows_out(digits, Classifier):
    X, y, _, _ = digits
    keep = np.arange(1200) < 400
    a = Classifier(anchors=X[:20], max_iter=2, random_state=0).fit(X, y, keep)
    b = Classifier(anchors=X[:20], max_iter=2, random_state=0).fit(X[keep], y[keep])
    assert_allclose(a.coef_, b.coef_, atol=1e-8)
    assert_allclose(a.anchors_, b.anchors_, atol=1e-8)


@pytest.mark.in_turn
@pytest.mark.parametrize("Classifier", BOTH)
@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_the_unit_of_the_data_does_not_matter(moons, Classifier, scale, solver):
    X, y = moons
    plain = Classifier(8, solver=solver, max_iter=5, random_state=0).fit(X, y)
    scaled = Classifier(8, solver=solver, max_iter=5, random_state=0).fit(scale * X, y)
    assert_allclose(
        scaled.decision_function(scale * X), plain.decision_function(X), atol=1e-3
    )


def test_anchors_per_class_through_scikit_learn(digits):
    X, y, X_test, y_test = digits
    model = OneVsRestClassifier(SAPLClassifier(10, max_iter=5, random_state=0))
    model.fit(X, y)
    assert len(model.estimators_) == 10
    first, second = (e.anchors_ for e in model.estimators_[:2])
    assert not np.allclose(first, second)
    assert model.score(X_test, y_test) > 0.9


@pytest.mark.in_turn
@pytest.mark.parametrize("Classifier", BOTH)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_warm_start_pickle_and_interruption(digits, Classifier, solver, monkeypatch):
    X, y, X_test, y_test = digits
    model = Classifier(20, solver=solver, warm_start=True, max_iter=4, random_state=0)
    first = model.fit(X, y).objective_history_[0]
    assert model.fit(X, y).objective_history_[0] < first
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X_test), model.decision_function(X_test))

    def interrupt(epoch, *args):
        if epoch == 3:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(
        "locallin.methods.skeleton.FitMonitor.__call__", lambda self, *a: interrupt(*a)
    )
    stopped = Classifier(20, solver=solver, max_iter=50, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, y)
    assert stopped.n_iter_ == 3
    assert stopped.score(X_test, y_test) > 0.8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adam_takes_bounded_steps_for_gradients_of_any_size(dtype):
    """The square of a gradient may be subnormal, or nothing at all."""
    limits = np.finfo(dtype)
    gradient = np.geomspace(float(limits.tiny), 1e3, 500).astype(dtype)
    parameters, first, second = np.zeros((3, 500), dtype)
    for step in range(1, 4):
        biases = 1 - 0.9**step, 1 - 0.999**step
        adam(parameters, gradient, first, second, 0.1, Rates(0.1, 0.1, 0.1, *biases))
        assert (np.abs(parameters) <= 0.11 * step).all()
    assert_allclose(parameters[-200:], -0.3, rtol=1e-3)


def test_sgd_warns_when_it_has_not_converged(digits):
    X, y, _, _ = digits
    with pytest.warns(ConvergenceWarning, match="objective still falls"):
        SAPLClassifier(20, solver="sgd", max_iter=2, tol=1e-3).fit(X, y)


@pytest.mark.parametrize(
    ("classifier", "error"),
    [
        (SAPLClassifier(solver="sgd", bandwidth="shared"), "learned by solver='adam'"),
        (SAPLClassifier(t0=5.0), "t0=5.0 is a setting of solver='sgd'"),
        (SAPLClassifier(solver="sgd", batch_size=9), "batch_size=9 is a setting"),
        (SAPLClassifier(4, n_neighbors=5), "n_neighbors=5 is more than n_anchors=4"),
        (SAPLClassifier(beta=1.0, perplexity=2.0), "give one of them"),
        (SAPLClassifier(anchor_rate=-1.0), "'anchor_rate' parameter"),
        (DULLSVMClassifier(diversity=-1.0), "'diversity' parameter"),
        (DULLSVMClassifier(mu=1.0, perplexity=2.0), "give one of them"),
        (DULLSVMClassifier(bandwidth="both"), "'bandwidth' parameter"),
    ],
)
def test_wrong_arguments_are_named(moons, classifier, error):
    with pytest.raises(ValueError, match=error):
        classifier.fit(*moons)
    assert not hasattr(classifier, "coef_")


@pytest.mark.parametrize(
    ("n_rows", "passes", "size"),
    [
        (100, 30, 8),
        (1280, 30, 20),
        (60_000, 30, 256),
        (100_000, 30, 416),
        (400_000, 30, 1024),
        (400_000, 1, 256),
        (8_000_000, 1, 1024),
    ],
)
def test_batches_grow_where_there_are_steps_enough(n_rows, passes, size):
    assert SAPLClassifier()._batch_size(n_rows, passes) == size
    assert SAPLClassifier(batch_size=7)._batch_size(n_rows, passes) == 7


@pytest.mark.parametrize(
    "metric", ["scale", pytest.param("linear", marks=pytest.mark.slow)]
)
def test_the_number_of_anchors_grows_with_a_metric(metric, moons):
    X, y = moons
    model = SAPLClassifier("auto", metric=metric, max_iter=5, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert len(model.anchors_) in model.anchor_path_[:, 0]
    assert model.coding_.metric_.ndim == (1 if metric == "scale" else 2)


@pytest.mark.in_turn
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("metric", ["scale", "linear"])
def test_metric_forgets_features_that_tell_nothing(method, metric):
    """Noise drowns the classes in a Euclidean distance, not in a learned one."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1500, 12))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    plain = method(12, random_state=0).fit(X[:1000], y[:1000])
    model = method(12, metric=metric, random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > plain.score(X[1000:], y[1000:])
    learned = model.coding_.metric_
    strength = np.abs(learned) if metric == "scale" else np.linalg.norm(learned, axis=0)
    assert set(np.argsort(-strength)[:2]) == {0, 1}


@pytest.mark.in_turn
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_local_models_behind_a_metric_explain_the_score(blobs, method, kind):
    X, y, _ = blobs
    model = method(8, metric="linear", n_dimensions=2, max_iter=5, random_state=0)
    rows = kind(X)
    model.fit(rows, y)
    assert model.coding_.metric_.shape == (2, X.shape[1])
    assert model.anchors_.shape[1] == 2
    sums = (model.local_coef(rows) * X[:, None]).sum(axis=2)
    sums += model.local_intercept(rows)
    assert_allclose(sums, model.decision_function(rows), atol=1e-8)
    alone = model.decision_function(rows[3:4])
    assert_array_equal(alone[0], model.decision_function(rows)[3])
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(rows), model.predict(rows))


@pytest.mark.in_turn
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("metric", ["scale", "linear"])
def test_metric_learns_from_streams_and_goes_on(blobs, method, metric):
    X, y, _ = blobs
    model = method(8, metric=metric, random_state=0)
    half = len(y) // 2
    model.partial_fit(X[:half], y[:half], classes=np.unique(y))
    before = model.coding_.metric_.copy()
    model.partial_fit(X[half:], y[half:])
    assert not np.array_equal(before, model.coding_.metric_)
    warm = method(8, metric=metric, max_iter=2, warm_start=True, random_state=0)
    first = warm.fit(X, y).coding_.metric_.copy()
    assert not np.array_equal(first, warm.fit(X, y).coding_.metric_)
    frozen = method(8, metric=metric, metric_rate=0, max_iter=2, random_state=0)
    start = np.ones(X.shape[1]) if metric == "scale" else np.eye(X.shape[1])
    assert_array_equal(frozen.fit(X, y).coding_.metric_, start)


def test_settings_of_a_metric_that_do_not_go_together(blobs):
    X, y, _ = blobs
    for settings, told in (
        ({"metric": "linear", "solver": "sgd"}, "solver='adam'"),
        ({"n_dimensions": 2}, "metric='linear'"),
        (
            {"metric": "linear", "n_dimensions": 3, "n_anchors": "auto"},
            "give a number of anchors, or n_dimensions=",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            SAPLClassifier(**settings).fit(X, y)


def test_a_metric_has_fewer_dimensions_than_mapped_rows(blobs):
    X, y, _ = blobs
    model = SAPLClassifier(
        6, feature_map=PiecewiseLinearEncoder(4), coding_space="mapped",
        metric="linear", n_dimensions=3, max_iter=3, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.coding_.metric_.shape[0] == 3 < model.coding_.metric_.shape[1]
    assert model.score(X, y) > 0.5


@pytest.mark.in_turn
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("space", ["input", "mapped"])
def test_a_feature_map_is_the_fit_to_mapped_rows(blobs, method, space):
    X, y, _ = blobs
    encoder = PiecewiseLinearEncoder(3).fit(X)
    settings = {"max_iter": 3, "metric": "linear", "batch_size": 16, "random_state": 0}
    model = method(
        6, feature_map=PiecewiseLinearEncoder(3), coding_space=space, **settings
    )
    model.fit(X, y)
    if space == "mapped":
        plain = method(6, **settings).fit(encoder.transform(X), y)
        scores = plain.decision_function(encoder.transform(X))
        assert_allclose(model.decision_function(X), scores, rtol=1e-6)
        assert model.coding_.metric_.shape[1] == len(encoder.get_feature_names_out())
    else:
        assert model.coding_.metric_.shape[1] == X.shape[1]
    assert model.coef_.shape[2] == len(encoder.get_feature_names_out())
    sums = (model.local_coef(X) * encoder.transform(X)[:, None]).sum(axis=2)
    sums += model.local_intercept(X)
    assert_allclose(sums, model.decision_function(X), atol=1e-8)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(X), model.predict(X))
    model.partial_fit(X[:30], y[:30])
    assert np.isfinite(model.decision_function(X)).all()


def test_a_projection_is_the_same_for_any_number_of_blas_threads():
    X = np.random.RandomState(0).normal(size=(1000, 900)).astype(np.float32)
    y = X[:, 0] + X[:, 1] > 0
    fitted = []
    for n_threads in (1, 2):
        model = DULLSVMClassifier(4, metric="linear", max_iter=1, random_state=0)
        with threadpool_limits(n_threads, user_api="blas"):
            fitted.append(model.fit(X, y))
    first, second = fitted
    assert first.coding_.metric_.shape == (64, 900)
    assert_array_equal(first.coding_.metric_, second.coding_.metric_)
    assert_array_equal(first.coef_, second.coef_)


def test_a_feature_map_is_applied_batch_by_batch():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] > X[:, 1]).astype(int)
    largest = []

    class Watched(PiecewiseLinearEncoder):
        def transform(self, X):
            largest.append(len(X))
            return super().transform(X)

    SAPLClassifier(4, feature_map=Watched(), max_iter=2, random_state=0).fit(X, y)
    assert max(largest) <= 1024


@pytest.mark.in_turn
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["linear", "scale", None])
@pytest.mark.parametrize("bandwidth", ["shared", "per-anchor"])
def test_threads_of_a_fit_change_no_bit(
    digits, method, kind, metric, bandwidth, monkeypatch
):
    monkeypatch.setattr(joint, "WORK_FOR_THREADS", 0)
    X, y, *_ = digits
    settings = {"metric": metric, "bandwidth": bandwidth, "max_iter": 2}
    settings |= {"batch_size": 100, "random_state": 0}
    models = [method(20, n_jobs=n, **settings).fit(kind(X), y) for n in (1, 2, 3)]
    for other in models[1:]:
        for name, array in models[0]._model_arrays().items():
            assert_array_equal(array, other._model_arrays()[name], err_msg=name)
        for name in ("objective_history_", "perplexity_history_"):
            assert_array_equal(getattr(models[0], name), getattr(other, name))


@pytest.mark.in_turn
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_multinomial_probabilities(digits, method, solver):
    X, y, X_test, y_test = digits
    model = method(10, loss="multinomial", solver=solver, max_iter=10, random_state=0)
    model.fit(X, y)
    scores, found = model.decision_function(X_test), model.predict_proba(X_test)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert_allclose(found, odds / odds.sum(axis=1, keepdims=True), rtol=1e-6)
    assert model.score(X_test, y_test) > 0.9
    assert_allclose(np.exp(model.predict_log_proba(X_test)), found, rtol=1e-6)


def test_multinomial_loss_of_two_classes_is_the_logistic_one(blobs):
    X, y, _ = blobs
    settings = {"max_iter": 3, "random_state": 0}
    first, second = (
        SAPLClassifier(4, loss=loss, **settings).fit(X, y % 2)
        for loss in ("multinomial", "logistic")
    )
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))
