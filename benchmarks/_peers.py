"""Peers that need a hand: labels as numbers, an SVC whose width and penalty are chosen,
and neural networks by name, each with the defaults of its own package."""

from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import LabelEncoder

# An SVC's settings are chosen by folds of at most so many training rows.
TUNING_ROWS = 5_000
C = (0.3, 1, 3, 10, 30, 100)
# Multiples of gamma="scale", which is 1 / features for standardised ones.
GAMMA = (0.1, 0.3, 1, 3, 10)


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


class TunedSVC(ClassifierMixin, BaseEstimator):
    """An SVC with C and gamma by three folds of the training rows."""

    def fit(self, X, y):
        svc = import_module("sklearnex.svm").SVC(cache_size=500)
        scale = 1 / X.shape[1]
        grid = {"C": C, "gamma": [factor * scale for factor in GAMMA]}
        few, labels = X, y
        if len(y) > TUNING_ROWS:
            few, _, labels, _ = train_test_split(
                X, y, train_size=TUNING_ROWS, random_state=0, stratify=y
            )
        search = GridSearchCV(svc, grid, cv=3, refit=False).fit(few, labels)
        self.best_params_ = search.best_params_
        self.model_ = clone(svc).set_params(**search.best_params_).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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
