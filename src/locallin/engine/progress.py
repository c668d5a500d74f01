"""Progress of long work: a bar or lines for ``verbose``, callbacks, warnings."""

import inspect
import logging
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from math import inf
from shutil import get_terminal_size
from threading import Event

from sklearn.exceptions import ConvergenceWarning

from locallin.engine.sklearn_api import FitTask

# Callers in these packages are not the user's own lines.
_PACKAGES = ("locallin", "sklearn")
_LOGGER = logging.getLogger("locallin")
_SECONDS_BETWEEN_BARS = 0.1
_BAR_CELLS = 20


class _Screen:
    """Standard output, whose last line may be a bar that is drawn again and again."""

    def __init__(self):
        self._width = 0

    @staticmethod
    def is_watched() -> bool:
        """Whether it is a terminal or a notebook, where a line can be drawn again."""
        notebook = type(sys.stdout).__module__.startswith("ipykernel")
        return notebook or (hasattr(sys.stdout, "isatty") and sys.stdout.isatty())

    def line(self, text: str) -> None:
        """Print a line, in the place of the bar if there is one."""
        print(self._over(text), flush=True)
        self._width = 0

    def bar(self, text: str) -> None:
        """Draw a bar, in the place of the one before."""
        text = text[: get_terminal_size().columns - 1]
        print(self._over(text), end="", flush=True)
        self._width = len(text)

    def _over(self, text: str) -> str:
        return f"\r{text:{self._width}}" if self._width else text


_SCREEN = _Screen()
_end: ContextVar[float] = ContextVar("end", default=inf)
_halt: ContextVar[Event | None] = ContextVar("halt", default=None)


@contextmanager
def ending_by(deadline: float):
    """Let work that begins in the block end at its first step after a time.

    ``deadline`` is one of the monotonic clock.
    """
    token = _end.set(min(deadline, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


@contextmanager
def ending_with(halt: Event):
    """Let work that begins in the block end at its first step after an event."""
    token = _halt.set(halt)
    try:
        yield
    finally:
        _halt.reset(token)


def tell(text: str | Callable[[], str], verbose) -> None:
    """Say a line: to the logger ``locallin``, or on the screen.

    It is logged where logging is set up for it, at the level INFO if ``verbose`` is
    set, else DEBUG. Where it is not, the line is printed if ``verbose`` is set. A
    function is called only if somebody listens.
    """
    level = logging.INFO if verbose else logging.DEBUG
    if _is_logged(level):
        _LOGGER.log(level, "%s", text if isinstance(text, str) else text())
    elif verbose:
        _SCREEN.line(text if isinstance(text, str) else text())


def _is_logged(level: int) -> bool:
    return _LOGGER.isEnabledFor(level) and _LOGGER.hasHandlers()


class Steps:
    """Tells of the steps of one piece of work, on the screen or to a logger.

    With ``verbose=1`` a terminal and a notebook have a bar, which stays on one line;
    a file, a pipe and a logger have lines, as has every screen with ``verbose=2``: at
    most one in ``every`` seconds, and the last one in any case.

    Parameters
    ----------
    name : str
        Whose work it is.
    n_steps : int or None
        Largest number of steps; None where nobody knows.
    verbose : int
        0 is silence, 1 a bar or lines, 2 lines.
    every : float, default=0
        Seconds between two lines.
    """

    def __init__(
        self, name: str, n_steps: int | None, verbose: int, *, every: float = 0.0
    ):
        self._name = name
        self._n_steps = n_steps
        self._verbose = verbose
        self._every = every
        self._done = 0
        self._on_bar: str | Callable[[], str] | None = None
        self._began = time.perf_counter()
        self._last_line = self._last_bar = self._began

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.perf_counter() - self._began

    def step(
        self,
        number: int,
        text: str | Callable[[], str],
        *,
        last: bool = False,
        landmark: bool = False,
    ) -> None:
        """Tell of step ``number``, counted from one.

        The last one has a line in any case, a ``landmark`` where there is no bar.
        """
        self._done = number
        last = last or (self._n_steps is not None and number >= self._n_steps)
        now = time.perf_counter()
        if self._has_bar() and not last:
            self._on_bar = text
            if now - self._last_bar >= _SECONDS_BETWEEN_BARS:
                self._last_bar = now
                _SCREEN.bar(self._bar(text))
        elif last or landmark or now - self._last_line >= self._every:
            self._last_line = now
            self._tell(text)

    def line(self, text: str) -> None:
        """Tell of something that is no step."""
        self.step(self._done, text, landmark=True)

    def end(self) -> None:
        """Close the work: what the bar told last becomes a line."""
        if self._on_bar is not None:
            self._tell(self._on_bar)

    def _has_bar(self) -> bool:
        return (
            self._verbose == 1 and not _is_logged(logging.INFO) and _SCREEN.is_watched()
        )

    def _tell(self, text: str | Callable[[], str]) -> None:
        self._on_bar = None
        tell(lambda: self._line(text), self._verbose)

    def _line(self, text: str | Callable[[], str]) -> str:
        text = text if isinstance(text, str) else text()
        return f"[{self._name}] {text}, {self.seconds:.1f} s"

    def _bar(self, text: str | Callable[[], str]) -> str:
        line = self._line(text)
        if not self._n_steps:
            return line
        share = self._done / self._n_steps
        return f"|{'#' * int(share * _BAR_CELLS):{_BAR_CELLS}}| {share:4.0%} {line}"


class Progress:
    """Tells of the steps of an estimator's work, such as the epochs of a fit.

    Each step goes to the estimator's callbacks, if it has any, and to screen or logger
    as :class:`Steps` says.

    Parameters
    ----------
    estimator : estimator
        Whose work it is.
    n_steps : int
        Largest number of steps.
    X, y : array-like, default=None
        What callbacks may look at.
    unit : str, default="epoch"
        Name of a step, for callbacks.
    every : float, default=0
        Seconds between two lines.
    callbacks : bool, default=True
        Whether callbacks are told; not where the work is a part of some that is.
    """

    def __init__(
        self,
        estimator,
        n_steps: int,
        X=None,
        y=None,
        *,
        unit: str = "epoch",
        every: float = 0.0,
        callbacks: bool = True,
    ):
        name = type(estimator).__name__
        self._steps = Steps(name, n_steps, estimator.verbose, every=every)
        self._n_steps = n_steps
        self._deadline, self._halt = _end.get(), _halt.get()
        self._task = FitTask(estimator if callbacks else None, n_steps, X, y, unit)
        if self._task.is_heard:
            self._task.begin_step()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return self._steps.seconds

    @property
    def is_heard(self) -> bool:
        """Whether callbacks are told."""
        return self._task.is_heard

    def step(
        self,
        number: int,
        text: str | Callable[[], str],
        attributes: Callable[[], dict | None] = dict,
        *,
        last: bool = False,
        landmark: bool = False,
    ) -> bool:
        """Tell of step ``number``, counted from one; True where it is the last one.

        It is where ``last`` says so, a callback asks for it, or time is up
        (:func:`ending_by`). ``attributes`` returns the fitted attributes that the
        estimator would have, None where it would not be fitted. A ``landmark`` has a
        line in any case.
        """
        last |= time.monotonic() >= self._deadline
        last |= self._halt is not None and self._halt.is_set()
        self._steps.step(number, text, last=last, landmark=landmark)
        if self._task.is_heard:
            last |= self._task.end_step(attributes)
            if not last and number < self._n_steps:
                self._task.begin_step()
        return last

    def line(self, text: str) -> None:
        """Tell of something that is no step."""
        self._steps.line(text)

    def passing_on(self, sub_estimator) -> AbstractContextManager:
        """Let the fit of a part be the current step: its steps go to callbacks, too."""
        if self._task.is_heard:
            return self._task.passing_on(sub_estimator)
        return nullcontext()

    def end(self, attributes: Callable[[], dict] = dict) -> None:
        """Close the work."""
        self._steps.end()
        if self._task.is_heard:
            self._task.end(attributes)


def warn_not_converged(estimator, work: str, reached: str, remedy: str) -> None:
    """Warn that a solver has used up its passes, at the line that called ``fit``.

    Parameters
    ----------
    estimator : estimator
        With the parameter ``max_iter``.
    work : str
        The unit of ``max_iter``, such as "epochs".
    reached : str
        How far it came.
    remedy : str
        A sentence on what to do.
    """
    warnings.warn(
        f"{type(estimator).__name__} did not converge in max_iter="
        f"{estimator.max_iter} {work}: {reached}. {remedy}",
        ConvergenceWarning,
        stacklevel=frames_to_the_user(),
    )


def frames_to_the_user() -> int:
    """Stack level, seen from the caller, of the first frame outside of packages."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _PACKAGES:
            break
        level, frame = level + 1, frame.f_back
    return level
