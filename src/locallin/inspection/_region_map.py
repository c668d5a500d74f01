"""A map of the local models."""

import numpy as np

from locallin.inspection._drawing import DARK, figure_of, many_axes
from locallin.inspection._regions import Regions, regions
from locallin.inspection.unwrap import check_count


class RegionDisplay:
    """Local models side by side, those with the most rows first.

    Above, the number of rows of each; in the middle the classes of these rows; below
    accuracy, where known, and overlap, the weight that other models have on its rows.

    Parameters
    ----------
    regions : Regions
        The local models, as :func:`regions` gives them.

    Attributes
    ----------
    ax_ : ndarray of shape (3, 1)
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    regions : The numbers that are drawn.
    BoundaryDisplay : Data in two dimensions, with the boundary.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import RegionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = LLSVMClassifier(6, random_state=0).fit(X, y)
    >>> display = RegionDisplay.from_estimator(clf, X, y)
    >>> len(display.regions)
    6
    """

    def __init__(self, regions: Regions):
        self.regions = regions

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, limit: int | None = 30, ax=None
    ) -> "RegionDisplay":
        """Ask for the local models and draw them.

        Parameters
        ----------
        estimator : classifier or regressor
            See :func:`regions`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Their classes, or numbers.
        limit : int or None, default=30
            Largest number of local models that are drawn.
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or three. None makes a figure.

        Returns
        -------
        RegionDisplay
            The display.
        """
        check_count("limit", limit)
        return cls(regions(estimator, X, y)[:limit]).plot(ax)

    def plot(self, ax=None) -> "RegionDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or three. None makes a figure.

        Returns
        -------
        self : RegionDisplay
            The display.
        """
        shown = list(self.regions)
        numbers = any(region.mean is not None for region in shown)
        n, n_classes = len(shown), len(self.regions.class_labels)
        middle = 1.2 if numbers else max(0.24 * n_classes, 0.8)
        cells = many_axes(
            ax, 3, 1, "RegionDisplay",
            size=(max(0.3 * n + 2, 6), middle + 3.4),
            height_ratios=[1.2, middle, 1.2],
        )  # fmt: skip
        counts, served, quality = cells.flat
        places, figure = np.arange(n), figure_of(cells)
        counts.bar(places, [region.rows for region in shown], color="#777777")
        what = "mean of y" if numbers else "classes"
        counts.set(ylabel="rows", title=f"Local models: rows, {what}, quality")
        if numbers:
            served.plot(places, [one.mean for one in shown], "o", color=DARK[0], ms=4)
            served.set_ylabel("mean of y")
            served.grid(alpha=0.3)
        else:
            image = self._draw_classes(served)
            figure.colorbar(image, ax=cells.ravel().tolist(), label="share of its rows")
        low = 0.0
        overlap = [region.overlap for region in shown]
        quality.plot(places, overlap, "o", color=DARK[1], ms=4, label="overlap")
        if all(region.accuracy is not None for region in shown):
            accuracy = [region.accuracy for region in shown]
            quality.plot(places, accuracy, "s", color=DARK[0], ms=4, label="accuracy")
        elif all(region.r2 is not None for region in shown):
            # What is worse than the mean by far is drawn at the lower end.
            r2 = np.maximum([region.r2 for region in shown], -1.0)
            quality.plot(places, r2, "s", color=DARK[0], ms=4, label="R2")
            low = min(0.0, np.nanmin(r2, initial=0.0))
        quality.set(ylim=(low - 0.05, 1.05), ylabel="fraction", xlabel="local model")
        quality.grid(alpha=0.3)
        quality.legend(
            fontsize=8, frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1)
        )
        names = [region.name for region in shown]
        turn = 90 if any(len(name) > 2 for name in names) else 0
        for cell in (counts, served):
            cell.set_xticks([])
        quality.set_xticks(places, names, fontsize=8, rotation=turn)
        for cell in cells.flat:
            cell.set_xlim(-0.6, n - 0.4)
        self.ax_, self.figure_ = cells, figure
        return self

    def _draw_classes(self, ax):
        """Shares of the classes among the rows of each local model."""
        labels = self.regions.class_labels.tolist()
        share = np.zeros((len(labels), len(self.regions)))
        for j, region in enumerate(self.regions):
            for label, count in region.classes.items():
                if label in labels:
                    share[labels.index(label), j] = count / region.rows
        ax.set_yticks(np.arange(len(labels)), labels, fontsize=8)
        ax.set_ylabel("class of its rows")
        return ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
