"""Datasets of pyarrow: folders of folders, and whatever else is one."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow
from pyarrow import dataset, feather, parquet

from locallin import LLSVMClassifier
from locallin.data import DataError, batches

N_ROWS = 60


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    y = np.arange(N_ROWS) % 2
    return pyarrow.table(
        {
            "width": rng.normal(size=N_ROWS) + 2 * y,
            "height": rng.normal(size=N_ROWS),
            "year": 2020 + np.arange(N_ROWS) // 20,
            "label": np.where(y, "tall", "small"),
        }
    )


@pytest.fixture
def by_year(table, tmp_path):
    """Folders year=2020 to year=2022 of two files each."""
    for year, start in ((2020, 0), (2021, 20), (2022, 40)):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        for part in range(2):
            rows = table.drop_columns("year").slice(start + 10 * part, 10)
            parquet.write_table(rows, folder / f"part-{part}.parquet")
    return tmp_path


def as_arrays(table, columns=("width", "height", "year")):
    return np.column_stack([table[name].to_numpy() for name in columns])


def joined(blocks):
    X, y = zip(*blocks, strict=True)
    return np.concatenate(X), np.concatenate(y)


@pytest.mark.parametrize("size", [1, 7, 10, 1000])
def test_folders_that_are_named_by_values(by_year, table, size):
    rows = batches(by_year, size)
    assert (rows.n_rows, rows.n_features) == (N_ROWS, 3)
    assert rows.names == ["width", "height", "year"]
    X, y = joined(rows)
    assert np.array_equal(X, as_arrays(table))
    assert y.tolist() == table["label"].to_pylist()
    assert all(len(part) == size for part, _ in list(rows)[:-1])


@pytest.mark.parametrize("skip", [0, 5, 10, 25, 59])
def test_a_pass_that_begins_later(by_year, table, skip):
    X, y = joined(batches(by_year, 8).iterate(skip=skip))
    assert np.array_equal(X, as_arrays(table)[skip:])
    assert y.tolist() == table["label"].to_pylist()[skip:]


def test_a_value_of_a_folder_can_be_the_label(by_year, table):
    X, y = joined(batches(by_year, label="year", features=["height"]))
    assert np.array_equal(X, as_arrays(table, ["height"]))
    assert np.array_equal(y, table["year"].to_numpy())


def test_a_dataset_and_what_is_chosen_of_it(by_year, table):
    whole = dataset.dataset(by_year, partitioning="hive")
    some = whole.filter(dataset.field("year") == 2021)
    X, _ = joined(batches(some))
    assert np.array_equal(X, as_arrays(table)[20:40])
    X, _ = joined(batches(dataset.dataset(table)))
    assert np.array_equal(X, as_arrays(table))


def test_arrow_files_in_folders(table, tmp_path):
    (tmp_path / "a").mkdir()
    feather.write_feather(table, tmp_path / "a" / "rows.arrow")
    X, _ = joined(batches(tmp_path, format="arrow"))
    assert np.array_equal(X, as_arrays(table))


def test_a_model_of_it(by_year, table):
    model = LLSVMClassifier(2, solver="sgd", random_state=0)
    model.fit_stream(batches(by_year, features=["width", "height"]), epochs=5)
    assert model.classes_.tolist() == ["small", "tall"]
    X = as_arrays(table, ["width", "height"])
    assert model.score(X, table["label"].to_pylist()) > 0.75


def test_what_cannot_be_read_says_so(by_year, table, tmp_path):
    with pytest.raises(DataError, match="no column 'depth'"):
        batches(by_year, features=["depth"])
    strange = table.append_column("colour", pyarrow.array(["red"] * N_ROWS))
    with pytest.raises(DataError, match="'colour': holds string"):
        batches(dataset.dataset(strange))
    with pytest.raises(DataError, match="60 rows"):
        list(batches(by_year).iterate(skip=1000))
    empty = tmp_path / "empty"
    (empty / "inside").mkdir(parents=True)
    with pytest.raises(DataError, match="holds no parquet files"):
        batches(empty)


def test_a_damaged_file_is_not_taken_for_its_end(by_year):
    path = by_year / "year=2022" / "part-1.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="not a whole Parquet"):
        list(batches(by_year))
