"""Manifolds before machines: Tables 3 to 5 of the Atlas paper beyond Atlas's own rows.

"embeddings": LLE and LTSA of scikit-learn, of all rows without labels, in front of a
linear SVM, an RBF SVM and the nearest neighbour; the same machines on the rows as they
are; and the nearest neighbour within an atlas's charts. Dimension, penalty and width
are chosen by three folds of the training rows (of at most 2,000 of them). SEMEION: the
first 10 of its splits. LETTER: 4,000 training rows and 1,000 test rows, since an
embedding of n rows may need a dense factor of n x n. "parts": where the time of
AtlasRBF goes on USPS (Table 5a), of the processor on one thread, as multiples of
LIBSVM's training. "classes": how much of a chart is of one class; MNIST's charts are of
the test rows and 10,000 training rows.
"""

from copy import copy
from functools import cache, cached_property, partial
from itertools import product

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import Report, cpu_seconds, summary
from benchmarks._data import Split, read
from benchmarks.papers import atlas as of_atlas
from benchmarks.papers.atlas import (
    ATLAS_ROWS,
    FOLDS,
    Atlases,
    halves,
    one_atlas,
    prepared,
)
from locallin import Atlas, AtlasClassifier
from locallin.gram import chart_kernel

# Printed errors: Table 3 (linear SVMs, nearest neighbours) and Table 4 (RBF SVMs).
PRINTED = {
    "semeion": {
        "as they are": {"linear SVM": 7.40, "1-NN": 10.92, "RBF SVM": 6.41},
        "LLE": {"linear SVM": 12.47, "1-NN": 9.41, "RBF SVM": 6.93},
        "LTSA": {"linear SVM": 46.06, "1-NN": 10.12, "RBF SVM": 9.17},
        "Atlas": {"1-NN": 8.27},
    },
    "usps": {
        "as they are": {"linear SVM": 8.42, "1-NN": 4.98, "RBF SVM": 4.53},
        "LLE": {"linear SVM": 12.61, "1-NN": 6.83, "RBF SVM": 4.78},
        "LTSA": {"linear SVM": 9.37, "1-NN": 8.77, "RBF SVM": 7.03},
        "Atlas": {"1-NN": 5.38},
    },
    "letter": {
        "as they are": {"linear SVM": 35.75, "1-NN": 4.35, "RBF SVM": 2.05},
        "LLE": {"linear SVM": 74.50, "1-NN": 19.03, "RBF SVM": 5.38},
        "LTSA": {"linear SVM": 69.10, "1-NN": 40.65, "RBF SVM": 44.63},
        "Atlas": {"1-NN": 17.28},
    },
}
# Neighbours, and dimensions, at most as many as features. LTSA falls apart with the
# paper's ten neighbours.
EMBEDDINGS = {
    "LLE": ("standard", ((10, 10), (10, 30))),
    "LTSA": ("ltsa", ((30, 10), (50, 30))),
}
MACHINES = {
    "1-NN": (KNeighborsClassifier(1), {}),
    "linear SVM": (
        LinearSVC(dual="auto", random_state=0),
        {"C": [0.001, 0.01, 0.1, 1]},
    ),
    "RBF SVM": (SVC(C=10), {"gamma": [0.3, 1.0, 3.0]}),
}
CHOOSING_ROWS = 2_000
# The most rows of each part.
LIMITS = {"letter": (4_000, 1_000)}
SPLITS = 10
# Charts of Table 5 and of the characterisation: dimension and price.
CHARTS = {"usps": (30, 33), "mnist": (30, 2)}


class Embedded:
    """Rows of a set in all of its forms, and splits of them by number."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.form = cache(self._form)

    def _form(self, kind, point) -> np.ndarray:
        X = self.rows
        if kind == "as they are":
            return X
        method, _ = EMBEDDINGS[kind]
        n_neighbors, dimensions = point
        embedding = LocallyLinearEmbedding(
            n_neighbors=n_neighbors,
            n_components=min(dimensions, X.shape[1]),
            method=method,
            eigen_solver="arpack",
            random_state=0,
        )
        try:
            found = embedding.fit_transform(X)
        except ValueError:  # a singular factor
            found = embedding.set_params(eigen_solver="dense").fit_transform(X)
        # Eigenvectors of norm one: coordinates are tiny where rows are many.
        return StandardScaler().fit_transform(found).astype(np.float32)

    @cached_property
    def whole(self) -> tuple[np.ndarray, np.ndarray, int | None]:
        """All rows and classes, and how many are for training where that is fixed."""
        if self.name == "semeion":
            (X,), (y,) = read(self.folder, "semeion")
            return X, y, None
        split = prepared(self.folder, self.name)
        split = split.limited(*LIMITS.get(self.name, (None, None)))
        X = np.vstack([split.X, split.X_test])
        return X, np.append(split.y, split.y_test), len(split.X)

    @property
    def rows(self) -> np.ndarray:
        return self.whole[0]

    def splits(self, X) -> list[Split]:
        """The same splits of the rows in any form."""
        _, y, first = self.whole
        if first is not None:
            return [Split(X[:first], y[:first], X[first:], y[first:])]
        return [halves(X, y, number) for number in range(SPLITS)]


def measure(data: Embedded, kind, machine) -> dict:
    """Errors of a machine on a form of the rows, chosen within each split."""
    points = EMBEDDINGS[kind][1] if kind in EMBEDDINGS else (None,)
    forms = {point: data.splits(data.form(kind, point)) for point in points}
    errors, chosen = [], []
    for number in range(len(forms[points[0]])):
        found = {p: tuned(splits[number], machine) for p, splits in forms.items()}
        point = max(points, key=lambda p: found[p].best_score_)
        split, model = forms[point][number], found[point].best_estimator_
        model.fit(split.X, split.y)
        wrong = model.predict(split.X_test) != split.y_test
        errors.append(round(100 * float(wrong.mean()), 4))
        chosen.append({"point": point, **found[point].best_params_})
    return {**summary(errors), "chosen": chosen[0]}


def tuned(split: Split, machine) -> GridSearchCV:
    """The best of a machine's settings, by folds of some training rows."""
    estimator, grid = MACHINES[machine]
    if "gamma" in grid:
        scale = split.X.var(axis=0).sum()
        grid = {"gamma": [float(g / scale) for g in grid["gamma"]]}
    part = split.limited(CHOOSING_ROWS)
    return GridSearchCV(estimator, grid, cv=FOLDS).fit(part.X, part.y)


def nearest_in_charts(data: Embedded) -> dict:
    """1-NN in the coordinates of the nearest chart, among the rows of that chart."""
    atlases = Atlases(data.rows)
    points = of_atlas.CHARTS[data.name]
    errors, chosen = [], []
    for split in data.splits(data.rows):
        part = split.limited(CHOOSING_ROWS).held_out(0)
        known = {p: atlases.get(*p, 0).estimator for p in points}
        d, mdl = min(points, key=lambda p: chart_error(known[p], part))
        errors.append(chart_error(known[d, mdl], split))
        chosen.append({"d": d, "mdl": mdl})
    return {**summary(errors), "chosen": chosen[0]}


def chart_error(atlas: Atlas, split: Split) -> float:
    atlas = copy(atlas).set_params(output="coordinates")
    known, asked = atlas.transform(split.X), atlas.transform(split.X_test)
    everywhere = KNeighborsClassifier(1).fit(split.X, split.y)
    predicted = everywhere.predict(split.X_test)
    for chart in np.unique(asked[:, 0]):
        here, there = known[:, 0] == chart, asked[:, 0] == chart
        if here.any():
            near = KNeighborsClassifier(1).fit(known[here, 1:], split.y[here])
            predicted[there] = near.predict(asked[there, 1:])
    return round(100 * float((predicted != split.y_test).mean()), 4)


def parts(folder) -> dict:
    """Table 5a: neighbours, charts, kernel, training and test, over LIBSVM's time."""
    split = prepared(folder, "usps")
    rows = np.vstack([split.X, split.X_test])
    d, mdl = CHARTS["usps"]
    Atlas(d, mdl=mdl, random_state=0).fit(rows[:1000])  # compile
    spent = {}

    def timed(name, function):
        spent[name], result = cpu_seconds(function)
        return result

    graph = timed(
        "neighbours",
        lambda: (
            NearestNeighbors(n_neighbors=2).fit(rows).kneighbors(return_distance=False)
        ),
    )
    atlas = timed(
        "charts", lambda: Atlas(d, mdl=mdl, random_state=0).fit(rows, graph=graph)
    )
    model = AtlasClassifier(FrozenEstimator(atlas), multi_class="ovo", random_state=0)
    model.fit(split.X[:1000], split.y[:1000])
    timed("kernel", lambda: chart_kernel(atlas, split.X, sigma=model.sigma_))
    timed("AtlasRBF, training", lambda: model.fit(split.X, split.y))
    timed("AtlasRBF, test", lambda: model.predict(split.X_test))
    linear = AtlasClassifier(FrozenEstimator(atlas), kernel="linear", random_state=0)
    linear.fit(split.X[:1000], split.y[:1000])
    timed("AtlasLinear, training", lambda: linear.fit(split.X, split.y))
    timed("AtlasLinear, test", lambda: linear.predict(split.X_test))
    plain = SVC(C=10)
    timed("LIBSVM, training", lambda: plain.fit(split.X, split.y))
    timed("LIBSVM, test", lambda: plain.predict(split.X_test))
    base = spent["LIBSVM, training"]
    return {name: round(seconds / base, 4) for name, seconds in spent.items()}


# Table 5a in the same unit: LIBSVM's training took 99.93 s.
PRINTED_PARTS = {
    "neighbours": 0.445, "charts": 0.103, "kernel": 0.290,
    "AtlasRBF, training": 0.097, "AtlasRBF, test": 0.025,
    "AtlasLinear, training": 0.008, "AtlasLinear, test": 0.002,
    "LIBSVM, training": 1.0, "LIBSVM, test": 0.955,
}  # fmt: skip


def classes(folder, name) -> dict:
    """How far the charts' interiors, found without labels, are of one class each."""
    atlas, y = one_atlas(folder, name, *CHARTS[name])
    return characterised(atlas.labels_, y)


def characterised(charts, y) -> dict:
    shares, sizes = [], []
    for chart in np.unique(charts):
        counts = np.unique(y[charts == chart], return_counts=True)[1]
        shares.append(counts.max() / counts.sum())
        sizes.append(counts.sum())
    shares, sizes = np.array(shares), np.array(sizes)
    return {
        "charts": len(shares),
        "dominant class of the median chart, %": round(
            100 * float(np.median(shares)), 2
        ),
        "charts of one class": int((shares == 1).sum()),
        "charts with more than 10 % of others": int((shares < 0.9).sum()),
        "rows of another class than their chart's, %": round(
            100 * float(1 - (shares * sizes).sum() / sizes.sum()), 2
        ),
    }


# The paper's: USPS 18 charts, MNIST 835.
PRINTED_CLASSES = {
    "usps": {"charts": 18, "dominant class of the median chart, %": 96,
             "rows of another class than their chart's, %": 10},
    "mnist": {"charts": 835, "dominant class of the median chart, %": 98,
              "charts of one class": 262, "charts with more than 10 % of others": 180,
              "rows of another class than their chart's, %": 6.9},
}  # fmt: skip


def run(job) -> None:
    report = Report(
        job, "papers-manifolds", splits=SPLITS, atlas_rows=ATLAS_ROWS, limits=LIMITS
    )
    if job.named(["parts"]):
        report.fill({("parts",): partial(parts, job.data)})
    report.fill(
        {("classes", n): partial(classes, job.data, n) for n in job.named(CHARTS)}
    )
    for name in job.named(PRINTED):
        data = Embedded(job.data, name)
        charts = partial(nearest_in_charts, data)
        report.fill({("embeddings", name, "Atlas", "1-NN"): charts})
        report.fill(
            {
                ("embeddings", name, kind, machine): partial(
                    measure, data, kind, machine
                )
                for kind, machine in product(("as they are", *EMBEDDINGS), MACHINES)
            }
        )
