"""Does joint learning end below the convex problem it starts from, for any m?

For each data set and number of anchors: the objective of DU-LLSVM without diversity at
its end, over that of the convex solver on the anchors, bandwidth and penalty that it
started from; and its error where the penalty is chosen on held-out training rows.
"""

from functools import cache, partial

import numpy as np

from benchmarks._common import Report, error
from benchmarks._data import Split, load
from locallin import DULLSVMClassifier, LLSVMClassifier

SETS = (
    "heart",
    "ionosphere",
    "bupa",
    "pima",
    "wdbc",
    "sonar",
    "german_numer_scale",
    "banana",
    "ringnorm",
    "spambase",
    "semeion",
    "magic04",
    "letter",
    "phishing",
    "usps",
    "ijcnn1",
    "connect4",
    "mnist",
    "covtype",
)
ROWS, TEST_ROWS = 20_000, 20_000
ANCHORS = (10, 100, 300, 1000)
# In units of what alpha="auto" takes.
FACTORS = (1.0, 10.0, 100.0)
# Numbers of anchors for which each has this many rows at least.
ROWS_PER_ANCHOR = 2


@cache
def prepared(folder, name: str) -> Split:
    """A set of limited size, dense and scaled as the docs recommend."""
    split = load(folder, name).limited(ROWS, TEST_ROWS).dense()
    return split.scaled_for(name)


def objective(model, split: Split) -> float:
    """alpha/2 (|W|^2 + |b|^2 / B^2) and the mean squared hinge of all scores."""
    scores = model.decision_function(split.X).reshape(len(split.y), -1)
    known = model.classes_[1:] if scores.shape[1] == 1 else model.classes_
    signs = np.where(split.y[:, None] == known, 1.0, -1.0)
    loss = np.square(np.maximum(1.0 - signs * scores, 0.0)).sum(axis=1).mean()
    squares = np.square(model.coef_, dtype=float).sum()
    offsets = np.square(model.intercept_, dtype=float).sum()
    penalty = squares + offsets / model.intercept_scaling_**2
    return float(loss + 0.5 * model.alpha_ * penalty)


def joint(n_anchors: int, **settings) -> DULLSVMClassifier:
    return DULLSVMClassifier(
        n_anchors, diversity=0.0, random_state=0, n_jobs=1, **settings
    )


def measure(folder, name: str, m: int) -> dict:
    split = prepared(folder, name)
    if ROWS_PER_ANCHOR * m > len(split.y):
        return {"skipped": f"{len(split.y)} rows"}
    first = joint(m).fit(split.X, split.y)
    convex = LLSVMClassifier(
        m, alpha=first.alpha_, solver="newton", tol=1e-3, random_state=0, n_jobs=1
    ).fit(split.X, split.y)
    learned = joint(
        None,
        anchors=convex.anchors_,
        mu=convex.coding_.bandwidth_,
        alpha=convex.alpha_,
        intercept_scaling=convex.intercept_scaling_,
    ).fit(split.X, split.y)
    below, above = objective(learned, split), objective(convex, split)
    part = split.held_out(seed=0)
    held = [
        error(
            joint(m, alpha=factor * first.alpha_).fit(part.X, part.y),
            part.X_test,
            part.y_test,
        )
        for factor in FACTORS
    ]
    factor = FACTORS[int(np.argmin(held))]
    chosen = first
    if factor != 1.0:
        chosen = joint(m, alpha=factor * first.alpha_).fit(split.X, split.y)
    return {
        "convex_objective": above,
        "convex_gap": convex.dual_gap_,
        "joint_objective": below,
        "ratio": below / above,
        "held_out_errors": held,
        "factor": factor,
        "test_error": error(chosen, split.X_test, split.y_test),
        "test_rows": len(split.y_test),
    }


def run(job) -> None:
    report = Report(
        job, "objectives", rows=ROWS, test_rows=TEST_ROWS, factors=list(FACTORS)
    )
    report.fill(
        {
            (name, f"{m}"): partial(measure, job.data, name, m)
            for name in job.named(SETS)
            for m in ANCHORS
        }
    )
