"""
Does the model follow its local model?
======================================

:func:`locallin.inspection.counterfactual` finds the smallest change of one feature that
changes the decision of a row's local model, held fixed. That answer is exact. The real
model moves on as the row moves, so it is asked too, at that point. Here is how often it
agrees, on held-out rows, with default settings and one split.

As a script it writes ``demo/counterfactuals.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import LLSVMClassifier, ML3Classifier, SAPLClassifier
from locallin.inspection import counterfactual

data = {
    "moons": make_moons(1000, noise=0.2, random_state=0),
    "wine": load_wine(return_X_y=True),
    "tumours": load_breast_cancer(return_X_y=True),
    "digits": load_digits(return_X_y=True),
}
classes = LLSVMClassifier, SAPLClassifier, ML3Classifier

# %%
# The size is the median change in standard deviations. Read it first: a change of ten
# standard deviations means that no single feature decides this row. The point it leads
# to lies outside the data, and that the model follows there says little.

followed, sizes = {}, {}
print(f"{'':10}" + "".join(f"{kind.__name__:>24}" for kind in classes))
for name, (X, y) in data.items():
    X, X_test, y, _ = train_test_split(X, y, random_state=0)
    line = f"{name:10}"
    for kind in classes:
        model = make_pipeline(StandardScaler(), kind(random_state=0)).fit(X, y)
        found = counterfactual(model, X_test)
        size, share = np.median(found.size), found.model_flips.mean()
        line += f"{f'{share:.0%} (size {size:.1f})':>24}"
        followed.setdefault(kind.__name__, []).append(100 * share)
        sizes.setdefault(kind.__name__, []).append(size)
    print(line, flush=True)

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for shift, (name, colour) in enumerate(
    zip(followed, ("#2b6ca3", "#d0621b", "#1e8449"), strict=True)
):
    at = np.arange(len(data)) + 0.27 * (shift - 1)
    axes[0].bar(at, followed[name], 0.25, color=colour, label=name)
    axes[1].bar(at, sizes[name], 0.25, color=colour)
axes[0].set(title="the model follows, % of rows", ylim=(0, 130))
axes[1].set(title="median change, standard deviations")
axes[0].legend(ncols=3, fontsize="x-small", loc="upper center")
for cell in axes:
    cell.set_xticks(range(len(data)), labels=data)

# %%
# Keep the picture.

path = (
    Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo"))
    / "counterfactuals.png"
)
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
