"""Predictions for rows that do not fit into memory."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from locallin.data._writers import format_of, table_writer
from locallin.data.batching import Batches, as_batches, is_files, make_batches
from locallin.data.source import Options

_PREFIXES = {"decision_function": "score", "predict_proba": "probability"}
# Cells that begin so are run by spreadsheets.
_BEGINNINGS_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_BLOCK_BYTES = 1 << 25


def write_predictions(
    estimator,
    source,
    output,
    *,
    method: str = "predict",
    with_label: bool = False,
    output_format: str | None = None,
    size: int | None = None,
    **reading: Any,
) -> int:
    r"""Predict rows of any number, block by block, and write what comes out to a file.

    Memory is needed for a block. The output is a temporary file until all rows are
    written: a run that fails leaves what was there before.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier, or a pipeline that ends with one.
    source : path, list of paths, Batches, tuple of arrays, iterable or callable
        The rows, as in :func:`as_batches`; labels are not looked at. Columns of files
        are found by the names of the features that the estimator was fitted with.
    output : path or text file
        Extension .npy: an array of what the method returns. Extension .parquet:
        columns. Otherwise text, a line for each row, with a header where there is more
        than one column. An open text file is written to as it is.
    method : str, default="predict"
        "predict", "decision_function" or "predict_proba".
    with_label : bool, default=False
        Whether the predicted label is written beside scores or probabilities. In .npy
        files, columns are then fields of a structured array.
    output_format : {"csv", "json", "npy", "parquet"} or None, default=None
        None goes by the extension; "json" is an object per line.
    size : int or None, default=None
        Rows of a block; None takes blocks of at most 32 MB, or those of a source that
        has its own.
    **reading
        How to read files, as in :func:`batches`: ``format``, ``label``, ``features``,
        ``delimiter``, ``header``, ``zero_based``.

    Returns
    -------
    int
        The number of rows.

    See Also
    --------
    batches : Reads files in blocks.
    read : Reads a file as a whole.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from locallin import LLSVMClassifier
    >>> from locallin.data import write_predictions
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), ["low", "low", "high", "high"]
    >>> model = LLSVMClassifier(n_anchors=2, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     rows, labels = Path(folder, "rows.csv"), Path(folder, "labels.txt")
    ...     _ = rows.write_text("width\n0.5\n4.5\n")
    ...     count = write_predictions(model, rows, labels)
    ...     labels.read_text().split()
    ['low', 'high']
    """
    blocks = _blocks(estimator, source, size, reading)
    predict = prediction_function(estimator, method, with_label)
    classes = getattr(estimator, "classes_", None)
    with _known_names(estimator, source):
        columns = (predict(X) for X, *_ in blocks)
        return write_columns(columns, output, output_format, classes)


def write_columns(
    blocks: Iterable[tuple[list[str], list[np.ndarray]]],
    output,
    output_format: str | None,
    classes=None,
) -> int:
    """Write names and columns, block by block; return the number of rows."""
    if format_of(output, output_format) == "csv":
        _warn_of_formulas(classes)
    n_rows = 0
    with table_writer(output, output_format) as table:
        for names, columns in blocks:
            table.write(names, columns)
            n_rows += len(columns[0])
    return n_rows


def _blocks(estimator, source, size: int | None, reading: dict[str, Any]) -> Batches:
    if not is_files(source):
        return as_batches(source, size, **reading)
    names = getattr(estimator, "feature_names_in_", None)
    width = getattr(estimator, "n_features_in_", None)
    features = width if names is None else [str(name) for name in names]
    settings: dict[str, Any] = {"features": features, **reading, "with_labels": False}
    options = Options(**settings)
    if size is None:
        size = rows_of_a_block(width or 1)
    return make_batches(source, size, options)


def _warn_of_formulas(classes) -> None:
    """Warn of classes that a spreadsheet would take for formulas.

    They are written as they are: programs that read the file compare them with labels.
    """
    for name in map(str, () if classes is None else classes):
        if name.startswith(_BEGINNINGS_OF_FORMULAS) and not _is_number(name):
            warnings.warn(
                f"The class {name!r} begins like a formula: import the file as text "
                "where a spreadsheet opens it, or write Parquet.",
                UserWarning,
                stacklevel=4,
            )
            return


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def rows_of_a_block(n_features: int, largest: int = 16384) -> int:
    """As many rows as make 32 MB, and no more than the largest number."""
    return max(1, min(largest, _BLOCK_BYTES // (8 * n_features)))


@contextmanager
def _known_names(estimator, source) -> Iterator[None]:
    """Columns that were found by name come without names, and that is right."""
    with warnings.catch_warnings():
        if is_files(source) and hasattr(estimator, "feature_names_in_"):
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def prediction_function(
    estimator, method: str, with_label: bool
) -> Callable[[Any], tuple[list[str], list[np.ndarray]]]:
    """A function from rows to names and columns of predictions."""
    call = getattr(estimator, method, None)
    if call is None:
        raise AttributeError(f"{type(estimator).__name__} has no method {method}.")
    classes = getattr(estimator, "classes_", None)
    classes = None if classes is None else np.asarray(classes)
    if method == "predict":
        name = "label" if classes is not None else "prediction"
        return lambda X: ([name], [_plain_labels(call(X), classes)])

    def predict(X) -> tuple[list[str], list[np.ndarray]]:
        numbers = np.asarray(call(X)).reshape(X.shape[0], -1)
        names = _column_names(method, numbers.shape[1], classes)
        columns = list(numbers.T)
        if not with_label:
            return names, columns
        labels = _winning_classes(estimator, numbers, X)
        return ["label", *names], [_plain_labels(labels, classes), *columns]

    return predict


def _plain_labels(labels, classes) -> np.ndarray:
    """Labels of a type that is the same for all blocks, and is no object."""
    labels = np.asarray(labels)
    if classes is None or classes.dtype.kind == labels.dtype.kind != "O":
        return labels if classes is None else labels.astype(classes.dtype)
    return labels.astype(classes.astype(str).dtype)


def _winning_classes(estimator, numbers: np.ndarray, X) -> np.ndarray:
    classes = estimator.classes_
    if numbers.shape[1] == len(classes):
        return classes[numbers.argmax(axis=1)]
    if numbers.shape[1] == 1 and len(classes) == 2:
        return classes[(numbers[:, 0] > 0).astype(int)]
    return estimator.predict(X)


def _column_names(method: str, n_columns: int, classes) -> list[str]:
    prefix = _PREFIXES.get(method, method)
    if classes is not None and n_columns == len(classes):
        return [f"{prefix}_{name}" for name in classes]
    if classes is not None and n_columns == 1 and len(classes) == 2:
        return [f"{prefix}_{classes[1]}"]
    return [f"{prefix}_{column}" for column in range(n_columns)]
