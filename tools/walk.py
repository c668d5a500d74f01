"""How far a reader walks: files of the package, and changes of file, in one call.

    python tools/walk.py                          all estimators, as a table
    python tools/walk.py DULLSVMClassifier.fit    the walk itself, call by call

Counted are distinct pairs of functions (who calls whom) in the order of their first
call, in the calling thread, and in files of the package only: code of other libraries
in between is passed over. A change of file is a pair that leads to another file than
the pair before it. The second count leaves out ``engine/``, the helpers of the package,
as one would leave out scikit-learn's ``utils`` in a walk through scikit-learn.
"""

import argparse
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from numba.core.dispatcher import Dispatcher
from sklearn.datasets import load_digits

import locallin

ROOT = f"{Path(locallin.__file__).parent}/"
OUTSIDE = ("", "")


def function_of(code):
    """File and name of a function of the package, or None."""
    if code.co_filename.startswith(ROOT):
        return code.co_filename.removeprefix(ROOT), code.co_qualname
    return None


def caller_above(frame):
    while frame is not None:
        if found := function_of(frame.f_code):
            return found
        frame = frame.f_back
    return OUTSIDE


def pairs_of(call):
    """Distinct (caller, callee) of a call without arguments, by first appearance."""
    pairs = {}

    def note(frame, event, _):
        # Some versions of Numba make up a frame for compiled code, without a caller.
        callee = function_of(frame.f_code) if sys._getframe(1) is frame else None
        if event == "call" and callee:
            pairs.setdefault((caller_above(frame.f_back), callee))

    run = Dispatcher.__call__

    def run_kernel(self, *args, **kwargs):
        callee = function_of(self.py_func.__code__)
        pairs.setdefault((caller_above(sys._getframe(1)), callee))
        return run(self, *args, **kwargs)

    with patch.object(Dispatcher, "__call__", run_kernel, create=True):
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
    return list(pairs)


def summary(pairs):
    """Number of files, of pairs inside the package, and of changes of file."""
    places = [callee[0] for _, callee in pairs]
    changes = sum(a != b for a, b in pairwise(places))
    return len(set(places)), sum(a != OUTSIDE for a, _ in pairs), changes


def calls():
    """Name and call of everything to be counted, on models that are compiled."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    arguments = {"fit": (X, y), "predict": (X,), "fit_stream": ((X, y),)}
    for name in locallin.__all__:
        if not name.endswith(("Classifier", "ClassifierCV")):
            continue
        model = getattr(locallin, name)()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        for method in arguments:
            if not hasattr(model, method) and name == "LLSVMClassifier":
                model.set_params(solver="sgd")  # the dual is no stream method
            if hasattr(model, method):
                call = getattr(model, method)
                yield f"{name}.{method}", lambda c=call, m=method: c(*arguments[m])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("call", nargs="?", help="such as DULLSVMClassifier.fit")
    wanted = parser.parse_args().call
    warnings.simplefilter("ignore")
    if not wanted:
        print(f"{'':34}{'all':>20}{'without engine/':>20}")
        print(f"{'call':34}" + f"{'files':>6}{'pairs':>6}{'changes':>8}" * 2)
    names = []
    for name, call in calls():
        names.append(name)
        estimator = name.split(".")[0]
        if wanted and estimator != wanted.split(".")[0]:
            continue
        call()  # what is imported or compiled on first use is no part of the walk
        if not wanted:
            pairs = pairs_of(call)
            outer = [pair for pair in pairs if not pair[1][0].startswith("engine/")]
            numbers = *summary(pairs), *summary(outer)
            print(f"{name:34}" + "{:6}{:6}{:8}{:6}{:6}{:8}".format(*numbers))
        elif name == wanted:
            for (_, caller), (file, callee) in pairs_of(call):
                print(f"{file:30} {callee:45} < {caller}")
    if wanted and wanted not in names:
        parser.error(f"no call {wanted!r}; there are {', '.join(names)}")


if __name__ == "__main__":
    main()
