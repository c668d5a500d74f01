"""The one way in which this project compiles a function."""

from numba import njit

# Sums may be reordered and fused, which is what lets a dot product use vector
# registers; NaN and infinity keep their meaning ("nnan" and "ninf" are left out).
_FAST = {"contract", "reassoc", "arcp", "nsz", "afn"}


def jit(function=None, *, reorder: bool = True, inline: bool = False):
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
    """
    if function is None:
        return lambda f: jit(f, reorder=reorder, inline=inline)
    options = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": _FAST if reorder else False,
        "inline": "always" if inline else "never",
    }
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)
