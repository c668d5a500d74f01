"""Peers that need a hand: labels as numbers, an SVC whose width and penalty are chosen,
and neural networks by name, each with the defaults of its own package."""

from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import LabelEncoder

# An SVC's settings are chosen by folds of at most so many training rows.
TUNING_ROWS = 5_000
SVR_TUNING_ROWS = 3_000
SVR_ROWS = 20_000
C = (0.3, 1, 3, 10, 30, 100)
# Multiples of gamma="scale", which is 1 / features for standardised ones.
GAMMA = (0.1, 0.3, 1, 3, 10)


class TooManyRows(Exception):
    """A method is not run on sets of this size."""


class Numbered(ClassifierMixin, BaseEstimator):
    """A classifier by its path, behind labels 0, 1, 2, ... and dense rows."""

    def __init__(self, path: str = "", settings: dict | None = None):
        self.path, self.settings = path, settings

    def fit(self, X, y):
        module, _, kind = self.path.rpartition(".")
        self.labels_ = LabelEncoder().fit(y)
        self.classes_ = self.labels_.classes_
        self.model_ = getattr(import_module(module), kind)(**(self.settings or {}))
        self.model_.fit(X, self.labels_.transform(y))
        return self

    def predict(self, X):
        found = np.asarray(self.model_.predict(X)).ravel().astype(int)
        return self.labels_.inverse_transform(found)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Tuned(BaseEstimator):
    """A kernel machine with C and gamma by three folds of the training rows."""

    def _choose(self, machine, X, y, most_rows: int, stratify=None):
        scale = 1 / X.shape[1]
        grid = {"C": C, "gamma": [factor * scale for factor in GAMMA]}
        few, targets = X, y
        if len(y) > most_rows:
            few, _, targets, _ = train_test_split(
                X, y, train_size=most_rows, random_state=0, stratify=stratify
            )
        search = GridSearchCV(machine, grid, cv=3, refit=False).fit(few, targets)
        self.best_params_ = search.best_params_
        self.model_ = clone(machine).set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TunedSVC(ClassifierMixin, Tuned):
    """An SVC for standardised features."""

    def fit(self, X, y):
        svc = import_module("sklearnex.svm").SVC(cache_size=500)
        self._choose(svc, X, y, TUNING_ROWS, stratify=y)
        self.classes_ = self.model_.classes_
        return self


class TunedSVR(RegressorMixin, Tuned):
    """An SVR for standardised features and target."""

    def fit(self, X, y):
        if X.shape[0] > SVR_ROWS:
            raise TooManyRows(f"more than {SVR_ROWS:,} training rows")
        svr = import_module("sklearnex.svm").SVR(cache_size=500)
        return self._choose(svr, X, y, SVR_TUNING_ROWS)


def numbered(peers: dict[str, tuple[str, dict]]) -> dict:
    """Peers by name, those whose package is installed."""
    found = {}
    for name, (path, settings) in peers.items():
        module = path.rpartition(".")[0]
        try:
            import_module(module)
        except ImportError:
            print(f"{name} is left out: {module} is not installed")
            continue
        found[name] = Numbered(path, settings)
    return found
