"""What error does LL-SVM with 100 anchors reach on the data of its paper?

Settings are chosen on a sixth of the training rows that is held out (three times,
where there are fewer than 20,000); the test rows are looked at once, with the chosen
settings, for each seed.
"""

import itertools
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks._common import SEEDS, load, save, seconds
from locallin import LLSVMClassifier
from locallin.coding import InverseDistanceCoding, SoftAssignmentCoding

PRINTED = {"mnist": 1.85, "usps": 5.78, "letter": 5.32}
ALPHAS = (1e-5, 3e-6, 1e-6, 5e-7, 2e-7)
SOFT = tuple(itertools.product((16, 24, 32), (0.5, 0.67), ALPHAS[1:]))


def soft(k, share, alpha):
    coding = SoftAssignmentCoding(100, n_neighbors=k, perplexity=share * k)
    return {"coding": coding, "alpha": alpha, "max_iter": 150, "tol": 0.01}


def papers_own(alpha):
    """k = 8, inverse distance, hinge loss, ten passes of SGD."""
    return {
        "coding": InverseDistanceCoding(100, n_neighbors=8),
        "alpha": alpha,
        "loss": "hinge",
        "solver": "sgd",
        "max_iter": 10,
        "tol": None,
    }


METHODS = {
    "soft assignment, squared hinge, dual": (soft, SOFT),
    "paper's setting (inverse distance, k=8, hinge, 10 epochs of SGD)": (
        papers_own,
        tuple((a,) for a in ALPHAS),
    ),
    "inverse distance, k=8, squared hinge, dual": (
        lambda alpha: {
            "coding": InverseDistanceCoding(100, n_neighbors=8),
            "alpha": alpha,
            "max_iter": 150,
            "tol": 0.01,
        },
        tuple((a,) for a in ALPHAS),
    ),
}


def error(model, X, y) -> float:
    return round(100 * (1 - model.score(X, y)), 4)


def choose(X, y, settings, grid):
    """The point of the grid with the lowest error on held-out training rows."""
    splits = [
        train_test_split(X, y, test_size=1 / 6, random_state=s, stratify=y)
        for s in range(3 if len(X) < 20_000 else 1)
    ]
    tried = []
    for point in grid:
        errors = []
        for X_fit, X_held, y_fit, y_held in splits:
            model = LLSVMClassifier(**settings(*point), n_jobs=2, random_state=0)
            errors.append(error(model.fit(X_fit, y_fit), X_held, y_held))
        held_out = round(float(np.mean(errors)), 4)
        tried.append({"point": point, "held_out_error": held_out})
        print(f"    {point}: held-out error {held_out:.2f} %", flush=True)
    return min(tried, key=lambda t: t["held_out_error"])["point"], tried


def run(data, results) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    report = {}
    for name, printed in PRINTED.items():
        X, y, X_test, y_test = load(data, name)
        report[name] = {"error printed in the paper": printed}
        for method, (settings, grid) in METHODS.items():
            print(f"{name}, {method}", flush=True)
            point, tried = choose(X, y, settings, grid)
            errors, times = [], []
            for seed in SEEDS:
                model = LLSVMClassifier(**settings(*point), n_jobs=2, random_state=seed)
                spent, _ = seconds(partial(model.fit, X, y))
                errors.append(error(model, X_test, y_test))
                times.append(round(spent, 2))
            mean, deviation = np.mean(errors), np.std(errors, ddof=1)
            print(f"  {point}: test error {mean:.2f} +- {deviation:.2f} %", flush=True)
            report[name][method] = {
                "chosen": point,
                "test_errors": errors,
                "mean": round(float(mean), 3),
                "deviation": round(float(deviation), 3),
                "fit_seconds": times,
                "tried": tried,
            }
    save(results, "accuracy", report)
