"""Run one benchmark: python -m benchmarks NAME --data DIR.

What is in the result file already is not measured again.
"""

import argparse
import importlib
from math import inf
from pathlib import Path

from benchmarks._common import RESULTS, Job, OutOfTime

BENCHMARKS = {
    "papers": "the tables of the five papers, and the data of their figures",
    "few_labels": "MNIST with 100 and 1000 labels beside other semi-supervised ways",
    "untuned": "defaults beside those of peers, on every data set",
    "mixed": "raw tables with categories, gaps and dates, beside boosters",
    "domains": "named domains beside LightGBM and EBM: AUC, time, size",
    "serving": "one row from an exported graph, with reasons, beside Python",
    "encoding": "cost of encoding a table beside reading it, and in C",
    "regression": "raw tables whose target is a number, beside boosters and others",
    "loess": "one dimension and up to a million rows, beside LOWESS and splines",
    "peers": "error, time, memory and size of models beside those of peers",
    "alpha_path": "choosing alpha along a path beside a grid search",
    "probabilities": "cost and worth of calibration, and promises of prediction sets",
    "objectives": "joint learning below its convex start, errors by number of anchors",
    "groups": "thousands of anchors, found by groups or all compared",
    "distill": "pupils of slow teachers: agreement, error, speed",
    "weak_penalty": "dual and Newton solvers where the penalty is weak",
    "stream": "millions of deformed digits as a stream: error, speed, memory",
    "files": "time and memory of going through files in blocks, beside other readers",
    "export": "bytes, time and accuracy of exported models",
    "speed": "times on MNIST beside the floor of bare matrix products",
    "threads": "fits on one and two threads, and what more of them would bring",
    "covtype": "a thousand local models on all of COVTYPE beside a booster",
    "cluster": "error, time and traffic of fits on a dask cluster",
    "scaling": "growth of fit time, memory of a fit, time of the import",
    "compilation": "first fit and first prediction before anything is compiled",
}

# What measures nothing.
COMMANDS = {
    "fetch": "gets the public data sets into the folder of --data, and checks them",
    **BENCHMARKS,
}


def main(arguments: list[str] | None = None) -> None:
    lines = [f"  {name}: {question}" for name, question in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="\n".join([__doc__, *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=COMMANDS)
    parser.add_argument(
        "--data",
        type=Path,
        default=Path("data"),
        help="folder of .npz files with X_train, y_train, X_test, y_test (or X, y)",
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder of the JSON files"
    )
    parser.add_argument(
        "--only", nargs="+", default=(), help="papers, estimators or parts"
    )
    parser.add_argument("--sets", nargs="+", default=(), help="data sets")
    parser.add_argument(
        "--beside", type=Path, help="another source of the package (compilation)"
    )
    parser.add_argument(
        "--mirror", help="address that has the files of all sources (fetch)"
    )
    parser.add_argument(
        "--minutes", type=float, default=inf, help="begin no measurement after these"
    )
    asked = vars(parser.parse_args(arguments))
    module = importlib.import_module(f"benchmarks.{asked.pop('name')}")
    job = Job(**asked)
    try:
        module.run(job)
        job.check_sets()
    except OutOfTime:
        print("The time is used up: the same command goes on from here.")


if __name__ == "__main__":
    main()
