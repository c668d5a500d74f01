"""What y is to those who choose settings: classes, or numbers.

A task tells how rows are split, which member is made, and how a trial is judged.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score

from locallin.methods.choosing import standard_error
from locallin.methods.dullsvm import DULLSVMClassifier
from locallin.methods.dullsvm_regressor import DULLSVMRegressor
from locallin.methods.ensemble import EnsembleClassifier
from locallin.methods.ensemble_regressor import EnsembleRegressor
from locallin.methods.joint_regressor import joint_regression_alpha
from locallin.methods.links import Link
from locallin.methods.preparation import joint_alpha
from locallin.methods.settings import Choice

Judgement = tuple[dict[str, Any], np.ndarray]

# Deviations of y that its values may be away from zero: what is predicted in single
# precision is rounded by a tenth of a millionth of them.
_FAR = 1e4


def _mean_auc(scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float | None:
    """Mean area under the ROC curves of classes against all others.

    Of two classes it is that of the second. None where rows are of one class.
    """
    single = scores.shape[1] == 1
    there = [1] if single else np.unique(y).tolist()
    areas = []
    for label in there:
        own, ranks = y == label, scores[:, 0 if single else label]
        if 0 < np.count_nonzero(own) < len(y):
            areas.append(roc_auc_score(own, ranks, sample_weight=weights))
    return float(np.mean(areas)) if areas else None


class ClassTask:
    """Classes; y are indices into them.

    Attributes
    ----------
    losses : tuple of str
        Losses of members, the usual one first.
    target_type, plain_numbers : str
        What an encoder is told of y, and how numbers are encoded without bins.
    dtype : str
        Precision of encoded rows, and with them of what is learned and predicted.
    n_scores : int
        Scores of a row.
    member : type
        What is fitted.
    """

    losses = "multinomial", "squared_hinge"
    target_type, plain_numbers = "classes", "standard"
    dtype = "float32"
    member = DULLSVMClassifier

    def __init__(self, classes: np.ndarray):
        self.classes = classes
        self.n_scores = 1 if len(classes) == 2 else len(classes)

    def told(self, y: np.ndarray) -> np.ndarray:
        """The target as the user knows it."""
        return self.classes[y]

    def for_means(self, choice: Choice) -> list[dict]:
        """Settings beside a choice that are tried for means of members only."""
        return []

    def varies(self, y: np.ndarray) -> bool:
        """Whether there is something to learn."""
        return np.bincount(y).max() < len(y)

    def strata(self, y: np.ndarray, least: int) -> np.ndarray | None:
        """Labels to stratify by, with those pooled that are too rare to be split."""
        counts = np.bincount(y)
        rare = counts[y] < least
        pooled = np.where(rare, len(counts), y)
        if 0 < rare.sum() < least:
            pooled[rare] = counts.argmax()
        return pooled

    def alpha(self, n_rows: int, y: np.ndarray) -> float:
        """The usual penalty of so many rows."""
        return joint_alpha(n_rows, len(np.unique(y)))

    def scores(self, member, X) -> np.ndarray:
        """Scores of rows for all classes, (n_rows, n_scores)."""
        found = member.decision_function(X)
        if self.n_scores == 1:
            return found[:, None]
        if found.ndim == 1:
            found = np.column_stack([-found, found])
        # A class that is not there is as good as impossible.
        full = np.full((len(found), self.n_scores), found.min() - 10.0)
        full[:, member.classes_] = found
        return full

    def judge(self, scores, y, weights) -> Judgement:
        """Figures of held-out rows, and what each costs: its log loss and its error.

        The log loss is that at the best scale of the scores; losses that are level
        are told apart by the errors.
        """
        weights = weights / weights.sum(dtype=float)
        flat = scores[:, 0] if scores.shape[1] == 1 else scores
        classes = np.arange(max(2, scores.shape[1]))
        # As if one row more of each class had been wrong: few rows without an error do
        # not make certain.
        doubt = 1.0 / (len(y) / len(classes) + 2.0)
        others = doubt / (len(classes) - 1)
        shares = np.where(classes == y[:, None], 1.0 - doubt, others)

        def log_shares(log_scale: float) -> np.ndarray:
            link = Link("multinomial", float(np.exp(log_scale)), np.zeros(len(classes)))
            found = link.probabilities(flat)
            return np.log(np.maximum(found, 1e-12))

        best = minimize_scalar(
            lambda log_scale: -weights @ (shares * log_shares(log_scale)).sum(axis=1),
            bounds=(-3.0, 4.0), method="bounded",
        )  # fmt: skip
        losses = -log_shares(best.x)[np.arange(len(y)), y]
        wrong = (flat > 0 if flat.ndim == 1 else flat.argmax(axis=1)) != y
        figures = {
            "log_loss": float(weights @ losses),
            "standard_error": standard_error(losses, weights),
            "error": float(weights @ wrong),
            "auc": _mean_auc(scores, y, weights),
            "scale": float(np.exp(best.x)),
        }
        return figures, losses + wrong

    def mean(self, first, members: list, n_members: int, seed: int):
        """The mean of fitted members."""
        model = EnsembleClassifier(first, n_members, random_state=seed)
        return model.adopt(members, link="multinomial")


class NumberTask:
    """Numbers; y has the shape (n_rows, n_targets). Attributes as of ClassTask."""

    losses = "squared", "huber"
    # A row far out must not be carried away by the slope of its local models.
    target_type, plain_numbers = "numbers", "robust"
    member = DULLSVMRegressor

    def __init__(self, y: np.ndarray):
        self.n_scores = y.shape[1]
        with np.errstate(over="ignore"):  # members tell of such values
            far = np.abs(y).max(axis=0) > _FAR * y.std(axis=0)
        varies = (y != y[0]).any(axis=0)
        self.dtype = "float64" if (far & varies).any() else "float32"

    def told(self, y: np.ndarray) -> np.ndarray:
        """The target as the user knows it."""
        return y[:, 0] if self.n_scores == 1 else y

    def for_means(self, choice: Choice) -> list[dict]:
        """Settings beside a choice that are tried for means of members only.

        By itself, a member that has so many parameters learns its rows too well.
        """
        more: dict = {"n_anchors": max(64, choice.n_anchors), "passes": 20}
        settings = [more, {**more, "anchor_rate": 0.4}]
        return [*settings, {"n_bins": 128}] if choice.n_bins >= 32 else settings

    def varies(self, y: np.ndarray) -> bool:
        """Whether there is something to learn."""
        return bool((y != y[0]).any())

    def strata(self, y: np.ndarray, least: int) -> np.ndarray | None:
        """Labels to stratify by: none."""
        return None

    def alpha(self, n_rows: int, y: np.ndarray) -> float:
        """The usual penalty of so many rows."""
        return joint_regression_alpha(n_rows, 1)

    def scores(self, member, X) -> np.ndarray:
        """Predictions of rows, (n_rows, n_targets)."""
        return member.predict(X).reshape(-1, self.n_scores)

    def judge(self, scores, y, weights) -> Judgement:
        """Figures of held-out rows, and what each costs: 1 - R2 is the mean."""
        weights = weights / weights.sum(dtype=float)
        squares = (y - weights @ y) ** 2
        variance = weights @ squares
        relative = (scores - y) ** 2 / np.where(variance > 0, variance, 1.0)
        costs = relative.mean(axis=1)
        figures = {
            "r2": float(1.0 - weights @ costs),
            "standard_error": standard_error(costs, weights),
        }
        return figures, costs

    def mean(self, first, members: list, n_members: int, seed: int):
        """The mean of fitted members."""
        return EnsembleRegressor(first, n_members, random_state=seed).adopt(members)
