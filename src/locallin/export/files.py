"""Files that are safe to load: skops' format, with this library's types trusted."""

import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

import locallin
from locallin import coding, rivals
from locallin.engine.files import npy_header, replacing
from locallin.engine.invariants import InvalidModelError
from locallin.engine.optional import import_optional
from locallin.export.size import CompressedClassifier

__all__ = ["load", "save", "trusted_types"]

# Bytes that each byte of a file may stand for: more than that, deflate cannot pack.
_MOST_UNPACKED = 1100
# Splitters that LLSVMClassifierCV takes and skops does not know. Classes by name,
# no whole module: a module also holds functions that it has imported.
_SPLITTERS = (KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit)
# What pipelines for tables hold beside what skops knows: types that imputers and
# encoders remember, columns chosen by type, and what wrappers keep of a calibration or
# of a threshold. Each is built from arrays, numbers and text, and calls nothing.
_IN_PIPELINES = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._classification.balanced_accuracy_score",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
# The member of a file that tells which versions wrote it, and its largest size.
_VERSIONS, _MOST_TOLD = "locallin.json", 4096


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
    skops = import_optional("skops.io", "io")
    content = _with_versions(skops.dumps(estimator, compression=ZIP_DEFLATED))
    foreign = _foreign(skops, content, trusted)
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
    skops knows to be harmless, and the arrays of this library's estimators are checked:
    a file of a stranger ends in an error or in a model, and asks for no more memory
    than 1100 times its size. A file of another version of the library or of
    scikit-learn is loaded with a warning.

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
    skops = import_optional("skops.io", "io")
    content = Path(path).read_bytes()
    try:
        _check_archive(content)
        foreign = _foreign(skops, content, trusted)
    except Exception as error:
        raise _unreadable(path) from error
    other = _other_versions(content)
    if foreign:
        raise ValueError(
            f"{os.fspath(path)!r} holds {', '.join(foreign)}, which are no types of "
            "this library, scikit-learn or NumPy. If you know them and where the file "
            "comes from, pass trusted=..."
        )
    try:
        with warnings.catch_warnings():
            if other:
                warnings.simplefilter("ignore", InconsistentVersionWarning)
            known = [*trusted_types(), *_type_names(trusted)]
            found = skops.loads(content, trusted=known)
        if isinstance(found, type):
            raise TypeError(f"it holds the class {found.__name__}, and no object of it")
        _check_parameters(found)
    except InvalidModelError as error:
        told = f" It was written by {other}." if other else ""
        raise InvalidModelError(f"{os.fspath(path)!r}: {error}{told}") from error
    except Exception as error:
        raise _unreadable(path, other) from error
    if other:
        warnings.warn(
            f"{os.fspath(path)!r} was written by {other}: check its predictions, or "
            "train it again.",
            UserWarning,
            stacklevel=2,
        )
    return found


def _with_versions(content: bytes) -> bytes:
    """The archive with one more member, which readers of skops leave alone."""
    file = io.BytesIO(content)
    with ZipFile(file, "a", ZIP_DEFLATED) as archive:
        archive.writestr(_VERSIONS, json.dumps(_versions()))
    return file.getvalue()


def _versions() -> dict[str, str]:
    return {
        "locallin": locallin.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }


def _other_versions(content: bytes) -> str:
    """Versions that wrote a file and are others than those here, in words."""
    archive = ZipFile(io.BytesIO(content))
    if _VERSIONS not in archive.namelist():
        return ""
    if archive.getinfo(_VERSIONS).file_size > _MOST_TOLD:
        return ""
    try:
        told = json.loads(archive.read(_VERSIONS))
    except Exception:  # of zlib, zipfile or json: it is damaged, and tells nothing
        return ""
    return _differences(told) if isinstance(told, Mapping) else ""


def _differences(told: Mapping[str, Any]) -> str:
    """Libraries whose second digit changed; the third promises the same models."""
    here = _versions()
    return ", ".join(
        f"{name} {str(told[name])[:20]} (here {here[name]})"
        for name in ("locallin", "scikit-learn")
        if name in told and _release(str(told[name])) != _release(here[name])
    )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _check_parameters(found: Any) -> None:
    """Ask estimators for their parameters: one that has no state is not checked."""
    for part in found.values() if isinstance(found, dict) else (found,):
        if hasattr(part, "get_params"):
            part.get_params()


def _check_archive(content: bytes) -> None:
    """Refuse an archive that is not what skops writes, or asks for too much memory.

    Members are read by the names that the schema has, and never written anywhere:
    what else the archive holds, under whatever name, is not looked at.
    """
    archive = ZipFile(io.BytesIO(content))
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise ValueError("several members have one name")
    if any(m.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for m in members):
        raise ValueError("a member is packed in another way than skops does")
    room = _MOST_UNPACKED * len(content)
    room -= archive.getinfo("schema.json").file_size
    if room < 0:
        raise ValueError("the schema is larger than any file of this size can hold")
    for name in _files_in(json.loads(archive.read("schema.json"))):
        room -= archive.getinfo(name).file_size
        if room < 0:
            raise ValueError("arrays are larger than any file of this size can hold")
        if name.endswith(".npy"):
            _check_declared(archive, name)


def _files_in(schema: Any) -> Iterator[str]:
    """Names of the members that a schema refers to, as often as it does."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(node.get("file"), str):
                yield node["file"]
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _check_declared(archive: ZipFile, name: str) -> None:
    """Refuse an array whose header tells another size than the member has."""
    with archive.open(name) as member:
        declared = npy_header(member).nbytes + member.tell()
    if declared != archive.getinfo(name).file_size:
        raise ValueError(f"the array {name} is not as large as it says")


def _unreadable(path, other: str = "") -> ValueError:
    if other:
        return ValueError(
            f"{os.fspath(path)!r} cannot be read here: it was written by {other}. "
            "Install these versions, or train it again."
        )
    return ValueError(
        f"{os.fspath(path)!r} cannot be read: it is damaged, or no file of "
        "locallin.export.save, or of another version of the packages in it."
    )


def trusted_types() -> list[str]:
    """Names of the types that ``load`` builds beside those that skops trusts.

    They are for other readers of such files, for example ``skops.io.load(path,
    trusted=trusted_types())`` or MLflow's ``skops_trusted_types``.

    Returns
    -------
    list of str
        Full names: the estimators and transformers of this library, splitters of
        scikit-learn that they take, and what its imputers, encoders, calibrated
        classifiers and ColumnTransformer hold, the types of NumPy among it.

    See Also
    --------
    load : Reads a file, and limits what it can ask for.
    save : Writes the file.

    Examples
    --------
    >>> from locallin.export import trusted_types
    >>> "locallin.methods.llsvm.LLSVMClassifier" in trusted_types()
    True
    """
    kinds = [getattr(locallin, n) for n in locallin.__all__ if n != "__version__"]
    for home in (coding, rivals):
        kinds += [getattr(home, name) for name in home.__all__]
    return _type_names([*kinds, CompressedClassifier, *_SPLITTERS, *_IN_PIPELINES])


def _type_names(kinds: Iterable[type | str]) -> list[str]:
    """Full names, each once."""
    names = (
        kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        for kind in kinds
    )
    return list(dict.fromkeys(names))


def _foreign(skops, content: bytes, trusted) -> list[str]:
    """Types in the file that are neither known nor trusted."""
    allowed = {*trusted_types(), *_type_names(trusted)}
    return sorted(set(skops.get_untrusted_types(data=content)) - allowed)
