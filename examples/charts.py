"""
An atlas of a closed curve and of a sphere
==========================================

Figure 2 of the Atlas paper: noisy points of a closed curve, and the charts that follow
it at three prices a chart. Then the charts of a sphere, which no single chart can cover
without tearing it. As a script it writes ``demo/charts.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from locallin import Atlas

# %%
# A closed curve that bends more in some places than in others, and a sphere.


def curve(angle):
    return np.column_stack([1.4 * np.cos(angle), 0.9 * np.sin(angle)])


def noisy_curve(n: int = 800, noise: float = 0.03, seed: int = 0):
    rng = np.random.RandomState(seed)
    return curve(rng.uniform(0, 2 * np.pi, n)) + noise * rng.normal(size=(n, 2))


def sphere(n: int = 2000, seed: int = 0):
    X = np.random.RandomState(seed).normal(size=(n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


# %%
# The cheaper a chart (``mdl``), the more of them, and the closer they follow the curve.
# Colours say which chart a point is interior to, green lines are charts.


def draw_curve(axes, mdl) -> None:
    X = noisy_curve()
    # Many neighbours: a line must not collect points where it meets the curve again.
    settings = {"n_neighbors": 10, "n_proposals": 60, "random_state": 0}
    atlas = Atlas(n_components=1, mdl=mdl, **settings).fit(X)
    axes.plot(*curve(np.linspace(0, 2 * np.pi, 400)).T, color="#c0392b", lw=1)
    axes.scatter(*X.T, s=5, c=atlas.labels_ * 7 % 20, cmap="tab20")
    for chart, (mean, basis) in enumerate(
        zip(atlas.means_, atlas.components_, strict=True)
    ):
        along = (X[atlas.members(chart)] - mean) @ basis[0]
        ends = mean + np.outer([along.min(), along.max()], basis[0])
        axes.plot(*ends.T, color="#1e8449", lw=2)
    axes.set(title=f"mdl = {mdl:g}: {len(atlas.means_)} charts", aspect="equal")
    axes.set_axis_off()


def draw_sphere(axes) -> None:
    X = sphere()
    atlas = Atlas(n_components=2, mdl=5.0, random_state=0).fit(X)
    axes.scatter(*X.T, s=4, c=atlas.labels_ * 7 % 20, cmap="tab20")
    axes.set(title=f"a sphere: {len(atlas.means_)} charts", aspect="equal")
    axes.set_axis_off()


figure = plt.figure(figsize=(13, 4))
for place, mdl in enumerate((8.0, 1.0, 0.1), start=1):
    draw_curve(figure.add_subplot(1, 4, place), mdl)
draw_sphere(figure.add_subplot(1, 4, 4, projection="3d"))
figure.subplots_adjust(0, 0, 1, 0.88, 0.02)

# %%
# Keep the picture.

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "charts.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"wrote {path}")
