"""Contributions beside SHAP's, with the cost of each.

    python examples/beside_shap.py

It needs ``pip install shap``, takes a minute, and is not part of the gallery.
"""

import time

import numpy as np
import shap
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from locallin import LLSVMClassifier
from locallin.inspection import explain


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def rank_correlation(ours, theirs) -> np.ndarray:
    """Spearman's, row by row."""
    pairs = zip(ours, theirs, strict=True)
    return np.array([spearmanr(a, b).statistic for a, b in pairs])


def drop(score_of, X, own, contributions, k=3) -> float:
    """Mean fall of the score where the k largest contributions are taken away."""
    moved = X.copy()
    for row, parts in zip(moved, contributions, strict=True):
        row[np.argsort(-parts)[:k]] = 0
    rows = np.arange(len(X))
    return float((score_of(X) - score_of(moved))[rows, own].mean())


def compare(name, X, y, n_rows=20) -> None:
    """Contributions to the predicted class beside SHAP's, and the time of each."""
    X, X_test, y, _ = train_test_split(X, y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)[:n_rows]
    model = LLSVMClassifier(random_state=0).fit(X, y)

    def scores(rows):
        values = model.decision_function(rows)
        return values if values.ndim == 2 else np.column_stack([-values, values])

    def exact():
        return explain(model, X_test, classes=model.classes_)

    found = exact()
    own = np.searchsorted(model.classes_, found.predicted)
    rows = np.arange(n_rows)
    ours = found.contributions[rows, own]

    def linear():
        # Every row has its own local model, and so its own explainer.
        found = exact()
        masker = shap.maskers.Independent(X, max_samples=len(X))
        values = np.empty_like(X_test)
        for i, c in enumerate(own):
            explainer = shap.LinearExplainer(
                (found.weights[i, c], found.bias[i, c]), masker
            )
            values[i] = explainer.shap_values(X_test[i])
        return values

    def sampled(background):
        values = np.empty_like(X_test)
        np.random.seed(0)  # noqa: NPY002 (SHAP draws from the global generator)
        for c in np.unique(own):
            explainer = shap.KernelExplainer(lambda Z, c=c: scores(Z)[:, c], background)
            values[own == c] = explainer.shap_values(
                X_test[own == c], l1_reg=0, silent=True
            )
        return values

    ours_time = np.median([seconds(exact)[0] for _ in range(15)])
    print(
        f"{name}: {n_rows} rows, {X.shape[1]} features, {len(model.classes_)} classes"
    )
    print(f"{'':34}{'rank corr.':>11}{'worst':>7}{'ms/row':>9}{'ratio':>8}{'drop':>7}")
    contenders = {
        "explain": lambda: ours,
        "LinearExplainer per local model": linear,
        "KernelExplainer, mean row": lambda: sampled(np.zeros((1, X.shape[1]))),
        "KernelExplainer, 20 k-means rows": lambda: sampled(shap.kmeans(X, 20)),
    }
    for label, function in contenders.items():
        spent, theirs = seconds(function)
        spent = ours_time if theirs is ours else spent
        agreement = rank_correlation(ours, theirs)
        print(
            f"{label:34}{agreement.mean():11.3f}{agreement.min():7.2f}"
            f"{1e3 * spent / n_rows:9.3f}{spent / ours_time:8.0f}"
            f"{drop(scores, X_test, own, theirs):7.3f}"
        )
    print()


if __name__ == "__main__":
    compare("Wine", *load_wine(return_X_y=True))
    compare("Tumours", *load_breast_cancer(return_X_y=True))
