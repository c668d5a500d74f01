"""Numbers that a prediction is to be brought to, and local models that lead there."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import FunctionTransformer

from locallin.inspection._search import Local, Table
from locallin.inspection.unwrap import (
    View,
    by_score,
    labels_of,
    scores_of,
    target_steps,
)


class Goal(NamedTuple):
    """A number to reach from either side, or the range low <= f <= high."""

    low: float
    high: float

    @property
    def is_point(self) -> bool:
        """Whether it is one number: what lies beyond it has reached it, too."""
        return self.low == self.high

    def reached(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Whether predictions that were ``before`` have reached it."""
        if self.is_point:
            return np.sign(after - self.low) != np.sign(before - self.low)
        return (after >= self.low) & (after <= self.high)


def checked_goal(target) -> Goal:
    """A goal from a number, or from a pair in which None is an open end."""
    ends = [target, target] if isinstance(target, Real) else target
    try:
        low, high = (
            open_end if end is None else float(end)
            for end, open_end in zip(ends, (-np.inf, np.inf), strict=True)
        )
    except (TypeError, ValueError):
        low = high = np.nan
    point = low == high and np.isfinite(low) and isinstance(target, Real)
    if not point and not (low < high and (np.isfinite(low) or np.isfinite(high))):
        raise ValueError(
            f"target={target!r}: choose a number to reach, or a pair (low, high) with "
            "low < high, in which None is an open end: (None, 300) is at most 300."
        )
    return Goal(low, high)


class Ranges(NamedTuple):
    """Ends of a goal as the regressor inside knows them, ascending, and as users do.

    ``wanted`` are the ranges below the first end, above it, and above the second that
    are the goal; ``falls`` is whether one rises as the other falls.
    """

    ends: np.ndarray
    told: np.ndarray
    wanted: np.ndarray
    falls: bool

    def of(self, predicted: np.ndarray) -> np.ndarray:
        """The range that predictions in the unit of y lie in."""
        gaps = predicted[:, None] - self.told
        passed = -gaps if self.falls else gaps
        # An end belongs to the goal, not to what lies beyond.
        places = (passed > 0).sum(axis=1)
        at_first = (passed[:, 0] == 0) & self.wanted[1]
        return np.where(at_first, 1, places)


class Aim(NamedTuple):
    """Local models that lead to a goal of one output.

    ``ranges`` are its ends, ``edges`` is what each row has to reach of it, and
    ``there`` whether it has.
    """

    goal: Goal
    place: int
    local: Local
    ranges: Ranges
    edges: np.ndarray
    there: np.ndarray


def local_numbers(view: View, table: Table, goal: Goal, output) -> Aim:
    """Ranges below, within and above a goal, as decisions with scores of their own.

    With the ends l and h the scores 0, f - l and 2f - l - h are largest below l,
    between the two, and above h.
    """
    place = _output(view, output)
    inside = scores_of(view.classifier, view.rows)[:, place].astype(float)
    predicted = by_score(table.decide(table.X))[:, place].astype(float)
    ranges = _ranges(view, goal)
    ends, told, wanted, _ = ranges
    n_decisions = len(ends) + 1
    factors = np.arange(n_decisions)
    coef = view.classifier.local_coef(view.rows)[:, place].astype(float)
    intercept = view.classifier.local_intercept(view.rows)[:, place].astype(float)
    shifts = np.concatenate([[0.0], np.cumsum(ends)])
    winners = (inside[:, None] > ends).sum(axis=1)
    # An end belongs to the range.
    winners = np.where((inside == ends[0]) & wanted[1], 1, winners)
    there = inside == ends[0] if goal.is_point else wanted[winners]
    allowed = wanted & (winners[:, None] != factors) & ~there[:, None]
    edge = np.minimum(winners, len(ends) - 1)
    room = np.full(len(inside), np.inf)
    if len(ends) == 2:
        with np.errstate(divide="ignore"):
            room = 0.5 * (ends[1] - ends[0]) / np.abs(ends[edge] - inside)
    local = Local(
        view,
        factors[:, None] * coef[:, None],
        factors * intercept[:, None] - shifts,
        winners,
        predicted,
        allowed,
        of_numbers=True,
        room=room,
    )
    return Aim(goal, place, local, ranges, told[edge], there)


def _ranges(view: View, goal: Goal) -> Ranges:
    told = np.unique([end for end in goal if np.isfinite(end)])
    ends, falls = told, False
    steps = target_steps(view.estimator)
    if view.classifier.has_log_link:
        steps.append(FunctionTransformer(np.log, np.exp))
    if steps:
        nudged = told + 1e-6 * np.maximum(1, np.abs(told))
        ends, ahead = _forward(steps, told), _forward(steps, nudged)
        if not np.isfinite(np.concatenate([ends, ahead])).all():
            raise ValueError(
                f"target={told.tolist()} is outside of what "
                f"{type(steps[-1]).__name__} of the transformed target takes."
            )
        falls = bool(ahead[0] < ends[0])
    if falls:
        ends, told = ends[::-1], told[::-1]
    if goal.is_point:
        return Ranges(ends, told, np.array([True, True]), falls)
    if len(ends) == 2:
        return Ranges(ends, told, np.array([False, True, False]), falls)
    above = np.isfinite(goal.low) != falls
    return Ranges(ends, told, np.array([not above, above]), falls)


def _forward(steps: list, values: np.ndarray) -> np.ndarray:
    """Numbers as the regressor inside of transformed targets learned them."""
    with np.errstate(all="ignore"):
        for step in steps:
            values = np.asarray(step.transform(values.reshape(-1, 1)), float).ravel()
    return values


def _output(view: View, output) -> int:
    """Position of the target that is to be reached."""
    known = labels_of(view.classifier).tolist()
    if output is None and len(known) == 1:
        return 0
    if output not in known:
        raise ValueError(
            f"output={output!r}: the regressor predicts {len(known)} targets, choose "
            f"among {known}."
        )
    return known.index(output)
