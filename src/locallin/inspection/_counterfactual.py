"""The smallest change of one column that changes a decision, or reaches a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from locallin.inspection._goals import Aim, Goal, checked_goal, local_numbers
from locallin.inspection._search import (
    Change,
    Local,
    Table,
    local_classes,
    refined,
    smaller_of,
    straight_changes,
    tried_changes,
)
from locallin.inspection._walks import model_changes
from locallin.inspection.columns import with_values
from locallin.inspection.text import html_table, shown_value, table
from locallin.inspection.unwrap import (
    View,
    by_score,
    import_package,
    is_regressor,
    require_local_models,
)

_ROWS_IN_TEXT = 20
_WORDS = {"row", "feature", "decision", "model"}
# Part of the change by which the local model is asked beyond it: more than rounding,
# and before another class overtakes the target.
_JUST_BEYOND = 1e-6


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """Changes of one column that change the decision of local models, or reach numbers.

    Parameters
    ----------
    feature : ndarray of shape (n_samples,)
        Position of the column to change in ``feature_names``, -1 where none has an
        effect, or none is needed.
    value : ndarray of shape (n_samples,)
        What it is, in the user's units.
    to : ndarray of shape (n_samples,)
        A valid value at which the real model was asked: another level, or a number
        just beyond the change.
    change : ndarray of shape (n_samples,)
        What must be added to a number for the local model to be undecided, beyond it
        the decision is ``target``; for an integer, or a number behind steps that bend
        it, what leads to ``to``. NaN for levels.
    size : ndarray of shape (n_samples,)
        Size of the change in units of the scale, infinite where there is none, and 0
        where none is needed.
    predicted : ndarray of shape (n_samples,)
        Decision of the estimator at the row, or what it predicts.
    target : ndarray of shape (n_samples,)
        Decision of the local model just beyond the change; of a regressor the number
        to be reached.
    local_flips : ndarray of shape (n_samples,)
        Whether the local model, evaluated there, prefers ``target``, or has reached it.
    model_flips : ndarray of shape (n_samples,)
        Whether the real model, whose local model moves along, leaves ``predicted``
        at ``to``; of a regressor whether it is where it was wanted.
    reached : ndarray of shape (n_samples,)
        What the real model says there.
    feature_names : ndarray of shape (n_columns,)
        Names of the columns.
    of_numbers : bool, default=False
        Whether they are those of a regressor.
    by_model : bool, default=False
        Whether the whole model was asked, and not the local model of each row.

    See Also
    --------
    counterfactual : Makes it.
    Explanation : Contributions of the columns to a score.
    """

    feature: np.ndarray
    value: np.ndarray
    to: np.ndarray
    change: np.ndarray
    size: np.ndarray
    predicted: np.ndarray
    target: np.ndarray
    local_flips: np.ndarray
    model_flips: np.ndarray
    reached: np.ndarray
    feature_names: np.ndarray
    of_numbers: bool = False
    by_model: bool = False

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
            Columns feature, value, to, change, size, predicted, target, local_flips,
            model_flips and reached.
        """
        pandas = import_package("pandas", "Counterfactuals.to_frame")
        columns = [
            "value", "to", "change", "size", "predicted", "target", "local_flips",
            "model_flips", "reached",
        ]  # fmt: skip
        return pandas.DataFrame(
            {"feature": self.names} | {name: getattr(self, name) for name in columns}
        )

    def __str__(self) -> str:
        header, lines = self._table()
        text = table(header, lines, words=_WORDS)
        if len(self) > _ROWS_IN_TEXT:
            text += f"\n... and {len(self) - _ROWS_IN_TEXT} more rows"
        return f"{text}\n{self._summary()}"

    def _repr_html_(self) -> str:
        return html_table(self._summary(), *self._table(), words=_WORDS)

    def _summary(self) -> str:
        found = self.feature >= 0
        does = "is brought there" if self.of_numbers else "changes its decision"
        text = (
            f"The real model {does} in {np.count_nonzero(self.model_flips & found)} "
            f"of {np.count_nonzero(found)} rows."
        )
        if not self.by_model and (~found & (self.size > 0)).any():
            text += " Where there is none, search='model' may find one."
        return text

    def _table(self) -> tuple[tuple[str, ...], list]:
        aim = "prediction" if self.of_numbers else "decision"
        header = ("row", "feature", "value", "to", aim, "model")
        shown = range(min(len(self), _ROWS_IN_TEXT))
        return header, [self._line(i) for i in shown]

    def _line(self, i: int) -> tuple[str, ...]:
        before = shown_value(self.predicted[i])
        if self.feature[i] < 0:
            name = "(none needed)" if self.size[i] == 0 else "(none)"
            return str(i), name, "", "", before, ""
        aim = f"{before} -> {shown_value(self.target[i])}"
        reached = shown_value(self.reached[i])
        if self.of_numbers:
            says = f"reaches {reached}" if self.model_flips[i] else f"is at {reached}"
        elif not self.model_flips[i]:
            says = f"stays at {reached}"
        else:
            agrees = self.reached[i] == self.target[i]
            says = "agrees" if agrees else f"goes to {reached}"
        value, to = shown_value(self.value[i]), shown_value(self.to[i])
        return str(i), self.names[i], value, to, aim, says


def counterfactual(
    estimator,
    X,
    *,
    target=None,
    output=None,
    features=None,
    scale=None,
    beyond=0.01,
    feature_names=None,
    X_reference=None,
    search="auto",
) -> Counterfactuals:
    """Find the smallest change of one column that changes each row's decision.

    Of a regressor, the smallest that brings its prediction to a ``target``.

    The row's local model is held fixed. A number that reaches it by scaling alone
    must then change by -m / v, with the margin m(x) to a rival class, or to the target,
    and the weight v(x) of the column in its own units: exact, and one division.
    Levels, and numbers behind steps that bend them, are tried at valid values, each
    scored exactly by the row's local model; a number that was found is then brought
    nearer by halving. The real model's local model moves with the row, and may decide
    otherwise: it is asked, and the result says so in ``model_flips``.

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted one of the library with linear local models, or one inside of
        pipelines, searches and others, see :func:`explain`. Columns of the user's
        table change; where a step mixes all of them, its outputs do.
    X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
        Rows, as ``estimator.predict`` takes them.
    target : float or pair of float, default=None
        What a regressor is to predict, in the unit of y. A number is to be reached
        from either side; of a pair (low, high) the prediction is to lie within, and
        None is an open end: (None, 300) is at most 300. None is for classifiers.
    output : str, default=None
        Which of several targets of a regressor is meant: y0, y1, ...
    features : sequence of str or int, default=None
        Names or positions of the columns that may change, among those of the result.
        None allows all.
    scale : array-like of shape (n_columns,), default=None
        What counts as a change of size one in each column. None takes standard
        deviations of ``X_reference``, and without it what the scalers before the
        classifier make one. Another level, or a value instead of a missing one, is a
        change of 1, or for levels of 1 / scale.
    beyond : float, default=0.01
        How far beyond the change of a number the real model is asked, as a fraction
        of the change.
    feature_names : sequence of str, default=None
        Names of the columns of X; see :func:`explain`.
    X_reference : {array-like, sparse matrix, frame}, default=None
        Rows that say which values are valid: levels that occur, numbers within their
        range, integers where all are. None allows all numbers, integers where X has
        that dtype, and levels that encoders know or that occur in X.
    search : {"auto", "local", "model"}, default="auto"
        What is asked. "local" is the row's local model, held fixed, as above. "model"
        asks the whole model at values that the data has, and then halves the way to
        the nearest that will do: slower, rows times columns times values, and what it
        finds is what the model says. "auto" is "model" for regressors with
        ``X_reference``, as a range is easily missed, and "local" otherwise.

    Returns
    -------
    Counterfactuals
        Arrays, and tables as text, as HTML in a notebook, and as a pandas frame.

    See Also
    --------
    explain : Contributions of the columns to a score.
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

    What would bring a prediction to 1:

    >>> from locallin import LLSVMRegressor
    >>> reg = LLSVMRegressor(random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    >>> result = counterfactual(reg, X[:5], target=1.0)
    >>> bool(result.local_flips.all())
    True
    """
    if not beyond > 0:
        raise ValueError(f"beyond={beyond!r}: choose a fraction above 0.")
    if search not in ("auto", "local", "model"):
        raise ValueError(f"search={search!r}: choose 'auto', 'local' or 'model'.")
    view = View(estimator, X, "counterfactual", feature_names)
    classifier = view.classifier
    require_local_models(classifier, "counterfactual")
    if getattr(classifier, "local_model", "linear") == "constant":
        raise ValueError(
            "counterfactual needs weights, but local_model='constant' has none: "
            "use local_model='linear'."
        )
    goal = _checked_goal(classifier, target, output)
    cells = Table(view, X_reference)
    allowed = _allowed_features(features, view.names) & cells.movable
    scale = _checked_scale(scale, cells)
    aim = None if goal is None else local_numbers(view, cells, goal, output)
    local = local_classes(view, cells) if aim is None else aim.local
    if search == "auto":
        search = "local" if aim is None or X_reference is None else "model"
    if search == "local":
        best = _best(local, cells, scale, allowed)
    else:
        best = model_changes(local, cells, scale, allowed, _decisions(cells, aim))
    return _asked(local, cells, best, beyond, aim, by_model=search == "model")


def _decisions(cells: Table, aim: Aim | None):
    """A function that tells positions of decisions at rows of the table."""
    if aim is not None:
        return lambda rows: aim.ranges.of(by_score(cells.decide(rows))[:, aim.place])
    classes = cells.view.classifier.classes_
    return lambda rows: np.searchsorted(classes, cells.decide(rows))


def _checked_goal(model, target, output) -> Goal | None:
    if is_regressor(model):
        if target is None:
            raise ValueError(
                "counterfactual of a regressor needs the number to reach, target=300, "
                "or a range of numbers, target=(None, 300)."
            )
        return checked_goal(target)
    for name, value in (("target", target), ("output", output)):
        if value is not None:
            raise ValueError(
                f"{name}={value!r} is for regressors, but the model is a "
                f"{type(model).__name__}: any other class will do."
            )
    return None


def _best(local: Local, cells: Table, scale, allowed) -> Change:
    tried = tried_changes(local, cells, scale, allowed)
    return smaller_of(
        straight_changes(local, cells, scale, allowed),
        refined(local, cells, tried, scale),
    )


def _asked(
    local: Local, cells: Table, best: Change, beyond, aim: Aim | None, *, by_model
):
    """Ask the local models and the real one at the changed rows."""
    view, rows = local.view, np.arange(len(local.winners))
    found, at = best.feature >= 0, np.maximum(best.feature, 0)
    value = np.array([cells.cells[c][i] for i, c in enumerate(at)] + [None], object)
    value, to = value[:-1], best.to.copy()
    value[~found], to[~found] = np.nan, np.nan
    further = (1 + np.minimum(beyond, local.room)) * best.change
    for i in np.flatnonzero(found & best.exact):
        valid = cells.valid[at[i]]
        to[i] = min(max(float(value[i]) + further[i], valid.low), valid.high)
    places = np.where(found, cells.places[at], -1)
    moved = with_values(cells.X, places, to)
    # Just beyond an exact change, and at a candidate.
    shifted = view.local_rows(moved, cells.stage).astype(float)
    near = found & best.exact
    step = (1 + np.minimum(_JUST_BEYOND, local.room)) * best.change
    step = np.where(near, step, 0)
    own = view.origins == at[:, None]
    straight = (
        view.features + np.where(own, np.nan_to_num(view.slopes), 0) * (step[:, None])
    )
    scores = local.at(np.where(best.exact[:, None], straight, shifted))
    target = np.where(found, best.target, local.winners)
    if not by_model:
        target = np.where(found & ~best.exact, scores.argmax(axis=1), target)
    flips = scores[rows, target] > scores[rows, local.winners]
    reached = cells.decide(moved)
    size = np.where(found, best.size, np.inf)
    if aim is None:
        named = view.classifier.classes_[target]
        follows = reached != local.predicted
    else:
        named = np.where(aim.there, local.predicted, aim.edges)
        reached = by_score(reached)[:, aim.place].astype(float)
        follows = aim.goal.reached(local.predicted, reached)
        size[aim.there] = 0.0
    return Counterfactuals(
        feature=best.feature,
        value=_numbers(value),
        to=_numbers(to),
        change=np.where(found, best.change, np.nan),
        size=size,
        predicted=local.predicted,
        target=named,
        local_flips=found & flips,
        model_flips=found & follows,
        reached=reached,
        feature_names=view.names,
        of_numbers=aim is not None,
        by_model=by_model,
    )


def _numbers(values: np.ndarray) -> np.ndarray:
    """An array of numbers where all of the objects are."""
    try:
        return values.astype(float)
    except (TypeError, ValueError):
        return values


def _checked_scale(scale, cells: Table) -> np.ndarray:
    n_features = len(cells.places)
    if scale is None:
        return cells.default_scale()
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
