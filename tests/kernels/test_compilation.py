"""What is compiled now and what an earlier process has left behind are the same."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from locallin.kernels.rows import dot

FIT = """
import hashlib, warnings
from sklearn.datasets import load_digits
import locallin
warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
model = locallin.{name}(max_iter=2, random_state=0).fit(X[:300], y[:300])
print(hashlib.sha256(model.decision_function(X).tobytes()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ML3Classifier", "DULLSVMClassifier"])
def test_a_cold_start_and_a_warm_one_give_the_same_bits(name, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    cold, warm = (
        subprocess.check_output(
            [sys.executable, "-c", FIT.format(name=name)], env=environment
        )
        for _ in range(2)
    )
    assert any(tmp_path.rglob("*.nbc"))
    assert cold == warm


@pytest.mark.slow
def test_processes_that_start_with_a_cold_cache_at_once_agree(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", FIT.format(name="ML3Classifier")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    ends = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 4, ends
    assert len({bits for bits, _ in ends}) == 1


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_kernel_without_an_entry_for_python_says_so():
    """Without the check Numba would call address zero."""
    with pytest.raises(TypeError, match="without inner=True"):
        dot(np.ones(3), None, np.ones(3))
