"""How long do fit and prediction take beside a linear and a kernel SVM?

MNIST, 100 anchors, 8 neighbours, 10 epochs of SGD, two threads. Everything runs in
one process; what counts are the ratios.
"""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks import _twin
from benchmarks._common import load, median_seconds, save, seconds
from locallin import (
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)


def joint_epochs(X, y, X_test) -> dict:
    """Seconds per epoch and per predicted row of learned anchors against LL-SVM's."""
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
        one, _ = seconds(lambda m=make: m(max_iter=1).fit(X, y))
        four, model = seconds(lambda m=make: m(max_iter=4).fit(X, y))
        epoch[name] = (four - one) / 3
        batch[name] = median_seconds(lambda m=model: m.predict(X_test), 9)
    for name in list(makers)[1:]:
        report[f"epoch of {name} / epoch of LL-SVM, sgd"] = (
            epoch[name] / epoch["LL-SVM, sgd"]
        )
        report[f"prediction of {name} / LL-SVM"] = batch[name] / batch["LL-SVM, sgd"]
    return report


def latent(X, y, X_test, y_test, rbf_batch) -> dict:
    """ML3 of 90 models and 30 iterations beside its form that takes single rows."""
    constant, alpha = 0.5, 3e-6
    setting = {"alpha": alpha, "intercept_scaling": constant, "random_state": 0}
    make = partial(ML3Classifier, 90, max_iter=30, n_jobs=2, **setting)
    labels = y.astype(np.intp)
    _twin.fit(X[:500], labels[:500], 90, alpha, constant=constant, max_iter=2)
    make().fit(X[:2000], y[:2000]).predict(X_test)
    twin_seconds, twin = seconds(
        lambda: _twin.fit(X, labels, 90, alpha, constant=constant)
    )
    report = {"single rows, seconds": twin_seconds}
    report["single rows, objective"] = objective(
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
        report[f"{name}, seconds"] = spent
        report[f"{name} / single rows"] = spent / twin_seconds
        report[f"{name}, objective"] = objective(
            model.coef_, model.intercept_, X, labels, alpha, constant
        )
    weights = model.coef_.reshape(900, -1)
    floor = median_seconds(lambda: X_test @ weights.T, 15)
    batch = median_seconds(lambda: model.predict(X_test), 15)
    single = median_seconds(
        lambda: [model.predict(X_test[i : i + 1]) for i in range(100)], 9
    )
    return report | {
        "batch_microseconds_per_row": 1e6 * batch / len(X_test),
        "one_row_microseconds": 1e6 * single / 100,
        "batch prediction / bare matrix product": batch / floor,
        "RBF SVC / batch prediction": rbf_batch / (1e6 * batch / len(X_test)),
        "test_error": round(100 * (1 - model.score(X_test, y_test)), 3),
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


def run(data, results) -> None:
    from sklearnex.svm import SVC

    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y, X_test, y_test = load(data, "mnist")
    setting = {
        "n_anchors": 100,
        "n_neighbors": 8,
        "loss": "hinge",
        "solver": "sgd",
        "max_iter": 10,
        "tol": None,
        "alpha": 3e-6,
        "n_jobs": 2,
        "random_state": 0,
    }
    models = {
        "LL-SVM, inverse distance": LLSVMClassifier(
            coding="inverse-distance", **setting
        ),
        "LL-SVM, soft assignment": LLSVMClassifier(coding="soft", **setting),
        "LL-SVM, defaults": LLSVMClassifier(n_jobs=2, random_state=0),
        "LinearSVC": LinearSVC(random_state=0),
        "RBF SVC (scikit-learn-intelex)": SVC(C=10),
    }
    for model in models.values():  # compile, and load what is loaded lazily
        model.fit(X[:2000], y[:2000]).predict(X_test[:50])
        model.predict(X_test[:1])
    report = {}
    for name, model in models.items():
        ours = isinstance(model, LLSVMClassifier)
        fit = [seconds(lambda m=model: m.fit(X, y))[0] for _ in range(3 if ours else 1)]
        kernel = "RBF" in name
        batch = median_seconds(lambda m=model: m.predict(X_test), 1 if kernel else 15)
        single = median_seconds(
            lambda m=model: [m.predict(X_test[i : i + 1]) for i in range(100)], 9
        )
        report[name] = {
            "fit_seconds": float(np.median(fit)),
            "batch_microseconds_per_row": 1e6 * batch / len(X_test),
            "one_row_microseconds": 1e6 * single / 100,
            "test_error": round(100 * (1 - model.score(X_test, y_test)), 3),
        }
        print(name, report[name], flush=True)
    ours = models["LL-SVM, inverse distance"]
    others = np.random.RandomState(0).normal(size=(80, 784)).astype(np.float32)

    def bare():
        X_test @ ours.anchors_.T
        X_test @ others.T

    floor = 1e6 * median_seconds(bare, 15) / len(X_test)
    report["bare BLAS: rows x 100 anchors, rows x (8 x 10) weights"] = {
        "batch_microseconds_per_row": floor
    }
    ll, linear, rbf = (
        report[n]
        for n in (
            "LL-SVM, inverse distance",
            "LinearSVC",
            "RBF SVC (scikit-learn-intelex)",
        )
    )
    batch, single = "batch_microseconds_per_row", "one_row_microseconds"
    report["ratios of LL-SVM, inverse distance"] = {
        "fit / RBF SVC": ll["fit_seconds"] / rbf["fit_seconds"],
        "fit / LinearSVC": ll["fit_seconds"] / linear["fit_seconds"],
        "RBF SVC / batch prediction": rbf[batch] / ll[batch],
        "batch prediction / bare BLAS": ll[batch] / floor,
        "one row / LinearSVC": ll[single] / linear[single],
    }
    report["ML3"] = latent(X, y, X_test, y_test, rbf[batch])
    for name, value in report["ML3"].items():
        print(f"ML3, {name}: {value:.4g}", flush=True)
    report["joint learning"] = joint_epochs(X, y, X_test)
    for name, value in report["joint learning"].items():
        print(f"{name}: {value:.4g}")
    for name, value in report["ratios of LL-SVM, inverse distance"].items():
        print(f"{name}: {value:.4g}")
    save(results, "speed", report)
