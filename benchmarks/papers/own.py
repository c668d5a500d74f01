"""What do the papers' own algorithms reach, setting by setting as they are printed?

LLC-SAPL and LLC-SAPL_lcc (2015): 100 anchors, 8 neighbours, hinge loss, SGD from the
convex solution, ten passes, one bandwidth that stays. U-LLSVM and DU-LLSVM (2018): 100
anchors, the adaptive coding, hinge loss, SGD from zero, ten passes. ML3 (2013): the
paper's number of models, p = 1.5, 30 iterations from random weights, no row left out.
(LL-SVM's own setting is in the part "llsvm".) Features are standardised, as in the
papers; ML3's rows as in the part "ml3".

What a paper leaves open (penalty, bandwidth, rate of the anchors, diversity) is chosen,
one after the other, on a fifth of at most 10,000 training rows; test rows are looked at
once per seed.
"""

from functools import partial

import numpy as np

from benchmarks._common import SEEDS, Report, error, summary
from benchmarks._data import Split, load
from benchmarks.papers import joint, ml3
from locallin import DULLSVMClassifier, SAPLClassifier

# By data set, in the order in which they are run: the cheapest first.
METHODS = {
    "banana": ("SAPL", "SAPL_lcc"),
    "phishing": ("U-LLSVM", "DU-LLSVM"),
    "magic04": ("SAPL", "SAPL_lcc", "U-LLSVM", "DU-LLSVM"),
    "usps": ("SAPL", "SAPL_lcc", "ML3"),
    "letter": ("SAPL", "SAPL_lcc", "ML3"),
    "ijcnn1": ("SAPL", "SAPL_lcc", "U-LLSVM", "DU-LLSVM"),
    "skin": ("SAPL", "SAPL_lcc"),
    "connect4": ("U-LLSVM", "DU-LLSVM"),
    "w8a": ("U-LLSVM", "DU-LLSVM"),
    "covtype": ("U-LLSVM", "DU-LLSVM"),
    "mnist": ("SAPL", "SAPL_lcc", "ML3"),
}
# The most rows of each part.
LIMITS = {"covtype": (100_000, 50_000)}
# Large sets are run once or twice only.
REPEATS = {
    **joint.REPEATS,
    "skin": SEEDS[:2],
    "connect4": SEEDS[:2],
    "w8a": SEEDS[:2],
    "covtype": SEEDS[:1],
    "mnist": SEEDS[:1],
}
PASSES = 10
ML3_ITERATIONS = 30
CHOOSING_ROWS = 10_000
FACTORS = (0.1, 1.0, 10.0)
SAPL_GRID = {"alpha": FACTORS, "perplexity": (2.0, 4.0, 6.0)}
U_GRID = {
    "alpha": FACTORS,
    "perplexity": (4.0, 8.0, 16.0),
    "anchor_rate": (1e-3, 1e-2, 1e-1),
}
GRIDS = {
    "SAPL": SAPL_GRID,
    "SAPL_lcc": SAPL_GRID,
    "U-LLSVM": U_GRID,
    "DU-LLSVM": {"diversity": (1e-4, 1e-3, 1e-2)},
    "ML3": {"alpha": ml3.FACTORS},
}


def prepared(folder, name, method, seed) -> Split:
    if method == "ML3":
        return ml3.prepared(folder, name, seed)
    split = load(folder, name, seed).limited(*LIMITS.get(name, (None, None)))
    return split.dense().standardised()


def make(method, name, X, y, seed, point):
    """The paper's machine; a point's alpha is in units of what is usual here."""
    point = dict(point)
    if method == "ML3":
        n_models, _ = ml3.PRINTED[name]
        square = float((X.astype(float) ** 2).sum(axis=1).mean())
        return ml3.as_printed(
            n_models,
            alpha=point.pop("alpha") * square / len(X),
            max_iter=ML3_ITERATIONS,
            init="random",
            shrinking=False,
            random_state=seed,
        )
    kind = "constant" if method == "SAPL_lcc" else "linear"
    settings = {
        "alpha": point.pop("alpha", 1.0) * joint.alpha_rule(X, y, kind),
        "loss": "hinge",
        "solver": "sgd",
        "max_iter": PASSES,
        "random_state": seed,
        **point,
    }
    if method.startswith("SAPL"):
        return SAPLClassifier(
            100, n_neighbors=8, init="convex", local_model=kind, **settings
        )
    settings.setdefault("diversity", 0.0)
    return DULLSVMClassifier(100, **settings)


def choose(method, name, split, point):
    """Settings one after the other, by error on held-out training rows."""
    part = split.limited(CHOOSING_ROWS).held_out(0, 1 / 5)
    tried = []
    for key, values in GRIDS[method].items():
        errors = []
        for value in values:
            model = make(method, name, part.X, part.y, 0, {**point, key: value})
            model.fit(part.X, part.y)
            errors.append(error(model, part.X_test, part.y_test))
        point = {**point, key: values[int(np.argmin(errors))]}
        tried.append({"setting": key, "values": values, "held_out_errors": errors})
    return point, tried


def measure(folder, name, method, start) -> dict:
    point, tried = choose(
        method, name, prepared(folder, name, method, SEEDS[0]), start()
    )
    errors, losses = [], []
    for seed in REPEATS.get(name, SEEDS):
        split = prepared(folder, name, method, seed)
        model = make(method, name, split.X, split.y, seed, point)
        model.fit(split.X, split.y)
        errors.append(error(model, split.X_test, split.y_test))
        if len(model.classes_) == 2 and method != "ML3":
            losses.append(hinge_loss(model, split.X_test, split.y_test))
    result = {"chosen": point, **summary(errors), "tried": tried}
    return {**result, "test_losses": losses} if losses else result


def hinge_loss(model, X, y) -> float:
    """Mean hinge loss of the scores of two classes."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    margins = signs * model.decision_function(X)
    return round(float(np.maximum(0.0, 1.0 - margins).mean()), 5)


def run(job) -> None:
    report = Report(job, "papers-own", seeds=SEEDS, passes=PASSES, limits=LIMITS)

    def start(name, method) -> dict:
        """DU-LLSVM has the settings of U-LLSVM: only the diversity differs."""
        return report[name, "U-LLSVM"]["chosen"] if method == "DU-LLSVM" else {}

    tasks = {
        (name, method): partial(
            measure, job.data, name, method, partial(start, name, method)
        )
        for name in job.named(METHODS)
        for method in METHODS[name]
    }
    report.fill(tasks)
