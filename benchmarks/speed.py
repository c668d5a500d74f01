"""How far from the floor are fit and prediction, and from linear and kernel SVMs?

MNIST, 100 anchors, 8 neighbours, 10 epochs of SGD, two threads: LL-SVM beside the bare
matrix products of its prediction, ML3 beside its form that takes single rows, learned
anchors beside fixed ones. What counts are the ratios.
"""

from functools import cached_property, partial
from statistics import median

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks import _twin
from benchmarks._common import (
    Report,
    batch_time,
    error,
    median_seconds,
    one_row_time,
    repeated_seconds,
    seconds,
)
from benchmarks._data import Split, load
from benchmarks._methods import installed, ours
from locallin import (
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)

LLSVM, LINEAR = "LL-SVM, inverse distance", "LinearSVC"
RBF = "RBF SVC (scikit-learn-intelex)"
FLOOR = "bare BLAS: rows x 100 anchors, rows x (8 x 10) weights"
EPOCHS = 5  # an epoch is a fourth of what these take longer than one
BATCH, ONE = "batch_microseconds_per_row", "one_row_microseconds"
SETTING = {
    "n_neighbors": 8,
    "loss": "hinge",
    "solver": "sgd",
    "max_iter": 10,
    "tol": None,
    "alpha": 3e-6,
}


def models() -> dict:
    fast = partial(ours, "LLSVMClassifier", n_anchors=100, **SETTING)
    return {
        LLSVM: fast(coding="inverse-distance"),
        "LL-SVM, soft assignment": fast(coding="soft"),
        "LL-SVM, defaults": ours("LLSVMClassifier"),
        LINEAR: LinearSVC(random_state=0),
        **installed({RBF: ("sklearnex.svm.SVC", {"C": 10})}),
    }


def joint_models() -> dict:
    return {
        "DU-LLSVM, defaults": ours("DULLSVMClassifier"),
        "U-LLSVM, 15 passes": ours("DULLSVMClassifier", max_iter=15, diversity=0.0),
    }


def joint_epochs(split) -> dict:
    """Seconds per epoch and per predicted row of learned anchors against LL-SVM's."""
    X, y, X_test = split.X, split.y, split.X_test
    shared = {"n_anchors": 100, "random_state": 0}
    makers = {
        "LL-SVM, sgd": partial(LLSVMClassifier, solver="sgd", tol=None, **shared),
        "SAPL, adam": partial(SAPLClassifier, **shared),
        "SAPL, sgd": partial(SAPLClassifier, solver="sgd", **shared),
        "U-LLSVM, adam": partial(DULLSVMClassifier, diversity=0.0, **shared),
        "DU-LLSVM, adam": partial(DULLSVMClassifier, diversity=1e-3, **shared),
    }
    report, epoch, batch = {}, {}, {}
    for name, make in makers.items():
        make(max_iter=1).fit(X[:2000], y[:2000])
        one, many = (
            median(repeated_seconds(lambda m=make, e=e: m(max_iter=e).fit(X, y), 3))
            for e in (1, EPOCHS)
        )
        model = make(max_iter=1).fit(X, y)
        epoch[name] = (many - one) / (EPOCHS - 1)
        batch[name] = median_seconds(lambda m=model: m.predict(X_test), 9)
    for name in list(makers)[1:]:
        report[f"epoch of {name} / epoch of LL-SVM, sgd"] = (
            epoch[name] / epoch["LL-SVM, sgd"]
        )
        report[f"prediction of {name} / LL-SVM"] = batch[name] / batch["LL-SVM, sgd"]
    return report


def latent(split, report) -> dict:
    """ML3 of 90 models and 30 iterations beside its form that takes single rows."""
    X, y, X_test = split.X, split.y, split.X_test
    constant, alpha = 0.5, 3e-6
    setting = {"alpha": alpha, "intercept_scaling": constant, "random_state": 0}
    make = partial(
        ML3Classifier, 90, freeze_every=None, max_iter=30, n_jobs=2, **setting
    )
    labels = y.astype(np.intp)
    _twin.fit(X[:500], labels[:500], 90, alpha, constant=constant, max_iter=2)
    make().fit(X[:2000], y[:2000]).predict(X_test)
    twin_seconds, twin = seconds(
        lambda: _twin.fit(X, labels, 90, alpha, constant=constant)
    )
    found = {"single rows, seconds": twin_seconds}
    found["single rows, objective"] = objective(
        twin[:, :-1].reshape(10, 90, -1), constant * twin[:, -1].reshape(10, 90),
        X, labels, alpha, constant,
    )  # fmt: skip
    forms = {
        "blocks": {"shrinking": False, "init": "random"},
        "blocks, shrinking": {"init": "random"},
        "blocks, shrinking, k-means start": {},
    }
    for name, more in forms.items():
        spent, model = seconds(lambda m=more: make(**m).fit(X, y))
        found[f"{name}, seconds"] = spent
        found[f"{name} / single rows"] = spent / twin_seconds
        found[f"{name}, objective"] = objective(
            model.coef_, model.intercept_, X, labels, alpha, constant
        )
    weights = model.coef_.reshape(-1, X.shape[1])
    floor = median_seconds(lambda: X_test @ weights.T, 15)
    batch = batch_time(model, X_test)[BATCH]
    if (RBF,) in report:
        found["RBF SVC / batch prediction"] = report[RBF,][BATCH] / batch
    return {
        **found,
        BATCH: batch,
        **one_row_time(model, X_test),
        "batch prediction / bare matrix product": 1e-6 * len(X_test) * batch / floor,
        "test_error": error(model, X_test, split.y_test),
    }


def objective(coef, intercept, X, labels, alpha, constant) -> float:
    """The objective of ML3 with p = 1.5 on all rows."""
    total = 0.0
    for start in range(0, len(X), 5000):
        values = np.einsum("nd,cmd->ncm", X[start : start + 5000], coef, optimize=True)
        scores = np.cbrt((np.maximum(values + intercept, 0) ** 3).sum(axis=2))
        own = np.arange(len(scores)), labels[start : start + 5000]
        true, scores[own] = scores[own], -np.inf
        total += np.maximum(0, 1 + scores.max(axis=1) - true).sum()
    squares = (coef.astype(float) ** 2).sum()
    squares += (intercept.astype(float) ** 2).sum() / constant**2
    return float(total / len(X) + alpha / 2 * squares)


class Speed:
    """The measurements, on data that is loaded when it is needed."""

    def __init__(self, data):
        self.data = data

    @cached_property
    def split(self) -> Split:
        return load(self.data, "mnist").scaled_for("mnist")

    def model(self, model) -> dict:
        X, y, X_test = self.split.X, self.split.y, self.split.X_test
        model.fit(X[:2000], y[:2000]).predict(X_test[:50])  # compile, load
        model.predict(X_test[:1])
        repeats = 3 if isinstance(model, LLSVMClassifier) else 1
        fits = [seconds(lambda: model.fit(X, y))[0] for _ in range(repeats)]
        return {
            "fit_seconds": float(np.median(fits)),
            **batch_time(model, X_test),
            **one_row_time(model, X_test),
            "test_error": error(model, X_test, self.split.y_test),
        }

    def joint_fits(self, machine) -> dict:
        """Learned anchors beside an RBF machine, one after the other."""
        found = {name: self.model(model) for name, model in joint_models().items()}
        rbf = self.model(machine)
        parts = {
            f"fit of {name} / RBF SVC": entry["fit_seconds"] / rbf["fit_seconds"]
            for name, entry in found.items()
        }
        return {**found, RBF: rbf, **parts}

    def floor(self) -> dict:
        """The products of a prediction, in BLAS and without the rest."""
        X = self.split.X_test
        rng = np.random.RandomState(0)
        anchors, weights = (
            rng.normal(size=(n, X.shape[1])).astype(np.float32) for n in (100, 80)
        )

        def bare():
            X @ anchors.T
            X @ weights.T

        return {BATCH: 1e6 * median_seconds(bare, 15) / len(X)}


def ratios(report) -> dict:
    ours, linear, rbf = (report[name,] for name in (LLSVM, LINEAR, RBF))
    return {
        "fit / RBF SVC": ours["fit_seconds"] / rbf["fit_seconds"],
        "fit / LinearSVC": ours["fit_seconds"] / linear["fit_seconds"],
        "RBF SVC / batch prediction": rbf[BATCH] / ours[BATCH],
        "batch prediction / bare BLAS": ours[BATCH] / report[FLOOR,][BATCH],
        "one row / LinearSVC": ours[ONE] / linear[ONE],
    }


def run(job) -> None:
    speed = Speed(job.data)
    report = Report(job, "speed", **SETTING)
    tasks = {
        **{name: partial(speed.model, model) for name, model in models().items()},
        FLOOR: speed.floor,
        "ML3": lambda: latent(speed.split, report),
        "joint learning": lambda: joint_epochs(speed.split),
    }
    if RBF in tasks:
        tasks["fits of learned anchors"] = lambda: speed.joint_fits(models()[RBF])
        tasks[f"ratios of {LLSVM}"] = lambda: ratios(report)
    report.fill({(name,): tasks[name] for name in job.parts(tasks)})
