"""Matrices of the caller at the border: checked, and never changed.

Kernels check no bounds and scipy does not look at what a sparse matrix says of itself:
what does not hold is found here, before anything else reads the matrix.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from locallin.engine.lazy_rows import LazyRows
from locallin.kernels.rows import CANONICAL, SOUND, check_lines

_FLOATS = [np.dtype(np.float64), np.dtype(np.float32)]
_COMPRESSED = ("csr", "csc", "bsr")


def checked_data(
    estimator, X, y="no_validation", *, reset: bool, finite: bool | str = True, **more
) -> Any:
    """Check X, and y, as scikit-learn does; NaN and infinity later if not finite.

    With ``finite="allow-nan"``, NaN is a missing value, and infinity an error.
    ``more`` are further arguments of scikit-learn's check, for y. A sparse X comes
    back as a CSR matrix whose entries are sorted and not repeated. Rows that are made
    when asked for are the library's own, and sound as is the y beside them.
    """
    if isinstance(X, LazyRows):
        return validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    if not (reset or finite) and _is_ready(estimator, X):
        return X
    X = sound_matrix(X)
    try:
        # scikit-learn looks for infinity by a sum, which may leave the range.
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(
                estimator,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                dtype=_FLOATS,
                order="C",
                ensure_all_finite=finite,
                **more,
            )
    except (TypeError, ValueError) as error:
        name = type(estimator).__name__
        if "X contains NaN" in str(error) and not sparse.issparse(X):
            raise ValueError(
                f"Input X contains NaN, but {name} takes no missing values: put a "
                "locallin.TableEncoder in front, as in make_pipeline(TableEncoder(), "
                f"{name}()), or use LocallyLinearClassifier or LocallyLinearRegressor, "
                "which learn what a missing value means."
            ) from error
        found = find_text(X)
        if found is None:
            raise
        raise ValueError(
            f"X has text in {found[0]} ({found[1]!r}), but {name} takes numbers: put a "
            "locallin.TableEncoder in front, as in make_pipeline(TableEncoder(), "
            f"{name}()), or use LocallyLinearClassifier, which encodes tables itself."
        ) from error


def check_is_table(X) -> None:
    """Refuse what has rows and columns only once a table is made of it."""
    several = isinstance(X, list | tuple) and len(X) > 0
    first = X[0] if several else X
    # A sparse matrix by keys is a dict, too.
    if isinstance(first, Mapping) and not sparse.issparse(first):
        what = "a list of dicts" if several else "a dict"
        raise TypeError(
            f"X is {what}: pass a table of it, such as pandas.DataFrame(X)."
        )
    if hasattr(X, "collect") and not hasattr(X, "__len__"):
        raise TypeError(
            f"X is a {type(X).__name__}, whose rows are not there yet: pass "
            "X.collect()."
        )


def find_text(X) -> tuple[str, str] | None:
    """The first column with a text that is no number, and that text; or None."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if names is not None and len(getattr(X, "shape", ())) == 2:
        columns = ((f"column {name!r}", X[name]) for name in names)
    else:
        try:
            cells = np.array(X, dtype=object)
        except ValueError:  # rows of different lengths
            return None
        if cells.ndim != 2:
            return None
        columns = ((f"column {j}", column) for j, column in enumerate(cells.T))
    for name, column in columns:
        for value in np.asarray(column, dtype=object).ravel():
            if isinstance(value, str | bytes) and not _is_number(value):
                return name, str(value)
    return None


def _is_number(text) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_ready(estimator, X) -> bool:
    """Whether X is an array of rows of which scikit-learn would change and say nothing.

    Its look takes longer than the prediction of a row.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in _FLOATS
        and X.flags.c_contiguous
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def sound_matrix(X, name: str = "X"):
    """X in the machine's byte order; a sparse one that contradicts itself is refused.

    Entries of a CSR matrix that are repeated are summed and unsorted ones are sorted,
    in a copy; indices are 32 bits wide where that is enough. Other things than arrays
    and sparse matrices are returned as they are.
    """
    if sparse.issparse(X):
        return _sound_sparse(X, name)
    if isinstance(X, np.ndarray) and not X.dtype.isnative:
        return X.astype(X.dtype.newbyteorder("="))
    return X


def _sound_sparse(X, name: str):
    if X.ndim != 2:  # scikit-learn says what to do
        return X
    if X.format == "coo":
        _check_coordinates(X, name)
    if X.format not in _COMPRESSED:
        return X
    order = _check_compressed(X, name)
    if X.format != "csr" or X.data.dtype.kind not in "biuf":
        return X
    n_entries = int(X.indptr[-1])
    data = np.asarray(X.data[:n_entries], X.data.dtype.newbyteorder("="))
    kind = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
    # The caller's own object stays as it is: scipy notes in it what it finds out.
    parts = data, X.indices[:n_entries], X.indptr
    view = kind(parts, shape=X.shape, copy=order != CANONICAL)
    if order != CANONICAL:
        view.has_canonical_format = view.has_sorted_indices = False
        view.sum_duplicates()
    view.has_canonical_format = view.has_sorted_indices = True
    return view


def _check_compressed(X, name: str) -> int:
    """Refuse a matrix whose arrays do not fit together; return its order."""
    line = "column" if X.format == "csc" else "row"
    n_lines, width = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        n_lines, width = n_lines // X.blocksize[0], width // X.blocksize[1]
    for part in ("indptr", "indices"):
        array = getattr(X, part)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise _unsound(
                name, f"{part} holds {array.dtype} in the shape {array.shape}"
            )
    if len(X.indptr) != n_lines + 1:
        raise _unsound(
            name, f"indptr has {len(X.indptr)} entries for {n_lines} {line}s"
        )
    n_entries = min(len(X.indices), len(X.data))
    native = (np.asarray(a, a.dtype.newbyteorder("=")) for a in (X.indptr, X.indices))
    at, order = check_lines(*native, width, n_entries)
    if order >= SOUND:
        return order
    start, stop = X.indptr[at : at + 2]
    if not 0 <= start <= stop <= n_entries or (at == 0 and start > 0):
        raise _unsound(
            name,
            f"{line} {at} has the entries {start} to {stop} by its indptr, of "
            f"{n_entries}",
        )
    found = X.indices[start:stop]
    wrong = found[(found < 0) | (found >= width)][0]
    raise _unsound(name, f"{line} {at} has an entry at index {wrong}, of {width}")


def _check_coordinates(X, name: str) -> None:
    if not len(X.row) == len(X.col) == len(X.data):
        raise _unsound(name, "row, col and data differ in length")
    for line, places, size in zip(("row", "col"), (X.row, X.col), X.shape, strict=True):
        wrong = np.flatnonzero((places < 0) | (places >= size))
        if len(wrong):
            raise _unsound(
                name,
                f"entry {wrong[0]} (row {X.row[wrong[0]]}) has {line} "
                f"{places[wrong[0]]}, of {size}",
            )


def _unsound(name: str, flaw: str) -> ValueError:
    return ValueError(
        f"{name} is a sparse matrix that contradicts itself: {flaw}. Build it anew "
        "from its entries, e.g. with scipy.sparse.csr_matrix((values, (rows, "
        "columns)), shape)."
    )
