"""Predicted numbers on all rows: errors, and intervals that hold what they promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from locallin.inspection.quality import (
    intervals,
    middle_of,
    number_scores,
    pinball_name,
    wilson,
)
from locallin.inspection.unwrap import interval_function, labels_of

COVERAGE = 0.9
_COVERAGES = (0.5, 0.8, COVERAGE, 0.95)


@dataclass(frozen=True, eq=False)
class NumberEvaluation:
    """Predictions on all rows.

    ``truth`` has NaN where a row has no number; ``ends`` are intervals by their
    coverage, (n, 2) each, where the estimator has some; ``quantile`` is what was to be
    predicted, if it was a quantile. Of several, with these ``levels``, ``quantiles``
    has a column of each, and ``predicted`` is the middle one.
    """

    predicted: np.ndarray
    truth: np.ndarray | None
    ends: dict[float, np.ndarray]
    quantile: float | None = None
    levels: np.ndarray | None = None
    quantiles: np.ndarray | None = None

    @property
    def labelled(self) -> np.ndarray:
        """Whether rows have a number."""
        if self.truth is None:
            return np.zeros(len(self.predicted), bool)
        return np.isfinite(self.truth)

    @property
    def n_labelled(self) -> int:
        """Number of rows that have one."""
        return int(self.labelled.sum())

    @cached_property
    def errors(self) -> np.ndarray:
        """What is missing to the truth, NaN where that is not known."""
        if self.truth is None:
            return np.full(len(self.predicted), np.nan)
        return self.truth - self.predicted

    def labels_at(self, rows: np.ndarray) -> list | None:
        """Numbers of some rows, None for those without, and where there are none."""
        if self.truth is None:
            return None
        return [None if np.isnan(one) else float(one) for one in self.truth[rows]]

    def queues(self) -> dict[str, np.ndarray]:
        """Rows in orders of interest."""
        rising = np.argsort(self.predicted, kind="stable")
        off = np.argsort(-np.nan_to_num(np.abs(self.errors)), kind="stable")
        return {"off": off, "low": rising, "high": rising[::-1]}

    def _figures(self, rows: np.ndarray) -> dict[str, Any]:
        known = np.flatnonzero(self.labelled)[rows]
        assert self.truth is not None
        truth = self.truth[known]
        if self.quantiles is None:
            return number_scores(truth, self.predicted[known], self.quantile)
        return number_scores(truth, self.quantiles[known], self.levels)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Figures of the rows that have a number."""
        return self._figures(np.arange(self.n_labelled)) if self.n_labelled else {}

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Intervals of the figures, 95 %."""
        if self.n_labelled < 2:
            return {}
        return intervals(self._figures, self.n_labelled)

    @property
    def coverages(self) -> list[tuple[float, float, float, float, float]]:
        """Promised and kept shares with Wilson's interval, and the mean width."""
        found = []
        for promised, ends in self.ends.items():
            inside = self._inside(ends)
            share = float(inside.mean())
            low, high = wilson(int(inside.sum()), len(inside))
            width = float(np.mean(ends[:, 1] - ends[:, 0]))
            found.append((promised, share, low, high, width))
        return found

    @property
    def shares_below(self) -> list[tuple[float, float, float, float, float]]:
        """Of each of several quantiles: its level, share of rows below, and loss.

        The share has Wilson's interval behind it.
        """
        if self.quantiles is None or self.levels is None:
            return []
        assert self.truth is not None
        known, found = self.labelled, []
        for level, column in zip(self.levels, self.quantiles.T, strict=True):
            below = self.truth[known] <= column[known]
            ends = wilson(int(below.sum()), len(below))
            loss = self.figures[pinball_name(level)]
            found.append((float(level), float(below.mean()), *ends, loss))
        return found

    def _inside(self, ends: np.ndarray) -> np.ndarray:
        assert self.truth is not None
        known = self.labelled
        low, high = ends[known].T
        return (self.truth[known] >= low) & (self.truth[known] <= high)


def evaluated_numbers(
    estimator, model, blocks: Callable[[], Iterable], y
) -> NumberEvaluation:
    """Evaluate a regressor of one target on rows that come in blocks."""
    names, levels = labels_of(model), model.quantile_levels
    if len(names) > 1 and levels is None:
        raise ValueError(
            f"report shows one target, but {type(model).__name__} has {len(names)}: "
            "fit a regressor for each, and write a page of each."
        )
    predicted = np.concatenate([estimator.predict(block) for block in blocks()])
    predicted = np.asarray(predicted, float)
    quantiles = None
    if levels is not None:
        quantiles = predicted.reshape(len(predicted), -1)
        predicted = quantiles[:, middle_of(levels)]
    predicted = predicted.ravel()
    truth = None
    if y is not None:
        truth = column_or_1d(y).astype(float)
        check_consistent_length(predicted, truth)
        truth = truth if np.isfinite(truth).any() else None
    quantile = getattr(model, "quantile", None)
    if getattr(model, "loss", None) != "pinball" or levels is not None:
        quantile = None
    if levels is None:
        ends = _ends(estimator, blocks)
        return NumberEvaluation(predicted, truth, ends, quantile)
    ends = _pairs(levels, quantiles)
    return NumberEvaluation(predicted, truth, ends, None, levels, quantiles)


def _pairs(levels, quantiles) -> dict[float, np.ndarray]:
    """Intervals between quantiles, the inner pairs first, by what they promise."""
    return {
        round(float(levels[-1 - i] - levels[i]), 12): quantiles[:, [i, -1 - i]]
        for i in reversed(range(len(levels) // 2))
    }


def _ends(estimator, blocks) -> dict[float, np.ndarray]:
    """Intervals by their coverage, those that the estimator has."""
    ask = interval_function(estimator)
    if ask is None:
        return {}
    found = {}
    for coverage in _COVERAGES:
        try:
            parts = [ask(block, coverage) for block in blocks()]
        except ValueError:  # too few rows were held out for so large a share
            continue
        found[coverage] = np.concatenate(parts)
    return found
