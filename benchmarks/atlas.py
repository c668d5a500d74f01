"""What do charts bring? The tables of the Atlas paper, and its few labels.

Transductive, as in the paper: the atlas is learned from training and test rows, without
labels. Inductive: from the training rows alone. Settings are chosen on training rows
(USPS, SEMEION: three folds; LETTER and MNIST: a sixth held out, of 20,000 rows at
most), first the atlas, then the classifier's; test rows are looked at once per seed.
The seed is that of the atlas.
"""

import resource
from functools import partial
from itertools import product
from multiprocessing import get_context

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import earlier, error, median_seconds, save, seconds
from locallin import Atlas, AtlasClassifier

# Printed test errors, Tables 3 and 4.
PRINTED = {
    "usps": {"rbf": 3.68, "linear": 4.68, "quadratic": 4.04, "quadratic-cross": 4.09,
             "rbf, hard": 4.63, "linear, hard": 5.58},
    "letter": {"rbf": 2.33, "linear": 3.13, "quadratic": 3.63, "quadratic-cross": 3.33,
               "rbf, hard": 4.95, "linear, hard": 16.65},
    "semeion": {"rbf": 5.14, "linear": 6.19, "quadratic": 6.02, "quadratic-cross": 5.48,
                "rbf, hard": 7.15, "linear, hard": 8.44},
    "mnist": {"rbf": 1.31, "linear": 1.78, "quadratic": 1.76, "quadratic-cross": 1.46,
              "rbf, hard": 3.13, "linear, hard": 3.71},
}  # fmt: skip
# The roots of the pixels: folds of the training rows prefer them to the pixels.
PRINTED["usps, roots"] = PRINTED["usps"]
KERNELS = ("rbf", "linear", "quadratic", "quadratic-cross")
# Charts to choose from: dimension and price.
CHARTS = {
    "usps": [(d, mdl) for d in (15, 30) for mdl in (10, 30)],
    "letter": [(10, mdl) for mdl in (1, 3, 10)],
    "usps, roots": [(d, mdl) for d in (15, 30) for mdl in (10, 30)],
    "semeion": [(30, mdl) for mdl in (10, 30)],
    "mnist": [(30, mdl) for mdl in (2, 10)],
}
SEEDS = {
    "usps": range(5),
    "usps, roots": range(5),
    "letter": range(5),
    "mnist": range(3),
}
NOISE = (2, 5, 10, 15, 20, 30)
TRIALS = 20


def load(folder, name):
    """Train and test rows, scaled; SEMEION as one set."""
    with np.load(folder / f"{name.split(',')[0]}.npz") as file:
        if name == "semeion":
            return file["X"].astype(np.float32), file["y"]
        X, y = file["X_train"].astype(np.float32), file["y_train"]
        X_test, y_test = file["X_test"].astype(np.float32), file["y_test"]
    if name == "letter":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if name == "mnist":
        X, X_test = normalize(X), normalize(X_test)
    if name == "usps, roots":
        X, X_test = np.sqrt(X), np.sqrt(X_test)
    return X, y, X_test, y_test


class Atlases:
    """Atlases of one set of rows; the neighbours are looked for once."""

    def __init__(self, X):
        self.X = X
        search = NearestNeighbors(n_neighbors=2).fit(X)
        self.graph = search.kneighbors(return_distance=False)
        self.known = {}

    def get(self, d, mdl, seed) -> FrozenEstimator:
        key = d, mdl, seed
        if key not in self.known:
            atlas = Atlas(d, mdl=mdl, random_state=seed, n_jobs=2)
            self.known[key] = FrozenEstimator(atlas.fit(self.X, graph=self.graph))
        return self.known[key]


def classifier(atlas, method, n_rows=None, **settings):
    kernel, _, hard = method.partition(", ")
    if "C" in settings:
        settings["alpha"] = 1 / (settings.pop("C") * n_rows)
    return AtlasClassifier(
        atlas,
        kernel=kernel,
        assignment=hard or "soft",
        multi_class="ovo" if kernel == "rbf" else "ovr",
        n_jobs=2,
        random_state=0,
        **settings,
    )


def refine(base, method):
    """Settings around the defaults that ``base`` has found."""
    for gamma in (1.0, 1.4, 2.0):
        if method == "rbf":
            for sigma in (0.7, 1.0, 1.4):
                yield {"gamma": gamma * base.gamma_, "sigma": sigma * base.sigma_}
        else:
            for C in (3, 10, 30):
                yield {"gamma": gamma * base.gamma_, "C": C}


def choose(atlases, charts, method, X, y, cv):
    """The atlas, then gamma and sigma or alpha, by error on training rows."""

    if len(X) > 20_000:
        X, _, y, _ = train_test_split(X, y, train_size=20_000, random_state=0)

    def score(model):
        return 100 * (1 - cross_val_score(model, X, y, cv=cv).mean())

    tried = []
    for d, mdl in charts:
        model = classifier(atlases.get(d, mdl, 0), method)
        tried.append((score(model), {"d": d, "mdl": mdl}))
    chart = min(tried, key=lambda t: t[0])[1]
    atlas = atlases.get(chart["d"], chart["mdl"], 0)
    base = classifier(atlas, method).fit(X, y)
    for point in refine(base, method):
        model = classifier(atlas, method, len(y), **point)
        tried.append((score(model), {**chart, **point}))
    tried = [
        (round(float(e), 3), {k: float(v) for k, v in p.items()}) for e, p in tried
    ]
    best = min(tried, key=lambda t: t[0])[1]
    return best, tried


def fitted(atlases, method, point, seed, X, y):
    point = dict(point)
    atlas = atlases.get(int(point.pop("d")), point.pop("mdl"), seed)
    return classifier(atlas, method, len(y), **point).fit(X, y)


def hard(point):
    """The same charts; a bandwidth of weights means nothing for one chart."""
    return {k: v for k, v in point.items() if k != "gamma"}


def summary(errors) -> dict:
    return {
        "test_errors": errors,
        "mean": round(float(np.mean(errors)), 3),
        "deviation": round(float(np.std(errors, ddof=1)), 3),
    }


def table(name, data, report, keep) -> None:
    X, y, X_test, y_test = load(data, name)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    held_out = StratifiedShuffleSplit(1, test_size=1 / 6, random_state=0)
    cv = folds if name.startswith("usps") else held_out
    everything = Atlases(np.vstack([X, X_test]))
    training = Atlases(X)
    for method in KERNELS:
        if method in report:
            continue
        point, tried = choose(everything, CHARTS[name], method, X, y, cv)
        entry = {"printed": PRINTED[name][method], "chosen": point, "tried": tried}
        rows = {"transductive": everything, "inductive": training}
        for use, atlases in rows.items():
            errors = []
            for seed in SEEDS[name]:
                model = fitted(atlases, method, point, seed, X, y)
                errors.append(error(model, X_test, y_test))
            entry[use] = {**summary(errors), "charts": len(model.atlas_.means_)}
            show(name, f"{method}, {use}", entry[use])
        if method in ("rbf", "linear"):
            errors = []
            for seed in SEEDS[name]:
                args = f"{method}, hard", hard(point), seed, X, y
                model = fitted(everything, *args)
                errors.append(error(model, X_test, y_test))
            entry["hard, transductive"] = summary(errors)
            entry["hard, printed"] = PRINTED[name][f"{method}, hard"]
            show(name, f"{method}, hard", entry["hard, transductive"])
        report[method] = entry
        keep()
    if "RBF SVC" not in report:
        scale = X.var(axis=0).sum()
        grid = {"C": [10], "gamma": [g / scale for g in (0.5, 1, 2, 4)]}
        search = GridSearchCV(SVC(), grid, cv=cv).fit(X, y)
        report["RBF SVC"] = {"test_error": error(search, X_test, y_test)}
        print(f"{name}, RBF SVC: {report['RBF SVC']['test_error']:.2f} %", flush=True)
        keep()


def semeion(data, report, keep) -> None:
    """100 random splits in halves; settings by three folds within each."""
    X, y = load(data, "semeion")
    everything = Atlases(X)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    errors = {m: report.get(m, {}).get("test_errors", []) for m in PRINTED["semeion"]}
    inductive = report.get("rbf, inductive", {}).get("test_errors", [])
    peer = report.get("RBF SVC", {}).get("test_errors", [])
    for split in range(len(peer), 100):
        train, test = train_test_split(
            np.arange(len(X)), train_size=796, random_state=split, stratify=y
        )
        seed = split % 5
        for method in KERNELS:
            tried = []
            for d, mdl in CHARTS["semeion"]:
                atlas = everything.get(d, mdl, seed)
                for perplexity in (0.6, 0.9):
                    gamma = bandwidth(atlas, X, perplexity)
                    model = classifier(atlas, method, gamma=gamma)
                    score = cross_val_score(model, X[train], y[train], cv=folds).mean()
                    point = {"d": d, "mdl": mdl, "gamma": gamma}
                    tried.append((1 - score, split, point))
            point = min(tried, key=lambda t: t[0])[2]
            model = fitted(everything, method, point, seed, X[train], y[train])
            errors[method].append(error(model, X[test], y[test]))
            if method in ("rbf", "linear"):
                args = f"{method}, hard", hard(point), seed, X[train], y[train]
                rough = fitted(everything, *args)
                errors[f"{method}, hard"].append(error(rough, X[test], y[test]))
            if method == "rbf":
                args = method, point, seed, X[train], y[train]
                model = fitted(Atlases(X[train]), *args)
                inductive.append(error(model, X[test], y[test]))
        scale = X.var(axis=0).sum()
        grid = {"C": [10], "gamma": [g / scale for g in (0.5, 1, 2)]}
        search = GridSearchCV(SVC(), grid, cv=folds).fit(X[train], y[train])
        peer.append(error(search, X[test], y[test]))
        if split % 10 == 9:
            for method, values in errors.items():
                printed = {"printed": PRINTED["semeion"][method]}
                report[method] = {**summary(values), **printed}
            report["rbf, inductive"] = summary(inductive)
            report["RBF SVC"] = summary(peer)
            keep()
            print(f"semeion, {split + 1} splits: RBF {report['rbf']['mean']:.2f} %")


def bandwidth(atlas, X, share) -> float:
    """Gamma at which a row's weight spreads over a share of its nearest charts."""
    from locallin._charts import nearest_rule
    from locallin.coding import bandwidth_for_perplexity

    k = nearest_rule("auto", len(atlas.means_))
    errors = atlas.estimator._nearest_charts(X, k)[1]
    perplexity = max(1.0, share * k)
    return float(1 / np.sqrt(bandwidth_for_perplexity(np.sqrt(errors), perplexity)))


def noise(data, chosen, report, keep) -> None:
    """Table 5: Gaussian noise on USPS, the settings of the clean data."""
    X, y, X_test, y_test = load(data, "usps")
    for level in NOISE:
        if str(level) in report:
            continue
        errors = {"AtlasRBF": [], "AtlasLinear": [], "RBF SVC": [], "Linear SVC": []}
        for seed in range(3):
            rng = np.random.RandomState(seed)
            noisy, noisy_test = (
                (Z + 0.01 * level * rng.normal(size=Z.shape)).astype(np.float32)
                for Z in (X, X_test)
            )
            atlases = Atlases(np.vstack([noisy, noisy_test]))
            models = {
                "AtlasRBF": fitted(atlases, "rbf", chosen["rbf"], seed, noisy, y),
                "AtlasLinear": fitted(
                    atlases, "linear", chosen["linear"], seed, noisy, y
                ),
                "RBF SVC": SVC(C=10).fit(noisy, y),
                "Linear SVC": LinearSVC(C=0.05).fit(noisy, y),
            }
            for method, model in models.items():
                errors[method].append(error(model, noisy_test, y_test))
        report[str(level)] = {method: summary(e) for method, e in errors.items()}
        keep()
        means = {m: e["mean"] for m, e in report[str(level)].items()}
        print(f"usps, {level} % noise: {means}", flush=True)


def few_labels(data, report, keep) -> None:
    """Table 2: MNIST with 100 and 1000 labels, settings by CV on labelled rows only."""
    X, y, X_test, y_test = load(data, "mnist")
    rows = np.vstack([X, X_test])
    peers = {"LabelSpreading": 0.2, "LabelSpreading, alpha = 0.99": 0.99}
    near = kneighbors_graph(rows, 7, mode="connectivity", n_jobs=2)
    near = 0.5 * (near + near.T)
    small = PCA(50, random_state=0).fit_transform(rows)
    atlases = Atlases(rows)
    clusters = Atlas(30, init="kmeans", random_state=0, n_jobs=2)
    clusters = FrozenEstimator(clusters.fit(rows, graph=atlases.graph))
    scale = X.var(axis=0).sum()
    grid = {"C": [10], "gamma": [g / scale for g in (0.25, 0.5, 1, 2)]}
    for n_labels, trial in product((100, 1000), range(TRIALS)):
        errors = report.setdefault(str(n_labels), {})
        labelled = choose_labels(y, n_labels, trial)
        Xl, yl = X[labelled], y[labelled]
        folds = min(5, np.bincount(yl).min())
        cv = StratifiedKFold(folds, shuffle=True, random_state=0)
        some = np.full(len(rows), -1)
        some[labelled] = yl

        def tuned(Xl=Xl, yl=yl, cv=cv):
            tried = []
            for mdl in (20, 60):
                base = AtlasClassifier(
                    atlases.get(30, mdl, 0), n_jobs=2, random_state=0
                )
                sigma = clone(base).fit(Xl, yl).sigma_
                for factor in (0.5, 1.0):
                    model = clone(base).set_params(sigma=factor * sigma)
                    score = cross_val_score(model, Xl, yl, cv=cv).mean()
                    tried.append((score, model))
            return max(tried, key=lambda t: t[0])[1].fit(Xl, yl)

        def plain(atlas, Xl=Xl, yl=yl):
            return AtlasClassifier(atlas, n_jobs=2, random_state=0).fit(Xl, yl)

        def spread(alpha, some=some):
            model = LabelSpreading(kernel=lambda *_: near, alpha=alpha, max_iter=200)
            found = model.fit(rows, some).transduction_[len(X) :]
            return round(100 * float((found != y_test).mean()), 4)

        def self_trained(some=some):
            model = SelfTrainingClassifier(
                LogisticRegression(solver="newton-cholesky"), threshold=0.9
            )
            model.fit(small[: len(X)], some[: len(X)])
            return error(model, small[len(X) :], y_test)

        methods = {
            "AtlasRBF": lambda: error(tuned(), X_test, y_test),
            "AtlasRBF, defaults": lambda: error(
                plain(atlases.get(30, 20, 0)), X_test, y_test
            ),
            "AtlasRBF, k-means charts": lambda: error(plain(clusters), X_test, y_test),
            "RBF SVC": lambda Xl=Xl, yl=yl, cv=cv: error(
                GridSearchCV(SVC(), grid, cv=cv).fit(Xl, yl), X_test, y_test
            ),
            **{name: partial(spread, alpha) for name, alpha in peers.items()},
            "SelfTraining": self_trained,
        }
        for name, measure in methods.items():
            if len(errors.setdefault(name, [])) == trial:
                errors[name].append(measure())
        keep()
        means = {m: round(float(np.mean(v)), 2) for m, v in errors.items()}
        print(f"mnist, {n_labels} labels, {trial + 1} trials: {means}", flush=True)


def choose_labels(y, n_labels, trial) -> np.ndarray:
    """Rows to be labelled, at least two of each class."""
    rng = np.random.RandomState(trial)
    while True:
        labelled = rng.choice(len(y), n_labels, replace=False)
        if np.bincount(y[labelled], minlength=10).min() >= 2:
            return labelled


def show(name, method, entry) -> None:
    print(
        f"{name}, {method}: {entry['mean']:.2f} +- {entry['deviation']:.2f} %",
        flush=True,
    )


def timing(data, report, keep) -> None:
    """Time of the atlas with its neighbours, and of machines, each in a new process."""
    for name, mdl in (("usps", 33), ("mnist", 20), ("mnist", 2)):
        key = f"{name}, mdl = {mdl}"
        if key in report:
            continue
        with get_context("spawn").Pool(1) as pool:
            report[key] = pool.apply(time_atlas, (data, name, mdl))
        print(key, report[key], flush=True)
        keep()


def time_atlas(data, name, mdl) -> dict:
    from sklearnex.svm import SVC as FastSVC

    X, y, X_test, y_test = load(data, name)
    rows = np.vstack([X, X_test])
    Atlas(30, n_jobs=2).fit(rows[:2000])  # compile
    repeats = 3 if name == "usps" else 1
    times = []
    for seed in range(repeats):
        make = Atlas(30, mdl=mdl, random_state=seed, n_jobs=2)
        spent, atlas = seconds(lambda a=make: a.fit(rows))
        times.append(spent)
    entry = {
        "rows": len(rows),
        "charts": len(atlas.means_),
        "atlas_seconds": float(np.median(times)),
        "peak_gigabytes_atlas": peak_gigabytes(),
    }
    # The floor of a table of errors: its matrix product, on the test rows.
    flat = atlas.components_.reshape(-1, X.shape[1])
    floor = median_seconds(lambda: X_test @ flat.T, 3)
    whole = median_seconds(lambda: atlas.reconstruction_errors(X_test), 3)
    entry["table of errors / bare matrix product"] = whole / floor
    for kernel, settings in {"rbf": {"multi_class": "ovo"}, "linear": {}}.items():
        model = AtlasClassifier(
            FrozenEstimator(atlas), kernel=kernel, n_jobs=2, random_state=0, **settings
        )
        model.fit(X[:2000], y[:2000])
        entry[f"fit_seconds, {kernel}"], _ = seconds(lambda m=model: m.fit(X, y))
        spent = median_seconds(lambda m=model: m.predict(X_test), 1)
        entry[f"batch_microseconds_per_row, {kernel}"] = 1e6 * spent / len(X_test)
        entry[f"test_error, {kernel}"] = error(model, X_test, y_test)
    entry["peak_gigabytes"] = peak_gigabytes()
    peer = FastSVC(C=10)
    entry["fit_seconds, RBF SVC (scikit-learn-intelex)"], _ = seconds(
        lambda: peer.fit(X, y)
    )
    spent, _ = seconds(lambda: peer.predict(X_test))
    entry["batch_microseconds_per_row, RBF SVC (scikit-learn-intelex)"] = (
        1e6 * spent / len(X_test)
    )
    entry["test_error, RBF SVC (scikit-learn-intelex)"] = error(peer, X_test, y_test)
    return entry


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


PARTS = (
    "time",
    "usps",
    "usps, roots",
    "usps, noise",
    "semeion",
    "letter",
    "mnist",
    "mnist, few labels",
)


def run(data, results, only=None) -> None:
    report = earlier(results, "atlas")

    def keep():
        save(results, "atlas", report)

    for part in PARTS if only is None else [only]:
        entry = report.setdefault(part, {})
        if part in SEEDS:
            table(part, data, entry, keep)
        elif part == "time":
            timing(data, entry, keep)
        elif part == "semeion":
            semeion(data, entry, keep)
        elif part == "mnist, few labels":
            few_labels(data, entry, keep)
        else:
            chosen = {m: report["usps"][m]["chosen"] for m in ("rbf", "linear")}
            noise(data, chosen, entry, keep)
