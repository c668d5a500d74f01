"""Four anchors and two sine waves: Figure 1 of the LLC-SAPL paper.

Draws the boundaries of LL-SVM, whose anchors k-means has chosen, of SAPL, which moves
the same four anchors, and of a kernel SVM. Writes ``demo/sine.png``.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.svm import SVC

from locallin import LLSVMClassifier, SAPLClassifier

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def two_sines(n: int = 1000, seed: int = 0):
    """One wave per class, n points each, standardised."""
    rng = np.random.RandomState(seed)
    t = rng.uniform(0, 3 * np.pi, size=2 * n)
    y = np.repeat([0, 1], n)
    X = np.column_stack([t, np.sin(t) + 0.8 * y])
    X += 0.12 * rng.normal(size=X.shape)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def main() -> None:
    X, y = two_sines()
    setting = {"n_anchors": 4, "alpha": 1e-4, "random_state": 0}
    models = {
        "LL-SVM, 4 anchors": LLSVMClassifier(tol=0.1, **setting),
        "SAPL, 4 anchors": SAPLClassifier(max_iter=60, **setting),
        "SVC": SVC(C=10),
    }
    u, v = np.meshgrid(np.linspace(-2.6, 2.6, 300), np.linspace(-2.4, 2.4, 240))
    grid = np.column_stack([u.ravel(), v.ravel()])
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for cell, (name, model) in zip(axes, models.items(), strict=True):
        model.fit(X, y)
        scores = model.decision_function(grid).reshape(u.shape)
        cell.scatter(*X[y == 0].T, s=3, color="#2b6ca3")
        cell.scatter(*X[y == 1].T, s=3, color="#d0621b")
        cell.contour(u, v, scores, levels=[0], colors="crimson", linewidths=2)
        size = len(model.support_) if isinstance(model, SVC) else None
        if size is None:
            cell.scatter(
                *model.anchors_.T,
                marker="*",
                s=180,
                color="gold",
                edgecolor="black",
                zorder=5,
            )
        else:
            name = f"{name}, {size} support vectors"
        accuracy = model.score(X, y)
        print(f"{name}: training accuracy {100 * accuracy:.1f} %")
        cell.set(
            title=f"{name}: {100 * accuracy:.1f} %",
            xlim=(-2.6, 2.6),
            ylim=(-2.4, 2.4),
            xticks=[],
            yticks=[],
        )
    path = Path("demo") / "sine.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
