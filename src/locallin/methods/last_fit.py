"""The fit to all rows, with settings that have been chosen."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.utils.validation import validate_data

from locallin.engine.progress import ending_by
from locallin.methods.screening import ranked_columns
from locallin.methods.settings import (
    Choice,
    TrainingRows,
    encode,
    encoded_matrix,
    member_seeds,
    new_member,
)

# Seconds that the first of the fits has in any case: a limit of less shall not make a
# poor model of a small table.
LEAST_SECONDS = 3.0


class Begun(NamedTuple):
    """A fitted encoder, what it returned, that as a matrix, and a member to clone."""

    encoder: Any
    output: Any
    X: Any
    member: Any


def begin_choice(rows: TrainingRows, choice: Choice, encoder, n_jobs) -> Begun:
    """Fit the encoder to all rows, and make a member that is not fitted."""
    ignore = None
    if choice.n_columns is not None:
        ignore = ranked_columns(rows, n_jobs).left_out(choice.n_columns)
    fitted, found = encode(rows, encoder, choice.n_bins, ignore)
    X = encoded_matrix(fitted, found, len(rows))
    if not X.shape[1]:
        raise ValueError(
            f"{type(fitted).__name__} leaves nothing of the columns of X, which are "
            "constant, empty or ignored: pass columns that tell rows apart."
        )
    member = new_member(
        rows.task, choice, X, rows.y, rows.weights, n_jobs, rows.planned
    )
    return Begun(fitted, found, X, member)


def new_members(rows: TrainingRows, begun: Begun, n_members: int) -> list:
    """Members that are not fitted, each with its seed."""
    seeds = member_seeds(rows.seed, n_members)
    return [clone(begun.member).set_params(random_state=seed) for seed in seeds]


def mean_of(rows: TrainingRows, begun: Begun, members: list, n_members: int):
    """The mean of fitted members."""
    model = rows.task.mean(begun.member, members, n_members, rows.seed)
    # The encoder may give names to what it returns, now as later.
    validate_data(model, begun.output, reset=True, skip_check_array=True)
    return model


def fit_members(members: list, fit: Callable[[Any], bool], deadline: float) -> list:
    """Fit members one after the other; fewer where time is short or ``fit`` says so.

    A fit ends with its first pass after the deadline.
    """
    began = time.monotonic()
    fitted: list = []
    for member in members:
        spent = time.monotonic() - began
        if fitted and time.monotonic() + spent / len(fitted) > deadline:
            break
        least = time.monotonic() + (0.0 if fitted else LEAST_SECONDS)
        with ending_by(max(deadline, least)):
            enough = fit(member)
        fitted.append(member)
        if enough:
            break
    return fitted
