"""Pictures of one row's contributions, and of weights as images."""

from dataclasses import replace

import numpy as np

from locallin.engine.input import sound_matrix
from locallin.inspection._drawing import (
    AGAINST,
    FOR,
    NEUTRAL,
    figure_of,
    many_axes,
    one_axes,
)
from locallin.inspection._explain import Explanation, explain
from locallin.inspection.columns import count_rows, some_rows
from locallin.inspection.text import plain, shown_value
from locallin.inspection.unwrap import check_count


class ContributionDisplay:
    """Bar chart of what each feature adds to one score of a row.

    Make it with :meth:`from_estimator`, or from an :class:`Explanation`.

    Parameters
    ----------
    explanation : Explanation
        Explanation of at least one row.
    row : int, default=0
        Position of the row in it.
    class_label : object, default=None
        Class whose score is drawn; None is the predicted one where it is there.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : matplotlib BarContainer
        The bars, the largest contribution first.

    See Also
    --------
    explain : The numbers that are drawn.
    WeightImageDisplay : Weights as images.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import ContributionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = LLSVMClassifier(random_state=0).fit(X, y)
    >>> display = ContributionDisplay.from_estimator(clf, X, row=3)
    >>> display.ax_.get_xlabel()
    'contribution to the score of 0'
    """

    def __init__(self, explanation: Explanation, *, row: int = 0, class_label=None):
        self.explanation = explanation
        self.row = row
        self.class_label = class_label

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        row: int = 0,
        class_label=None,
        feature_names=None,
        top: int | None = 10,
        ax=None,
    ) -> "ContributionDisplay":
        """Explain one row and draw it.

        Parameters
        ----------
        estimator : classifier
            See :func:`explain`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        row : int, default=0
            Position of the row to draw.
        class_label : object, default=None
            Class whose score is drawn; None is the predicted one.
        feature_names : sequence of str, default=None
            See :func:`explain`.
        top : int or None, default=10
            Number of features with a bar of their own.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.

        Returns
        -------
        ContributionDisplay
            The display.
        """
        n = count_rows(X)
        if not -n <= row < n:
            raise IndexError(
                f"row={row}, but X has {n} rows: choose one of 0 to {n - 1}."
            )
        row %= n
        chosen = some_rows(sound_matrix(X), row, row + 1)
        explanation = explain(estimator, chosen, feature_names=feature_names, top=top)
        display = cls(replace(explanation, start=row), class_label=class_label)
        return display.plot(ax)

    def plot(self, ax=None) -> "ContributionDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None makes a figure.

        Returns
        -------
        self : ContributionDisplay
            The display.
        """
        shown = self.explanation
        terms = shown.ranked(self.row, self.class_label)
        score = shown._score_of(shown._position(self.row), self.class_label)
        size = 7, 1.4 + 0.32 * len(terms)
        ax = one_axes(ax, "ContributionDisplay", size=size)
        labels, colours = [], []
        for name, value, contribution in terms:
            alone = value is None
            text = plain(name) if alone else f"{plain(name)}: {shown_value(value)}"
            labels.append(text.replace("$", r"\$"))
            colours.append(NEUTRAL if alone else FOR if contribution > 0 else AGAINST)
        lengths = [contribution for *_, contribution in terms]
        places = np.arange(len(terms))
        self.bars_ = ax.barh(places, lengths, color=colours)
        texts = [f"{length:+.3g}" for length in lengths]
        ax.bar_label(self.bars_, texts, padding=3, fontsize=8)
        ax.margins(x=0.18)
        ax.axvline(0, color="black", lw=0.8)
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        ax.spines[["top", "right"]].set_visible(False)
        row = shown._position(self.row)
        ax.set(
            xlabel=f"contribution to the score of {shown.classes[score]}",
            title=f"Row {shown.start + row}: predicted {shown.predicted[row]}, "
            f"score of {shown.classes[score]} = {shown.scores[row, score]:.3g}",
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


class WeightImageDisplay:
    """The weights behind predictions of images, as images.

    A column per row of X: the image, the effective weights w(x) of a class, and the
    contributions w(x) * x that add up, with the bias, to its score. Blue speaks for
    the class, red against it.

    Parameters
    ----------
    images, weights, contributions : ndarray of shape (n_images, height, width) or \
            (n_images, height, width, n_channels)
        What the columns show. Weights and contributions of channels are added up.
    titles : sequence of str
        Titles of the columns.

    Attributes
    ----------
    ax_ : ndarray of shape (3, n_images)
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    ContributionDisplay : Contributions as bars.
    explain : The numbers behind a prediction.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from locallin import LLSVMClassifier
    >>> from locallin.inspection import WeightImageDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = LLSVMClassifier(20, random_state=0).fit(X[:300] / 16, y[:300])
    >>> display = WeightImageDisplay.from_estimator(clf, X[300:304] / 16)
    >>> display.ax_.shape
    (3, 4)
    """

    def __init__(self, images, weights, contributions, titles):
        self.images = images
        self.weights = weights
        self.contributions = contributions
        self.titles = titles

    @classmethod
    def from_estimator(
        cls, estimator, X, *, shape=None, class_label=None, limit: int = 8, ax=None
    ) -> "WeightImageDisplay":
        """Explain images and draw the weights.

        Parameters
        ----------
        estimator : classifier
            See :func:`explain`; what the classifier is given must be images.
        X : {array-like, sparse matrix} of shape (n_images, n_features)
            Images, one in each row.
        shape : (height, width) or (height, width, n_channels), default=None
            Shape of an image. None takes a square.
        class_label : object, default=None
            Class whose weights are drawn; None is the predicted one of each row.
        limit : int, default=8
            Largest number of images that are drawn, the first ones of X.
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or 3 n_images. None makes a figure.

        Returns
        -------
        WeightImageDisplay
            The display.
        """
        check_count("limit", limit)
        shown = explain(estimator, some_rows(sound_matrix(X), 0, limit))
        n, n_features = shown.values.shape
        if shape is None:
            side = int(np.sqrt(n_features))
            shape = side, side
        shape = tuple(shape)
        if len(shape) not in (2, 3) or np.prod(shape) != n_features:
            raise ValueError(
                f"shape={shape} does not hold {n_features} features: give the height, "
                "width and, for colours, number of channels of an image."
            )
        label = class_label
        if label is None and len(shown.classes) == 1:
            label = shown.classes[0]
        scores = [shown._score_of(i, label) for i in range(n)]
        coef = np.stack([shown.weights[i, s] for i, s in enumerate(scores)])
        parts = shown.contributions[np.arange(n), scores]
        titles = []
        for i, s in enumerate(scores):
            own = shown.predicted[i] == shown.classes[s]
            of = "" if own else f"\nweights of {shown.classes[s]}"
            titles.append(f"predicted {shown.predicted[i]}{of}")
        images, weights, contributions = (
            values.reshape(n, *shape) for values in (shown.values, coef, parts)
        )
        return cls(images, weights, contributions, titles).plot(ax)

    def plot(self, ax=None) -> "WeightImageDisplay":
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to draw: one to be divided, or 3 n_images. None makes a figure.

        Returns
        -------
        self : WeightImageDisplay
            The display.
        """
        n = len(self.images)
        size = max(1.5 * n, 4) + 0.6, 5.4
        cells = many_axes(ax, 3, n, "WeightImageDisplay", size=size)
        for column in range(n):
            image = np.asarray(self.images[column], dtype=float)
            low, high = image.min(), image.max()
            if image.ndim == 3:
                image = (image - low) / ((high - low) or 1)
            top = cells[0, column]
            top.imshow(image, cmap="gray_r", vmin=low, vmax=high)
            top.set_title(self.titles[column], fontsize=9)
            for row, array in enumerate((self.weights, self.contributions), start=1):
                signs = np.asarray(array[column], dtype=float)
                if signs.ndim == 3:
                    signs = signs.sum(axis=2)
                bound = np.abs(signs).max() or 1
                cell = cells[row, column]
                cell.imshow(signs, cmap="RdBu", vmin=-bound, vmax=bound)
        for cell in cells.flat:
            cell.set(xticks=[], yticks=[])
        for row, name in enumerate(
            ("image", "weights\nw(x)", "contribution\nw(x) * x")
        ):
            cells[row, 0].set_ylabel(name)
        self.ax_, self.figure_ = cells, figure_of(cells)
        return self
