"""
Four anchors and two sine waves
===============================

Figure 1 of the LLC-SAPL paper. Four anchors placed by k-means cannot follow two waves;
the same four, moved by SAPL, can. A kernel SVM does as well, with many support vectors.

As a script it writes ``demo/sine.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from locallin import LLSVMClassifier, SAPLClassifier

# %%
# One wave for each class, 1000 points each, standardised.


def two_sines(n: int = 1000, seed: int = 0):
    rng = np.random.RandomState(seed)
    t = rng.uniform(0, 3 * np.pi, size=2 * n)
    y = np.repeat([0, 1], n)
    X = np.column_stack([t, np.sin(t) + 0.8 * y])
    X += 0.12 * rng.normal(size=X.shape)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


X, y = two_sines()

# %%
# The two locally linear machines begin with the same anchors. LL-SVM leaves them where
# k-means has put them; SAPL learns them together with the local models.

setting = {"n_anchors": 4, "alpha": 1e-4, "random_state": 0}
models = {
    "LL-SVM, 4 anchors": LLSVMClassifier(tol=0.1, **setting),
    "SAPL, 4 anchors": SAPLClassifier(max_iter=60, **setting),
    "SVC": SVC(C=10),
}
for model in models.values():
    model.fit(X, y)

# %%
# Stars are anchors, the red line is the boundary.

u, v = np.meshgrid(np.linspace(-2.6, 2.6, 300), np.linspace(-2.4, 2.4, 240))
grid = np.column_stack([u.ravel(), v.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for cell, (name, model) in zip(axes, models.items(), strict=True):
    scores = model.decision_function(grid).reshape(u.shape)
    cell.scatter(*X[y == 0].T, s=3, color="#2b6ca3")
    cell.scatter(*X[y == 1].T, s=3, color="#d0621b")
    cell.contour(u, v, scores, levels=[0], colors="crimson", linewidths=2)
    if isinstance(model, SVC):
        name = f"{name}, {len(model.support_)} support vectors"
    else:
        star = {"marker": "*", "s": 180, "color": "gold", "edgecolor": "black"}
        cell.scatter(*model.anchors_.T, zorder=5, **star)
    accuracy = 100 * model.score(X, y)
    print(f"{name}: training accuracy {accuracy:.1f} %")
    cell.set(
        title=f"{name}: {accuracy:.1f} %",
        xlim=(-2.6, 2.6),
        ylim=(-2.4, 2.4),
        xticks=[],
        yticks=[],
    )

# %%
# Keep the picture.

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "sine.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
