"""The one way in which this project compiles a function."""

from numba import njit
from numba.core.registry import CPUDispatcher

# Sums may be reordered and fused, which is what lets a dot product use vector
# registers; NaN and infinity keep their meaning ("nnan" and "ninf" are left out).
_FAST = {"contract", "reassoc", "arcp", "nsz", "afn"}


class _Inner(CPUDispatcher):
    """A function without an entry for Python, where it runs uncompiled."""

    def __call__(self, *arguments):
        return self.py_func(*arguments)


def jit(function=None, *, reorder: bool = True, inline=False, inner=False):
    """Compile a function on its first call, without the GIL, cached on disk.

    Where neither the package's folder nor the user's cache folder can be written,
    Numba refuses to cache; the function is then compiled once per process.

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
    options = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": _FAST if reorder else False,
        "inline": "always" if inline else "never",
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": inner,
    }
    try:
        kernel = njit(cache=True, **options)(function)
    except RuntimeError:
        kernel = njit(**options)(function)
    if inner and isinstance(kernel, CPUDispatcher):
        kernel.__class__ = _Inner
    return kernel
