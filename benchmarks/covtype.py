"""A thousand local models with map and encoding on all of COVTYPE, beside a booster.

Fit, prediction, error, and the memory of a fit beyond its input: each in a process of
its own, on two threads. "floor" is what a fit cannot do without, model and its batch.
"""

from functools import partial

from benchmarks._common import (
    Report,
    batch_time,
    error,
    in_new_process,
    peak_memory,
    seconds,
)
from benchmarks._data import Split, load
from locallin import DULLSVMClassifier, PiecewiseLinearEncoder

ROWS: int | None = None  # all: 387,000 to train on
ANCHORS, BINS, PASSES = 1000, 16, 15
TREES, LEAVES = 1000, 255
OURS, BOOSTER = "DULLSVMClassifier", "LGBMClassifier"
WARM_UP_ROWS = 2000


def estimator(name: str, settings: dict):
    if name == BOOSTER:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=settings["trees"], num_leaves=settings["leaves"],
            random_state=0, n_jobs=2, verbose=-1,
        )  # fmt: skip
    return DULLSVMClassifier(
        settings["anchors"],
        metric="linear",
        feature_map=PiecewiseLinearEncoder(settings["bins"]),
        coding_space="mapped",
        diversity=0.0,
        max_iter=settings["passes"],
        random_state=0,
        n_jobs=2,
    )


def measure(folder, name: str, settings: dict) -> dict:
    split = load(folder, "covtype").limited(settings["rows"])
    if name == OURS:
        split = split.standardised()
        few = split.limited(min(WARM_UP_ROWS, len(split.y) // 2))
        estimator(name, {**settings, "anchors": 10, "passes": 1}).fit(few.X, few.y)
    try:
        model = estimator(name, settings)
    except ImportError as missing:
        return {"skipped": str(missing)}
    memory, (spent, _) = peak_memory(
        lambda: seconds(lambda: model.fit(split.X, split.y))
    )
    found = {
        "fit_seconds": spent,
        **batch_time(model, split.X_test, repeats=3),
        "test_error": error(model, split.X_test, split.y_test),
        "rows": len(split.y),
        "input_bytes": split.X.nbytes + split.y.nbytes,
        "peak_memory_bytes": memory,
    }
    return found | (floor(model, split) if name == OURS else {})


def floor(model, split: Split) -> dict:
    """Bytes of model, of a batch of encoded rows, and of its codes."""
    width = model.coef_.shape[2]
    arrays = model.coef_, model.intercept_, model.anchors_, model.coding_.metric_
    rows = 1024
    codes = model.coding_.transform(model.feature_map_.transform(split.X[:rows]))
    return {
        "model_bytes": int(sum(array.nbytes for array in arrays)),
        "encoded_block_bytes": rows * width * model.coef_.itemsize,
        "codes_bytes": int(codes.data.nbytes + codes.indices.nbytes),
    }


def run(job) -> None:
    settings = {
        "rows": ROWS, "anchors": ANCHORS, "bins": BINS, "passes": PASSES,
        "trees": TREES, "leaves": LEAVES,
    }  # fmt: skip
    report = Report(job, "covtype", **settings)
    names = job.parts((OURS, BOOSTER))
    report.fill(
        {
            (name,): partial(in_new_process, measure, job.data, name, settings)
            for name in names
        }
    )
