"""Files that are safe to load: skops' format, with this library's types trusted."""

import os
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZIP_DEFLATED

from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

import locallin
from locallin.engine.files import replacing
from locallin.engine.optional import import_optional
from locallin.export.size import CompressedClassifier

__all__ = ["load", "save"]

# What skops leaves out of scikit-learn, and LLSVMClassifierCV takes. Classes by name,
# no whole module: a module also holds functions that it has imported.
_SPLITTERS = (KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit)


def save(
    estimator, path: str | os.PathLike, *, trusted: Iterable[type | str] = ()
) -> None:
    """Write a fitted estimator or pipeline to a file that is safe to load.

    A pickle can run any program when it is loaded. This file, in the format of
    skops, holds arrays, numbers, text and names of classes.

    Parameters
    ----------
    estimator : object
        An estimator of this library, or a scikit-learn pipeline with some.
    path : str or path
        The file; ``.skops`` is the usual ending.
    trusted : iterable of types or their full names, default=()
        Further types that the estimator holds, such as a feature map of your own.
        ``load`` needs them too.

    See Also
    --------
    load : Reads the file.
    to_onnx : A graph for other runtimes.
    compress : A smaller copy.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.export import load, save
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(4, random_state=0).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "moons.skops")
    >>> save(clf, path)  # doctest: +SKIP
    >>> bool((load(path).predict(X) == clf.predict(X)).all())  # doctest: +SKIP
    True
    """
    io = import_optional("skops.io", "io")
    content = io.dumps(estimator, compression=ZIP_DEFLATED)
    foreign = _foreign(io, content, trusted)
    if foreign:
        raise TypeError(
            f"The estimator holds {', '.join(foreign)}, which load would not trust: "
            "pass them as trusted=... to save and load."
        )
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike, *, trusted: Iterable[type | str] = ()):
    """Read what ``save`` wrote.

    Only types of this library, of scikit-learn and of NumPy are built, those that
    skops knows to be harmless.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of types or their full names, default=()
        Further types that may be built.

    Returns
    -------
    object
        The estimator or pipeline.

    See Also
    --------
    save : Writes the file.
    to_onnx : A graph for other runtimes.
    """
    io = import_optional("skops.io", "io")
    content = Path(path).read_bytes()
    try:
        foreign = _foreign(io, content, trusted)
    except Exception as error:
        raise _unreadable(path) from error
    if foreign:
        raise ValueError(
            f"{os.fspath(path)!r} holds {', '.join(foreign)}, which are no types of "
            "this library, scikit-learn or NumPy. If you know them and where the file "
            "comes from, pass trusted=..."
        )
    try:
        return io.loads(content, trusted=[*_known_types(), *_names(trusted)])
    except Exception as error:
        raise _unreadable(path) from error


def _unreadable(path) -> ValueError:
    return ValueError(
        f"{os.fspath(path)!r} cannot be read: it is damaged, or no file of "
        "locallin.export.save, or of another version of the packages in it."
    )


def _known_types() -> list[str]:
    kinds = [getattr(locallin, n) for n in locallin.__all__ if n != "__version__"]
    return _names([*kinds, CompressedClassifier, *_SPLITTERS])


def _names(kinds: Iterable[type | str]) -> list[str]:
    return [
        kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        for kind in kinds
    ]


def _foreign(io, content: bytes, trusted) -> list[str]:
    """Types in the file that nobody trusts."""
    allowed = {*_known_types(), *_names(trusted)}
    return sorted(set(io.get_untrusted_types(data=content)) - allowed)
