"""
Fifteen minutes with a real table
=================================

From a frame to a model that can be asked why: fit, judge, explain, change, report, take
along. The table is that of Efron, Hastie, Johnstone and Tibshirani (2004): 442 people
with diabetes, ten measurements each, and how far the disease had gone a year later. It
comes with scikit-learn, in the units of the study.

As a script it leaves its files in ``demo/``, or in a folder that you name.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_diabetes
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from locallin import LocallyLinearClassifier, LocallyLinearRegressor
from locallin.export import to_c
from locallin.inspection import (
    ContributionDisplay,
    EffectDisplay,
    counterfactual,
    explain,
    global_effects,
)
from locallin.report import report

folder = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo"))
folder.mkdir(exist_ok=True, parents=True)

# %%
# The table
# ---------
# Names that say what is meant, sex as text, and a tenth of the blood pressures taken
# out: real tables have gaps, and this one has none of its own.

names = {
    "bp": "pressure",
    "s1": "cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "cholesterol / hdl",
    "s5": "log triglycerides",
    "s6": "glucose",
}
people, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
people = people.rename(columns=names)
people["sex"] = people["sex"].map({1.0: "one", 2.0: "other"})  # as the source has it
rng = np.random.RandomState(0)
people.loc[rng.uniform(size=len(people)) < 0.1, "pressure"] = np.nan
print(people.head().to_string())

# %%
# The question: for whom will it go far? A third of the people is held back to judge by.

far = np.where(progress > 150, "far", "not far")
train, test, y_train, y_test = train_test_split(
    people, far, test_size=1 / 3, random_state=0, stratify=far
)

# %%
# Fit
# ---
# No scaling, no encoding, no imputing. What has to be chosen is chosen on rows that are
# held out within ``fit``; ``search_path_`` tells of each choice that was tried.

clf = LocallyLinearClassifier(random_state=0).fit(train, y_train)
print(f"{len(clf.search_path_)} choices tried; the one that was taken:")
print(clf.chosen_)

# %%
# Where ``n_anchors`` is 1, held-out rows were content with a single local model, which
# is a logistic regression: on a few hundred rows they often are.

# %%
# Judge
# -----
# ``classes_`` is in the order of the alphabet: the first probability is that of "far".

odds = clf.predict_proba(test)
print(f"right     {clf.score(test, y_test):.3f}")
print(f"AUC       {roc_auc_score(y_test == 'far', odds[:, 0]):.3f}")
print(f"log loss  {log_loss(y_test, odds, labels=clf.classes_):.3f}")

# %%
# Of people with a probability of 0.7, seven in ten should be such. With 148 of them the
# dots may scatter.

CalibrationDisplay.from_predictions(
    y_test == "far", odds[:, 0], n_bins=6, strategy="quantile"
)
plt.gcf().set_size_inches(4.2, 4.2)

# %%
# Where it does not know, it can say so: a set of answers that holds the true one for
# nine in ten people.

sets = clf.predict_set(test, coverage=0.9)
inside = sets[np.arange(len(test)), np.searchsorted(clf.classes_, y_test)]
print(f"{sets.all(axis=1).mean():.0%} of the sets hold both answers")
print(f"{inside.mean():.0%} hold the true one")

# %%
# Why?
# ----
# What each column adds to the score of the first person, in the units of the table. The
# parts add up to the score, and the score is the log-odds of the probability.

print(explain(clf, test[:1], top=6))
ContributionDisplay.from_estimator(clf, test, row=0)

# %%
# What would have to be different, for the people who were decided most narrowly?

narrow = np.abs(odds[:, 0] - 0.5).argsort()[:3]
print(counterfactual(clf, test.iloc[narrow], X_reference=train))

# %%
# And over all people: which columns matter, and how.

effects = global_effects(clf, train)
print(effects)
EffectDisplay.from_estimator(clf, train)

# %%
# A number in place of a class
# ----------------------------
# How far? With an interval that holds the truth for nine in ten.

reg = LocallyLinearRegressor(random_state=0)
reg.fit(train, progress.loc[train.index])
truth = progress.loc[test.index].to_numpy()
low, high = reg.predict_interval(test, coverage=0.9).T
print(f"R2 {reg.score(test, truth):.2f}")
print(f"{np.mean((low <= truth) & (truth <= high)):.0%} within the interval")
print(f"first person: {low[0]:.0f} to {high[0]:.0f}, and it was {truth[0]:.0f}")

# %%
# Take it along
# -------------
# A page for those who know diabetes and not Python: it holds the model, so that a
# reader changes a row and sees what the model says then. And the model as C.

report(clf, test, y_test, path=folder / "diabetes.html")
(folder / "diabetes.h").write_text(to_c(clf, "diabetes", contributions=True))
for name in ("diabetes.html", "diabetes.h"):
    print(f"wrote {folder / name}, {(folder / name).stat().st_size / 1024:.0f} kB")
