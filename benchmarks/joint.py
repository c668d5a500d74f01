"""What do anchors that learn bring? SAPL and DU-LLSVM on the data of their papers.

100 anchors everywhere. Settings are chosen on a fifth of the training rows (of at
most 40,000 of them) that is held out; the test rows are looked at once per seed. Data
without a standard split is split anew for each seed, as in the papers. Beside the
papers' protocol stands the error on test rows that do not occur among the training
rows, where there are repetitions.
"""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks._common import SEEDS, earlier, error, matrix, save, seconds
from locallin import DULLSVMClassifier, LLSVMClassifier, SAPLClassifier

# Printed error of LLC-SAPL, LLC-SAPL_lcc (2015), U-LLSVM and DU-LLSVM (2018).
PRINTED = {
    "letter": {"SAPL": 2.73, "SAPL_lcc": 13.64},
    "usps": {"SAPL": 5.54, "SAPL_lcc": 7.37},
    "banana": {"SAPL": 9.18, "SAPL_lcc": 9.85},
    "magic04": {"SAPL": 13.47, "SAPL_lcc": 16.25, "U-LLSVM": 15.12, "DU-LLSVM": 14.86},
    "ijcnn1": {"SAPL": 1.21, "SAPL_lcc": 4.97, "U-LLSVM": 2.34, "DU-LLSVM": 1.74},
    "skin": {"SAPL": 1.43, "SAPL_lcc": 3.35},
    "phishing": {"U-LLSVM": 4.34, "DU-LLSVM": 4.16},
    "mnist": {"SAPL": 2.33, "SAPL_lcc": 11.73},
    "connect4": {"U-LLSVM": 10.85, "DU-LLSVM": 9.06},
    "w8a": {},
}
# Splits of small data differ more than seeds do.
REPEATS = {"banana": range(10)}
TEST_SHARE = {"skin": 1 / 2, "w8a": 1 / 4}
RATES = [
    {"learning_rate": lr, "anchor_rate": ar}
    for lr in (0.2, 0.5)
    for ar in (0.03, 0.1, 0.2)
]
ALPHAS = [{"alpha_factor": f} for f in (0.1, 1.0, 10.0)]


def load(folder, name, seed):
    """Train and test rows of a seed, scaled."""
    with np.load(folder / f"{name}.npz") as file:
        if "y_train" in file:
            X, y = matrix(file, "X_train"), file["y_train"]
            X_test, y_test = matrix(file, "X_test"), file["y_test"]
        else:
            X, y = matrix(file, "X"), file["y"]
            X_test = None
    if sparse.issparse(X):
        X, X_test = X.toarray(), None if X_test is None else X_test.toarray()
    if name == "connect4":
        X, y = X[y != 0], y[y != 0]
    if name == "w8a":  # every test row is also a training row: pool the distinct ones
        X, y = np.vstack([X, X_test]), np.concatenate([y, y_test])
        X, first = np.unique(X, axis=0, return_index=True)
        y, X_test = y[first], None
    if X_test is None:
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=TEST_SHARE.get(name, 1 / 3), random_state=seed
        )
    known = {row.tobytes() for row in X}
    unseen = np.array([row.tobytes() not in known for row in X_test])
    if name == "mnist":
        X, X_test = normalize(X), normalize(X_test)
    elif name == "usps":
        centre = X.mean(axis=0)
        X, X_test = normalize(X - centre), normalize(X_test - centre)
    else:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return X, y, X_test, y_test, unseen


def make(method, seed, settings):
    settings = dict(settings)
    if method in ("LL-SVM", "LCC+SVM"):
        factor = settings.pop("alpha_factor")
        kind = "constant" if method == "LCC+SVM" else "linear"
        model = LLSVMClassifier(100, local_model=kind, n_jobs=2, random_state=seed)
        return lambda X, y: model.set_params(
            alpha=factor * default_alpha(X, y, kind), **settings
        ).fit(X, y)
    if method in ("SAPL", "SAPL_lcc"):
        kind = "constant" if method == "SAPL_lcc" else "linear"
        model = SAPLClassifier(100, local_model=kind, random_state=seed, **settings)
    else:
        model = DULLSVMClassifier(100, random_state=seed, **settings)
    return model.fit


def default_alpha(X, y, kind):
    probe = LLSVMClassifier(2, local_model=kind, max_iter=1, tol=1.0, random_state=0)
    return probe.fit(X, y).alpha_


def choose(method, X, y, grid):
    if len(X) > 40_000:
        X, _, y, _ = train_test_split(X, y, train_size=40_000, random_state=0)
    split = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    X_fit, X_held, y_fit, y_held = split
    errors = [
        error(make(method, 0, point)(X_fit, y_fit), X_held, y_held) for point in grid
    ]
    return grid[int(np.argmin(errors))], errors


def measure(method, folder, name, point) -> dict:
    errors, unseen_errors, times, active = [], [], [], []
    for seed in REPEATS.get(name, SEEDS):
        X, y, X_test, y_test, unseen = load(folder, name, seed)
        fit = make(method, seed, point)
        spent, model = seconds(lambda f=fit, X=X, y=y: f(X, y))
        errors.append(error(model, X_test, y_test))
        if 0 < unseen.sum() < len(unseen):
            unseen_errors.append(error(model, X_test[unseen], y_test[unseen]))
        times.append(round(spent, 2))
        if hasattr(model, "active_history_"):
            active.append(round(float(model.active_history_[-1]), 2))
    result = {
        "chosen": point,
        "test_errors": errors,
        "mean": round(float(np.mean(errors)), 3),
        "deviation": round(float(np.std(errors, ddof=1)), 3),
        "fit_seconds": times,
    }
    if unseen_errors:
        result["mean_on_unseen_rows"] = round(float(np.mean(unseen_errors)), 3)
    if active:
        result["active_anchors"] = active
    return result


def run(data, results) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    report = earlier(results, "joint")
    for name, printed in PRINTED.items():
        if "DU-LLSVM" in report.get(name, {}):
            print(f"{name}: done in an earlier run", flush=True)
            continue
        report[name] = {"printed": printed}
        X, y, *_ = load(data, name, SEEDS[0])
        methods = {"LL-SVM": ALPHAS, "SAPL": RATES}
        if "SAPL_lcc" in printed:
            methods |= {"LCC+SVM": ALPHAS, "SAPL_lcc": RATES}
        methods["U-LLSVM"] = [{**r, "diversity": 0.0} for r in RATES]
        for method, grid in methods.items():
            point, tried = choose(method, X, y, grid)
            entry = measure(method, data, name, point)
            report[name][method] = {**entry, "held_out_errors_tried": tried}
            show(name, method, entry)
        # The same rates as U-LLSVM, so that only the diversity term differs.
        point = report[name]["U-LLSVM"]["chosen"]
        grid = [{**point, "diversity": d} for d in (1e-4, 1e-3, 1e-2)]
        point, tried = choose("DU-LLSVM", X, y, grid)
        entry = measure("DU-LLSVM", data, name, point)
        report[name]["DU-LLSVM"] = {**entry, "held_out_errors_tried": tried}
        show(name, "DU-LLSVM", entry)
        save(results, "joint", report)


def show(name, method, entry) -> None:
    unseen = entry.get("mean_on_unseen_rows")
    beside = "" if unseen is None else f" (unseen rows {unseen:.2f})"
    print(
        f"{name}, {method}: {entry['mean']:.2f} +- {entry['deviation']:.2f} %{beside}, "
        f"{np.mean(entry['fit_seconds']):.1f} s, {entry['chosen']}",
        flush=True,
    )
