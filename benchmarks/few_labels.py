"""What do charts bring where few rows have labels? MNIST with 100 and 1000 labels.

Table 2 of the Atlas paper: all rows, test rows included, shape the charts and the
graphs; settings are chosen by cross-validation on the labelled rows only. Every method
has the same draws of labelled rows. AnchorGraphReg, PVM, EigenFunction and SelfTraining
see 50 principal components. PVM's width and weight of a label are chosen with squared
errors, on folds of the first draw.
"""

from functools import cache, cached_property, partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from benchmarks._common import Report, error
from benchmarks._data import Split, load
from benchmarks.papers.atlas import Atlases, svc
from locallin import Atlas, AtlasClassifier
from locallin.rivals import AnchorGraphRegClassifier, EigenFunctionClassifier
from locallin.rivals.anchor_graph import solve_anchor_graph
from locallin.rivals.prototype_vector import (
    PrototypeGraph,
    gaussians,
    prototype_graph,
    solve_prototypes,
    width_rule,
)

LABELS = (100, 1000)
TRIALS = 20
# PVM: widths of the Gaussian, in units of the default, and weights of a label.
WIDTHS, LABEL_WEIGHTS = (0.25, 1.0), (1.0, 100.0)
SHRINKAGE = 1e-3


class Draw(NamedTuple):
    """The rows that have labels, and folds of them."""

    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    cv: StratifiedKFold


class FewLabels:
    """What the trials share, made when it is first needed."""

    def __init__(self, data):
        self.data = data
        self.prototypes = cache(self._prototypes)
        self.chosen = cache(self._chosen)

    @cached_property
    def split(self) -> Split:
        return load(self.data, "mnist").normalised()

    @cached_property
    def rows(self) -> np.ndarray:
        return np.vstack([self.split.X, self.split.X_test])

    @cached_property
    def atlases(self) -> Atlases:
        return Atlases(self.rows)

    @cached_property
    def clusters(self) -> FrozenEstimator:
        atlas = Atlas(30, init="kmeans", random_state=0, n_jobs=2)
        return FrozenEstimator(atlas.fit(self.rows, graph=self.atlases.graph))

    @cached_property
    def near(self) -> sparse.csr_matrix:
        graph = kneighbors_graph(self.rows, 7, mode="connectivity", n_jobs=2)
        return 0.5 * (graph + graph.T)

    @cached_property
    def components(self) -> np.ndarray:
        return PCA(50, random_state=0).fit_transform(self.rows)

    def draw(self, n_labels: int, trial: int) -> Draw:
        rows = choose_labels(self.split.y, n_labels, trial)
        y = self.split.y[rows]
        folds = min(5, np.bincount(y).min())
        cv = StratifiedKFold(folds, shuffle=True, random_state=0)
        return Draw(rows, self.split.X[rows], y, cv)

    def some_labels(self, draw: Draw) -> np.ndarray:
        some = np.full(len(self.rows), -1)
        some[draw.rows] = draw.y
        return some

    def measure(self, method: str, n_labels: int) -> list[float]:
        return [
            METHODS[method](self, self.draw(n_labels, trial)) for trial in range(TRIALS)
        ]

    def tuned(self, draw):
        """An atlas and a sigma by error on folds of the labelled rows."""
        tried = []
        for mdl in (20, 60):
            atlas = self.atlases.get(30, mdl, 0)
            base = AtlasClassifier(atlas, n_jobs=2, random_state=0)
            sigma = clone(base).fit(draw.X, draw.y).sigma_
            for factor in (0.5, 1.0):
                model = clone(base).set_params(sigma=factor * sigma)
                score = cross_val_score(model, draw.X, draw.y, cv=draw.cv).mean()
                tried.append((score, model))
        return max(tried, key=lambda t: t[0])[1].fit(draw.X, draw.y)

    def plain(self, draw):
        return self.untuned(draw, self.atlases.get(30, 20, 0))

    def clustered(self, draw):
        return self.untuned(draw, self.clusters)

    def untuned(self, draw, atlas):
        model = AtlasClassifier(atlas, n_jobs=2, random_state=0)
        return model.fit(draw.X, draw.y)

    def svc(self, draw):
        scale = self.split.X.var(axis=0).sum()
        return svc(draw.X, draw.y, draw.cv, scale, (0.25, 0.5, 1, 2))

    def spread(self, draw, alpha) -> float:
        model = LabelSpreading(kernel=lambda *_: self.near, alpha=alpha, max_iter=200)
        model.fit(self.rows, self.some_labels(draw))
        return self.wrong(model.transduction_)

    @cached_property
    def anchor_graph(self) -> AnchorGraphRegClassifier:
        """The graph of anchors and rows, which no label shapes."""
        some = self.some_labels(self.draw(LABELS[0], 0))
        model = AnchorGraphRegClassifier(random_state=0, n_jobs=2)
        return model.fit(self.components, some)

    @cached_property
    def codes(self) -> sparse.csr_matrix:
        return self.anchor_graph.coding_.transform(self.components).tocsr()

    def over_anchors(self, draw) -> float:
        """AnchorGraphReg on the same graph in every trial."""
        targets = np.eye(10)[draw.y]
        weights = np.ones(len(self.rows))
        A = solve_anchor_graph(
            self.codes, weights, draw.rows, targets, self.anchor_graph.alpha
        )
        scores = self.codes @ A
        return self.wrong(np.argmax(scores / scores.sum(axis=0), axis=1))

    def _prototypes(self, width: float) -> tuple[np.ndarray, PrototypeGraph]:
        """Kernels of all rows with PVM's prototypes, and what no label changes."""
        anchors = self.anchor_graph.anchors_
        gamma = width * width_rule(anchors)
        E = gaussians(self.components, anchors, gamma)
        weights = np.ones(len(E))
        W = gaussians(anchors, anchors, gamma)
        return E, prototype_graph(lambda part: E[part], W, weights)

    def _chosen(self, n_labels: int) -> tuple[float, float]:
        """PVM's width and weight of a label, by folds of the first draw."""
        draw = self.draw(n_labels, 0)

        def held_out_error(width, label_weight):
            E, graph = self.prototypes(width)
            wrong = 0
            for fit, held in draw.cv.split(draw.X, draw.y):
                coef = pvm(graph, E[draw.rows[fit]], draw.y[fit], label_weight)
                found = np.argmax(E[draw.rows[held]] @ coef, axis=1)
                wrong += int((found != draw.y[held]).sum())
            return wrong

        points = product(WIDTHS, LABEL_WEIGHTS)
        return min(points, key=lambda point: held_out_error(*point))

    def by_prototypes(self, draw) -> float:
        """PVM on the same graph in every trial."""
        width, label_weight = self.chosen(len(draw.rows))
        E, graph = self.prototypes(width)
        coef = pvm(graph, E[draw.rows], draw.y, label_weight, "squared_hinge")
        return self.wrong(np.argmax(E @ coef, axis=1))

    def by_eigenfunctions(self, draw) -> float:
        model = EigenFunctionClassifier(n_jobs=2)
        model.fit(self.components, self.some_labels(draw))
        return self.wrong(model.transduction_)

    def wrong(self, classes) -> float:
        """Share of the test rows, in %, that have another class."""
        found = classes[len(self.split.X) :]
        return round(100 * float((found != self.split.y_test).mean()), 4)

    def self_trained(self, draw) -> float:
        n = len(self.split.X)
        model = SelfTrainingClassifier(
            LogisticRegression(solver="newton-cholesky"), threshold=0.9
        )
        model.fit(self.components[:n], self.some_labels(draw)[:n])
        return error(model, self.components[n:], self.split.y_test)


def pvm(graph, E, y, label_weight, loss="squared_error") -> np.ndarray:
    """PVM's coefficients for the digits of some rows."""
    signs, weights = 2 * np.eye(10)[y] - 1, np.ones(len(y))
    return solve_prototypes(graph, E, signs, weights, label_weight, SHRINKAGE, loss)


def test_error(learn):
    """The measurement of a method that learns a classifier of rows."""

    def measure(few, draw) -> float:
        return error(learn(few, draw), few.split.X_test, few.split.y_test)

    return measure


METHODS = {
    "AtlasRBF": test_error(FewLabels.tuned),
    "AtlasRBF, defaults": test_error(FewLabels.plain),
    "AtlasRBF, k-means charts": test_error(FewLabels.clustered),
    "RBF SVC": test_error(FewLabels.svc),
    "LabelSpreading": partial(FewLabels.spread, alpha=0.2),
    "LabelSpreading, alpha = 0.99": partial(FewLabels.spread, alpha=0.99),
    "SelfTraining": FewLabels.self_trained,
    "AnchorGraphReg": FewLabels.over_anchors,
    "PVM": FewLabels.by_prototypes,
    "EigenFunction": FewLabels.by_eigenfunctions,
}


def choose_labels(y, n_labels, trial) -> np.ndarray:
    """Rows to be labelled, at least two of each class."""
    rng = np.random.RandomState(trial)
    while True:
        labelled = rng.choice(len(y), n_labels, replace=False)
        if np.bincount(y[labelled], minlength=10).min() >= 2:
            return labelled


def run(job) -> None:
    few = FewLabels(job.data)
    report = Report(job, "few_labels", trials=TRIALS)
    report.fill(
        {
            (str(n_labels), method): partial(few.measure, method, n_labels)
            for n_labels, method in product(LABELS, job.parts(METHODS))
        }
    )
