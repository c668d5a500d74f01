"""The regressor to reach for: a table in, settings chosen, intervals beside."""

import time

import numpy as np
from sklearn.base import RegressorMixin

from locallin.engine.invariants import Array, Part, Rule, Transformer
from locallin.engine.sklearn_api import (
    check_sample_weight,
    unchanged_on_error,
    validate_parameters,
    with_callbacks,
)
from locallin.methods.choosing import Chosen
from locallin.methods.ensemble_regressor import (
    EnsembleRegressor,
    number_of_targets,
)
from locallin.methods.settings import TrainingRows
from locallin.methods.tables import TableEstimator
from locallin.methods.targets import target_numbers, weighted_quantiles
from locallin.methods.tasks import NumberTask
from locallin.streams.run import NO_CLASSES, StreamSettings

# Residuals of held-out rows that are kept, as quantiles where there are more.
_KEPT_RESIDUALS = 2001


class LocallyLinearRegressor(RegressorMixin, TableEstimator):
    """A table in, settings chosen on held-out rows, numbers and intervals out.

    Numbers, categories, dates and missing values are encoded
    (:class:`~locallin.encoding.TableEncoder`), and local linear models with learned
    anchors and a learned metric (:class:`~locallin.DULLSVMRegressor`) are fitted to
    what comes out. How numbers are encoded, how many local models there are, how strong
    their penalty is, their loss and their metric are chosen on held-out rows of the
    training data, by their mean squared error. Where it helps, the mean of a few such
    models predicts.

    A prediction is a sum over the columns of the table once the local models of its
    row are held fixed: :func:`locallin.inspection.explain` tells what each column adds,
    in the unit of y.

    Parameters
    ----------
    effort : {0, 1, 2}, default=1
        How much is tried. 0 takes one setting by the number of rows, and gives no
        intervals; 1 tries about a dozen settings on at most 20,000 rows; 2 tries more,
        on at most 60,000 rows, with twice as many members.
    n_members : int or "auto", default="auto"
        Number of members. Their mean predicts. "auto" is 1 with ``effort=0``;
        otherwise 3, or 6 with ``effort=2``, if that lowers the squared error of
        held-out rows by one percent or there are fewer than 4,000 rows, and else 1.
    time_limit : float or None, default=None
        Seconds that ``fit`` may take. The search stops early enough to leave time for
        the fit to all rows; a trial that is under way then is dropped. Members make
        fewer passes if time is short (``chosen_`` tells), and there are as many members
        as there is time for. At the least, rows are encoded, one setting is tried, and
        one member is fitted for three seconds or two passes, whichever is longer.
    encoder : transformer or None, default=None
        What encodes the rows. None is a :class:`~locallin.encoding.TableEncoder` whose
        treatment of numbers is chosen by the search, as are columns that it leaves out
        since they tell nothing of y; sparse data are not encoded.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then keeps encoder, settings and
        residuals, does not search, and lets the members make their passes over the
        rows once more, from where they are.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The held-out rows and the members depend on it.
    n_jobs : int or None, default=None
        Number of threads. In ``fit`` they share folds and members of large tables,
        else rows; a small table is not fitted faster. The result is the same for any
        number.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line for each setting that is tried and each member; 2 is lines everywhere.

    Attributes
    ----------
    encoder_ : transformer or None
        The fitted encoder.
    model_ : EnsembleRegressor
        The fitted members.
    residuals_ : ndarray of shape (n_residuals, n_targets)
        True less predicted values of held-out rows, in ascending order; 2,001
        quantiles of them if there are more rows. Empty if no rows were held out.
    search_path_ : list of dict
        What was tried, in order: the settings, R2 of held-out rows and its standard
        error, and the seconds it took.
    chosen_ : dict
        The settings that were chosen. ``n_columns`` are the columns that are kept,
        None for all; ``encoder_.kinds_`` has "ignored" for the others.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are strings.

    See Also
    --------
    DULLSVMRegressor : One model with settings of your own.
    LocallyLinearClassifier : The same for classes.
    locallin.inspection.explain : What each column adds to a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import LocallyLinearRegressor
    >>> rng = np.random.RandomState(0)
    >>> size = rng.uniform(20, 120, size=400)
    >>> place = rng.choice(["city", "village"], size=400)
    >>> table = np.column_stack([size.astype(object), place])
    >>> price = size * np.where(place == "city", 9.0, 3.0)
    >>> reg = LocallyLinearRegressor(effort=0, random_state=0).fit(table, price)
    >>> reg.score(table, price) > 0.97
    True
    """

    def __init__(
        self,
        effort: int = 1,
        *,
        n_members: int | str = "auto",
        time_limit: float | None = None,
        encoder=None,
        warm_start: bool = False,
        random_state=None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.effort = effort
        self.n_members = n_members
        self.time_limit = time_limit
        self.encoder = encoder
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "encoder_": Transformer(vars(self).get("encoder_") is not None),
            "model_": Part(EnsembleRegressor, {}),
            "residuals_": Array(("residuals", "targets")),
        }

    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, groups=None):
        """Choose settings, and fit the model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Training data: a pandas or polars frame, an Arrow table, an array, of
            objects if its columns are of several kinds, or a sparse matrix of numbers.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, such as patients or households. Rows of one group are
            held out together: settings and intervals are then those for groups that
            are new.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        began = time.monotonic()
        with unchanged_on_error(self):
            validate_parameters(self)
            X, y = self._take(X, y)
            if len(y) < 2:
                raise ValueError(
                    "LocallyLinearRegressor needs at least two rows, but n_samples = 1."
                )
            rows = self._training_rows(X, y, sample_weight)
            if self._goes_on():
                self._fit_again(rows, began)
            else:
                self._fit_table(rows, groups, began)
        return self

    def _training_rows(
        self, X, y, sample_weight, n_rows: int | None = None
    ) -> TrainingRows:
        weights, task = check_sample_weight(sample_weight, y), NumberTask(y)
        return TrainingRows(X, y, task, weights, self._seed(), planned=n_rows)

    def _note_held_out(self, chosen: Chosen) -> None:
        self.residuals_ = np.empty((0, number_of_targets(self.model_)))
        if chosen.held_out is not None:
            scores, held, weights = chosen.held_out
            self.residuals_ = _kept(held - scores, weights)

    def _judge(self, X, y: np.ndarray, weights: np.ndarray) -> None:
        scores = self.model_.predict(X).astype(float).reshape(y.shape)
        self.residuals_ = _kept(y - scores, weights)

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from a block of a stream, in one pass.

        The first block chooses encoder, settings and residuals, as ``fit`` does from
        all rows, within ``effort`` and ``time_limit``: make it a large one. All members
        learn from it and from each later block. A level that the first block did not
        have counts as a rare one.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            A block of rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, taken as they are.

        Returns
        -------
        self : object
            The regressor.
        """
        return self._fit_block(X, y, None, sample_weight)

    @with_callbacks
    def fit_stream(
        self,
        batches,
        *,
        epochs: int = 1,
        n_rows: int | None = None,
        scan: bool = True,
        sample_size: int = 20_000,
        buffer_size: int = 16_384,
        checkpoint=None,
        checkpoint_every: int = 10,
    ):
        """Fit the model to a stream, in memory for a buffer and a sample of rows.

        A first pass counts the rows and draws a sample. Encoder, settings and
        residuals are found on the sample, as ``fit`` finds them on all rows;
        ``time_limit`` bounds this. Then all members learn from the stream ``epochs``
        times, buffer after buffer; the rows of a buffer are shuffled. A level that the
        sample did not have counts as a rare one. The model depends on the order of the
        rows and the seed, not on how the stream is cut into blocks.

        Parameters
        ----------
        batches : Batches, path, list of paths, tuple of arrays, iterable or callable
            What :func:`locallin.data.as_batches` takes, with ``table=True``: files and
            folders, also with text and gaps, frames and arrays, an iterable of blocks
            (X, y) or (X, y, weights), or a callable that returns one for each pass. X
            is what ``fit`` takes. Weights are taken as they are.
        epochs : int, default=1
            Passes to learn from, in place of those that were chosen.
        n_rows : int, default=None
            Number of rows, which plans the steps and the penalty; None counts them in
            the first pass.
        scan : bool, default=True
            Whether to make the first pass. Without it, and for an iterator that can be
            gone through once only, the sample is the head of the stream; ``n_rows``
            must then be given.
        sample_size : int, default=20000
            Rows of the sample.
        buffer_size : int, default=16384
            Rows that are held and shuffled together.
        checkpoint : str or path-like, default=None
            Folder in which the state of the run is kept. The same call after a crash
            goes on from there and ends with the model of an undisturbed run, bit for
            bit. Files there are pickles: use folders that nobody else writes to.
        checkpoint_every : int, default=10
            Buffers between two checkpoints.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        settings = StreamSettings(
            NO_CLASSES, epochs, n_rows, scan, sample_size, buffer_size, checkpoint_every
        )
        return self._fit_stream(batches, settings, checkpoint)

    def _sampled_rows(self, X, y, sample_weight, classes, n_rows) -> TrainingRows:
        X, y = self._take(X, y)
        return self._training_rows(X, y, sample_weight, n_rows)

    def _weighed(self, y, sample_weight) -> np.ndarray | None:
        return sample_weight

    def _target_array(self, y) -> np.ndarray:
        return target_numbers(y, type(self).__name__)

    def predict(self, X) -> np.ndarray:
        """Numbers of the rows.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data, with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            What the local models of each row say; of one target an array of one axis.
        """
        return self._predicted("predict", X).astype(float)

    def predict_interval(self, X, coverage: float = 0.9) -> np.ndarray:
        """Intervals in which so large a share of new rows lies.

        They are what is predicted plus quantiles of what was missing to y of rows that
        were held out in the search, below and above apart. Of new rows that are drawn
        as those of the training data were, the share that lies within is close to
        ``coverage``, or larger as the model has learned from all rows since; this is
        one share over all rows, not one for each kind of row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data, with the columns of the training data.
        coverage : float, default=0.9
            The share, above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must be above 0 and below 1.")
        predicted = self.predict(X)
        low, high = self._offsets(coverage)
        found = np.stack(
            [
                predicted.reshape(len(predicted), -1) + low,
                predicted.reshape(len(predicted), -1) + high,
            ],
            axis=-1,
        )
        return found[:, 0] if predicted.ndim == 1 else found

    def _offsets(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Quantiles of the residuals, beyond which equal shares of rows lie."""
        n = len(self.residuals_)
        needed = int(np.ceil(2 / (1 - coverage) - 1e-6)) - 1
        if n < needed:
            raise ValueError(
                f"coverage={coverage} needs {needed} held-out rows, but there are {n}: "
                "fit with effort=1 or 2 and more rows, or ask for less."
            )
        # Of n + 1 rows in random order, the last lies beyond the k-th of the others
        # with a chance of k / (n + 1).
        k = int(np.floor((n + 1) * (1 - coverage) / 2 + 1e-9))
        return self.residuals_[k - 1], self.residuals_[n - k]


def _kept(residuals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Residuals in ascending order, or so many weighted quantiles of them."""
    uniform = weights.min() == weights.max()
    if uniform and len(residuals) <= _KEPT_RESIDUALS:
        return np.sort(residuals, axis=0)
    n = min(_KEPT_RESIDUALS, len(residuals))
    levels = np.arange(1, n + 1) / (n + 1)
    return np.array(weighted_quantiles(residuals, weights.astype(float), levels))
