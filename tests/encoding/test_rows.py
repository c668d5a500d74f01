"""Rows of a table by one kernel, against the plan read slowly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from locallin import TableEncoder
from locallin.encoding._bins import distinct_values
from locallin.encoding._dates import WEEKDAYS
from locallin.kernels.encoding import HIGH, LEFT, LOW, MISSING, SLOPE, START

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
    found = distinct_values(column, with_inverse=True)
    there = column[~np.isnan(column)]
    wanted, counts = np.unique(there, return_counts=True)
    assert_array_equal(found.values, wanted)
    assert_array_equal(found.counts, counts)
    assert_array_equal(found.values[found.inverse], there)
