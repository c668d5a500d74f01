"""The protocols of the readers: tables, and origins that open them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from locallin.data.columns import Columns
from locallin.data.source import Options

# Rows, labels or None and, where there are any, weights.
Block = tuple


class Table(Protocol):
    """Rows that are open for one pass, from the first to the last.

    Attributes
    ----------
    name : str
        Its name in messages.
    n_rows : int or None
        The number of rows, or None where only a pass would tell.
    n_features : int or None
        The number of features. LIBSVM text does not tell: None is to be replaced
        before the first block, or blocks have the width of their widest row.
    has_labels : bool
        Whether blocks have labels.
    columns : Columns
        Columns of features, of the label and of the weight.
    """

    name: str
    n_features: int | None
    has_labels: bool
    columns: Columns

    @property
    def n_rows(self) -> int | None: ...

    def settled(self, options: Options) -> Options:
        """Options for more files of the kind: what was found out counts as given."""
        ...

    def skip(self, rows: int) -> int:
        """Pass over rows; return how many there were to pass over."""
        ...

    def blocks(self, size: int) -> Iterator[Block]:
        """All rows that are left, in blocks; only the last has fewer than ``size``."""
        ...


@dataclass(frozen=True)
class About:
    """Facts about rows that are known without reading them all; None is not known."""

    n_rows: int | None = None
    n_features: int | None = None
    names: list[str] | None = None


class Origin(Protocol):
    """Files, arrays or iterables whose rows can be gone through again and again.

    Attributes
    ----------
    name : str
        Its name in messages.
    once : bool
        Whether there is one pass only.
    used : bool
        Whether that pass has begun.
    typed : bool
        Whether labels have a type already, or are text whose kind is found out.
    default_size : int or None
        Rows of a block where no size is given; None leaves blocks as they come.
    """

    name: str
    once: bool
    used: bool
    typed: bool

    @property
    def default_size(self) -> int | None: ...

    @property
    def about(self) -> About: ...

    def blocks(self, size: Any, skip: int) -> Iterator[Block]:
        """A new pass after some rows; ``size`` is None only if its default is."""
        ...
