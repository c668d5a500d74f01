"""Numbers as positions within bins, for models that are linear in what they see."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from locallin.encoding._bins import (
    Feature,
    component_moments,
    distinct_values,
    quantile_edges,
    separated,
    tree_edges,
)
from locallin.encoding._slopes import line_slopes
from locallin.encoding._targets import Told, read_target, tree_target
from locallin.engine.input import checked_data
from locallin.engine.invariants import INPUT, Array, Bindings, CheckedState, Rule
from locallin.engine.invariants import Starts as _Starts
from locallin.engine.matrix import BLOCK, read_only
from locallin.engine.parallel import row_blocks
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_feature_names_in,
    unchanged_on_error,
    validate_parameters,
)
from locallin.kernels.encoding import (
    HIGH,
    LEFT,
    LOW,
    MISSING,
    SLOPE,
    START,
    Encoding,
    Seen,
    encode_block,
    look_through,
)

__all__ = ["PiecewiseLinearEncoder"]

# A component is divided by its standard deviation, but by no less than this: a value
# that one row in a thousand has would else be further away than all others together.
_LEAST_SCALE = 0.1
# Bin widths that a component goes on for beyond the ends of the data.
_FURTHEST = 1e4


@dataclass(frozen=True)
class _EdgeStarts(_Starts):
    """Bounds of the features' edges, which ascend within each feature."""

    edges: Any = None

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse bounds that leave the edges, and edges that do not ascend."""
        super().check(name, value, bindings)
        rises = np.diff(self.edges / 2) >= np.finfo(float).tiny / 2
        inner = value[(value > 0) & (value < len(self.edges))]
        rises[inner - 1] = True
        if not rises.all():
            bindings.refuse(name, "has edges that do not ascend")


class PiecewiseLinearEncoder(CheckedState, TransformerMixin, BaseEstimator):
    """Encode each feature by how far it fills each of its bins.

    With edges b_0 < b_1 < ... < b_T, a value x becomes T components,
    (x - b_{t-1}) / (b_t - b_{t-1}) clipped to 0..1 (Gorishniy et al. [1]_): 1 in the
    bins below x, 0 in those above, and the position inside of its own. A linear model
    of them is any continuous function of x that is linear within the bins, and x
    itself can be got back. Components are then standardised, so that they can go
    straight into a local model and into a distance.

    A feature with few distinct values has them as its edges, one that is constant has
    no component. A missing value (NaN) has the mean of each component, which is 0
    once standardised, and a component of its own.

    Parameters
    ----------
    n_bins : int, default=8
        Number of bins of a feature, at the most.
    strategy : {"quantile", "tree"}, default="quantile"
        Where bins end. "quantile" puts about as many rows into each; a value that
        fills more than one is counted as one, and leaves the rest of them to others.
        "tree" takes the splits of a small decision tree of the target on the feature
        alone.
    target_type : {"auto", "classes", "numbers"}, default="auto"
        What y is for strategy="tree". "auto" takes numbers with decimals as numbers,
        and integers with more than 50 distinct values; everything else as classes.
    outliers : {"clip", "extend"}, default="clip"
        Values beyond those of the training rows. "clip" takes them as the nearest one
        seen; "extend" lets the first and the last component go on along their lines,
        up to 10,000 widths of the bin.
    scaling : {"standard", "feature", "center"} or None, default="standard"
        What is done to a component in the end. "standard" subtracts its mean and
        divides by its standard deviation, or by 0.1 if that is larger, so that rare
        values do not count more than all others; "feature" divides by the root of the
        number of the feature's bins in addition, so that the feature weighs in a
        distance as a standardised number does; "center" subtracts the mean; None
        leaves it between 0 and 1. Missing values are left out of both.
    missing : {"auto", "all", "none"}, default="auto"
        Features with a component that tells missing values from others: those with
        both in training, all, or none.

    Attributes
    ----------
    edges_ : ndarray of shape (n_edges,)
        Edges of the bins of all features, one feature after the other. One that is
        constant has a single edge, one without any value has none.
    edge_starts_ : ndarray of shape (n_columns + 1,)
        Feature j has the edges ``edges_[edge_starts_[j]:edge_starts_[j + 1]]``.
    tells_missing_ : ndarray of shape (n_features_in_,)
        Whether a feature has a component for missing values.
    mean_, scale_ : ndarray of shape (n_features_out,)
        What is subtracted from each component, and by what it is divided then.
    missing_value_ : ndarray of shape (n_features_out,)
        What each component is, before scaling, where the feature is missing.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    locallin.LLSVMClassifier : Takes an encoder as its feature map.
    sklearn.preprocessing.KBinsDiscretizer : Bins without the position inside.
    sklearn.preprocessing.SplineTransformer : Smooth pieces of higher degree.

    References
    ----------
    .. [1] Gorishniy, Rubachev and Babenko, On Embeddings for Numerical Features in
       Tabular Deep Learning, NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import PiecewiseLinearEncoder
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [np.nan]])
    >>> encoder = PiecewiseLinearEncoder(n_bins=3, scaling=None).fit(X)
    >>> encoder.edges_
    array([0., 1., 2., 4.])
    >>> encoder.transform([[0.5], [3.0], [np.nan]]).round(2)
    array([[0.5 , 0.  , 0.  , 0.  ],
           [1.  , 1.  , 0.5 , 0.  ],
           [0.75, 0.5 , 0.25, 1.  ]])
    >>> encoder.get_feature_names_out(["age"])
    array(['age_bin1', 'age_bin2', 'age_bin3', 'age_missing'], dtype=object)
    """

    _parameter_constraints: dict = {
        "n_bins": [Interval(Integral, 1, 10_000, closed="both")],
        "strategy": [StrOptions({"quantile", "tree"})],
        "target_type": [StrOptions({"auto", "classes", "numbers"})],
        "outliers": [StrOptions({"clip", "extend"})],
        "scaling": [StrOptions({"standard", "feature", "center"}), None],
        "missing": [StrOptions({"auto", "all", "none"})],
    }

    _fitted_mark = "edges_"

    def _invariants(self) -> dict[str, Rule]:
        n_out = self._count_outputs()
        edges = vars(self).get("edges_")
        return {
            **INPUT,
            "edges_": Array(("edges",), squares=False),
            "edge_starts_": _EdgeStarts("features", "edges", edges=edges),
            "tells_missing_": Array(("features",), "b"),
            "mean_": Array((n_out,), least=0, below=2),
            "scale_": Array((n_out,), least=_LEAST_SCALE),
            "missing_value_": Array((n_out,), least=0, below=2),
        }

    def __init__(
        self,
        n_bins: int = 8,
        *,
        strategy: str = "quantile",
        target_type: str = "auto",
        outliers: str = "clip",
        scaling: str | None = "standard",
        missing: str = "auto",
    ):
        self.n_bins = n_bins
        self.strategy = strategy
        self.target_type = target_type
        self.outliers = outliers
        self.scaling = scaling
        self.missing = missing

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.strategy == "tree"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Find the bins of each feature, and the scales of their components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers, NaN where one is missing. Entries that a sparse matrix does not
            store are zeros, as any other value.
        y : array-like of shape (n_samples,), default=None
            Classes or numbers, for strategy="tree"; not used otherwise.

        Returns
        -------
        self : object
            The encoder.
        """
        validate_parameters(self)
        with unchanged_on_error(self):
            told = None
            if self.strategy == "tree":
                X, told = self._take_target(X, y)
            else:
                X = self._take(X, reset=True)
            self._fit_columns(((column, None) for column in _columns(X)), told)
        return self

    def _fit_columns(
        self, columns: Iterable[tuple[np.ndarray, Seen | None]], told: Told | None
    ) -> None:
        if self.strategy == "tree":
            assert told is not None
            told = tree_target(told)
        self._set_features([self._fit_feature(*column, told) for column in columns])

    def fit_columns(
        self, columns: list[tuple[np.ndarray, Seen]], told: Told | None = None
    ):
        """Fit to columns that have been looked at already, as have the parameters.

        Parameters
        ----------
        columns : list of (ndarray of shape (n_samples,), Seen)
            Numbers in double precision, NaN where one is missing, and what
            ``locallin.kernels.encoding.look_through`` found of them.
        told : Told, default=None
            The target, for strategy="tree".

        Returns
        -------
        self : object
            The encoder.
        """
        self.n_features_in_ = len(columns)
        self._fit_columns(columns, told)
        return self

    def _take(self, X, *, reset: bool):
        return checked_data(self, X, reset=reset, finite="allow-nan")

    def _take_target(self, X, y) -> tuple:
        """X, and what y tells."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None: strategy='tree' takes its bins from the target. Pass y, or "
                "choose strategy='quantile'."
            )
        X, y = checked_data(self, X, y, reset=True, finite="allow-nan")
        return X, read_target(y, self.target_type)

    def _fit_feature(self, column, seen: Seen | None, told: Told | None) -> Feature:
        column = np.ascontiguousarray(column, dtype=float)
        if seen is None:
            seen = look_through(read_only(column))
        found = distinct_values(column, seen)
        if told is not None and self.strategy == "tree":
            edges = tree_edges(found, column, told, self.n_bins)
        else:
            edges = quantile_edges(found, self.n_bins)
        edges = separated(edges)
        n_missing = seen.n_missing
        tells = self.missing == "all" or (
            self.missing == "auto" and 0 < n_missing < len(column)
        )
        moments = component_moments(found, edges)
        return Feature(edges, bool(tells), n_missing / len(column), moments)

    def _set_features(self, features: list[Feature]) -> None:
        self.edges_ = np.concatenate([f.edges for f in features])
        sizes = [len(f.edges) for f in features]
        self.edge_starts_ = np.concatenate([[0], np.cumsum(sizes)])
        self.tells_missing_ = np.array([f.tells_missing for f in features])
        moments = []
        for f in features:
            share = f.missing_share
            flag = [(share, np.sqrt(share * (1 - share)), 1.0)]
            moments += [(mean, std, mean) for mean, std in f.moments.tolist()]
            moments += flag * f.tells_missing
        table = np.array(moments, float).reshape(-1, 3)
        mean, std, self.missing_value_ = map(np.ascontiguousarray, table.T)
        self.mean_ = mean if self.scaling is not None else np.zeros_like(mean)
        self.scale_ = np.ones_like(std)
        if self.scaling in ("standard", "feature"):
            self.scale_ = np.maximum(std, _LEAST_SCALE)
        if self.scaling == "feature":
            sizes = self._bins_by_feature()[self.get_feature_origins()]
            self.scale_ *= np.where(self._is_flag(), 1, np.sqrt(sizes))

    def kernel_state(self, dtype) -> Encoding:
        """The fitted encoder as arrays, for blocks of rows inside of other loops.

        Parameters
        ----------
        dtype : numpy.float32 or numpy.float64
            Type of the rows.

        Returns
        -------
        Encoding
            What ``locallin.kernels.encoding.encode_block`` takes.
        """
        check_is_fitted(self)
        limits = np.finfo(dtype)
        left, right = self._bin_ends()
        is_flag = self._is_flag()
        table = np.empty((6, len(left)))
        with np.errstate(over="ignore", under="ignore"):
            slope = 0.5 / (right / 2 - left / 2) / self.scale_
        table[LEFT] = np.clip(left, -limits.max / 4, limits.max / 4)
        table[SLOPE] = np.clip(slope, limits.tiny, limits.max)
        table[START] = table[LOW] = (0 - self.mean_) / self.scale_
        table[HIGH] = (1 - self.mean_) / self.scale_
        if self.outliers == "extend":
            first, last = self._ends()
            table[LOW, first] -= _FURTHEST / self.scale_[first]
            table[HIGH, last] += _FURTHEST / self.scale_[last]
        table[MISSING] = (self.missing_value_ - self.mean_) / self.scale_
        table[SLOPE, is_flag] = 0
        table[HIGH, is_flag] = table[LOW, is_flag]
        return Encoding(
            read_only(self.get_feature_origins()),
            read_only(table.astype(dtype)),
        )

    def transform(self, X):
        """Encode the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers, NaN where one is missing. A sparse matrix is made dense in blocks.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The components, feature by feature, in the type of X, in C order. They are
            dense also for a sparse X: a zero is no zero any more.
        """
        check_is_fitted(self)
        X = self._take(X, reset=False)
        return self.row_encoder(X.dtype)(X)

    def row_encoder(self, dtype) -> Callable[[Any], np.ndarray]:
        """Get what encodes rows that have been checked, without asking them again.

        For loops over blocks of rows: what is the same for all of them is done once.

        Parameters
        ----------
        dtype : numpy.float32 or numpy.float64
            Type of the rows.

        Returns
        -------
        callable
            Makes what ``transform`` does of dense C-ordered or CSR rows of this type,
            with as many features as in training.
        """
        return partial(_encode, self.kernel_state(dtype), self.n_features_in_)

    def inverse_transform(self, X):
        """Get the values back from their components.

        Exact for what ``transform`` returned, but for rounding and for values that it
        clipped. A feature without a component is its constant, or NaN where it had
        no value in training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Components.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Values, NaN where the component for missing values is nearer to that of a
            missing one.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32], ensure_min_features=0)
        left, right = self._bin_ends()
        if X.shape[1] != len(left):
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} makes "
                f"{len(left)}."
            )
        shares = X * self.scale_ + self.mean_
        is_flag, origins = self._is_flag(), self.get_feature_origins()
        out = np.full((len(X), self.n_features_in_), np.nan)
        known = np.diff(self.edge_starts_) > 0
        out[:, known] = self.edges_[self.edge_starts_[:-1][known]]
        for t in np.flatnonzero(~is_flag):
            out[:, origins[t]] += shares[:, t] * (right[t] - left[t])
        for t in np.flatnonzero(is_flag):
            out[shares[:, t] > 0.5, origins[t]] = np.nan
        return out.astype(X.dtype)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the components.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features of X; those seen at fit where None.

        Returns
        -------
        ndarray of str
            Names such as "x0_bin1", "x0_bin2", "x0_missing".
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        made: list[str] = []
        for name, n_bins, tells in zip(
            names, self._bins_by_feature(), self.tells_missing_, strict=True
        ):
            made += [f"{name}_bin{t + 1}" for t in range(n_bins)]
            made += [f"{name}_missing"] * bool(tells)
        return np.array(made, dtype=object)

    def get_feature_origins(self) -> np.ndarray:
        """The input column that each component is made from.

        Returns
        -------
        ndarray of int of shape (n_features_out,)
            Indices of columns of X.
        """
        check_is_fitted(self)
        sizes = self._bins_by_feature() + self.tells_missing_
        return np.repeat(np.arange(len(sizes)), sizes)

    def get_local_slopes(self, X) -> np.ndarray:
        """How fast the components move with their features at given rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers, NaN where one is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Change of each component by that of its feature, to the right of the
            feature's value; NaN where the value is missing.
        """
        check_is_fitted(self)
        X = self._take(X, reset=False)
        X = X.toarray() if sparse.issparse(X) else X
        return line_slopes(X.astype(float), self.kernel_state(np.float64))

    def _bins_by_feature(self) -> np.ndarray:
        return np.maximum(np.diff(self.edge_starts_) - 1, 0)

    def _count_outputs(self) -> int:
        """Number of components; -1 where the fitted attributes make no sense."""
        try:
            return int(np.sum(self._bins_by_feature() + self.tells_missing_))
        except (AttributeError, TypeError, ValueError):
            return -1

    def _is_flag(self) -> np.ndarray:
        """Which components tell missing values from others."""
        after = np.cumsum(self._bins_by_feature() + self.tells_missing_)
        flags = np.zeros(after[-1], bool)
        flags[after[self.tells_missing_] - 1] = True
        return flags

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last bin of the features that have any."""
        sizes = self._bins_by_feature()
        after = np.cumsum(sizes + self.tells_missing_)
        last = after - self.tells_missing_ - 1
        return (last - sizes + 1)[sizes > 0], last[sizes > 0]

    def _bin_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Left and right end of each component's bin; 0 and 1 of those for missing."""
        is_right = np.ones(len(self.edges_), bool)
        is_right[self.edge_starts_[:-1][np.diff(self.edge_starts_) > 0]] = False
        right = np.flatnonzero(is_right)
        is_flag = self._is_flag()
        ends = np.zeros((2, len(is_flag)))
        ends[1] = 1
        ends[:, ~is_flag] = self.edges_[right - 1], self.edges_[right]
        return ends[0], ends[1]


def _encode(state: Encoding, n_features: int, X) -> np.ndarray:
    """Rows behind an encoder."""
    if X.shape[1] != n_features:  # kernels check no bounds
        raise ValueError(f"X has {X.shape[1]} features, not {n_features}.")
    out = np.empty((X.shape[0], len(state.origins)), X.dtype)
    if not sparse.issparse(X):
        encode_block(read_only(X), state, out)
        return out
    for start, stop in row_blocks(X.shape[0], BLOCK):
        block = X[start:stop].toarray()
        encode_block(read_only(block), state, out[start:stop])
    return out


def _columns(X):
    """Columns of a dense or of a sparse matrix, dense, one by one."""
    if not sparse.issparse(X):
        yield from X.T
        return
    X = X.tocsc()
    for j in range(X.shape[1]):
        yield X[:, [j]].toarray().ravel()
