"""Pictures of effects: importances of columns, and what their values add."""

from __future__ import annotations

import numpy as np

from locallin.inspection._drawing import DARK, FOR, figure_of, many_axes, one_axes
from locallin.inspection._effects import Effect, GlobalEffects, global_effects
from locallin.inspection.columns import is_missing
from locallin.inspection.text import plain, shown_value
from locallin.inspection.unwrap import check_count

_LONGEST = 24


class ImportanceDisplay:
    """Bars of how much each column matters: its mean absolute contribution.

    Make it with :meth:`from_estimator`, or from :class:`GlobalEffects`.

    Parameters
    ----------
    effects : GlobalEffects
        Effects of the columns, as :func:`global_effects` gives them.
    top : int or None, default=20
        Number of columns that are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : matplotlib BarContainer
        The bars, the most important column first.

    See Also
    --------
    global_effects : The numbers that are drawn.
    EffectDisplay : What the values of a column add.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import ImportanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = LLSVMClassifier(5, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(clf, X)
    >>> len(display.bars_)
    4
    """

    def __init__(self, effects: GlobalEffects, *, top: int | None = 20):
        self.effects = effects
        self.top = top

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        sample_weight=None,
        feature_names=None,
        top: int | None = 20,
        max_samples: int | None = 2000,
        random_state=0,
        ax=None,
    ) -> ImportanceDisplay:
        """Explain rows and draw the importances.

        Parameters
        ----------
        estimator : classifier
            See :func:`global_effects`.
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        feature_names : sequence of str, default=None
            Names of the columns of X.
        top : int or None, default=20
            Number of columns that are drawn.
        max_samples : int or None, default=2000
            Largest number of rows that are explained.
        random_state : int, RandomState instance or None, default=0
            Seed of the choice of rows.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.

        Returns
        -------
        ImportanceDisplay
            The display.
        """
        check_count("top", top)
        effects = global_effects(
            estimator, X, sample_weight=sample_weight, feature_names=feature_names,
            max_samples=max_samples, random_state=random_state,
        )  # fmt: skip
        return cls(effects, top=top).plot(ax)

    def plot(self, ax=None) -> ImportanceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.

        Returns
        -------
        self : ImportanceDisplay
            The display.
        """
        sizes = self.effects.importance[: self.top]
        names = [_label(name) for name in self.effects.feature_names[: self.top]]
        ax = one_axes(ax, "ImportanceDisplay", size=(7, 1.2 + 0.3 * len(names)))
        places = np.arange(len(names))
        self.bars_ = ax.barh(places, sizes, color=FOR)
        ax.bar_label(self.bars_, [f"{size:.3g}" for size in sizes], padding=3)
        ax.margins(x=0.12)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(
            xlabel="mean absolute contribution to a score",
            title=f"Importance of columns, {self.effects.n_rows} rows",
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


class EffectDisplay:
    """What the values of columns add to a score, by region.

    A panel for each column: the mean contribution against the value in black, with the
    spread between local models around it, and a thinner curve for each of the largest
    local models; bars and points for categories. A dotted line is where local models
    differ most: there the column interacts with others.

    Make it with :meth:`from_estimator`, or from :class:`GlobalEffects`.

    Parameters
    ----------
    effects : GlobalEffects
        Effects of the columns, as :func:`global_effects` gives them.
    features : sequence of str, default=None
        Names of the columns that are drawn; None takes the four most important ones.
    class_label : object, default=None
        Class whose score is looked at; None is the first that has a score.

    Attributes
    ----------
    ax_ : ndarray of shape (n_rows, n_columns)
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    global_effects : The numbers that are drawn.
    ImportanceDisplay : How much each column matters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import EffectDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = LLSVMClassifier(5, random_state=0).fit(X, y)
    >>> display = EffectDisplay.from_estimator(clf, X, class_label=2)
    >>> display.ax_.shape
    (2, 2)
    """

    def __init__(self, effects: GlobalEffects, *, features=None, class_label=None):
        self.effects = effects
        self.features = features
        self.class_label = class_label

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        features=None,
        class_label=None,
        sample_weight=None,
        feature_names=None,
        n_regions: int = 6,
        max_samples: int | None = 2000,
        random_state=0,
        ax=None,
    ) -> EffectDisplay:
        """Explain rows and draw the effects.

        Parameters
        ----------
        estimator : classifier
            See :func:`global_effects`.
        X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
            Rows.
        features : sequence of str, default=None
            Names of the columns that are drawn; None takes the four most important.
        class_label : object, default=None
            Class whose score is looked at; None is the first that has a score.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        feature_names : sequence of str, default=None
            Names of the columns of X.
        n_regions : int, default=6
            Number of local models that have curves of their own.
        max_samples : int or None, default=2000
            Largest number of rows that are explained.
        random_state : int, RandomState instance or None, default=0
            Seed of the choice of rows.
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or one for each panel. None makes a
            figure.

        Returns
        -------
        EffectDisplay
            The display.
        """
        effects = global_effects(
            estimator, X, sample_weight=sample_weight, feature_names=feature_names,
            n_regions=n_regions, max_samples=max_samples, random_state=random_state,
        )  # fmt: skip
        return cls(effects, features=features, class_label=class_label).plot(ax)

    def plot(self, ax=None) -> EffectDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or one for each panel. None makes a
            figure.

        Returns
        -------
        self : EffectDisplay
            The display.
        """
        score = self.effects.score_of(self.class_label)
        names = self.features
        if names is None:
            names = self.effects.feature_names[:4]
        shown = [self.effects[name] for name in names]
        n_columns = min(2, len(shown))
        n_rows = -(-len(shown) // n_columns)
        size = 4.6 * n_columns, 3.2 * n_rows
        cells = many_axes(ax, n_rows, n_columns, "EffectDisplay", size=size)
        for cell, effect in zip(cells.flat, shown, strict=False):
            draw = _draw_levels if effect.kind == "category" else _draw_number
            draw(cell, effect, score, self.effects.regions)
            cell.axhline(0, color="black", lw=0.6)
            cell.set_xlabel(_label(effect.name))
            cell.set_title(
                f"matters {effect.importance[score]:.3g}, "
                f"differs by region {effect.interaction[score]:.3g}",
                fontsize=9,
            )
            cell.spines[["top", "right"]].set_visible(False)
        for cell in cells.flat[len(shown) :]:
            cell.set_axis_off()
        for cell in cells[:, 0]:
            cell.set_ylabel(f"adds to {_label(self.effects.classes[score])}")
        cells.flat[0].legend(fontsize=7, frameon=False)
        self.ax_, self.figure_ = cells, figure_of(cells)
        return self


def _draw_number(ax, effect: Effect, score: int, regions: list[str]) -> None:
    values = effect.positions
    known = np.isfinite(values)
    x, mean, spread = values[known], effect.mean[score, known], effect.spread[score]
    for place, name in enumerate(regions):
        line = effect.by_region[score, place, known]
        there = np.isfinite(line)
        ax.plot(
            x[there], line[there], ".-", ms=3, lw=0.9, color=DARK[place % len(DARK)],
            label=f"region {_label(name)}",
        )  # fmt: skip
    band = spread[known]
    ax.fill_between(x, mean - band, mean + band, color="black", alpha=0.1, lw=0)
    ax.plot(x, mean, color="black", lw=1.8, label="all rows")
    if not known.all():
        gap = effect.mean[score, ~known][0]
        ax.axhline(gap, color="#888888", ls="--", lw=1, label="missing")
    if band.any():
        ax.axvline(x[band.argmax()], color="#888888", ls=":", lw=1)
    if effect.kind == "date":
        ends = np.flatnonzero(known)[[0, -1]]
        labels = [_label(_day(effect.values[i])) for i in ends]
        ax.set_xticks(values[ends], labels)


def _day(moment) -> str:
    return moment.date().isoformat()


def _draw_levels(ax, effect: Effect, score: int, regions: list[str]) -> None:
    places = np.arange(len(effect.values))
    mean, spread = effect.mean[score], effect.spread[score]
    ax.bar(places, mean, color="#cccccc", yerr=spread, ecolor="#555555", capsize=3)
    for place, name in enumerate(regions):
        ax.plot(
            places, effect.by_region[score, place], "o", ms=4,
            color=DARK[place % len(DARK)], label=f"region {_label(name)}",
        )  # fmt: skip
    if spread.any():
        ax.axvline(int(spread.argmax()), color="#888888", ls=":", lw=1)
    turn = 90 if len(places) > 6 else 0
    labels = [_label(shown_value(value)) for value in effect.values]
    ax.set_xticks(places, labels, rotation=turn, fontsize=8)


def _label(value) -> str:
    """Text of a picture: one line, not too long, and no formula."""
    text = "missing" if is_missing(value) else plain(value)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return text.replace("$", r"\$")
