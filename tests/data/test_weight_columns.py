"""A column of files that has the weights of the rows."""

import numpy as np
import pytest

from locallin import DULLSVMClassifier
from locallin.cli import main
from locallin.data import DataError, batches

RNG = np.random.RandomState(0)
X = RNG.randn(90, 3).round(3)
y = (X[:, 0] * X[:, 1] > 0).astype(int)
W = RNG.randint(4, size=90) / 2
NAMES = ("a", "w", "b", "class", "c")
COLUMNS = (X[:, 0], W, X[:, 1], y, X[:, 2])


def write_csv(path, header=True, quoted=False):
    rows = zip(*(column.tolist() for column in COLUMNS), strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    if quoted:
        lines[40] = ",".join(f'"{cell}"' for cell in lines[40].split(","))
    path.write_text("\n".join([",".join(NAMES)] * header + lines) + "\n")
    return path


def write_arrow(path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pyarrow.table(dict(zip(NAMES, COLUMNS, strict=True)))
    write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
    write(table, path)
    return path


def joined(blocks):
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def assert_rows(blocks):
    found, labels, weights = joined(blocks)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(weights, W)
    assert weights.dtype == np.float64


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.feather"])
def test_blocks_have_the_weights(tmp_path, name):
    file = tmp_path / name
    (write_csv if name.endswith("csv") else write_arrow)(file)
    rows = batches(file, 40, weight="w")
    assert rows.names == ["a", "b", "c"]
    assert rows.n_features == 3
    assert_rows(rows)
    np.testing.assert_array_equal(joined(rows.iterate(skip=50))[2], W[50:])
    assert_rows(batches(file, 7, weight=1, label=3))
    again = batches(file, weight="w", features=["a", "b", "c"])
    assert_rows(again)


def test_lines_that_need_care(tmp_path):
    assert_rows(batches(write_csv(tmp_path / "rows.csv", quoted=True), 13, weight="w"))


def test_by_position_without_a_header(tmp_path):
    file = write_csv(tmp_path / "rows.csv", header=False)
    assert_rows(batches(file, weight=1, label=-2))
    assert_rows(batches(file, weight=1, label=-2, features=3))


def test_the_label_is_the_last_of_the_others(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("1,2,0,0.5\n3,4,1,1.5\n")
    ((found, labels, weights),) = batches(file, weight=-1)
    assert found.tolist() == [[1, 2], [3, 4]]
    assert labels.tolist() == [0, 1]
    assert weights.tolist() == [0.5, 1.5]
    ((*_, weights),) = batches(file, weight=-1, features=2)
    assert weights.tolist() == [0.5, 1.5]


def test_datasets(tmp_path):
    write_arrow(tmp_path / "part.parquet")
    from pyarrow import dataset

    rows = dataset.dataset(tmp_path / "part.parquet")
    assert_rows(batches(rows, 40, weight="w"))
    with pytest.raises(ValueError, match=r"beside \.npy"):
        batches(rows, weights=W)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "v"}, "no weight column 'v'; its columns are 'a', 'w'"),
        ({"weight": 5}, "none at the weight's position 6"),
        ({"weight": "class"}, "cannot be both the label and the weight"),
        ({"weight": "a", "features": ["a", "b"]}, "'a' is one of the features"),
        ({"weight": "w", "features": 2}, "4 columns where 2 features"),
    ],
)
def test_columns_that_are_not_there(tmp_path, options, message):
    rows = batches(write_csv(tmp_path / "rows.csv"), **options)
    with pytest.raises(DataError, match=message):
        list(rows)


def test_formats_without_columns(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("1 1:2.5\n0 2:1.5\n")
    with pytest.raises(ValueError, match="csv, parquet, arrow files, not for libsvm"):
        list(batches(file, weight="w"))


def test_a_weight_that_is_no_number_is_named(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,w,class\n1,2,0\n3,,1\n")
    with pytest.raises(DataError, match=r"line 3, column 2 \(the weight\).*missing"):
        list(batches(file, weight="w"))


def test_streams_learn_with_them(tmp_path):
    model, same = (DULLSVMClassifier(4, random_state=0) for _ in range(2))
    model.fit_stream(batches(write_csv(tmp_path / "rows.csv"), weight="w"), epochs=3)
    same.fit_stream((X, y, W), epochs=3)
    np.testing.assert_array_equal(model.coef_, same.coef_)


@pytest.mark.parametrize("stream", [[], ["--stream", "--epochs", "3"]])
def test_train_counts_rows_by_their_weights(tmp_path, capsys, stream):
    file = write_csv(tmp_path / "rows.csv")

    def scores(*weights):
        weighted, out = tmp_path / "weighted.csv", tmp_path / "a.model"
        header, *lines = file.read_text().splitlines()
        cells = [line.split(",") for line in lines]
        for row, weight in zip(cells, weights, strict=True):
            row[1] = str(weight)
        weighted.write_text("\n".join([header, *map(",".join, cells)]) + "\n")
        command = ["train", str(weighted), str(out), "--weight", "w", "--force"]
        command += ["--method", "du", "--n-anchors", "4", "--random-state", "0"]
        command += stream
        return scores_of(out, file, capsys) if main(command) == 0 else None

    found = scores(*W)
    assert found is not None
    assert scores(*(8 * W)) == found  # their mean makes no difference
    assert scores(*np.ones_like(W)) not in (None, found)
    assert scores(*np.zeros_like(W)) is None
    assert "weight" in capsys.readouterr().err


def scores_of(model, file, capsys) -> str:
    capsys.readouterr()
    command = ["predict", str(model), str(file), "--output", "scores", "--trust"]
    assert main(command) == 0
    return capsys.readouterr().out
