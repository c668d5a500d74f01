"""The command line ``locallin``: train, tune, predict, evaluate, explain, convert."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from locallin.cli._methods import METHODS, default_method
from locallin.cli._parser import FITTING, UsageError, header_choice, parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        The arguments; None takes those of the process.

    Returns
    -------
    int
        Exit code: 0 done, 1 failed, 2 not understood, 130 interrupted.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        args = parse(argv, _method_of(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with _ended_by_sigterm(), _signals_sent_again():
            code = _run(args)
            sys.stdout.flush()
        return code
    except UsageError as error:
        return _fail(args, error, 2)
    except KeyboardInterrupt:
        return _fail(args, "interrupted", 130)
    except BrokenPipeError:
        # Nobody reads on, as in `locallin predict ... | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _fail(args, error, 1)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, where nobody else has a use for it."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _signals_sent_again() -> Iterator[None]:
    """Send Ctrl-C once more where it came while an object was being deleted.

    Python drops exceptions there, and the command would go on.
    """
    before = sys.unraisablehook

    def again(dropped) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            # Not from here, where the next one would be dropped as well.
            threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        else:
            before(dropped)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _method_of(argv: list[str]) -> str | None:
    """The method whose parameters are options, if the command fits one."""
    if not argv or argv[0] not in FITTING:
        return None
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--method", nargs="?")
    parser.add_argument("--stream", action="store_true")
    given = parser.parse_known_args(argv)[0]
    if given.method in METHODS:
        return given.method
    return default_method(argv[0], given.stream)


def _run(args: argparse.Namespace) -> int:
    if hasattr(args, "header"):
        args.header = header_choice(args.header)
    if args.command == "completion":
        from locallin.cli._completion import completion

        return completion(args)
    if args.command == "warmup":
        from locallin.cli._warmup import warmup

        return warmup(args)
    if args.command == "tune":
        from locallin.cli._tune import tune

        return tune(args)
    if args.command == "compare":
        from locallin.cli._compare import compare

        return compare(args)
    if args.command == "report":
        from locallin.cli._report import report

        return report(args)
    from locallin.cli import _commands

    return getattr(_commands, args.command)(args)


def _fail(args: argparse.Namespace, error, code: int) -> int:
    if getattr(args, "traceback", False) and isinstance(error, Exception):
        raise error
    if isinstance(error, OSError) and error.strerror and error.filename:
        error = f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split()) or type(error).__name__
    given = (vars(args).get(name) for name in ("model", "data"))
    files = [str(one) for one in given if one is not None]
    uses_model = hasattr(args, "model") and args.command not in FITTING
    if code == 1 and uses_model and not any(one in text for one in files):
        text = f"{' with '.join(files)}: {text}"
    print(f"locallin {args.command}: {text}", file=sys.stderr)
    return code
