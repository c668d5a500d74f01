"""Codings that can be exported."""


def kind_of(coding) -> int:
    """The code of a coding of this library; others are refused."""
    kind = getattr(coding, "kind", None)
    if kind is None:
        raise TypeError(
            f"{type(coding).__name__} is a coding of your own, which only Python can "
            "compute: export a model with a coding of the library, or use "
            "locallin.export.save."
        )
    return kind
