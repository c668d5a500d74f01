"""Data sets by name: from a server of small files, checked, and kept."""

import bz2
import json
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy import sparse

from benchmarks import _data, fetch
from benchmarks.__main__ import main


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not speak of every file."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def mirror(tmp_path):
    """Address and folder of a server of files."""
    folder = tmp_path / "server"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def small(monkeypatch):
    """The sources, with what small files have."""

    def expect(name, **content):
        source = replace(fetch.SOURCES[name], **content)
        monkeypatch.setitem(fetch.SOURCES, name, source)

    return expect


def ask(folder, mirror, *sets):
    main(["fetch", "--data", str(folder), "--mirror", mirror, "--sets", *sets])


def test_a_table_is_fetched_once(tmp_path, mirror, small, capsys):
    address, files = mirror
    (files / "bupa-bupa.data").write_text("1,2,3,4,5,6,1\n6,5,4,3,2,1,2\n1,1,1,1,1,1,2")
    small("bupa", rows=(3,), classes=(1, 2), squares=91 + 91 + 6)
    ask(tmp_path / "data", address, "bupa")
    (X,), (y,) = _data.read(tmp_path / "data", "bupa")
    np.testing.assert_array_equal(X[1], [6, 5, 4, 3, 2, 1])
    np.testing.assert_array_equal(y, [1, 2, 2])
    sums = (tmp_path / "data" / "downloads" / "SHA256SUMS").read_text()
    assert sums.endswith("  bupa-bupa.data\n")
    (files / "bupa-bupa.data").unlink()
    ask(tmp_path / "data", address, "bupa")
    assert "bupa: is there" in capsys.readouterr().out
    (tmp_path / "data" / "bupa.npz").unlink()
    ask(tmp_path / "data", address, "bupa")  # from the file that is kept


def test_parts_packed_sparse_and_with_words_for_classes(tmp_path, mirror, small):
    address, files = mirror
    (files / "w8a-w8a").write_text("-1 3:1 300:1\n+1 1:1\n")
    (files / "w8a-w8a.t").write_text("-1 2:1\n")
    small("w8a", rows=(2, 1), classes=(1, 2), squares=4)
    packed = bz2.compress(b"-1 1:0.5\n1 22:2\n")
    (files / "ijcnn1-ijcnn1.bz2").write_bytes(packed)
    (files / "ijcnn1-ijcnn1.t.bz2").write_bytes(packed)
    small("ijcnn1", rows=(2, 2), classes=(2, 2), squares=8.5)
    lines = [f"{c}," + ",".join("1" * 16) for c in "ABZ"]
    (files / "letter-letter-recognition.data").write_text("\n".join(lines))
    small("letter", rows=(3, 0), classes=(1, 1, 1), squares=48)
    ask(tmp_path, address, "w8a", "ijcnn1", "letter")
    parts, labels = _data.read(tmp_path, "w8a")
    assert sparse.issparse(parts[0])
    assert parts[0].shape == (2, 300)
    np.testing.assert_array_equal(labels[1], [-1])
    assert _data.read(tmp_path, "ijcnn1")[0][1][1, 21] == 2
    np.testing.assert_array_equal(_data.read(tmp_path, "letter")[1][0], [0, 1, 25])


def test_openml_tells_where_the_table_is(tmp_path, mirror, small):
    address, files = mirror
    about = {"data_set_description": {"url": f"{address}/anything.arff"}}
    (files / "banana.json").write_text(json.dumps(about))
    (files / "banana.arff").write_text(
        "@relation b\n@attribute a real\n@attribute b real\n"
        "@attribute c {1,2}\n@data\n1,2,1\n3,4,2\n"
    )
    small("banana", rows=(2,), classes=(1, 1), squares=30)
    ask(tmp_path, address, "banana")
    np.testing.assert_array_equal(_data.read(tmp_path, "banana")[1][0], [-1, 1])


def test_other_data_and_changed_files_are_refused(tmp_path, mirror, small):
    address, files = mirror
    (files / "bupa-bupa.data").write_text("1,2,3,4,5,6,1\n6,5,4,3,2,1,2\n")
    small("bupa", rows=(2,), classes=(1, 1), squares=1000)
    with pytest.raises(SystemExit, match="sum of squares 182, not 1000"):
        ask(tmp_path, address, "bupa")
    assert not (tmp_path / "bupa.npz").exists()
    small("bupa", rows=(3,), classes=(1, 1), squares=182)
    with pytest.raises(SystemExit, match=r"rows \(2,\) in place of \(3,\)"):
        ask(tmp_path, address, "bupa")
    (tmp_path / "downloads" / "bupa-bupa.data").write_text("1,2\n")
    with pytest.raises(SystemExit, match="has changed since it was fetched"):
        ask(tmp_path, address, "bupa")


def test_what_is_missing_is_told_with_its_address(tmp_path, mirror):
    address, _ = mirror
    with pytest.raises(SystemExit) as told:
        ask(tmp_path, address, "phishing", "reuters_lasvm")
    text = str(told.value)
    assert "phishing: HTTP Error 404" in text
    assert "libsvmtools/datasets/binary/phishing" in text
    assert "reuters_lasvm: the Reuters set" in text
    with pytest.raises(SystemExit, match="no data set"):
        ask(tmp_path, address, "nobody")


def test_every_set_of_the_benchmarks_has_a_source():
    assert set(_data.SETS) == {*fetch.SOURCES, *fetch.ELSEWHERE}
    for name, source in fetch.SOURCES.items():
        assert sum(source.rows) == sum(source.classes), name
