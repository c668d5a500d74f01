"""The classifier to reach for: a table in, settings chosen, calibrated scores out."""

import time

import numpy as np
from sklearn.base import ClassifierMixin

from locallin.engine.invariants import CLASSIFIER, Array, Part, Rule, Transformer
from locallin.engine.sklearn_api import (
    StrOptions,
    unchanged_on_error,
    validate_parameters,
    with_callbacks,
)
from locallin.methods.base import (
    encode_classes,
    stream_classes,
    weights_of_classes,
    winning_classes,
)
from locallin.methods.choosing import Chosen
from locallin.methods.conformal import CONFORMITY, Conformity, SetPredictor
from locallin.methods.ensemble import EnsembleClassifier
from locallin.methods.links import Link, offset_of, without_class_weights
from locallin.methods.settings import TrainingRows
from locallin.methods.skeleton import row_weights
from locallin.methods.tables import TableEstimator
from locallin.methods.targets import class_labels
from locallin.methods.tasks import ClassTask
from locallin.streams.run import StreamSettings


class LocallyLinearClassifier(SetPredictor, ClassifierMixin, TableEstimator):
    """A table in, settings chosen on held-out rows, calibrated probabilities out.

    Numbers, categories, dates and missing values are encoded
    (:class:`~locallin.encoding.TableEncoder`), and local linear models with learned
    anchors and a learned metric (:class:`~locallin.DULLSVMClassifier`) are fitted to
    what comes out. How numbers are encoded, how many local models there are, how strong
    their penalty is, their loss and their metric are chosen on held-out rows of the
    training data, by the sum of their mean log loss and their error rate. Where it
    helps, the mean of a few such models predicts. One factor, found on the held-out
    rows, turns scores into calibrated log-odds.

    The score of a row is a sum over the columns of the table once its local models are
    held fixed: :func:`locallin.inspection.explain` tells what each column adds.

    Parameters
    ----------
    effort : {0, 1, 2}, default=1
        How much is tried. 0 takes one setting by the number of rows, and does not
        calibrate; 1 tries about a dozen settings on at most 20,000 rows; 2 tries more,
        on at most 60,000 rows, with twice as many members.
    n_members : int or "auto", default="auto"
        Number of members. Their mean predicts. "auto" is 1 with ``effort=0``;
        otherwise 3, or 6 with ``effort=2``, if that improves the criterion on held-out
        rows by one percent or there are fewer than 4,000 rows, and else 1.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``. They change scores
        and predicted classes, but not probabilities. In a stream, "balanced" counts
        the sample, or the first block.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then keeps encoder, settings,
        class weights, calibration and prediction sets, does not search, and lets the
        members make their passes over the rows once more, from where they are.
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
    classes_ : ndarray of shape (n_classes,)
        The classes.
    class_weight_ : ndarray of shape (n_classes,)
        Weights of the classes.
    encoder_ : transformer or None
        The fitted encoder.
    model_ : EnsembleClassifier
        The fitted members, and their common scale.
    search_path_ : list of dict
        What was tried, in order: the settings, the log loss of held-out rows and its
        standard error, the share of them that was wrong, the area under the ROC curve
        (of several classes the mean over each against all others), and the seconds it
        took.
    chosen_ : dict
        The settings that were chosen. ``n_columns`` are the columns that are kept,
        None for all; ``encoder_.kinds_`` has "ignored" for the others.
    conformity_, conformity_counts_ : ndarray of shape (n_classes + 1, 500) and \
            (n_classes + 1,)
        What ``predict_set`` is based on: quantiles of one minus the probability of
        the true class, over all held-out rows and over those of each class, and the
        numbers of rows. Missing if no rows were held out.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had names that are strings.

    See Also
    --------
    DULLSVMClassifier : One model with settings of your own.
    locallin.encoding.TableEncoder : What encodes the table.
    locallin.inspection.explain : What each column adds to a score.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import LocallyLinearClassifier
    >>> rng = np.random.RandomState(0)
    >>> age = rng.uniform(20, 70, size=400)
    >>> home = rng.choice(["own", "rent"], size=400)
    >>> table = np.column_stack([age.astype(object), home])
    >>> late = (age < 35) & (home == "rent")
    >>> clf = LocallyLinearClassifier(effort=0, random_state=0).fit(table, late)
    >>> clf.score(table, late) > 0.95
    True
    >>> clf.predict_proba([[25.0, "rent"], [60.0, None]])[:, 1].round() == [1, 0]
    array([ True,  True])
    """

    _parameter_constraints: dict = {
        **TableEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        effort: int = 1,
        *,
        n_members: int | str = "auto",
        time_limit: float | None = None,
        encoder=None,
        class_weight=None,
        warm_start: bool = False,
        random_state=None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.effort = effort
        self.n_members = n_members
        self.time_limit = time_limit
        self.encoder = encoder
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _invariants(self) -> dict[str, Rule]:
        return {
            **CLASSIFIER,
            **super()._invariants(),
            **CONFORMITY,
            "class_weight_": Array(("classes",), least=0.0, optional=True),
            "encoder_": Transformer(vars(self).get("encoder_") is not None),
            "model_": Part(EnsembleClassifier, {"classes_": ("classes",)}),
        }

    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, groups=None):
        """Choose settings, and fit the model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Training data: a pandas or polars frame, an Arrow table, an array, of
            objects if its columns are of several kinds, or a sparse matrix of numbers.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, such as patients or households. Rows of one group are
            held out together: settings, probabilities and prediction sets are then
            those for groups that are new.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        began = time.monotonic()
        with unchanged_on_error(self):
            validate_parameters(self)
            X, y = self._take(X, y)
            goes_on = self._goes_on()
            rows = self._training_rows(X, y, sample_weight, goes_on)
            if len(np.unique(rows.y[rows.weights > 0])) < 2:
                raise ValueError(
                    "LocallyLinearClassifier needs rows of at least two classes; the "
                    "rows of positive weight have one class."
                )
            if goes_on:
                self._fit_again(rows, began)
            else:
                self._fit_table(rows, groups, began)
        return self

    def _training_rows(
        self, X, y, sample_weight, known: bool, n_rows: int | None = None
    ) -> TrainingRows:
        """Rows with indices of classes, which may be known, and weights."""
        classes = self.classes_ if known else None
        self.classes_, labels = encode_classes(y, classes, type(self).__name__)
        if not known or "class_weight_" not in vars(self):
            self.class_weight_ = self._class_weights(labels)
        weights = self._row_weights(labels, sample_weight)
        task = ClassTask(self.classes_)
        return TrainingRows(X, labels, task, weights, self._seed(), planned=n_rows)

    def _class_weights(self, labels: np.ndarray) -> np.ndarray:
        found = weights_of_classes(self.class_weight, self.classes_, labels)
        return np.ones(len(self.classes_)) if found is None else found

    def _row_weights(self, labels: np.ndarray, sample_weight) -> np.ndarray:
        column = labels[:, None].astype(float)
        return row_weights(column, labels, sample_weight, self.class_weight_)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a block of a stream, in one pass.

        The first block chooses encoder, settings and calibration, as ``fit`` does from
        all rows, within ``effort`` and ``time_limit``: make it a large one. All members
        learn from it and from each later block. A level that the first block did not
        have counts as a rare one.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            A block of rows.
        y : array-like of shape (n_samples,)
            Their classes; a block need not contain all of them.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed in the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, taken as they are.

        Returns
        -------
        self : object
            The classifier.
        """
        known = self.classes_ if self.__sklearn_is_fitted__() else None
        return self._fit_block(X, y, stream_classes(classes, known), sample_weight)

    @with_callbacks
    def fit_stream(
        self,
        batches,
        *,
        classes=None,
        epochs: int = 1,
        n_rows: int | None = None,
        scan: bool = True,
        sample_size: int = 20_000,
        buffer_size: int = 16_384,
        checkpoint=None,
        checkpoint_every: int = 10,
    ):
        """Fit the model to a stream, in memory for a buffer and a sample of rows.

        A first pass counts the rows, collects the classes and draws a sample. Encoder,
        settings and calibration are found on the sample, as ``fit`` finds them on all
        rows; ``time_limit`` bounds this. Then all members learn from the stream
        ``epochs`` times, buffer after buffer; the rows of a buffer are shuffled. A
        level that the sample did not have counts as a rare one. The model depends on
        the order of the rows and the seed, not on how the stream is cut into blocks.

        Parameters
        ----------
        batches : Batches, path, list of paths, tuple of arrays, iterable or callable
            What :func:`locallin.data.as_batches` takes, with ``table=True``: files and
            folders, also with text and gaps, frames and arrays, an iterable of blocks
            (X, y) or (X, y, weights), or a callable that returns one for each pass. X
            is what ``fit`` takes. Weights are taken as they are.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream; None takes those that the first pass meets.
        epochs : int, default=1
            Passes to learn from, in place of those that were chosen.
        n_rows : int, default=None
            Number of rows, which plans the steps and the penalty; None counts them in
            the first pass.
        scan : bool, default=True
            Whether to make the first pass. Without it, and for an iterator that can be
            gone through once only, the sample is the head of the stream; ``classes``
            and ``n_rows`` must then be given.
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
            The fitted classifier.
        """
        if classes is not None:
            classes = stream_classes(classes, None)
        settings = StreamSettings(
            classes, epochs, n_rows, scan, sample_size, buffer_size, checkpoint_every
        )
        return self._fit_stream(batches, settings, checkpoint)

    def _sampled_rows(self, X, y, sample_weight, classes, n_rows) -> TrainingRows:
        X, y = self._take(X, y)
        self.classes_ = classes
        labels = encode_classes(y, classes, type(self).__name__)[1]
        self.class_weight_ = self._sampled_class_weights(labels)
        return self._training_rows(X, y, sample_weight, True, n_rows)

    def _sampled_class_weights(self, labels: np.ndarray) -> np.ndarray:
        """Weights of classes of which a sample need not have all."""
        if self.class_weight != "balanced":
            return self._class_weights(np.arange(len(self.classes_)))
        counts = np.bincount(labels, minlength=len(self.classes_))
        return len(labels) / (len(counts) * np.maximum(counts, 1))

    def _weighed(self, y, sample_weight) -> np.ndarray | None:
        if sample_weight is None and (self.class_weight_ == 1.0).all():
            return None
        y = self._target_array(y)
        labels = encode_classes(y, self.classes_, type(self).__name__)[1]
        return self._row_weights(labels, sample_weight)

    def _target_array(self, y) -> np.ndarray:
        return class_labels(y)

    def _note_held_out(self, chosen: Chosen) -> None:
        best = chosen.best
        scale = 1.0 if best is None else best.figures["scale"]
        self._calibrate(scale, chosen.held_out)

    def _judge(self, X, y: np.ndarray, weights: np.ndarray) -> None:
        self.model_.scale_, labels = 1.0, y[:, 0]
        scores = self.model_.decision_function(X).reshape(len(y), -1)
        figures, _ = ClassTask(self.classes_).judge(scores, labels, weights)
        self._calibrate(figures["scale"], (scores, labels, weights))

    def _calibrate(self, scale: float, held_out: tuple | None) -> None:
        """Set scale and offsets of probabilities, and what prediction sets go by."""
        self.model_.scale_ = scale
        by_class = offset_of(self.class_weight_, len(self.classes_))
        self.model_.proba_offset_ = by_class
        self._set_conformity(self._conformity(held_out))

    def _conformity(self, held_out: tuple | None) -> Conformity | None:
        """What held-out rows say of the probabilities of their classes."""
        if held_out is None:
            return None
        scores, labels, weights = held_out
        link = Link("multinomial", self.model_.scale_, self.model_.proba_offset_)
        flat = scores[:, 0] if scores.shape[1] == 1 else scores
        weights = without_class_weights(weights, labels, self.class_weight_)
        return Conformity.of(link.probabilities(flat), labels, weights)

    def _no_sets(self) -> str:
        return (
            "LocallyLinearClassifier has no predict_set where no rows were held out: "
            f"effort={self.effort}. Fit with effort=1 or 2, to some dozens of rows at "
            "least."
        )

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows: log-odds, or logits of several classes.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data, with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; one per row for two classes, positive for ``classes_[1]``.
        """
        return self._predicted("decision_function", X)

    def predict(self, X) -> np.ndarray:
        """Classes of the rows.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of the largest score of each row.
        """
        winners = winning_classes(self.decision_function(X))
        return self.classes_[winners]

    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows, in the data without class weights.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return self._predicted("predict_proba", X)

    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))
