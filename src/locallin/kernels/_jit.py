"""The one way in which this project compiles a function."""

from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

# Sums may be reordered and fused, which is what lets a dot product use vector
# registers; NaN and infinity keep their meaning ("nnan" and "ninf" are left out).
_FAST = {"contract", "reassoc", "arcp", "nsz", "afn"}


class _Inner(CPUDispatcher):
    """A function without an entry for Python, which would end the process."""

    def __call__(self, *arguments):
        name = self.py_func.__name__
        raise TypeError(f"only kernels call {name}: compile it without inner=True.")


def jit(
    function=None, *, reorder: bool = True, inline: bool = False, inner: bool = False
):
    """Compile a function on its first call, without the GIL, cached on disk.

    It does not count the owners of its arguments (:mod:`locallin.kernels.borrow`).

    Parameters
    ----------
    function : callable
        The function.
    reorder : bool, default=True
        Whether arithmetic may be reordered. False where its order is the point.
    inline : bool, default=False
        Whether callers take in the body: for a short function between two loops.
    inner : bool, default=False
        Whether kernels alone call it: no entry for Python is compiled then.
    """
    if function is None:
        return lambda f: jit(f, reorder=reorder, inline=inline, inner=inner)
    kernel = njit(
        nogil=True,
        error_model="numpy",
        fastmath=_FAST if reorder else False,
        inline="always" if inline else "never",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=inner,
        **_compiler(),
    )(function)
    if not isinstance(kernel, CPUDispatcher):  # NUMBA_DISABLE_JIT
        return function
    if inner:
        kernel.__class__ = _Inner
    _keep_on_disk(kernel)
    return kernel


def _compiler() -> dict[str, Any]:
    """Our compiler, or Numba's own where its parts are not as we know them.

    Kernels are slower then.
    """
    try:
        from locallin.kernels.borrow import BorrowingCompiler
    except (ImportError, AttributeError, TypeError):
        return {}
    return {"pipeline_class": BorrowingCompiler}


def _keep_on_disk(kernel) -> None:
    """Give a kernel our cache, or Numba's own where its parts are not as we know them.

    Numba refuses to cache where it finds no folder to write to; the kernel is compiled
    once per process then.
    """
    try:
        from locallin.kernels.cache import KernelCache

        kernel._cache = KernelCache(kernel.py_func)
    except (ImportError, AttributeError, TypeError):
        with suppress(RuntimeError):
            kernel.enable_caching()
