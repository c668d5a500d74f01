"""One number a feature, over all local models."""

import numpy as np

from locallin.inspection.origins import MIXED, followed_by, trace
from locallin.inspection.unwrap import Steps, model_in
from locallin.methods.members import Ensemble


def feature_importances(estimator) -> np.ndarray:
    """Root mean square weight of each feature, over local models and scores.

    A view of the model as a whole, for what takes a function of a fitted estimator:
    ``RFECV(clf, importance_getter=feature_importances)``, and
    :class:`~sklearn.feature_selection.SelectFromModel` in the same way. Features must
    have a common scale for their weights to be compared. Reasons of single
    predictions are those of :func:`explain`.

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted one of the library whose local models are linear, a mean of
        such, or a fitted pipeline that ends in one. Where every step tells which column
        its outputs come from, as :class:`~locallin.encoding.TableEncoder` and scalers
        do, the squares of a column's outputs are summed, and the features are the
        columns of X; else they are those that it sees.

    Returns
    -------
    ndarray of shape (n_features,)
        Importances, none of them negative.

    See Also
    --------
    explain : Exact contributions behind a prediction.
    sklearn.feature_selection.RFECV : Leaves out the least important features.
    sklearn.inspection.permutation_importance : For classifiers without weights.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.feature_selection import SelectFromModel
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import feature_importances
    >>> X, y = make_classification(300, 10, n_informative=2, n_redundant=0,
    ...                            shuffle=False, random_state=0)
    >>> selector = SelectFromModel(
    ...     LLSVMClassifier(5, random_state=0),
    ...     importance_getter=feature_importances,
    ...     max_features=2,
    ... )
    >>> selector.fit(X, y).get_support(indices=True)
    array([0, 1])
    """
    steps, classifier = model_in(estimator, "feature_importances")
    squares = _mean_squares(classifier)
    origins = _origins(steps)
    if origins is not None:
        squares = np.bincount(origins, squares, minlength=estimator.n_features_in_)
    return np.sqrt(squares)


def _mean_squares(classifier) -> np.ndarray:
    """Mean square weight of each feature that the classifier sees."""
    if isinstance(classifier, Ensemble):
        return np.mean([_mean_squares(one) for one in classifier.members_], axis=0)
    weights = _weights(classifier)
    if weights is None:
        raise ValueError(
            f"{type(classifier).__name__} has no weights of the features of X with "
            "these settings (a feature map, constant local models, or a kernel): use "
            "sklearn.inspection.permutation_importance."
        )
    squares = np.square(weights, dtype=float)
    return squares.mean(axis=tuple(range(weights.ndim - 1)))


def _origins(steps: Steps) -> np.ndarray | None:
    """Column of X that each feature comes from; None where there is no single one."""
    found = None
    for _, step in steps:
        n_columns = getattr(step, "n_features_in_", None)
        names = getattr(step, "feature_names_in_", None)
        then = None if n_columns is None else trace(step, n_columns, names)
        if then is None or (then.origins == MIXED).any():
            return None
        found = then if found is None else followed_by(found, then)
    return None if found is None else found.origins


def _weights(classifier) -> np.ndarray | None:
    """Weights of local models, features on the last axis."""
    atlas = getattr(classifier, "atlas_", None)
    if atlas is not None:
        if classifier.kernel != "linear":
            return None
        return classifier.coef_ @ atlas.components_ / classifier.scale_
    if getattr(classifier, "feature_map_", None) is not None:
        return None
    has_weights = classifier.coef_.shape[-1] == classifier.n_features_in_
    return classifier.coef_ if has_weights else None
