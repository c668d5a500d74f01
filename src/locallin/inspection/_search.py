"""Search for the smallest change of one column, with local models held fixed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from locallin.inspection._candidates import ColumnValues, known_levels
from locallin.inspection.columns import (
    count_columns,
    each_column,
    is_missing,
    rows_at,
    with_values,
)
from locallin.inspection.unwrap import View, by_score, has_map, target_steps
from locallin.methods.base import winning_classes

# Halvings of a change that was found among the values of the data.
_HALVINGS = 20


class Table:
    """The columns that may change: their cells and their valid values."""

    def __init__(self, view: View, reference):
        self.view = view
        self.stage = min(one.stage for one in view.columns)
        if self.stage >= len(view.stages):
            raise ValueError(
                "counterfactual changes columns of the data, but feature_map="
                f"{view.classifier.feature_map!r} mixes them: put the map before the "
                "classifier in a pipeline to change its features."
            )
        self.X = view.stages[self.stage]
        self.movable = np.array([one.stage == self.stage for one in view.columns])
        # Others stay as they are, and have no place in X.
        places = np.array([one.place for one in view.columns])
        self.places = np.where(self.movable, places, 0)
        steps = [step for _, step in view.steps[self.stage :]]
        if has_map(view.classifier):
            steps.append(view.classifier.feature_map_)
        levels = known_levels(steps, count_columns(self.X))
        self.reference = None
        if reference is not None:
            self.reference = reference
            for _, step in view.steps[: self.stage]:
                reference = step.transform(reference)
        self.cells = each_column(self.X, self.places)
        others: list = [None] * len(self.cells)
        if reference is not None:
            others = each_column(reference, self.places)
        self.valid = [
            ColumnValues(cells, other, levels.get(int(place)))
            for cells, other, place in zip(self.cells, others, self.places, strict=True)
        ]
        # A column is straight if it is a number and all of its features are.
        self.unit = np.zeros(len(self.places))
        with np.errstate(invalid="ignore"):
            np.maximum.at(self.unit, view.origins, np.abs(view.slopes))
        numeric = np.array([one.is_number for one in self.valid])
        self.straight = numeric & np.isfinite(self.unit)

    def default_scale(self) -> np.ndarray:
        """Deviations of the reference, or else one unit of what a scaler makes."""
        with np.errstate(divide="ignore"):
            made = 1 / self.unit
        for c, valid in enumerate(self.valid):
            if not valid.is_number:
                made[c] = 1.0
            elif self.reference is not None or not np.isfinite(made[c]):
                made[c] = valid.spread
        return np.where(np.isfinite(made) & (made > 0), made, 1.0)

    def decide(self, X) -> np.ndarray:
        """Classes, or numbers, of rows of the table."""
        if self.stage == 0:
            return self.view.estimator.predict(X)
        found = self.view.classifier.predict(self.view.through(X, self.stage))
        for step in reversed(target_steps(self.view.estimator)):
            found = step.inverse_transform(found.reshape(-1, 1)).ravel()
        return found


class Local:
    """The local models of the rows, held fixed, with a score for every decision.

    Parameters
    ----------
    view : View
        The rows.
    coef, intercept : ndarray of shape (n, n_decisions, ...)
        Effective weights and intercepts.
    winners : ndarray of shape (n,)
        Positions of the decisions as they are.
    predicted : ndarray of shape (n,)
        What the estimator predicts.
    wanted : ndarray of shape (n, n_decisions), dtype bool
        Decisions that a change may lead to.
    of_numbers : bool, default=False
        Whether decisions are ranges of numbers: one is left at its other end, too, and
        the nearest value in it is the best.
    room : ndarray of shape (n,), default=inf
        How far beyond the change the decision still holds, as a fraction of it.
    """

    def __init__(
        self, view: View, coef, intercept, winners, predicted, wanted,
        *, of_numbers=False, room=np.inf,
    ):  # fmt: skip
        self.view, self.coef, self.intercept = view, coef, intercept
        self.winners, self.predicted, self.wanted = winners, predicted, wanted
        self.of_numbers, self.room = of_numbers, room
        self.scores = self.at(view.features)

    def at(self, features: np.ndarray) -> np.ndarray:
        """Scores of the local models, each at a row of its own."""
        return np.einsum("nsd,nd->ns", self.coef, features.astype(float)) + (
            self.intercept
        )


def local_classes(view: View, table: Table) -> Local:
    """Decisions between classes: any other one will do."""
    classifier = view.classifier
    coef = classifier.local_coef(view.rows).astype(float)
    intercept = classifier.local_intercept(view.rows).astype(float)
    scores = by_score(classifier.decision_function(view.rows))
    predicted = table.decide(table.X)
    winners = winning_classes(scores)
    n_classes = len(classifier.classes_)
    if n_classes == 2:
        winners = np.searchsorted(classifier.classes_, predicted)
        intercept = intercept - _bars(view, table, scores[:, 0], winners)
        coef, intercept = _two_scores(coef), _two_scores(intercept)
    wanted = winners[:, None] != np.arange(n_classes)
    return Local(view, coef, intercept, winners, predicted, wanted)


def _bars(view: View, table: Table, scores, winners) -> np.ndarray:
    """The score that each row must cross: 0, unless a threshold was chosen.

    Then it is the nearest score of a row that is decided otherwise.
    """
    scores, decided = scores.astype(float), winners
    if table.reference is not None and table.stage == 0:
        others = view.through(table.reference)
        more = view.classifier.decision_function(others).astype(float)
        scores = np.concatenate([scores, more])
        found = table.decide(table.reference)
        decided = np.concatenate(
            [winners, np.searchsorted(view.classifier.classes_, found)]
        )
    if np.array_equal(decided, scores > 0):
        return np.zeros((len(winners), 1))
    up = scores[decided == 1].min(initial=np.inf)
    down = scores[decided == 0].max(initial=-np.inf)
    bars = np.where(winners == 1, down, up)
    return np.where(np.isfinite(bars), bars, 0.0)[:, None]


class Change(NamedTuple):
    """The best change of each row: a column, the value to set, and how large it is."""

    feature: np.ndarray
    to: np.ndarray
    change: np.ndarray
    size: np.ndarray
    target: np.ndarray
    exact: np.ndarray  # whether the local model is undecided after ``change``


def straight_changes(local: Local, table: Table, scale, allowed) -> Change:
    """Numbers that are only scaled: one division for each rival."""
    view, rows = local.view, np.arange(len(local.winners))
    usable = np.flatnonzero(table.straight & allowed)
    values = np.full((len(rows), len(table.places)), np.nan)
    for c in usable:
        values[:, c] = table.cells[c]
    slopes = view.by_column(local.coef * np.nan_to_num(view.slopes))
    weights = slopes[rows, local.winners][:, None] - slopes
    margins = local.scores[rows, local.winners][:, None] - local.scores
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        changes = -margins[:, :, None] / weights
        to = values[:, None] + changes
        for c in usable:
            valid = table.valid[c]
            if valid.is_whole:
                nudge = 1e-9 * np.maximum(1, np.abs(to[:, :, c]))
                ahead = np.floor(to[:, :, c] + nudge) + 1
                back = np.ceil(to[:, :, c] - nudge) - 1
                to[:, :, c] = np.where(changes[:, :, c] > 0, ahead, back)
                changes[:, :, c] = to[:, :, c] - values[:, None, c]
                if local.of_numbers:
                    missed = _missed(local, slopes[:, :, c], changes[:, :, c])
                    changes[:, :, c][missed] = np.nan
            outside = (to[:, :, c] < valid.low) | (to[:, :, c] > valid.high)
            changes[:, :, c][outside] = np.nan
        sizes = np.abs(changes) / scale
    sizes[~np.isfinite(sizes) | np.isnan(values)[:, None]] = np.inf
    sizes[~local.wanted] = np.inf
    best = sizes.reshape(len(rows), -1).argmin(axis=1)
    target, feature = np.divmod(best, len(table.places))
    at = rows, target, feature
    whole = np.array([one.is_whole for one in table.valid])[feature]
    return Change(
        feature, to[at].astype(object), changes[at], sizes[at], target, ~whole
    )


def _missed(local: Local, slopes: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """Whether whole steps of a column, (n, n_decisions), lead beyond what is wanted."""
    landed = local.scores[:, :, None] + slopes[:, :, None] * changes[:, None]
    return ~np.take_along_axis(local.wanted, landed.argmax(axis=1), axis=1)


def tried_changes(local: Local, table: Table, scale, allowed) -> Change:
    """Levels and bent numbers: every candidate, scored by the local models."""
    view, n = local.view, len(local.winners)
    rows = np.arange(n)
    best = Change(
        np.full(n, -1), np.full(n, None, dtype=object), np.full(n, np.nan),
        np.full(n, np.inf), local.winners.copy(), np.zeros(n, bool),
    )  # fmt: skip
    lead = np.full(n, -np.inf)
    for c, features, candidates in _candidates(local, table, allowed):
        own = view.origins == c
        here = view.features[:, own].astype(float)
        cells = table.cells[c]
        missing = np.array([is_missing(cell) for cell in cells.tolist()])
        for candidate, there in zip(candidates, features[:, own], strict=True):
            moved = local.scores + np.einsum(
                "nsd,nd->ns", local.coef[:, :, own], there - here
            )
            winners = moved.argmax(axis=1)
            gain = moved.max(axis=1) - moved[rows, local.winners]
            gain = -gain if local.of_numbers else gain
            change, size = np.full(n, np.nan), np.full(n, 1 / scale[c])
            if table.valid[c].is_number:
                change = candidate - cells.astype(float)
                size = np.where(missing, 1.0, np.abs(change) / scale[c])
                # Of all values for a missing one, the most usual.
                gain = np.where(missing, -abs(candidate - table.valid[c].middle), gain)
            free = local.wanted[rows, winners] & (missing | ~table.straight[c])
            better = free & ((size < best.size) | ((size == best.size) & (gain > lead)))
            best.feature[better], best.to[better] = c, candidate
            best.change[better], best.size[better] = change[better], size[better]
            best.target[better], lead[better] = winners[better], gain[better]
    return best


def _candidates(local: Local, table: Table, allowed):
    """Columns, the features of their candidates, and the candidates.

    All are put into the first row: features of a column depend on no other one.
    """
    view, wanted = local.view, []
    for c in np.flatnonzero(allowed):
        gaps = any(map(is_missing, table.cells[c].tolist()))
        if gaps or not table.straight[c]:
            wanted.append((c, table.valid[c].candidates()))
    places = np.concatenate(
        [[table.places[c]] * len(candidates) for c, candidates in wanted] or [[]]
    ).astype(int)
    if not len(places):
        return
    values = [value for _, candidates in wanted for value in candidates]
    first = rows_at(table.X, np.zeros(len(places), int))
    features = view.local_rows(with_values(first, places, values), table.stage)
    features = features.astype(float)
    start = 0
    for c, candidates in wanted:
        yield c, features[start : start + len(candidates)], candidates
        start += len(candidates)


def refined(local: Local, table: Table, best: Change, scale) -> Change:
    """Tried numbers moved back towards the rows, as far as local models still change.

    By halving, so that the change is small also between the values of the data.
    """
    view, n = local.view, len(local.winners)
    numbers = np.array([one.is_number for one in table.valid])[best.feature]
    rows = np.flatnonzero((best.feature >= 0) & numbers & np.isfinite(best.change))
    rows = rows[~best.exact[rows]]
    if not len(rows):
        return best
    feature = best.feature[rows]
    start = np.array(
        [float(table.cells[c][i]) for i, c in zip(rows, feature, strict=True)]
    )
    whole = np.array([one.is_whole for one in table.valid])[feature]
    near, far, places = start.copy(), best.to[rows].astype(float), table.places[feature]
    target = best.target[rows].copy()
    X = rows_at(table.X, rows)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        middle = np.where(whole, np.trunc(middle - start) + start, middle)
        features = np.zeros((n, view.features.shape[1]))
        features[rows] = view.local_rows(with_values(X, places, middle), table.stage)
        winners = local.at(features)[rows].argmax(axis=1)
        flips = local.wanted[rows, winners]
        near, far = np.where(flips, near, middle), np.where(flips, middle, far)
        target = np.where(flips, winners, target)
    best.to[rows], best.change[rows] = far, far - start
    best.size[rows], best.target[rows] = np.abs(far - start) / scale[feature], target
    return best


def smaller_of(one: Change, other: Change) -> Change:
    """The smaller change of each row; no feature where there is none."""
    second = other.size < one.size
    chosen = Change(*(np.where(second, b, a) for a, b in zip(one, other, strict=True)))
    none = ~np.isfinite(chosen.size)
    return chosen._replace(feature=np.where(none, -1, chosen.feature))


def _two_scores(one: np.ndarray) -> np.ndarray:
    """Scores of both classes from the one score of two classes."""
    return np.concatenate([np.zeros_like(one), one], axis=1)
