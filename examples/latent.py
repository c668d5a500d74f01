"""
Models that share regions far apart
===================================

Figure 1 of the ML3 paper. ML3 has no anchors: each class has a few linear models, and a
row takes the combination that raises the score of the class most. A model is not bound
to a place.

The upper pictures show who works where: colours are the weights of the models of a
row's own class, so that rows of one class and colour share a model. Below are the
classes and the boundary. As a script it writes ``demo/latent.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from locallin import ML3Classifier

# %%
# Three sets of points: XOR, three clouds of one class around the other, and two
# crescents.


def xor(n: int = 400, seed: int = 0):
    rng = np.random.RandomState(seed)
    corners = np.array([[-1, -1], [1, 1], [-1, 1], [1, -1]])
    cloud = rng.randint(4, size=n)
    return corners[cloud] + 0.35 * rng.normal(size=(n, 2)), cloud // 2


def three_clouds(n: int = 400, seed: int = 0):
    rng = np.random.RandomState(seed)
    centres = np.array([[0, 0], [-1.8, -1.1], [1.8, -1.1], [0, 1.9]])
    cloud = rng.randint(4, size=n)
    return centres[cloud] + 0.3 * rng.normal(size=(n, 2)), (cloud > 0).astype(int)


def crescents(n: int = 400, seed: int = 0):
    X, y = make_moons(n, noise=0.2, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


# %%
# ``latent_weights`` tells which models speak for a row. The first three weights of the
# row's own class become red, green and blue.


def colours(model, X, y) -> np.ndarray:
    own = model.latent_weights(X)[np.arange(len(y)), y][:, :3]
    shades = np.zeros((len(y), 3))
    shades[:, : own.shape[1]] = own
    return 0.85 * shades / np.maximum(shades.max(), 1e-9)


def draw(above, below, model, X, y, title) -> None:
    above.scatter(*X.T, s=6, c=colours(model, X, y))
    above.set(title=title)
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    u, v = np.meshgrid(
        *(np.linspace(a, b, 250) for a, b in zip(low, high, strict=True))
    )
    scores = model.decision_function(np.column_stack([u.ravel(), v.ravel()]))
    below.scatter(*X.T, s=6, c=np.where(y == 1, "#d0621b", "#2b6ca3"))
    below.contour(u, v, scores.reshape(u.shape), levels=[0], colors="crimson")
    below.set(xlabel=f"accuracy {100 * model.score(X, y):.1f} %")
    for cell in (above, below):
        cell.set(xticks=[], yticks=[])
    print(f"{title}: training accuracy {100 * model.score(X, y):.1f} %")


# %%
# XOR after 1, 2 and 20 iterations; two models for three clouds; and five models per
# class on the crescents. With p = 1 one model speaks alone and the boundary has
# corners, with p = 2 they blend, with a large p every positive model counts alike.

figure, axes = plt.subplots(2, 7, figsize=(16, 4.8), layout="constrained")
X, y = xor()
model = ML3Classifier(
    2, p=1, init="random", alpha=1e-3, max_iter=1, warm_start=True, random_state=1
)
done = 0
for column, until in enumerate((1, 2, 20)):
    model.set_params(max_iter=until - done).fit(X, y)
    done = until
    draw(*axes[:, column], model, X, y, f"XOR, iteration {until}")
X, y = three_clouds()
model = ML3Classifier(2, p=1, alpha=1e-3, random_state=0).fit(X, y)
draw(*axes[:, 3], model, X, y, "3 clouds, 2 models, p = 1")
X, y = crescents()
for column, p in enumerate((1, 2, 1000), start=4):
    model = ML3Classifier(5, p=p, alpha=1e-3, random_state=0).fit(X, y)
    draw(*axes[:, column], model, X, y, f"crescents, p = {p}")

# %%
# Keep the picture.

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "latent.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=85)
print(f"Picture: {path}")
