"""Tables whose columns hold what no table should."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from locallin import LocallyLinearClassifier, TableEncoder
from locallin.export import save

_ROWS = 60
ESTIMATORS = {
    "chosen": LocallyLinearClassifier(0, random_state=0),
    "encoder": TableEncoder(min_rows=1),
    "encoder-means": TableEncoder(target_means="all", min_rows=1, random_state=0),
    "encoder-standard": TableEncoder(numbers="standard", sparse_output=True),
    "encoder-days": TableEncoder(dates=["bought"], categorical=["size"], n_bins=3),
    "encoder-tree": TableEncoder(strategy="tree", max_integer_levels=5),
}
_FITTED: dict = {}


def table(n_rows: int = _ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories, truth, dates, and some of them missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, _ROWS),
            "size": rng.integers(0, 4, _ROWS),
            "home": rng.choice(["own", "rent", "other"], _ROWS),
            "kind": pd.Categorical(rng.choice(["a", "b"], _ROWS)),
            "late": rng.random(_ROWS) < 0.5,
            "bought": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 1000, _ROWS), "D"),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "home"] = None
    y = (frame["age"].fillna(50) + 5 * frame["late"] > 42).to_numpy()
    return frame[:n_rows], y[:n_rows].astype(int)


def prepare(folder: Path) -> None:
    """Write a model of each kind."""
    for name, estimator in ESTIMATORS.items():
        save(clone(estimator).fit(*table()), folder / f"table-{name}.skops")


def run(folder: Path, rng) -> str | None:
    """Fit on an odd table, or transform one with what sound rows have taught."""
    X, y = table()
    name = str(rng.choice(sorted(ESTIMATORS)))
    if rng.random() < 0.5:
        model = clone(ESTIMATORS[name])
        model.fit(changed(X, rng), y)
        return problem(model, changed(X, rng) if rng.random() < 0.5 else X)
    if name not in _FITTED:
        _FITTED[name] = clone(ESTIMATORS[name]).fit(X, y)
    return problem(_FITTED[name], changed(X, rng))


def problem(model, X) -> str | None:
    """Say what is wrong with what comes out; None where nothing is."""
    if not hasattr(model, "predict"):
        out = model.transform(X)
        out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
        return None if np.isfinite(out).all() else "transform gives NaN or infinity"
    if not np.isfinite(model.decision_function(X)).all():
        return "scores are NaN or infinite"
    if not np.isfinite(model.predict_proba(X)).all():
        return "probabilities are NaN"
    return None if len(model.predict(X)) == len(X) else "not one prediction a row"


def changed(X: pd.DataFrame, rng):
    """The table with one or two odd columns, names or types."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rng.integers(1, 3)):
            kinds = _FRAMES if rng.random() < 0.4 else [_odd_column]
            with contextlib.suppress(Exception):  # no such change to this table
                X = kinds[rng.integers(len(kinds))](X, rng)
            if not isinstance(X, pd.DataFrame):
                break
    return X


def _odd_column(X: pd.DataFrame, rng) -> pd.DataFrame:
    place, n = int(rng.integers(X.shape[1])) if X.shape[1] else -1, len(X)
    if place < 0:
        return X
    value = _COLUMNS[rng.integers(len(_COLUMNS))](n, rng)
    columns = [X.iloc[:, j] for j in range(X.shape[1])]
    columns[place] = pd.Series(value, index=X.index)
    names, X = X.columns, pd.concat(columns, axis=1)
    X.columns = names
    return X


def _objects(values, n: int) -> pd.Series:
    """A column of objects, which are repeated to its length."""
    found = np.empty(n, dtype=object)
    for place in range(n):
        found[place] = values[place % len(values)]
    return pd.Series(found, dtype=object).to_numpy()


_COLUMNS = [
    lambda n, rng: np.full(n, np.nan),
    lambda n, rng: _objects([None], n),
    lambda n, rng: _objects([pd.NA, 1], n),
    lambda n, rng: _objects([pd.NaT, "x"], n),
    lambda n, rng: rng.normal(size=n) * 10.0 ** rng.choice([-300, 30, 153, 200, 300]),
    lambda n, rng: np.where(np.arange(n) == 3, rng.choice([np.inf, -np.inf]), 1.0),
    lambda n, rng: np.where(np.arange(n) % 2, 1.7e308, -1.7e308),
    lambda n, rng: rng.normal(size=n) + 1e15,
    lambda n, rng: np.full(n, 7),
    lambda n, rng: rng.integers(-(2**62), 2**62, n),
    lambda n, rng: np.full(n, 2**64 - 1, dtype=np.uint64),
    lambda n, rng: _objects([2**100, 1, 10**400], n),
    lambda n, rng: _objects([1, "1", 1.0, True, b"1"], n),
    lambda n, rng: _objects(["nan", "inf", "", " ", "NaN", "None"], n),
    lambda n, rng: _objects(["\x00", "\ud800", "=cmd()", "\n", "a" * 10_000], n),
    lambda n, rng: _objects([[1], [2]], n),
    lambda n, rng: _objects([{}, {"a": 1}], n),
    lambda n, rng: _objects([(1, 2), (3,)], n),
    lambda n, rng: _objects([object()], n),
    lambda n, rng: _objects([1 + 2j, 3], n),
    lambda n, rng: np.full(n, 1 + 1j),
    lambda n, rng: _objects([decimal.Decimal("1.5"), decimal.Decimal("NaN")], n),
    lambda n, rng: _objects([datetime.date(1, 1, 1), datetime.date(9999, 1, 1)], n),
    lambda n, rng: _objects([datetime.datetime.now(datetime.UTC), None], n),
    lambda n, rng: _objects([datetime.time(1), datetime.timedelta(1)], n),
    lambda n, rng: _objects([np.datetime64("NaT"), np.datetime64("2020-01-01")], n),
    lambda n, rng: _objects([datetime.date(2020, 1, 1), 3, "x"], n),
    lambda n, rng: _objects(["2020-01-01", "2020-13-45", "1e400"], n),
    lambda n, rng: _objects([np.array([1, 2])], n),
    lambda n, rng: np.full(n, np.datetime64("NaT"), dtype="datetime64[s]"),
    lambda n, rng: np.arange(n).astype("timedelta64[ns]"),
    lambda n, rng: np.array(["0001-01-01"] * n, dtype="datetime64[s]"),
    lambda n, rng: pd.array([1, None] * n, dtype="Int64")[:n],
    lambda n, rng: pd.array([True, None] * n, dtype="boolean")[:n],
    lambda n, rng: pd.array([1.5, None] * n, dtype="Float32")[:n],
    lambda n, rng: pd.array(["a", None] * n, dtype="string")[:n],
    lambda n, rng: pd.Categorical([1, 2.5, None, "a"] * n)[:n],
    lambda n, rng: pd.Categorical([None] * n),
    lambda n, rng: pd.Categorical.from_codes([0] * n, [pd.Timestamp("2020-01-01")]),
    lambda n, rng: pd.period_range("2020-01", periods=max(n, 1), freq="M")[:n],
    lambda n, rng: pd.interval_range(0, max(n, 1))[:n],
    lambda n, rng: pd.arrays.SparseArray(np.arange(n) % 2),
    lambda n, rng: pd.date_range("2020-01-01", periods=n, tz="Europe/Berlin"),
    lambda n, rng: np.arange(n).astype(str),
    lambda n, rng: np.arange(n).astype(np.float16),
    lambda n, rng: np.arange(n).astype(">f8"),
]


def _arrow(X, rng):
    import pyarrow

    return pyarrow.Table.from_pandas(X, preserve_index=False)


def _lying_arrow(X, rng):
    """A table of Arrow with a column of strings whose parts do not fit together."""
    import pyarrow

    words = [b"own", b"", b"rent", "zw\u00f6lf".encode()] * -(-len(X) // 4)
    wide = rng.random() < 0.5
    starts = np.cumsum([0, *map(len, words[: len(X)])], dtype="i8" if wide else "i4")
    for _ in range(rng.integers(1, 4)):
        starts[rng.integers(len(starts))] = rng.choice([-1, 0, 3, 10**4, 2**31 - 1])
    valid = None if rng.random() < 0.5 else rng.bytes(rng.integers(1, 1 + len(X)))
    kind = pyarrow.large_string() if wide else pyarrow.string()
    parts = [valid, starts.tobytes(), b"".join(words)]
    buffers = [None if part is None else pyarrow.py_buffer(part) for part in parts]
    lying = pyarrow.Array.from_buffers(kind, len(X), buffers)
    if rng.random() < 0.3:
        lying = lying.slice(int(rng.integers(len(X))))
        X = X[-len(lying) :]
    if rng.random() < 0.3:
        codes = rng.integers(-3, len(lying) + 3, len(X), np.int32)
        lying = pyarrow.DictionaryArray.from_arrays(codes, lying, safe=False)
    table = _arrow(X, rng)
    place = int(rng.integers(table.num_columns))
    return table.set_column(place, table.column_names[place], lying)


def _polars(X, rng):
    import polars

    return polars.from_pandas(X)


def _renamed(X, rng):
    names = list(X.columns)
    names[0] = [names[-1], 3, "", None, "\x00", ("a", "b"), "kind "][rng.integers(7)]
    return X.set_axis(names, axis=1)


_FRAMES = [
    _renamed,
    lambda X, rng: X.iloc[:, ::-1],
    lambda X, rng: X.iloc[:, :-1],
    lambda X, rng: X.iloc[:, :0],
    lambda X, rng: X.iloc[:0],
    lambda X, rng: X.iloc[:1],
    lambda X, rng: pd.concat([X, X.iloc[:, :1]], axis=1),
    lambda X, rng: X.assign(more=1.0),
    lambda X, rng: X.set_index(np.zeros(len(X), int)),
    lambda X, rng: X.set_axis(range(X.shape[1]), axis=1),
    lambda X, rng: X.set_axis(
        pd.MultiIndex.from_tuples([(c, 1) for c in X.columns]), axis=1
    ),
    lambda X, rng: X.to_numpy(dtype=object),
    lambda X, rng: X.to_numpy(dtype=object).tolist(),
    lambda X, rng: X.to_numpy(dtype=str),
    lambda X, rng: X.astype(str),
    lambda X, rng: X.astype(object),
    lambda X, rng: X.iloc[:, 0],
    lambda X, rng: X.to_dict("records"),
    lambda X, rng: X.to_records(index=False),
    lambda X, rng: {name: X[name] for name in X.columns},
    lambda X, rng: None,
    lambda X, rng: X.select_dtypes("number"),
    _arrow,
    _lying_arrow,
    _polars,
]
