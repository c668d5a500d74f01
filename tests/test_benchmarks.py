"""The yardsticks of the benchmarks are what they are said to be."""

import numpy as np
import pytest

from benchmarks import _twin
from benchmarks.speed import objective
from locallin import ML3Classifier


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_rows_reach_the_objective_of_blocks(digits, dtype):
    X, y, _, _ = digits
    X = X.astype(dtype)
    setting = {"alpha": 2e-3, "max_iter": 20}
    table = _twin.fit(X, y, 5, constant=1.5, **setting)
    assert table.dtype == dtype
    coef, intercept = (
        table[:, :-1].reshape(10, 5, -1),
        1.5 * table[:, -1].reshape(10, 5),
    )
    single = objective(coef, intercept, X, y, 2e-3, 1.5)
    model = ML3Classifier(
        5,
        intercept_scaling=1.5,
        init="random",
        shrinking=False,
        random_state=0,
        **setting,
    ).fit(X, y)
    blocks = objective(model.coef_, model.intercept_, X, y, 2e-3, 1.5)
    assert abs(blocks - single) < 0.05 * single
