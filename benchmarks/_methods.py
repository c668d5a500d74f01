"""The estimators that are measured: ours, and peers where they are installed."""

from importlib import import_module

import locallin

OURS = (
    "LocallyLinearClassifier",
    "LLSVMClassifier",
    "SAPLClassifier",
    "DULLSVMClassifier",
    "ML3Classifier",
    "AtlasClassifier",
)
# Beside the defaults: the number of anchors from the data.
GROWN = "n_anchors='auto'"
VARIANTS = (f"LLSVMClassifier, {GROWN}", f"DULLSVMClassifier, {GROWN}")


def is_ours(name: str) -> bool:
    return name.split(",")[0] in OURS


def ours(name: str, seed: int = 0, n_jobs: int = 2, **settings):
    """One of our estimators with its defaults."""
    name, _, more = name.partition(", ")
    if more == GROWN:
        settings["n_anchors"] = "auto"
    return getattr(locallin, name)(random_state=seed, n_jobs=n_jobs, **settings)


def installed(peers: dict[str, tuple[str, dict]]) -> dict:
    """Estimators by name, from the paths of their classes and their settings."""
    found = {}
    for name, (path, settings) in peers.items():
        module, _, kind = path.rpartition(".")
        try:
            found[name] = getattr(import_module(module), kind)(**settings)
        except ImportError:
            print(f"{name} is left out: {module} is not installed")
    return found
