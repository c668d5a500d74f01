"""Files that are complete or not there."""

import os

import pytest

from locallin.engine.files import replacing


def test_a_file_is_replaced_when_the_block_succeeds(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    with replacing(path) as temporary:
        temporary.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    with pytest.raises(TypeError), replacing(path) as temporary:
        temporary.write_text(1)
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["file"]


def test_a_device_is_written_to_as_it_is():
    with replacing(os.devnull) as path:
        assert str(path) == os.devnull


def test_errors_name_the_file_and_not_the_temporary_one(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"the folder of .*nowhere.page"),
        replacing(tmp_path / "nowhere" / "page"),
    ):
        raise AssertionError
    path = tmp_path / "page"
    with pytest.raises(FileNotFoundError) as caught, replacing(path):
        pass  # nothing was written
    assert caught.value.filename == str(path)
    path.mkdir()
    with pytest.raises(IsADirectoryError) as caught, replacing(path) as given:
        given.write_text("page")
    assert caught.value.filename == str(path)
