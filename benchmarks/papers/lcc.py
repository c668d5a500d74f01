"""What does a linear SVM reach on local coordinate coding? LCC+SVM of the 2015 paper.

Weights of LCC (Yu, Zhang & Gong, 2009) on 8 of 100 anchors that are learned by
reconstruction, a linear SVM on them, its penalty by three folds of the training rows'
codes. Features standardised, splits, seeds and the limit of time as in the part
"rivals".
"""

from functools import partial

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks._common import SEEDS, Report, on_one_thread
from benchmarks.papers.rivals import MINUTES, PRINTED, Machine, measure
from locallin.coding import LCCCoding

PENALTIES = {"C": (0.1, 1.0, 10.0, 100.0)}


def lcc_svm(random_state=None):
    return make_pipeline(
        LCCCoding(100, n_neighbors=8, random_state=random_state),
        GridSearchCV(LinearSVC(dual="auto"), PENALTIES, cv=3),
    )


MACHINE = Machine(lcc_svm)


def run(job) -> None:
    report = Report(job, "papers-lcc", seeds=SEEDS)
    report.fill(
        {
            (name,): partial(
                on_one_thread, measure, job.data, name, MACHINE, minutes=MINUTES
            )
            for name in job.named(PRINTED)
        }
    )
