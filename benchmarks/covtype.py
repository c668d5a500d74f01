"""Local models by the thousand with map and encoding on all of COVTYPE, and a booster.

Two thirds of the rows are learned from. Fit, prediction, error, and the memory of a
fit beyond its input: each in a process of its own, on one thread, times of the CPU.
"floor" is what a fit cannot do without, its model and a batch. 4000 anchors are found
by their groups.
"""

from functools import partial

from benchmarks._common import (
    Report,
    batch_time,
    cpu_seconds,
    error,
    median_seconds,
    on_one_thread,
    peak_memory,
)
from benchmarks._data import Split, load
from locallin import (
    DULLSVMClassifier,
    LocallyLinearClassifier,
    PiecewiseLinearEncoder,
)

ROWS: int | None = None  # all: 387,000 to train on
ANCHORS, MANY_ANCHORS, PROBES, BINS, PASSES = 1000, 4000, 8, 16, 15
TREES, LEAVES = 1000, 255
OURS, MANY, BOOSTER = "DULLSVMClassifier", "DULLSVMClassifier, groups", "LGBMClassifier"
CHOSEN = "LocallyLinearClassifier"
WARM_UP_ROWS = 2000


def estimator(name: str, settings: dict):
    if name == BOOSTER:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=settings["trees"], num_leaves=settings["leaves"],
            random_state=0, n_jobs=1, verbose=-1,
        )  # fmt: skip
    if name == CHOSEN:
        return LocallyLinearClassifier(random_state=0, n_jobs=1)
    many = name == MANY
    return DULLSVMClassifier(
        settings["many_anchors" if many else "anchors"],
        n_probes=settings["probes"] if many else None,
        metric="linear",
        feature_map=PiecewiseLinearEncoder(settings["bins"]),
        coding_space="mapped",
        diversity=0.0,
        max_iter=settings["passes"],
        random_state=0,
        n_jobs=1,
    )


def measure(folder, name: str, settings: dict) -> dict:
    split = load(folder, "covtype").limited(settings["rows"]).standardised()
    try:
        model = estimator(name, settings)
    except ImportError as missing:
        return {"skipped": str(missing)}
    few = split.limited(min(WARM_UP_ROWS, len(split.y) // 2))
    small = {**settings, "anchors": 10, "many_anchors": 40, "passes": 1, "trees": 1}
    estimator(name, small).fit(few.X, few.y)
    memory, (spent, _) = peak_memory(
        lambda: cpu_seconds(lambda: model.fit(split.X, split.y))
    )
    found = {
        "fit_seconds": spent,
        **batch_time(model, split.X_test, 3, cpu_seconds),
        "test_error": error(model, split.X_test, split.y_test),
        "rows": len(split.y),
        "input_bytes": split.X.nbytes + split.y.nbytes,
        "peak_memory_bytes": memory,
    }
    if name == CHOSEN:
        return found | {"chosen": {k: str(v) for k, v in model.chosen_.items()}}
    return found | (floor(model, split) if name in (OURS, MANY) else {})


def floor(model, split: Split) -> dict:
    """Bytes of model, of a batch of encoded rows, and of its codes; bare products.

    These are a batch times the map, the anchors, and as many local models as a row has
    on average.
    """
    width = model.coef_.shape[2]
    arrays = model.coef_, model.intercept_, model.anchors_, model.coding_.metric_
    rows = 1024
    encoded = model.feature_map_.transform(split.X[:rows])
    codes = model.coding_.transform(encoded)
    local = model.coef_[: round(codes.nnz / rows), 0]

    def bare():
        encoded @ model.coding_.metric_.T @ model.anchors_.T
        encoded @ local.T

    spent = median_seconds(bare, 50, timed=cpu_seconds)
    return {
        "bare_microseconds_per_row": 1e6 * spent / rows,
        "model_bytes": int(sum(array.nbytes for array in arrays)),
        "encoded_block_bytes": rows * width * model.coef_.itemsize,
        "codes_bytes": int(codes.data.nbytes + codes.indices.nbytes),
    }


def run(job) -> None:
    settings = {
        "rows": ROWS, "anchors": ANCHORS, "many_anchors": MANY_ANCHORS,
        "probes": PROBES, "bins": BINS, "passes": PASSES, "trees": TREES,
        "leaves": LEAVES,
    }  # fmt: skip
    report = Report(job, "covtype", **settings)
    report.fill(
        {
            (name,): partial(on_one_thread, measure, job.data, name, settings)
            for name in job.parts((OURS, MANY, CHOSEN, BOOSTER))
        }
    )
