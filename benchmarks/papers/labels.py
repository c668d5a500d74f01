"""What are few labels worth on MNIST? Table 1 of the Atlas paper.

One atlas, without labels, of the test rows and 10,000 training rows (the paper has all
70,000); a share of the training rows, drawn at random, has labels. The atlas's machines
have their defaults; C and gamma of the SVMs, on the rows as they are, are what three
folds of the smallest share choose. The paper has 20 trials, here there are three where
one row in ten or fewer has a label, and one where more have.
"""

from functools import cached_property, partial
from itertools import product

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from benchmarks._common import Report, error, summary
from benchmarks.papers.atlas import (
    ATLAS_ROWS,
    FOLDS,
    classifier,
    fast_svc,
    one_atlas,
    prepared,
)

SHARES = (100, 50, 20, 10, 5, 4, 3, 2)
TRIALS = {100: 3, 50: 3, 20: 3, 10: 3}
# Dimension and price of the charts.
CHART = 30, 2
# Printed mean errors, for one label in so many rows.
PRINTED = {
    "Linear SVM": (12.48, 10.65, 8.86, 7.85, 7.02, 6.83, 6.55, 6.20),
    "AtlasLinear": (11.05, 7.15, 4.58, 3.41, 2.65, 2.44, 2.24, 1.94),
    "RBF SVM": (8.95, 6.75, 4.73, 3.59, 2.73, 2.47, 2.20, 1.86),
    "AtlasRBF": (4.13, 3.50, 2.87, 2.45, 2.12, 1.99, 1.87, 1.67),
}


class Shares:
    """What the trials share, made when it is first needed."""

    def __init__(self, folder):
        self.folder = folder

    @cached_property
    def split(self):
        return prepared(self.folder, "mnist")

    @property
    def atlas(self):
        return one_atlas(self.folder, "mnist", *CHART)[0]

    @cached_property
    def grids(self) -> dict:
        scale = float(self.split.X.var(axis=0).sum())
        gammas = [f / scale for f in (0.5, 1, 2, 4)]
        return {
            "RBF SVM": (fast_svc()(), {"C": [10], "gamma": gammas}),
            "Linear SVM": (LinearSVC(dual="auto"), {"C": [0.1, 1, 10]}),
        }

    @cached_property
    def chosen(self) -> dict:
        X, y = self.labelled(SHARES[0], 0)
        return {
            method: GridSearchCV(model, grid, cv=FOLDS).fit(X, y).best_params_
            for method, (model, grid) in self.grids.items()
        }

    def labelled(self, share, trial):
        """The rows of a trial that have labels."""
        rng = np.random.RandomState(trial)
        rows = rng.choice(len(self.split.y), len(self.split.y) // share, replace=False)
        return self.split.X[rows], self.split.y[rows]

    def measure(self, share, method) -> dict:
        errors = []
        for trial in range(TRIALS.get(share, 1)):
            X, y = self.labelled(share, trial)
            model = self.make(method).fit(X, y)
            errors.append(error(model, self.split.X_test, self.split.y_test))
        return summary(errors)

    def make(self, method):
        if method in self.grids:
            return self.grids[method][0].set_params(**self.chosen[method])
        return classifier(self.atlas, method.removeprefix("Atlas").lower())


def run(job) -> None:
    shares = Shares(job.data)
    report = Report(
        job, "papers-labels", trials=TRIALS, charts=CHART, atlas_rows=ATLAS_ROWS
    )
    report.fill(
        {
            (method, f"1/{share}"): partial(shares.measure, share, method)
            for _, share, method in product(job.named(["mnist"]), SHARES, PRINTED)
        }
    )
