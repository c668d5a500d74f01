"""Packages that need not be installed."""

from importlib import import_module
from types import ModuleType


def install_hint(extra: str) -> str:
    """Advice on installing an extra of this library, which is on no index yet."""
    return (
        f"pip install '.[{extra}]' in the clone, or "
        f"'locallin-VERSION-py3-none-any.whl[{extra}]' with the wheel"
    )


def import_optional(module: str, extra: str, purpose: str = "") -> ModuleType:
    """Import a module of a package that an extra of this library installs.

    ``purpose`` is told in the error, for example "Parquet files".
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        need = f" for {purpose}" if purpose else ""
        raise ImportError(
            f"{package} is missing{need}: {install_hint(extra)}."
        ) from error
