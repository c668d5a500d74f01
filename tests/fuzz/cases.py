"""One case: its random numbers, its target, and whether it ended well."""

from __future__ import annotations

import linecache
import traceback
import warnings
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from locallin.cli._parser import UsageError

from . import commands, data_files, inputs, matrices, model_files, tables

TARGETS = {
    "models by array": model_files.by_array,
    "models by byte": model_files.by_byte,
    "checkpoints": model_files.checkpoint,
    "data files": data_files.run,
    "sparse matrices": matrices.run,
    "inputs": inputs.run,
    "commands": commands.run,
    "tables": tables.run,
}
# Share of the cases of each target.
SHARES = dict(zip(TARGETS, (30, 10, 5, 15, 10, 13, 5, 12), strict=True))
_EXPECTED = ValueError, TypeError, OSError, ImportError, UsageError
# Bytes that one case may add to the largest memory of its process.
_MOST_MEMORY = 1 << 30


def prepare(folder: Path) -> None:
    """Make the files that cases start from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model_files.prepare(folder)
        tables.prepare(folder)
        data_files.prepare(folder)
        commands.prepare(folder)


def target_of(number: int) -> str:
    """The target of a case, where all are wanted."""
    place = number * 37 % 100  # in turn, not one after the other
    for target, share in SHARES.items():
        if place < share:
            return target
        place -= share
    raise AssertionError("shares do not sum to 100")


def run_case(folder: Path, target: str, seed: int, number: int) -> str | None:
    """What is wrong with a case; None where it ended well."""
    rng = np.random.default_rng([seed, number, zlib.crc32(target.encode())])
    before = _memory()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            problem = TARGETS[target](folder, rng)
    except Exception as error:
        problem = judge(error)
    if problem is None and _memory() - before > _MOST_MEMORY:
        problem = f"took {(_memory() - before) >> 20} MiB"
    return problem


def _memory() -> int:
    """Bytes of the process at its largest; 0 where the system does not tell."""
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return 0


def judge(error: Exception) -> str | None:
    """Say what is wrong with an error; None where it was raised on purpose."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno).strip()
    ours = "locallin" in last.filename or "sklearn" in last.filename
    if "sklearn/preprocessing" in last.filename and isinstance(error, ValueError):
        return None  # scikit-learn's own scaler, in a pipeline
    if isinstance(error, OSError) and error.filename:
        return None  # it names the file
    kind = isinstance(
        error, ValueError | TypeError | OSError | ImportError | UsageError
    )
    if kind and ours and line.startswith("raise") and len(str(error)) > 10:
        return None
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:150]}"
