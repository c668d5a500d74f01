"""Plain text tables."""

from collections.abc import Collection, Sequence


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[str]
) -> str:
    """Columns of text; those named in ``words`` are flush left, the others right."""
    lines = [header, *rows]
    columns = []
    for name, cells in zip(header, zip(*lines, strict=True), strict=True):
        width = max(map(len, cells))
        side = str.ljust if name in words else str.rjust
        columns.append([side(cell, width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def number(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}"


def signed(value: float) -> str:
    """Four significant digits with a sign."""
    return f"{value:+.4g}"
