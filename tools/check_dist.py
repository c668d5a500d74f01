"""Build what would be released, and try it where nothing of the clone is in reach.

The source distribution must hold every file of the clone, and a part of the tests must
pass in it. The wheel must work in an empty environment: fit, report, the command. What
an index asks for is checked by twine. With a folder as argument, what is built stays.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
NOT_RELEASED = {".gitignore"}
TESTS = ("tests/test_package.py", "tests/test_anchors.py", "tests/data")
TRY = """
import pathlib, sys
import numpy as np
from sklearn.datasets import load_digits
import locallin
from locallin.report import report

home = pathlib.Path(locallin.__file__).parent
assert pathlib.Path(sys.prefix) in home.parents, home
assert (home / "py.typed").exists()
X, y = load_digits(return_X_y=True)
model = locallin.DULLSVMClassifier(20, random_state=0).fit(X[:500] / 16, y[:500])
assert model.score(X[500:] / 16, y[500:]) > 0.9
assert "</html>" in report(model, X[:100] / 16, y[:100])
np.savetxt("digits.csv", np.column_stack([X[:200], y[:200]]), "%d", ",")
"""


def run(*command, cwd):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(command, cwd=cwd, env=environment, check=True)


def check_source(archive, folder):
    with tarfile.open(archive) as source:
        source.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    listed = subprocess.check_output(["git", "ls-files"], cwd=CLONE, text=True)
    missing = [
        name
        for name in set(listed.split()) - NOT_RELEASED
        if not (root / name).exists()
    ]
    assert not missing, f"MANIFEST.in leaves out {sorted(missing)}"
    # The tests take the package from the folder's own src.
    run(sys.executable, "-m", "pytest", *TESTS, cwd=root)


def check_wheel(wheel, folder):
    venv.create(folder / "venv", with_pip=True)
    commands = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = commands / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    run(python, "-c", TRY, cwd=folder)
    run(commands / "locallin", "train", "digits.csv", "digits.model", cwd=folder)
    run(commands / "locallin", "info", "digits.model", "--trust", cwd=folder)


def main(folder=None):
    with tempfile.TemporaryDirectory() as name:
        unpacked, tried = (Path(name, n) for n in ("source", "wheel"))
        unpacked.mkdir()
        tried.mkdir()
        built = Path(name, "built") if folder is None else Path(folder).resolve()
        if built.exists() and any(built.iterdir()):
            raise SystemExit(
                f"{built} holds files of an earlier build: remove it first"
            )
        run(sys.executable, "-m", "build", "--outdir", built, CLONE, cwd=name)
        files = sorted(built.iterdir())
        run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=name)
        check_source(next(built.glob("*.tar.gz")), unpacked)
        check_wheel(next(built.glob("*.whl")), tried)
    print("Source distribution and wheel work.")
    if folder is not None:
        print(f"In {built}: {', '.join(file.name for file in files)}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
