"""Compiled kernels on disk: noticed when stale, found where they can be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import locallin

GAP = """
from locallin.kernels.dual import gap_term
from locallin.kernels.losses import HINGE
print(gap_term(HINGE, 0.25, 0.0, 1.0), sum(gap_term.stats.cache_hits.values()))
"""


@pytest.fixture
def kernels(tmp_path):
    """The kernels of a copy of the package, not compiled yet."""
    copy = tmp_path / "locallin"
    copy.mkdir()
    package = Path(locallin.__file__).parent
    shutil.copy(package / "__init__.py", copy)
    no_cache = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(package / "kernels", copy / "kernels", ignore=no_cache))


def run(kernels, **environment):
    """Output and warnings of a process that compiles a kernel, or finds it."""
    environment["PYTHONPATH"] = str(kernels.parents[1])
    left_out = "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "PYTHONWARNINGS"
    others = {k: v for k, v in os.environ.items() if k not in left_out}
    done = subprocess.run(
        [sys.executable, "-c", GAP],
        env={**others, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return *done.stdout.split(), done.stderr


def compiled(folder):
    return {path.name for path in folder.rglob("*.nbc")}


def test_a_change_in_a_kernel_is_noticed_by_those_that_call_it(kernels):
    assert run(kernels) == ("0.75", "0", "")
    assert run(kernels) == ("0.75", "1", "")
    losses = kernels / "losses.py"
    source = losses.read_text()
    hinge = "return violation if"
    assert hinge in source
    losses.write_text(source.replace(hinge, "return 2.0 * violation if"))
    assert run(kernels) == ("1.5", "0", "")


def test_a_folder_that_cannot_be_written_is_read(kernels, tmp_path):
    """As in a container: root has compiled, and another user calls."""
    assert run(kernels) == ("0.75", "0", "")
    folder = kernels / "__pycache__"
    folder.chmod(0o555)
    assert run(kernels, XDG_CACHE_HOME=str(tmp_path / "user")) == ("0.75", "1", "")
    folder.chmod(0o755)
    assert not compiled(tmp_path / "user")


@pytest.mark.skipif(sys.platform != "linux", reason="names Linux's cache folder")
def test_another_folder_is_used_where_the_first_cannot_be_written(kernels, tmp_path):
    (kernels / "__pycache__").write_text("a file, where no folder can be made")
    users = {"XDG_CACHE_HOME": str(tmp_path / "user")}
    assert run(kernels, **users) == ("0.75", "0", "")
    assert compiled(tmp_path / "user")
    assert run(kernels, **users) == ("0.75", "1", "")


def test_kernels_work_where_nothing_can_be_written(kernels):
    """One line says what to set, although several functions are compiled."""
    found, hits, warning = run(kernels, NUMBA_CACHE_DIR=os.devnull)
    assert (found, hits) == ("0.75", "0")
    assert warning.count("NUMBA_CACHE_DIR") == 1
