"""The skeleton that classifiers share."""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from locallin.engine.invariants import CLASSIFIER, Array, Number, Rule
from locallin.engine.sklearn_api import StrOptions, with_callbacks
from locallin.methods.calibration import (
    Calibration,
    fit_calibrated,
    fit_holding_out,
)
from locallin.methods.conformal import CONFORMITY, SetPredictor
from locallin.methods.links import PROBABLE, Link, offset_of
from locallin.methods.preparation import FitInput, HeldOut
from locallin.methods.skeleton import (
    NO_HELD_OUT_ROWS,
    EpochEstimator,
    ScoringEstimator,
    validated_rows,
)
from locallin.streams.run import StreamSettings


def encode_classes(y, known, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and y as indices into them.

    ``known`` are the classes that an earlier call has fixed, or None; ``name`` is
    that of the estimator.
    """
    check_classification_targets(y)
    found, encoded = np.unique(y, return_inverse=True)
    if known is None:
        if len(found) < 2:
            raise ValueError(
                f"{name} needs rows of at least two classes; "
                f"y has one class: {found.tolist()[0]!r}."
            )
        return found, encoded
    unknown = np.setdiff1d(found, known)
    if len(unknown):
        raise ValueError(
            f"y has classes that are not among the known ones: {unknown}; "
            f"known classes: {known}."
        )
    return known, np.searchsorted(known, found)[encoded]


def stream_classes(classes, known) -> np.ndarray:
    """Classes of a stream: as given now, or as ``known`` from an earlier call."""
    if classes is None:
        if known is None:
            raise ValueError("classes must be passed to the first call of partial_fit.")
        return known
    classes = np.unique(classes)
    if known is not None and not np.array_equal(classes, known):
        raise ValueError(
            f"classes={classes} differs from the first call of partial_fit, "
            f"which had {known}."
        )
    if len(classes) < 2:
        raise ValueError(f"classes={classes} must name at least two classes.")
    return classes


def weights_of_classes(class_weight, classes, encoded) -> np.ndarray | None:
    """The weight of each class; None where all of them are one."""
    if class_weight is None:
        return None
    return compute_class_weight(class_weight, classes=classes, y=classes[encoded])


def winning_classes(scores: np.ndarray) -> np.ndarray:
    """Index of the predicted class of each row of scores."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        return (scores.reshape(-1) > 0).astype(np.intp)
    return scores.argmax(axis=1)


class ScoringClassifier(SetPredictor, ClassifierMixin, ScoringEstimator):
    """A classifier: the class of the largest score is predicted."""

    _parameter_constraints: dict = {
        **ScoringEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": ["boolean"],
    }

    # Options that a method need not offer.
    loss = ""
    probability = False

    def _invariants(self) -> dict[str, Rule]:
        return {
            **CLASSIFIER,
            **CONFORMITY,
            "proba_scale_": Number(above=True, most=1e100, optional=True),
            "proba_offset_": Array(("classes",), optional=True),
        }

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; one per row for two classes, positive for ``classes_[1]``. They are
            finite: a row so long that its products leave the range of its numbers
            counts as a shorter one in the same direction.
        """
        scores = self._scores(validated_rows(self, X, finite=False))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X) -> np.ndarray:
        """Classes of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of the largest score of each row.
        """
        winners = winning_classes(self.decision_function(X))
        return self.classes_[winners]

    def link(self) -> Link:
        """How probabilities follow from the scores of a fitted classifier.

        Returns
        -------
        Link
            Scale and offsets, found on held-out rows or by the loss.

        Raises
        ------
        AttributeError
            Where there are no probabilities; it says what to do.
        """
        check_is_fitted(self)
        offset = vars(self).get("proba_offset_")
        if offset is None:
            offset = np.zeros(len(self.classes_))
        scale = vars(self).get("proba_scale_")
        if scale is not None:
            return Link("multinomial", scale, offset)
        if self.loss in PROBABLE:
            return Link(self.loss, 1.0, offset)
        raise AttributeError(self._no_probabilities())

    def _no_probabilities(self) -> str:
        shown = [n for n in ("loss", "probability") if n in self._get_param_names()]
        settings = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        ways = ["probability=True"] * ("probability" in shown)
        ways += [f"loss={loss!r}" for loss in self._probable_losses()]
        again = f"set {' or '.join(ways)} and fit again, or " if ways else ""
        return (
            f"{type(self).__name__}({settings}) has no predict_proba: {again}calibrate "
            "it with sklearn.calibration.CalibratedClassifierCV."
        )

    def _probable_losses(self) -> list[str]:
        """The losses of the method whose scores have probabilities."""
        allowed = self._parameter_constraints.get("loss", [])
        named = [one.options for one in allowed if isinstance(one, StrOptions)]
        return [loss for loss in PROBABLE if loss in set().union(*named)]

    def _no_sets(self) -> str:
        way = "distill(model, X) of locallin learns one that has them"
        if "probability" in self._get_param_names():
            way = "set probability=True and fit again"
        return (
            f"{type(self).__name__} has no predict_set where no rows were held out: "
            f"{way}."
        )

    def _has_probabilities(self) -> bool:
        if self.__sklearn_is_fitted__():
            self.link()
        elif not self.probability and self.loss not in PROBABLE:
            raise AttributeError(self._no_probabilities())
        return True

    def _set_calibration(self, found: Calibration | None, class_weights) -> None:
        """Keep what held-out rows tell, or what frees of class weights."""
        for name in ("proba_scale_", "proba_offset_", *CONFORMITY):
            if name in vars(self):
                delattr(self, name)
        if found is not None:
            _, self.proba_scale_, self.proba_offset_ = found.link
            self._set_conformity(found.conformity)
        elif class_weights is not None:
            self.proba_offset_ = offset_of(class_weights, len(self.classes_))

    def _fit_holding_out(self, X, y, weights, folds: list[np.ndarray]) -> np.ndarray:
        """Fit to checked rows; scores of folds by models that have not seen them."""
        scores = []
        for held in folds:
            kept = weights.copy()
            kept[held] = 0.0
            scores.append(clone(self).fit(X, y, kept)._scores(X[held]))
        self.fit(X, y, weights)
        return np.concatenate(scores)

    @available_if(lambda self: self._has_probabilities())
    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows, in the data without class weights.

        With ``probability=True`` they are calibrated on held-out rows. Otherwise they
        are those of the loss, where it has some: "logistic" has one for each class
        against the rest, scaled to add up to one, and "multinomial" the softmax of the
        scores. ``predict`` goes by the scores alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        return self.link().probabilities(scores)

    @available_if(lambda self: self._has_probabilities())
    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))


class EpochClassifier(EpochEstimator, ScoringClassifier):
    """A classifier that learns in epochs, also from a stream."""

    _parameter_constraints: dict = {
        **ScoringClassifier._parameter_constraints,
        **EpochEstimator._parameter_constraints,
    }

    _quality = "accuracy"

    def _known_target(self, classes, *, resume: bool, stream: bool) -> Any:
        known = self.classes_ if resume else None
        return stream_classes(classes, known) if stream else known

    def _encode_target(self, y, known):
        return encode_classes(y, known, type(self).__name__)

    def _take_target(self, y, known) -> tuple:
        self.classes_, encoded = self._encode_target(y, known)
        by_class = weights_of_classes(self.class_weight, self.classes_, encoded)
        if not self.probability:
            self._set_calibration(None, by_class)
        return self.classes_, encoded, by_class

    def _strata(self, encoded: np.ndarray) -> np.ndarray:
        return encoded

    def _held_out_quality(self, scores: np.ndarray, held: HeldOut) -> float:
        right = winning_classes(scores) == held.labels
        return float(np.average(right, weights=held.weights))

    @with_callbacks
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective and in the choice of anchors. A
            weight of 0 is the same as leaving the row out.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Rows to watch for early stopping, in place of a fraction of X.
        y_val : array-like of shape (n_val,), default=None
            Their classes.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights in the accuracy.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        validation = X_val, y_val, sample_weight_val
        learn = self._fit_calibrated if self.probability else self._fit
        return self._fit_rows(X, y, sample_weight, validation, learn)

    def _fit_calibrated(self, given: FitInput) -> bool:
        interrupted, found = fit_calibrated(self, given)
        if found is not None:
            self._set_calibration(found, None)
        return interrupted

    def _fit_holding_out(self, X, y, weights, folds: list[np.ndarray]) -> np.ndarray:
        scores = []

        def learn(given: FitInput) -> bool:
            rng = deepcopy(given.rng)
            interrupted, found = fit_holding_out(self, given, folds, rng)
            scores.append(found)
            return interrupted

        self._fit_rows(X, y, weights, (None, None, None), learn)
        return scores[0]

    def _learns_streams(self) -> bool:
        found = self._is_stream_method()
        if self.probability:
            raise AttributeError(NO_HELD_OUT_ROWS)
        return found

    @available_if(lambda self: self._learns_streams())
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a block of a stream, in one pass.

        A block whose values or weights are so large that the model would hold NaN or
        infinity is refused, and the model stays as it was.

        What the first call chooses from its block stays: alpha and the scale of the
        intercepts where they are "auto", and anchors, bandwidth and first step where
        the method has them. Make it a large one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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
        return self._fit_block(X, y, classes, sample_weight)

    @available_if(lambda self: self._learns_streams())
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

        A first pass counts the rows, collects the classes and draws a sample, from
        which alpha, anchors, bandwidth and first steps are chosen as ``fit`` chooses
        them from all rows. Then the stream is learned from ``epochs`` times, buffer
        after buffer; the rows of a buffer are shuffled. The model depends on the order
        of the rows and the seed, not on how the stream is cut into blocks. Rows that
        are sorted by class over stretches longer than a buffer should be shuffled
        beforehand.

        Parameters
        ----------
        batches : Batches, path, list of paths, tuple of arrays, iterable or callable
            What :func:`locallin.data.as_batches` takes: files and folders, arrays
            (also memory maps), an iterable of blocks (X, y) or (X, y, weights), or a
            callable that returns one for each pass. Weights are taken as they are.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream; None takes those that the first pass meets.
        epochs : int, default=1
            Passes to learn from, in place of ``max_iter``.
        n_rows : int, default=None
            Number of rows, which plans the steps of "adam" and scales alpha; None
            counts them in the first pass.
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
