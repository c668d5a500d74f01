"""Commands that cannot do what they are asked: full disks, signals, odd files."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from locallin import LLSVMClassifier, SAPLClassifier
from locallin.cli import _commands, main
from locallin.data import write_predictions
from locallin.engine.files import replacing
from locallin.export import load, save, to_c
from locallin.streams.checkpoint import Checkpoints

HOSTILE = ["=cmd()", "</script>", "a\"b'c\\", "two\nlines", "\u202eright", "a,b;c", "@"]


@pytest.fixture
def rows(tmp_path, moons):
    X, y = moons
    lines = [f"{a},{b},{'xy'[k]}" for (a, b), k in zip(X, y, strict=True)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["left,right,class", *lines]) + "\n")
    return path


@pytest.fixture
def model(rows, capsys):
    path = rows.with_name("model.skops")
    command = ["train", str(rows), str(path), "--method", "du", "--max-iter", "2"]
    assert main(command) == 0
    capsys.readouterr()
    return path


def test_libsvm_rows_of_a_csv_model_count_by_position(model, capsys, moons):
    path = model.with_name("rows.svm")
    path.write_text("".join(f"0 1:{a} 2:{b}\n" for a, b in moons[0]))
    assert main(["predict", str(model), str(path), "-"]) == 0
    found = capsys.readouterr().out.split()
    assert main(["predict", str(model), str(model.with_name("rows.csv")), "-"]) == 0
    assert found == capsys.readouterr().out.split()
    assert main(["evaluate", str(model), str(path)]) == 1
    assert "no label is a class of the model" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["du", "ll", "ml3", "atlas"])
def test_values_too_large_to_scale_are_named_first(tmp_path, capsys, method):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,class\n" + "1,1e300,x\n2,3,y\n" * 20)
    command = ["train", str(path), str(tmp_path / "m.skops"), "--method", method]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert said.startswith("locallin train: feature 'b' has values up to 1e+300")
    assert main([*command, "--scale", "maxabs"]) == 0


def test_steps_without_end_are_no_model(tmp_path, rows, capsys):
    command = ["train", str(rows), str(tmp_path / "m.skops"), "--method", "du"]
    assert main([*command, "--learning-rate", "1e300"]) == 1
    assert "steps are too large" in capsys.readouterr().err
    assert not (tmp_path / "m.skops").exists()


@pytest.fixture
def full_disk():
    """A function after which files cannot grow beyond 10 kB, nor kernels be kept."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("kind", ["csv", "npy", "npz", "parquet", "arrow"])
def test_a_full_disk_leaves_the_last_predictions(tmp_path, kind, digits, full_disk):
    X, y = digits[:2]
    model = LLSVMClassifier(3, max_iter=2, tol=None, random_state=0).fit(X, y)
    path = tmp_path / f"scores.{kind}"
    write_predictions(model, (X[:2],), path, method="decision_function")
    full_disk()
    before = path.read_bytes()
    with pytest.raises(OSError, match=rf"scores\.{kind}"):
        write_predictions(model, (X,), path, method="decision_function")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_last_model_and_checkpoint(tmp_path, full_disk):
    pytest.importorskip("skops")
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(600, 20)), np.arange(600) % 3
    path = tmp_path / "model.skops"
    save({"model": 1}, path)
    model = LLSVMClassifier(60, max_iter=2, tol=None, random_state=0).fit(X, y)
    # Kernels that are compiled on a full disk cannot be kept, and say so.
    SAPLClassifier(60, random_state=0).fit_stream((X, y), buffer_size=100)
    full_disk()
    with pytest.raises(OSError, match=r"model\.skops"):
        save(model, path)
    assert load(path) == {"model": 1}
    checkpoints = Checkpoints(tmp_path / "run", {})
    checkpoints.save({"rows": 1})
    with pytest.raises(OSError, match=r"stream\.checkpoint"):
        checkpoints.save({"rows": X})
    assert checkpoints.load() == {"rows": 1}
    learner = SAPLClassifier(60, random_state=0)
    with pytest.raises(OSError, match=r"stream\.checkpoint"):
        learner.fit_stream((X, y), checkpoint=tmp_path / "stream", buffer_size=100)
    assert not hasattr(learner, "classes_")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_named(model, capsys):
    command = ["predict", str(model), str(model.with_name("rows.csv")), "/dev/full"]
    assert main(command) == 1
    assert "/dev/full: No space left" in capsys.readouterr().err


def test_other_errors_stay_as_they_are(tmp_path):
    with pytest.raises(OSError, match=r"^no number$"), replacing(tmp_path / "a"):
        raise OSError("no number")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_sigterm_ends_a_command_as_ctrl_c_does(tmp_path, rows):
    command = ["train", str(rows), str(tmp_path / "m.skops"), "--method", "du"]
    command += ["--stream", "--epochs", "100000", "--checkpoint", str(tmp_path / "run")]
    process = subprocess.Popen(
        [sys.executable, "-m", "locallin", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "run").is_dir():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    said = None
    while said is None:
        assert time.monotonic() < deadline
        process.send_signal(signal.SIGTERM)
        # A signal that comes while an object is being deleted is lost, as any
        # exception is there: the sender sends another one.
        with suppress(subprocess.TimeoutExpired):
            _, said = process.communicate(timeout=15)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert not list(tmp_path.glob(".*"))


class Deleted:
    """Gets Ctrl-C while it is deleted, where Python drops it."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_a_signal_while_something_is_deleted_is_not_lost(monkeypatch, capsys):
    def work(args):
        Deleted()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            time.sleep(0.01)
        return 0

    monkeypatch.setattr(_commands, "info", work)
    hook = sys.unraisablehook
    # Whatever ran before in this process may have taken Ctrl-C.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["info", "model.skops"]) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    assert "interrupted" in capsys.readouterr().err
    assert sys.unraisablehook is hook


def test_hostile_classes_stay_text_in_c(moons):
    X, _ = moons
    y = np.array(HOSTILE)[np.arange(len(X)) % len(HOSTILE)]
    model = LLSVMClassifier(3, max_iter=2, tol=None, random_state=0).fit(X, y)
    header = to_c(model, "model")
    table = header[header.index("model_classes[") :]
    table = table[: table.index("};")]
    for line in table.splitlines()[1:]:
        assert line.isascii()
    # The strings are ours again once their escapes are undone.
    found = eval("[" + table[table.index("{") + 1 :] + "]", {})
    assert [text.encode("latin1").decode() for text in found] == sorted(HOSTILE)


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_hostile_classes_stay_text_in_tables(tmp_path, moons, method):
    import csv

    X, _ = moons
    y = np.array(HOSTILE)[np.arange(len(X)) % len(HOSTILE)]
    model = LLSVMClassifier(3, max_iter=2, tol=None, random_state=0).fit(X, y)
    path = tmp_path / "out.csv"
    with pytest.warns(UserWarning, match="begins like a formula"):
        write_predictions(model, (X,), path, method=method)
    with open(path, newline="", encoding="utf-8") as file:
        cells = list(csv.reader(file))
    if method == "predict":
        assert [row[0] for row in cells][-len(X) :] == model.predict(X).tolist()
    else:
        assert len(cells[0]) == len(HOSTILE)
        assert all(len(row) == len(HOSTILE) for row in cells)
