"""What does a linear SVM reach on local coordinate coding? LCC+SVM of the 2015 paper.

Weights of LCC (Yu, Zhang & Gong, 2009) on 8 of 100 anchors that are learned by
reconstruction, a linear SVM on them, its penalty by folds of the training rows.
Features standardised, three seeds, 4,000 test rows at most: the weights are found row
by row, and take their time.
"""

from functools import partial

from benchmarks._common import SEEDS, Report
from benchmarks.papers.rivals import PRINTED, Machine, measure
from locallin import LLSVMClassifierCV
from locallin.coding import LCCCoding


def lcc_svm(random_state=None):
    return LLSVMClassifierCV(
        5,
        coding=LCCCoding(100, n_neighbors=8),
        local_model="constant",
        random_state=random_state,
    )


MACHINE = Machine(lcc_svm, slow=True)


def run(job) -> None:
    report = Report(job, "papers-lcc", seeds=SEEDS)
    report.fill(
        {
            (name,): partial(measure, job.data, name, MACHINE)
            for name in job.named(PRINTED)
        }
    )
