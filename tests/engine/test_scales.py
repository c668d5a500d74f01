"""What is told of columns that an estimator cannot use as they are."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from locallin import (
    DULLSVMClassifier,
    EnsembleClassifier,
    FeatureScaleWarning,
    LLSVMClassifier,
    LLSVMClassifierCV,
    LocallyLinearClassifier,
    ML3Classifier,
)


def people(n=200):
    rng = np.random.RandomState(0)
    age, income = rng.uniform(20, 70, n), rng.uniform(1e4, 9e4, n)
    children = rng.randint(4, size=n)
    return np.column_stack([age, income, children]), (age > 40) ^ (children > 1)


@pytest.mark.parametrize(
    "model",
    [
        LLSVMClassifier(5),
        LLSVMClassifier("auto"),
        LLSVMClassifierCV(2, n_anchors=5),
        DULLSVMClassifier(5, max_iter=2),
        ML3Classifier(2, max_iter=2),
        EnsembleClassifier(DULLSVMClassifier(5, max_iter=2), 2),
    ],
    ids=lambda model: str(model).partition("(")[0],
)
def test_a_wide_column_is_told_once(model):
    X, y = people()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FeatureScaleWarning)
        model.fit(X, y)
    assert len(told) == 1
    text = str(told[0].message)
    assert "column 1" in text
    assert "StandardScaler" in text
    assert type(model).__name__ in text
    assert told[0].filename == __file__


def test_its_name_is_told():
    pandas = pytest.importorskip("pandas")
    X, y = people()
    frame = pandas.DataFrame(X, columns=["age", "income", "children"])
    with pytest.warns(FeatureScaleWarning, match="'income'"):
        LLSVMClassifier(5).fit(frame, y)


def test_nothing_is_told_of_scaled_sparse_constant_and_encoded_columns():
    X, y = people()
    constant = np.column_stack([X[:, [0, 2]], np.full(len(X), 1e9)])
    for rows in (
        StandardScaler().fit_transform(X),
        sparse.csr_matrix(X),
        X[:, [0, 2]],
        X[:, :1],
        constant / 1e7,
    ):
        LLSVMClassifier(5).fit(rows, y)
    LocallyLinearClassifier(effort=0, random_state=0).fit(X, y)


def test_the_first_block_of_a_stream_is_looked_at():
    X, y = people()
    model = LLSVMClassifier(5, solver="sgd", t0=1e4)
    with pytest.warns(FeatureScaleWarning):
        model.partial_fit(X, y, classes=[False, True])
    model.partial_fit(X, y)


def test_text_names_its_column_and_the_encoder():
    X, y = people(50)
    rows = X.astype(object)
    rows[:, 2] = "7"  # a number all the same
    rows[3, 1] = "rent"
    for given in (rows, rows.tolist(), rows.astype(str)):
        with pytest.raises(ValueError, match=r"column 1 \('rent'\).*TableEncoder"):
            LLSVMClassifier(5).fit(given, y)


@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_text_of_a_frame_names_its_column(kind):
    pandas = pytest.importorskip("pandas")
    X, y = people(50)
    frame = pandas.DataFrame(X, columns=["age", "income", "children"])
    frame["home"] = pandas.Series(["own", "rent"] * 25, dtype=kind)
    with pytest.raises(ValueError, match=r"'home' \('own'\).*LocallyLinearClassifier"):
        ML3Classifier(2).fit(frame, y)


def test_other_errors_stay():
    with pytest.raises(ValueError, match="NaN"):
        LLSVMClassifier(2).fit([[1.0, np.nan], [2.0, 1.0]], [0, 1])
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        LLSVMClassifier(2).fit([[{}, 1.0], [{}, 2.0]], [0, 1])
