"""
Few labels, many rows
=====================

An atlas learns the shape of the data from all rows, labelled or not; the classifier on
its charts then needs few labels. Digits, with 20 to 320 labels for 1797 rows, beside an
RBF SVM that sees the labelled rows only. Class -1 marks a row without label.

As a script it writes ``demo/few_labels.png``.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from locallin import Atlas, AtlasClassifier

X, y = load_digits(return_X_y=True)

# %%
# One atlas of all rows serves every choice of labels: it does not look at them.

atlas = FrozenEstimator(Atlas(random_state=0).fit(X))
print(f"{len(atlas.means_)} charts of {atlas.n_components_} dimensions")

# %%
# Five draws of labelled rows for each number, the same for both. The error is that on
# the rows without label, which the atlas has seen: transductive use, as in the paper.

numbers = 20, 40, 80, 160, 320
errors = {"AtlasClassifier": [], "SVC(C=10)": []}
for n in numbers:
    found = {name: [] for name in errors}
    for seed in range(5):
        rng = np.random.RandomState(seed)
        # The same number of each class.
        chosen = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), n // 10, False) for c in range(10)]
        )
        rest = np.setdiff1d(np.arange(len(y)), chosen)
        model = AtlasClassifier(atlas, random_state=0).fit(X[chosen], y[chosen])
        found["AtlasClassifier"].append(100 - 100 * model.score(X[rest], y[rest]))
        peer = SVC(C=10).fit(X[chosen], y[chosen])
        found["SVC(C=10)"].append(100 - 100 * peer.score(X[rest], y[rest]))
    for name in errors:
        errors[name].append(np.mean(found[name]))
    line = ", ".join(f"{name} {errors[name][-1]:.1f} %" for name in errors)
    print(f"{n} labels: error of {line}")

# %%
# The gain is largest where labels are fewest.

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for (name, values), colour in zip(errors.items(), ("#d0621b", "#2b6ca3"), strict=True):
    axes.plot(numbers, values, "o-", color=colour, label=name)
axes.set(
    xscale="log", xlabel="labelled rows of 1797", ylabel="error, %", ylim=(0, None)
)
axes.set_xticks(numbers, labels=map(str, numbers))
axes.minorticks_off()
axes.legend()

# %%
# Keep the picture.

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "few_labels.png"
path.parent.mkdir(exist_ok=True, parents=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
