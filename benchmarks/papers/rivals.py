"""How do the machines of others compare? Tables 2 and 3 of the 2015 paper.

Every feature standardised, as in the paper. Settings are chosen on a fifth of at most
5,000 training rows; test rows are looked at once per seed. Times are of the processor,
on one thread, for predicting the test rows (at most 10,000) at once, as multiples of a
linear SVM's in the same process. SVM-KNN, which makes a machine for every row, has
4,000 test rows at most. What takes more than eight minutes of the processor on a set,
choices and all seeds together, is left out there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks._common import SEEDS, Report, cpu_seconds, error, on_one_thread, summary
from benchmarks._data import Split, load
from benchmarks.papers import joint
from benchmarks.papers.atlas import fast_svc
from locallin import SAPLClassifier
from locallin.rivals import CSVMClassifier, LDKLClassifier, SVMKNNClassifier

# Printed errors (Table 2; LL-SVM's and LCC+SVM's are not readable in it), and times of
# prediction (Table 3, seconds).
PRINTED = {
    "banana": {"Linear SVM": 44.71, "Kernel SVM": 8.95, "SVM-KNN": 9.39, "CSVM": 10.36,
               "LDKL": 9.85, "LLC-SAPL": 9.18, "LLC-SAPL_lcc": 9.85},
    "magic04": {"Linear SVM": 20.70, "Kernel SVM": 13.30, "SVM-KNN": 14.48,
                "CSVM": 14.99, "LDKL": 13.78, "LLC-SAPL": 13.47,
                "LLC-SAPL_lcc": 16.25},
    "usps": {"Linear SVM": 8.13, "Kernel SVM": 5.14, "SVM-KNN": 6.43, "CSVM": 7.15,
             "LDKL": 6.17, "LLC-SAPL": 5.54, "LLC-SAPL_lcc": 7.37},
    "letter": {"Linear SVM": 42.48, "Kernel SVM": 2.43, "SVM-KNN": 3.63, "CSVM": 5.42,
               "LDKL": 2.85, "LLC-SAPL": 2.73, "LLC-SAPL_lcc": 13.64},
    "ijcnn1": {"Linear SVM": 7.75, "Kernel SVM": 1.48, "SVM-KNN": 3.89, "CSVM": 2.75,
               "LDKL": 1.69, "LLC-SAPL": 1.21, "LLC-SAPL_lcc": 4.97},
    "skin": {"Linear SVM": 6.66, "Kernel SVM": 1.02, "SVM-KNN": 1.85, "CSVM": 2.59,
             "LDKL": 1.92, "LLC-SAPL": 1.43, "LLC-SAPL_lcc": 3.35},
    "mnist": {"Linear SVM": 8.09, "Kernel SVM": 2.16, "SVM-KNN": 2.96, "CSVM": 4.25,
              "LDKL": 2.76, "LLC-SAPL": 2.33, "LLC-SAPL_lcc": 11.73},
}  # fmt: skip
PRINTED_SECONDS = {
    "banana": {"Linear SVM": 0.0029, "Kernel SVM": 0.74, "SVM-KNN": 9.57,
               "CSVM": 0.069, "LDKL": 0.010, "LLC-SAPL": 0.035, "LLC-SAPL_lcc": 0.009},
    "magic04": {"Linear SVM": 0.0043, "Kernel SVM": 10.82, "SVM-KNN": 94.05,
                "CSVM": 0.402, "LDKL": 0.026, "LLC-SAPL": 0.090,
                "LLC-SAPL_lcc": 0.014},
    "usps": {"Linear SVM": 0.0315, "Kernel SVM": 43.17, "SVM-KNN": 212.60,
             "CSVM": 3.658, "LDKL": 0.098, "LLC-SAPL": 0.482, "LLC-SAPL_lcc": 0.012},
    "letter": {"Linear SVM": 0.0076, "Kernel SVM": 13.49, "SVM-KNN": 34.54,
               "CSVM": 1.641, "LDKL": 0.082, "LLC-SAPL": 0.117,
               "LLC-SAPL_lcc": 0.027},
    "ijcnn1": {"Linear SVM": 0.1475, "Kernel SVM": 357.06, "SVM-KNN": 5044.99,
               "CSVM": 4.327, "LDKL": 0.391, "LLC-SAPL": 0.851,
               "LLC-SAPL_lcc": 0.187},
    "skin": {"Linear SVM": 0.0212, "Kernel SVM": 68.58, "SVM-KNN": 6857.23,
             "CSVM": 1.581, "LDKL": 0.275, "LLC-SAPL": 0.647, "LLC-SAPL_lcc": 0.075},
    "mnist": {"Linear SVM": 0.3339, "Kernel SVM": 867.59, "SVM-KNN": 8758.74,
              "CSVM": 60.813, "LDKL": 1.731, "LLC-SAPL": 6.415,
              "LLC-SAPL_lcc": 0.067},
}  # fmt: skip
CHOOSING_ROWS = 5_000
TIMED_ROWS = 10_000
# Test rows of machines that are slow to predict, and those that are timed.
SLOW_ROWS, SLOW_TIMED_ROWS = 4_000, 500
TURNS = 5
MINUTES = 8
# Large sets are run once or twice only.
REPEATS = {**joint.REPEATS, "skin": SEEDS[:2], "mnist": SEEDS[:1]}


@dataclass(frozen=True)
class Machine:
    """A machine with settings to choose from.

    One that is slow to predict has three splits at most, and fewer test rows.
    """

    make: Callable
    settings: dict = field(default_factory=dict)
    grid: dict = field(default_factory=dict)
    seeded: bool = True
    slow: bool = False


MACHINES = {
    "Linear SVM": Machine(
        LinearSVC, {"dual": "auto"}, {"C": (0.01, 0.1)}, seeded=False
    ),
    "Kernel SVM": Machine(
        fast_svc(),
        grid={"C": (1.0, 10.0, 100.0), "gamma": (0.1, 0.3, 1.0, 3.0)},
        seeded=False,
    ),
    "SVM-KNN": Machine(
        SVMKNNClassifier,
        {"kernel": "rbf", "C": 10.0},
        {"n_neighbors": (10, 30, 100)},
        seeded=False,
        slow=True,
    ),
    "CSVM": Machine(
        CSVMClassifier,
        {"max_iter": 300, "tol": 0.01},
        {"n_clusters": (8, 32), "C": (0.1, 1.0)},
    ),
    "LLC-SAPL": Machine(SAPLClassifier, {"n_anchors": 100}),
    "LLC-SAPL_lcc": Machine(
        SAPLClassifier, {"n_anchors": 100, "local_model": "constant"}
    ),
    # The last, since it takes longest where there are many classes.
    "LDKL": Machine(
        LDKLClassifier,
        grid={"depth": (3, 5), "alpha": (0.1, 1.0)},
    ),
}


def prepared(folder, name, seed) -> Split:
    return load(folder, name, seed).dense().standardised()


def built(machine: Machine, X, y, seed, point):
    """The machine for rows; alpha and gamma are in units of what is usual for them."""
    point = {**machine.settings, **point}
    if "gamma" in point:
        point["gamma"] /= X.shape[1]
    if "alpha" in point:
        point["alpha"] *= float((X.astype(float) ** 2).sum() / len(X) ** 2)
    return machine.make(**point, **({"random_state": seed} if machine.seeded else {}))


def choose(machine: Machine, split: Split):
    """One setting after the other, by error on held-out training rows."""
    part = split.limited(CHOOSING_ROWS).held_out(0, 1 / 5)
    point = {key: values[0] for key, values in machine.grid.items()}
    tried = []
    for key, values in machine.grid.items():
        errors = []
        for value in values:
            model = built(machine, part.X, part.y, 0, {**point, key: value})
            errors.append(error(model.fit(part.X, part.y), part.X_test, part.y_test))
        point[key] = values[int(np.argmin(errors))]
        tried.append({"setting": key, "values": values, "held_out_errors": errors})
    return point, tried


def measure(folder, name, machine: Machine) -> dict:
    point, tried = choose(machine, prepared(folder, name, SEEDS[0]))
    drawn = machine.seeded or is_split_at_random(folder, name)
    seeds = REPEATS.get(name, SEEDS)
    if machine.slow:
        seeds = seeds[: len(SEEDS)]
    errors = []
    for seed in seeds if drawn else seeds[:1]:
        split = prepared(folder, name, seed)
        if machine.slow:
            split = split.limited(None, SLOW_ROWS)
        model = built(machine, split.X, split.y, seed, point).fit(split.X, split.y)
        errors.append(error(model, split.X_test, split.y_test))
    return {
        "chosen": point,
        "tried": tried,
        **summary(errors),
        "test_time": multiple_of_linear(model, split, machine.slow),
    }


def is_split_at_random(folder, name) -> bool:
    with np.load(folder / f"{name}.npz") as file:
        return "y" in file


def multiple_of_linear(model, split: Split, slow: bool = False) -> float:
    """Time of the processor for a test row, over that of a linear SVM."""
    X = split.X_test[:TIMED_ROWS]
    linear = LinearSVC(max_iter=1, dual="auto").fit(split.X[:2000], split.y[:2000])
    few = X[:SLOW_TIMED_ROWS] if slow else X
    return prediction_time(model, few) / prediction_time(linear, X)


def prediction_time(model, X) -> float:
    """Median time for a row; calls are repeated until a clock can see them."""
    calls = 1
    while (spent := repeated(model, X, calls)) < 0.02:
        calls *= 4
    times = [spent]
    while len(times) < TURNS and sum(times) < 5:
        times.append(repeated(model, X, calls))
    return float(np.median(times)) / (calls * len(X))


def repeated(model, X, calls) -> float:
    return cpu_seconds(lambda: [model.predict(X) for _ in range(calls)])[0]


def run(job) -> None:
    report = Report(job, "papers-rivals", seeds=SEEDS, timed_rows=TIMED_ROWS)
    names = job.named(PRINTED)
    report.fill(
        {
            (name, method): partial(
                on_one_thread,
                measure,
                job.data,
                name,
                MACHINES[method],
                minutes=MINUTES,
            )
            for name, method in product(names, MACHINES)
        }
    )
