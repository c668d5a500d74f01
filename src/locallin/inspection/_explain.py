"""Contributions of features to the score of a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from locallin.inspection.columns import as_frame_like, count_columns
from locallin.inspection.text import html_table, plain, shown_value, signed, table
from locallin.inspection.unwrap import (
    View,
    check_count,
    import_package,
    is_regressor,
    labels_of,
    require_local_models,
    scores_of,
)

# Rows that ``str`` writes out.
_ROWS_IN_TEXT = 3


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of columns to the scores of some rows.

    ``contributions.sum(axis=2) + bias`` is ``scores``, to rounding. The columns are
    those of the user's table; where a step of a pipeline mixes columns, what this step
    puts out.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_scores)
        Scores, as ``decision_function`` of the classifier or ``linear_predictor`` of
        the regressor gives them.
    bias : ndarray of shape (n_samples, n_scores)
        Local intercepts; with a reference, its score under the row's local model.
    contributions : ndarray of shape (n_samples, n_scores, n_columns)
        Local weight times feature, added up over the features that come from a
        column; less those of the reference where there is one.
    weights : ndarray of shape (n_samples, n_scores, n_columns)
        Change of the score by that of the column at the row's value, in its own units,
        with the local model held fixed. Behind the bins of
        :class:`~locallin.encoding.TableEncoder` it is that of the bin to the right of
        the value. NaN where there is none: categories, missing values, and columns
        behind powers, quantiles and other bends that do not tell their slopes.
    values : ndarray of shape (n_samples, n_columns)
        The columns, as the user gave them: numbers where all of them are numeric, and
        objects otherwise. Missing values are NaN.
    feature_names : ndarray of shape (n_columns,)
        Names of the columns.
    classes : ndarray of shape (n_scores,)
        The class that each score speaks for; of a regressor the name of each target.
    predicted : ndarray of shape (n_samples,) or (n_samples, n_targets)
        What the estimator predicts.
    top : int or None, default=None
        Number of features that tables show for each score; they put the others
        together. None shows all.
    start : int, default=0
        Number of the first row in tables.
    of_numbers : bool, default=False
        Whether the scores are the predictions of a regressor.
    of_logarithms : bool, default=False
        Whether the scores are logarithms of these predictions.

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
    of_numbers: bool = False
    of_logarithms: bool = False

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

    def ranked(self, row: int = 0, class_label=None) -> list[tuple[str, Any, float]]:
        """Terms of one score, the largest contributions first.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        class_label : object, default=None
            Class, or target, whose score is looked at. None is the predicted class
            where its score is there, and the first of ``classes`` otherwise.

        Returns
        -------
        list of (name, value, contribution)
            The columns, then those beyond ``top`` together, then the bias; the
            values of the last two are None, and a missing value is NaN. The
            contributions add up to the score.
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
        pandas = import_package("pandas", "Explanation.to_frame")
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
        title, header, lines = self._table(row, class_label)
        return f"{plain(title)}\n{table(header, lines, words={'feature'})}"

    def to_shap(self):
        """The same numbers for the plots of SHAP, which must be installed.

        Returns
        -------
        shap.Explanation
            Contributions as values and the bias as base values, of shape (n_samples,
            n_columns) where there is one score, with the scores as last axis
            otherwise. They are :func:`explain`'s, not Shapley values.
        """
        shap = import_package("shap", "Explanation.to_shap")
        parts, bias = np.moveaxis(self.contributions, 1, 2), self.bias
        names: list[str] | None = [str(label) for label in self.classes]
        if len(self.classes) == 1:
            parts, bias, names = parts[:, :, 0], bias[:, 0], None
        return shap.Explanation(
            values=parts,
            base_values=bias,
            data=self.values,
            feature_names=[str(name) for name in self.feature_names],
            output_names=names,
        )

    def __str__(self) -> str:
        shown = [self.to_text(i) for i in range(min(len(self), _ROWS_IN_TEXT))]
        if len(self) > _ROWS_IN_TEXT:
            shown.append(f"... and {len(self) - _ROWS_IN_TEXT} more rows")
        return "\n\n".join(shown)

    def _repr_html_(self) -> str:
        shown = [
            html_table(*self._table(i, None), words={"feature"})
            for i in range(min(len(self), _ROWS_IN_TEXT))
        ]
        if len(self) > _ROWS_IN_TEXT:
            shown.append(f"<p>… and {len(self) - _ROWS_IN_TEXT} more rows</p>")
        return "".join(shown)

    def _table(self, row: int, class_label) -> tuple[str, tuple[str, ...], list]:
        """Title, header and lines of the table of one score."""
        row = self._position(row)
        score = self._score_of(row, class_label)
        label = self.classes[score]
        if self.of_numbers:
            title, last = f"row {self.start + row}: predicted {label}", "= prediction"
            if self.of_logarithms:
                title, last = f"{title}, its logarithm", "= log(prediction)"
        else:
            title = f"row {self.start + row}: predicted {self.predicted[row]}, "
            title, last = f"{title}score of {label}", "= score"
        lines = [
            (name, "" if value is None else shown_value(value), signed(contribution))
            for name, value, contribution in self._terms(row, score)
        ]
        lines.append((last, "", signed(self.scores[row, score])))
        return title, ("feature", "value", "contribution"), lines

    def _position(self, row: int) -> int:
        if not -len(self) <= row < len(self):
            raise IndexError(
                f"row={row}, but the explanation has {len(self)} rows: choose one of "
                f"0 to {len(self) - 1}."
            )
        return row % len(self)

    def _score_of(self, row: int, class_label) -> int:
        if class_label is None and self.of_numbers:
            return 0
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

    def _terms(self, row: int, score: int) -> list[tuple[str, Any, float]]:
        parts = self.contributions[row, score]
        order = np.argsort(-np.abs(parts), kind="stable")
        shown = order if self.top is None else order[: self.top]
        terms = [
            (self.feature_names[j], _python(self.values[row, j]), float(parts[j]))
            for j in shown
        ]
        rest = order[len(shown) :]
        if len(rest):
            total = float(parts[rest].sum(dtype=float))
            noun = "feature" if len(rest) == 1 else "features"
            terms.append((f"({len(rest)} other {noun})", None, total))
        terms.append(("(bias)", None, float(self.bias[row, score])))
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
    """Split the scores of rows into what each column adds, exactly.

    A row's score is linear in what its local model sees, once that model is held
    fixed. The features are made of columns, each of one, so that the score is a sum
    over columns::

        f_c(x) = sum over columns k of  h_ck(x_k)  +  b_c(x)
        h_ck   = sum over the features i that come from column k of  w_ci(x) phi_i(x_k)

    The contribution of column k is h_ck, and b_c(x) is the bias. Nothing is sampled
    or approximated. The contributions say how the model arrives at the score of this
    row; how the score changes away from the row also depends on how w(x) changes, see
    :func:`counterfactual`. The scores of a regressor are its predictions, and the
    contributions are in the unit of y; with ``loss="poisson"`` and "gamma" they are
    logarithms, and a contribution c multiplies the prediction by exp(c).

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted one of the library, or one inside of fitted pipelines,
        searches, ``FrozenEstimator``, ``CalibratedClassifierCV`` (with one
        classifier), ``FixedThresholdClassifier`` and ``TunedThresholdClassifierCV``.
        Scalers, imputers, encoders, bins, selections, feature maps and other steps
        that make each feature of one column are seen through, within
        ``ColumnTransformer``, too; so is a transformer with a method
        ``get_feature_origins()``, the input column of each of its features. What a
        step makes of several columns (PCA, products) are columns of their own.
    X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
        Rows to explain, as ``estimator.predict`` takes them. The result is dense:
        rows times scores times columns.
    feature_names : sequence of str, default=None
        Names of the columns of X. None takes them from the fitted estimator, from the
        frame, or makes x0, x1, ...
    classes : array-like, default=None
        Classes whose scores are explained. None takes all scores; for two classes
        that is the one score of ``classes_[1]``. The score of ``classes_[0]`` is
        the same with its sign changed. Of a regressor, names of targets: y, or y0, y1,
        ... of several.
    top : int, default=None
        Number of columns that tables show for each score. The arrays hold all.
    reference : array-like of shape (n_features,) or frame of one row, default=None
        A row r of the user's table to compare with, for instance its mean row.
        Contributions are then h_ck(x_k) - h_ck(r_k), and the bias is the score of r
        under the row's local model; the sum is the same. None compares features with
        zero. Behind ``StandardScaler`` that is the average row, as a feature is
        (x - mean) / deviation; for a one-hot column it is none of the levels.

    Returns
    -------
    Explanation
        Arrays, and tables as text, as HTML in a notebook, and as a pandas frame.
        Columns that no feature comes from are left out.

    See Also
    --------
    counterfactual : Changes of one column that change a decision.
    global_effects : Contributions over many rows: importances and curves.
    regions : A table of the local models.
    locallin.report.report : All of this, and pictures, as an HTML page.

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

    One contribution a column, whatever it was made into:

    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> table = pd.DataFrame({"home": ["rent", "own", "rent", "free"] * 10,
    ...                       "age": range(20, 60)})
    >>> steps = make_column_transformer(
    ...     (OneHotEncoder(), ["home"]), (StandardScaler(), ["age"])
    ... )
    >>> clf = make_pipeline(steps, LLSVMClassifier(3, random_state=0))
    >>> _ = clf.fit(table, table["home"] == "rent")
    >>> [(name, value) for name, value, _ in explain(clf, table[:1]).ranked()][:2]
    [('home', 'rent'), ('age', 20)]
    """
    check_count("top", top)
    view = View(estimator, X, "explain", feature_names)
    return explain_view(view, classes=classes, top=top, reference=reference)


def explain_view(
    view: View, *, classes=None, top: int | None = None, reference=None
) -> Explanation:
    """Explanation of rows that are looked at."""
    classifier = view.classifier
    require_local_models(classifier, "explain")
    scores = scores_of(classifier, view.rows)
    chosen, signs, labels = _chosen_scores(
        labels_of(classifier), classes, is_regressor(classifier)
    )
    signs = signs.astype(scores.dtype)
    weights = classifier.local_coef(view.rows)[:, chosen] * signs[:, None]
    bias = classifier.local_intercept(view.rows)[:, chosen] * signs
    steps = view.features
    if reference is not None:
        origin = _reference_features(view, reference)
        steps = view.features - origin
        bias = bias + weights @ origin
    return Explanation(
        scores=scores[:, chosen] * signs,
        bias=bias,
        contributions=view.by_column(weights * steps[:, None]),
        weights=view.by_column(
            weights * view.local_slopes[:, None].astype(weights.dtype)
        ),
        values=view.values,
        feature_names=view.names,
        classes=labels,
        predicted=view.estimator.predict(view.stages[0]),
        top=top,
        of_numbers=is_regressor(classifier),
        of_logarithms=is_regressor(classifier) and classifier.has_log_link,
    )


def _python(value):
    """A value of an array as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def _reference_features(view: View, reference) -> np.ndarray:
    """A row of the user's table as the local models see it."""
    X = view.stages[0]
    row = reference
    if not hasattr(reference, "columns"):
        row = np.asarray(reference)
        if row.shape != (count_columns(X),):
            raise ValueError(
                f"reference has shape {row.shape}, but X has {count_columns(X)} "
                "columns: give one value for each, or reference=None."
            )
        row = as_frame_like(X, row[None])
    try:
        return view.local_rows(row)[0]
    except ValueError as error:
        raise ValueError(f"reference is no row that can be scored: {error}") from error


def _place_of(label, known: np.ndarray) -> int:
    """Position of a class among those that the classifier knows."""
    found = np.flatnonzero(known == label)
    if not len(found):
        raise ValueError(
            f"classes={label.item()!r}: the classifier does not know "
            f"{label.item()!r}, choose among {known.tolist()}."
        )
    return int(found[0])


def _chosen_scores(known: np.ndarray, wanted, of_numbers: bool):
    """Columns of the scores, their signs, and the classes they speak for."""
    two = len(known) == 2 and not of_numbers
    columns = np.array([1]) if two else np.arange(len(known))
    if wanted is not None:
        labels = np.atleast_1d(np.asarray(wanted))
        columns = np.array([_place_of(label, known) for label in labels], np.intp)
    if two:
        return np.zeros_like(columns), np.where(columns == 1, 1, -1), known[columns]
    return columns, np.ones(len(columns)), known[columns]
