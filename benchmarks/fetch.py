"""Where do the data sets come from? Gets the public ones by name, and checks them.

Files are kept in the folder ``downloads`` of the data's folder, with the sums of their
bytes (``SHA256SUMS``): a file that is there is not fetched again, and one that has
changed is refused. What is read from them must have the rows, features, classes and
sum of squares of the data that the committed results were measured on. Without a
network the command says what is missing, and where to get it.
"""

import bz2
import gzip
import hashlib
import json
import lzma
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from scipy import sparse
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
OPENML = "https://www.openml.org/api/v1/json/data"
# How far the sum of squares may be off: sources print different numbers of digits.
_NEAR = 0.01
_SECONDS = 60


class DifferentData(Exception):
    """What was fetched is not what was measured."""


@dataclass(frozen=True)
class Source:
    """Addresses of a set, how its files are read, and what must be in it.

    ``read`` makes parts (X, y) of the files' contents; ``rows`` are those of the parts,
    ``classes`` the sorted numbers of rows of each class in all parts together.
    """

    addresses: tuple[str, ...]
    read: Callable[[list[bytes]], list[tuple]]
    rows: tuple[int, ...]
    n_features: int
    classes: tuple[int, ...]
    squares: float = field(default=0.0)


def unpacked(address: str, content: bytes) -> bytes:
    """Content of a file behind its packing."""
    packings = {".bz2": bz2, ".gz": gzip, ".xz": lzma}
    packing = packings.get(Path(address).suffix)
    return packing.decompress(content) if packing else content


def svmlight(n_features: int, dense: bool = False) -> Callable:
    """Reader of files in LIBSVM's format, one for each part."""

    def read(contents: list[bytes]) -> list[tuple]:
        parts = []
        for content in contents:
            X, y = load_svmlight_file(BytesIO(content), n_features=n_features)
            parts.append((X.toarray() if dense else X.tocsr(), y.astype(int)))
        return parts

    return read


def usps(contents: list[bytes]) -> list[tuple]:
    """LIBSVM has pixels from -1 to 1 and classes from 1."""
    return [((X + 1) / 2, y - 1) for X, y in svmlight(256, dense=True)(contents)]


def table(
    label: int = -1,
    *,
    delimiter: str | None = ",",
    names: dict[str, int] | None = None,
    first: int = 0,
    train: int | None = None,
) -> Callable:
    """Reader of a table of numbers with a column of classes.

    ``names`` are classes that are words; features begin at column ``first``, and the
    first ``train`` rows are to be trained on.
    """

    def read(contents: list[bytes]) -> list[tuple]:
        (content,) = contents
        lines = [line.split(delimiter) for line in content.decode().split("\n")]
        cells = [line for line in lines if len(line) > 1]
        words = [line.pop(label).strip() for line in cells]
        y = np.array([names[w] if names else int(float(w)) for w in words])
        X = np.array([line[first:] for line in cells], float)
        if train is None:
            return [(X, y)]
        return [(X[:train], y[:train]), (X[train:], y[train:])]

    return read


def semeion(contents: list[bytes]) -> list[tuple]:
    """256 pixels, then ten columns of which one is 1."""
    (content,) = contents
    cells = np.loadtxt(StringIO(content.decode()))
    return [(cells[:, :256], cells[:, 256:].argmax(axis=1))]


def openml(names: dict[str, int]) -> Callable:
    """Reader of OpenML's tables, whose last column is the class."""

    def read(contents: list[bytes]) -> list[tuple]:
        rows, about = arff.loadarff(StringIO(contents[-1].decode()))
        *features, label = about.names()
        X = np.column_stack([rows[name] for name in features]).astype(float)
        return [(X, np.array([names[word.decode()] for word in rows[label]]))]

    return read


SOURCES = {
    "banana": Source(
        (f"{OPENML}/1460",), openml({"1": -1, "2": 1}),
        (5300,), 2, (2376, 2924), 10598,
    ),
    "german_numer_scale": Source(
        (f"{LIBSVM}/binary/german.numer_scale",), svmlight(24, dense=True),
        (1000,), 24, (300, 700), 18505,
    ),
    "heart": Source(
        (f"{UCI}/statlog/heart/heart.dat",), table(delimiter=None),
        (270,), 13, (120, 150), 2.93195e7,
    ),
    "ionosphere": Source(
        (f"{UCI}/ionosphere/ionosphere.data",), table(names={"b": 0, "g": 1}),
        (351,), 34, (126, 225), 4686.8,
    ),
    "bupa": Source(
        (f"{UCI}/liver-disorders/bupa.data",), table(),
        (345,), 6, (145, 200), 6.3492e6,
    ),
    "pima": Source(
        (f"{OPENML}/37",), openml({"tested_negative": 0, "tested_positive": 1}),
        (768,), 8, (268, 500), 3.33688e7,
    ),
    "ringnorm": Source(
        (f"{OPENML}/1496",), openml({"1": 0, "2": 1}),
        (7400,), 20, (3664, 3736), 147980,
    ),
    "sonar": Source(
        (f"{UCI}/undocumented/connectionist-bench/sonar/sonar.all-data",),
        table(names={"R": 1, "M": 0}),
        (208,), 60, (97, 111), 1985.7,
    ),
    "spambase": Source(
        (f"{UCI}/spambase/spambase.data",), table(),
        (4601,), 57, (1813, 2788), 2.25266e9,
    ),
    "wdbc": Source(
        (f"{UCI}/breast-cancer-wisconsin/wdbc.data",),
        table(1, names={"B": 0, "M": 1}, first=1),
        (569,), 30, (212, 357), 9.55069e8,
    ),
    "semeion": Source(
        (f"{UCI}/semeion/semeion.data",), semeion,
        (1593,), 256, (155, 158, 158, 159, 159, 159, 161, 161, 161, 162), 134016,
    ),
    "usps": Source(
        (f"{LIBSVM}/multiclass/usps.bz2", f"{LIBSVM}/multiclass/usps.t.bz2"), usps,
        (7291, 2007), 256,
        (708, 716, 792, 821, 824, 834, 852, 929, 1269, 1553), 512975,
    ),
    "phishing": Source(
        (f"{LIBSVM}/binary/phishing",), svmlight(68),
        (11055,), 68, (4898, 6157), 11054.5,
    ),
    "magic04": Source(
        (f"{UCI}/magic/magic04.data",), table(names={"g": 1, "h": -1}),
        (19020,), 10, (6688, 12332), 1.07906e9,
    ),
    "letter": Source(
        (f"{UCI}/letter-recognition/letter-recognition.data",),
        table(0, names={chr(ord("A") + i): i for i in range(26)}, train=16000),
        (16000, 4000), 16,
        (
            734, 734, 736, 739, 747, 748, 752, 753, 755, 758, 761, 764, 766,
            768, 773, 775, 783, 783, 786, 787, 789, 792, 796, 803, 805, 813,
        ),
        1.394138e7,
    ),
    "w8a": Source(
        (f"{LIBSVM}/binary/w8a", f"{LIBSVM}/binary/w8a.t"), svmlight(300),
        (49749, 14951), 300, (1933, 62767), 753862,
    ),
    "ijcnn1": Source(
        (f"{LIBSVM}/binary/ijcnn1.bz2", f"{LIBSVM}/binary/ijcnn1.t.bz2"),
        svmlight(22, dense=True),
        (49990, 91701), 22, (13565, 128126), 232243,
    ),
    "connect4": Source(
        (f"{LIBSVM}/multiclass/connect-4",), svmlight(126),
        (67557,), 126, (6449, 16635, 44473), 2.83739e6,
    ),
    "mnist": Source(
        (f"{LIBSVM}/multiclass/mnist.bz2", f"{LIBSVM}/multiclass/mnist.t.bz2"),
        svmlight(784, dense=True),
        (60000, 10000), 784,
        (6313, 6824, 6825, 6876, 6903, 6958, 6990, 7141, 7293, 7877), 4.006864e11,
    ),
    "skin": Source(
        (f"{UCI}/00229/Skin_NonSkin.txt",), table(delimiter=None),
        (245057,), 3, (50859, 194198), 1.49745e10,
    ),
    "covtype": Source(
        (f"{UCI}/covtype/covtype.data.gz",), table(),
        (581012,), 54,
        (2747, 9493, 17367, 20510, 35754, 211840, 283301), 1.32144e13,
    ),
}  # fmt: skip
# Named by benchmarks, and without an address that a program can read.
ELSEWHERE = {
    "reuters_lasvm": "the Reuters set of the authors of LASVM, on their page: store it "
    "as X_train, y_train, X_test and y_test, sparse (see benchmarks/_data.py)",
}


class Downloads:
    """A folder of files as they came, with the sums of their bytes."""

    def __init__(self, folder: Path, mirror: str | None = None):
        self._folder, self._mirror = folder, mirror
        self._sums_path = folder / "SHA256SUMS"
        self._sums: dict[str, str] = {}
        if self._sums_path.exists():
            lines = self._sums_path.read_text().splitlines()
            self._sums = {name: found for found, name in map(str.split, lines)}

    def get(self, address: str, name: str) -> bytes:
        """Content of an address, kept under a name."""
        path = self._folder / name
        content = path.read_bytes() if path.exists() else self._fetch(address, name)
        found = hashlib.sha256(content).hexdigest()
        if self._sums.setdefault(name, found) != found:
            raise DifferentData(
                f"{path} has changed since it was fetched: delete it, and its line in "
                f"{self._sums_path}, and fetch it again"
            )
        if not path.exists():
            self._keep(path, content)
        return content

    def _fetch(self, address: str, name: str) -> bytes:
        if self._mirror is not None:
            address = f"{self._mirror.rstrip('/')}/{name}"
        if not address.startswith(("https://", "http://")):
            raise ValueError(f"{address} is no address of the web")
        with urlopen(address, timeout=_SECONDS) as reply:
            return reply.read()

    def _keep(self, path: Path, content: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}")
        unfinished.write_bytes(content)
        unfinished.replace(path)
        lines = [f"{found}  {name}\n" for name, found in sorted(self._sums.items())]
        self._sums_path.write_text("".join(lines))


def fetched(name: str, source: Source, downloads: Downloads) -> list[tuple]:
    """Parts (X, y) of a set, checked."""
    contents = []
    for address in source.addresses:
        about = address.startswith(OPENML)
        ending = ".json" if about else f"-{Path(address).name}"
        content = downloads.get(address, name + ending)
        if about:  # it tells where the table is
            address = json.loads(content)["data_set_description"]["url"]
            content = downloads.get(address, f"{name}.arff")
        contents.append(unpacked(address, content))
    parts = source.read(contents)
    check(source, parts)
    return parts


def check(source: Source, parts: list[tuple]) -> None:
    """Refuse parts that are not the data that was measured."""
    y = np.concatenate([labels for _, labels in parts])
    values = [X.data if sparse.issparse(X) else X for X, _ in parts]
    found = {
        "rows": tuple(X.shape[0] for X, _ in parts),
        "n_features": parts[0][0].shape[1],
        "classes": tuple(sorted(np.unique(y, return_counts=True)[1].tolist())),
    }
    for what, value in found.items():
        if value != getattr(source, what):
            raise DifferentData(f"{what} {value} in place of {getattr(source, what)}")
    squares = float(sum(np.square(part, dtype=float).sum() for part in values))
    if abs(squares - source.squares) > _NEAR * source.squares:
        raise DifferentData(f"sum of squares {squares:.6g}, not {source.squares:.6g}")


def store(path: Path, parts: list[tuple]) -> None:
    """Write a set as the benchmarks read it."""
    arrays: dict[str, np.ndarray] = {}
    ends = ("",) if len(parts) == 1 else ("_train", "_test")
    for end, (X, y) in zip(ends, parts, strict=True):
        arrays[f"y{end}"] = y.astype(np.int8)
        if sparse.issparse(X):
            arrays[f"X{end}_data"] = X.data.astype(np.float32)
            arrays[f"X{end}_indices"] = X.indices.astype(np.int32)
            arrays[f"X{end}_indptr"] = X.indptr.astype(np.int32)
            arrays[f"X{end}_shape"] = np.array(X.shape)
        else:
            arrays[f"X{end}"] = X.astype(np.float32)
    unfinished = path.with_name(f".{path.name}")
    np.savez_compressed(unfinished, **arrays)
    unfinished.replace(path)


def run(job) -> None:
    """Fetch what is not there; end with what is missing, and where to get it."""
    known = {**SOURCES, **ELSEWHERE}
    if unknown := set(job.sets) - set(known):
        raise SystemExit(f"no data set {sorted(unknown)}: choose from {sorted(known)}")
    job.data.mkdir(parents=True, exist_ok=True)
    downloads = Downloads(job.data / "downloads", job.mirror)
    missing = []
    for name in job.named(known):
        path = job.data / f"{name}.npz"
        if path.exists():
            print(f"{name}: is there", flush=True)
        elif name in ELSEWHERE:
            missing.append(f"{name}: {ELSEWHERE[name]}")
        else:
            try:
                parts = fetched(name, SOURCES[name], downloads)
            except (URLError, OSError, DifferentData, ValueError, KeyError) as error:
                places = " and ".join(SOURCES[name].addresses)
                missing.append(f"{name}: {error}; it is at {places}")
                continue
            store(path, parts)
            print(f"{name}: fetched, {sum(len(y) for _, y in parts)} rows", flush=True)
    if missing:
        raise SystemExit("\n".join(["Missing:", *missing]))
