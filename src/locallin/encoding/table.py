"""Tables as they come, in the numbers that local models see."""

from collections.abc import Iterable
from numbers import Integral

import numpy as np
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)

from locallin.encoding._columns import Column, read_columns
from locallin.encoding._fitting import (
    CATEGORY,
    CONSTANT,
    IGNORED,
    NO_PLACES,
    Fitted,
    Raw,
    fit_category,
    fit_numbers,
    given_kinds,
    kind_of,
    level_units,
    raw_rows,
)
from locallin.encoding._levels import Folds, level_means
from locallin.encoding._notes import notes_on
from locallin.encoding._targets import Told, read_target, standardised
from locallin.encoding._transforming import TableTransformer
from locallin.encoding.piecewise import PiecewiseLinearEncoder
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    unchanged_on_error,
    validate_parameters,
)

__all__ = ["TableEncoder"]


class TableEncoder(TableTransformer):
    """Encode a table with numbers, categories, dates and missing values.

    Takes pandas, polars and Arrow tables and arrays as they come. Numbers become
    positions within bins, or are standardised. A category becomes one component
    for each level, and one for rare levels; a date the time since 1970, the season,
    the weekday and the time of day. A value that is missing is 0 in all of these, and
    has a component of its own, so that a model can tell what it means; a level that
    training rows did not have counts as a rare one.

    What a column is follows from its type: text, objects and categories are
    categories, booleans and dates are what they are, periods are dates, other numbers
    are numbers, and so are durations and times of day, both in days.
    ``categorical``, ``numeric``, ``dates`` and ``ignore`` say otherwise by column.

    Parameters
    ----------
    numbers : {"piecewise", "standard", "robust"}, default="piecewise"
        What numbers become. "piecewise" is :class:`PiecewiseLinearEncoder` with
        scaling="feature"; "standard" subtracts the mean and divides by the standard
        deviation; "robust" does so with the median and the quartiles, and bends what
        is further out, z / sqrt(1 + (z / 3)^2), so that heavy tails end at 3.
    n_bins : int, default=8
        Number of bins of a feature, at the most. For numbers="piecewise".
    strategy : {"quantile", "tree"}, default="quantile"
        Where bins end. As in :class:`PiecewiseLinearEncoder`; "tree" needs y.
    max_levels : int, default=20
        Number of levels of a category with a component, at the most: the most
        frequent ones. All others share one.
    min_rows : int, default=5
        Training rows that a level needs to have a component of its own.
    level_scaling : {"distance", "frequency"}, default="distance"
        What the component of a level is where it applies, else 0. "distance":
        sqrt(1/2), so that rows that differ in one category are 1 apart; "frequency":
        1 over its standard deviation, or over 0.1 if that is larger, so that rare
        levels are further away.
    target_means : {"auto", "all", "none"}, default="auto"
        Categories that have the mean of the target at their level as one more number,
        shrunk to the mean of all rows where a level has few: those with more levels
        than components, if y is given; all; or none. With several classes there is
        one of each. ``fit_transform`` takes the means for a row from other rows
        (cross-fitting): fit a model on what it returns, and not on ``transform`` of
        the same rows.
    target_type : {"auto", "classes", "numbers"}, default="auto"
        What y is for strategy="tree". For target means too. As in
        :class:`PiecewiseLinearEncoder`.
    n_folds : int, default=5
        Number of folds of the cross-fitted means.
    max_integer_levels : int, default=0
        Integers with at most so many distinct values are categories.
    categorical, numeric, dates, ignore : list of str or int, default=None
        Names or places of columns that are taken as categories, as numbers, as dates,
        or left out, whatever they hold. Text is read as numbers, or as ISO dates,
        where asked.
    sparse_output : bool or "auto", default=False
        Whether ``transform`` returns a CSR matrix; "auto" does where less than an
        eighth of a row is not zero: from there on models are faster on it.
    dtype : {"float32", "float64"}, default="float32"
        Type of the components.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The folds of target means depend on it.

    Attributes
    ----------
    kinds_ : ndarray of str of shape (n_features_in_,)
        What each column is taken as: "number", "boolean", "category", "date",
        "constant" or "ignored". The last two have no component.
    notes_ : list of str
        What to know of the columns: identifiers, columns that alone decide the target.
    levels_ : ndarray of str of shape (n_levels,)
        Levels of all categories, and weekdays of dates, one column after the other.
    level_starts_ : ndarray of shape (n_columns + 1,)
        Column j has the levels ``levels_[level_starts_[j]:level_starts_[j + 1]]``.
    n_kept_ : ndarray of shape (n_features_in_,)
        How many of them, from the first on, have a component.
    pools_, tells_missing_, has_means_ : ndarray of shape (n_features_in_,)
        Whether a column has a component for other levels, one for missing values, and
        means of the target.
    level_means_ : ndarray of shape (n_levels, n_targets)
        Mean of the target at each level, in deviations of the target.
    level_units_ : ndarray of shape (n_level_components,)
        What components of levels, of other levels and of missing values are where
        they apply, column after column.
    source_columns_, source_parts_ : ndarray of shape (n_sources,)
        Numbers that components are made of: a column, and 0 for its value or 1 to 4
        for sine and cosine of the season and of the time of day.
    center_, scale_ : ndarray of shape (n_sources,)
        What is subtracted from each, and by what it is divided.
    is_binned_ : ndarray of shape (n_sources,)
        Whether it goes through ``bins_`` instead.
    bins_ : PiecewiseLinearEncoder or None
        The encoder of numbers, for numbers="piecewise".
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are strings.

    See Also
    --------
    PiecewiseLinearEncoder : Numbers alone, by bins.
    sklearn.compose.ColumnTransformer : Transformers of your own, by column.
    sklearn.preprocessing.TargetEncoder : Means of the target alone.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import TableEncoder
    >>> X = np.array([["rent", 30], ["own", 52], ["rent", None], ["own", 41]], object)
    >>> encoder = TableEncoder(numbers="standard", min_rows=1).fit(X)
    >>> encoder.get_feature_names_out(["home", "age"])
    array(['home=own', 'home=rent', 'age', 'age=(missing)'], dtype=object)
    >>> encoder.transform([["rent", None], ["boat", 41]]).round(2)
    array([[0.  , 0.71, 0.  , 0.71],
           [0.  , 0.  , 0.  , 0.  ]], dtype=float32)
    """

    _parameter_constraints: dict = {
        "numbers": [StrOptions({"piecewise", "standard", "robust"})],
        "n_bins": [Interval(Integral, 1, 10_000, closed="both")],
        "strategy": [StrOptions({"quantile", "tree"})],
        "max_levels": [Interval(Integral, 0, None, closed="left")],
        "min_rows": [Interval(Integral, 1, None, closed="left")],
        "level_scaling": [StrOptions({"distance", "frequency"})],
        "target_means": [StrOptions({"auto", "all", "none"})],
        "target_type": [StrOptions({"auto", "classes", "numbers"})],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_integer_levels": [Interval(Integral, 0, None, closed="left")],
        "categorical": ["array-like", None],
        "numeric": ["array-like", None],
        "dates": ["array-like", None],
        "ignore": ["array-like", None],
        "sparse_output": ["boolean", StrOptions({"auto"})],
        "dtype": [StrOptions({"float32", "float64"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        numbers: str = "piecewise",
        n_bins: int = 8,
        strategy: str = "quantile",
        max_levels: int = 20,
        min_rows: int = 5,
        level_scaling: str = "distance",
        target_means: str = "auto",
        target_type: str = "auto",
        n_folds: int = 5,
        max_integer_levels: int = 0,
        categorical: Iterable | None = None,
        numeric: Iterable | None = None,
        dates: Iterable | None = None,
        ignore: Iterable | None = None,
        sparse_output: bool | str = False,
        dtype: str = "float32",
        random_state=None,
    ):
        self.numbers = numbers
        self.n_bins = n_bins
        self.strategy = strategy
        self.max_levels = max_levels
        self.min_rows = min_rows
        self.level_scaling = level_scaling
        self.target_means = target_means
        self.target_type = target_type
        self.n_folds = n_folds
        self.max_integer_levels = max_integer_levels
        self.categorical = categorical
        self.numeric = numeric
        self.dates = dates
        self.ignore = ignore
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self._needs_y()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _needs_y(self) -> bool:
        by_tree = self.numbers == "piecewise" and self.strategy == "tree"
        return by_tree or self.target_means == "all"

    def fit(self, X, y=None):
        """Find out what the columns hold, and what they become.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            A pandas or polars frame, an Arrow table, or an array, of objects if its
            columns are of several kinds. None, NaN, NaT and null are missing values.
        y : array-like of shape (n_samples,), default=None
            Classes or numbers, for target means and strategy="tree"; also looked at
            for ``notes_``.

        Returns
        -------
        self : object
            The encoder.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and encode the rows; means of the target are cross-fitted.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            As for ``fit``.
        y : array-like of shape (n_samples,), default=None
            As for ``fit``.

        Returns
        -------
        {ndarray, CSR matrix} of shape (n_samples, n_features_out)
            The components.
        """
        return self._encode(*self._fit_crossed(X, y))

    def fit_rows(self, X, y=None, *, most_bytes: int = 0):
        """Do the same where that takes little memory, and else encode rows on demand.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            As for ``fit``.
        y : array-like of shape (n_samples,), default=None
            As for ``fit``.
        most_bytes : int, default=0
            Memory that a matrix of all components may take.

        Returns
        -------
        {ndarray, CSR matrix, LazyRows} of shape (n_samples, n_features_out)
            The components, or what makes them of the rows that are asked for, ``[...]``
            as of an array.
        """
        return self._encode(*self._fit_crossed(X, y), most_bytes)

    def _fit_crossed(self, X, y) -> tuple[list[Raw], dict[int, np.ndarray], int]:
        """Columns in numbers, cross-fitted means by column, and the number of rows."""
        raws, target, n_rows = self._fit(X, y)
        means: dict[int, np.ndarray] = {}
        if self.has_means_.any():
            parts = np.resize(np.arange(self.n_folds), n_rows)
            check_random_state(self.random_state).shuffle(parts)
            folds = Folds(target, parts)
            for j in np.flatnonzero(self.has_means_).tolist():
                n_levels = len(self._levels_of(j))
                means[j] = folds.means(raws[j].places(), n_levels)
        return raws, means, n_rows

    def _fit(self, X, y) -> tuple[list[Raw], np.ndarray, int]:
        """Columns in numbers, the target in deviations, and the number of rows."""
        validate_parameters(self)
        with unchanged_on_error(self):
            X = self._take(X, reset=True)
            y = self._take_target(X, y)
            told = None if y is None else read_target(y, self.target_type)
            target = np.empty((X.shape[0], 0))
            if told is not None and self.target_means != "none":
                target = standardised(told)
            names = self._names(X)
            columns = read_columns(X, names)
            given = given_kinds(self, names)
            fitted = [
                self._fit_column(column, given.get(j), names[j], target.shape[1] > 0)
                for j, column in enumerate(columns)
            ]
            self._set_columns(fitted)
            raws = [f.raw for f in fitted]
            self._fit_bins(raws, told)
            self._fit_means(raws, target)
            in_use = [
                None if kind == IGNORED else column
                for kind, column in zip(self.kinds_, columns, strict=True)
            ]
            self.notes_ = notes_on(in_use, raws, names, told)
        return raws, target, X.shape[0]

    def _take_target(self, X, y):
        if y is None:
            if self._needs_y():
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y "
                    "is None: target_means='all' and strategy='tree' are made of it."
                )
            return None
        several = len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1
        if several and self.target_type == "numbers" and self.strategy != "tree":
            y = check_array(y, dtype=float, input_name="y")
        else:
            y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return y

    def _fit_column(
        self, column: Column, given: str | None, name: str, has_target: bool
    ) -> Fitted:
        kind = kind_of(column, given, self.max_integer_levels)
        if kind == IGNORED:
            return Fitted(IGNORED)
        if kind == CATEGORY:
            means = self.target_means if has_target else "none"
            return fit_category(column, self.max_levels, self.min_rows, means)
        raw = raw_rows(column, kind, NO_PLACES, repr(name))
        fitted = fit_numbers(raw, kind, self.numbers)
        if not fitted.sources and not fitted.tells_missing:
            return Fitted(CONSTANT)
        return fitted

    def _set_columns(self, fitted: list[Fitted]) -> None:
        self.kinds_ = np.array([f.kind for f in fitted], dtype=object)
        names = [f.levels.names for f in fitted]
        self.levels_ = np.concatenate(names).astype(object)
        self.level_starts_ = np.cumsum([0, *map(len, names)])
        self.n_kept_ = np.array([f.levels.n_kept for f in fitted], dtype=np.int64)
        self.pools_ = np.array([f.levels.pools for f in fitted])
        self.tells_missing_ = np.array([f.tells_missing for f in fitted])
        self.has_means_ = np.array([f.has_means for f in fitted])
        sources = [(j, *s) for j, f in enumerate(fitted) for s in f.sources]
        table = np.array(sources, dtype=float).reshape(-1, 5)
        self.source_columns_ = table[:, 0].astype(np.int64)
        self.source_parts_ = table[:, 1].astype(np.int64)
        self.center_, self.scale_ = map(np.ascontiguousarray, table[:, 2:4].T)
        self.is_binned_ = table[:, 4].astype(bool)
        units = [level_units(f, self.level_scaling) for f in fitted]
        self.level_units_ = np.concatenate(units)

    def _fit_bins(self, raws: list[Raw], told: Told | None) -> None:
        self.bins_ = None
        if self.is_binned_.any():
            bins = PiecewiseLinearEncoder(
                self.n_bins,
                strategy=self.strategy,
                target_type=self.target_type,
                scaling="feature",
                missing="none",
            )
            # Parts of dates have no bins: the sources are values of columns.
            binned = [raws[j] for j in self.source_columns_[self.is_binned_]]
            columns = [(raw.numbers(), raw.look()) for raw in binned]
            self.bins_ = bins.fit_columns(columns, told)

    def _fit_means(self, raws: list[Raw], target: np.ndarray) -> None:
        self.level_means_ = np.zeros((len(self.levels_), target.shape[1]))
        for j in np.flatnonzero(self.has_means_):
            start, stop = self.level_starts_[j : j + 2]
            means = level_means(raws[j].places(), stop - start, target)
            self.level_means_[start:stop] = means
