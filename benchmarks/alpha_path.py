"""How much cheaper is choosing alpha along a path than by a grid search?

Times are of the processor, on one thread: the median of three fits, or one fit where
that takes more than a minute.
"""

from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks._common import Report, cpu_seconds, error, repeated_seconds
from benchmarks._data import Split, load
from locallin import LLSVMClassifier, LLSVMClassifierCV

SETS = ("letter", "usps", "magic04", "ijcnn1")
ROWS = 20_000
# With 26 classes fewer rows must do.
LIMITS = {"letter": 4_000}
REPEATS, BUDGET = 3, 60
FOLDS = StratifiedKFold(5)


def scaled(folder, name: str) -> Split:
    """A set of limited size, scaled as the docs recommend."""
    return load(folder, name).limited(LIMITS.get(name, ROWS)).scaled_for(name)


def measured(model, split: Split) -> dict:
    """Median time of a fit, and the test error."""
    fit = partial(model.fit, split.X, split.y)
    times = repeated_seconds(fit, REPEATS, BUDGET, timed=cpu_seconds)
    return {
        "fit_seconds": float(np.median(times)),
        "test_error": error(model, split.X_test, split.y_test),
    }


def compare(split: Split, **settings) -> dict:
    """Both ways on the same alphas and folds, on one thread."""
    settings = {"random_state": 0, **settings}
    path = LLSVMClassifierCV(cv=FOLDS, **settings).fit(split.X, split.y)
    path.set_params(alphas=path.alphas_)
    grid = {"alpha": path.alphas_}
    search = GridSearchCV(LLSVMClassifier(**settings), grid, cv=FOLDS)
    ours, theirs = measured(path, split), measured(search, split)
    ours |= {
        "alpha": path.alpha_,
        "score": path.best_score_,
        "epochs": path.path_iterations_.sum(axis=1).tolist(),
    }
    theirs |= {"alpha": search.best_params_["alpha"], "score": search.best_score_}
    return {
        "LLSVMClassifierCV": ours,
        "GridSearchCV": theirs,
        "ratio": theirs["fit_seconds"] / ours["fit_seconds"],
    }


def measure(folder, name) -> dict:
    return compare(scaled(folder, name))


def run(job) -> None:
    report = Report(job, "alpha_path", rows=ROWS, limits=LIMITS, repeats=REPEATS)
    report.fill({(n,): partial(measure, job.data, n) for n in job.named(SETS)})
