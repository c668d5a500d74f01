"""
A table as it comes
===================

From a table with numbers, text, dates and gaps to probabilities, to reasons in the
table's own columns, and to the curve of what each column does.

As a script it leaves the pictures in ``demo/``, or in a folder that you name.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from locallin import LocallyLinearClassifier
from locallin.inspection import (
    EffectDisplay,
    ImportanceDisplay,
    explain,
    global_effects,
)

folder = Path(next((a for a in sys.argv[1:2] if a[0] != "-"), "demo"))
folder.mkdir(exist_ok=True, parents=True)


def keep(display, name: str) -> None:
    path = folder / f"tables-{name}.png"
    display.figure_.savefig(path, dpi=110)
    print(f"wrote {path}")


# %%
# The table
# ---------
# Loans, made up: an income with gaps, the home as text, the town with many levels, the
# day of the application. Tenants fall behind where their income is small, owners
# hardly do, and who does not tell the income is at risk.

rng = np.random.RandomState(0)
n = 3000
income = np.exp(rng.normal(10.5, 0.5, n))
home = rng.choice(["rent", "own", "parents"], n, p=[0.5, 0.4, 0.1])
told = rng.uniform(size=n) > 0.15
loans = pd.DataFrame(
    {
        "income": np.where(told, income.round(), np.nan),
        "age": rng.randint(18, 75, n),
        "home": pd.Series(home).where(rng.uniform(size=n) > 0.05, None),
        "town": [f"town {k}" for k in rng.zipf(1.6, n) % 200],
        "applied": pd.to_datetime("2023-01-01")
        + pd.to_timedelta(rng.randint(0, 730, n), unit="D"),
    }
)
risk = -1.5 + 0.8 * ~told - 0.02 * (loans["age"] - 45)
risk += np.where(home == "rent", -2.5 * (np.log(income) - 10.5), 0)
late = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-risk)), "late", "paid")
print(loans.head(), "\n")

# %%
# Probabilities
# -------------
# The table goes in as it is. An effort of 0 is one choice by the number of rows; the
# default tries a dozen.

train, test, y, y_test = train_test_split(loans, late, random_state=0)
model = LocallyLinearClassifier(effort=0, random_state=0).fit(train, y)
chances = model.predict_proba(test)
print(f"AUC {roc_auc_score(y_test == 'late', chances[:, 0]):.3f}")
print(f"log loss {log_loss(y_test, chances):.3f}")

# %%
# Reasons
# -------
# One line a column, with the value that the row has, also where it has none. They add
# up to the score.

gaps = test[test["income"].isna()]
print(explain(model, gaps.iloc[:1]).row(0))

# %%
# What each column does
# ---------------------
# The mean size of the contributions, and the contribution against the value.

print(global_effects(model, test))
keep(ImportanceDisplay.from_estimator(model, test), "importance")
keep(EffectDisplay.from_estimator(model, test), "effects")
