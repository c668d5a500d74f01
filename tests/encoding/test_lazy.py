"""TableEncoder: rows that are encoded when they are asked for."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from locallin import TableEncoder
from locallin.engine.lazy_rows import LazyRows, whole

N = 9000  # some blocks
RNG = np.random.RandomState(3)
WHOLE = RNG.randint(50, size=N)
FRAME = pd.DataFrame(
    {
        "whole": WHOLE,
        "fine": RNG.normal(size=N),
        # Single precision holds the first blocks alone.
        "late": np.where(np.arange(N) < 8500, WHOLE, np.pi),
        "gaps": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.normal(size=N)),
        "town": RNG.choice([f"town {i}" for i in range(300)], size=N),
        "size": RNG.choice(["small", "large", None], size=N),
        "at": pd.Timestamp("2024-01-01")
        + pd.to_timedelta(RNG.randint(10**7, size=N), "s"),
    }
)
LATE = FRAME[["whole", "late"]]
Y = RNG.randint(3, size=N)
CHOSEN = [slice(5), slice(None, None, 7), np.array([7, 7, 8999, 0]), slice(0, 0)]


@pytest.mark.parametrize("numbers", ["piecewise", "standard", "robust"])
@pytest.mark.parametrize("sparse_output", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("frame", [FRAME, LATE], ids=["mixed", "late"])
def test_rows_are_those_of_the_matrix(numbers, sparse_output, dtype, frame):
    encoder = TableEncoder(
        numbers=numbers, sparse_output=sparse_output, dtype=dtype, random_state=0
    )
    crossed, lazily = encoder.fit_transform(frame, Y), encoder.fit_rows(frame, Y)
    plain, again = encoder.transform(frame), encoder.transform_rows(frame)
    for matrix, rows in ((crossed, lazily), (plain, again)):
        assert isinstance(rows, LazyRows)
        assert rows.shape == matrix.shape
        assert rows.dtype == matrix.dtype
        for chosen in CHOSEN:
            assert_rows(rows[chosen], matrix[chosen])
        assert_rows(whole(rows), matrix)
        start = 0
        for block in rows.blocks():
            assert_rows(block, matrix[start : start + block.shape[0]])
            start += block.shape[0]
        assert start == N


def assert_rows(found, expected):
    assert found.dtype == expected.dtype
    if sparse.issparse(expected):
        assert found.has_canonical_format
        found, expected = found.toarray(), expected.toarray()
    assert_array_equal(found, expected)


@pytest.mark.parametrize("sparse_output", [False, True])
def test_little_memory_is_a_matrix(sparse_output):
    encoder = TableEncoder(sparse_output=sparse_output)
    matrix = encoder.fit_transform(FRAME, Y)
    size = matrix.nnz * 8 if sparse_output else matrix.nbytes
    assert isinstance(encoder.fit_rows(FRAME, Y, most_bytes=size - 1), LazyRows)
    for found in (
        encoder.fit_rows(FRAME, Y, most_bytes=2 * size),
        encoder.transform_rows(FRAME, most_bytes=2 * size),
    ):
        assert type(found) is type(matrix)
