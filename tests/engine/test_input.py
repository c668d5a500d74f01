"""Matrices that contradict themselves; and the caller's, which stay as they are."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.coding import AdaptiveCoding, InverseDistanceCoding
from locallin.data import as_batches
from locallin.data.blocks import joined
from locallin.engine.input import sound_matrix
from locallin.feature_maps import IntersectionSampler

CLASSIFIERS = [
    LLSVMClassifier(6, max_iter=5, tol=None, random_state=0),
    SAPLClassifier(6, max_iter=2, random_state=0),
    DULLSVMClassifier(6, max_iter=2, random_state=0),
    ML3Classifier(3, max_iter=2, random_state=0),
    AtlasClassifier(random_state=0),
    AtlasClassifier(kernel="linear", random_state=0),
]
TRANSFORMERS = [
    Atlas(random_state=0),
    InverseDistanceCoding(6, n_neighbors=3, random_state=0),
    AdaptiveCoding(6, random_state=0),
    IntersectionSampler(),
]


def name_of(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def table():
    """Sorted CSR rows without repetitions, and classes."""
    rng = np.random.RandomState(0)
    X = rng.rand(60, 9) * (rng.rand(60, 9) < 0.6)
    return sparse.csr_matrix(X), (X.sum(axis=1) > X.sum(axis=1).mean()).astype(int)


def lying(X, **changed):
    """A copy of X with other arrays, which scipy does not look at."""
    X = X.copy()
    for name, array in changed.items():
        setattr(X, name, array)
    return X


def changed_at(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def lies(X):
    """Matrices that would be read or written out of bounds, and what to look for."""
    start = X.indptr[7]
    swapped = X.indptr.copy()
    swapped[8] = swapped[7] - 1
    yield lying(X, indices=changed_at(X.indices, start, 9)), "row 7 .* index 9, of 9"
    yield lying(X, indices=changed_at(X.indices, start, 2**30)), "row 7 "
    yield lying(X, indices=changed_at(X.indices, start, -1)), "row 7 .* index -1"
    yield lying(X, indptr=swapped), "row 7 "
    yield lying(X, indptr=changed_at(X.indptr, 3, -5)), "row 2 "
    yield lying(X, indptr=changed_at(X.indptr, 0, 1)), "row 0 "
    yield lying(X, indptr=changed_at(X.indptr, -1, 10**6)), "row 59 "
    yield lying(X, indptr=X.indptr[:-1]), "indptr has 60 entries for 60 rows"
    yield lying(X, indices=X.indices[:-1]), "row 59 "
    yield lying(X, data=X.data[:-1]), "row 59 "
    yield lying(X, indices=X.indices.astype(float)), "indices holds float64"


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *TRANSFORMERS], ids=name_of)
def test_a_matrix_that_contradicts_itself_is_refused(estimator, table):
    X, y = table
    estimator.fit(X, y)
    use = getattr(estimator, "predict", None) or estimator.transform
    for wrong, message in lies(X):
        with pytest.raises(ValueError, match=message):
            estimator.fit(wrong, y)
        with pytest.raises(ValueError, match=message):
            use(wrong)


def test_other_formats_and_streams_are_checked(table):
    X, y = table
    column = X.tocsc()
    column.indices[column.indptr[4]] = 60
    with pytest.raises(ValueError, match=r"column 4 .* index 60, of 60"):
        sound_matrix(column)
    places = X.tocoo()
    places.col = changed_at(places.col, 5, 9)
    with pytest.raises(ValueError, match=r"entry 5 .* col 9, of 9"):
        sound_matrix(places)
    blocks = sparse.bsr_matrix(X[:, :8], blocksize=(2, 2))
    blocks.indices[0] = -4
    with pytest.raises(ValueError, match=r"row 0 .* index -4, of 4"):
        sound_matrix(blocks)
    for wrong, message in lies(X):
        with pytest.raises(ValueError, match=message):
            as_batches((wrong, y))
        with pytest.raises(ValueError, match=f"block 1: X .*{message}"):
            next(iter(as_batches([(wrong, y)])))
    graph = sparse.csr_matrix(np.roll(np.eye(60), 1, axis=1))
    graph = lying(graph, indices=np.full(60, 60))
    with pytest.raises(ValueError, match="graph is a sparse matrix"):
        Atlas().fit(X, graph=graph)


def reordered(X, rng):
    """The same matrix: entries unsorted, split in two, and zeros that are stored."""
    rows, columns = X.nonzero()
    values = np.asarray(X[rows, columns]).ravel()
    rows, columns = np.r_[rows, rows, 0, 5], np.r_[columns, columns, 0, 1]
    values = np.r_[values / 2, values / 2, 0.0, 0.0]
    order = np.lexsort((rng.permutation(len(rows)), rows))
    ends = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    parts = values[order], columns[order].astype(np.int32), ends.astype(np.int32)
    return sparse.csr_matrix(parts, shape=X.shape)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_repeated_unsorted_and_wide_entries_change_nothing(estimator, table):
    X, y = table
    expected = estimator.fit(X, y).decision_function(X)
    other = reordered(X, np.random.RandomState(1))
    wide = X.copy()
    wide.indices, wide.indptr = (a.astype(np.int64) for a in (X.indices, X.indptr))
    for same in (other, wide, sparse.csr_array(X), X.tocsc(), X.tocoo()):
        assert_array_equal(estimator.decision_function(same), expected)
        assert_array_equal(estimator.fit(same, y).decision_function(X), expected)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *TRANSFORMERS], ids=name_of)
def test_the_callers_matrix_stays_as_it_is(estimator, table):
    X, y = table
    weights = np.linspace(0.5, 2, len(y))
    given = reordered(X, np.random.RandomState(1))
    before = [a.tobytes() for a in (given.data, given.indices, given.indptr)]
    before += [y.tobytes(), weights.tobytes()]
    estimator.fit(given, y)
    if hasattr(estimator, "predict"):
        estimator.fit(given, y, weights)
        estimator.predict(given)
    else:
        estimator.transform(given)
    if hasattr(estimator, "partial_fit"):
        estimator.partial_fit(given, y, sample_weight=weights)
        estimator.fit_stream([(given, y, weights)] * 2, buffer_size=50)
    after = [a.tobytes() for a in (given.data, given.indices, given.indptr)]
    assert before == [*after, y.tobytes(), weights.tobytes()]


def test_a_stream_does_not_widen_the_callers_blocks(table):
    X, y = table
    narrow = X[:, :7]
    assert joined([(narrow, y), (X, y)])[0].shape == (120, 9)
    assert narrow.shape == (60, 7)


def test_threads_share_an_unsorted_matrix(table):
    X, y = table
    X = sparse.vstack([X] * 50, format="csr")
    model = LLSVMClassifier(6, max_iter=5, tol=None, random_state=0)
    model.fit(X[:60], y)
    expected = model.decision_function(X)
    given = reordered(X, np.random.RandomState(1))
    found = []

    def score():
        found.append(model.decision_function(given))

    threads = [threading.Thread(target=score) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for scores in found:
        assert_array_equal(scores, expected)


@pytest.mark.in_turn
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_changes_nothing(estimator, dtype, table):
    X, y = table
    dense = X.toarray().astype(dtype)
    expected = estimator.fit(dense, y).decision_function(dense)
    frozen = dense.copy()
    frozen.setflags(write=False)
    spread = np.zeros((60, 18), dtype)
    spread[:, ::2] = dense
    swapped = dense.astype(dense.dtype.newbyteorder("S"))
    for same in (np.asfortranarray(dense), frozen, spread[:, ::2], swapped):
        before = same.tobytes()
        assert_array_equal(estimator.decision_function(same), expected)
        scores = estimator.fit(same, y).decision_function(dense)
        assert scores.dtype == dtype
        assert_array_equal(scores, expected)
        assert same.tobytes() == before
