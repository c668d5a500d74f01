"""How do errors depend on anchors and epochs? The data of the papers' figures.

"anchors": test error against the number of anchors (Figure 2 of the 2011 and 2015
papers, Figure 3 of the 2018 paper; MNIST: LL-SVM alone, from one anchor, which is a
linear SVM, one seed). "epochs": objective, and accuracy on held-out
training rows, from epoch to epoch. "active": average number of anchors that take part
in a row's score, from epoch to epoch. Defaults otherwise.
"""

from functools import partial
from itertools import product

from benchmarks._common import SEEDS, Report, error, summary
from benchmarks._data import load
from benchmarks._methods import ours

METHODS = {
    "LL-SVM": partial(ours, "LLSVMClassifier"),
    "SAPL": partial(ours, "SAPLClassifier"),
    "U-LLSVM": partial(ours, "DULLSVMClassifier", diversity=0.0),
    "DU-LLSVM": partial(ours, "DULLSVMClassifier"),
}
LEARNED = [name for name in METHODS if name != "LL-SVM"]
ANCHORS = (5, 10, 20, 50, 100, 200)
FROM_ONE = (1, 2, 5, 10, 20, 50, 100)
SETS = {
    "anchors": ("usps", "letter"),
    "from one": ("mnist",),
    "epochs": ("letter",),
    "active": ("letter", "magic04"),
}


def anchors(folder, name, method, m, seeds=SEEDS) -> dict:
    split = load(folder, name).scaled_for(name)
    errors = []
    for seed in seeds:
        model = METHODS[method](seed=seed, n_anchors=m).fit(split.X, split.y)
        errors.append(error(model, split.X_test, split.y_test))
    return summary(errors)


def epochs(folder, name, method) -> dict:
    split = load(folder, name).scaled_for(name).held_out(0)
    model = METHODS[method](early_stopping=True)
    model.set_params(n_iter_no_change=model.max_iter)
    model.fit(split.X, split.y, X_val=split.X_test, y_val=split.y_test)
    return {
        "objective": model.objective_history_.tolist(),
        "held_out_accuracy": model.validation_history_.tolist(),
    }


def active(folder, name, method) -> dict:
    split = load(folder, name).scaled_for(name)
    model = METHODS[method]().fit(split.X, split.y)
    return {"active_anchors": model.active_history_.tolist()}


def run(job) -> None:
    report = Report(job, "papers-figures", anchors=ANCHORS, seeds=SEEDS)
    names = {figure: job.named(sets) for figure, sets in SETS.items()}
    grids = {
        anchors: product(names["anchors"], METHODS, ANCHORS),
        epochs: product(names["epochs"], METHODS),
        active: product(names["active"], LEARNED),
    }
    report.fill(
        {
            ("anchors", name, "LL-SVM", str(m)): partial(
                anchors, job.data, name, "LL-SVM", m, SEEDS[:1]
            )
            for name, m in product(names["from one"], FROM_ONE)
        }
    )
    report.fill(
        {
            (figure.__name__, *map(str, point)): partial(figure, job.data, *point)
            for figure, points in grids.items()
            for point in points
        }
    )
