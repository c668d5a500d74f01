"""
A table in, reasons out; and LL-SVM beside a linear and a kernel SVM
====================================================================

First the classifier that leaves nothing to tune, on a table. Then three classifiers on
the digits that scikit-learn ships: one that is too simple for them, one that is slow to
predict, and a locally linear SVM. Then two pictures: the lines that make a curved
boundary, and the weights behind six predictions.

``make demo`` runs this script and leaves the pictures in the folder ``demo/``.
"""

import pickle
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from locallin import LLSVMClassifier, LocallyLinearClassifier
from locallin.inspection import explain

folder = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo"))
folder.mkdir(exist_ok=True, parents=True)


def say(text: str) -> None:
    print(text, flush=True)


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


# %%
# The first fit on a machine compiles the kernels. They stay on disk, and later runs
# find them there.

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, test_size=600, random_state=0)
wines, kinds = load_wine(return_X_y=True, as_frame=True)
seen, held, kinds, truth = train_test_split(wines, kinds, random_state=0)

say("Compiling the kernels (once; later runs find them on disk) ...")


def first_fits():
    LLSVMClassifier(random_state=0).fit(X[:200], y[:200]).predict(X_test)
    LocallyLinearClassifier(random_state=0).fit(seen, kinds).predict(held)


spent, _ = timed(first_fits)
say(f"  {spent:.1f} s")

# %%
# A table in, probabilities and reasons out
# -----------------------------------------
# What has to be chosen is chosen on held-out rows; the contributions of the columns
# add up to the score.

say("\nLocallyLinearClassifier on a table of wines: trying settings, then fitting ...")
spent, chooser = timed(lambda: LocallyLinearClassifier(random_state=0).fit(seen, kinds))
say(f"  {spent:.1f} s for {len(chooser.search_path_)} settings")
say(f"  accuracy on {len(held)} held-out wines: {chooser.score(held, truth):.3f}")
say(f"  probabilities of the first: {chooser.predict_proba(held[:1])[0].round(3)}\n")
say(explain(chooser, held[:1], top=4).to_text())

# %%
# Accuracy, time and size
# -----------------------
# 1,197 images to train and 600 to test. Times are those of this machine; the order
# between the three is what carries over.

models = {
    "LinearSVC": LinearSVC(random_state=0),
    "LL-SVM (locallin)": LLSVMClassifier(random_state=0),
    "SVC, RBF kernel": SVC(C=10),
}
say("\nDigits that scikit-learn ships: 1,197 images to train, 600 to test\n")
say(f"{'':20}{'accuracy':>9}{'fit':>10}{'predict':>12}{'model':>9}")
for name, model in models.items():
    fit, _ = timed(lambda model=model: model.fit(X, y))
    accuracy = model.score(X_test, y_test)
    times = [timed(lambda model=model: model.predict(X_test))[0] for _ in range(9)]
    per_row = 1e6 * np.median(times) / len(X_test)
    size = len(pickle.dumps(model)) / 1024
    say(
        f"{name:20}{100 * accuracy:8.2f}%{fit:8.2f} s"
        f"{per_row:7.2f} us/row{size:6.0f} KB"
    )
say("")

# %%
# How lines make a curve
# ----------------------
# Two half moons and 14 anchors. At a point p of the boundary the local line
# w(p).x + b(p) = 0 passes through p; the picture shows it for the boundary point
# nearest to each anchor.


def draw_boundary():
    X, y = make_moons(600, noise=0.18, random_state=3)
    model = LLSVMClassifier(14, alpha=1e-3, random_state=0).fit(X, y)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    u, v = np.meshgrid(
        np.linspace(low[0], high[0], 400), np.linspace(low[1], high[1], 300)
    )
    scores = model.decision_function(np.column_stack([u.ravel(), v.ravel()]))
    scores = scores.reshape(u.shape)
    figure, axes = plt.subplots(figsize=(8, 5.4), layout="constrained")
    axes.contourf(u, v, scores, levels=[-1e9, 0, 1e9], colors=["#dbe9f6", "#fde4d3"])
    axes.scatter(*X[y == 0].T, s=8, color="#2b6ca3")
    axes.scatter(*X[y == 1].T, s=8, color="#d0621b")
    boundary = axes.contour(u, v, scores, levels=[0], colors="black", linewidths=2)
    path_points = np.vstack(boundary.get_paths()[0].to_polygons(closed_only=False))
    for anchor in model.anchors_:
        distances = np.linalg.norm(path_points - anchor, axis=1)
        point = path_points[distances.argmin()]
        w = model.local_coef(point[None])[0, 0]
        along = 0.4 * np.array([-w[1], w[0]]) / np.linalg.norm(w)
        axes.plot(*np.column_stack([point - along, point + along]), color="crimson")
        axes.plot(*np.column_stack([anchor, point]), color="#777777", lw=0.8, ls=":")
    axes.scatter(
        *model.anchors_.T, marker="*", s=170, color="gold", edgecolor="black", zorder=5
    )
    axes.set(
        xlim=(low[0], high[0]),
        ylim=(low[1], high[1]),
        xticks=[],
        yticks=[],
        title="Anchors (stars), local lines (red), and the boundary they make",
    )
    return figure


say("Drawing the decision boundary in the plane ...")
draw_boundary().savefig(folder / "boundary.png", dpi=110)

# %%
# The reason behind a prediction
# ------------------------------
# ``local_coef`` gives the weights w(x) of the linear function that scored a row. Times
# the row, they are what each pixel added.


def draw_reasons(model, X, y):
    chosen = [np.flatnonzero(y == digit)[1] for digit in (0, 2, 3, 5, 7, 9)]
    weights = model.local_coef(X[chosen])
    winners = model.decision_function(X[chosen]).argmax(axis=1)
    figure, axes = plt.subplots(
        3, len(chosen), figsize=(1.7 * len(chosen), 5.6), layout="constrained"
    )
    for column, (i, winner) in enumerate(zip(chosen, winners, strict=True)):
        w = weights[column, winner]
        contribution = w * X[i]
        images = [(X[i], "gray_r"), (w, "RdBu"), (contribution, "RdBu")]
        for row, (image, colours) in enumerate(images):
            bound = np.abs(image).max()
            low = 0 if row == 0 else -bound
            cell = axes[row, column]
            cell.imshow(image.reshape(8, 8), cmap=colours, vmin=low, vmax=bound)
            cell.set(xticks=[], yticks=[])
        axes[0, column].set_title(f"predicted {model.classes_[winner]}")
    for row, name in enumerate(["digit", "weights w(x)", "contribution\nw(x) * x"]):
        axes[row, 0].set_ylabel(name)
    figure.suptitle(
        "The linear function behind each prediction (blue: for, red: against)"
    )
    return figure


say("Drawing the weights behind six predictions ...")
reasons = draw_reasons(models["LL-SVM (locallin)"], X_test, y_test)
reasons.savefig(folder / "reasons.png", dpi=110)
say(f"Pictures: {folder / 'boundary.png'}, {folder / 'reasons.png'}")
