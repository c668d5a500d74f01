"""
Taking a model elsewhere
========================

A fitted model as a C header without dependencies, and as a smaller copy. As a script it
writes ``demo/digits.h`` and ``demo/elsewhere.png``.
"""

import pickle
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from locallin import DULLSVMClassifier
from locallin.export import compress, to_c

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(MinMaxScaler(), DULLSVMClassifier(20, random_state=0)).fit(X, y)
print(f"accuracy {model.score(X_test, y_test):.3f}")

# %%
# C
# -
# The scaler becomes one subtraction and one product per feature. The header needs C99
# and ``math.h``, and allocates nothing.

header = to_c(model, "digits")
print(
    "\n".join(line for line in header.splitlines() if line.startswith("static inline"))
)
print(f"{len(header) / 1024:.0f} KB of text")

path = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo")) / "digits.h"
path.parent.mkdir(exist_ok=True, parents=True)
path.write_text(header)
print(f"wrote {path}")

# %%
# Smaller copies
# --------------
# float32 gives an estimator of the same class, float16 one that unpacks itself when it
# first predicts.

scaler, machine = model.steps[0][1], model.steps[-1][1]
Z = scaler.transform(X_test)
copies = {
    "as fitted": machine,
    "float32": compress(machine),
    "float16": compress(machine, dtype="float16"),
}
sizes = {}
for name, copy in copies.items():
    sizes[name] = size = len(pickle.dumps(copy)) / 1024
    same = np.mean(copy.predict(Z) == machine.predict(Z))
    print(f"{name:10}{size:6.0f} KB   {same:.1%} of the labels are the same")

# %%
# Beside the rows that an RBF SVM would keep, all of them are small.

peer = SVC(C=10).fit(scaler.transform(X), y)
sizes["SVC(C=10)"] = len(pickle.dumps(peer)) / 1024
figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
bars = axes.barh(list(sizes), list(sizes.values()), color="#2b6ca3")
bars[-1].set_color("#999999")
axes.bar_label(bars, fmt="%.0f KB", padding=3)
axes.invert_yaxis()
axes.set(title="size of the pickle", xlim=(0, 1.15 * max(sizes.values())), xticks=[])
figure.savefig(path.parent / "elsewhere.png", dpi=110)
print(f"Picture: {path.parent / 'elsewhere.png'}")
