"""Parts that displays share: matplotlib on demand, axes and colours."""

import numpy as np

from locallin.engine.optional import import_optional

# Points and regions of classes: dark and light of the same hue.
DARK = (
    "#2b6ca3", "#d0621b", "#2e8b57", "#a23b72", "#7a6a00",
    "#5b4ba8", "#00808a", "#b03030", "#6b4a2b", "#555555",
)  # fmt: skip
FOR, AGAINST, NEUTRAL = "#2b6ca3", "#c0392b", "#888888"


def pyplot(caller: str):
    """Pyplot, or an error that says how to get it."""
    return import_optional("matplotlib.pyplot", "plot", caller)


def one_axes(ax, caller: str, *, size=(7, 5), projection=None):
    """The axes given, or those of a new figure."""
    plt = pyplot(caller)
    if ax is not None:
        return ax
    figure = plt.figure(figsize=size, layout="constrained")
    return figure.add_subplot(projection=projection)


def many_axes(ax, n_rows: int, n_columns: int, caller: str, *, size, **grid):
    """An array of axes: of a new figure, within one axes, or those given."""
    plt = pyplot(caller)
    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        spec = figure.add_gridspec(n_rows, n_columns, **grid)
    elif isinstance(ax, plt.Axes):
        figure = ax.figure
        ax.set_axis_off()
        spec = ax.get_subplotspec().subgridspec(n_rows, n_columns, **grid)
    else:
        given = np.asarray(ax, dtype=object)
        if given.size != n_rows * n_columns:
            raise ValueError(
                f"ax has {given.size} axes, but {n_rows * n_columns} are needed: give "
                "as many, one to be divided, or None."
            )
        return given.reshape(n_rows, n_columns)
    cells = [
        [figure.add_subplot(spec[i, j]) for j in range(n_columns)]
        for i in range(n_rows)
    ]
    return np.array(cells, dtype=object)


def figure_of(ax):
    """The figure of one axes or of an array of them."""
    return np.asarray(ax, dtype=object).flat[0].figure


def colours(n: int) -> list[str]:
    """Colours of n classes."""
    return [DARK[i % len(DARK)] for i in range(n)]


def pale(colour: str):
    """A light version of a colour."""
    from matplotlib.colors import to_rgb

    return tuple(0.82 + 0.18 * part for part in to_rgb(colour))
