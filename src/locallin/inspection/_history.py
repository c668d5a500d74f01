"""Pictures of the course of training."""

import numpy as np

from locallin.inspection._drawing import DARK, figure_of, many_axes
from locallin.inspection.histories import recorded_histories
from locallin.inspection.unwrap import split_pipeline


class HistoryDisplay:
    """Objective, held-out accuracy and active anchors per epoch, as far as known.

    Parameters
    ----------
    histories : dict
        For each panel, by the name of its axis, a dict of curves by their names.
    name : str, default=""
        What was trained.
    unit : str, default="epoch"
        What the curves run over.

    Attributes
    ----------
    ax_ : ndarray of shape (1, n_panels)
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    BoundaryDisplay : What was learned, in two dimensions.
    sklearn.model_selection.LearningCurveDisplay : Scores by the number of rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import SAPLClassifier
    >>> from locallin.inspection import HistoryDisplay
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = SAPLClassifier(10, early_stopping=True, random_state=0).fit(X, y)
    >>> list(HistoryDisplay.from_estimator(clf).histories)
    ['objective', 'held-out accuracy', 'anchors per row']
    """

    def __init__(self, histories: dict, *, name: str = "", unit: str = "epoch"):
        self.histories = histories
        self.name = name
        self.unit = unit

    @classmethod
    def from_estimator(cls, estimator, *, ax=None) -> "HistoryDisplay":
        """Draw what a fitted estimator has recorded.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier of the library, an Atlas, or a pipeline or search that
            ends in one.
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or one for each panel. None makes a
            figure.

        Returns
        -------
        HistoryDisplay
            The display.
        """
        fitted = split_pipeline(estimator)[1]
        histories, unit = recorded_histories(fitted)
        name = type(fitted).__name__
        if not histories:
            raise ValueError(
                f"{name} has recorded no history: fit it first; AtlasClassifier has "
                "none, but its atlas_ does."
            )
        return cls(histories, name=name, unit=unit).plot(ax)

    def plot(self, ax=None) -> "HistoryDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or one for each panel. None makes a
            figure.

        Returns
        -------
        self : HistoryDisplay
            The display.
        """
        n = len(self.histories)
        size = max(3.6 * n, 5), 3.2
        cells = many_axes(ax, 1, n, "HistoryDisplay", size=size)
        panels = zip(cells.flat, self.histories.items(), strict=True)
        for cell, (axis, curves) in panels:
            for colour, (label, values) in zip(DARK, curves.items(), strict=False):
                epochs = np.arange(1, len(values) + 1)
                marker = "o" if len(values) < 30 else None
                cell.plot(
                    epochs, values, color=colour, marker=marker, ms=3, label=label
                )
            title = axis if len(curves) > 1 else next(iter(curves))
            cell.set(title=title.capitalize(), xlabel=self.unit)
            cell.xaxis.get_major_locator().set_params(integer=True)
            cell.grid(alpha=0.3)
            cell.spines[["top", "right"]].set_visible(False)
            if len(curves) > 1:
                cell.legend(fontsize=8, frameon=False)
            if axis.startswith("held-out"):
                values = next(iter(curves.values()))
                best = int(values.argmax())
                cell.plot(best + 1, values[best], "*", color=DARK[1], ms=11)
                cell.set_title(f"H{axis[1:]} (best {values[best]:.3f})")
        self.ax_, self.figure_ = cells, figure_of(cells)
        if ax is None and self.name:
            self.figure_.suptitle(self.name)
        return self
