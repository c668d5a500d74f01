"""
How many local models?
======================

More anchors bend the boundary more. ``n_anchors="auto"`` begins with one, which is a
linear machine, adds anchors where rows are wrong, and keeps the fewest that held-out
rows are content with. As a script it writes ``demo/anchors.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from locallin import LLSVMClassifier
from locallin.inspection import BoundaryDisplay

X, y = make_moons(800, noise=0.3, random_state=0)
X_test, y_test = make_moons(4000, noise=0.3, random_state=1)

# %%
# ``anchor_path_`` tells what was tried: the number of anchors, the share of held-out
# rows that were wrong, and its standard error. The last are the anchors that the
# default would take.

model = LLSVMClassifier("auto", random_state=0).fit(X, y)
print(f"chosen: {len(model.anchors_)} anchors\n")
print("anchors  held-out error  standard error")
for n, error, deviation in model.anchor_path_:
    print(f"{n:7.0f}{error:16.3f}{deviation:16.3f}")

# %%
# One anchor, the number that was found, and the default for this number of rows.

machines = {
    "a linear machine": LLSVMClassifier(1, random_state=0).fit(X, y),
    "auto": model,
    "default": LLSVMClassifier(random_state=0).fit(X, y),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for cell, (name, machine) in zip(axes, machines.items(), strict=True):
    BoundaryDisplay.from_estimator(machine, X, y, ax=cell)
    error = 100 - 100 * machine.score(X_test, y_test)
    number = len(machine.anchors_)
    cell.set(title=f"{name} ({number}): error {error:.1f} %")
    print(f"{name}: {number} anchors, test error {error:.1f} %")

# %%
# Keep the picture.

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "anchors.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
