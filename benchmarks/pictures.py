"""Draw the pictures of the docs from the results: python -m benchmarks.pictures."""

from itertools import product
from pathlib import Path

import matplotlib
import numpy as np

from benchmarks._defaults_tables import ranked
from benchmarks._markdown import Missing, read
from benchmarks._methods import is_ours
from benchmarks._statistics import average_ranks, common, critical_difference

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import Bbox

IMAGES = Path(__file__).parent.parent / "docs" / "images"
OURS, PEER, FRONT = "#d0621b", "#5b6b7a", "#c9d1d9"
COLOURS = {
    "LL-SVM": "#2b6ca3",
    "SAPL": "#d0621b",
    "U-LLSVM": "#4c9a5b",
    "DU-LLSVM": "#8a4fa3",
}
SHORT = {
    "Classifier": "",
    "HistGradientBoosting": "HistGB",
    "ExplainableBoosting": "EBM",
    "KNeighbors": "kNN",
    " + LinearSVC": "",
    " anchors": "",
}


def short(method: str) -> str:
    for long, brief in SHORT.items():
        method = method.replace(long, brief)
    return method


def front(points) -> list[tuple[float, float]]:
    """The points that no other point beats in both coordinates."""
    best, lowest = [], np.inf
    for x, y in sorted(points):
        if y < lowest:
            best.append((x, y))
            lowest = y
    return best


def pareto(*sets: str) -> plt.Figure:
    """Error against time of prediction for every estimator, a panel for each set."""
    results = {s: r for s, r in read("peers").items() if not sets or s in sets}
    if not results:
        raise Missing("peers")
    columns = min(2, len(results))
    rows = -(-len(results) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(6.5 * columns, 5.4 * rows), squeeze=False
    )
    for axis in axes.flat[len(results) :]:
        axis.remove()
    drawn = []
    for axis, (data, entries) in zip(axes.flat, results.items(), strict=False):
        points = {
            method: (entry["batch_microseconds_per_row"], entry["test_error"])
            for method, entry in entries.items()
            if "skipped" not in entry
        }
        axis.plot(*zip(*front(points.values()), strict=True), color=FRONT, zorder=0)
        for method, point in points.items():
            axis.plot(*point, "o", ms=5, color=colour(method))
        axis.set(xscale="log", yscale="log", title=data.upper())
        axis.set(xlabel="prediction, microseconds per row", ylabel="test error, %")
        plain_numbers(axis.yaxis)
        axis.margins(0.15)
        drawn.append((axis, points))
    figure.tight_layout()
    for axis, points in drawn:
        label(axis, points)
    return figure


def ranks() -> plt.Figure:
    """Average ranks of defaults; what a bar joins may differ by chance."""
    errors = ranked()
    places = sorted(average_ranks(errors).items(), key=lambda item: item[1])
    reach = critical_difference(len(errors), common(*errors.values()).shape[1])
    figure, axis = plt.subplots(figsize=(7.5, 0.32 * len(places) + 1.1))
    for row, (method, rank) in enumerate(places):
        axis.plot([rank, rank + reach], [row, row], color=FRONT, lw=3, zorder=0)
        axis.plot(rank, row, "o", ms=6, color=colour(method))
    axis.set_yticks(range(len(places)), [short(method) for method, _ in places])
    for text, (method, _) in zip(axis.get_yticklabels(), places, strict=True):
        text.set_color(colour(method))
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    axis.set(xlabel=f"average rank of errors (bars: critical difference {reach:.1f})")
    figure.tight_layout()
    return figure


def rank_and_time() -> plt.Figure:
    """Average rank of defaults against the time of a prediction."""
    times = ranked("batch_microseconds_per_row")
    points = {
        method: (float(np.median(list(times[method].values()))), rank)
        for method, rank in average_ranks(ranked()).items()
        if method in times
    }
    figure, axis = plt.subplots(figsize=(7.5, 5))
    axis.plot(*zip(*front(points.values()), strict=True), color=FRONT, zorder=0)
    for method, point in points.items():
        axis.plot(*point, "o", ms=5, color=colour(method))
    axis.set(xscale="log", ylabel="average rank of errors")
    axis.set(xlabel="prediction, microseconds per row (median of data sets)")
    axis.margins(0.15)
    figure.tight_layout()
    label(axis, points)
    return figure


def colour(method: str) -> str:
    return OURS if is_ours(method) else PEER


# Where a name may stand, from its point: the first place that is free is taken.
PLACES = [
    (reach * x, reach * y)
    for reach in (1, 2, 3, 4, 6, 8)
    for x, y in ((7, -2), (-7, -2), (7, 7), (-7, 7), (7, -10), (-7, -10), (0, 8))
]


def label(axis, points) -> None:
    """Write short names beside the points, each where it covers no other name."""
    renderer = axis.figure.canvas.get_renderer()
    taken = [
        Bbox.from_bounds(x - 4, y - 4, 8, 8)
        for x, y in axis.transData.transform(list(points.values()))
    ]
    for method, point in sorted(points.items(), key=lambda item: item[1]):
        for x, y in PLACES:
            text = axis.annotate(
                short(method),
                point,
                (x, y),
                textcoords="offset points",
                ha="right" if x < 0 else "left" if x > 0 else "center",
                fontsize=7,
                color=colour(method),
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": colour(method)},
            )
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer)
            inside = axis.bbox.containsx(box.x0) and axis.bbox.containsx(box.x1)
            free = inside and not box.count_overlaps(taken)
            if free or (x, y) == PLACES[-1]:
                break
            text.remove()
        taken.append(box)


def plain_numbers(axis) -> None:
    """No powers of ten along an axis of logarithms."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def anchors() -> plt.Figure:
    """Test error against the number of anchors."""
    results = figures("anchors")
    figure, axes = panels(len(results))
    for axis, (data, methods) in zip(axes, results.items(), strict=True):
        for method, found in methods.items():
            sizes = sorted(found, key=int)
            means = [found[m]["mean"] for m in sizes]
            deviations = [found[m].get("deviation", 0) for m in sizes]
            axis.errorbar(
                [int(m) for m in sizes],
                means,
                deviations,
                color=COLOURS[method],
                capsize=2,
                label=method,
            )
        axis.set(xscale="log", title=data.upper(), xlabel="anchors")
        axis.set(ylabel="test error, %")
        axis.set_xticks([int(m) for m in sizes], sizes)
        axis.set_xticks([], minor=True)
        axis.legend()
    return figure


def epochs() -> plt.Figure:
    """Objective, and error on held-out training rows, from epoch to epoch."""
    results = figures("epochs")
    figure, axes = panels(2 * len(results))
    kinds = {
        "objective": ("objective", lambda values: values),
        "held_out_accuracy": ("held-out error, %", lambda values: 100 * (1 - values)),
    }
    for axis, ((data, methods), key) in zip(
        axes, product(results.items(), kinds), strict=True
    ):
        name, transform = kinds[key]
        for method, found in methods.items():
            values = transform(np.array(found[key]))
            steps = np.arange(1, len(values) + 1)
            axis.plot(steps, values, color=COLOURS[method], label=method)
        axis.set(xscale="log", yscale="log", title=data.upper())
        axis.set(xlabel="epoch", ylabel=name)
        plain_numbers(axis.yaxis)
        axis.legend()
    return figure


def active() -> plt.Figure:
    """Average number of anchors that take part in a score, from epoch to epoch."""
    results = figures("active")
    figure, axes = panels(len(results))
    for axis, (data, methods) in zip(axes, results.items(), strict=True):
        for method, found in methods.items():
            values = found["active_anchors"]
            steps = np.arange(1, len(values) + 1)
            axis.plot(steps, values, color=COLOURS[method], label=method)
        axis.set(title=data.upper(), xlabel="epoch", ylabel="active anchors")
        axis.set_ylim(bottom=0)
        axis.legend()
    return figure


def figures(name: str) -> dict:
    results = read("papers-figures")
    if name not in results:
        raise Missing(name)
    return results[name]


def panels(count: int):
    size = 5 * count, 3.8
    figure, axes = plt.subplots(
        1, count, figsize=size, layout="constrained", squeeze=False
    )
    return figure, axes[0]


PICTURES = {
    "pareto": lambda: pareto("mnist"),
    "pareto-all": pareto,
    "ranks": ranks,
    "rank_and_time": rank_and_time,
    "anchors": anchors,
    "epochs": epochs,
    "active": active,
}


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        try:
            figure = picture()
        except Missing:
            continue
        path = IMAGES / f"{name}.png"
        figure.savefig(path, dpi=90)
        plt.close(figure)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
