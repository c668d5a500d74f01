"""Rows that are held out to choose by, and those beside them, as encoders see them."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import (
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from locallin.anchors import choose_anchors
from locallin.engine.lazy_rows import whole
from locallin.methods.preparation import USUAL_COMPONENTS
from locallin.methods.screening import Ranking, ranked_columns
from locallin.methods.settings import (
    Choice,
    TrainingRows,
    encode,
    encoded_matrix,
    transform_rows,
)

# Rows up to which each is held out once, in so many folds: what is learned from costs
# about the same for any number of rows.
_FOLDS = {5: 4000, 3: 8000}
# Ways to encode the parts that are kept: the best one, and another beside it.
_KEPT = 2
# Pairs of rows to learn from and rows that are held out.
Splits = list[tuple[np.ndarray, np.ndarray]]


def held_out_splits(
    rows: TrainingRows, most_rows: int
) -> tuple[TrainingRows, Splits] | None:
    """At most so many rows, and how they are parted; None where that cannot be done."""
    rng = np.random.RandomState(rows.seed)
    counted = np.flatnonzero(rows.weights > 0)
    if len(counted) > most_rows:
        counted = rows.draw(counted, most_rows, rng)[0]
    rows = rows.take(counted) if len(counted) < len(rows) else rows
    y, task = rows.y, rows.task
    if len(y) < 10 or not task.varies(y):
        return None
    n_folds = next((n for n, most in _FOLDS.items() if len(y) <= most), 0)
    if rows.groups is not None:
        splits = _splits_of_groups(rows, n_folds, rng)
    elif n_folds:
        strata = task.strata(y, n_folds)
        kind = KFold if strata is None else StratifiedKFold
        folds = kind(n_folds, shuffle=True, random_state=rng)
        splits = list(folds.split(y, strata))
    else:
        seen, held = rows.draw(np.arange(len(y)), 3 * len(y) // 4, rng)
        splits = [(seen, held)]
    teach = splits and all(task.varies(y[seen]) for seen, _ in splits)
    return (rows, splits) if teach else None


def _splits_of_groups(rows: TrainingRows, n_folds: int, rng) -> Splits:
    """Splits that keep groups together; none of a single group."""
    y, groups = rows.y, np.asarray(rows.groups)
    n_parts = min(n_folds or 4, len(np.unique(groups)))
    if n_parts < 2:
        return []
    splitter = StratifiedGroupKFold(n_parts, shuffle=True, random_state=rng)
    strata = rows.task.strata(y, n_parts)
    pooled = np.zeros(len(y), int) if strata is None else strata
    splits = [pair for pair in splitter.split(y, pooled, groups) if len(pair[1])]
    return splits if n_folds else splits[:1]


@dataclass(frozen=True)
class Held:
    """A part of the rows to learn from, and one to look at, both encoded."""

    encoder: Any
    X: Any
    y: np.ndarray
    weights: np.ndarray
    X_held: Any
    anchors: dict[int, np.ndarray] = field(default_factory=dict)

    def first_anchors(self, choice: Choice, seed: int):
        """Where anchors start: the same for every choice, unless rows are projected."""
        projected = choice.metric == "linear" and self.X.shape[1] > USUAL_COMPONENTS
        n_anchors = choice.n_anchors
        if n_anchors == 1 or projected:
            return "kmeans"
        if n_anchors not in self.anchors:
            self.anchors[n_anchors] = choose_anchors(
                whole(self.X), n_anchors, sample_weight=self.weights, random_state=seed
            )
        return self.anchors[n_anchors]


class Parts:
    """The two parts of every split, encoded as a choice asks for.

    ``trials`` are those that were made with them, and ``scores`` what these gave the
    held-out rows, by choice and number of members.
    """

    def __init__(self, rows: TrainingRows, splits: Splits, encoder, n_jobs):
        self.rows, self.splits = rows, splits
        self._encoder, self._n_jobs = encoder, n_jobs
        self._encoded: dict[tuple[int, str, int | None], list[Held]] = {}
        self.scores: dict[tuple[Choice, int], np.ndarray] = {}
        self.trials: list = []

    @property
    def held(self) -> np.ndarray:
        """The rows that are held out, in the order in which they are."""
        return np.concatenate([held for _, held in self.splits])

    @property
    def held_weights(self) -> np.ndarray:
        """Their weights, which add up to one."""
        weights = self.rows.weights[self.held]
        return weights / weights.sum(dtype=float)

    @property
    def are_ours(self) -> bool:
        """Whether how columns are encoded is ours to choose."""
        return self._encoder is None and not sparse.issparse(self.rows.X)

    def have_numbers(self, choice: Choice) -> bool:
        """Whether there is something that we may put into bins."""
        kinds = getattr(self.of(choice)[0].encoder, "kinds_", ())
        return self.are_ours and bool({"number", "date"} & set(kinds))

    def teach(self, choice: Choice) -> bool:
        """Whether there is a column that varies in every part to learn from."""
        return all(part.X.shape[1] for part in self.of(choice))

    def of(self, choice: Choice) -> list[Held]:
        """The parts as a choice has them."""
        key = choice.n_bins, choice.bins, choice.n_columns
        held = self._encoded.pop(key, None)
        if held is None:
            self.forget(but=_KEPT - 1)
            held = [self._encode(number, choice) for number in range(len(self.splits))]
        self._encoded[key] = held  # the last one to be forgotten
        return held

    def forget(self, but: int = 0) -> None:
        """Drop encoded parts, but for those that were asked for last."""
        for key in list(self._encoded)[: len(self._encoded) - but]:
            del self._encoded[key]

    def _encode(self, number: int, choice: Choice) -> Held:
        part, other = map(self.rows.take, self.splits[number])
        ignore = None
        if choice.n_columns is not None:
            ignore = self.rankings[number].left_out(choice.n_columns)
        encoder, X = encode(part, self._encoder, choice, ignore, lazily=True)
        X_held = other.X
        if encoder is not None:
            X_held = transform_rows(encoder, X_held, lazily=self._encoder is None)
        return Held(
            encoder, encoded_matrix(encoder, X, len(part)), part.y, part.weights,
            encoded_matrix(encoder, X_held, len(other)),
        )  # fmt: skip

    @cached_property
    def rankings(self) -> list[Ranking]:
        """Columns of each part to learn from, those first that tell most of y."""
        return [
            ranked_columns(self.rows.take(seen), self._n_jobs)
            for seen, _ in self.splits
        ]
