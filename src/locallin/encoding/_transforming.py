"""What a fitted encoder of tables does with rows, and what it tells of them."""

from dataclasses import dataclass
from math import inf
from operator import is_
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from locallin.encoding._columns import column_names, is_frame, read_columns
from locallin.encoding._dates import PART_NAMES
from locallin.encoding._few_rows import few_rows, read_cells
from locallin.encoding._fitting import CATEGORY, KINDS, Raw, raw_rows
from locallin.encoding._lazy import EncodedRows
from locallin.encoding._levels import LevelPlaces, places_of
from locallin.encoding._rows import RowWriter
from locallin.encoding.piecewise import PiecewiseLinearEncoder
from locallin.encoding.plan import Plan, is_sparse, local_slopes, number_names, plan_of
from locallin.engine.input import check_is_table
from locallin.engine.invariants import (
    INPUT,
    Array,
    Bindings,
    CheckedState,
    Part,
    Rule,
    Starts,
    Strings,
    Transformer,
)
from locallin.engine.sklearn_api import check_feature_names_in, check_sparse_output


@dataclass(frozen=True)
class _Kept(Array):
    """Numbers of levels with a component, of those that columns have."""

    owner: Any = None

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse more components than levels."""
        super().check(name, value, bindings)
        if (value > np.diff(self.owner.level_starts_)).any():
            bindings.refuse(name, "has more components than levels")


class _Ready(NamedTuple):
    """What a fitted encoder does with rows, laid out; ``state`` is what it is made of.

    ``names`` are those of the columns, where they have some.
    """

    state: tuple
    plan: Plan
    writer: RowWriter
    levels: list[LevelPlaces]
    kinds: list[str]
    names: list[str] | None


# Parameters and fitted attributes that this follows from.
_STATE = (
    "numbers", "kinds_", "levels_", "level_starts_", "n_kept_", "pools_",
    "tells_missing_", "has_means_", "level_means_", "level_units_", "source_columns_",
    "source_parts_", "center_", "scale_", "is_binned_", "bins_",
)  # fmt: skip
# Encoders that have been used, and are still there. They hold arrays and numbers alone.
_ready: WeakKeyDictionary[Any, _Ready] = WeakKeyDictionary()


class TableTransformer(CheckedState, TransformerMixin, BaseEstimator):
    """The fitted side of an encoder of tables.

    A subclass has the parameters ``sparse_output`` and ``dtype``, and a ``fit`` that
    sets the attributes of ``_invariants``.
    """

    sparse_output: bool | str
    dtype: str

    _fitted_mark = "kinds_"

    def _invariants(self) -> dict[str, Rule]:
        n_units, n_binned = self._count_units(), self._count_binned()
        rules: dict[str, Rule] = {
            **INPUT,
            "kinds_": Strings("features", KINDS),
            "levels_": Strings("levels"),
            "level_starts_": Starts("features", "levels"),
            "n_kept_": _Kept(("features",), "i", least=0, owner=self),
            "pools_": Array(("features",), "b"),
            "tells_missing_": Array(("features",), "b"),
            "has_means_": Array(("features",), "b"),
            # Within what a fit can give, so that sums of them stay finite.
            "level_means_": Array(("levels", "targets"), least=-1e6, below=10**6),
            "level_units_": Array((n_units,), least=0, below=100),
            "source_columns_": Array(
                ("sources",), "i", least=0, below="features", ascending=True
            ),
            "source_parts_": Array(("sources",), "i", least=0, below=len(PART_NAMES)),
            "center_": Array(("sources",), squares=False),
            "scale_": Array(("sources",), squares=False, least=np.finfo(float).tiny),
            "is_binned_": Array(("sources",), "b"),
        }
        has_bins = Part(PiecewiseLinearEncoder, {"tells_missing_": (n_binned,)})
        rules["bins_"] = has_bins if n_binned else Transformer(False)
        return rules

    def transform(self, X):
        """Encode the rows.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Columns as in ``fit``.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_features_out)
            The components, column by column.
        """
        raws, n_rows = self._read(X)
        return self._encode(raws, {}, n_rows)

    def transform_rows(self, X, *, most_bytes: int = 0):
        """Do the same where that takes little memory, and else encode rows on demand.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Columns as in ``fit``.
        most_bytes : int, default=0
            Memory that a matrix of all components may take.

        Returns
        -------
        {ndarray, CSR matrix, LazyRows} of shape (n_samples, n_features_out)
            The components, or what makes them of the rows that are asked for, ``[...]``
            as of an array.
        """
        raws, n_rows = self._read(X)
        return self._encode(raws, {}, n_rows, most_bytes)

    def to_numbers(self, X) -> np.ndarray:
        """The rows in numbers, as exported models take them.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Columns as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Numbers as they are, 0 and 1 of truth values, days since 1970, and the
            position of a level among ``plan().levels[j].names`` or their number for
            another level. NaN is a missing value, and 0 a column that is not used.
        """
        raws, n_rows = self._read(X)
        out = np.zeros((n_rows, len(raws)))
        for j, (raw, kind) in enumerate(zip(raws, self.kinds_, strict=True)):
            if kind == CATEGORY:
                out[:, j] = np.where(raw.places() < 0, np.nan, raw.places())
            elif raw.values is not None:
                out[:, j] = raw.values
        return out

    def _read(self, X) -> tuple[list[Raw], int]:
        """Columns of new rows in numbers, and how many rows there are."""
        check_is_fitted(self)
        ready = self._lay_out()
        if not self._is_known(X, ready):
            X = self._take(X, reset=False)
        cells = read_cells(X)
        raws = None
        if cells is not None:
            raws = few_rows(cells, ready.kinds, ready.levels)
        if raws is None:
            names = self._names(X)
            raws = [
                raw_rows(column, kind, levels, repr(name))
                for column, kind, levels, name in zip(
                    read_columns(X, names),
                    ready.kinds,
                    ready.levels,
                    names,
                    strict=True,
                )
            ]
        return raws, X.shape[0]

    def _is_known(self, X, ready: _Ready) -> bool:
        """Whether a frame of pandas is as in ``fit``: no check would object."""
        columns = getattr(X, "columns", None)
        return (
            columns is not None
            and hasattr(X, "iloc")
            and len(X) > 0
            and ready.names is not None
            and columns.tolist() == ready.names
        )

    def _take(self, X, *, reset: bool):
        check_is_table(X)
        if isinstance(X, list | tuple):
            X = np.array(X, dtype=object)
        if not is_frame(X):
            return validate_data(
                self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
            )
        names = column_names(X)
        for n_found, noun in zip(X.shape, ("sample", "feature"), strict=True):
            if not n_found:
                raise ValueError(
                    f"Found array with 0 {noun}(s) (shape={X.shape}) while a minimum "
                    f"of 1 is required by {type(self).__name__}."
                )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"X has more than one column named {twice!r}: give each a name of its "
                "own, or leave one out."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _names(self, X) -> list[str]:
        if is_frame(X):
            return [str(name) for name in column_names(X)]
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(X.shape[1])]
        return list(names)

    def _levels_of(self, j: int) -> np.ndarray:
        return self.levels_[self.level_starts_[j] : self.level_starts_[j + 1]]

    def _lay_out(self) -> _Ready:
        """What becomes of rows, laid out when it is first asked for."""
        own = vars(self)
        state = tuple(own.get(name) for name in (*_STATE, "feature_names_in_"))
        known = _ready.get(self)
        if known is not None and all(map(is_, known.state, state)):
            return known
        plan = plan_of(self)
        names = own.get("feature_names_in_")
        made = _Ready(
            state,
            plan,
            RowWriter(plan),
            [places_of(levels.names) for levels in plan.levels],
            self.kinds_.tolist(),
            None if names is None else names.tolist(),
        )
        _ready[self] = made
        return made

    def plan(self) -> Plan:
        """What becomes of the columns, as arrays: for exports.

        Returns
        -------
        Plan
            Sources, levels and places of the components.
        """
        check_is_fitted(self)
        return self._lay_out().plan

    def _encode(
        self,
        raws: list[Raw],
        means: dict[int, np.ndarray],
        n_rows: int,
        most_bytes: float = inf,
    ):
        ready = self._lay_out()
        writer, asked = ready.writer, self.sparse_output
        wants_sparse = is_sparse(ready.plan) if asked == "auto" else bool(asked)
        if wants_sparse:
            check_sparse_output(self)
        if n_rows * writer.row_bytes(self.dtype, wants_sparse) > most_bytes:
            return EncodedRows(writer, raws, means, n_rows, self.dtype, wants_sparse)
        write = writer.sparse if wants_sparse else writer.dense
        return write(raws, means, n_rows, self.dtype)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the components.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X; those seen at fit where None.

        Returns
        -------
        ndarray of str
            Names such as "age", "age_bin1", "home=rent", "home=(other)",
            "home=(missing)", "home_mean", "bought_year_sin".
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        plan, made = self.plan(), []
        for j, name in enumerate(names):
            levels = plan.levels[j]
            made += number_names(plan, j, name, self.is_binned_)
            n_means = levels.means.shape[1]
            each = [f"{name}_mean{t}" for t in range(n_means)]
            made += each if n_means != 1 else [f"{name}_mean"]
            made += [f"{name}={level}" for level in levels.names[: levels.n_kept]]
            made += [f"{name}=(other)"] * levels.pools
            made += [f"{name}=(missing)"] * levels.tells_missing
        return np.array(made, dtype=object)

    def get_feature_origins(self) -> np.ndarray:
        """The input column that each component is made from.

        Returns
        -------
        ndarray of int of shape (n_features_out,)
            Indices of columns of X.
        """
        check_is_fitted(self)
        sizes = [one.end - one.numbers for one in self.plan().places]
        return np.repeat(np.arange(len(sizes)), sizes)

    def get_local_slopes(self, X) -> np.ndarray:
        """How fast the components move with their columns at given rows.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Columns as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Change of each component by that of its column, to the right of the
            column's value; NaN for categories and dates, and where a value is missing.
        """
        raws, n_rows = self._read(X)
        return local_slopes(self.plan(), raws, n_rows)

    def _count_units(self) -> int:
        """Components of levels; -1 where the fitted attributes make no sense."""
        try:
            return int(np.sum(self.n_kept_ + self.pools_ + self.tells_missing_))
        except (AttributeError, TypeError, ValueError):
            return -1

    def _count_binned(self) -> int:
        flags = vars(self).get("is_binned_")
        return int(np.count_nonzero(flags)) if isinstance(flags, np.ndarray) else 0
