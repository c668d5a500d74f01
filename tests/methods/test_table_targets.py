"""LocallyLinear*: tables and y as users have them."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from locallin import LocallyLinearClassifier, LocallyLinearRegressor

RNG = np.random.RandomState(3)
X = pd.DataFrame({"x": RNG.normal(size=60), "z": RNG.choice(list("abc"), size=60)})
UP = (X["x"] > 0).to_numpy()
WORDS = np.where(UP, "up", "down")


def with_gap(labels, gap) -> np.ndarray:
    labels = np.array(labels, dtype=object)
    labels[3] = gap
    return labels


LABELS = {
    "boolean": (pd.Series(UP, dtype="boolean"), UP),
    "Int64": (pd.Series(UP.astype(int), dtype="Int64"), UP.astype(int)),
    "string": (pd.Series(WORDS, dtype="string"), WORDS),
    "category": (pd.Categorical(WORDS, categories=["up", "none", "down"]), WORDS),
    "objects of booleans": (UP.astype(object), UP),
    "objects of integers": (UP.astype(int).astype(object), UP.astype(int)),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type(kind):
    labels, plain = LABELS[kind]
    model = LocallyLinearClassifier(0, random_state=0).fit(X, labels)
    found = model.predict(X)
    assert_array_equal(model.classes_, np.unique(plain))
    assert model.classes_.dtype.kind in (plain.dtype.kind, "O")
    assert_array_equal(
        found, LocallyLinearClassifier(0, random_state=0).fit(X, plain).predict(X)
    )


@pytest.mark.parametrize(
    "y",
    [
        with_gap(WORDS, None),
        with_gap(WORDS, np.nan),
        pd.Series(with_gap(WORDS, None)),
        pd.Series(with_gap(WORDS, None), dtype="string"),
        pd.Series(with_gap(UP, None), dtype="boolean"),
        pd.Categorical(with_gap(WORDS, None)),
    ],
)
@pytest.mark.parametrize("rows", [X, sparse.csr_matrix(X[["x"]])])
def test_missing_labels_are_counted(y, rows):
    with pytest.raises(ValueError, match="y has no label in 1 of 60 rows: leave"):
        LocallyLinearClassifier(0).fit(rows, y)


@pytest.mark.parametrize(
    ("odd", "names"), [(1, "int, str"), (Decimal(1), "Decimal, str"), (True, "bool, ")]
)
def test_labels_of_several_types_are_refused(odd, names):
    with pytest.raises(ValueError, match=f"labels of type {names}.*astype"):
        LocallyLinearClassifier(0).fit(X, with_gap(WORDS, odd))


def test_booleans_beside_numbers_are_refused():
    with pytest.raises(ValueError, match="labels of type bool, int"):
        LocallyLinearClassifier(0).fit(X, with_gap(UP.astype(int).tolist(), True))


@pytest.mark.parametrize("y", [WORDS, pd.period_range("2020", periods=60, freq="D")])
def test_a_regressor_names_y_that_is_no_numbers(y):
    with pytest.raises(ValueError, match=r"needs a y of numbers.*Classifier"):
        LocallyLinearRegressor(0).fit(X, y)


def test_numbers_far_from_zero_are_predicted_as_near_to_it():
    y = 3.0 * X["x"].to_numpy()
    near = LocallyLinearRegressor(0, random_state=0).fit(X, y)
    far = LocallyLinearRegressor(0, random_state=0).fit(X, y + 1e9)
    assert near.encoder_.dtype == "float32"
    assert_allclose(far.predict(X) - 1e9, near.predict(X), atol=0.01)


def test_numbers_too_large_to_square_are_refused_without_a_warning():
    with pytest.raises(ValueError, match="squares leave the range"):
        LocallyLinearRegressor(random_state=0).fit(X, 1e300 * X["x"])


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (X.to_dict("list"), "X is a dict"),
        (X.to_dict("records"), "X is a list of dicts"),
    ],
)
def test_dicts_are_no_tables(rows, what):
    with pytest.raises(TypeError, match=rf"{what}.*pandas\.DataFrame"):
        LocallyLinearClassifier(0).fit(rows, WORDS)
    model = LocallyLinearClassifier(0, random_state=0).fit(X, WORDS)
    with pytest.raises(TypeError, match=rf"{what}.*pandas\.DataFrame"):
        model.predict(rows)


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": X["x"].to_numpy()})
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*collect"):
        LocallyLinearClassifier(0).fit(frame.lazy(), WORDS)
