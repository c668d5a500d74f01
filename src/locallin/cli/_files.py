"""Models on disk, and places to write to."""

import pickle
import zipfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard

import joblib
from sklearn.pipeline import Pipeline

from locallin.cli._output import fitting
from locallin.cli._parser import UsageError
from locallin.engine.files import replacing
from locallin.export.files import load, save
from locallin.export.size import CompressedClassifier

# The first bytes of pickles, and of those that joblib has packed.
_PICKLES = (pickle.PROTO, b"x\x01", b"x\x9c", b"x\xda", b"\x1f\x8b", b"BZ", b"\xfd7zXZ",
            b"\x5d\x00\x00")  # fmt: skip
# Facts about training rows that reading goes by: their types, and what is in lists.
_ABOUT: dict[str, tuple[Any, Any]] = {
    "names": (list | tuple, str),
    "columns": (dict, str),
    "label": (str | int, None),
    "id": (str | int, None),
    "left_out": (list | tuple, str | int),
    "na": (list | tuple, str),
    "decimal": (str, None),
    "thousands": (str, None),
    "zero_based": (bool, None),
    "dense": (bool, None),
}


@dataclass
class Model:
    """A fitted classifier or pipeline, and what the command line knows about it.

    ``about`` has the names of the features and the place of the label in the training
    file, whether sparse rows have to be made dense, and whether LIBSVM features count
    from zero.
    """

    estimator: Any
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def classifier(self):
        """The classifier without what comes before it."""
        steps = getattr(self.estimator, "steps", None)
        return steps[-1][1] if steps else self.estimator

    @property
    def scaler(self):
        """The steps that scale the rows, or None."""
        steps = getattr(self.estimator, "steps", ())
        return self.estimator[:-1] if len(steps) > 1 else None


def check_output(path, force: bool) -> Path:
    """Refuse a place that cannot be written to, before the work begins."""
    path = Path(path)
    if not path.parent.is_dir():
        raise UsageError(f"the folder of {path} does not exist")
    if path.is_dir():
        raise UsageError(f"{path} is a folder")
    if path.is_file() and not force:
        raise UsageError(f"{path} exists already; --force replaces it")
    return path


def save_model(model: Model, path: Path) -> str:
    """Write a model; return the format, "skops" or "pickle"."""
    content = {"locallin_model": 1, "model": model.estimator, "about": model.about}
    if find_spec("skops") is not None:
        save(content, path)
        return "skops"
    with replacing(path) as temporary:
        temporary.write_bytes(pickle.dumps(content))
    return "pickle"


def load_model(path, trust: bool) -> Model:
    """Read a model.

    A skops file of this library's and scikit-learn's classes is read as it is. What
    could run code when it is loaded, a pickle or other classes, needs ``trust``.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if zipfile.is_zipfile(path):
        content = _load_skops(path, trust)
    elif not path.read_bytes()[:6].startswith(_PICKLES):
        raise ValueError(f"{path} is not a model file")
    elif not trust:
        raise ValueError(
            f"{path} is a pickle, which can run any code when it is loaded; "
            "--trust loads it, if you know where it comes from"
        )
    else:
        content = _load_pickle(path)
    if isinstance(content, dict) and "locallin_model" in content:
        estimator, about = content.get("model"), content.get("about")
        if not hasattr(estimator, "predict") or not _is_sound(about):
            raise ValueError(f"{path} is damaged: fetch it anew, or train it again")
        return Model(estimator, about)
    if not hasattr(content, "predict"):
        raise ValueError(f"{path} holds a {type(content).__name__}, not a model")
    return Model(_unpacked(content))


def _unpacked(estimator: Any) -> Any:
    """A compressed classifier as it was, also at the end of a pipeline."""
    if isinstance(estimator, CompressedClassifier):
        return estimator.decompress()
    if isinstance(estimator, Pipeline):
        *before, (name, last) = estimator.steps
        return Pipeline([*before, (name, _unpacked(last))])
    return estimator


def _is_sound(about: Any) -> TypeGuard[dict[str, Any]]:
    """Whether what a model knows about its rows is what training writes."""
    return isinstance(about, dict) and all(
        isinstance(about.get(name), kinds) and _holds(about[name], inside)
        for name, (kinds, inside) in _ABOUT.items()
        if about.get(name) is not None
    )


def _holds(found: Any, inside: Any) -> bool:
    if isinstance(found, dict):
        found = [*found, *found.values()]
    return not isinstance(found, list | tuple) or all(
        isinstance(one, inside) for one in found
    )


def _load_skops(path: Path, trust: bool):
    trusted = ()
    if trust and find_spec("skops") is not None:
        import skops.io

        trusted = skops.io.get_untrusted_types(file=path)
    try:
        with fitting():
            return load(path, trusted=trusted)
    except ValueError as error:
        advice = str(error).replace("pass trusted=...", "pass --trust.")
        raise ValueError(advice) from error


def _load_pickle(path: Path):
    try:
        with fitting():
            return joblib.load(path)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from error
