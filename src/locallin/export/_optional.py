"""Packages that only some exports need."""

from importlib import import_module
from types import ModuleType

from locallin.engine.optional import install_hint


def need(module: str, extra: str) -> ModuleType:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        The extra of this library that installs it.

    Returns
    -------
    module
        The module.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is missing: {install_hint(extra)}.") from error
