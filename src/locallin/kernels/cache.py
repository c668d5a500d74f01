"""Compiled kernels on disk, for as long as the source of no kernel changes.

Numba's own cache looks at the file of a function alone, not at those of the functions
it calls, and reads only where it can also write. Here a stamp of all kernels decides,
and what one user has compiled, such as the builder of a container, others can read.
"""

import hashlib
import os
import warnings
from contextlib import suppress
from importlib.resources import files

from numba import config
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    NullCache,
    _CacheLocator,
)
from numba.misc.appdirs import AppDirs


def source_stamp() -> str:
    """Hash of the source of all kernels."""
    stamp = hashlib.sha256()
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith((".py", ".pyc")):
            stamp.update(f"{file.name}\n".encode() + file.read_bytes())
    return stamp.hexdigest()


def cache_folders() -> list[str]:
    """Where compiled kernels may lie: the first that can be written takes new ones."""
    here = os.path.dirname(os.path.abspath(__file__))
    name = _CacheLocator.get_suitable_cache_subpath(__file__)
    if config.CACHE_DIR:
        return [os.path.join(config.CACHE_DIR, name)]
    user = AppDirs(appname="numba", appauthor=False).user_cache_dir
    return [os.path.join(here, "__pycache__"), os.path.join(user, name)]


def _cache_in(folder: str, stamp: str) -> type[FunctionCache]:
    """Numba's cache of a function, in a folder of our choice and with our stamp."""

    class Locator(_CacheLocator):
        def __init__(self, function, file):
            self._py_file = file
            self._line = function.__code__.co_firstlineno

        @classmethod
        def from_function(cls, function, file):
            return cls(function, file)

        def get_cache_path(self):
            return folder

        def get_source_stamp(self):
            return stamp

        def get_disambiguator(self):
            return str(self._line)

    class Implementation(CompileResultCacheImpl):
        _locator_classes = [Locator]

    class FolderCache(FunctionCache):
        _impl_class = Implementation

    return FolderCache


class KernelCache(NullCache):
    """The cache of one kernel: read in every folder, written in the first possible."""

    _kinds = [_cache_in(folder, source_stamp()) for folder in cache_folders()]
    _told = False

    def __init__(self, function):
        self._caches = [kind(function) for kind in self._kinds]

    @property
    def cache_path(self):
        """The folder that is tried first."""
        return self._caches[0].cache_path

    def load_overload(self, sig, target_context):
        """The compiled function from one of the folders, or None."""
        for cache in self._caches:
            with suppress(OSError):
                if (found := cache.load_overload(sig, target_context)) is not None:
                    return found
        return None

    def save_overload(self, sig, data):
        """Keep a compiled function in the first folder that can be written."""
        for cache in self._caches:
            with suppress(OSError):
                return cache.save_overload(sig, data)
        if not KernelCache._told:
            KernelCache._told = True
            warnings.warn(
                "Compiled kernels cannot be kept, so every process compiles them "
                "anew: set NUMBA_CACHE_DIR to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )
