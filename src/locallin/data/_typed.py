"""Tables of files with columns of their kinds, which a pass over all rows finds."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from locallin.data._tables import About, Block, Origin
from locallin.data.blocks import count, is_table
from locallin.data.frames import Signs, as_frame, common_kinds, find_kinds, typed

_BLOCK = 16_384


class TypedRows:
    """The rows of another origin; its Arrow tables become frames of typed columns.

    Parameters
    ----------
    origin : Origin
        Files whose rows are tables of text, or of types of their own. Rows that are no
        tables come through as they are.
    given : mapping of str to str, default=None
        Kinds of columns that are known.
    signs : Signs, default=None
        Signs in numbers.
    """

    def __init__(
        self,
        origin: Origin,
        given: Mapping[str, str] | None = None,
        signs: Signs | None = None,
    ):
        self._origin, self._given = origin, dict(given or {})
        self._signs = signs or Signs()
        self.name, self.once, self.typed = origin.name, origin.once, origin.typed
        self.used = False

    @property
    def default_size(self) -> int | None:
        """Rows of a block where no size is given."""
        return self._origin.default_size

    @property
    def about(self) -> About:
        """Facts that are known without reading all rows."""
        return self._origin.about

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each column is; empty where rows are no tables.

        Of a source that can be read once, the first block tells.
        """
        found: dict[str, str | None] = {}
        for X, *_ in self._origin.blocks(_BLOCK, 0):
            if not is_table(X):
                return {}
            found = common_kinds(found, self._kinds_in(X), self._given)
        return _settled(found)

    def _kinds_in(self, table) -> dict[str, str | None]:
        """Kinds of the columns of a block; None where all of a column is missing."""
        kinds = find_kinds(table, self._given, self._signs)
        return {
            name: None
            if column.null_count == len(column) and name not in self._given
            else kinds[name]
            for name, column in zip(table.column_names, table.columns, strict=True)
        }

    def blocks(self, size, skip: int) -> Iterator[Block]:
        """A new pass after some rows."""
        blocks = self._origin.blocks(size, skip)
        if self.once and "kinds" not in vars(self):
            first = next(blocks, None)
            if first is None:
                return
            found = self._kinds_in(first[0]) if is_table(first[0]) else {}
            self.kinds = _settled(found)
            blocks = chain([first], blocks)
        kinds, start = self.kinds, skip
        for X, *beside in blocks:
            n_rows = count((X,))
            if is_table(X):
                X = as_frame(typed(self.name, X, kinds, self._signs, start))
            yield X, *beside
            start += n_rows


def _settled(kinds: Mapping[str, str | None]) -> dict[str, str]:
    """Kinds of columns, of which those without a value count as numbers."""
    return {name: kind or "number" for name, kind in kinds.items()}
