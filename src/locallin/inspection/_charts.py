"""Pictures of the charts of an atlas."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from locallin.atlas import Atlas, fitted_charts
from locallin.engine.input import checked_data
from locallin.inspection._drawing import one_axes, pyplot
from locallin.inspection.unwrap import split_pipeline

# Half axes of an outline, in standard deviations of the chart's rows.
_REACH = 1.8


class ChartDisplay:
    """The charts of an atlas and the rows on them, in two or three dimensions.

    A chart of one dimension is drawn as a line over its rows, one of more as the
    ellipse of its first two directions. Data of more dimensions is seen along its
    principal axes.

    Parameters
    ----------
    points : ndarray of shape (n_samples, dimensions)
        Rows.
    labels : ndarray of shape (n_samples,)
        Their charts.
    outlines : list of ndarray of shape (n_corners, dimensions)
        Lines that show the charts.
    axis_names : sequence of str
        Names of the axes.
    n_charts : int, default=None
        Number of charts of the atlas, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    BoundaryDisplay : Anchors, local lines and the boundary.
    locallin.Atlas : Learns the charts.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from locallin import Atlas
    >>> from locallin.inspection import ChartDisplay
    >>> X, _ = make_s_curve(400, random_state=0)
    >>> atlas = Atlas(2, random_state=0).fit(X)
    >>> display = ChartDisplay.from_estimator(atlas, X, labels=atlas.labels_)
    >>> display.points.shape
    (400, 3)
    """

    def __init__(self, points, labels, outlines, axis_names, *, n_charts=None):
        self.points = points
        self.labels = labels
        self.outlines = outlines
        self.axis_names = axis_names
        self.n_charts = n_charts

    @classmethod
    def from_estimator(
        cls, estimator, X, *, labels=None, dimensions: int | None = None, ax=None
    ) -> "ChartDisplay":
        """Find the chart of each row and draw both.

        Parameters
        ----------
        estimator : Atlas, AtlasClassifier or AtlasRegressor
            A fitted one, or a fitted pipeline or search that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        labels : array-like of shape (n_samples,), default=None
            The chart of each row: ``labels_`` of the atlas, where X is what it was
            fitted to. None takes the chart with the smallest reconstruction error,
            which may pass through rows far away, as charts have no borders.
        dimensions : {2, 3}, default=None
            Dimensions of the picture. None is 3 where the data has three or more
            features, and 2 otherwise.
        ax : matplotlib Axes, default=None
            Where to draw; with ``projection="3d"`` for three dimensions. None makes a
            figure.

        Returns
        -------
        ChartDisplay
            The display.
        """
        before, fitted = split_pipeline(estimator)
        atlas = getattr(fitted, "atlas_", fitted)
        if not isinstance(atlas, Atlas):
            raise TypeError(
                "ChartDisplay needs an Atlas or machines on one, but estimator="
                f"{type(fitted).__name__}."
            )
        check_is_fitted(atlas)
        for _, step in before:
            X = step.transform(X)
        X = checked_data(atlas, X, reset=False)
        nearest = _charts_of(atlas, X, labels)
        if sparse.issparse(X):
            X = X.toarray()
        n_features = X.shape[1]
        if dimensions is None:
            dimensions = 3 if n_features > 2 else 2
        if dimensions not in (2, 3) or dimensions > n_features:
            raise ValueError(
                f"dimensions={dimensions!r}, but the data has {n_features} features: "
                "choose 2 or 3, and no more than there are features."
            )
        centre, axes = np.zeros(n_features), np.eye(n_features)
        names = getattr(atlas, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(n_features)]
        if n_features > dimensions:
            centre = X.mean(axis=0)
            axes = np.linalg.svd(X - centre, full_matrices=False)[2][:dimensions]
            names = [f"principal axis {i + 1}" for i in range(len(axes))]

        outlines = []
        for chart in np.unique(nearest):
            mean, basis = atlas.means_[chart], atlas.components_[chart]
            inside = (X[nearest == chart] - mean) @ basis.T
            outlines.append((mean - centre + _outline(inside) @ basis) @ axes.T)
        display = cls(
            (X - centre) @ axes.T, nearest, outlines, names, n_charts=len(atlas.means_)
        )
        return display.plot(ax)

    def plot(self, ax=None) -> "ChartDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; with ``projection="3d"`` for three dimensions. None makes a
            figure.

        Returns
        -------
        self : ChartDisplay
            The display.
        """
        dimensions = self.points.shape[1]
        projection = "3d" if dimensions == 3 else None
        ax = one_axes(ax, "ChartDisplay", size=(6.4, 5.4), projection=projection)
        if dimensions == 3 and not hasattr(ax, "set_zlabel"):
            raise ValueError(
                "ax draws two dimensions, but the display has three: make it with "
                "projection='3d', or choose dimensions=2."
            )
        cycle = pyplot("ChartDisplay").get_cmap("tab20").colors
        # Neighbours on the list of charts are far apart on the list of colours.
        tint = [cycle[chart * 7 % 20] for chart in self.labels]
        ax.scatter(*self.points.T, s=8, c=tint, alpha=0.8, linewidths=0)
        for chart, outline in zip(np.unique(self.labels), self.outlines, strict=True):
            colour = np.multiply(cycle[chart * 7 % 20], 0.6)
            ax.plot(*outline.T, color=colour, lw=2)
        drawn = len(self.outlines)
        total = self.n_charts or drawn
        title = f"{total} charts" if total > 1 else "1 chart"
        if drawn < total:
            title = f"{drawn} of {total} charts"
        ax.set(title=title, xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        if dimensions == 3:
            ax.set_zlabel(self.axis_names[2])
        ax.set_aspect("equal")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _charts_of(atlas, X, labels) -> np.ndarray:
    if labels is None:
        return fitted_charts(atlas, X.dtype).nearest(X, 1)[0][:, 0]
    labels = column_or_1d(labels)
    check_consistent_length(X, labels)
    n_charts = len(atlas.means_)
    if not np.isin(labels, np.arange(n_charts)).all():
        raise ValueError(
            f"labels must be numbers of charts, 0 to {n_charts - 1}: give labels_ of "
            "the atlas, or labels=None."
        )
    return labels


def _outline(inside: np.ndarray) -> np.ndarray:
    """Corners of a line or an ellipse over rows in a chart's coordinates."""
    d = inside.shape[1]
    if d == 1:
        return np.array([inside.min(axis=0), inside.max(axis=0)])
    angle = np.linspace(0, 2 * np.pi, 60)
    circle = np.zeros((len(angle), d))
    circle[:, 0], circle[:, 1] = np.cos(angle), np.sin(angle)
    return inside.mean(axis=0) + _REACH * inside.std(axis=0) * circle
