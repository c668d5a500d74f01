"""What do charts bring? The tables of the Atlas paper.

Transductive, as in the paper: the atlas is learned from training and test rows, without
labels. Inductive: from the training rows alone. Settings are chosen on training rows
(USPS, SEMEION: three folds; LETTER and MNIST: a sixth held out, of 20,000 rows at
most), first the atlas, then the classifier's; test rows are looked at once per seed.
The seed is that of the atlas.
"""

from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import product

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import (
    Report,
    batch_time,
    error,
    in_new_process,
    median_seconds,
    seconds,
    summary,
)
from benchmarks._data import Split, load, read
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
# SEMEION: random splits, rows to train on.
SPLITS, ROWS = 100, 796
TIMED = (("usps", 33), ("mnist", 20), ("mnist", 2))
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
HELD_OUT = StratifiedShuffleSplit(1, test_size=1 / 6, random_state=0)


def prepared(folder, name) -> Split:
    """A set with the scaling that the charts are learned on."""
    split = load(folder, name.split(",")[0])
    if name == "letter":
        return split.standardised()
    if name == "mnist":
        return split.normalised()
    if name == "usps, roots":
        return replace(split, X=np.sqrt(split.X), X_test=np.sqrt(split.X_test))
    return split


class Atlases:
    """Atlases of one set of rows; the neighbours are looked for once."""

    def __init__(self, X):
        self.X = X
        self.known = {}

    @cached_property
    def graph(self) -> np.ndarray:
        search = NearestNeighbors(n_neighbors=2).fit(self.X)
        return search.kneighbors(return_distance=False)

    def get(self, d, mdl, seed) -> FrozenEstimator:
        key = d, mdl, seed
        if key not in self.known:
            atlas = Atlas(d, mdl=mdl, random_state=seed, n_jobs=2)
            self.known[key] = FrozenEstimator(atlas.fit(self.X, graph=self.graph))
        return self.known[key]


# Training rows in the atlas of the tables that need no more than one.
ATLAS_ROWS = 10_000


@cache
def one_atlas(folder, name, d, mdl) -> tuple[FrozenEstimator, np.ndarray]:
    """An atlas of test rows and at most ``ATLAS_ROWS`` training rows; their classes."""
    split = prepared(folder, name).limited(ATLAS_ROWS)
    atlas = Atlases(np.vstack([split.X, split.X_test])).get(d, mdl, 0)
    return atlas, np.append(split.y, split.y_test)


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


def to_choose_from(X, y):
    """Rows that settings are chosen on."""
    if len(X) > 20_000:
        X, _, y, _ = train_test_split(X, y, train_size=20_000, random_state=0)
    return X, y


def choose(atlases, charts, method, X, y, cv):
    """The atlas, then gamma and sigma or alpha, by error on training rows."""
    X, y = to_choose_from(X, y)

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


def svc(X, y, cv, scale, factors):
    """An RBF SVC without charts, its gamma chosen by error on training rows."""
    kind = fast_svc()
    grid = {"C": [10], "gamma": [f / scale for f in factors]}
    search = GridSearchCV(kind(), grid, cv=cv, refit=False)
    chosen = search.fit(*to_choose_from(X, y)).best_params_
    return kind(**chosen).fit(X, y)


def fast_svc() -> type:
    """The SVC of scikit-learn-intelex; where it is not installed the slower one."""
    try:
        from sklearnex.svm import SVC as FastSVC
    except ImportError:
        return SVC
    return FastSVC


class Table:
    """Tables 3 and 4 for one data set."""

    def __init__(self, data, name):
        self.data, self.name = data, name
        self.cv = FOLDS if name.startswith("usps") else HELD_OUT

    @cached_property
    def split(self) -> Split:
        return prepared(self.data, self.name)

    @cached_property
    def everything(self) -> Atlases:
        return Atlases(np.vstack([self.split.X, self.split.X_test]))

    @cached_property
    def training(self) -> Atlases:
        return Atlases(self.split.X)

    def tasks(self) -> dict:
        methods = {(self.name, m): partial(self.measure, m) for m in KERNELS}
        return {**methods, (self.name, "RBF SVC"): self.peer}

    def measure(self, method) -> dict:
        split, printed = self.split, PRINTED[self.name]
        point, tried = choose(
            self.everything, CHARTS[self.name], method, split.X, split.y, self.cv
        )
        entry = {"printed": printed[method], "chosen": point, "tried": tried}
        entry["transductive"] = self.errors(self.everything, method, point)
        entry["inductive"] = self.errors(self.training, method, point)
        rough = f"{method}, hard"
        if rough in printed:
            errors = self.errors(self.everything, rough, hard(point))
            entry["hard, transductive"] = errors
            entry["hard, printed"] = printed[rough]
        return entry

    def errors(self, atlases, method, point) -> dict:
        errors = []
        for seed in SEEDS[self.name]:
            model = fitted(atlases, method, point, seed, self.split.X, self.split.y)
            errors.append(error(model, self.split.X_test, self.split.y_test))
        return {**summary(errors), "charts": len(model.atlas_.means_)}

    def peer(self) -> dict:
        X, y = self.split.X, self.split.y
        model = svc(X, y, self.cv, X.var(axis=0).sum(), (0.5, 1, 2, 4))
        return {"test_error": error(model, self.split.X_test, self.split.y_test)}


class Semeion:
    """The same tables for SEMEION: random halves, settings chosen within each."""

    def __init__(self, data):
        self.data = data
        self.chosen = cache(self.choose)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        (X,), (y,) = read(self.data, "semeion")
        return X, y

    @cached_property
    def everything(self) -> Atlases:
        return Atlases(self.rows[0])

    def tasks(self) -> dict:
        inductive = (f"{kernel}, inductive" for kernel in KERNELS)
        methods = (*PRINTED["semeion"], *inductive, "RBF SVC")
        return {("semeion", m): partial(self.measure, m) for m in methods}

    def measure(self, method) -> dict:
        errors = []
        for number in range(SPLITS):
            split = halves(*self.rows, number)
            errors.append(
                error(self.fitted(method, number), split.X_test, split.y_test)
            )
        printed = PRINTED["semeion"].get(method)
        return summary(errors) | ({} if printed is None else {"printed": printed})

    def fitted(self, method, number):
        split = halves(*self.rows, number)
        if method == "RBF SVC":
            scale = self.rows[0].var(axis=0).sum()
            return svc(split.X, split.y, FOLDS, scale, (0.5, 1, 2))
        kernel, _, kind = method.partition(", ")
        point = self.chosen(kernel, number)
        if kind == "hard":
            point = hard(point)
        inductive = kind == "inductive"
        atlases = Atlases(split.X) if inductive else self.everything
        method = kernel if inductive else method
        return fitted(atlases, method, point, number % 5, split.X, split.y)

    def choose(self, kernel, number) -> dict:
        """Charts and gamma by error on three folds of the training rows."""
        split = halves(*self.rows, number)
        tried = []
        for (d, mdl), share in product(CHARTS["semeion"], (0.6, 0.9)):
            atlas = self.everything.get(d, mdl, number % 5)
            gamma = bandwidth(atlas, self.everything.X, share)
            model = classifier(atlas, kernel, gamma=gamma)
            score = cross_val_score(model, split.X, split.y, cv=FOLDS).mean()
            tried.append((1 - score, {"d": d, "mdl": mdl, "gamma": gamma}))
        return min(tried, key=lambda t: t[0])[1]


def halves(X, y, number) -> Split:
    """A random split of SEMEION."""
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=ROWS, random_state=number, stratify=y
    )
    return Split(X, y, X_test, y_test)


def bandwidth(atlas, X, share) -> float:
    """Gamma at which a row's weight spreads over a share of its nearest charts."""
    from locallin.atlas import fitted_charts
    from locallin.charts.affine import nearest_rule
    from locallin.coding.base import bandwidth_for_perplexity

    k = nearest_rule("auto", len(atlas.means_))
    errors = fitted_charts(atlas.estimator, X.dtype).nearest(X, k)[1]
    perplexity = max(1.0, share * k)
    return float(1 / np.sqrt(bandwidth_for_perplexity(np.sqrt(errors), perplexity)))


def noise(data, level, report) -> dict:
    """Table 5: Gaussian noise on USPS, the settings of the clean data."""
    split = prepared(data, "usps")
    y = split.y
    chosen = {m: report["usps", m]["chosen"] for m in ("rbf", "linear")}
    errors = {"AtlasRBF": [], "AtlasLinear": [], "RBF SVC": [], "Linear SVC": []}
    for seed in range(3):
        rng = np.random.RandomState(seed)
        noisy, noisy_test = (
            (Z + 0.01 * level * rng.normal(size=Z.shape)).astype(np.float32)
            for Z in (split.X, split.X_test)
        )
        atlases = Atlases(np.vstack([noisy, noisy_test]))
        models = {
            "AtlasRBF": fitted(atlases, "rbf", chosen["rbf"], seed, noisy, y),
            "AtlasLinear": fitted(atlases, "linear", chosen["linear"], seed, noisy, y),
            "RBF SVC": SVC(C=10).fit(noisy, y),
            "Linear SVC": LinearSVC(C=0.05).fit(noisy, y),
        }
        for method, model in models.items():
            errors[method].append(error(model, noisy_test, split.y_test))
    return {method: summary(e) for method, e in errors.items()}


def time_atlas(data, name, mdl) -> dict:
    """Time of an atlas with its neighbours, and of machines."""
    from sklearnex.svm import SVC as FastSVC

    split = prepared(data, name)
    X, y, X_test, y_test = split.X, split.y, split.X_test, split.y_test
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
    machines = {
        kernel: AtlasClassifier(
            FrozenEstimator(atlas), kernel=kernel, n_jobs=2, random_state=0, **settings
        )
        for kernel, settings in {"rbf": {"multi_class": "ovo"}, "linear": {}}.items()
    }
    peer = {"RBF SVC (scikit-learn-intelex)": FastSVC(C=10)}
    for method, model in {**machines, **peer}.items():
        model.fit(X[:2000], y[:2000])
        entry[f"fit_seconds, {method}"], _ = seconds(partial(model.fit, X, y))
        [(key, spent)] = batch_time(model, X_test, 1).items()
        entry[f"{key}, {method}"] = spent
        entry[f"test_error, {method}"] = error(model, X_test, y_test)
        if method == "linear":
            entry["peak_gigabytes"] = peak_gigabytes()
    return entry


def peak_gigabytes() -> float:
    """Largest resident memory of this process so far."""
    import resource  # which Windows has not, where tests import this file

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def run(job) -> None:
    report = Report(job, "papers-atlas", seeds={n: len(s) for n, s in SEEDS.items()})
    usps = Table(job.data, "usps").tasks()
    parts = {
        "time": {
            ("time", f"{name}, mdl = {mdl}"): partial(
                in_new_process, time_atlas, job.data, name, mdl
            )
            for name, mdl in TIMED
        },
        "usps": usps,
        "usps, roots": Table(job.data, "usps, roots").tasks(),
        "usps, noise": {
            **{("usps", method): usps["usps", method] for method in ("rbf", "linear")},
            **{
                ("usps, noise", str(level)): partial(noise, job.data, level, report)
                for level in NOISE
            },
        },
        "semeion": Semeion(job.data).tasks(),
        "letter": Table(job.data, "letter").tasks(),
        "mnist": Table(job.data, "mnist").tasks(),
    }
    for part in job.named(parts):
        report.fill(parts[part])
