"""Streams of blocks: every source, again and again, and from the middle."""

import io
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from locallin.data import Batches, DataError, as_batches, batches

N_ROWS = 11
RNG = np.random.default_rng(0)
X = np.where(RNG.uniform(size=(N_ROWS, 3)) < 0.7, RNG.normal(size=(N_ROWS, 3)), 0)
X[4] = 0
y = RNG.integers(0, 3, N_ROWS)
WEIGHTS = RNG.uniform(size=N_ROWS)
CUTS = ((0, 4), (4, 5), (5, 11))


def csv_text(rows, header=True):
    lines = ["a,b,c,label"] if header else []
    for row, label in zip(X[rows].tolist(), y[rows].tolist(), strict=True):
        lines.append(",".join(map(repr, [*row, label])))
    return "\n".join(lines) + "\n"


def write_csv(path, rows):
    path.write_text(csv_text(rows))


def write_libsvm(path, rows):
    lines = ["# made by hand", ""]
    for row, label in zip(X[rows].tolist(), y[rows].tolist(), strict=True):
        pairs = [f"{j}:{value!r}" for j, value in enumerate(row, 1) if value]
        lines.append(" ".join([str(label), *pairs]))
    path.write_text("\n".join(lines))


def arrow_table(rows):
    pyarrow = pytest.importorskip("pyarrow")
    columns = {name: X[rows, j] for j, name in enumerate("abc")}
    return pyarrow.table({**columns, "label": y[rows]})


def write_parquet(path, rows):
    table = arrow_table(rows)
    from pyarrow import parquet

    parquet.write_table(table, path, row_group_size=2)


def write_feather(path, rows):
    table = arrow_table(rows)
    from pyarrow import feather

    feather.write_feather(table, str(path), chunksize=3)


def write_stream(path, rows):
    table = arrow_table(rows)
    from pyarrow import ipc

    with ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


WRITERS = {
    "csv": write_csv,
    "svm": write_libsvm,
    "parquet": write_parquet,
    "feather": write_feather,
    "arrow": write_stream,
}


def whole_file(folder, kind):
    path = folder / f"data.{kind}"
    WRITERS[kind](path, slice(None))
    return path


def parts(folder, kind):
    place = folder / "parts"
    place.mkdir()
    for number, (start, stop) in enumerate(CUTS):
        WRITERS[kind](place / f"part-{number}.{kind}", slice(start, stop))
    (place / "_SUCCESS").write_text("")
    (place / f"part-3.{kind}").write_text("")
    return place


def npy(folder, order="C"):
    for name, array in (("X", np.asarray(X, order=order)), ("y", y), ("w", WEIGHTS)):
        np.save(folder / f"{name}.npy", array)
    return folder / "X.npy"


def npz(folder):
    np.savez_compressed(folder / "data.npz", X=X, y=y)
    return folder / "data.npz"


def sparse_npz(folder):
    np.savez(folder / "data.npz", **vars_of(sparse.csr_matrix(X)), y=y)
    return folder / "data.npz"


def vars_of(matrix):
    names = ("data", "indices", "indptr", "shape")
    return {name: getattr(matrix, name) for name in names} | {"format": b"csr"}


def blocks_of(*sizes, weights=False):
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        yield (X[rows], y[rows], WEIGHTS[rows]) if weights else (X[rows], y[rows])
        start += size


class Stream:
    """Blocks for anyone who asks, some of them empty."""

    def __iter__(self):
        return blocks_of(0, 5, 0, 4, 2)


SOURCES = {
    **{
        kind: lambda folder, kind=kind: (whole_file(folder, kind), {})
        for kind in WRITERS
    },
    **{
        f"folder of {kind}": lambda folder, kind=kind: (parts(folder, kind), {})
        for kind in WRITERS
    },
    "pattern": lambda folder: (f"{parts(folder, 'csv')}/part-*", {}),
    "list": lambda folder: (sorted(parts(folder, "svm").glob("part*")), {}),
    "npz": lambda folder: (npz(folder), {}),
    "sparse npz": lambda folder: (sparse_npz(folder), {}),
    "npy": lambda folder: (npy(folder), {"labels": folder / "y.npy"}),
    "npy, columns": lambda folder: (npy(folder, "F"), {"labels": y}),
    "arrays": lambda folder: ((X, y), {}),
    "sparse arrays": lambda folder: ((sparse.csr_array(X), y), {}),
    "callable": lambda folder: (lambda: blocks_of(2, 9), {}),
    "list of blocks": lambda folder: (list(blocks_of(7, 1, 3)), {}),
    "iterable": lambda folder: (Stream(), {}),
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    return SOURCES[request.param](tmp_path)


def as_array(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def check(blocks, size, start=0):
    """The rows from ``start`` on, in blocks of one size."""
    blocks = list(blocks)
    sizes = [len(labels) for _, labels in blocks]
    assert sizes[:-1] == [size] * (len(sizes) - 1)
    assert sum(sizes) == N_ROWS - start
    if blocks:
        rows = np.vstack([as_array(block) for block, _ in blocks])
        assert np.array_equal(rows, X[start:])
        assert np.array_equal(
            np.concatenate([labels for _, labels in blocks]), y[start:]
        )


@pytest.mark.parametrize("size", [1, 3, 100])
def test_every_source_gives_its_rows_in_every_pass(source, size):
    place, options = source
    stream = batches(place, size, **options)
    assert isinstance(stream, Batches)
    assert not stream.once
    check(stream, size)
    check(stream, size)
    assert stream.n_rows in (N_ROWS, None)
    assert stream.n_features == 3
    for skip in (1, 4, 5, 6, N_ROWS):
        check(stream.iterate(skip), size, skip)
        check(batches(place, size, **options).iterate(skip), size, skip)
    with pytest.raises(DataError, match=f"{N_ROWS} rows, so 12 cannot be skipped"):
        list(stream.iterate(skip=12))


def test_passes_do_not_disturb_each_other(source):
    place, options = source
    stream = batches(place, 3, **options)
    first = iter(stream)
    next(first)
    check(stream, 3)
    assert np.array_equal(as_array(next(first)[0]), X[3:6])


def test_next_moves_one_pass_on():
    stream = batches((X, y), 4)
    assert [len(next(stream)[1]) for _ in range(3)] == [4, 4, 3]
    with pytest.raises(StopIteration):
        next(stream)
    check(stream, 4)


def test_rows_of_known_number_are_not_counted(tmp_path):
    counted = {"parquet", "feather"}
    for kind in WRITERS:
        stream = batches(whole_file(tmp_path, kind))
        assert stream.n_rows == (N_ROWS if kind in counted else None)
        assert stream.names == (None if kind == "svm" else ["a", "b", "c"])
        assert stream.n_features == (None if kind == "svm" else 3)
    assert batches(parts(tmp_path, "parquet")).n_rows == N_ROWS
    assert batches(npy(tmp_path)).n_rows == N_ROWS
    assert batches(lambda: blocks_of(11)).n_rows is None


def test_a_libsvm_file_is_searched_for_its_width_once(tmp_path, monkeypatch):
    from locallin.data import _origins

    calls = []
    largest_index = _origins.largest_index

    def spied(source):
        calls.append(source.name)
        return largest_index(source)

    monkeypatch.setattr(_origins, "largest_index", spied)
    stream = batches(whole_file(tmp_path, "svm"), 3)
    for _ in range(3):
        check(stream, 3)
    assert len(calls) == 1
    check(batches(whole_file(tmp_path, "svm"), 3, features=3), 3)
    assert len(calls) == 1


def test_weights(tmp_path):
    place = npy(tmp_path)
    beside = {"labels": tmp_path / "y.npy", "weights": str(tmp_path / "w.npy")}
    for stream in (
        batches(place, 4, **beside),
        batches((X, y, WEIGHTS), 4),
        batches((sparse.csr_matrix(X), y, WEIGHTS), 4),
        batches(lambda: blocks_of(7, 4, weights=True), 4),
    ):
        for skip in (0, 5):
            rows, labels, weights = zip(*stream.iterate(skip), strict=True)
            assert np.array_equal(np.vstack([as_array(r) for r in rows]), X[skip:])
            assert np.array_equal(np.concatenate(labels), y[skip:])
            assert np.array_equal(np.concatenate(weights), WEIGHTS[skip:])


def test_sparse_blocks_stay_sparse():
    matrix = sparse.csr_matrix(X)
    for source in ((matrix.tocsc(), y), [(matrix[:4], y[:4]), (matrix[4:], y[4:])]):
        blocks = list(batches(source, 3))
        assert all(block.format == "csr" for block, _ in blocks)
        check(blocks, 3)


def test_frames_and_rows_without_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    stream = batches((frame, pandas.Series(y)), 3)
    check(stream, 3)
    assert stream.names == ["a", "b", "c"]
    for source in (X, frame, [X[:5], X[5:]], (X,), (X, None)):
        blocks = list(batches(source, 3))
        assert np.array_equal(np.vstack([block for block, _ in blocks]), X)
        assert {labels for _, labels in blocks} == {None}


def test_labels_of_arrays_stay_as_they_are():
    for labels in (y > 1, y.astype(np.uint8), np.array(["a", "b"])[y % 2]):
        assert next(batches((X, labels), 3))[1].dtype == labels.dtype
    (_, labels), *_ = batches((X, y), 3, classes=["0", "1", "2", "a"])
    assert labels.tolist() == [str(label) for label in y[:3]]


def test_integers_become_doubles_and_singles_stay():
    assert next(batches((X.astype(int), y)))[0].dtype == np.float64
    assert next(batches((X.astype(np.float32), y)))[0].dtype == np.float32


def test_blocks_as_they_come_or_of_another_size():
    stream = as_batches(list(blocks_of(2, 9)))
    assert [len(labels) for _, labels in stream] == [2, 9]
    assert as_batches(stream) is stream
    check(as_batches(stream, 4), 4)
    check(as_batches(stream, 4).iterate(3), 4, 3)
    with pytest.raises(TypeError, match="takes no"):
        as_batches(stream, label=None)
    assert as_batches((X, y)).size == 4096
    assert "size=4" in repr(as_batches(stream, 4))


def test_one_pass_of_an_iterator():
    stream = as_batches(blocks_of(6, 5), 4)
    assert stream.once
    again = as_batches(stream, 3)
    check(stream.iterate(2), 4, 2)
    for used in (stream, again):
        with pytest.raises(DataError, match="blocks_of can be read once only, and was"):
            iter(used)


@pytest.mark.parametrize("kind", ["csv", "svm", "parquet", "feather"])
def test_one_pass_of_standard_input(tmp_path, monkeypatch, kind):
    content = whole_file(tmp_path, kind).read_bytes()

    def feed():
        stdin = SimpleNamespace(buffer=io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stdin)

    for skip in (0, 4):
        feed()
        stream = batches("-", 3, features=3)
        assert stream.once
        assert (stream.n_rows, stream.n_features) == (None, 3)
        check(stream.iterate(skip), 3, skip)
        with pytest.raises(DataError, match="standard input can be read once only"):
            iter(stream)


def test_a_resumed_pass_has_labels_of_the_same_type(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,a\n2,b\n3,1\n4,2\n")
    for skip, expected in ((0, ["a", "b", "1", "2"]), (2, ["1", "2"])):
        blocks = batches(path, 1).iterate(skip)
        assert [y.tolist()[0] for _, y in blocks] == expected


BAD_BLOCKS = {
    "block 3 has 2 features where the blocks before have 3": (X[:, :2], y),
    "block 3 has no labels where": (X, None),
    "block 3 has weights where": (X, y, WEIGHTS),
    "block 3 has no labels that are numbers where": (X, y.astype(str)),
    "block 3 has a sparse X where": (sparse.csr_matrix(X), y),
    "block 3: y has the shape": (X, y[:3]),
    "block 3: X has the shape": (X[0], y),
    "block 3: a block is": (X, y, WEIGHTS, y),
}


@pytest.mark.parametrize("message", BAD_BLOCKS)
@pytest.mark.parametrize("size", [None, 4])
@pytest.mark.parametrize("skip", [0, 5])
def test_blocks_that_do_not_go_together(message, size, skip):
    def stream():
        yield X, y
        yield X[:0], y[:0]
        yield BAD_BLOCKS[message]

    with pytest.raises(DataError, match=f"stream, {message}"):
        list(as_batches(stream, size).iterate(skip))


def test_sources_that_are_none(tmp_path):
    for nothing in (5, None, object()):
        with pytest.raises(TypeError, match="rows come from files"):
            as_batches(nothing)
    with pytest.raises(DataError, match="has no rows"):
        list(as_batches([]))
    with pytest.raises(DataError, match="has no rows"):
        list(as_batches(lambda: iter([(X[:0], y[:0])])))
    with pytest.raises(FileNotFoundError):
        batches(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="holds no files"):
        batches(tmp_path)
    with pytest.raises(DataError, match="holds no files"):
        batches(str(tmp_path / "*.csv"))
    empty = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in empty:
        path.touch()
    with pytest.raises(DataError, match="holds no files"):
        batches(empty)
    with pytest.raises(ValueError, match="format='xls'"):
        batches(whole_file(tmp_path, "csv"), format="xls")
    with pytest.raises(TypeError, match="Only files are read with options"):
        batches((X, y), label="a")
    with pytest.raises(ValueError, match="size=0"):
        batches((X, y), 0)
    with pytest.raises(ValueError, match="skip=-1"):
        batches((X, y)).iterate(-1)


def test_arrays_that_do_not_go_together(tmp_path):
    with pytest.raises(DataError, match="y has the shape"):
        batches((X, y[:-1]))
    with pytest.raises(DataError, match="weights has the shape"):
        batches((X, y, WEIGHTS[:-1]))
    with pytest.raises(DataError, match="not numbers"):
        batches(X.astype(str))
    with pytest.raises(DataError, match="row 7, column 2: the value is nan"):
        list(batches((np.where(X[6, 1] == X, np.nan, X), y), 2))
    place = npy(tmp_path)
    np.save(tmp_path / "y.npy", y[:-2])
    with pytest.raises(DataError, match="y has the shape"):
        list(batches(place, labels=tmp_path / "y.npy"))
    with pytest.raises(DataError, match="3 features where 4 are expected"):
        list(batches(place, features=4))
    place.write_bytes(place.read_bytes()[:-8])
    with pytest.raises(DataError, match=r"X\.npy cannot be read"):
        list(batches(place, 2))
    with pytest.raises(ValueError, match=r"only beside \.npy files"):
        list(batches(whole_file(tmp_path, "csv"), labels=y))


def test_npy_files_are_not_loaded(tmp_path, monkeypatch):
    place = npy(tmp_path)
    memmap, modes = np.memmap, []

    def spied(file, dtype, mode, *arguments):
        modes.append(mode)
        return memmap(file, dtype, mode, *arguments)

    def loaded(*arguments):
        raise AssertionError("the file is loaded as a whole")

    monkeypatch.setattr(np, "memmap", spied)
    monkeypatch.setattr(np, "load", loaded)
    monkeypatch.setattr(np, "frombuffer", loaded)
    check(batches(place, 3, labels=tmp_path / "y.npy"), 3)
    assert set(modes) == {"r"}


DIFFERENT = {
    "csv": ("a,b,label\n1,2,0\n", "part-1.csv has 2 features where .*part-0.csv has 3"),
    "csv, names": (
        "a,b,d,label\n1,2,3,0\n",
        "part-1.csv has other columns .*'d' where",
    ),
    "csv, label": ("a,b,c,kind\n1,2,3,0\n", "part-1.csv has other columns .*'kind'"),
    "svm": (
        "a,b,c,label\n1,2,3,0\n",
        "part-1.svm, line 1: 'a,b,c,label' is not a label",
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_a_part_that_is_different_is_named_before_the_first_block(tmp_path, case):
    kind = case.split(",")[0]
    text, message = DIFFERENT[case]
    folder = parts(tmp_path, kind)
    (folder / f"part-1.{kind}").write_text(text)
    read = list if kind == "svm" else next  # columns are checked before the first block
    with pytest.raises(DataError, match=message):
        read(batches(folder, 1))


def test_a_part_of_another_format_and_folders_in_folders(tmp_path):
    folder = parts(tmp_path, "csv")
    write_libsvm(folder / "part-9.svm", slice(2))
    with pytest.raises(DataError, match=r"part-9\.svm has another format"):
        next(batches(folder))
    (folder / "more").mkdir()
    with pytest.raises(DataError, match=r"holds folders.*pattern"):
        batches(folder)
    with pytest.raises(DataError, match=r"holds folders.*pattern"):
        batches(folder, format="csv")
    with pytest.raises(DataError, match=r"holds folders.*alone"):
        batches([folder, folder])


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_parts_of_columns_that_are_broken(tmp_path, kind):
    folder = parts(tmp_path, kind)
    part = folder / f"part-1.{kind}"
    content = part.read_bytes()
    table = arrow_table(slice(1, 3))
    from pyarrow import feather, parquet

    write = {"parquet": parquet.write_table, "feather": feather.write_feather}[kind]
    write(table.rename_columns(["a", "b", "d", "label"]), str(part))
    with pytest.raises(DataError, match=f"part-1.{kind} has other columns"):
        next(batches(folder, 1))
    write(table.drop_columns(["b"]), str(part))
    with pytest.raises(DataError, match=f"part-1.{kind} has 2 features"):
        next(batches(folder, 1))
    part.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=f"part-1.{kind} is not a whole"):
        next(batches(folder, 1))


def test_parts_find_features_by_name(tmp_path):
    folder = parts(tmp_path, "csv")
    rows = [f"9,{c!r},{b!r},{a!r}" for a, b, c in X[4:5].tolist()]
    (folder / "part-1.csv").write_text("\n".join(["more,c,b,a", *rows]))
    blocks = batches(folder, 4, features=["a", "b", "c"], label=None)
    assert np.array_equal(np.vstack([block for block, _ in blocks]), X)


def test_errors_in_a_part_name_its_own_line(tmp_path):
    folder = parts(tmp_path, "svm")
    with open(folder / "part-2.svm", "a") as file:
        file.write("\n1 2:x\n")
    with pytest.raises(DataError, match=r"part-2\.svm, line 9: the value of feature 2"):
        list(batches(folder, 4))


def test_files_that_change_between_passes_are_read_anew(tmp_path):
    path = whole_file(tmp_path, "csv")
    stream = batches(path, 4)
    check(stream, 4)
    path.write_text(csv_text(slice(6)))
    assert sum(len(labels) for _, labels in stream) == 6
    os.remove(path)
    with pytest.raises(FileNotFoundError):
        list(stream)
