"""A row has the same results alone, in any batch, and in any order: to the bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)

MODELS = {
    "llsvm": LLSVMClassifier(9, random_state=0),
    "llsvm-soft": LLSVMClassifier(9, coding="soft", random_state=0),
    "llsvm-near": LLSVMClassifier(9, coding="inverse-distance", n_neighbors=3),
    "llsvm-map": LLSVMClassifier(9, feature_map=IntersectionSampler(), random_state=0),
    "llsvm-logistic": LLSVMClassifier(9, loss="logistic", random_state=0),
    "sapl": SAPLClassifier(9, max_iter=2, random_state=0),
    "dullsvm": DULLSVMClassifier(9, max_iter=2, random_state=0),
    "ml3": ML3Classifier(7, max_iter=2, random_state=0),
    "ml3-p1": ML3Classifier(3, p=1, max_iter=2, random_state=0),
    "ml3-p4": ML3Classifier(3, p=4, max_iter=2, random_state=0),
    "rbf": AtlasClassifier(Atlas(3, random_state=0), random_state=0),
    "rbf-ovo": AtlasClassifier(Atlas(3, random_state=0), multi_class="ovo"),
    "linear": AtlasClassifier(Atlas(3, random_state=0), kernel="linear"),
    "quadratic": AtlasClassifier(Atlas(3, random_state=0), kernel="quadratic"),
    "cross": AtlasClassifier(Atlas(3, random_state=0), kernel="quadratic-cross"),
    "hard": AtlasClassifier(Atlas(3, random_state=0), assignment="hard"),
}
FUNCTIONS = "decision_function", "predict_proba", "local_coef", "local_intercept"


def _data(n_features: int, n_classes: int, dtype):
    X, y = make_blobs(
        150, n_features, centers=3 * n_classes, cluster_std=3.0, random_state=1
    )
    X -= X.min(axis=0)
    return X.astype(dtype), y % n_classes


@pytest.mark.in_turn
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n_features", "n_classes"), [(5, 3), (37, 2), (131, 7)])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_has_the_same_bits_in_any_batch(name, n_features, n_classes, dtype):
    X, y = _data(n_features, n_classes, dtype)
    model = MODELS[name].fit(X, y)
    rng = np.random.default_rng(0)
    parts = [[0], [149], [3, 3], rng.permutation(150), *np.split(np.arange(150), [53])]
    for function in FUNCTIONS:
        if not hasattr(model, function):
            continue
        use = getattr(model, function)
        for form in (np.asarray, sparse.csr_matrix):
            together = use(form(X))
            for rows in parts:
                assert_array_equal(use(form(X[rows])), together[rows], function)


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("output", ["weights", "coordinates"])
def test_a_row_has_the_same_bits_on_charts(output, dtype):
    X, _ = _data(37, 2, dtype)
    atlas = Atlas(3, output=output, random_state=0).fit(X)
    for use in (atlas.transform, atlas.reconstruction_errors):
        together = use(X)
        for rows in ([0], [149, 7], [5, 6, 7]):
            alone = use(X[rows])
            difference = abs(alone - together[rows])
            assert difference.max() == 0
