"""SVM-KNN: the machine of each row, its weights, its refusals."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from locallin import DULLSVMClassifier, distill
from locallin.rivals import SVMKNNClassifier


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_each_row_has_the_machine_of_its_neighbours(kernel):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    clf = SVMKNNClassifier(12, kernel=kernel, C=3).fit(X[::2], names[::2])
    expected = []
    for x in X[1::2]:
        near = np.argsort(((X[::2] - x) ** 2).sum(axis=1), kind="stable")[:12]
        labels = names[::2][near]
        if len(set(labels)) > 1:
            machine = SVC(kernel=kernel, C=3).fit(X[::2][near], labels)
            labels = machine.predict(x[None])
        expected.append(labels[0])
    assert np.mean(clf.predict(X[1::2]) == expected) > 0.98  # ties of distance


def test_all_rows_are_one_machine_and_one_neighbour_is_the_nearest():
    X, y = make_moons(120, noise=0.3, random_state=0)
    everything = SVMKNNClassifier(120).fit(X, y)
    assert_array_equal(everything.predict(X), SVC(kernel="linear").fit(X, y).predict(X))
    nearest = KNeighborsClassifier(1).fit(X[:60], y[:60])
    own = SVMKNNClassifier(1).fit(X[:60], y[:60])
    assert_array_equal(own.predict(X), nearest.predict(X))


def test_threads_weights_and_pickles():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    weights = np.r_[np.ones(300), np.zeros(300)]
    clf = SVMKNNClassifier(10, n_jobs=2).fit(X, y, weights)
    assert len(clf.X_) == 300
    alone = SVMKNNClassifier(10).fit(X[:300], y[:300])
    assert_array_equal(clf.predict(X[300:]), alone.predict(X[300:]))
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict(X[300:320]), clf.predict(X[300:320]))
    clf.y_ = clf.y_ + 10
    with pytest.raises(ValueError, match="y_"):
        pickle.loads(pickle.dumps(clf))


def test_sparse_rows_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="parse"):
        SVMKNNClassifier().fit(sparse.csr_matrix(X), y)


def test_probabilities_are_had_from_a_pupil():
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = SVMKNNClassifier(20).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "distill" in str(error.value.__cause__)
    pupil = DULLSVMClassifier(8, loss="multinomial", random_state=0)
    pupil = distill(model, X, estimator=pupil)
    assert (pupil.predict_proba(X).argmax(axis=1) == y).mean() > 0.95
