"""Progress of long work: lines for ``verbose``, scikit-learn's callbacks, warnings."""

import inspect
import logging
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from sklearn.exceptions import ConvergenceWarning

from locallin.engine.sklearn_api import FitTask

# Callers in these packages are not the user's own lines.
_PACKAGES = ("locallin", "sklearn")
_LOGGER = logging.getLogger("locallin")


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
        print(text if isinstance(text, str) else text(), flush=True)


def _is_logged(level: int) -> bool:
    return _LOGGER.isEnabledFor(level) and _LOGGER.hasHandlers()


class Progress:
    """Tells of the steps of one piece of work, such as the epochs of a fit.

    Each step goes to the estimator's callbacks, if it has any, and is a line for
    :func:`tell`; at most one line in ``every`` seconds, and the last one in any case.

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
        self._name = type(estimator).__name__
        self._verbose = estimator.verbose
        self._n_steps = n_steps
        self._every = every
        self._began = time.perf_counter()
        self._last_line = self._began
        self._task = FitTask(estimator if callbacks else None, n_steps, X, y, unit)
        if self._task.is_heard:
            self._task.begin_step()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.perf_counter() - self._began

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

        It is where ``last`` says so or a callback asks for it. ``attributes`` returns
        the fitted attributes that the estimator would have, None where it would not be
        fitted. A ``landmark`` has a line in any case.
        """
        self._tell(number, text, landmark or last)
        if self._task.is_heard:
            last |= self._task.end_step(attributes)
            if not last and number < self._n_steps:
                self._task.begin_step()
        return last

    def line(self, text: str) -> None:
        """Tell of something that is no step."""
        self._tell(self._n_steps, text, True)

    def passing_on(self, sub_estimator) -> AbstractContextManager:
        """Let the fit of a part be the current step: its steps go to callbacks, too."""
        if self._task.is_heard:
            return self._task.passing_on(sub_estimator)
        return nullcontext()

    def end(self, attributes: Callable[[], dict] = dict) -> None:
        """Close the work."""
        if self._task.is_heard:
            self._task.end(attributes)

    def _tell(self, number: int, text: str | Callable[[], str], due: bool) -> None:
        now = time.perf_counter()
        due |= now - self._last_line >= self._every or number >= self._n_steps
        if due:
            self._last_line = now
            tell(lambda: self._line(text), self._verbose)

    def _line(self, text: str | Callable[[], str]) -> str:
        text = text if isinstance(text, str) else text()
        return f"[{self._name}] {text}, {self.seconds:.1f} s"


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
