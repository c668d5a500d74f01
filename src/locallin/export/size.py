"""Smaller copies of fitted models."""

from copy import copy

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from locallin.engine.invariants import InvalidModelError, check_fitted
from locallin.engine.matrix import as_rows
from locallin.methods.anchored import AnchoredEstimator, row_views
from locallin.methods.base import ScoringClassifier
from locallin.methods.charted import ChartedEstimator
from locallin.methods.members import Ensemble
from locallin.methods.ml3 import ML3Classifier
from locallin.methods.regression import ScoringRegressor
from locallin.methods.skeleton import (
    EpochEstimator,
    ScoringEstimator,
    forget_learning,
    validated_rows,
)
from locallin.methods.tables import TableEstimator

__all__ = ["CompressedClassifier", "compress"]

# Fitted arrays, by the attribute that holds them.
_ARRAYS = (
    "coef_",
    "intercept_",
    "dual_coef_",
    "support_points_",
    "coding_.anchors_",
    "coding_.bandwidth_",
    "coding_.metric_",
    "coding_.group_centers_",
    "atlas_.center_",
    "atlas_.means_",
    "atlas_.components_",
)


def compress(estimator, *, dtype: str = "float32", X=None):
    """Copy a fitted model with smaller weights and without idle anchors.

    The copy is for prediction: what ``partial_fit`` and ``warm_start`` would go on
    from is left out. The estimator itself stays as it is.

    Parameters
    ----------
    estimator : fitted classifier or regressor
        Any classifier or regressor of this library, or a pipeline that ends in one:
        the steps before it stay as they are.
    dtype : {"float32", "float16"}, default="float32"
        Type of the weights, "float32" for regressors, LocallyLinearClassifier and
        EnsembleClassifier. "float32" returns an estimator of the same class; scores
        change by about 1e-6 of their size. "float16" returns a
        :class:`CompressedClassifier`, whose weights and anchors are rounded to 11
        bits (a relative error of up to 5e-4 each), so that rows near a boundary
        may change class: compare scores on held-out rows.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows that stand for those to be predicted. Anchors that none of them uses are
        dropped, for ML3Classifier models that raise no score of theirs; the scores of
        these rows stay the same. Give it many: a row unlike all of them may have
        needed what is dropped.

    Returns
    -------
    classifier or regressor
        The smaller copy.

    See Also
    --------
    CompressedClassifier : What it returns for half precision.
    to_c : A header without dependencies.
    save : A file that is safe to load.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.export import compress
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(16, random_state=0).fit(X, y)
    >>> small = compress(clf)
    >>> clf.coef_.nbytes, small.coef_.nbytes
    (256, 128)
    >>> smaller = compress(clf, dtype="float16", X=X)
    >>> bool((smaller.predict(X) == clf.predict(X)).mean() > 0.99)
    True
    """
    if isinstance(estimator, Pipeline):
        return _compressed_pipeline(estimator, dtype, X)
    if isinstance(estimator, TableEstimator | Ensemble):
        return _compressed_mean(estimator, dtype, X)
    if not isinstance(estimator, ScoringEstimator):
        raise TypeError(
            f"compress has no {type(estimator).__name__}: it takes a classifier or "
            "regressor of this library, or a pipeline that ends in one."
        )
    if dtype not in ("float32", "float16"):
        raise ValueError(f"dtype={dtype!r} must be 'float32' or 'float16'.")
    if dtype == "float16" and isinstance(estimator, ScoringRegressor):
        raise ValueError(
            f"dtype='float16' has 11 bits, which are enough to tell classes apart, but "
            f"{type(estimator).__name__} predicts numbers: choose dtype='float32'."
        )
    check_is_fitted(estimator)
    check_fitted(estimator)
    small = _separate_copy(estimator)
    if X is not None:
        _drop_idle(small, X)
    arrays = dict(_arrays_of(small))
    if dtype == "float16":
        return CompressedClassifier._of(small, arrays)
    for path, values in arrays.items():
        _set_array(small, path, _as_single(path, values))
    return small


def _compressed_pipeline(pipeline: Pipeline, dtype: str, X) -> Pipeline:
    *before, (name, classifier) = pipeline.steps
    if X is not None and before:
        X = pipeline[:-1].transform(X)
    return Pipeline([*before, (name, compress(classifier, dtype=dtype, X=X))])


def _compressed_mean(estimator, dtype: str, X):
    """Members in single precision; an encoder before them stays as it is."""
    check_is_fitted(estimator)
    if dtype != "float32":
        raise ValueError(
            f"dtype={dtype!r}, but {type(estimator).__name__} predicts with the mean "
            "of members: choose dtype='float32', or compress its members."
        )
    small = copy(estimator)
    if isinstance(estimator, TableEstimator):
        if X is not None and estimator.encoder_ is not None:
            X = estimator.encoder_.transform(X)
        small.model_ = _compressed_mean(estimator.model_, dtype, X)
    else:
        small.members_ = [compress(m, dtype=dtype, X=X) for m in estimator.members_]
    return small


class CompressedClassifier(ClassifierMixin):
    """A classifier with weights of 16 bits, as ``compress`` returns it.

    Files and pickles of it are small. The first prediction unpacks the weights to
    single precision and keeps them, so that later ones take the estimator's own time;
    pickles leave them out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    nbytes : int
        Size of the packed weights.

    See Also
    --------
    compress : Makes it.
    save : A file that is safe to load.
    """

    def __init__(self, stripped, packed: dict, units: dict):
        self._stripped = stripped
        self._packed = packed
        self._units = units

    @classmethod
    def _of(cls, estimator, arrays: dict) -> "CompressedClassifier":
        """Pack the arrays of an estimator, which loses them."""
        packed, units = {}, {}
        for path, values in arrays.items():
            values = _as_single(path, values)
            # Numbers up to 1: half precision ends at 65504.
            units[path] = float(np.abs(values).max(initial=0.0)) or 1.0
            packed[path] = (values / np.float32(units[path])).astype(np.float16)
            _set_array(estimator, path, None)
        return cls(estimator, packed, units)

    def __getstate__(self) -> dict:
        return {k: v for k, v in vars(self).items() if k != "_estimator"}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.decompress()  # refuses what does not fit together

    def __repr__(self) -> str:
        return f"CompressedClassifier({self._stripped!r})"

    def __sklearn_tags__(self):
        return self._stripped.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y=None):
        """Do nothing, as scikit-learn's ``FrozenEstimator`` does.

        Parameters
        ----------
        X, y : object
            Not looked at.

        Returns
        -------
        self : object
            The classifier as it is.
        """
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        return self._stripped.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._stripped.n_features_in_

    @property
    def nbytes(self) -> int:
        """Size of the packed weights."""
        return sum(values.nbytes for values in self._packed.values())

    def decompress(self):
        """Unpack the weights.

        Returns
        -------
        classifier
            An estimator of the class that was compressed, with weights in single
            precision.
        """
        _check_packed(self)
        estimator = _separate_copy(self._stripped)
        for path, values in self._packed.items():
            unit = np.float32(self._units[path])
            _set_array(estimator, path, values.astype(np.float32) * unit)
        check_fitted(estimator)
        return estimator

    def _unpacked(self):
        if not hasattr(self, "_estimator"):
            self._estimator = self.decompress()
        return self._estimator

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; one per row for two classes, positive for ``classes_[1]``.
        """
        return self._unpacked().decision_function(X)

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
        return self._unpacked().predict(X)

    @available_if(lambda self: hasattr(self._stripped, "predict_proba"))
    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows, where the classifier has them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return self._unpacked().predict_proba(X)


def _check_packed(compressed: CompressedClassifier) -> None:
    """Refuse packed arrays that ``decompress`` could not unpack."""
    state = {"_stripped": None, "_packed": None, "_units": None, **vars(compressed)}
    stripped, packed, units = (state[n] for n in ("_stripped", "_packed", "_units"))
    if not isinstance(stripped, ScoringClassifier):
        raise InvalidModelError("CompressedClassifier holds no classifier of locallin.")
    if not (isinstance(packed, dict) and isinstance(units, dict) and packed):
        raise InvalidModelError("CompressedClassifier has no packed arrays.")
    for path, values in packed.items():
        unit = units.get(path)
        part = path.rpartition(".")[0] if path in _ARRAYS else ""
        if not (
            path in _ARRAYS
            and (not part or hasattr(vars(stripped).get(part), "__dict__"))
            and isinstance(values, np.ndarray)
            and values.dtype == np.float16
            and isinstance(unit, float)
            and 0 < unit <= np.finfo(np.float32).max
        ):
            raise InvalidModelError(
                f"{path!r:.50} of CompressedClassifier is not as it was packed: the "
                "model is damaged. Compress it again, or fetch it anew."
            )


def _separate_copy(estimator):
    """Copy the estimator and its parts, not their arrays."""
    new = copy(estimator)
    if isinstance(new, EpochEstimator):
        forget_learning(new)
    for part in ("coding_", "atlas_"):
        if part in vars(new):
            setattr(new, part, copy(getattr(new, part)))
    return new


def _arrays_of(estimator):
    """Yield the attributes that hold fitted arrays, and these."""
    for path in _ARRAYS:
        part, _, name = path.rpartition(".")
        holder = getattr(estimator, part, None) if part else estimator
        values = vars(holder).get(name) if holder is not None else None
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            yield path, values


def _set_array(estimator, path: str, values) -> None:
    part, _, name = path.rpartition(".")
    holder = getattr(estimator, part) if part else estimator
    setattr(holder, name, values)
    if path == "coding_.anchors_" and not isinstance(holder.anchors, str):
        # The coding was given its first anchors as an array.
        holder.anchors = values
    if path == "coding_.metric_" and holder.metric is not None:
        holder.metric = values


def _as_single(path: str, values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(single).all():
        raise ValueError(
            f"{path} has numbers outside the range of float32: scale the features, "
            "e.g. with StandardScaler, and fit again."
        )
    return single


def _drop_idle(estimator, X) -> None:
    """Drop anchors or latent models that the rows do not use."""
    if isinstance(estimator, ChartedEstimator):
        raise TypeError(
            f"X drops idle anchors, but {type(estimator).__name__} has charts: leave "
            "X=None."
        )
    if isinstance(estimator, ML3Classifier):
        _drop_models(estimator, X)
    elif isinstance(estimator, AnchoredEstimator):
        _drop_anchors(estimator, X)


def _drop_anchors(estimator, X) -> None:
    coding = estimator.coding_
    anchor_view, _ = row_views(estimator, validated_rows(estimator, X))
    used = np.unique(coding.encode(as_rows(anchor_view), estimator.n_jobs).indices)
    estimator.coef_ = estimator.coef_[used]
    estimator.intercept_ = estimator.intercept_[used]
    _set_array(estimator, "coding_.anchors_", coding.anchors_[used])
    if np.ndim(coding.bandwidth_):
        coding.bandwidth_ = coding.bandwidth_[used]
    if coding.n_probes is not None:
        coding.anchor_groups_ = coding.anchor_groups_[used]
    coding.n_neighbors_ = min(coding.n_neighbors_, len(used))


def _drop_models(estimator, X) -> None:
    # All classes have the same number of models: the most that one of them uses.
    used = (estimator.latent_weights(X) > 0).any(axis=0)
    most = max(int(used.sum(axis=1).max()), 1)
    order = np.argsort(~used, axis=1, kind="stable")[:, :most]
    estimator.intercept_ = np.take_along_axis(estimator.intercept_, order, axis=1)
    estimator.coef_ = np.take_along_axis(estimator.coef_, order[:, :, None], axis=1)
