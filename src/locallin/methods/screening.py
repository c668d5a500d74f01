"""Which columns of a table tell something of y."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from locallin.methods.settings import Choice, TrainingRows, encode, encoded_matrix

# Rows that are looked at, at the most.
_MOST_ROWS = 4000
_N_TREES = 100
_ROWS_OF_LEAF = 3
# Components among which a tree chooses at a split, at the most: a third of them.
_MOST_TRIED = 64


class Ranking(NamedTuple):
    """Columns that vary, those first that tell most of y; and how many there are."""

    columns: np.ndarray
    n_columns: int

    def left_out(self, n_kept: int) -> list[int]:
        """All columns but the first ones; none where nothing is known of them."""
        if not len(self.columns):
            return []
        return np.setdiff1d(np.arange(self.n_columns), self.columns[:n_kept]).tolist()


def ranked_columns(rows: TrainingRows, n_jobs) -> Ranking:
    """The columns of a table in order of what they tell of y.

    What they tell, random trees say: unlike measures of single columns they see what
    columns tell together. Categories of many levels come first: each level has few rows
    here, and tells more where there are more of them.
    """
    rows = _some_of(rows)
    plain = Choice(rows.task.losses[0], n_bins=0)
    encoder, found = encode(rows, None, plain)
    X = encoded_matrix(encoder, found, len(rows))
    origins, n_columns = encoder.get_feature_origins(), len(encoder.kinds_)
    if not len(origins):  # what varies has another value in few rows
        return Ranking(origins, n_columns)
    told = np.bincount(origins, _importances(rows, X, n_jobs), n_columns)
    told[encoder.has_means_] = np.inf
    varying = np.unique(origins)
    return Ranking(varying[np.argsort(-told[varying], kind="stable")], n_columns)


def _some_of(rows: TrainingRows) -> TrainingRows:
    """A sample of the rows that count."""
    counted = np.flatnonzero(rows.weights > 0)
    if len(counted) > _MOST_ROWS:
        counted = rows.draw(counted, _MOST_ROWS, rows.seed)[0]
    return rows.take(counted)


def _importances(rows: TrainingRows, X, n_jobs) -> np.ndarray:
    """What trees owe to each component, less what they owe to one of shuffled rows.

    Trees that learn their rows too well use numbers and rare levels that tell nothing,
    numbers more than categories: the difference is free of that.
    """
    y = rows.y
    if y.ndim == 2:
        deviations = y.std(axis=0)
        y = (y - y.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
        y = y[:, 0] if y.shape[1] == 1 else y
    shuffled = X[np.random.RandomState(rows.seed).permutation(len(rows))]
    stack = sparse.hstack if sparse.issparse(X) else np.hstack
    n_components = X.shape[1]
    kind = ExtraTreesClassifier if rows.y.ndim == 1 else ExtraTreesRegressor
    trees = kind(
        _N_TREES,
        max_features=min(-(-2 * n_components // 3), _MOST_TRIED),
        min_samples_leaf=_ROWS_OF_LEAF,
        random_state=rows.seed,
        n_jobs=n_jobs,
    )
    found = trees.fit(stack([X, shuffled]), y, rows.weights).feature_importances_
    return found[:n_components] - found[n_components:]
