"""Test loss, accuracy and time of prediction: Table 2 of the 2018 paper.

100 anchors and defaults otherwise; the linear SVM's C is chosen on a fifth of at most
5,000 training rows. The loss is the hinge loss of the scores, averaged over test rows,
whatever was minimised. Times are of the processor, on one thread, for predicting at
most 10,000 rows at once, as multiples of the linear SVM's in the same process. COVTYPE
has 100,000 rows to train and 50,000 to test on, W8A a split of its distinct rows: all
of its test rows are also training rows.
"""

from functools import partial
from itertools import product

from sklearn.svm import LinearSVC

from benchmarks._common import SEEDS, Report, error, summary
from benchmarks._data import Split, load
from benchmarks.papers.own import LIMITS, hinge_loss
from benchmarks.papers.rivals import Machine, built, choose, multiple_of_linear
from locallin import DULLSVMClassifier, LLSVMClassifier, SAPLClassifier

# Test loss, accuracy in % and multiple of a linear SVM's time. COVTYPE's figures of
# U-LLSVM and DU-LLSVM are not readable.
PRINTED = {
    "phishing": {
        "SVM": (0.1964, 92.24, 1), "LL-SVM": (0.1861, 92.66, 8.91),
        "SAPL": (0.1509, 93.92, 9.27), "U-LLSVM": (0.1026, 95.66, 8.66),
        "DU-LLSVM": (0.0965, 95.84, 8.91),
    },
    "magic04": {
        "SVM": (0.5004, 78.33, 1), "LL-SVM": (0.4289, 79.57, 21.56),
        "SAPL": (0.3923, 81.60, 22.04), "U-LLSVM": (0.3339, 84.88, 22.92),
        "DU-LLSVM": (0.3238, 85.14, 22.92),
    },
    "ijcnn1": {
        "SVM": (0.1863, 90.50, 1), "LL-SVM": (0.1130, 94.51, 15.52),
        "SAPL": (0.1054, 95.17, 15.78), "U-LLSVM": (0.0683, 97.66, 16.30),
        "DU-LLSVM": (0.0584, 98.26, 15.42),
    },
    "w8a": {
        "SVM": (0.0567, 97.07, 1), "LL-SVM": (0.0333, 98.45, 11.72),
        "SAPL": (0.0274, 98.74, 12.78), "U-LLSVM": (0.0262, 98.74, 10.01),
        "DU-LLSVM": (0.0228, 98.96, 10.28),
    },
    "connect4": {
        "SVM": (0.4257, 81.50, 1), "LL-SVM": (0.3196, 87.30, 7.52),
        "SAPL": (0.2901, 88.19, 8.78), "U-LLSVM": (0.2663, 89.15, 9.30),
        "DU-LLSVM": (0.2225, 90.94, 9.92),
    },
    "covtype": {
        "SVM": (0.6535, 68.73, 1), "LL-SVM": (0.4809, 79.17, 15.18),
        "SAPL": (0.4359, 80.61, 16.72),
    },
}  # fmt: skip
MACHINES = {
    "SVM": Machine(LinearSVC, {"loss": "hinge", "max_iter": 300}, {"C": (0.01, 1.0)}),
    "LL-SVM": Machine(LLSVMClassifier, {"n_anchors": 100}),
    "SAPL": Machine(SAPLClassifier, {"n_anchors": 100}),
    "U-LLSVM": Machine(DULLSVMClassifier, {"n_anchors": 100, "diversity": 0.0}),
    "DU-LLSVM": Machine(DULLSVMClassifier, {"n_anchors": 100}),
}
# Sets that are run twice only.
REPEATS = {"covtype": SEEDS[:2], "connect4": SEEDS[:2], "w8a": SEEDS[:2]}


def prepared(folder, name, seed) -> Split:
    split = load(folder, name, seed).limited(*LIMITS.get(name, (None, None)))
    return split.dense().standardised()


def measure(folder, name, method) -> dict:
    machine = MACHINES[method]
    point, tried = choose(machine, prepared(folder, name, SEEDS[0]))
    errors, losses = [], []
    for seed in REPEATS.get(name, SEEDS):
        split = prepared(folder, name, seed)
        model = built(machine, split.X, split.y, seed, point).fit(split.X, split.y)
        errors.append(error(model, split.X_test, split.y_test))
        losses.append(hinge_loss(model, split.X_test, split.y_test))
    return {
        "chosen": point,
        "tried": tried,
        **summary(errors),
        "test_losses": losses,
        "test_time": multiple_of_linear(model, split),
    }


def run(job) -> None:
    report = Report(job, "papers-losses", seeds=SEEDS, limits=LIMITS)
    report.fill(
        {
            (name, method): partial(measure, job.data, name, method)
            for name, method in product(job.named(PRINTED), MACHINES)
        }
    )
