"""Contributions of features to the score of a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from locallin.inspection.text import number, signed, table
from locallin.inspection.unwrap import (
    by_score,
    check_count,
    import_pandas,
    local_features,
    require_local_models,
    unwrap,
)
from locallin.methods.base import winning_classes

# Rows that ``str`` writes out.
_ROWS_IN_TEXT = 3


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of the features to the scores of some rows.

    ``contributions.sum(axis=2) + bias`` is ``scores``, to rounding.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_scores)
        Scores, as ``decision_function`` gives them.
    bias : ndarray of shape (n_samples, n_scores)
        Local intercepts; with a reference, its score under the row's local model.
    contributions : ndarray of shape (n_samples, n_scores, n_features)
        Local weight times feature, less the reference where there is one.
    weights : ndarray of shape (n_samples, n_scores, n_features)
        Local weights.
    values : ndarray of shape (n_samples, n_features)
        The features, as the local models see them.
    feature_names : ndarray of shape (n_features,)
        Their names.
    classes : ndarray of shape (n_scores,)
        The class that each score speaks for.
    predicted : ndarray of shape (n_samples,)
        Predicted classes.
    top : int or None, default=None
        Number of features that tables show for each score; they put the others
        together. None shows all.
    start : int, default=0
        Number of the first row in tables.

    See Also
    --------
    explain : Makes it.
    ContributionDisplay : The contributions as a picture.
    """

    scores: np.ndarray
    bias: np.ndarray
    contributions: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    feature_names: np.ndarray
    classes: np.ndarray
    predicted: np.ndarray
    top: int | None = None
    start: int = 0

    def __len__(self) -> int:
        return len(self.scores)

    def row(self, i: int) -> Explanation:
        """Explanation of one row.

        Parameters
        ----------
        i : int
            Position of the row; negative ones count from the end.

        Returns
        -------
        Explanation
            The same arrays, with one row.
        """
        i = self._position(i)
        rows = slice(i, i + 1)
        return replace(
            self,
            scores=self.scores[rows],
            bias=self.bias[rows],
            contributions=self.contributions[rows],
            weights=self.weights[rows],
            values=self.values[rows],
            predicted=self.predicted[rows],
            start=self.start + i,
        )

    def ranked(self, row: int = 0, class_label=None) -> list[tuple[str, float, float]]:
        """Terms of one score, the largest contributions first.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        class_label : object, default=None
            Class whose score is looked at. None is the predicted class where its
            score is there, and the first of ``classes`` otherwise.

        Returns
        -------
        list of (name, value, contribution)
            The features, then those beyond ``top`` together, then the bias; the
            values of the last two are NaN. The contributions add up to the score.
        """
        row = self._position(row)
        return self._terms(row, self._score_of(row, class_label))

    def to_frame(self):
        """All contributions as a long pandas frame.

        Returns
        -------
        pandas.DataFrame
            Columns row, class, feature, value and contribution: for each row and
            score the largest contributions first, the bias last.
        """
        pandas = import_pandas("Explanation.to_frame")
        lines = [
            (self.start + i, self.classes[score], *term)
            for i in range(len(self))
            for score in range(len(self.classes))
            for term in self._terms(i, score)
        ]
        columns = ["row", "class", "feature", "value", "contribution"]
        return pandas.DataFrame(lines, columns=columns)

    def to_text(self, row: int = 0, class_label=None) -> str:
        """One score of one row as a table.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        class_label : object, default=None
            Class whose score is shown; see ``ranked``.

        Returns
        -------
        str
            The table.
        """
        row = self._position(row)
        score = self._score_of(row, class_label)
        title = (
            f"row {self.start + row}: predicted {self.predicted[row]}, "
            f"score of {self.classes[score]}"
        )
        lines = [
            (name, "" if np.isnan(value) else number(value), signed(contribution))
            for name, value, contribution in self._terms(row, score)
        ]
        lines.append(("= score", "", signed(self.scores[row, score])))
        header = "feature", "value", "contribution"
        return f"{title}\n{table(header, lines, words={'feature'})}"

    def __str__(self) -> str:
        shown = [self.to_text(i) for i in range(min(len(self), _ROWS_IN_TEXT))]
        if len(self) > _ROWS_IN_TEXT:
            shown.append(f"... and {len(self) - _ROWS_IN_TEXT} more rows")
        return "\n\n".join(shown)

    def _position(self, row: int) -> int:
        if not -len(self) <= row < len(self):
            raise IndexError(
                f"row={row}, but the explanation has {len(self)} rows: choose one of "
                f"0 to {len(self) - 1}."
            )
        return row % len(self)

    def _score_of(self, row: int, class_label) -> int:
        wanted = self.predicted[row] if class_label is None else class_label
        found = np.flatnonzero(self.classes == wanted)
        if len(found):
            return int(found[0])
        if class_label is None:
            return 0
        raise ValueError(
            f"class_label={class_label!r} has no score here: choose one of "
            f"{self.classes.tolist()}."
        )

    def _terms(self, row: int, score: int) -> list[tuple[str, float, float]]:
        parts = self.contributions[row, score]
        order = np.argsort(-np.abs(parts), kind="stable")
        shown = order if self.top is None else order[: self.top]
        terms = [
            (self.feature_names[j], float(self.values[row, j]), float(parts[j]))
            for j in shown
        ]
        rest = order[len(shown) :]
        if len(rest):
            total = float(parts[rest].sum(dtype=float))
            noun = "feature" if len(rest) == 1 else "features"
            terms.append((f"({len(rest)} other {noun})", np.nan, total))
        terms.append(("(bias)", np.nan, float(self.bias[row, score])))
        return terms


def explain(
    estimator,
    X,
    *,
    feature_names=None,
    classes=None,
    top: int | None = None,
    reference=None,
) -> Explanation:
    """Split the scores of rows into what each feature adds, exactly.

    A row's score is linear in its features once its local model is held fixed::

        f_c(x) = w_c(x) . x + b_c(x)

    The contribution of feature i is w_ci(x) x_i, and b_c(x) is the bias. Nothing is
    sampled or approximated. The contributions say how the model arrives at the
    score of this row; how the score changes away from the row also depends on how
    w(x) changes, see :func:`counterfactual`.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier of the library, or a fitted pipeline or search that ends
        in one. Contributions are in the units of what the classifier is given; with
        a feature map its features are those of the map.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain, as ``estimator.predict`` takes them. The result is dense:
        rows times scores times features.
    feature_names : sequence of str, default=None
        Names of the features that the local models see. None takes them from the
        fitted pipeline, from the frame, or makes x0, x1, ...
    classes : array-like, default=None
        Classes whose scores are explained. None takes all scores; for two classes
        that is the one score of ``classes_[1]``. The score of ``classes_[0]`` is
        the same with its sign changed.
    top : int, default=None
        Number of features that tables show for each score. The arrays hold all.
    reference : array-like of shape (n_features,), default=None
        A row r to compare with, for instance the mean of the data, in the features
        that the local models see. Contributions are then w_ci(x) (x_i - r_i), and
        the bias is w_c(x) . r + b_c(x); the sum is the same. None is a row of zeros,
        which suits centred data, and counts and images where zero means nothing.

    Returns
    -------
    Explanation
        Arrays, and tables as text and as a pandas frame.

    See Also
    --------
    counterfactual : Changes of one feature that change a decision.
    regions : A table of the local models.
    ContributionDisplay : The contributions as a picture.
    locallin.report.report : All of this as an HTML page.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = LLSVMClassifier(random_state=0).fit(X, y)
    >>> explanation = explain(clf, X[:2], top=2)
    >>> explanation.contributions.shape
    (2, 3, 4)
    >>> total = explanation.contributions.sum(axis=2) + explanation.bias
    >>> np.allclose(total, clf.decision_function(X[:2]))
    True
    >>> [name for name, value, contribution in explanation.ranked(0)][2:]
    ['(2 other features)', '(bias)']
    """
    check_count("top", top)
    unwrapped = unwrap(estimator, X, "explain")
    classifier = unwrapped.classifier
    require_local_models(classifier, "explain")
    features, names = local_features(unwrapped, feature_names)
    scores = by_score(classifier.decision_function(unwrapped.X))
    predicted = classifier.classes_[winning_classes(scores)]
    coef = classifier.local_coef(unwrapped.X)
    bias = classifier.local_intercept(unwrapped.X)
    chosen, signs, labels = _chosen_scores(classifier.classes_, classes)
    signs = signs.astype(scores.dtype)
    weights = coef[:, chosen] * signs[:, None]
    bias = bias[:, chosen] * signs
    steps = features
    if reference is not None:
        origin = _checked_reference(reference, features)
        steps = features - origin
        bias = bias + weights @ origin
    return Explanation(
        scores=scores[:, chosen] * signs,
        bias=bias,
        contributions=weights * steps[:, None],
        weights=weights,
        values=features,
        feature_names=names,
        classes=labels,
        predicted=predicted,
        top=top,
    )


def _checked_reference(reference, features: np.ndarray) -> np.ndarray:
    origin = np.asarray(reference, dtype=features.dtype)
    if origin.shape != features.shape[1:]:
        raise ValueError(
            f"reference has shape {origin.shape}, but the local models see "
            f"{features.shape[1]} features: give one number for each, or "
            "reference=None."
        )
    if not np.isfinite(origin).all():
        raise ValueError("reference holds NaN or infinity: give finite numbers.")
    return origin


def _place_of(label, known: np.ndarray) -> int:
    """Position of a class among those that the classifier knows."""
    found = np.flatnonzero(known == label)
    if not len(found):
        raise ValueError(
            f"classes={label.item()!r}: the classifier does not know "
            f"{label.item()!r}, choose among {known.tolist()}."
        )
    return int(found[0])


def _chosen_scores(known: np.ndarray, wanted):
    """Columns of the scores, their signs, and the classes they speak for."""
    two = len(known) == 2
    columns = np.array([1]) if two else np.arange(len(known))
    if wanted is not None:
        labels = np.atleast_1d(np.asarray(wanted))
        columns = np.array([_place_of(label, known) for label in labels], np.intp)
    if two:
        return np.zeros_like(columns), np.where(columns == 1, 1, -1), known[columns]
    return columns, np.ones(len(columns)), known[columns]
