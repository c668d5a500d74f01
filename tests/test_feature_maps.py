import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from locallin.feature_maps import _BEST_INTERVALS, IntersectionSampler


def mean_squared_error(steps, interval):
    grid = (np.arange(200) + 0.5) / 200
    Z = IntersectionSampler(sample_steps=steps, sample_interval=interval).fit_transform(
        grid[:, None]
    )
    return ((Z @ Z.T - np.minimum(grid[:, None], grid)) ** 2).mean()


@pytest.mark.parametrize("steps", _BEST_INTERVALS)
def test_known_intervals_are_the_best(steps):
    best = mean_squared_error(steps, None)
    for factor in (0.97, 1.03):
        assert mean_squared_error(steps, factor * _BEST_INTERVALS[steps]) > best


def test_more_steps_approach_the_kernel():
    rng = np.random.RandomState(0)
    X = rng.dirichlet(np.ones(20), size=40)
    kernel = np.minimum(X[:, None], X).sum(axis=2)
    errors = []
    for steps in (1, 2, 4, 6):
        Z = IntersectionSampler(sample_steps=steps).fit_transform(X)
        errors.append(np.abs(Z @ Z.T - kernel).mean())
    Z = IntersectionSampler(sample_steps=200, sample_interval=0.1).fit_transform(X)
    errors.append(np.abs(Z @ Z.T - kernel).mean())
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.01


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense_and_zeros_stay_zero(dtype):
    X = sparse.random(30, 7, 0.3, "csr", dtype=dtype, random_state=0)
    sampler = IntersectionSampler(sample_steps=3).fit(X)
    mapped = sampler.transform(X)
    assert mapped.nnz == 5 * X.nnz
    assert mapped.dtype == dtype
    assert_allclose(mapped.toarray(), sampler.transform(X.toarray()), rtol=1e-6)


def test_names_follow_the_columns():
    sampler = IntersectionSampler(sample_steps=2).fit(np.ones((2, 2)))
    assert_array_equal(
        sampler.get_feature_names_out(["a", "b"]),
        ["a_sqrt", "b_sqrt", "a_cos1", "b_cos1", "a_sin1", "b_sin1"],
    )


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="Negative values"):
        IntersectionSampler().fit([[-1.0]])
    with pytest.raises(ValueError, match="sample_interval must be given"):
        IntersectionSampler(sample_steps=7).fit([[1.0]])
