"""Models that share regions far apart: Figure 1 of the ML3 paper.

Two models per class learn XOR; two models serve three clouds that are far apart; five
models per class on two crescents, for three values of p. The upper colours are the
weights of the models of a row's own class: rows of one class and colour share a model.
Writes ``demo/latent.png``.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import make_moons

from locallin import ML3Classifier

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def xor(n: int = 400, seed: int = 0):
    """Four clouds; the class is that of the diagonal."""
    rng = np.random.RandomState(seed)
    corners = np.array([[-1, -1], [1, 1], [-1, 1], [1, -1]])
    cloud = rng.randint(4, size=n)
    return corners[cloud] + 0.35 * rng.normal(size=(n, 2)), cloud // 2


def three_clouds(n: int = 400, seed: int = 0):
    """Three clouds of one class around the other."""
    rng = np.random.RandomState(seed)
    centres = np.array([[0, 0], [-1.8, -1.1], [1.8, -1.1], [0, 1.9]])
    cloud = rng.randint(4, size=n)
    return centres[cloud] + 0.3 * rng.normal(size=(n, 2)), (cloud > 0).astype(int)


def crescents(n: int = 400, seed: int = 0):
    """Two half moons, standardised."""
    X, y = make_moons(n, noise=0.2, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def colours(model, X, y) -> np.ndarray:
    """Red, green and blue: the first three weights of each row's own class."""
    own = model.latent_weights(X)[np.arange(len(y)), y][:, :3]
    shades = np.zeros((len(y), 3))
    shades[:, : own.shape[1]] = own
    return 0.85 * shades / np.maximum(shades.max(), 1e-9)


def draw(above, below, model, X, y, title) -> None:
    """Above who works where, below the classes and the boundary."""
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


def main() -> None:
    figure, axes = plt.subplots(2, 7, figsize=(16, 4.8), layout="constrained")
    X, y = xor()
    model = ML3Classifier(
        2, p=1, init="random", alpha=1e-3, max_iter=1, warm_start=True, random_state=1
    )
    done = 0
    for column, until in enumerate((1, 2, 20)):
        model.set_params(max_iter=until - done).fit(X, y)
        done = until
        title = f"XOR, iteration {until}"
        draw(*axes[:, column], model, X, y, title)
        print(f"{title}: training accuracy {100 * model.score(X, y):.1f} %")
    X, y = three_clouds()
    model = ML3Classifier(2, p=1, alpha=1e-3, random_state=0).fit(X, y)
    draw(*axes[:, 3], model, X, y, "3 clouds, 2 models, p = 1")
    print(f"three clouds: training accuracy {100 * model.score(X, y):.1f} %")
    X, y = crescents()
    for column, p in enumerate((1, 2, 1000), start=4):
        model = ML3Classifier(5, p=p, alpha=1e-3, random_state=0).fit(X, y)
        title = f"crescents, p = {p}"
        draw(*axes[:, column], model, X, y, title)
        print(f"{title}: training accuracy {100 * model.score(X, y):.1f} %")
    path = Path("demo") / "latent.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=85)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
