"""Pictures of decisions in the plane."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from locallin.inspection._drawing import colours, one_axes, pale
from locallin.inspection.columns import as_frame_like, column_names
from locallin.inspection.unwrap import by_score, check_count, classifier_in, has_map

# Half the length of a local line, as a part of the picture's width and height.
_REACH = 0.09


class _Grid(NamedTuple):
    """Margins on a grid in the plane."""

    xx0: np.ndarray
    xx1: np.ndarray
    margins: np.ndarray  # (n_classes, rows, columns): score less the best other


class BoundaryDisplay:
    """Decisions in the plane, with anchors and the local lines that make them.

    At a point p of the boundary the local line w(p) . x + b(p) = 0 passes through p.
    For each anchor the point of the boundary that is nearest to it is taken. A local
    line is no tangent: along the boundary the local model changes, too.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution)
        The grid, as :func:`numpy.meshgrid` gives it.
    margins : ndarray of shape (n_classes, grid_resolution, grid_resolution)
        Score of each class less the best of the other classes.
    class_labels : array-like of shape (n_classes,)
        The classes.
    anchors : ndarray of shape (n_anchors, 2), default=None
        Anchors or means of charts.
    lines : ndarray of shape (n_lines, 2, 2), default=None
        Ends of the local lines.
    X : ndarray of shape (n_samples, 2), default=None
        Rows.
    y : ndarray of shape (n_samples,), default=None
        Their classes.
    feature_names : sequence of str, default=None
        Names of the two features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    surface_ : matplotlib AxesImage
        The decisions.

    See Also
    --------
    ChartDisplay : Charts of an atlas, in the same manner.
    sklearn.inspection.DecisionBoundaryDisplay : For any classifier.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import BoundaryDisplay
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(10, random_state=0).fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(clf, X, y)
    >>> display.anchors.shape
    (10, 2)
    """

    def __init__(
        self,
        xx0,
        xx1,
        margins,
        class_labels,
        *,
        anchors=None,
        lines=None,
        X=None,
        y=None,
        feature_names=None,
    ):
        self.xx0 = xx0
        self.xx1 = xx1
        self.margins = margins
        self.class_labels = class_labels
        self.anchors = anchors
        self.lines = lines
        self.X = X
        self.y = y
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        grid_resolution: int = 200,
        margin: float = 0.1,
        ax=None,
    ) -> "BoundaryDisplay":
        """Ask a classifier for its decisions around the rows of X, and draw them.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier of the library, or a fitted pipeline or search that
            ends in one. Anchors behind other steps are drawn where these have
            ``inverse_transform``, and local lines where also no feature map and no
            RBF kernel makes them curves.
        X : array-like of shape (n_samples, 2)
            Rows, as ``estimator.predict`` takes them.
        y : array-like of shape (n_samples,), default=None
            Their classes.
        grid_resolution : int, default=200
            Number of points of the grid in each direction.
        margin : float, default=0.1
            Room around the rows, as a part of their range.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.

        Returns
        -------
        BoundaryDisplay
            The display.
        """
        check_count("grid_resolution", grid_resolution)
        steps, classifier = classifier_in(estimator, "BoundaryDisplay")
        before = [step for _, step in steps]
        rows = check_array(X)
        if rows.shape[1] != 2:
            raise ValueError(
                f"X has {rows.shape[1]} features, but BoundaryDisplay draws a plane: "
                "fit the estimator to two features."
            )
        grid = _grid_around(
            rows,
            margin,
            grid_resolution,
            lambda points: by_score(
                estimator.decision_function(as_frame_like(X, points))
            ),
        )
        anchors = _anchors_of(classifier)
        lines = None
        if not all(hasattr(step, "inverse_transform") for step in before):
            anchors = None
        if anchors is not None:
            plane = _Plane(X, before)
            anchors = plane.back(anchors)
            linear = getattr(classifier, "local_model", "linear") == "linear"
            if linear and hasattr(classifier, "local_coef") and not has_map(classifier):
                lines = _local_lines(classifier, grid, anchors, plane)
        display = cls(
            *grid, classifier.classes_,
            anchors=anchors, lines=lines, X=rows,
            y=None if y is None else np.asarray(y),
            feature_names=column_names(X),
        )  # fmt: skip
        return display.plot(ax)

    def plot(self, ax=None, *, lines: bool = True) -> "BoundaryDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.
        lines : bool, default=True
            Whether to draw the local lines.

        Returns
        -------
        self : BoundaryDisplay
            The display.
        """
        ax = one_axes(ax, "BoundaryDisplay", size=(8, 5.2))
        self._draw_decisions(ax)
        if self.X is not None:
            self._draw_rows(ax)
        if lines and self.lines is not None:
            for i, ends in enumerate(self.lines):
                label = "local line" if i == 0 else None
                ax.plot(*np.transpose(ends), color="crimson", lw=1.6, label=label)
        if self.anchors is not None:
            ax.scatter(
                *np.transpose(self.anchors), marker="*", s=150, color="gold",
                edgecolor="black", zorder=5, label="anchor",
            )  # fmt: skip
        names = self.feature_names or ("x0", "x1")
        title = "Decisions"
        if self.anchors is not None:
            title = "Decisions, anchors and local lines"
        ax.set(xlabel=names[0], ylabel=names[1], title=title)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_decisions(self, ax) -> None:
        """Regions of the classes, and the lines between them."""
        from matplotlib.colors import ListedColormap

        n_classes = len(self.class_labels)
        extent = self.xx0[0, 0], self.xx0[0, -1], self.xx1[0, 0], self.xx1[-1, 0]
        self.surface_ = ax.imshow(
            self.margins.argmax(axis=0),
            cmap=ListedColormap([pale(colour) for colour in colours(n_classes)]),
            vmin=-0.5,
            vmax=n_classes - 0.5,
            origin="lower",
            extent=extent,
            aspect="auto",
            interpolation="nearest",
        )
        # Two classes have one line: both margins are zero there.
        for values in self.margins[1 if n_classes == 2 else 0 :]:
            if values.min() < 0 < values.max():
                ax.contour(self.xx0, self.xx1, values, [0], colors="black")
        ax.set(xlim=extent[:2], ylim=extent[2:])

    def _draw_rows(self, ax) -> None:
        """Rows in the colours of their classes, grey where these are not known."""
        if self.y is None:
            ax.scatter(*self.X.T, s=9, color="#777777", label="rows")
            return
        dark = colours(len(self.class_labels))
        for colour, label in zip(dark, self.class_labels, strict=True):
            rows = self.X[self.y == label]
            ax.scatter(*rows.T, s=9, color=colour, label=f"class {label}")


class _Plane:
    """Points of the plane, and what the steps before a classifier make of them."""

    def __init__(self, like, before):
        self._like = like
        self._before = before

    def transform(self, points: np.ndarray):
        """Points as the classifier is given them."""
        points = as_frame_like(self._like, points)
        for step in self._before:
            points = step.transform(points)
        return points

    def back(self, points) -> np.ndarray:
        """Points of the plane from those of the classifier."""
        for step in reversed(self._before):
            points = step.inverse_transform(points)
        return np.asarray(points)


def _grid_around(rows: np.ndarray, margin: float, resolution: int, scores_at) -> _Grid:
    """Margins on a grid around the rows."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = margin * np.where(high > low, high - low, 1)
    sides = zip(low - room, high + room, strict=True)
    xx0, xx1 = np.meshgrid(*(np.linspace(a, b, resolution) for a, b in sides))
    scores = scores_at(np.column_stack([xx0.ravel(), xx1.ravel()]))
    return _Grid(xx0, xx1, _margins(scores).T.reshape(-1, *xx0.shape))


def _margins(scores: np.ndarray) -> np.ndarray:
    """Score of each class less the best of the others, (n, n_classes)."""
    if scores.shape[1] == 1:
        return np.column_stack([-scores, scores])
    ordered = np.sort(scores, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    return scores - np.where(scores == best, second, best)


def _anchors_of(classifier) -> np.ndarray | None:
    if hasattr(classifier, "atlas_"):
        return classifier.atlas_.means_
    if not hasattr(classifier, "coding_"):
        return None
    anchors = classifier.coding_.anchors_in_input()
    return anchors if anchors.shape[1] == classifier.n_features_in_ else None


def _boundary_points(grid: _Grid) -> np.ndarray:
    """Points between neighbours on the grid whose decisions differ."""
    winners = grid.margins.argmax(axis=0)
    found = []
    for axis in (0, 1):
        one = (slice(None, -1), slice(None))
        other = (slice(1, None), slice(None))
        if axis:
            one, other = one[::-1], other[::-1]
        here = np.nonzero(winners[one] != winners[other])
        c = winners[one][here]
        own = np.moveaxis(grid.margins, 0, -1)
        a = own[one][here][np.arange(len(c)), c]
        b = own[other][here][np.arange(len(c)), c]
        part = np.clip(a / np.where(a == b, 1, a - b), 0, 1)
        ends = [
            np.column_stack([grid.xx0[side][here], grid.xx1[side][here]])
            for side in (one, other)
        ]
        found.append(ends[0] + part[:, None] * (ends[1] - ends[0]))
    return np.vstack(found)


def _local_lines(classifier, grid: _Grid, anchors, plane: _Plane):
    """Ends of the local lines at the points of the boundary nearest to anchors."""
    points = _boundary_points(grid)
    if not len(points):
        return None
    low = np.array([grid.xx0[0, 0], grid.xx1[0, 0]])
    extent = np.array([grid.xx0[0, -1], grid.xx1[-1, 0]]) - low
    away = ((anchors[:, None] - points[None]) / extent) ** 2
    points = points[np.unique(away.sum(axis=2).argmin(axis=1))]
    given = plane.transform(points)
    coef = classifier.local_coef(given)
    intercept = classifier.local_intercept(given)
    inner = np.asarray(given)
    if inner.shape[1] != 2:
        return None
    if coef.shape[1] == 1:
        w, b = coef[:, 0], intercept[:, 0]
    else:
        scores = np.einsum("nsd,nd->ns", coef, inner) + intercept
        first, second = np.argsort(-scores, axis=1)[:, :2].T
        rows = np.arange(len(inner))
        w = coef[rows, first] - coef[rows, second]
        b = intercept[rows, first] - intercept[rows, second]
    squares = (w**2).sum(axis=1)
    keep = squares > 0
    w, b, inner, squares = w[keep], b[keep], inner[keep], squares[keep]
    # The grid meets the boundary to its resolution; the line is met exactly.
    foot = inner - ((w * inner).sum(axis=1) + b)[:, None] * w / squares[:, None]
    along = np.column_stack([-w[:, 1], w[:, 0]]) / np.sqrt(squares)[:, None]
    middle = plane.back(foot)
    step = plane.back(foot + 1e-3 * along) - middle
    step *= _REACH / np.linalg.norm(step / extent, axis=1, keepdims=True)
    return np.stack([middle - step, middle + step], axis=1)
