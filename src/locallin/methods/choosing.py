"""Settings of local models for a table, chosen on held-out rows.

What y is, a task tells: see :mod:`locallin.methods.tasks`.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from locallin.engine.progress import ending_by, frames_to_the_user
from locallin.methods.last_fit import LEAST_SECONDS, side_by_side, workers_for
from locallin.methods.parts import Held, Parts, held_out_splits
from locallin.methods.settings import (
    Choice,
    TrainingRows,
    member_seeds,
    narrow,
    new_member,
    usual_choice,
)

# Rows that are looked at, by effort; and those that tell in the end whether more rows
# bear richer models, where there are more by such a factor.
_ROWS = {1: 20_000, 2: 60_000}
_MORE_ROWS = {1: 100_000, 2: 300_000}
_MANY_MORE = 1.25
# More bins that are tried, and rows that a part needs for them.
_FINER = 32, 128
_ROWS_FOR_BINS = 2000
# Standard errors by which a choice has to be better than a simpler one before.
_CHANCE = 0.5
_MOST_ANCHORS = 1024
# Columns from which on some may be left out, and up to which what is left of more than
# may be put into bins is.
_LEAST_SCREENED = 4
_FEW_COLUMNS = 100
# Standard errors by which fewer columns have to be better, as several numbers are
# tried, and bins that follow the target, as these can follow its noise; and where there
# are more rows than are looked at: what tells little to some may tell something to all.
_SURE, _VERY_SURE = 1.0, 2.0
# Weights of a model from which on more local models, as they cost memory and time, have
# to save a part of the cost: so much for four times as many.
_MANY_WEIGHTS = 1_000_000
_WORTH_ANCHORS = 0.05
# The part of the cost that members of a mean, or more bins, have to save, as a row
# takes longer to predict.
_WORTH = 0.01
# Members of a mean, by effort. Few rows always take them: chance has chosen more.
MEMBERS = {0: 1, 1: 3, 2: 6}
# Choices that are tried, at the most.
MOST_TRIALS = {0: 0, 1: 50, 2: 60}
_ROWS_FOR_MEMBERS = 4000
# What a last fit may take longer than trials tell, and its passes over the rows where
# there is no time for as many as were chosen.
_SLOWER = 1.25
_LEAST_PASSES = 2


class _OutOfTime(Exception):
    """A trial was under way when its time was up."""


@dataclass(frozen=True)
class Trial:
    """What held-out rows say of a choice.

    ``figures`` are told to the user, ``costs`` of the rows are made small in the mean.
    """

    choice: Choice
    n_members: int
    figures: dict[str, Any]
    seconds: float
    cost: float
    costs: np.ndarray = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Settings and figures by name."""
        return {
            **self.choice.as_dict(),
            "n_members": self.n_members,
            **self.figures,
            "seconds": self.seconds,
        }


class Chosen(NamedTuple):
    """Settings, the number of members, and what held-out rows say of them.

    ``best`` is the trial, and ``held_out`` are scores, y and weights; both are None
    where no rows were held out.
    """

    choice: Choice
    n_members: int
    best: Trial | None
    held_out: tuple | None


class Choosing:
    """Tries choices one after the other, each where the last ones lead.

    Parameters
    ----------
    rows : TrainingRows
        All rows.
    encoder : transformer or None
        What encodes rows, where the user gave one.
    effort : int
        How much is tried.
    deadline : float
        Time of the monotonic clock by which the search has come to its end, and with
        it the fit of a member to all rows if ``fits_all``. A trial that is under way
        then is forgotten, unless it is the first.
    n_jobs : int or None
        Threads.
    fits_all : bool, default=False
        Whether a member is fitted to all rows afterwards, and not to a stream.
    """

    def __init__(
        self,
        rows: TrainingRows,
        encoder,
        effort: int,
        deadline: float,
        n_jobs,
        fits_all: bool = False,
    ):
        self._all, self._encoder, self._effort = rows, encoder, effort
        self._task = rows.task
        self._deadline, self._n_jobs, self._fits_all = deadline, n_jobs, fits_all
        self._stopped = False
        self.trials: list[Trial] = []

    def run(self, tell: Callable[[Trial], bool], n_members: int | None) -> Chosen:
        """The best choice for all rows.

        The number of members is chosen where none is given. ``tell`` is called with
        each trial, and returns whether it shall be the last.
        """
        most = MEMBERS[self._effort] if n_members is None else n_members
        if self._effort == 0 or not self._hold_out():
            self._warn_of_groups()
            usual = usual_choice(self._all.n_planned, self._task.losses[0])
            return Chosen(narrow(usual, self._all.X), most, None, None)
        self._tell = tell
        best = self._look_at_more_rows(self._search())
        if most > 1 and self._has_time(best):
            mean = self._best_mean(best, most)
            worth = mean.cost < (1.0 - _WORTH) * best.cost
            few = len(self._parts.rows) <= _ROWS_FOR_MEMBERS
            best = mean if n_members or few or worth else best
        scores, held = self._parts.scores[best.choice, best.n_members], self._parts.held
        rows = self._parts.rows
        held_out = scores[held], rows.y[held], rows.weights[held]
        choice = self._in_time(self._for_all_rows(best.choice), best)
        return Chosen(choice, n_members or best.n_members, best, held_out)

    def _warn_of_groups(self) -> None:
        """Tell that groups leave no rows to choose by, where some were asked for."""
        if self._effort and self._all.groups is not None:
            warnings.warn(
                "No group can be held out: there is one only, or the others teach too "
                "little. Settings are the usual ones, nothing is calibrated, and "
                "there are no prediction sets or intervals. Pass smaller groups or "
                "none, or effort=0 if this is wanted.",
                UserWarning,
                stacklevel=frames_to_the_user(),
            )

    def _hold_out(self) -> bool:
        """Draw the rows that are looked at; False where that cannot be done."""
        drawn = held_out_splits(self._all, _ROWS[self._effort])
        if drawn is None:
            return False
        self._parts = Parts(*drawn, self._encoder, self._n_jobs)
        return self._parts.teach(self._first())

    def _first(self) -> Choice:
        """What is tried first."""
        return narrow(Choice(self._task.losses[0]), self._parts.rows.X)

    def _search(self) -> Trial:
        best = self._screen(self._try(self._first()))
        if self._parts.have_numbers(best.choice):
            best = self._choose_bins(best)
        best = self._simpler(best, metric=None)
        best = self._simpler(best, strength=10.0)
        best = self._better(best, strength=0.1)
        for loss in self._task.losses[1:]:
            best = self._better(best, loss=loss)
        best = self._better(best, passes=20)
        best = self._grow(best)
        return self._refine(best)

    def _choose_bins(self, best: Trial) -> Trial:
        """No bins, more of them, or others; some where few of many columns are left."""
        if not best.choice.n_bins:
            few = (best.choice.n_columns or inf) <= _FEW_COLUMNS
            return self._better(best, n_bins=Choice.n_bins) if few else best
        best = self._simpler(best, n_bins=0)
        if best.choice.n_bins and len(self._parts.splits[0][0]) >= _ROWS_FOR_BINS:
            best = self._finer(best)
        n_bins = best.choice.n_bins or Choice.n_bins
        return self._better(best, by=_SURE, n_bins=n_bins, bins="tree")

    def _screen(self, best: Trial) -> Trial:
        """Fewer columns as long as that gains: half of them, a quarter, and so on."""
        if not self._parts.are_ours or not self._has_time(best):
            return best
        n_columns = min(len(ranking.columns) for ranking in self._parts.rankings)
        by = _VERY_SURE if self._all.n_planned > len(self._parts.rows) else _SURE
        failures = 0
        while n_columns >= _LEAST_SCREENED and failures < 2:
            n_columns = (n_columns + 1) // 2
            other = self._better(best, by=by, n_columns=n_columns)
            failures = 0 if other is not best else failures + 1
            best = other
        if best.choice.n_columns:
            n_columns = best.choice.n_columns * 3 // 4
            best = self._better(best, by=by, n_columns=n_columns)
        return best

    def _finer(self, best: Trial) -> Trial:
        """More bins as long as they gain: integers may be codes, each with its own."""
        for n_bins in (n for n in _FINER if n > best.choice.n_bins > 0):
            if not self._has_time(best):
                break
            finer = replace(best.choice, n_bins=n_bins)
            if self._width(finer) == self._width(best.choice):
                break  # no number has more values
            other = self._better(best, n_bins=n_bins)
            if other.cost > (1.0 - _WORTH) * best.cost:
                break
            best = other
        return best

    def _grow(self, best: Trial) -> Trial:
        """Fewer local models, or more as long as they gain."""
        # One function for all rows explains most, and costs least.
        best = self._better(best, by=-_CHANCE, n_anchors=1)
        if best.choice.n_anchors > 4:
            best = self._simpler(best, n_anchors=4)
        return self._grow_to(best, (4, 64, 256, 1024))

    def _grow_to(self, best: Trial, numbers: tuple[int, ...]) -> Trial:
        """More local models, as long as they gain."""
        start = best.choice.n_anchors
        for n_anchors in numbers:
            n_anchors = min(n_anchors, self._most_anchors())
            if n_anchors <= start or n_anchors < 2 * best.choice.n_anchors:
                continue
            other = self._better(best, n_anchors=n_anchors)
            tried = self._trial_of(replace(best.choice, n_anchors=n_anchors))
            if other is not best and not self._are_worth_it(other, best):
                break
            # What gains too little to be told from chance may gain more with more.
            if other is best and (tried is None or tried.cost >= best.cost):
                break
            best = other
        return best

    def _are_worth_it(self, other: Trial, best: Trial) -> bool:
        """Whether more local models save enough, where they are large."""
        if self._n_weights(other.choice) <= _MANY_WEIGHTS:
            return True
        times_four = np.log2(other.choice.n_anchors / best.choice.n_anchors) / 2
        return other.cost < (1.0 - _WORTH_ANCHORS * times_four) * best.cost

    def _n_weights(self, choice: Choice) -> int:
        """Weights of the local models of a choice."""
        return choice.n_anchors * self._width(choice) * self._task.n_scores

    def _width(self, choice: Choice) -> int:
        """Components of an encoded row."""
        return self._parts.of(choice)[0].X.shape[1]

    def _refine(self, best: Trial) -> Trial:
        """Passes, penalties and, where the effort allows, bins beside the best."""
        best = self._better(best, passes=20)
        strength = best.choice.strength
        best = self._simpler(best, strength=_rounded(3.0 * strength))
        best = self._better(best, strength=_rounded(0.3 * strength))
        if self._effort > 1:
            best = self._grow(best)
            if best.choice.n_bins:
                best = self._better(best, n_bins=2 * best.choice.n_bins)
        return best

    def _look_at_more_rows(self, best: Trial) -> Trial:
        """More bins, local models or passes, where more rows than before say so."""
        few = self._parts
        n_counted = np.count_nonzero(self._all.weights)
        if n_counted < _MANY_MORE * len(few.rows) or not self._has_time(best):
            return best
        end = self._end(best)
        drawn = held_out_splits(self._all, _MORE_ROWS[self._effort])
        if drawn is None:
            return best
        choice = self._for_rows(best.choice, len(drawn[0]))
        self._parts = Parts(*drawn, self._encoder, self._n_jobs)
        try:
            found = self._try(choice, end) if self._parts.teach(choice) else None
        except _OutOfTime:
            found = None
        if found is None:
            self._parts = few
            return best
        few.forget()
        best = self._finer(found) if self._parts.have_numbers(found.choice) else found
        n_anchors = best.choice.n_anchors
        best = self._grow_to(best, (4 * n_anchors, 16 * n_anchors, 64 * n_anchors))
        return self._better(best, passes=20)

    def _better(self, best: Trial, *, by: float = _CHANCE, **settings) -> Trial:
        """The best so far, or what it is with other settings if that is better."""
        choice = replace(best.choice, **settings)
        if not self._has_time(best) or self._trial_of(choice):
            return best
        try:
            trial = self._try(choice, self._end(best))
        except _OutOfTime:
            return best
        return trial if self._is_better(trial, best, by) else best

    def _simpler(self, best: Trial, **settings) -> Trial:
        """As ``_better``, for settings that are taken where there is no difference."""
        return self._better(best, by=0.0, **settings)

    def _is_better(self, trial: Trial, best: Trial, by: float) -> bool:
        """Whether the rows say so, by that many standard errors of the difference."""
        weights = self._parts.held_weights
        gains = best.costs - trial.costs
        return weights @ gains > by * standard_error(gains, weights)

    def _has_time(self, best: Trial) -> bool:
        """Whether something new may be tried, with ``best`` as the best so far."""
        return not self._stopped and time.monotonic() < self._end(best)

    def _end(self, best: Trial) -> float:
        """When the search has to end so that there is time for the last fit."""
        return self._deadline - self._last_fit(best.choice)

    def _last_fit(self, tried: Choice) -> float:
        """Seconds that a fit to all rows takes, as its trial tells."""
        if not self._fits_all:
            return 0.0
        trial = self._trial_of(tried)
        assert trial is not None
        rows = len(self._all) / sum(len(seen) for seen, _ in self._parts.splits)
        anchors = self._for_all_rows(tried).n_anchors / tried.n_anchors
        threads = workers_for(self._parts.of(tried)[0].X, self._n_jobs)
        at_once = min(threads, len(self._parts.splits))
        return _SLOWER * trial.seconds * at_once * rows * anchors

    def _in_time(self, choice: Choice, best: Trial) -> Choice:
        """A choice for all rows, of fewer passes where time is short."""
        left = max(self._deadline - time.monotonic(), LEAST_SECONDS)
        needed = self._last_fit(best.choice)
        if needed <= left:
            return choice
        passes = max(_LEAST_PASSES, int(choice.passes * left / needed))
        return replace(choice, passes=min(passes, choice.passes))

    def _trial_of(self, choice: Choice) -> Trial | None:
        """The trial of one model with these settings, if there was one."""
        return next((t for t in self._parts.trials if t.choice == choice), None)

    def _try(self, choice: Choice, end: float = inf) -> Trial:
        """Judge a choice by held-out rows; _OutOfTime where it takes until the end."""
        began = time.monotonic()
        seeds = [self._all.seed]
        (scores,) = self._held_scores(choice, seeds, end, shared_anchors=True)
        return self._note(choice, 1, scores, began)

    def _best_mean(self, single: Trial, n_members: int) -> Trial:
        """The mean of members of a choice, or of one that gains more by a mean."""
        best = single
        try:
            best = self._try_members(single, single.choice, n_members)
            for settings in self._task.for_means(single.choice):
                other = replace(best.choice, **settings)
                borne = other.n_anchors <= self._most_anchors()
                if borne and other != best.choice and self._has_time(best):
                    trial = self._try_members(best, other, n_members)
                    best = trial if self._is_better(trial, best, _CHANCE) else best
        except _OutOfTime:
            pass
        return best

    def _most_anchors(self) -> int:
        """Local models that there are rows for."""
        return min(_MOST_ANCHORS, len(self._parts.splits[0][0]) // 12)

    def _try_members(self, best: Trial, choice: Choice, n_members: int) -> Trial:
        """The mean of members, of which the first has been tried, or is now."""
        end = self._end(best)
        if not self._trial_of(choice):
            self._try(choice, end)
        began = time.monotonic()
        seeds = member_seeds(self._all.seed, n_members - 1)
        more = self._held_scores(choice, seeds, end)
        return self._note(
            choice,
            n_members,
            sum(more, self._parts.scores[choice, 1]) / n_members,
            began,
        )

    def _note(self, choice: Choice, n_members: int, scores, began: float) -> Trial:
        parts = self._parts
        parts.scores[choice, n_members] = scores
        held, weights = parts.held, parts.held_weights
        figures, costs = self._task.judge(scores[held], parts.rows.y[held], weights)
        trial = Trial(
            choice, n_members, figures, time.monotonic() - began,
            float(weights @ costs), costs,
        )  # fmt: skip
        parts.trials.append(trial)
        self.trials.append(trial)
        self._stopped |= self._tell(trial)
        return trial

    def _held_scores(
        self, choice: Choice, seeds: list[int], end: float, shared_anchors: bool = False
    ) -> list[np.ndarray]:
        """Scores of held-out rows for each seed, (n_rows, n_scores); 0 elsewhere.

        Parts are learned from side by side, and so are seeds, where that pays.
        """
        parts = list(zip(self._parts.splits, self._parts.of(choice), strict=True))
        shape = len(self._parts.rows), self._task.n_scores
        found = [np.zeros(shape) for _ in seeds]
        tasks = [(i, seed, *pair) for i, seed in enumerate(seeds) for pair in parts]
        threads = workers_for(parts[0][1].X, self._n_jobs)
        n_jobs = max(1, threads // len(tasks)) if threads > 1 else self._n_jobs

        def fit(i: int, seed: int, split: tuple, part: Held) -> bool:
            member = new_member(
                self._task, choice, part.X, part.y, part.weights, n_jobs
            ).set_params(random_state=seed)
            if shared_anchors:
                anchors = part.first_anchors(choice, seed)
                given = not isinstance(anchors, str)
                member.set_params(
                    n_anchors=None if given else choice.n_anchors, anchors=anchors
                )
            with ending_by(end):  # which a thread does not have from another
                member.fit(part.X, part.y, part.weights)
            in_time = time.monotonic() < end
            if in_time:
                found[i][split[1]] = self._task.scores(member, part.X_held)
            return in_time

        if not all(side_by_side(fit, tasks, threads)):
            raise _OutOfTime
        return found

    def _for_all_rows(self, choice: Choice) -> Choice:
        return self._for_rows(choice, self._all.n_planned)

    def _for_rows(self, choice: Choice, n_rows: int) -> Choice:
        """More rows than were looked at bear more local models."""
        share = np.sqrt(n_rows / len(self._parts.rows))
        if choice.n_anchors < 16 or share <= 1.0:
            return choice
        return replace(
            choice, n_anchors=int(min(_MOST_ANCHORS, choice.n_anchors * share))
        )


def standard_error(values: np.ndarray, weights: np.ndarray) -> float:
    """That of the weighted mean; the weights add up to one."""
    return float(np.sqrt((weights**2) @ (values - weights @ values) ** 2))


def _rounded(strength: float) -> float:
    return float(f"{strength:.2g}")
