"""A fast model that says what a slow one says."""

from numbers import Real

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from locallin.engine.sklearn_api import check_sample_weight, safe_indexing
from locallin.methods.locally_linear import LocallyLinearClassifier

# Scores of classes give nearly the predictions, those of pairs do not; on so many rows.
_SAME, _LOOKED_AT = 0.9, 200


def distill(
    teacher,
    X,
    *,
    estimator=None,
    sample_weight=None,
    least: float = 0.02,
    score_scale: float = 2.0,
):
    """Fit a classifier to what a slow one says of rows, labelled or not.

    Each row is learned from once for every class that the teacher holds possible, with
    the teacher's probability as its weight: for the multinomial loss that is the cross
    entropy with the teacher's probabilities, exactly. Rows need no labels: the more of
    them, the closer the pupil comes to its teacher.

    Parameters
    ----------
    teacher : classifier
        A fitted classifier with ``predict_proba``, else ``decision_function``, else
        ``predict``, which gives one class to each row.
    X : table, array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as both the teacher and the estimator take them.
    estimator : classifier or None, default=None
        What is cloned and fitted; it must take ``sample_weight``. None is
        :class:`~locallin.LocallyLinearClassifier`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    least : float, default=0.02
        Probabilities below it are left out, from 0 to below 1; the others of the row
        are raised to add up to one.
    score_scale : float, default=2
        What scores of a teacher without probabilities are multiplied with before they
        are taken as log-odds, or as the logits of a softmax.

    Returns
    -------
    classifier
        The fitted estimator. Its classes are those that the teacher gives to any row.

    See Also
    --------
    LocallyLinearClassifier : What is fitted where nothing else is asked for.
    locallin.export.compress : A smaller copy of a model of the library.
    locallin.inspection.explain : What each column adds to a score of the pupil.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from locallin import DULLSVMClassifier, distill
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> teacher = SVC(gamma=2).fit(X[:100], y[:100])
    >>> pupil = DULLSVMClassifier(8, loss="multinomial", random_state=0)
    >>> pupil = distill(teacher, X, estimator=pupil)
    >>> float((pupil.predict(X) == teacher.predict(X)).mean()) > 0.97
    True
    """
    check_is_fitted(teacher)
    if not (isinstance(least, Real) and 0 <= least < 1):
        raise ValueError(f"least={least!r} must be a number from 0 to below 1.")
    if not (isinstance(score_scale, Real) and score_scale > 0):
        raise ValueError(f"score_scale={score_scale!r} must be a number above 0.")
    pupil = LocallyLinearClassifier() if estimator is None else clone(estimator)
    shares = _shares(teacher, X, float(score_scale))
    weights = check_sample_weight(sample_weight, shares)
    # The best class of a row stays, however many classes share the rest.
    kept = shares >= least
    kept[np.arange(len(shares)), shares.argmax(axis=1)] = True
    shares = np.where(kept, shares, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    rows, labels = np.nonzero(kept)
    more = {}
    if isinstance(pupil, LocallyLinearClassifier):
        more["groups"] = rows  # a row is held out with all of its classes
    return pupil.fit(
        safe_indexing(X, rows),
        np.asarray(teacher.classes_)[labels],
        sample_weight=shares[rows, labels] * weights[rows],
        **more,
    )


def _shares(teacher, X, score_scale: float) -> np.ndarray:
    """The share that the teacher gives to each class, (n_samples, n_classes)."""
    if not hasattr(teacher, "classes_"):
        raise TypeError(
            f"teacher={type(teacher).__name__} has no classes_: distill takes a "
            "classifier."
        )
    if hasattr(teacher, "predict_proba"):
        return np.asarray(teacher.predict_proba(X), float)
    if not hasattr(teacher, "decision_function"):
        given = np.asarray(teacher.predict(X))
        return (given[:, None] == np.asarray(teacher.classes_)).astype(float)
    scores = score_scale * np.asarray(teacher.decision_function(X), float)
    if scores.ndim == 1:
        odds = expit(scores)
        return np.column_stack([1.0 - odds, odds])
    if scores.shape[1] != len(teacher.classes_) or _are_of_pairs(scores, teacher, X):
        raise ValueError(
            f"decision_function of {type(teacher).__name__} gives {scores.shape[1]} "
            f"scores that are not those of its {len(teacher.classes_)} classes: "
            "distill needs one for each. Set decision_function_shape='ovr', or wrap "
            "the teacher in CalibratedClassifierCV."
        )
    return softmax(scores, axis=1)


def _are_of_pairs(scores: np.ndarray, teacher, X) -> bool:
    """Whether scores belong to pairs of classes: three classes have three pairs."""
    if scores.shape[1] != 3:
        return False
    rows = np.arange(0, len(scores), max(1, len(scores) // _LOOKED_AT))
    told = np.asarray(teacher.classes_)[scores[rows].argmax(axis=1)]
    given = np.asarray(teacher.predict(safe_indexing(X, rows)))
    return float(np.mean(told == given)) < _SAME
