"""Reading files: formats, labels, blocks, and files that are broken."""

import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from locallin.data import DataError, batches, read

X = np.array([[1.0, 2.5], [-3.0, 0.0], [0.25, 1e-3], [7.0, 8.0], [5.0, -6.0]])
WORDS = np.array(["rose", "lily", "rose", "oak, red", "lily"])
NUMBERS = np.array([1, -1, 1, 2, -1])


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def table(y, delimiter=",", header=True):
    lines = [delimiter.join(["a", "b", "class"])] if header else []
    quote = '"' if delimiter == "," else ""
    lines += [
        delimiter.join([str(p), str(q), f"{quote}{label}{quote}"])
        for (p, q), label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def saved(folder, format, y):
    path = folder / f"data.{format}"
    if format == "csv":
        path.write_text(table(y))
    elif format == "libsvm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    elif format == "npz":
        np.savez_compressed(path, X=X, y=y)
    else:
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame(X, columns=["a", "b"]).assign(label=y)
        frame.to_parquet(path)
    return path


def as_array(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize("y", [WORDS, NUMBERS], ids=["text", "numbers"])
@pytest.mark.parametrize("format", ["csv", "libsvm", "npz", "parquet"])
def test_formats_give_the_same_rows(tmp_path, format, y):
    if format == "libsvm" and y is WORDS:
        pytest.skip("labels are numbers in this format")
    path = saved(tmp_path, format, y)
    data = read(path)
    assert np.array_equal(as_array(data.X), X)
    assert np.array_equal(data.y, y)
    assert data.y.dtype.kind == y.dtype.kind
    assert data.names == (["a", "b"] if format in ("csv", "parquet") else None)
    blocks = list(batches(path, 2))
    assert [block.shape for block, _ in blocks] == [(2, 2), (2, 2), (1, 2)]
    assert np.array_equal(np.vstack([as_array(block) for block, _ in blocks]), X)
    assert np.array_equal(np.concatenate([labels for _, labels in blocks]), y)


@pytest.fixture(params=["pyarrow", "csv module"])
def each_reader(request, monkeypatch):
    """Runs a test with both readers of CSV."""
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow.csv")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)


both_readers = pytest.mark.usefixtures("each_reader")


@both_readers
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("header", [True, False])
def test_csv_is_understood_without_help(write, delimiter, header):
    data = read(write(table(NUMBERS, delimiter, header)))
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, NUMBERS)
    assert data.names == (["a", "b"] if header else None)


@both_readers
def test_the_label_column_by_name_and_position(write):
    path = write("kind,a,b\nx,1,2\ny,3,4\n")
    for label in ("kind", 0, -3):
        X, y, names = read(path, label=label)
        assert X.tolist() == [[1, 2], [3, 4]]
        assert y.tolist() == ["x", "y"]
        assert names == ["a", "b"]
    assert read(write("y,a,b\n1,2,3\n"))[1].tolist() == [1]
    X, y, names = read(write("1,2,3\n"), label=None)
    assert X.tolist() == [[1, 2, 3]]
    assert y is None


def test_numbered_columns(write):
    path = write("0,1,kind\n1,2,rose\n3,4,lily\n")
    assert read(path, header=True).names == ["0", "1"]
    assert read(path, header=False).y.tolist() == ["kind", "rose", "lily"]
    assert len(read(write("1,2,rose\n3,4,lily\n5,6,rose\n")).y) == 3


@both_readers
def test_known_features_are_found_by_name(write):
    path = write("b,more,kind,a\n1,9,x,2\n3,9,y,4\n")
    X, y, _ = read(path, features=["a", "b"], label="kind")
    assert X.tolist() == [[2, 1], [4, 3]]
    assert y.tolist() == ["x", "y"]
    assert read(path, features=["a", "b"]).y is None
    with pytest.raises(DataError, match=r"no column 'c' .*'b', 'more'"):
        read(path, features=["a", "c", "d"])


@both_readers
def test_known_features_make_the_label_optional(write):
    for text, y in (("1,2\n3,4\n", None), ("1,2,0\n3,4,1\n", [0, 1])):
        data = read(write(text), features=2)
        assert data.X.tolist() == [[1, 2], [3, 4]]
        assert (None if data.y is None else data.y.tolist()) == y
    with pytest.raises(DataError, match="4 columns where 2 features"):
        read(write("1,2,3,4\n"), features=2)
    with pytest.raises(DataError, match="give the position of the label"):
        read(write("1,2,3\n"), features=["a", "b"], label="kind")


@pytest.mark.parametrize("extension", ["csv", "libsvm", "npz"])
def test_standard_input(tmp_path, monkeypatch, extension):
    content = saved(tmp_path, extension, NUMBERS).read_bytes()
    stdin = SimpleNamespace(buffer=io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    data = read("-")
    assert np.array_equal(as_array(data.X), X)
    assert np.array_equal(data.y, NUMBERS)
    if extension == "libsvm":
        stdin.buffer.seek(0)
        with pytest.raises(DataError, match="needs the number of features"):
            next(batches("-"))
    stdin.buffer.seek(0)
    assert [block.shape for block, _ in batches("-", 3, features=2)] == [(3, 2), (2, 2)]


@both_readers
def test_packed_and_unnamed_files(write):
    path = write(gzip.compress(table(NUMBERS).encode()), "data.csv.gz")
    assert np.array_equal(read(path).X, X)
    assert sparse.issparse(read(write("+1 1:2 3:4 # why\n-1 2:1\n", "a9a.t")).X)
    assert not sparse.issparse(read(write(table(NUMBERS), "a9a")).X)


def test_npz_without_labels_in_fortran_order_and_sparse(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.asfortranarray(X.astype(np.float32)))
    data = read(path)
    assert np.array_equal(data.X, X.astype(np.float32))
    assert data.X.dtype == np.float32
    assert data.y is None
    sparse.save_npz(path, sparse.csr_matrix(X))
    assert np.array_equal(np.vstack([b.toarray() for b, _ in batches(path, 2)]), X)
    np.save(tmp_path / "data.npy", X.astype(int))
    assert np.array_equal(read(tmp_path / "data.npy").X, X.astype(int))


def test_blocks_of_sparse_rows_are_of_one_width(write):
    path = write("1 1:1\n0 2:1\n1 5:1\n", "data.svm")
    assert read(path).X.shape == (3, 5)
    assert [block.shape for block, _ in batches(path, 1)] == [(1, 5)] * 3
    assert next(batches(path, 2, features=7))[0].shape == (2, 7)
    assert read(write("1 0:1 2:1\n", "data.svm"), zero_based=True).X.shape == (1, 3)


@both_readers
def test_labels_of_blocks_have_one_type(write):
    path = write("1,0\n2,1\n3,a\n", "data.csv")
    with pytest.raises(DataError, match="label 'a' is not a number"):
        list(batches(path, 1))
    blocks = batches(path, 1, classes=["0", "1", "a"])
    assert [y.tolist() for _, y in blocks] == [["0"], ["1"], ["a"]]
    assert read(path).y.tolist() == ["0", "1", "a"]
    assert read(write("1,1.0\n2,+2\n")).y.tolist() == [1, 2]


BAD = {
    "": "is empty",
    "\n\n": "is empty",
    "a,b,label\n": "has no rows",
    "a,b,y\n1,2,0\n1,2,3,0\n": "line 3: 4 cells where the lines before have 3",
    "a,b,y\n1,2,0\n1,nan,0\n": r"line 3, column 2 \('b'\): the value is missing",
    "a,b,y\n1,2,0\n,4,0\n": r"line 3, column 1 \('a'\): the value is missing",
    "a,b,y\n1,2,0\n3,inf,0\n": "line 3, column 2 .*'inf' is not a finite number",
    "a,b,y\n1,2,0\n3,red,0\n4,5,1\n": r"line 3, column 2 \('b'\): 'red'",
    "a,b,y\n1,2,0\n3,4,\n": r"line 3: the label in column 3 \('y'\) is empty",
    "0,1,y\n1,2,0\n3,4,1\n": "line 1: 'y' above column 3 looks like a name",
    "0,1,kind\n1,2,rose\n3,4,lily\n": "line 1: 'kind' above column 3 looks like a name",
    ",a,y\n0,1,0\n1,3,1\n": "column 1 has no name",
    "a,a,y\n0,1,0\n1,3,1\n": "two columns are named 'a'",
    "word\nother\n": "has one column only",
    b"a,b,y\n1,2,\xff\xfe\n": "not UTF-8",
    b"\x00\x01\x02\x03": "is not text",
    "a,b,y\n1,2,0\n3,4,1\n".encode("utf-16"): "is UTF-16 text",
    '1,2,0\n3,"4,1\n': "2 cells where the lines before have 3",
}


@both_readers
@pytest.mark.parametrize("text", BAD, ids=list(BAD.values()))
def test_bad_csv(write, text):
    path = write(text)
    with pytest.raises(DataError, match=BAD[text]) as caught:
        read(path)
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match=BAD[text]):
        list(batches(path, 1))


@both_readers
def test_errors_in_a_late_block_name_the_line(write):
    lines = ["1,2,0", ""] + ["3,4,1"] * 5000
    lines[4800] = "3,four,1"
    path = write("\n".join(lines))
    with pytest.raises(DataError, match="line 4801, column 2: 'four'"):
        read(path)


@both_readers
def test_quotes_may_begin_anywhere(write, monkeypatch):
    from locallin.data import _lines

    plain = [f"{i},{i / 8!r},a" for i in range(40)]
    odd = ["40, 5.0 ,a", "", "41,1_0,a", "   ", '42,5.25,"b,\n\nc"', '43,5.375,"d"']
    lines = ["x,z,kind", *plain, *odd, "44,5.5,e"]
    labels = ["a"] * 42 + ["b,\n\nc", "d", "e"]
    numbers = [[i, i / 8] for i in range(45)]
    numbers[41][1] = 10
    for chunk in (1, 64, 1 << 20):
        monkeypatch.setattr(_lines, "CHUNK", chunk)
        for end in ("\n", "\r\n", "\r"):
            text = "\ufeff" + end.join(lines)
            path = write(text)
            for size in (1, 7, 100):
                X, y = zip(*batches(path, size), strict=True)
                assert np.vstack(X).tolist() == numbers
                assert np.concatenate(y).tolist() == labels
                rows = [X for X, _ in batches(path, size).iterate(skip=42)]
                assert np.vstack(rows).tolist() == numbers[42:]
            path = write(text + end + "45,x,e" + end)
            with pytest.raises(DataError, match=r"line 51, column 2 \('z'\): 'x'"):
                list(batches(path, 7))


@both_readers
def test_quotes_that_end_in_their_line(write):
    lines = ['"a","b","kind"', '"1",2,"x, y"', '3," 4 ","z"', '5,6,"z"', "7,8,z"]
    for end in ("\n", "\r\n"):
        X, y, names = read(write(end.join(lines)))
        assert X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
        assert y.tolist() == ["x, y", "z", "z", "z"]
        assert names == ["a", "b"]
    with pytest.raises(DataError, match=r"line 6, column 2 \('b'\): 'q'"):
        read(write("\n".join([*lines, '9,"q","z"'])))


@both_readers
@pytest.mark.parametrize("text", ["two,x\n3,\n", "1,2,3\n1,nan\n", "1,\n1,2,3\n"])
def test_the_first_of_several_errors_is_told(write, text):
    with pytest.raises(DataError, match=r"data\.csv, line 3"):
        read(write("a,label\n0,x\n" + text), header=True)


def test_wide_rows_and_what_pyarrow_refuses(write, monkeypatch):
    pytest.importorskip("pyarrow.csv")
    from locallin.data import _csv, _lines

    parsers = []

    def recorded(*arguments):
        parser = make_parser(*arguments)

        def parse(*text):
            parsers.append(parser(*text) is not None)
            return parser(*text)

        return parse

    make_parser = _csv.arrow_parser
    monkeypatch.setattr(_csv, "arrow_parser", recorded)
    monkeypatch.setattr(_lines, "CHUNK", 5000)
    wide = np.arange(80000.0).reshape(4, 20000)
    text = "\n".join(",".join(map(repr, row)) for row in wide.tolist())
    assert np.array_equal(read(write(text), label=None).X, wide)
    assert all(parsers)
    parsers.clear()
    monkeypatch.setattr(_lines, "CHUNK", 500)
    lines = [f"{i},{i},u" for i in range(1000)]
    lines[10] = "+10,1_0,u"
    assert read(write("\n".join(lines))).X[10].tolist() == [10, 10]
    assert parsers.count(False) == 1
    assert len(parsers) > 3


@both_readers
def test_wrong_delimiter_and_missing_label(write):
    path = write("a,b,y\n1,2,0\n3,4,1\n")
    with pytest.raises(DataError, match=r"one column only.*delimiter ';'"):
        read(path, delimiter=";")
    with pytest.raises(ValueError, match="not one character"):
        read(path, delimiter="::")
    with pytest.raises(DataError, match=r"no label column 'kind'.*'a', 'b', 'y'"):
        read(path, label="kind")
    with pytest.raises(DataError, match="no header, so no label column 'kind'"):
        read(write("1,2\n", "plain.csv"), label="kind")
    with pytest.raises(DataError, match="3 columns, so none at the label's position 8"):
        read(path, label=7)
    with pytest.raises(ValueError, match="format='xls' is not one of"):
        read(path, format="xls")
    with pytest.raises(DataError, match="is a folder"):
        read(path.parent)
    with pytest.raises(FileNotFoundError):
        read(path.with_name("nothing.csv"))


BAD_LIBSVM = {
    "1 1:1\nred 1:2\n": "line 2: 'red' is not a label",
    "1:1 2:3\n": "line 1: '1:1' is not a label",
    "1 1:1\n0 1:x\n": "line 2: the value of feature 1, 'x', is not finite",
    "1 1:1\n\n0 2:nan\n": "line 3: the value of feature 2, 'nan', is not finite",
    "1 1:1\n0 one:2\n": "line 2: 'one:2' is not a pair",
    "1 1:1\n0 0:2\n": "line 2: features are counted from 0",
    "1 1:1\n0 3:2 2:1\n": "line 2: feature 2 comes after feature 3",
    "nan 1:1\n": "line 1: 'nan' is not a label",
    "1 1:1\n0 1: 2:2\n": "line 2: '1:' is not a pair",
    "1 1:1\n0 1:2:3\n": "line 2: the value of feature 1, '2:3', is not finite",
    "1 1:1e999\n": "line 1: the value of feature 1, '1e999', is not finite",
    "1 1:1\n0 99999999999999999999:1\n": "line 2: feature 9+ is beyond what",
    "1 1:1\n\x1c\n": "line 2: '' is not a label",
    "# nothing\n": "has no rows",
}


@pytest.mark.parametrize("text", BAD_LIBSVM, ids=list(BAD_LIBSVM.values()))
def test_bad_libsvm(write, text):
    path = write(text, "data.svm")
    with pytest.raises(DataError, match=BAD_LIBSVM[text]) as caught:
        read(path)
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match=BAD_LIBSVM[text]):
        list(batches(path, 1))


@pytest.fixture(scope="module")
def hard_words():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**63, 20000).view(np.float64)
    values = np.concatenate([values[np.isfinite(values)], rng.normal(size=5000)])
    words = [repr(value) for value in values.tolist()]
    words += [f"{value:.18e}" for value in values.tolist()]
    words += [f"{value:.6g}" for value in values.tolist()]
    # Halfway between two doubles, subnormal, of many digits, of unusual shape.
    halves = 2 * rng.integers(2**52, 2**53, 1000) + 1
    words += [f"{half}e{power}" for half in halves for power in range(-4, 5)]
    words += ["0", "-0", "1.", "+.5", ".5E-3", "1e22", "1e23", "9007199254740993"]
    words += ["5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "1e-400"]
    words += ["18446744073709551616", "0e99999", f"{1:030d}.5", "0." + 30 * "0" + "123"]
    words += ["123456789012345678901234567890", f"1{300 * '0'}e-300", "1_0"]
    return words


@pytest.mark.parametrize("reader", ["libsvm", "pyarrow", "csv module"])
def test_numbers_are_read_to_the_last_bit(write, monkeypatch, reader, hard_words):
    expected = np.array([float(word) for word in hard_words])
    if reader == "libsvm":
        lines = "".join(f"{word} 1:{word}\t2:1\r\n" for word in hard_words)
        X, y, _ = read(write(lines, "data.svm"))
        columns = X.data[::2], y
    else:
        if reader == "csv module":
            monkeypatch.setitem(sys.modules, "pyarrow", None)
        lines = "".join(f"{word}, {word}\r\n" for word in hard_words)
        columns = read(write(lines), label=None, header=False).X.T
    for found in columns:
        assert np.array_equal(found, expected)
        assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_libsvm_lines_of_any_length_and_end(write, monkeypatch):
    from locallin.data import _lines

    text = "# one\n+1 qid:3 1:1 3:2 # two 9:9\n\n \t\n-1\n1   2:5e0#7:1\n0 3:1"
    expected = [[1, 0, 2], [0, 0, 0], [0, 5, 0], [0, 0, 1]]
    for chunk in (1, 2, 5, 17, 1 << 20):
        monkeypatch.setattr(_lines, "CHUNK", chunk)
        for size in (1, 3, 9):
            blocks = list(batches(write(text, "data.svm"), size))
            rows = np.vstack([block.toarray() for block, _ in blocks])
            assert rows.tolist() == expected
            labels = np.concatenate([labels for _, labels in blocks])
            assert labels.tolist() == [1, -1, 1, 0]
        with pytest.raises(DataError, match="line 8: the value of feature 1, 'x'"):
            list(batches(write(text + "\n0 1:x\n1 1:1", "data.svm"), 2))


def test_libsvm_with_too_many_features(write):
    with pytest.raises(DataError, match="line 2: feature 4 is beyond the 3 features"):
        read(write("1 3:1\n0 4:1\n", "data.svm"), features=3)


def test_bad_arrays(tmp_path, write):
    path = tmp_path / "data.npz"
    np.savez(path, rows=X)
    with pytest.raises(DataError, match="no array X but"):
        read(path)
    np.savez(path, X=X[0])
    with pytest.raises(DataError, match="X has the shape"):
        read(path)
    np.savez(path, X=X, y=NUMBERS[:2])
    with pytest.raises(DataError, match="y has the shape"):
        read(path)
    np.savez(path, X=np.where(X == 7, np.nan, X), y=NUMBERS)
    with pytest.raises(DataError, match="row 4, column 1: the value is nan"):
        list(batches(path, 2))
    np.savez(path, X=X.astype(str))
    with pytest.raises(DataError, match="not numbers"):
        read(path)
    np.savez(path, X=X.astype(object))
    with pytest.raises(DataError, match="cannot be read"):
        read(path)
    np.savez(path, X=X, names=["b", "a"])
    assert read(path).names == ["b", "a"]
    with pytest.raises(DataError, match="not those of the features"):
        read(path, features=["a", "b"])
    with pytest.raises(DataError, match="2 features where 3 are expected"):
        read(path, features=3)
    with pytest.raises(DataError, match="cannot be read"):
        read(write(path.read_bytes()[:200], "cut.npz"))
    with pytest.raises(DataError, match="unpacked"):
        read(write(gzip.compress(table(NUMBERS).encode())[:40], "data.csv.gz"))


def test_bad_parquet(tmp_path, write):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(kind=WORDS)
    frame.to_parquet(path)
    with pytest.raises(DataError, match="not a whole Parquet file"):
        read(write(path.read_bytes()[:-20], "cut.parquet"))
    with pytest.raises(DataError, match="not a whole Parquet file"):
        read(write("a,b\n", "text.parquet"))
    with pytest.raises(DataError, match="column 'kind': holds"):
        read(path, label="a")
    with pytest.raises(DataError, match="no label column 'species'"):
        read(path, label="species")
    frame.loc[2, "b"] = None
    frame.to_parquet(path)
    with pytest.raises(DataError, match="row 3, column 'b': the value is missing"):
        list(batches(path, 2))
