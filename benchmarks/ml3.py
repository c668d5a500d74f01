"""What does ML3 reach on the data of its paper? Tables 1 and 2 of ml3-2013.

Table 1: the number of models of the paper, p = 1.5; alpha, and for USPS and LETTER the
number of iterations, by 5-fold cross-validation on the training rows (COVTYPE: on
100,000 of them), test rows looked at once per seed.
Table 2: ten small sets, 10 models or anchors, ten splits, every method tuned by 5-fold
cross-validation on the training rows; error and average rank. Also, for every data set
in the folder: whether a class has no positive score on any training row after the
start.
"""

import warnings
from itertools import product

import numpy as np
from scipy import sparse
from scipy.stats import rankdata, wilcoxon
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import SEEDS, earlier, error, matrix, save, seconds
from locallin import LLSVMClassifier, ML3Classifier

PRINTED = {
    "usps": (80, 5.43),
    "letter": (16, 3.43),
    "mnist": (90, 1.59),
    "covtype": (54, 14.84),
}
FACTORS = (0.02, 0.06, 0.2, 0.6)
# More iterations are tried where they are cheap.
ITERATIONS = {"usps": (60, 200), "letter": (60, 200)}
SMALL = {
    "banana": 11.03, "german_numer_scale": 23.65, "heart": 18.00, "ionosphere": 11.88,
    "bupa": 32.17, "pima": 22.50, "ringnorm": 7.59, "sonar": 29.86,
    "spambase": 11.23, "wdbc": 10.86,
}  # fmt: skip


def load(folder, name, seed):
    with np.load(folder / f"{name}.npz") as file:
        if name == "covtype":
            X, y = file["X"].astype(np.float32), file["y"] == 1
            parts = train_test_split(X, y, train_size=522911, random_state=seed)
            X, X_test, y, y_test = parts
        else:
            X, y = file["X_train"].astype(np.float32), file["y_train"]
            X_test, y_test = file["X_test"].astype(np.float32), file["y_test"]
    if name in ("usps", "mnist"):
        X, X_test = normalize(X), normalize(X_test)
        centre = X.mean(axis=0)
        return X - centre, y, X_test - centre, y_test
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def make(X, m, factor, max_iter, seed):
    square = float((X.astype(float) ** 2).sum(axis=1).mean())
    alpha = factor * square / len(X)
    return ML3Classifier(m, alpha=alpha, max_iter=max_iter, n_jobs=2, random_state=seed)


def choose(X, y, m, grid):
    """Find the best of a grid by the mean error of 5 folds."""
    if len(X) > 100_000:
        X, _, y, _ = train_test_split(X, y, train_size=100_000, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    errors = []
    for point in grid:
        found = []
        for fit, held in folds.split(X, y):
            model = make(X[fit], m, *point, 0).fit(X[fit], y[fit])
            found.append(error(model, X[held], y[held]))
        errors.append(round(float(np.mean(found)), 3))
        print(f"  {point}: {errors[-1]} %", flush=True)
    return grid[int(np.argmin(errors))], errors


def table_1(folder, name) -> dict:
    m, printed = PRINTED[name]
    X, y, X_test, y_test = load(folder, name, SEEDS[0])
    grid = list(product(FACTORS, ITERATIONS.get(name, (60,))))
    point, tried = choose(X, y, m, grid)
    errors, times = [], []
    for seed in SEEDS:
        X, y, X_test, y_test = load(folder, name, seed)
        spent, model = seconds(lambda s=seed, X=X, y=y: make(X, m, *point, s).fit(X, y))
        errors.append(error(model, X_test, y_test))
        times.append(round(spent, 1))
    return {
        "n_models": m,
        "printed": printed,
        "test_errors": errors,
        "mean": round(float(np.mean(errors)), 3),
        "deviation": round(float(np.std(errors, ddof=1)), 3),
        "alpha n / mean |x|^2": point[0],
        "max_iter": point[1],
        "cross_validation_errors": dict(zip(map(str, grid), tried, strict=True)),
        "fit_seconds": times,
    }


def peers(n, n_features) -> dict:
    """Estimators of Table 2 with their grids, for standardised features."""
    alphas = [f * n_features / n for f in (0.05, 0.2, 1.0, 5.0, 20.0)]
    gammas = [f / n_features for f in (0.1, 0.3, 1, 3, 10)]
    return {
        "ML3": (ML3Classifier(10, random_state=0), {"alpha": alphas}),
        "LL-SVM": (LLSVMClassifier(10, random_state=0), {"alpha": alphas}),
        "LinearSVC": (LinearSVC(random_state=0), {"C": [0.01, 0.1, 1, 10, 100]}),
        "RBF SVC": (SVC(), {"C": [0.1, 1, 10, 100], "gamma": gammas}),
    }


def table_2(folder, name) -> dict:
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"].astype(float), file["y"]
    errors: dict[str, list] = {}
    for seed in range(10):
        size = 400 if name == "banana" else 2 / 3
        X_fit, X_test, y_fit, y_test = train_test_split(
            X, y, train_size=size, random_state=seed, stratify=y
        )
        for method, (estimator, grid) in peers(*X_fit.shape).items():
            step = type(estimator).__name__.lower()
            search = GridSearchCV(
                make_pipeline(StandardScaler(), estimator),
                {f"{step}__{key}": values for key, values in grid.items()},
                cv=5,
                n_jobs=2,
            ).fit(X_fit, y_fit)
            errors.setdefault(method, []).append(error(search, X_test, y_test))
    return {
        "printed": SMALL[name],
        "mean": {k: round(float(np.mean(v)), 3) for k, v in errors.items()},
        "deviation": {k: round(float(np.std(v, ddof=1)), 3) for k, v in errors.items()},
        "test_errors": errors,
    }


def ranks(table: dict) -> dict:
    """Average ranks, and Wilcoxon's signed-rank test of ML3 against the others."""
    methods = list(next(iter(table.values()))["mean"])
    means = np.array([[row["mean"][m] for m in methods] for row in table.values()])
    average = np.mean([rankdata(row) for row in means], axis=0)
    return {
        "average rank": {
            m: round(float(r), 2) for m, r in zip(methods, average, strict=True)
        },
        "Wilcoxon p of ML3 against": {
            m: round(float(wilcoxon(means[:, 0], means[:, k]).pvalue), 4)
            for k, m in enumerate(methods)
            if k
        },
    }


def dead_classes(folder) -> dict:
    """Classes without a positive score on any training row after one iteration."""
    found = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            end = "_train" if "y_train" in file else ""
            X, y = matrix(file, "X" + end), file["y" + end]
        if len(y) > 30_000:
            X, _, y, _ = train_test_split(X, y, train_size=30_000, random_state=0)
        if not sparse.issparse(X):
            X = StandardScaler().fit_transform(X)
        for init in ("random", "kmeans"):
            model = ML3Classifier(10, init=init, max_iter=1, random_state=0).fit(X, y)
            found[f"{path.stem}, {init}"] = sum(
                int((X @ coef.T + intercept).max() <= 0)
                for coef, intercept in zip(model.coef_, model.intercept_, strict=True)
            )
        print(f"{path.stem}: {found[f'{path.stem}, kmeans']} dead", flush=True)
    return found


def run(data, results) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    report = earlier(results, "ml3")
    for name in SMALL:
        table = report.setdefault("table 2", {})
        if name not in table:
            table[name] = table_2(data, name)
            print(f"{name}: {table[name]['mean']}", flush=True)
            save(results, "ml3", report)
    report["table 2, all"] = ranks(report["table 2"])
    for name in PRINTED:
        table = report.setdefault("table 1", {})
        if name not in table:
            table[name] = table_1(data, name)
            print(f"{name}: {table[name]}", flush=True)
            save(results, "ml3", report)
    if "classes that never score after the start" not in report:
        report["classes that never score after the start"] = dead_classes(data)
    report["table 1"] = {name: report["table 1"][name] for name in PRINTED}
    save(results, "ml3", report)
