"""Packages that need not be installed."""


def install_hint(extra: str) -> str:
    """How to install an extra of this library, which is on no package index yet."""
    return (
        f"pip install '.[{extra}]' in the clone, or "
        f"'locallin-VERSION-py3-none-any.whl[{extra}]' with the wheel"
    )
