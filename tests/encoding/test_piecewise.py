"""Piecewise-linear encoding against a slow twin, and at its edges."""

import pickle

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from locallin import DULLSVMClassifier, LLSVMClassifier, PiecewiseLinearEncoder
from locallin.engine.invariants import InvalidModelError
from locallin.kernels.encoding import encode_block


@pytest.fixture
def rows():
    """Normal, mostly zero, constant, three values, with gaps, and never there."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 6))
    X[:, 1] *= rng.uniform(size=400) < 0.1
    X[:, 2] = -3.5
    X[:, 3] = rng.randint(3, size=400) * 10
    X[rng.uniform(size=400) < 0.2, 4] = np.nan
    X[:, 5] = np.nan
    return X


@pytest.fixture
def labels(rows):
    return (rows[:, 0] + (rows[:, 1] != 0) > 0.3).astype(int)


def edges_of(encoder, j):
    return encoder.edges_[encoder.edge_starts_[j] : encoder.edge_starts_[j + 1]]


SETTINGS = [
    {},
    {"strategy": "tree"},
    {"n_bins": 1},
    {"n_bins": 3, "missing": "all"},
    {"missing": "none", "outliers": "extend"},
    {"scaling": "center"},
    {"scaling": "feature", "missing": "all"},
    {"scaling": None, "outliers": "extend", "strategy": "tree"},
]


@pytest.mark.in_turn
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_are_those_of_the_slow_twin(settings, dtype, rows, labels):
    X = rows.astype(dtype)
    encoder = PiecewiseLinearEncoder(**settings).fit(X, labels)
    new = np.vstack([X[:30], X[:5] * 20, X[:5] * -20])
    made = encoder.transform(new)
    assert made.dtype == dtype
    assert made.flags.c_contiguous
    origins = encoder.get_feature_origins()
    names = encoder.get_feature_names_out()
    assert made.shape == (len(new), len(origins)) == (len(new), len(names))
    extend = settings.get("outliers") == "extend"
    for j in range(X.shape[1]):
        is_bin = (origins == j) & [not name.endswith("missing") for name in names]
        wanted = [
            reference.piecewise_linear(
                float(x),
                edges_of(encoder, j),
                encoder.mean_[is_bin],
                encoder.scale_[is_bin],
                encoder.missing_value_[is_bin],
                extend=extend,
            )
            for x in new[:, j]
        ]
        if is_bin.any():
            assert_allclose(made[:, is_bin], wanted, rtol=1e-4, atol=1e-4)
        flags = (origins == j) & ~is_bin
        for t in np.flatnonzero(flags):
            shown = made[:, t] * encoder.scale_[t] + encoder.mean_[t]
            assert_allclose(shown, np.isnan(new[:, j]), atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_inverse_gives_the_values_back(settings, rows, labels):
    encoder = PiecewiseLinearEncoder(**settings).fit(rows, labels)
    found = encoder.inverse_transform(encoder.transform(rows))
    if settings.get("missing") == "none":
        is_gap = np.isnan(rows)
        is_gap[:, 5] = False
        assert np.isfinite(found[is_gap]).all()
        found[is_gap] = np.nan
    assert_allclose(found, rows, atol=1e-12)
    with pytest.raises(ValueError, match=r"X has 2 features, but Piecewise.* makes"):
        encoder.inverse_transform(np.ones((3, 2)))


def test_standardised_components_have_no_mean_and_missing_values_are_zero(rows):
    encoder = PiecewiseLinearEncoder().fit(rows)
    made = encoder.transform(rows)
    assert_allclose(made.mean(axis=0), 0, atol=1e-12)
    assert (made.std(axis=0) < 1 + 1e-12).all()
    assert np.abs(made).max() <= 10
    origins = encoder.get_feature_origins()
    gaps = made[np.isnan(rows[:, 4])][:, origins == 4]
    assert_allclose(gaps[:, :-1], 0, atol=1e-12)
    assert (gaps[:, -1] > 0).all()


def test_a_feature_of_many_bins_weighs_as_one_number(rows):
    plain = PiecewiseLinearEncoder(6).fit(rows)
    scaled = PiecewiseLinearEncoder(6, scaling="feature").fit(rows)
    ratio = scaled.scale_ / plain.scale_
    names, origins = plain.get_feature_names_out(), plain.get_feature_origins()
    is_flag = np.array([name.endswith("missing") for name in names])
    assert_allclose(ratio[is_flag], 1)
    assert_allclose(ratio[(origins == 0) & ~is_flag], np.sqrt(6))
    assert_allclose(ratio[(origins == 3) & ~is_flag], np.sqrt(2))


def test_bins_follow_the_values(rows, labels):
    encoder = PiecewiseLinearEncoder(8).fit(rows)
    assert_array_equal(encoder._bins_by_feature(), [8, 8, 0, 2, 8, 0])
    assert_array_equal(edges_of(encoder, 2), [-3.5])
    assert_array_equal(edges_of(encoder, 3), [0, 10, 20])
    inner = edges_of(encoder, 0)[1:-1]
    share = np.searchsorted(np.sort(rows[:, 0]), inner) / len(rows)
    assert_allclose(share, np.arange(1, 8) / 8, atol=0.01)
    # Nine in ten values are 0, and still the others have their bins.
    assert_array_equal(encoder.tells_missing_, [0, 0, 0, 0, 1, 0])
    everywhere = PiecewiseLinearEncoder(missing="all").fit(rows)
    assert everywhere.tells_missing_.all()


def test_a_tree_puts_edges_where_the_target_changes():
    rng = np.random.RandomState(0)
    x = 1e9 + rng.uniform(size=500)  # apart in double precision only
    steps = np.array([0.2, 0.7])
    y = np.searchsorted(steps, x - 1e9)
    for target, kind in ((y, "auto"), (y.astype(str), "auto"), (y, "numbers")):
        encoder = PiecewiseLinearEncoder(3, strategy="tree", target_type=kind)
        found = encoder.fit(x[:, None], target).edges_[1:-1] - 1e9
        assert_allclose(found, steps, atol=0.02)
    for numbers in (y + 0.5, 100 * y + np.arange(500) % 60):
        encoder.set_params(target_type="auto").fit(x[:, None], numbers)
        assert_allclose(encoder.edges_[1:-1] - 1e9, steps, atol=0.02)


def test_sparse_rows_become_dense_ones(rows):
    X = np.nan_to_num(rows)
    X[:, 4] = np.where(np.arange(400) % 7 == 0, np.nan, 0)
    encoder = PiecewiseLinearEncoder(4).fit(sparse.csr_matrix(X))
    dense = PiecewiseLinearEncoder(4).fit(X)
    assert_array_equal(encoder.edges_, dense.edges_)
    many = np.tile(X, (5, 1))
    made = encoder.transform(sparse.csr_matrix(many))
    assert isinstance(made, np.ndarray)
    assert_array_equal(made, dense.transform(many))


numbers = st.floats(allow_nan=True, allow_infinity=False, width=64)


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 12), st.just(2)), elements=numbers),
    st.sampled_from(["clip", "extend"]),
    st.sampled_from([np.float32, np.float64]),
)
def test_finite_numbers_stay_finite(X, outliers, dtype):
    with np.errstate(all="ignore"):
        X = np.nan_to_num(X.astype(dtype), nan=np.nan, posinf=1, neginf=-1)
        encoder = PiecewiseLinearEncoder(3, outliers=outliers).fit(X)
        other = np.vstack([X[::-1], -X])
    for kind in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            rows = np.nan_to_num(other.astype(kind), nan=np.nan, posinf=1, neginf=-1)
        made = encoder.transform(rows)
        assert np.isfinite(made).all()
        assert np.abs(made).max(initial=0) < 1e6


def test_a_block_is_encoded_without_the_estimator(rows):
    X = np.ascontiguousarray(rows[:, :5])
    encoder = PiecewiseLinearEncoder().fit(X)
    state = encoder.kernel_state(np.float64)
    out = np.full((256, len(state.origins)), np.nan)
    encode_block(X[:256], state, out)
    assert_array_equal(out, encoder.transform(X[:256]))
    with pytest.raises(ValueError, match="read-only"):
        state.table[0, 0] = 1


@pytest.mark.parametrize("space", ["input", "mapped"])
def test_as_the_feature_map_of_a_classifier(space, moons):
    X, y = moons
    model = LLSVMClassifier(
        4, feature_map=PiecewiseLinearEncoder(4), coding_space=space, random_state=0
    ).fit(X, y)
    assert model.coef_.shape[-1] == 8
    assert model.score(X, y) > 0.9


def test_in_a_search_and_with_frames(rows, labels):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=list("abcdef"))
    pipe = make_pipeline(
        PiecewiseLinearEncoder(), DULLSVMClassifier(3, max_iter=3, random_state=0)
    )
    grid = {"piecewiselinearencoder__n_bins": [2, 4]}
    search = GridSearchCV(pipe, grid, cv=2).fit(frame, labels)
    assert search.best_score_ > 0.8
    encoder = PiecewiseLinearEncoder(2).set_output(transform="pandas")
    made = encoder.fit_transform(frame)
    assert list(made.columns[:3]) == ["a_bin1", "a_bin2", "b_bin1"]
    assert list(made.columns[-3:]) == ["e_bin1", "e_bin2", "e_missing"]
    assert_array_equal(encoder.feature_names_in_, frame.columns)
    assert clone(encoder).n_bins == 2


def test_wrong_input_is_named(rows):
    with pytest.raises(ValueError, match="strategy='tree' takes its bins from the"):
        PiecewiseLinearEncoder(strategy="tree").fit(rows)
    with pytest.raises(ValueError, match="one class or one number"):
        PiecewiseLinearEncoder(strategy="tree").fit(
            rows, np.array([2j, 1] * 200, object)
        )
    with pytest.raises(ValueError, match="contains infinity"):
        PiecewiseLinearEncoder().fit([[np.inf], [1.0]])
    with pytest.raises(ValueError, match="'n_bins' parameter"):
        PiecewiseLinearEncoder(0).fit(rows)


DAMAGES = {
    "edges_": lambda a: a[::-1].copy(),
    "edge_starts_": lambda a: np.minimum(a, 5),
    "tells_missing_": lambda a: ~a,
    "mean_": lambda a: a[1:],
    "scale_": lambda a: 0 * a,
    "missing_value_": lambda a: a - np.inf,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_state_is_refused(name, rows):
    encoder = PiecewiseLinearEncoder().fit(rows)
    assert_array_equal(
        pickle.loads(pickle.dumps(encoder)).transform(rows), encoder.transform(rows)
    )
    setattr(encoder, name, DAMAGES[name](getattr(encoder, name)))
    with pytest.raises(InvalidModelError, match="the model is damaged"):
        pickle.loads(pickle.dumps(encoder))
