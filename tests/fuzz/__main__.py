"""Run as many cases as asked for, and list what ends badly."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .cases import TARGETS, prepare, run_case, target_of
from .runner import findings, serve


def main() -> int:
    """Read the arguments and run; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--only", type=int, help="one case, in this process")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        serve(args.worker)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        if args.only is not None:
            target = args.target or target_of(args.only)
            print(run_case(folder, target, args.seed, args.only))
            return 0
        cases = [
            (args.target or target_of(number), args.seed, number)
            for number in range(args.first, args.first + args.cases)
        ]
        done, found = Counter(), 0
        for target, number, problem in findings(folder, cases, args.seconds, done):
            found += 1
            print(f"{target}, case {number}: {problem}", flush=True)
    counts = ", ".join(f"{count} {target}" for target, count in done.items())
    print(f"{done.total()} cases ({counts}), {found} findings")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
