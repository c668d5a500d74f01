"""The scripts of the playground that are made when the site is built."""

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from locallin import DULLSVMClassifier
from locallin.export.plain import packed, plain_model


def model_of_digits():
    """A small model, and the rows of the data that it was not fitted to."""
    X, y = load_digits(return_X_y=True)
    clf = DULLSVMClassifier(20, loss="multinomial", random_state=0)
    return clf.fit(X[:1400] / 16, y[:1400]), X[1400:], y[1400:]


def write(folder: Path) -> None:
    """Write ``digits.js``, and the script that asks models, into a folder."""
    clf, X, y = model_of_digits()
    first = [int(np.flatnonzero(y == label)[0]) for label in clf.classes_]
    content = {
        "model": packed(plain_model([], clf)),
        "images": X[first].astype(int).tolist(),
        "labels": y[first].tolist(),
    }
    text = f"const DIGITS = {json.dumps(content)};\n"
    (folder / "digits.js").write_text(text)
    with as_file(files("locallin.report") / "model.js") as script:
        shutil.copyfile(script, folder / "local-model.js")
