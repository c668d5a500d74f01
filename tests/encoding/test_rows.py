"""Rows of a table by one kernel, against the plan read slowly."""

from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from locallin import TableEncoder
from locallin.encoding._bins import (
    Distinct,
    component_moments,
    distinct_values,
    quantile_edges,
)
from locallin.encoding._columns import read_columns
from locallin.encoding._dates import WEEKDAYS
from locallin.encoding._targets import class_codes
from locallin.engine.matrix import read_only
from locallin.kernels.encoding import (
    HIGH,
    LEFT,
    LOW,
    MISSING,
    SLOPE,
    START,
    look_through,
)

pd = pytest.importorskip("pandas")


def frame_of(seed, n=150):
    rng = np.random.RandomState(seed)
    made = pd.DataFrame(
        {
            "size": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
            "rooms": rng.randint(1, 6, n),
            "flag": np.where(rng.uniform(size=n) < 0.3, 1.0, np.nan),
            "home": rng.choice(["rent", "own", "other", None], n),
            "street": [f"street {k}" for k in rng.randint(0, 60, n)],
            "sold": pd.to_datetime("2024-01-01")
            + pd.to_timedelta(rng.randint(0, 900, n), unit="D"),
        }
    )
    made.loc[::7, "sold"] = pd.NaT
    return made


def slow_rows(encoder, frame):
    """The components one by one, from the plan alone."""
    plan, numbers = encoder.plan(), encoder.to_numbers(frame)
    rows = []
    for given in numbers:
        row = []
        for j, levels in enumerate(plan.levels):
            x = given[j]
            for s in np.flatnonzero(plan.source_columns == j):
                wave = plan.wave(plan.source_parts[s])
                value = x
                if wave is not None:
                    value = np.sin(2 * np.pi * (x / wave.period + wave.shift))
                for t in np.flatnonzero(plan.encoding.origins == s):
                    line = plan.encoding.table[:, t]
                    z = (value - line[LEFT]) * line[SLOPE] + line[START]
                    z = np.clip(z, line[LOW], line[HIGH])
                    if plan.is_bent[t]:
                        z = z / np.sqrt(1 + (z / plan.smooth) ** 2)
                    row.append(line[MISSING] if np.isnan(x) else z)
            n = len(levels.names)
            code = n + 1 if np.isnan(x) else 0
            if plan.kinds[j] == "category" and not np.isnan(x):
                code = int(x)
            if plan.kinds[j] == "date" and not np.isnan(x):
                code = (int(np.floor(x)) + 3) % 7
                assert list(levels.names) == list(WEEKDAYS)
            means = np.concatenate([levels.means, np.zeros((2, levels.means.shape[1]))])
            row += [*means[code], *levels.unit_table()[code]]
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("numbers", ["piecewise", "standard", "robust"])
def test_rows_are_those_of_the_plan(numbers):
    frame, new = frame_of(0), frame_of(1)
    y = (frame["rooms"] > 3).to_numpy()
    encoder = TableEncoder(numbers=numbers, dtype="float64", random_state=0)
    found = encoder.fit(frame, y).transform(new)
    assert_allclose(found, slow_rows(encoder, new), rtol=1e-12, atol=1e-12)
    encoder.set_params(sparse_output=True)
    packed = encoder.transform(new)
    assert packed.has_sorted_indices
    assert np.all(packed.data != 0)
    assert_array_equal(packed.toarray(), found)


def test_a_row_does_not_depend_on_those_beside_it():
    frame = frame_of(0)
    encoder = TableEncoder(random_state=0).fit(frame, frame["rooms"] > 3)
    together = encoder.transform(frame)
    for i in (0, 63, 64, 149):
        assert_array_equal(encoder.transform(frame.iloc[[i]])[0], together[i])


def test_a_table_without_numbers_has_slopes_of_nothing():
    X = np.array([["a"], ["b"], ["a"]], dtype=object)
    encoder = TableEncoder(max_levels=0).fit(X)
    assert encoder.get_local_slopes(X).shape == encoder.transform(X).shape


def counted(column) -> Distinct:
    return distinct_values(column, look_through(read_only(column)))


@pytest.mark.parametrize(
    "values",
    [
        [3.0, -2.0, 3.0, 0.0, -0.0],
        [0.5, 0.25, 0.5],
        [1e300, -1e300, 1e300],
        [2.0**53, 2.0**53 + 2, 2.0**53],
        [5.0, np.nan, 5.0],
        [np.nan],
        [],
    ],
)
def test_distinct_values_are_counted(values):
    column = np.array(values)
    found = counted(column)
    wanted, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    assert_array_equal(found.values, wanted)
    assert_array_equal(found.counts, counts)


CELLS = {
    "level": ["own", "rent", None, "boat", "", 3.0, 3, np.float32(2.5), True, np.nan],
    "number": [1, 2.5, None, np.nan, np.float32(0.1), -7, 1e9, np.int8(3), 0.0, 12],
    "date": [datetime(2024, 5, day, 3, 7, day) for day in range(1, 10)] + [None],
    "true": [True, False, None, True, False, True, False, True, True, False],
}


def test_a_few_rows_are_read_as_many_are(monkeypatch):
    frame = pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in CELLS.items()})
    typed = frame.assign(
        number=frame["number"].astype(float),
        date=pd.to_datetime(frame["date"]),
        level=frame["level"].astype("category"),
        small=np.arange(10, dtype=np.int8),
    )
    y = np.arange(10) % 2
    for table in (frame, typed, frame.to_numpy(), typed[["number", "small"]]):
        encoder = TableEncoder(min_rows=1, max_levels=5, target_means="all").fit(
            table, y
        )
        names = list(typed.columns) if table is typed else None
        few = encoder.transform(table)
        alone = [encoder.transform(table[i : i + 1]) for i in range(10)]
        numbers = encoder.to_numbers(table)
        with monkeypatch.context() as patch:
            patch.setattr("locallin.encoding._few_rows.MOST", 0)
            assert_array_equal(encoder.transform(table), few)
            assert_array_equal(encoder.to_numbers(table), numbers)
        assert_array_equal(np.concatenate(alone), few)
        assert names is None or list(encoder.feature_names_in_) == names


def test_cells_that_are_no_values_have_the_errors_of_columns():
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0] * 4, "c": ["a", "b", "c"] * 4})
    encoder = TableEncoder(min_rows=1).fit(frame)
    for row, message in (
        ({"n": np.inf, "c": "a"}, "contains infinity"),
        ({"n": "much", "c": "a"}, "is taken as numbers, but holds 'much'"),
        ({"n": 1.0, "c": [1]}, "Column 'c'"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            encoder.transform(pd.DataFrame([row]))
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(pd.DataFrame([{"c": "a", "n": 1.0}]))
    # What is laid out for rows follows the fitted state.
    before = encoder.transform(frame)
    encoder.fit(frame.assign(n=frame["n"] * 2))
    assert np.any(encoder.transform(frame) != before)


@pytest.mark.parametrize("power", [0, 150, -150])
@pytest.mark.parametrize("n", [5_000, 30_000])
def test_decimals_are_counted_whether_few_or_many(n, power):
    rng = np.random.RandomState(0)
    column = rng.randint(-n // 3, n // 3, size=n) / 7 * 10.0**power
    column[:3] = 0.0, -0.0, np.nan
    column[rng.randint(0, n, size=n // 50)] *= 1e5
    found = counted(column)
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    assert_array_equal(found.values, values)
    assert_array_equal(found.counts, counts)


@pytest.mark.parametrize("counts", [[1] * 40, [900, *[1] * 30], [5, 300, 2, 80, 9] * 4])
def test_bins_hold_as_many_rows_but_for_frequent_values(counts):
    values = np.arange(len(counts), dtype=float) ** 2
    edges = quantile_edges(Distinct(values, np.array(counts)), 4)
    shares = np.array(counts, float)
    for _ in range(1000):  # what a frequent value has beyond a bin is left to others
        shares = np.minimum(shares, shares.sum() / 4)
    filled = np.cumsum(shares) / shares.sum()
    inner = [np.flatnonzero(filled >= t / 4 - 1e-6)[0] for t in (1, 2, 3)]
    assert_array_equal(edges, values[np.unique([0, *inner, len(values) - 1])])


def test_moments_of_bins_are_those_of_all_rows():
    column = np.round(np.random.RandomState(0).gamma(1, size=500), 2)
    found = counted(column)
    edges = np.quantile(column, [0.0, 0.2, 0.5, 1.0])
    for (left, right), moments in zip(
        pairwise(edges), component_moments(found, edges), strict=True
    ):
        filled = np.clip((column - left) / (right - left), 0, 1)
        assert_allclose(moments, [filled.mean(), filled.std()], rtol=1e-12)


@pytest.mark.parametrize("kind", ["large_string", "string"])
def test_strings_of_arrow_are_told_apart_by_their_bytes(kind):
    pa = pytest.importorskip("pyarrow")
    texts = ["", "a", "a\0", "12345678", "12345678x", "ß" * 8, "y" * 40, "y" * 41, None]
    rows = np.random.RandomState(0).randint(0, len(texts), size=300)
    wanted = [texts[row] for row in rows]
    whole = pa.chunked_array(
        [pa.array(part, getattr(pa, kind)()) for part in (wanted[:99], wanted[99:])]
    )
    for strings, expected in ((whole, wanted), (whole.slice(101, 50), wanted[101:151])):
        (column,) = read_columns(pa.table({"x": strings}), ["x"])
        found = [column.levels[c] if c >= 0 else None for c in column.codes]
        assert found == expected
        assert len(set(column.levels)) == len(column.levels)


def test_categories_of_arrow_that_are_missing_throughout_are_constant():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"gone": [None] * 40, "size": np.arange(40.0)})
    frame["gone"] = frame["gone"].astype("category")
    halves = [pa.Table.from_pandas(frame[i : i + 20]) for i in (0, 20)]
    table = pa.concat_tables(part.select(["gone", "size"]) for part in halves)
    assert table.column("gone").num_chunks == 2
    encoder = TableEncoder().fit(table)
    assert list(encoder.kinds_) == ["constant", "number"]
    assert_array_equal(encoder.transform(table), encoder.transform(frame))


def test_strings_of_arrow_are_told_apart_however_many_they_are():
    pa = pytest.importorskip("pyarrow")
    texts = [f"{k % 9}{'-' * (k % 30)}{k}" for k in range(7000)] * 2
    (column,) = read_columns(pa.table({"text": texts}), ["text"])
    assert [column.levels[code] for code in column.codes] == texts
    assert list(column.levels) == texts[:7000]


@pytest.mark.parametrize(
    "y",
    [
        np.array(["no", "yes", "no", "maybe"], dtype=object),
        np.array(["no", "yes", "no", "maybe"]),
        np.array([-100, 100, -100, 7], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 2], dtype=np.uint64),
        np.array([0.5, -1.5, 0.5, 9.0]),
        np.array([True, False, True, False]),
    ],
)
def test_classes_have_the_codes_of_numpy(y):
    assert_array_equal(class_codes(y), np.unique(y, return_inverse=True)[1])
