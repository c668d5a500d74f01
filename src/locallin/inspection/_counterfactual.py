"""The smallest change of one feature that changes a decision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from locallin.inspection.text import number, signed, table
from locallin.inspection.unwrap import (
    as_frame_like,
    by_score,
    has_map,
    import_pandas,
    local_features,
    require_local_models,
    unwrap,
)
from locallin.methods.base import winning_classes

_ROWS_IN_TEXT = 20
# Part of the change by which the local model is asked beyond it: more than rounding,
# and before another class overtakes the target.
_JUST_BEYOND = 1e-6


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """Single-feature changes that change the decision of local models.

    Parameters
    ----------
    feature : ndarray of shape (n_samples,)
        Position of the feature to change, -1 where no feature has an effect.
    value : ndarray of shape (n_samples,)
        What it is.
    change : ndarray of shape (n_samples,)
        What must be added for the local model to be undecided; beyond it, the
        decision is ``target``.
    size : ndarray of shape (n_samples,)
        Size of the change in units of the scale, infinite where there is none.
    predicted : ndarray of shape (n_samples,)
        Decision of the model at the row.
    target : ndarray of shape (n_samples,)
        Decision of the local model just beyond the change.
    local_flips : ndarray of shape (n_samples,)
        Whether the local model, evaluated just beyond the change, prefers
        ``target`` to ``predicted``.
    model_flips : ndarray of shape (n_samples,)
        Whether the real model, whose local model moves along, leaves ``predicted``
        where it was asked.
    reached : ndarray of shape (n_samples,)
        Decision of the real model there.
    feature_names : ndarray of shape (n_features,)
        Names of the features.

    See Also
    --------
    counterfactual : Makes it.
    Explanation : Contributions of the features to a score.
    """

    feature: np.ndarray
    value: np.ndarray
    change: np.ndarray
    size: np.ndarray
    predicted: np.ndarray
    target: np.ndarray
    local_flips: np.ndarray
    model_flips: np.ndarray
    reached: np.ndarray
    feature_names: np.ndarray

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def names(self) -> np.ndarray:
        """Name of the feature of each row, "" where there is none."""
        found = self.feature >= 0
        return np.where(found, self.feature_names[self.feature], "")

    def to_frame(self):
        """One line per row, as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            Columns feature, value, change, size, predicted, target, local_flips,
            model_flips and reached.
        """
        pandas = import_pandas("Counterfactuals.to_frame")
        columns = [
            "value", "change", "size", "predicted", "target", "local_flips",
            "model_flips", "reached",
        ]  # fmt: skip
        return pandas.DataFrame(
            {"feature": self.names} | {name: getattr(self, name) for name in columns}
        )

    def __str__(self) -> str:
        header = ("row", "feature", "value", "change", "decision", "model")
        lines = []
        for i in range(min(len(self), _ROWS_IN_TEXT)):
            if self.feature[i] < 0:
                lines.append((str(i), "(none)", "", "", str(self.predicted[i]), ""))
                continue
            decision = f"{self.predicted[i]} -> {self.target[i]}"
            says = "agrees" if self.reached[i] == self.target[i] else "goes to"
            if not self.model_flips[i]:
                says = "stays at"
            model = says if says == "agrees" else f"{says} {self.reached[i]}"
            value, change = number(self.value[i]), signed(self.change[i])
            lines.append((str(i), self.names[i], value, change, decision, model))
        text = table(header, lines, words={"row", "feature", "decision", "model"})
        if len(self) > _ROWS_IN_TEXT:
            text += f"\n... and {len(self) - _ROWS_IN_TEXT} more rows"
        found = self.feature >= 0
        return (
            f"{text}\nThe real model changes its decision in "
            f"{np.count_nonzero(self.model_flips & found)} of "
            f"{np.count_nonzero(found)} rows."
        )


def counterfactual(
    estimator, X, *, features=None, scale=None, beyond=0.01, feature_names=None
) -> Counterfactuals:
    """Find the smallest change of one feature that changes each row's decision.

    The row's local model is held fixed, so that the change is exact and costs one
    division for each feature and rival class: with the margin m(x) to a rival and
    its weights v(x), feature i must change by -m / v_i. The real model's local
    model moves with the row, and may decide otherwise: it is asked, and the result
    says so in ``model_flips``.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier of the library with linear local models and without a
        feature map, or a fitted pipeline or search that ends in one. Changes are in
        the units of what the classifier is given.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, as ``estimator.predict`` takes them.
    features : sequence of str or int, default=None
        Names or positions of the features that may change. None allows all.
    scale : array-like of shape (n_features,), default=None
        What counts as a change of size one in each feature, for instance its
        standard deviation. None is 1: sizes are compared in the features' units.
    beyond : float, default=0.01
        How far beyond the change the real model is asked, as a fraction of the
        change.
    feature_names : sequence of str, default=None
        Names of the features that the classifier is given; see :func:`explain`.

    Returns
    -------
    Counterfactuals
        Arrays, and tables as text and as a pandas frame.

    See Also
    --------
    explain : Contributions of the features to a score.
    BoundaryDisplay : The boundary that is crossed, in two dimensions.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import counterfactual
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(random_state=0).fit(X, y)
    >>> result = counterfactual(clf, X[:5])
    >>> bool(result.local_flips.all())
    True
    >>> result.change.shape
    (5,)
    """
    if not beyond > 0:
        raise ValueError(f"beyond={beyond!r}: choose a fraction above 0.")
    unwrapped = unwrap(estimator, X, "counterfactual")
    classifier = unwrapped.classifier
    require_local_models(classifier, "counterfactual")
    if has_map(classifier):
        raise ValueError(
            "counterfactual changes features of the data, but the local models see "
            f"those of feature_map={classifier.feature_map!r}: put the map before the "
            "classifier in a pipeline to change its features."
        )
    if getattr(classifier, "local_model", "linear") == "constant":
        raise ValueError(
            "counterfactual needs weights, but local_model='constant' has none: "
            "use local_model='linear'."
        )
    values, names = local_features(unwrapped, feature_names)
    scale = _checked_scale(scale, len(names))
    allowed = _allowed_features(features, names)
    coef = classifier.local_coef(unwrapped.X).astype(float)
    intercept = classifier.local_intercept(unwrapped.X).astype(float)
    scores = by_score(classifier.decision_function(unwrapped.X))
    winners = winning_classes(scores)
    if len(classifier.classes_) == 2:
        coef, intercept = _two_scores(coef), _two_scores(intercept)
    rows = np.arange(len(values))
    margin_coef = coef[rows, winners][:, None] - coef
    local = np.einsum("nsd,nd->ns", coef, values.astype(float)) + intercept
    margins = local[rows, winners][:, None] - local
    feature, target, change = _smallest(margin_coef, margins, winners, scale, allowed)
    found = feature >= 0

    at = np.maximum(feature, 0)
    shifted = values.astype(float)
    shifted[rows, at] += np.where(found, (1 + _JUST_BEYOND) * change, 0)
    local = np.einsum("nsd,nd->ns", coef, shifted) + intercept
    local_flips = found & (local[rows, target] > local[rows, winners])
    moved = values.copy()
    moved[rows, at] += np.where(found, (1 + beyond) * change, 0)
    reached = classifier.predict(as_frame_like(unwrapped.X, moved))
    predicted = classifier.classes_[winners]
    return Counterfactuals(
        feature=feature,
        value=np.where(found, values[rows, at], np.nan),
        change=np.where(found, change, np.nan),
        size=np.where(found, np.abs(change) / scale[at], np.inf),
        predicted=predicted,
        target=classifier.classes_[target],
        local_flips=local_flips,
        model_flips=found & (reached != predicted),
        reached=reached,
        feature_names=names,
    )


def _smallest(coef, margins, winners, scale, allowed):
    """Feature, rival and change of the smallest size for each row."""
    n, _, n_features = coef.shape
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        changes = -margins[:, :, None] / coef
        sizes = np.abs(changes) / scale
    sizes[~np.isfinite(sizes)] = np.inf
    sizes[np.arange(n), winners] = np.inf
    sizes[:, :, ~allowed] = np.inf
    best = sizes.reshape(n, -1).argmin(axis=1)
    target, feature = np.divmod(best, n_features)
    rows = np.arange(n)
    none = ~np.isfinite(sizes.reshape(n, -1)[rows, best])
    change = np.where(none, 0.0, changes[rows, target, feature])
    return np.where(none, -1, feature), np.where(none, winners, target), change


def _two_scores(one: np.ndarray) -> np.ndarray:
    """Scores of both classes from the one score of two classes."""
    return np.concatenate([np.zeros_like(one), one], axis=1)


def _checked_scale(scale, n_features: int) -> np.ndarray:
    if scale is None:
        return np.ones(n_features)
    checked = np.asarray(scale, dtype=float)
    if checked.shape != (n_features,):
        raise ValueError(
            f"scale has shape {checked.shape}, but there are {n_features} features: "
            "give one number for each, or scale=None."
        )
    if not (np.isfinite(checked) & (checked > 0)).all():
        raise ValueError(
            "scale must be positive and finite: give features that do not vary a "
            "scale of 1, or leave them out with features=..."
        )
    return checked


def _allowed_features(features, names: np.ndarray) -> np.ndarray:
    if features is None:
        return np.ones(len(names), bool)
    allowed = np.zeros(len(names), bool)
    for entry in features:
        if isinstance(entry, int | np.integer):
            found = np.array([entry] if 0 <= entry < len(names) else [], dtype=int)
        else:
            found = np.flatnonzero(names == entry)
        if not len(found):
            raise ValueError(
                f"features holds {entry!r}, which is not among the {len(names)} "
                f"features: choose names such as {names[0]!r}, or positions."
            )
        allowed[found] = True
    return allowed
