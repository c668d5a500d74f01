"""Run one benchmark: python -m benchmarks NAME --data DIR."""

import argparse
import importlib
from pathlib import Path

BENCHMARKS = {
    "accuracy": "test error of LL-SVM on MNIST, USPS and LETTER",
    "joint": "test error of SAPL and DU-LLSVM on the data of their papers",
    "ml3": "test error of ML3 on the data of its paper, ranks on ten small sets",
    "atlas": "the tables of the Atlas paper, and MNIST with few labels",
    "speed": "fit and prediction time beside LinearSVC, an RBF SVC and bare BLAS",
    "scaling": "fit time against rows (covtype), peak memory, import time",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=BENCHMARKS, help=str(BENCHMARKS))
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder of .npz files with X_train, y_train, X_test, y_test (or X, y)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path(__file__).parent / "results",
        help="folder for the JSON file with the results",
    )
    parser.add_argument("--only", help="one part of the atlas benchmark, e.g. usps")
    arguments = parser.parse_args()
    module = importlib.import_module(f"benchmarks.{arguments.name}")
    part = {} if arguments.only is None else {"only": arguments.only}
    module.run(arguments.data, arguments.results, **part)


if __name__ == "__main__":
    main()
