"""Settings of local models for a table, and a model that has them."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array

from locallin.encoding.table import TableEncoder
from locallin.engine.lazy_rows import LazyRows
from locallin.engine.sklearn_api import safe_indexing
from locallin.methods.preparation import mean_square

# Features up to which a linear metric is learned.
_MOST_MAPPED = 4096
# Memory of encoded rows from which on they are encoded batch by batch.
_MOST_BYTES = 1 << 25
# Columns up to which their numbers may be put into bins.
_MOST_BINNED = 400


@dataclass(frozen=True)
class TrainingRows:
    """Rows as a user gave them, y as its task takes it, and weights.

    Rows of one of the ``groups``, where there are some, are held out together. Where
    they are a sample, ``planned`` is the number of all rows.
    """

    X: Any
    y: np.ndarray
    task: Any
    weights: np.ndarray
    seed: int
    groups: np.ndarray | None = None
    planned: int | None = None

    @property
    def n_planned(self) -> int:
        """Rows that are learned from in the end."""
        return self.planned or len(self)

    def in_groups(self, groups: np.ndarray | None) -> "TrainingRows":
        """The same rows, in groups."""
        return replace(self, groups=groups)

    def take(self, chosen: np.ndarray) -> "TrainingRows":
        """Some of the rows."""
        X = safe_indexing(self.X, chosen)
        groups = None if self.groups is None else self.groups[chosen]
        y, weights = self.y[chosen], self.weights[chosen]
        return replace(self, X=X, y=y, weights=weights, groups=groups)

    def draw(self, chosen: np.ndarray, size: int, random_state) -> list[np.ndarray]:
        """So many of the chosen rows, and the others, both in order.

        Classes have the same share of both where there is room for each in both.
        """
        strata = self.task.strata(self.y[chosen], 2)
        room = min(size, len(chosen) - size)
        if strata is not None and len(np.unique(strata)) > room:
            strata = None
        parts = train_test_split(
            chosen, train_size=size, random_state=random_state, stratify=strata
        )
        return [np.sort(part) for part in parts]

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Choice:
    """Settings: bins of a number (0: it is standardised), local models, penalty.

    ``bins`` is where they end, as TableEncoder's ``strategy``; ``strength`` multiplies
    the penalty that the rule for the number of rows gives; ``metric`` and ``loss`` are
    those of the local models, ``passes`` are those over the rows in which they learn,
    and ``anchor_rate`` is the step of their anchors. ``n_columns`` are the columns that
    are kept, None for all of them.
    """

    loss: str
    n_bins: int = 8
    bins: str = "quantile"
    n_anchors: int = 16
    strength: float = 1.0
    metric: str | None = "linear"
    passes: int = 8
    anchor_rate: float | str = "auto"
    n_columns: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)


def new_encoder(encoder, task, choice: Choice, seed: int, ignore=None):
    """The encoder that a choice asks for, not fitted; None for none."""
    if encoder is not None:
        return clone(encoder)
    return TableEncoder(
        numbers="piecewise" if choice.n_bins else task.plain_numbers,
        n_bins=choice.n_bins or Choice.n_bins,
        strategy=choice.bins,
        target_means="auto",
        target_type=task.target_type,
        ignore=ignore,
        sparse_output="auto",
        dtype=task.dtype,
        random_state=seed,
    ).set_output(transform="default")


def encode(
    rows: TrainingRows,
    encoder,
    choice: Choice,
    ignore: list[int] | None = None,
    *,
    lazily: bool = False,
) -> tuple[Any, Any]:
    """A fitted encoder, None for sparse rows without one, and what it returns.

    Columns that it shall ``ignore`` are for our own encoder. With ``lazily`` it makes
    rows when they are asked for, where there are many.
    """
    if encoder is None and sparse.issparse(rows.X):
        return None, rows.X
    fresh = new_encoder(encoder, rows.task, choice, rows.seed, ignore)
    found = fit_rows(fresh, rows, lazily=lazily and encoder is None)
    return fresh, found


def fit_rows(encoder, rows: TrainingRows, *, lazily: bool):
    """What an encoder returns for the rows that it is fitted to.

    With ``lazily`` it is our own, and makes rows when they are asked for, where there
    are many.
    """
    y = rows.task.told(rows.y)
    if lazily:
        return encoder.fit_rows(rows.X, y, most_bytes=_MOST_BYTES)
    return encoder.fit_transform(rows.X, y)


def transform_rows(encoder, X, *, lazily: bool):
    """The same for rows of which a fitted encoder may know nothing."""
    if lazily:
        return encoder.transform_rows(X, most_bytes=_MOST_BYTES)
    return encoder.transform(X)


def encoded_matrix(encoder, found, n_rows: int):
    """What an encoder returns for so many rows, as a matrix of finite numbers.

    Rows that are made when asked for stay what they are.
    """
    if isinstance(found, LazyRows):
        return found
    name = type(encoder).__name__
    X = check_array(
        found,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_min_features=0,
        input_name=f"X after {name}",
    )
    if X.shape[0] != n_rows:
        raise ValueError(f"{name} returns {X.shape[0]} rows for {n_rows}.")
    return X


def new_member(task, choice: Choice, X, y, weights, n_jobs, planned: int | None = None):
    """A local model with the settings of a choice, for encoded rows.

    ``planned`` is the number of all rows, where these are a sample.
    """
    n_rows = planned or int(np.count_nonzero(weights))
    square = mean_square(X, weights)
    alpha = choice.strength * square * task.alpha(n_rows, y) / n_rows
    mapped = choice.n_anchors > 1 and X.shape[1] <= _MOST_MAPPED
    return task.member(
        choice.n_anchors,
        metric=choice.metric if mapped else None,
        loss=choice.loss,
        alpha=alpha,
        # A weaker penalty of the intercepts would predict as well, and leave to them
        # what can be told by the columns.
        intercept_scaling=1.0,
        diversity=0.0,
        max_iter=choice.passes,
        anchor_rate=choice.anchor_rate,
        batch_size=_batch_size(n_rows),
        n_jobs=n_jobs,
    )


def _batch_size(n_rows: int) -> int | str:
    """Rows of a step: 8 up to some 270 rows, so that there are steps enough.

    Of more rows, small ones were no better, and cost twice as much.
    """
    return int(np.clip(n_rows // 16 - 8, 8, 32)) if n_rows < 2048 else "auto"


def member_seeds(seed: int, n_members: int) -> list[int]:
    """A seed for each member."""
    return np.random.RandomState(seed).randint(2**31 - 1, size=n_members).tolist()


def usual_choice(n_rows: int, loss: str) -> Choice:
    """Settings by the number of rows alone."""
    return Choice(
        loss=loss,
        n_bins=8 if n_rows >= 1000 else 0,
        n_anchors=int(np.clip(n_rows // 50, min(4, n_rows), 256)),
        strength=3.0 if n_rows < 20_000 else 1.0,
        passes=15,
    )


def narrow(choice: Choice, X) -> Choice:
    """A choice without bins where there are too many columns to put into."""
    shape = np.shape(X[:1] if hasattr(X, "__getitem__") else np.asarray(X))
    many = len(shape) == 2 and shape[1] > _MOST_BINNED
    return replace(choice, n_bins=0) if many else choice
