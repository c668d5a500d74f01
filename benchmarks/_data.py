"""The data sets, their splits, and scaling, for all benchmarks.

A folder holds one .npz file for each set: X_train, y_train, X_test, y_test where there
is a standard split, else X and y. A sparse matrix P is P_data, P_indices, P_indptr and
P_shape.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

# Ten sets of the 2013 paper: two thirds to train on, ten random splits.
SMALL = (
    "banana",
    "german_numer_scale",
    "heart",
    "ionosphere",
    "bupa",
    "pima",
    "ringnorm",
    "sonar",
    "spambase",
    "wdbc",
)
DIGITS = ("mnist", "usps")
TEST_SHARE = {"semeion": 1 / 2, "skin": 1 / 2, "w8a": 1 / 4}
SETS = (
    *SMALL,
    "semeion",
    "usps",
    "phishing",
    "magic04",
    "letter",
    "reuters_lasvm",
    "w8a",
    "ijcnn1",
    "connect4",
    "mnist",
    "skin",
    "covtype",
)
# Repeats are other splits of these sets, and other seeds of the rest.
RANDOM_SPLITS = (*SMALL, "semeion", "phishing", "magic04")
# Rows with a known label of 0 that the protocols drop, and the class that COVTYPE's
# binary problem sets against the rest.
_DRAWS = "connect4"
_POSITIVE = {"covtype": 2}


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test on."""

    X: np.ndarray | sparse.csr_matrix
    y: np.ndarray
    X_test: np.ndarray | sparse.csr_matrix
    y_test: np.ndarray

    def dense(self) -> "Split":
        """Sparse matrices as arrays."""
        X, X_test = (
            part.toarray() if sparse.issparse(part) else part
            for part in (self.X, self.X_test)
        )
        return replace(self, X=X, X_test=X_test)

    def standardised(self) -> "Split":
        """Features of unit variance, by the training rows; dense ones centred too."""
        scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
        return replace(
            self, X=scaler.transform(self.X), X_test=scaler.transform(self.X_test)
        )

    def scaled_for(self, name: str) -> "Split":
        """As the docs recommend: digits of norm one, other features standardised."""
        if name in DIGITS:
            return self.normalised(centre=name == "usps")
        return self.standardised()

    def normalised(self, centre: bool = False) -> "Split":
        """Rows of norm one, optionally after subtracting the mean training row."""
        mean = self.X.mean(axis=0) if centre else 0.0
        return replace(
            self, X=normalize(self.X - mean), X_test=normalize(self.X_test - mean)
        )

    def held_out(self, seed: int, share: float = 1 / 3) -> "Split":
        """A split of the training rows alone: choices are made on it."""
        X, X_held, y, y_held = train_test_split(
            self.X, self.y, test_size=share, random_state=seed, stratify=self.y
        )
        return Split(X, y, X_held, y_held)

    def limited(self, rows: int | None, test_rows: int | None = None) -> "Split":
        """At most so many random rows of each part."""
        X, y = _sample(self.X, self.y, rows)
        return Split(X, y, *_sample(self.X_test, self.y_test, test_rows))

    def unseen(self) -> np.ndarray:
        """Test rows that do not occur among the training rows, as a mask."""
        known = set(_bytes(self.X))
        return np.array([row not in known for row in _bytes(self.X_test)])


def _sample(X, y, rows):
    if rows is None or X.shape[0] <= rows:
        return X, y
    X, _, y, _ = train_test_split(X, y, train_size=rows, random_state=0, stratify=y)
    return X, y


def _bytes(X):
    for start in range(0, X.shape[0], 10_000):
        part = X[start : start + 10_000]
        part = part.toarray() if sparse.issparse(part) else part
        yield from (row.tobytes() for row in part)


def matrix(file, name: str, dtype=np.float32):
    """Read a matrix from an open .npz file; CSR where it is stored so."""
    if name in file:
        return file[name].astype(dtype)
    parts = tuple(file[f"{name}_{p}"] for p in ("data", "indices", "indptr"))
    return sparse.csr_matrix(parts, file[f"{name}_shape"]).astype(dtype)


def read(folder: Path, name: str, dtype=np.float32) -> tuple[list, list]:
    """Matrices and labels of a file: of both parts, or of all rows."""
    with np.load(folder / f"{name}.npz") as file:
        ends = ("_train", "_test") if "y_train" in file else ("",)
        return (
            [matrix(file, "X" + end, dtype) for end in ends],
            [file["y" + end] for end in ends],
        )


def load(folder: Path, name: str, repeat: int = 0) -> Split:
    """A set as the papers use it; random splits differ from repeat to repeat."""
    parts, labels = read(folder, name)
    if name == "w8a":
        # Every test row is also a training row: split the distinct ones anew.
        X, y = sparse.vstack(parts, "csr"), np.concatenate(labels)
        _, first = np.unique(X.toarray(), axis=0, return_index=True)
        parts, labels = [X[first]], [y[first]]
    if len(parts) == 2:
        return Split(parts[0], labels[0], parts[1], labels[1])
    X, y = parts[0], labels[0]
    if name == _DRAWS:
        X, y = X[y != 0], y[y != 0]
    if name in _POSITIVE:
        y = np.where(y == _POSITIVE[name], 1, -1)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE.get(name, 1 / 3), random_state=repeat
    )
    return Split(X, y, X_test, y_test)
