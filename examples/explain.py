"""Why a model decides as it does: explanations, regions and six pictures.

    python examples/explain.py            # pictures into demo/
    python examples/explain.py FOLDER     # or into a folder of yours
    python examples/explain.py --shap     # contributions beside SHAP's, with the cost
    python examples/explain.py --follow   # how often real models follow local ones

The comparison needs ``pip install shap``.
"""

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_moons,
)
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import Atlas, LLSVMClassifier, ML3Classifier, SAPLClassifier
from locallin.inspection import (
    BoundaryDisplay,
    ChartDisplay,
    ContributionDisplay,
    HistoryDisplay,
    RegionDisplay,
    WeightImageDisplay,
    counterfactual,
    explain,
    regions,
)

matplotlib.use("Agg")


def fitted_tumours():
    """A pipeline on 30 measurements of tumours, and rows it has not seen."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.array(["malignant", "benign"])[y]
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = make_pipeline(StandardScaler(), LLSVMClassifier(random_state=0))
    return model.fit(X, y), X_test, y_test


def tell(model, X, y) -> int:
    """Print tables, and return the row that was decided most narrowly."""
    narrow = np.abs(model.decision_function(X)).argsort()
    print(f"Tumours: accuracy {model.score(X, y):.3f} on {len(X)} rows\n")
    print("The most narrow decision, in standard deviations of the features:\n")
    print(explain(model, X, top=6).row(narrow[0]), "\n")
    print("Changes of one feature that change the five most narrow decisions:\n")
    print(counterfactual(model, X.iloc[narrow[:5]]), "\n")
    every = counterfactual(model, X)
    print(
        f"Over all rows the median change is {np.median(every.size):.2f}, and the real "
        f"model follows in {np.mean(every.model_flips):.1%} of them.\n"
    )
    print("The local models:\n")
    print(regions(model, X, y, top=2).to_text(8), "\n")
    return int(narrow[0])


def draw(folder: Path) -> None:
    """Write the pictures."""
    model, X, y = fitted_tumours()
    narrow = tell(model, X, y)
    displays = {
        "contributions": ContributionDisplay.from_estimator(model, X, row=narrow)
    }

    X, y = make_moons(500, noise=0.18, random_state=3)
    model = LLSVMClassifier(12, alpha=1e-3, random_state=0).fit(X, y)
    displays["boundary"] = BoundaryDisplay.from_estimator(model, X, y)

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)
    model = LLSVMClassifier(40, random_state=0).fit(X, y)
    displays["weights"] = WeightImageDisplay.from_estimator(model, X_test, limit=6)
    displays["regions"] = RegionDisplay.from_estimator(model, X_test, y_test)
    model = SAPLClassifier(40, early_stopping=True, n_iter_no_change=30, random_state=0)
    model.fit(X, y)
    displays["history"] = HistoryDisplay.from_estimator(model)

    X = np.random.RandomState(0).normal(size=(1500, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    atlas = Atlas(2, mdl=5.0, random_state=0).fit(X)
    displays["charts"] = ChartDisplay.from_estimator(atlas, X, labels=atlas.labels_)

    folder.mkdir(exist_ok=True, parents=True)
    for name, display in displays.items():
        path = folder / f"explain-{name}.png"
        display.figure_.savefig(path, dpi=110)
        print(f"wrote {path}")


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
    import shap

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


def follow() -> None:
    """Count how often the real model flips where its local model does."""
    data = {
        "moons": make_moons(1000, noise=0.2, random_state=0),
        "wine": load_wine(return_X_y=True),
        "tumours": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }
    classes = LLSVMClassifier, SAPLClassifier, ML3Classifier
    print(f"{'':10}" + "".join(f"{kind.__name__:>24}" for kind in classes))
    for name, (X, y) in data.items():
        X, X_test, y, _ = train_test_split(X, y, random_state=0)
        line = f"{name:10}"
        for kind in classes:
            model = make_pipeline(StandardScaler(), kind(random_state=0)).fit(X, y)
            found = counterfactual(model, X_test)
            size = np.median(found.size)
            line += f"{f'{found.model_flips.mean():.0%} (size {size:.1f})':>24}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="demo", type=Path)
    parser.add_argument("--shap", action="store_true", help="compare with SHAP")
    parser.add_argument("--follow", action="store_true", help="check changes")
    arguments = parser.parse_args()
    if arguments.follow:
        follow()
    elif arguments.shap:
        compare("Wine", *load_wine(return_X_y=True))
        compare("Tumours", *load_breast_cancer(return_X_y=True))
    else:
        draw(arguments.folder)


if __name__ == "__main__":
    main()
