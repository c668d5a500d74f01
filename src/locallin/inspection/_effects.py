"""Contributions over many rows: how much columns matter, and what their values do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from locallin.inspection._explain import explain_view
from locallin.inspection._regions import local_models
from locallin.inspection.columns import count_rows, is_missing, is_number, rows_at
from locallin.inspection.text import html_table, number, shown_value, table
from locallin.inspection.unwrap import (
    View,
    check_count,
    import_package,
    labels_of,
    require_local_models,
)

_BLOCK_BYTES = 1 << 25
_MOST_BINS = 20
_MOST_LEVELS = 24
_COLUMNS_IN_TEXT = 20
OTHER_LEVELS = "(other levels)"
_HEADER = ("column", "importance", "differs by region", "most at")


@dataclass(frozen=True, eq=False)
class Effect:
    """What the values of one column add to the scores.

    A place is a level, a number, or a bin of numbers; missing values are the last one,
    and levels that are rare the one before.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "date", "category"}
        What the column holds.
    values : ndarray of shape (n_places,)
        Levels, or numbers and dates: the mean over the rows of a bin. NaN is missing.
    weight : ndarray of shape (n_places,)
        Share of the rows at each place.
    mean : ndarray of shape (n_scores, n_places)
        Mean contribution of the rows there.
    spread : ndarray of shape (n_scores, n_places)
        Standard deviation of the mean contributions of different local models there.
    by_region : ndarray of shape (n_scores, n_regions, n_places)
        Mean contribution of the rows there that belong to a local model, those with
        the most rows; NaN where there are none.
    importance : ndarray of shape (n_scores,)
        Mean absolute contribution over all rows.
    interaction : ndarray of shape (n_scores,)
        Root mean square of ``spread`` over the rows: how much it depends on the region
        what the column adds.

    See Also
    --------
    global_effects : Makes them.
    EffectDisplay : The curves as a picture.
    """

    name: str
    kind: str
    values: np.ndarray
    weight: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    by_region: np.ndarray
    importance: np.ndarray
    interaction: np.ndarray

    @property
    def positions(self) -> np.ndarray:
        """Values as numbers: seconds since 1970 of dates, ranks of levels."""
        if self.kind == "number":
            return self.values.astype(float)
        if self.kind == "date":
            return np.array([_seconds(value) for value in self.values])
        return np.arange(len(self.values), dtype=float)

    def widest(self, score: int = 0) -> Any:
        """The value at which local models differ most.

        Parameters
        ----------
        score : int, default=0
            Position of the score.

        Returns
        -------
        object
            One of ``values``.
        """
        return self.values[int(np.argmax(self.spread[score]))]

    def to_dict(self) -> dict[str, Any]:
        """The same as lists, numbers and strings, None for what is not there.

        Returns
        -------
        dict
            The fields by name, for instance for JSON.
        """
        arrays = ("weight", "mean", "spread", "by_region", "importance", "interaction")
        return {
            "name": str(self.name),
            "kind": self.kind,
            "values": [_plain(value) for value in self.values.tolist()],
            **{name: _lists(getattr(self, name)) for name in arrays},
        }


@dataclass(frozen=True, eq=False)
class GlobalEffects:
    """Effects of all columns, the most important first.

    Parameters
    ----------
    effects : tuple of Effect
        The columns.
    classes : ndarray of shape (n_scores,)
        The class that each score speaks for.
    regions : list of str
        Names of the local models in ``by_region``, those with the most rows first.
    n_rows : int
        Number of rows that were explained.

    See Also
    --------
    global_effects : Makes it.
    ImportanceDisplay : Importances as bars.
    EffectDisplay : Effects as curves and bars.
    """

    effects: tuple[Effect, ...]
    classes: np.ndarray
    regions: list[str]
    n_rows: int

    def __len__(self) -> int:
        return len(self.effects)

    def __getitem__(self, name: str) -> Effect:
        for effect in self.effects:
            if effect.name == name:
                return effect
        known = ", ".join(repr(effect.name) for effect in self.effects[:5])
        raise KeyError(f"no column is called {name!r}: choose one such as {known}")

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns."""
        return [effect.name for effect in self.effects]

    @property
    def importance(self) -> np.ndarray:
        """Importance of each column: the mean over the scores."""
        return np.array([effect.importance.mean() for effect in self.effects])

    def score_of(self, class_label=None) -> int:
        """Position of the score of a class.

        Parameters
        ----------
        class_label : object, default=None
            The class; None is the first that has a score.

        Returns
        -------
        int
            Its position in ``classes``.
        """
        if class_label is None:
            return 0
        found = np.flatnonzero(self.classes == class_label)
        if not len(found):
            raise ValueError(
                f"class_label={class_label!r} has no score here: choose one of "
                f"{self.classes.tolist()}."
            )
        return int(found[0])

    def to_frame(self):
        """One line per column, as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            Columns column, kind, importance and interaction, means over the scores.
        """
        pandas = import_package("pandas", "GlobalEffects.to_frame")
        return pandas.DataFrame(
            {
                "column": self.feature_names,
                "kind": [effect.kind for effect in self.effects],
                "importance": self.importance,
                "interaction": [one.interaction.mean() for one in self.effects],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as lists, numbers and strings, for instance for JSON.

        Returns
        -------
        dict
            The fields by name, with a list of dicts for the effects.
        """
        return {
            "classes": [_plain(label) for label in self.classes.tolist()],
            "regions": list(self.regions),
            "n_rows": self.n_rows,
            "effects": [effect.to_dict() for effect in self.effects],
        }

    def __str__(self) -> str:
        text = table(_HEADER, self._lines(), words={"column"})
        rest = len(self) - _COLUMNS_IN_TEXT
        return text if rest <= 0 else f"{text}\n... and {rest} more columns"

    def _repr_html_(self) -> str:
        caption = f"Mean absolute contribution of columns over {self.n_rows} rows"
        return html_table(caption, _HEADER, self._lines(), words={"column"})

    def _lines(self) -> list[tuple[str, ...]]:
        lines = []
        for effect in self.effects[:_COLUMNS_IN_TEXT]:
            score = int(effect.interaction.argmax())
            sizes = effect.importance.mean(), effect.interaction.mean()
            lines.append(
                (effect.name, *map(number, sizes), shown_value(effect.widest(score)))
            )
        return lines


def global_effects(
    estimator,
    X,
    *,
    sample_weight=None,
    feature_names=None,
    classes=None,
    n_regions: int = 6,
    max_samples: int | None = 2000,
    random_state=0,
) -> GlobalEffects:
    """Sum up the contributions of many rows, by column and value.

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted one of the library, or one inside of pipelines, searches and
        others, see :func:`explain`.
    X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
        Rows, as ``estimator.predict`` takes them.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    feature_names : sequence of str, default=None
        Names of the columns of X; see :func:`explain`.
    classes : array-like, default=None
        Classes whose scores are looked at; see :func:`explain`.
    n_regions : int, default=6
        Number of local models that have curves of their own: those with the most rows.
    max_samples : int or None, default=2000
        Largest number of rows that are explained; others are left out at random. None
        explains all.
    random_state : int, RandomState instance or None, default=0
        Seed of that choice.

    Returns
    -------
    GlobalEffects
        Importances and curves, and tables as text, HTML and a pandas frame.

    See Also
    --------
    explain : The contributions that are summed up.
    ImportanceDisplay : Importances as bars.
    EffectDisplay : Effects as curves and bars.
    feature_importances : Weights alone, without rows.

    Notes
    -----
    The importance of a column is the mean of the absolute values of its contributions.
    A row belongs to the local model that counts most for it. Where local models add
    different things for the same value of a column, this column interacts with those
    that tell the regions apart.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import global_effects
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = LLSVMClassifier(5, random_state=0).fit(X, y)
    >>> found = global_effects(clf, X)
    >>> len(found), found.effects[0].mean.shape[0]
    (4, 3)
    """
    check_count("n_regions", n_regions)
    check_count("max_samples", max_samples)
    n = count_rows(X)
    weights = np.ones(n)
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=float)
        if weights.shape != (n,) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(
                f"sample_weight must hold {n} numbers, one for each row, none of them "
                "negative and not all zero."
            )
    if max_samples is not None and n > max_samples:
        rng = check_random_state(random_state)
        rows = np.sort(rng.choice(n, max_samples, replace=False))
        X, weights = rows_at(X, rows), weights[rows]
    view = View(estimator, X, "global_effects", feature_names)
    require_local_models(view.classifier, "global_effects")
    parts, strongest, models, labels = _summed_up(view, feature_names, classes)
    rows_of = np.bincount(strongest, weights, minlength=len(models))
    largest = np.argsort(-rows_of, kind="stable")[:n_regions]
    largest = largest[rows_of[largest] > 0]
    effects = [
        _effect(name, view.values[:, j], parts[:, :, j], strongest, weights, largest)
        for j, name in enumerate(view.names)
    ]
    effects.sort(key=lambda effect: -effect.importance.mean())
    return GlobalEffects(
        tuple(effects), labels, [models[j] for j in largest], len(weights)
    )


def _summed_up(view: View, feature_names, classes):
    """Contributions, strongest local models and their names, block by block."""
    n_scores = len(labels_of(view.classifier))
    size = max(1, _BLOCK_BYTES // (8 * n_scores * len(view.origins)))
    parts, strongest = [], []
    for start in range(0, len(view), size):
        rows = np.arange(start, min(start + size, len(view)))
        X = rows_at(view.stages[0], rows)
        block = View(view.estimator, X, "global_effects", feature_names)
        found = explain_view(block, classes=classes)
        local = local_models(block)
        parts.append(found.contributions.astype(float))
        strongest.append(local.weights.argmax(axis=1))
    return (
        np.concatenate(parts), np.concatenate(strongest), local.names, found.classes,
    )  # fmt: skip


def _effect(name, cells, parts, strongest, weights, largest) -> Effect:
    """The effect of a column: ``parts`` are its contributions, (n, n_scores)."""
    kind, places, values = _places_of(cells, weights)
    n_places, total = len(values), weights.sum()
    share = np.bincount(places, weights, n_places)
    safe = np.where(share > 0, share, 1)
    mean = _sums(places, weights, parts, n_places) / safe
    # One cell for each local model and place.
    models, own = np.unique(strongest, return_inverse=True)
    shape = len(models), n_places
    cell, n_cells = own * n_places + places, len(models) * n_places
    size = np.bincount(cell, weights, n_cells).reshape(shape)
    sums = _sums(cell, weights, parts, n_cells).reshape(-1, *shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        local = np.where(size > 0, sums / size, np.nan)
    away = np.where(size > 0, local - mean[:, None], 0) ** 2
    variance = (size * away).sum(axis=1) / safe
    return Effect(
        name=name,
        kind=kind,
        values=values,
        weight=share / total,
        mean=mean,
        spread=np.sqrt(variance),
        by_region=local[:, np.searchsorted(models, largest)],
        importance=weights @ np.abs(parts) / total,
        interaction=np.sqrt(variance @ share / total),
    )


def _sums(places, weights, parts: np.ndarray, n_places: int) -> np.ndarray:
    """Weighted sums of the parts of each score at each place."""
    return np.stack([np.bincount(places, weights * part, n_places) for part in parts.T])


def _places_of(cells: np.ndarray, weights) -> tuple[str, np.ndarray, np.ndarray]:
    """Kind of a column, the place of each row, and the values of the places."""
    if cells.dtype.kind not in "iuf":
        present = [cell for cell in cells.tolist() if not is_missing(cell)]
        if present and all(isinstance(cell, datetime) for cell in present):
            return _dates_of(cells, weights, present[0].tzinfo)
        if not present or not all(map(is_number, present)):
            return _levels_of(cells, present)
        cells = cells.astype(float)
    known = np.isfinite(cells)
    numbers = cells[known].astype(float)
    distinct = np.unique(numbers)
    edges = distinct[1:]
    if len(distinct) > _MOST_LEVELS:
        shares = np.linspace(0, 1, _MOST_BINS + 1)[1:-1]
        edges = np.unique(np.quantile(numbers, shares))
    places = np.full(len(cells), len(edges) + 1)
    places[known] = np.searchsorted(edges, numbers, side="right")
    used, places = np.unique(places, return_inverse=True)
    weight = np.bincount(places, weights)
    filled = np.where(known, cells, 0).astype(float)
    plain = np.bincount(places, filled) / np.bincount(places)
    exact = np.bincount(places, weights * filled) / np.where(weight > 0, weight, 1)
    values = np.where(weight > 0, exact, plain)
    values[used == len(edges) + 1] = np.nan
    return "number", places, values


def _dates_of(cells: np.ndarray, weights, zone) -> tuple[str, np.ndarray, np.ndarray]:
    seconds = np.array([_seconds(cell) for cell in cells.tolist()])
    _, places, numbers = _places_of(seconds, weights)
    values = np.empty(len(numbers), dtype=object)
    start = datetime(1970, 1, 1, tzinfo=UTC)
    for place, number_ in enumerate(numbers.tolist()):
        values[place] = np.nan
        if number_ == number_:
            moment = start + timedelta(seconds=round(number_))
            values[place] = (
                moment.astimezone(zone) if zone else moment.replace(tzinfo=None)
            )
    return "date", places, values


def _seconds(moment) -> float:
    """Seconds since 1970, NaN for what is missing."""
    if is_missing(moment):
        return np.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _levels_of(cells: np.ndarray, present: list) -> tuple[str, np.ndarray, np.ndarray]:
    common = [level for level, _ in Counter(present).most_common(_MOST_LEVELS)]
    values: list[Any] = [*common, OTHER_LEVELS, np.nan]
    place_of = {level: place for place, level in enumerate(common)}
    gap, other = len(common) + 1, len(common)
    places = [
        gap if is_missing(cell) else place_of.get(cell, other)
        for cell in cells.tolist()
    ]
    used, found = np.unique(places, return_inverse=True)
    kept = np.empty(len(used), dtype=object)
    kept[:] = [values[place] for place in used]
    return "category", found, kept


def _plain(value) -> Any:
    if is_missing(value):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def _lists(array: np.ndarray) -> Any:
    made = array.astype(object)
    made[~np.isfinite(array)] = None
    return made.tolist()
