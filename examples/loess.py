"""
A curve through many points
===========================

Local regression in one dimension: a wave whose length shrinks towards the left. Local
lines at anchors are beside LOWESS (statsmodels, where it is installed) and splines.
LOWESS and splines are made for this case, and are faster; local models go on to tables
of many columns, and a prediction needs the anchors alone, not the rows.

As a script it takes a number of rows, such as ``1000000``, and writes
``demo/loess.png``.
"""

import sys
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from locallin import DULLSVMRegressor, LLSVMRegressor

given = [] if "-f" in sys.argv else sys.argv[1:]  # -f is a notebook's
n_rows = next((int(word) for word in given if word.isdigit()), 5000)

# %%
# The curve, and points with noise.


def curve(x):
    return 2 * np.sin(2 * np.pi / (x + 0.12)) * np.sqrt(x * (1 - x))


rng = np.random.RandomState(0)
x = rng.uniform(size=n_rows)
y = curve(x) + 0.3 * rng.normal(size=n_rows)
grid = np.linspace(0.01, 0.99, 1000)

# %%
# LL-SVM mixes the lines of the two nearest anchors, with a weak penalty: settings that
# were found on this curve. DU-LLSVM also moves its anchors to where the curve bends.

nearest = {"coding": "inverse-distance", "n_neighbors": 2, "alpha": 1e-8}
models = {
    "LL-SVM, 100 anchors": LLSVMRegressor(100, random_state=0, **nearest),
    "DU-LLSVM, 60 anchors": DULLSVMRegressor(60, max_iter=10, random_state=0),
    "splines, 100 knots": make_pipeline(SplineTransformer(100), Ridge(1e-3)),
}
found = {}
for name, model in models.items():
    start = perf_counter()
    model.fit(x[:, None], y)
    found[name] = model.predict(grid[:, None]), perf_counter() - start

# %%
# LOWESS fits a line at every thousandth of the range.

try:
    from statsmodels.nonparametric.smoothers_lowess import lowess
except ImportError:
    print("LOWESS is left out: pip install statsmodels")
else:
    start = perf_counter()
    smooth = lowess(y, x, frac=0.01, it=0, delta=0.001)
    found["LOWESS"] = np.interp(grid, *smooth.T), perf_counter() - start

# %%
# How far each curve is from the true one, and how long it took, compilation included.

figure, axes = plt.subplots(
    len(found), 1, figsize=(8, 2.1 * len(found)), sharex=True, layout="constrained"
)
shown = rng.permutation(n_rows)[:2000]
for cell, (name, (predicted, seconds)) in zip(axes, found.items(), strict=True):
    error = np.sqrt(np.mean((predicted - curve(grid)) ** 2))
    print(f"{name}: error of the curve {error:.3f}, {seconds:.2f} s")
    cell.scatter(x[shown], y[shown], s=2, color="#bbbbbb")
    cell.plot(grid, curve(grid), color="black", lw=1, ls=":")
    cell.plot(grid, predicted, color="crimson", lw=1.5)
    cell.set_title(f"{name}: error {error:.3f}", fontsize=10, loc="left")

# %%
# Keep the picture.

folder = next((word for word in given if not word.isdigit()), "demo")
path = Path(folder) / "loess.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
