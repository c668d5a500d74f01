"""Search for the smallest change of one column by asking the whole model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from locallin.inspection._search import Change, Local, Table
from locallin.inspection.columns import is_missing, rows_at, with_values

_HALVINGS = 30

Decide = Callable[[object], np.ndarray]


def model_changes(local: Local, table: Table, scale, allowed, decide: Decide) -> Change:
    """The smallest change of each row among valid values, then brought nearer.

    ``decide`` tells positions of the decisions at rows of the table. Of a number, the
    nearest value at which the decision is another one is taken; between that and the
    row lies the end of the row's own range, found by halving.
    """
    n = len(local.winners)
    best = Change(
        np.full(n, -1), np.full(n, None, dtype=object), np.full(n, np.nan),
        np.full(n, np.inf), local.winners.copy(), np.zeros(n, bool),
    )  # fmt: skip
    rows = np.flatnonzero(local.wanted.any(axis=1))
    if not len(rows):
        return best
    for c in np.flatnonzero(allowed).tolist():
        _try_column(local, table, rows, c, scale[c], decide, best)
    return best


def _try_column(local, table: Table, rows, c: int, unit, decide, best: Change) -> None:
    """Offer the best change of one column to all rows."""
    valid, cells = table.valid[c], table.cells[c]
    values = valid.candidates()
    if not values:
        return
    n, m = len(rows), len(values)
    decided = decide(_with(table, np.repeat(rows, m), c, values * n)).reshape(n, m)
    wanted = np.take_along_axis(local.wanted[rows], decided, axis=1)
    missing = np.array([is_missing(cells[i]) for i in rows])
    if not valid.is_number:
        same = np.array([[cells[i] == value for value in values] for i in rows])
        sizes = np.where(wanted & ~same, 1 / unit, np.inf)
        _offer(best, rows, c, np.array(values, object), sizes, decided)
        return
    numbers = np.asarray(values, float)
    # A missing value may become any other; the most usual one that will do.
    usual = 1 + 1e-9 * np.abs(numbers - valid.middle) / (valid.spread or 1.0)
    gaps = np.flatnonzero(missing)
    sizes = np.where(wanted[gaps], usual, np.inf)
    _offer(best, rows[gaps], c, numbers, sizes, decided[gaps])
    known = np.flatnonzero(~missing)
    own = rows[known]
    start = cells[own].astype(float)
    leaves = decided[known] != local.winners[own][:, None]
    far = np.where(leaves, np.abs(numbers - start[:, None]), np.inf)
    for side in (-1, 1):  # the nearest on each side
        there = np.where(side * (numbers - start[:, None]) > 0, far, np.inf)
        hit = np.flatnonzero(np.isfinite(there.min(axis=1)))
        if not len(hit):
            continue
        ends = numbers[there[hit].argmin(axis=1)]
        to = _nearer(local, table, own[hit], c, start[hit], ends, decide)
        reached = decide(_with(table, own[hit], c, to.tolist()))
        sizes = np.where(
            local.wanted[own[hit], reached], np.abs(to - start[hit]) / unit, np.inf
        )
        _take(best, own[hit], c, to, to - start[hit], sizes, reached)


def _nearer(local, table: Table, rows, c: int, near, far, decide) -> np.ndarray:
    """The nearest values that leave the rows' own decisions, by halving."""
    whole = table.valid[c].is_whole
    start, near, far = near, near.copy(), far.copy()
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if whole:
            middle = np.trunc(middle - start) + start
        leaves = decide(_with(table, rows, c, middle.tolist())) != local.winners[rows]
        near, far = np.where(leaves, near, middle), np.where(leaves, middle, far)
    return far


def _with(table: Table, rows, c: int, values: list):
    """Rows of the table with other values in a column."""
    places = np.full(len(rows), table.places[c])
    return with_values(rows_at(table.X, rows), places, values)


def _offer(best: Change, rows, c: int, values, sizes, decided) -> None:
    """Offer the smallest of the changes to candidates, of which none is a step."""
    chosen = sizes.argmin(axis=1) if len(rows) else np.empty(0, int)
    at = np.arange(len(rows)), chosen
    steps = np.full(len(rows), np.nan)
    _take(best, rows, c, values[chosen], steps, sizes[at], decided[at])


def _take(best: Change, rows, c: int, to, change, size, target) -> None:
    """Keep changes that are smaller than those known so far."""
    better = size < best.size[rows]
    where = rows[better]
    best.feature[where], best.to[where] = c, to[better]
    best.change[where], best.size[where] = change[better], size[better]
    best.target[where] = target[better]
