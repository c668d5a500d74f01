"""
Why a model decides as it does
==============================

Contributions that add up to the score, changes that would change a decision, which
columns matter, a table of the local models, and the displays of
:mod:`locallin.inspection`.

As a script it leaves the pictures in ``demo/``, or in a folder that you name.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import Atlas, LLSVMClassifier, SAPLClassifier
from locallin.inspection import (
    BoundaryDisplay,
    ChartDisplay,
    ContributionDisplay,
    EffectDisplay,
    HistoryDisplay,
    ImportanceDisplay,
    RegionDisplay,
    WeightImageDisplay,
    counterfactual,
    explain,
    global_effects,
    regions,
)

folder = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo"))
folder.mkdir(exist_ok=True, parents=True)


def keep(display, name: str) -> None:
    path = folder / f"explain-{name}.png"
    display.figure_.savefig(path, dpi=110)
    print(f"wrote {path}")


# %%
# What each feature adds
# ----------------------
# A pipeline on 30 measurements of tumours. Values are those of the table; behind a
# StandardScaler a contribution compares with the average row. We look at the row that
# was decided most narrowly.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.array(["malignant", "benign"])[y]
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), LLSVMClassifier(random_state=0)).fit(X, y)
print(f"accuracy {model.score(X_test, y_test):.3f} on {len(X_test)} rows\n")

narrow = np.abs(model.decision_function(X_test)).argsort()
print(explain(model, X_test, top=6).row(narrow[0]))

# %%

display = ContributionDisplay.from_estimator(model, X_test, row=int(narrow[0]))
keep(display, "contributions")

# %%
# What would change the decision
# ------------------------------
# The smallest change of a single column that changes the decision of a row's local
# model, for the five most narrow decisions. The real model is then asked there.

print(counterfactual(model, X_test.iloc[narrow[:5]], X_reference=X), "\n")
every = counterfactual(model, X_test)
print(
    f"Over all rows the median change is {np.median(every.size):.2f}, and the real "
    f"model follows in {np.mean(every.model_flips):.1%} of them."
)

# %%
# Which columns matter
# --------------------
# The same contributions over all rows: how much a column adds on average, and what its
# values add, in the regions of different local models.

print(global_effects(model, X_test))
keep(ImportanceDisplay.from_estimator(model, X_test, top=12), "importance")
keep(EffectDisplay.from_estimator(model, X_test), "effects")

# %%
# What each local model does
# --------------------------

print(regions(model, X_test, y_test, top=2).to_text(8))

# %%
# Decisions in the plane
# ----------------------
# Anchors, and the local line at the boundary nearest to each.

X, y = make_moons(500, noise=0.18, random_state=3)
model = LLSVMClassifier(12, alpha=1e-3, random_state=0).fit(X, y)
keep(BoundaryDisplay.from_estimator(model, X, y), "boundary")

# %%
# Images
# ------
# Rows that are images, the weights behind their scores, and the product of both.

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
model = LLSVMClassifier(40, random_state=0).fit(X, y)
keep(WeightImageDisplay.from_estimator(model, X_test, limit=6), "weights")

# %%
# Local models on digits: rows, classes, accuracy and overlap.

keep(RegionDisplay.from_estimator(model, X_test, y_test), "regions")

# %%
# The course of learning
# ----------------------
# Objective, held-out accuracy and active anchors per epoch.

model = SAPLClassifier(40, early_stopping=True, n_iter_no_change=30, random_state=0)
keep(HistoryDisplay.from_estimator(model.fit(X, y)), "history")

# %%
# Charts
# ------
# An atlas of points on a sphere.

X = np.random.RandomState(0).normal(size=(1500, 3))
X /= np.linalg.norm(X, axis=1, keepdims=True)
atlas = Atlas(2, mdl=5.0, random_state=0).fit(X)
keep(ChartDisplay.from_estimator(atlas, X, labels=atlas.labels_), "charts")
