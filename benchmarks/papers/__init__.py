"""Do we meet what the five papers print? One module for each table's source."""

from importlib import import_module

PARTS = (
    "llsvm",
    "joint",
    "ml3",
    "atlas",
    "figures",
    "own",
    "rivals",
    "lcc",
    "losses",
    "manifolds",
    "labels",
    "latent",
    "additive",
    "retries",
)


def run(job) -> None:
    for part in job.parts(PARTS):
        import_module(f"benchmarks.papers.{part}").run(job)
