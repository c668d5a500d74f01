"""Codings that can be exported."""


def kind_of(coding) -> int:
    """The code of a coding of this library; others are refused."""
    kind = getattr(coding, "kind", None)
    if kind is None:
        raise TypeError(
            f"{type(coding).__name__} is a coding that only Python can compute: export "
            "a model with coding='soft', 'inverse-distance' or 'adaptive', or use "
            "locallin.export.save."
        )
    return kind
