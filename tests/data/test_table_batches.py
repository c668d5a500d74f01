"""Streams of tables: columns of any kind, gaps, and frames of several libraries."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from locallin.data import DataError, as_batches, batches
from locallin.data.blocks import stacked, taken


def frame(n_rows=10):
    rng = np.random.RandomState(0)
    made = pd.DataFrame(
        {
            "age": rng.randint(20, 70, n_rows),
            "income": rng.lognormal(3, 1, n_rows).round(2),
            "home": rng.choice(["own", "rent"], n_rows),
            "since": pd.date_range("2024-01-01", periods=n_rows).strftime("%Y-%m-%d"),
        }
    )
    made.loc[1, "income"] = np.nan
    return made


LABELS = np.array(["no", "yes"])[np.arange(10) % 2]


@pytest.fixture(params=["csv", "parquet", "pandas", "polars", "arrow", "blocks"])
def source(request, tmp_path):
    """A source of the same ten rows."""
    rows, kind = frame(), request.param
    path = tmp_path / f"rows.{kind}"
    if kind in ("csv", "parquet"):
        labelled = rows.assign(label=LABELS)
        if kind == "csv":
            labelled.to_csv(path, index=False)
        else:
            labelled.to_parquet(path)
        return path
    if kind == "blocks":
        return lambda: ((rows[i : i + 3], LABELS[i : i + 3]) for i in range(0, 10, 3))
    make = {"pandas": lambda rows: rows, "polars": pl.from_pandas, "arrow": _arrow}
    return make[kind](rows), LABELS


def _arrow(rows):
    return pa.Table.from_pandas(rows, preserve_index=False)


@pytest.mark.parametrize("size", [None, 4])
def test_tables_come_as_tables(source, size):
    found = list(batches(source, size, table=True))
    X = stacked([block[0] for block in found])
    assert list(getattr(X, "column_names", X.columns)) == list(frame().columns)
    home = X["home"].to_pylist() if hasattr(X, "column_names") else list(X["home"])
    assert home == list(frame()["home"])
    assert np.concatenate([block[1] for block in found]).tolist() == LABELS.tolist()


def test_a_pass_may_begin_anywhere(source):
    (X, y), *_ = batches(source, None, table=True).iterate(skip=4)
    assert y[0] == LABELS[4]
    assert taken(X, np.array([0])).shape == (1, 4)
    assert taken(X, slice(0, 2)).shape == (2, 4)


class TestKindsOfFiles:
    """What a column of text is, all rows tell."""

    def read(self, tmp_path, column):
        path = tmp_path / "rows.csv"
        lines = [f"{value},{i % 2}" for i, value in enumerate(column)]
        path.write_text("\n".join(["a,label", *lines]) + "\n")
        return [X["a"] for X, _ in batches(path, 10_000, table=True)]

    def test_a_word_behind_many_numbers(self, tmp_path):
        found = self.read(tmp_path, [*range(20_000), "none of them"])
        assert [part.iloc[0] for part in found] == ["0", "10000", "none of them"]
        assert all(part.map(type).eq(str).all() for part in found)

    def test_decimals_behind_whole_numbers(self, tmp_path):
        found = self.read(tmp_path, [*range(20_000), "0.5"])
        assert all(part.dtype.kind == "f" for part in found)

    def test_a_block_without_values_tells_nothing(self, tmp_path):
        found = self.read(tmp_path, [*[""] * 20_000, *["x", "y"]])
        assert found[0].isna().all()
        assert list(found[-1][-2:]) == ["x", "y"]

    def test_dates_that_are_written_in_two_ways_are_text(self, tmp_path):
        column = [*["2024-01-31"] * 20_000, *["31.01.2024"] * 3]
        found = self.read(tmp_path, column)
        assert found[0].iloc[0] == "2024-01-31"
        assert found[-1].iloc[-1] == "31.01.2024"

    def test_times_with_a_zone_are_those_of_utc(self, tmp_path):
        column = ["2024-01-31T20:15:00Z", "2024-01-31 20:15+02:00", "", "2024-01-31"]
        (found,) = self.read(tmp_path, column)
        assert found.dtype.kind == "M"
        stamps = ["2024-01-31T20:15", "2024-01-31T18:15", "NaT", "2024-01-31"]
        assert_array_equal(found.to_numpy(), np.array(stamps, "datetime64[us]"))

    def test_a_day_that_never_was_makes_text(self, tmp_path):
        column = ["2024-02-31", "2024-01-31T20:15:00Z", "2024-01-31"]
        (found,) = self.read(tmp_path, column)
        assert found.tolist() == column


def test_categories_of_blocks_stay_categories():
    parts = [pd.DataFrame({"a": pd.Categorical(v)}) for v in ([1, 2], [2, 3], [])]
    joined = stacked(parts)
    assert isinstance(joined["a"].dtype, pd.CategoricalDtype)
    assert joined["a"].tolist() == [1, 2, 2, 3]


def test_types_of_arrow_blocks_may_differ():
    joined = stacked([pa.table({"a": [1, 2]}), pa.table({"a": [0.5, None]})])
    assert joined["a"].to_pylist() == [1.0, 2.0, 0.5, None]


def test_files_of_numbers_pass_through(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1 2:2\n1 1:3\n")
    ((X, y),) = batches(path, table=True)
    assert X.toarray().tolist() == [[1, 2], [3, 0]]
    assert y.tolist() == [0, 1]


def test_parts_of_a_folder_are_one_table(tmp_path):
    for part in range(2):
        rows = frame().assign(label=LABELS)
        pq.write_table(_arrow(rows), tmp_path / f"{part}.parquet")
    assert sum(len(y) for _, y in batches(tmp_path, table=True)) == 20


def test_blocks_with_other_columns_are_refused():
    other = frame().rename(columns={"home": "house"})
    with pytest.raises(DataError, match=r"'house'.* where the blocks before .*'home'"):
        list(as_batches([(frame(), LABELS), (other, LABELS)], table=True))
    with pytest.raises(DataError, match="no names of columns"):
        list(as_batches([(frame(), LABELS), (np.ones((3, 4)), LABELS[:3])], table=True))
