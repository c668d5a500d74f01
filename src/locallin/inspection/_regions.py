"""Local models: the rows they serve, their accuracy, and their strongest features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.utils import check_consistent_length, column_or_1d

from locallin.inspection.text import html_table, number, table
from locallin.inspection.unwrap import (
    View,
    by_score,
    check_count,
    import_package,
    is_regressor,
    labels_of,
)
from locallin.methods.anchored import AnchoredEstimator, row_views
from locallin.methods.base import winning_classes
from locallin.methods.chart_machines import charted_rows
from locallin.methods.charted import ChartedEstimator
from locallin.methods.members import Ensemble
from locallin.methods.ml3 import ML3Classifier
from locallin.methods.skeleton import validated_rows

_MODELS_IN_TEXT = 20
_WORDS = {"model", "classes", "top features"}


@dataclass(frozen=True)
class Region:
    """One local model, and the rows for which it counts most.

    Parameters
    ----------
    model : int
        Position of the anchor or chart, or of the model within its class.
    owner : object
        ML3: the class that the model belongs to. None otherwise.
    rows : int
        Number of rows for which this model counts most.
    share : float
        Its part of all weight that local models have on the rows.
    overlap : float
        Mean weight of the other models on its rows; NaN where it has none.
    classes : dict
        Classes of its rows and their numbers, the most frequent first; predicted
        classes where y is not given.
    accuracy : float or None
        Share of its rows that are predicted right; NaN where it has none, and None
        where y is not given, or is numbers.
    top : tuple of (str, float)
        The columns that move its scores most: the standard deviation over all rows of
        what the column adds to the score, or for more than two classes to the
        difference of two scores, the largest. For two classes a column of one feature
        has the sign of its weight. Empty where local models have no weights.
    mean : float or None, default=None
        Mean of y of its rows, of what is predicted where y is not given; None where y
        is classes. Of several targets, the mean of all.
    r2 : float or None, default=None
        1 - mean squared error / variance of y of its rows; NaN where they are fewer
        than two, and None where y is not given, or is classes.

    See Also
    --------
    regions : Makes a table of them.
    Regions : The table.
    """

    model: int
    owner: Any
    rows: int
    share: float
    overlap: float
    classes: dict
    accuracy: float | None
    top: tuple[tuple[str, float], ...]
    mean: float | None = None
    r2: float | None = None

    @property
    def name(self) -> str:
        """Position of the model, after the class that it belongs to."""
        return model_name(self.model, self.owner)


class Regions(Sequence):
    """Local models of a classifier or regressor, those with the most rows first.

    Parameters
    ----------
    regions : sequence of Region
        The local models.
    class_labels : array-like of shape (n_classes,)
        The classes of the classifier; names of the targets of a regressor.

    See Also
    --------
    regions : Makes it.
    Region : One of its rows.
    """

    def __init__(self, regions, class_labels):
        self.regions = tuple(regions)
        self.class_labels = np.asarray(class_labels)

    def __len__(self) -> int:
        return len(self.regions)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return Regions(self.regions[i], self.class_labels)
        return self.regions[i]

    def to_frame(self):
        """One line per local model, as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            The fields of :class:`Region` as columns, without those that no model has.
        """
        pandas = import_package("pandas", "Regions.to_frame")
        names = [field.name for field in fields(Region)]
        frame = pandas.DataFrame(
            [[getattr(region, name) for name in names] for region in self.regions],
            columns=names,
        )
        empty = [
            name
            for name in ("owner", "accuracy", "mean", "r2")
            if all(getattr(region, name) is None for region in self.regions)
        ]
        if "mean" not in empty:
            empty.append("classes")
        return frame.drop(columns=empty)

    def to_text(self, limit: int | None = _MODELS_IN_TEXT) -> str:
        """The largest local models as a table.

        Parameters
        ----------
        limit : int or None, default=20
            Number of local models that are shown. None shows all.

        Returns
        -------
        str
            The table.
        """
        check_count("limit", limit)
        columns, lines = self._table(limit)
        text = table(columns, lines, words=_WORDS)
        if len(self) > len(lines):
            text += f"\n... and {len(self) - len(lines)} more local models"
        return text

    def _table(self, limit: int | None) -> tuple[list[str], list[list[str]]]:
        shown = self.regions[:limit]
        columns = ["model", "rows", "share", "overlap", "classes", "top features"]
        accuracy = any(region.accuracy is not None for region in shown)
        numbers = any(region.mean is not None for region in shown)
        known = any(region.r2 is not None for region in shown)
        if numbers:
            columns[4] = "mean"
        if accuracy or known:
            columns.insert(4, "R2" if known else "accuracy")
        lines = []
        for region in shown:
            classes = " ".join(f"{c}:{n}" for c, n in list(region.classes.items())[:4])
            if len(region.classes) > 4:
                classes += " ..."
            top = ", ".join(f"{name} {number(size)}" for name, size in region.top)
            line = [
                region.name, str(region.rows), _percent(region.share),
                _percent(region.overlap), classes, top,
            ]  # fmt: skip
            if numbers:
                line[4] = number(region.mean)
            if known:
                line.insert(4, number(region.r2))
            elif accuracy:
                line.insert(4, _percent(region.accuracy))
            lines.append(line)
        return columns, lines

    def _repr_html_(self) -> str:
        columns, lines = self._table(_MODELS_IN_TEXT)
        caption = "Local models, those with the most rows first"
        more = len(self) - len(lines)
        rest = f"<p>… and {more} more local models</p>" if more else ""
        return html_table(caption, columns, lines, words=_WORDS) + rest

    def __str__(self) -> str:
        return self.to_text()


def regions(
    estimator, X, y=None, *, feature_names=None, top: int | None = 3
) -> Regions:
    """Tell what each local model does on the rows of X.

    A row belongs to the local model that counts most for it: the strongest anchor,
    the strongest chart, or, for ML3, the strongest model of the predicted class.

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted one of the library, or one inside of pipelines, searches and
        others, see :func:`explain`.
    X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
        Rows, as ``estimator.predict`` takes them.
    y : array-like of shape (n_samples,), default=None
        Their classes or numbers.
    feature_names : sequence of str, default=None
        Names of the columns of X; see :func:`explain`.
    top : int or None, default=3
        Number of columns that are named for each local model; None names all.

    Returns
    -------
    Regions
        The local models, those with the most rows first, and tables as text and as
        a pandas frame.

    See Also
    --------
    RegionDisplay : The table as a picture.
    explain : Contributions of the features for single rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import regions
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(6, random_state=0).fit(X, y)
    >>> table = regions(clf, X, y)
    >>> len(table), sum(region.rows for region in table)
    (6, 400)
    >>> table[0].rows >= table[1].rows
    True
    """
    check_count("top", top)
    view = View(estimator, X, "regions", feature_names)
    classifier = view.classifier
    predicted = estimator.predict(X)
    seen = predicted
    of_numbers = is_regressor(classifier)
    if y is not None:
        seen = np.asarray(y, float) if of_numbers else column_or_1d(y)
        check_consistent_length(predicted, seen)
    is_measured = y is not None
    if of_numbers:
        predicted, seen = by_score(predicted), by_score(seen)
        # A quantile is not near to y, and has no R2.
        is_measured = is_measured and classifier.quantile_levels is None
    local = local_models(view)
    sizes = _sizes(view, local.coef)
    strongest = local.weights.argmax(axis=1)
    strength = local.weights[np.arange(len(strongest)), strongest]
    shares = local.weights.sum(axis=0) / len(strongest)
    found = []
    for j, share in enumerate(shares):
        here = strongest == j
        about = {
            "model": local.model[j],
            "owner": local.owner[j],
            "rows": int(here.sum()),
            "share": float(share),
            "overlap": _mean_or_nan(1 - strength[here]),
            "top": _top_columns(sizes, j, view.names, top),
        }
        if of_numbers:
            r2 = _r2(seen[here], predicted[here]) if is_measured else None
            mean = _mean_or_nan(seen[here])
            found.append(Region(**about, classes={}, accuracy=None, mean=mean, r2=r2))
            continue
        labels, counts = np.unique(seen[here], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        right = None
        if y is not None:
            right = _mean_or_nan(seen[here] == predicted[here])
        found.append(
            Region(
                **about,
                classes={
                    label: int(count)
                    for label, count in zip(
                        labels[order].tolist(), counts[order], strict=True
                    )
                },
                accuracy=right,
            )
        )
    found.sort(key=lambda region: (-region.rows, -region.share))
    return Regions(found, labels_of(classifier))


class LocalModels(NamedTuple):
    """Weights of all local models on the rows, (n, m), and what they are."""

    weights: np.ndarray
    model: list[int]
    owner: list
    coef: np.ndarray | None  # (m, n_scores, n_features)

    @property
    def names(self) -> list[str]:
        """Positions of the models, after the classes that they belong to."""
        return [
            model_name(model, owner)
            for model, owner in zip(self.model, self.owner, strict=True)
        ]


def model_name(model: int, owner) -> str:
    """Position of a model, after the class that it belongs to."""
    return str(model) if owner is None else f"{owner}/{model}"


def local_models(view: View) -> LocalModels:
    """How much each local model counts for each row."""
    return _local_models_of(view.classifier, view.rows)


def _local_models_of(classifier, rows) -> LocalModels:
    if isinstance(classifier, Ensemble):
        return _joined(
            [_local_models_of(member, rows) for member in classifier.members_],
            getattr(classifier, "scale_", 1.0),
        )
    X = validated_rows(classifier, rows)
    if isinstance(classifier, AnchoredEstimator):
        weights = classifier.coding_.transform(row_views(classifier, X)[0]).toarray()
        m = weights.shape[1]
        coef = classifier.coef_ if classifier.coef_.shape[2] else None
        return LocalModels(_normalised(weights), list(range(m)), [None] * m, coef)
    if isinstance(classifier, ML3Classifier):
        beta = classifier.latent_weights(rows)
        n, n_classes, m = beta.shape
        own = winning_classes(classifier.decision_function(rows))
        latent = _normalised(beta[np.arange(n), own])
        weights = np.zeros((n, n_classes, m))
        weights[np.arange(n), own] = latent
        return LocalModels(
            weights.reshape(n, -1),
            list(range(m)) * n_classes,
            np.repeat(classifier.classes_, m).tolist(),
            classifier.coef_.reshape(n_classes * m, 1, -1),
        )
    if isinstance(classifier, ChartedEstimator):
        codes = charted_rows(classifier, X, classifier.n_jobs).codes
        m = len(classifier.atlas_.means_)
        shape = X.shape[0], m
        weights = sparse.csr_matrix(
            (codes.values, codes.indices, codes.indptr), shape
        ).toarray()
        coef = None
        if hasattr(classifier, "local_coef"):
            linear = classifier.coef_[:, :, : classifier.atlas_.n_components_]
            coef = linear / classifier.scale_ @ classifier.atlas_.components_
        return LocalModels(_normalised(weights), list(range(m)), [None] * m, coef)
    raise TypeError(f"regions does not know {type(classifier).__name__}.")


def _joined(members: list[LocalModels], scale: float) -> LocalModels:
    """Local models of the members of a mean, one member after the other."""
    weights = np.hstack([member.weights for member in members]) / len(members)
    owners = [owner for member in members for owner in member.owner]
    parts = [member.coef for member in members if member.coef is not None]
    coef = scale * np.concatenate(parts) if len(parts) == len(members) else None
    return LocalModels(weights, list(range(len(owners))), owners, coef)


def _normalised(weights: np.ndarray) -> np.ndarray:
    """Weights that sum to one in each row; even ones where all are zero."""
    weights = weights.astype(float)
    total = weights.sum(axis=1, keepdims=True)
    silent = total[:, 0] <= 0
    weights[silent] = 1 / weights.shape[1]
    total[silent] = 1
    return weights / total


def _sizes(view: View, coef) -> np.ndarray | None:
    """How much each column moves the scores of each local model, (m, n_columns)."""
    if coef is None:
        return None
    sizes = np.empty((len(coef), len(view.columns)))
    features = view.features.astype(float)
    order = np.argsort(view.origins, kind="stable")
    counts = np.bincount(view.origins)
    first = np.cumsum(counts) - counts
    single = counts == 1
    own = order[first[single]]
    sizes[:, single] = _range(coef[:, :, own].astype(float)) * features.std(axis=0)[own]
    for place in np.flatnonzero(~single):
        own = order[first[place] : first[place] + counts[place]]
        sizes[:, place] = _moves(coef[:, :, own].astype(float), features[:, own])
    return sizes


def _range(weights: np.ndarray) -> np.ndarray:
    """The one score's weights, or their range over the scores."""
    return weights[:, 0] if weights.shape[1] == 1 else np.ptp(weights, axis=1)


def _moves(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Deviation over the rows of what the features of a column add, by model.

    Of what they add to the score where there is one, and else to the difference of two
    scores, the largest.
    """
    # Points whose distances are the deviations of differences.
    centred = features - features.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    points = weights @ (vectors * np.sqrt(np.maximum(values, 0)))
    if points.shape[1] == 1:
        return np.linalg.norm(points[:, 0], axis=1)
    return np.array([pdist(scores).max() for scores in points])


def _top_columns(sizes, model, names, top) -> tuple[tuple[str, float], ...]:
    if sizes is None:
        return ()
    order = np.argsort(-np.abs(sizes[model]), kind="stable")[:top]
    return tuple((names[j], float(sizes[model, j])) for j in order)


def _mean_or_nan(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    """That of some rows; NaN where their y is the same."""
    variance = y.var(axis=0) if len(y) else np.zeros(1)
    if not (variance > 0).all():
        return np.nan
    return float(np.mean(1 - ((y - predicted) ** 2).mean(axis=0) / variance))


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f}%"
