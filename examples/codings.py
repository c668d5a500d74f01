"""
How much each anchor counts: three codings
==========================================

A coding gives each point weights on a few near anchors. Inverse distance and soft
assignment take a fixed number of anchors, adaptive coding as many as a point needs.
Nine anchors, and the weight of the one in the middle, from white (none) to dark (one).

As a script it writes ``demo/codings.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from locallin.coding import AdaptiveCoding, InverseDistanceCoding, SoftAssignmentCoding

rng = np.random.RandomState(1)
grid = np.array([[i, j] for i in (-1.0, 0.0, 1.0) for j in (-1.0, 0.0, 1.0)])
anchors = grid + 0.15 * rng.normal(size=grid.shape)
rows = rng.uniform(-1.6, 1.6, size=(2000, 2))

# %%
# The bandwidth is chosen at fit, so that a row has three anchors on average, in the
# sense of exp(entropy) of its weights. Inverse distance has no bandwidth.

codings = {
    "inverse distance, k = 4": InverseDistanceCoding(n_neighbors=4, anchors=anchors),
    "soft assignment, k = 4": SoftAssignmentCoding(
        n_neighbors=4, perplexity=3, anchors=anchors
    ),
    "adaptive": AdaptiveCoding(perplexity=3, anchors=anchors),
}
for name, coding in codings.items():
    active = np.diff(coding.fit(rows).transform(rows).indptr)
    print(f"{name}: {active.min()} to {active.max()} anchors a row")

# %%
# A fixed number of neighbours makes the weight jump where two anchors change places as
# the fourth. Adaptive coding has no such edges: its weights fall to zero first.

side = np.linspace(-1.6, 1.6, 260)
u, v = np.meshgrid(side, side)
points = np.column_stack([u.ravel(), v.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for cell, (name, coding) in zip(axes, codings.items(), strict=True):
    weight = coding.transform(points)[:, [4]].toarray().reshape(u.shape)
    picture = cell.pcolormesh(u, v, weight, cmap="Blues", vmin=0, vmax=1)
    cell.scatter(*anchors.T, marker="*", s=130, color="gold", edgecolor="black")
    cell.set(title=name, xticks=[], yticks=[], aspect="equal")
figure.colorbar(picture, ax=axes, label="weight of the middle anchor", shrink=0.9)

# %%
# Keep the picture.

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "codings.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
