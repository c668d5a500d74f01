"""The fit to all rows, with settings that have been chosen."""

import time
import warnings
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any, NamedTuple

from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from locallin.engine.parallel import ThreadTeam
from locallin.engine.progress import ending_by, ending_with
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
# Numbers in the encoded rows from which on fits side by side pay. Batches of fewer are
# so short that threads wait for Python.
_MANY_NUMBERS = 400_000


def workers_for(X, n_jobs) -> int:
    """Threads that several fits to rows like these are worth."""
    return effective_n_jobs(n_jobs) if X.size >= _MANY_NUMBERS else 1


def side_by_side(fit: Callable[..., Any], tasks: Sequence[tuple], workers: int) -> list:
    """Call ``fit(*task)`` for each task, in threads; results in their order.

    Where one of them raises an error, as Ctrl-C is, the others end with their next
    pass. A fit silences warnings of clustering for a moment. Threads share what is
    silenced, and would leave it to each other, and to the process.
    """
    if workers == 1 or len(tasks) == 1:
        return [fit(*task) for task in tasks]
    halt = Event()

    def fit_together(*task):
        try:
            with ending_with(halt):  # which a thread does not have from another
                return fit(*task)
        except BaseException:
            halt.set()
            raise

    with warnings.catch_warnings(), ThreadTeam(workers, len(tasks)) as team:
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return team.run(fit_together, tasks)
        except BaseException:
            halt.set()
            raise


class Begun(NamedTuple):
    """A fitted encoder, what it returned, that as a matrix, and a member to clone."""

    encoder: Any
    output: Any
    X: Any
    member: Any


def begin_choice(
    rows: TrainingRows, choice: Choice, encoder, n_jobs, *, lazily: bool = False
) -> Begun:
    """Fit the encoder to all rows, and make a member that is not fitted.

    With ``lazily`` many rows are encoded when they are asked for.
    """
    ignore = None
    if choice.n_columns is not None:
        ignore = ranked_columns(rows, n_jobs).left_out(choice.n_columns)
    fitted, found = encode(rows, encoder, choice, ignore, lazily=lazily)
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


def fit_members(
    members: list,
    fit: Callable[[Any], None],
    note: Callable[[], bool],
    deadline: float,
    threads: int,
) -> list:
    """Fit members side by side; fewer where time is short or ``note`` says so.

    ``note`` is told of each that is fitted. A fit ends with its first pass after the
    deadline.
    """
    workers = min(threads, len(members))
    fitted: list = []
    longest = 0.0
    while len(fitted) < len(members):
        began = time.monotonic()
        if fitted and began + longest > deadline:
            break
        end = max(deadline, began + (0.0 if fitted else LEAST_SECONDS))

        def fit_by(member, end: float = end) -> None:
            given = member.n_jobs
            member.n_jobs = threads // workers if workers > 1 else given
            try:
                with ending_by(end):  # which a thread does not have from another
                    fit(member)
            finally:
                member.n_jobs = given

        group = members[len(fitted) : len(fitted) + workers]
        side_by_side(fit_by, [(member,) for member in group], workers)
        longest = max(longest, time.monotonic() - began)
        fitted += group
        if any(note() for _ in group):
            break
    return fitted
