"""The command that compiles what a first fit would."""

import json
import os
import subprocess
import sys

import pytest

from locallin.cli import main


@pytest.mark.slow
def test_kernels_are_on_disk_afterwards(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "locallin", "warmup", "--method", "ml3", "--json"]
    told = json.loads(subprocess.check_output(command, env=environment))
    assert list(told["seconds"]) == ["ML3Classifier"]
    assert told["folders"][0].startswith(str(tmp_path))
    compiled = sorted(tmp_path.rglob("*.nbc"))
    assert compiled
    again = json.loads(subprocess.check_output(command, env=environment))
    assert sorted(tmp_path.rglob("*.nbc")) == compiled
    assert set(again["seconds"]) == {"ML3Classifier"}


def test_methods_that_are_wanted_alone_are_compiled(capsys):
    assert main(["warmup", "--method", "ll", "--sparse", "--dtype", "both"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("LLSVMClassifier")
    assert last.startswith("in all")
    assert main(["warmup", "--method", "nothing"]) == 2
