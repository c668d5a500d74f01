"""The C header against decision_function, compiled with the system's compiler."""

import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)

from locallin import (
    AtlasClassifier,
    DULLSVMClassifier,
    EnsembleClassifier,
    LLSVMClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.coding import AdaptiveCoding, InverseDistanceCoding
from locallin.export import to_c

COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
FLAGS += ["-Wunused-const-variable"]  # as where the header is no file of its own
PROGRAM = """
#include <stdio.h>
#include "net.h"

int main(void)
{
    float x[NET_FEATURES], scores[NET_SCORES];
    for (;;) {
        for (int i = 0; i < NET_FEATURES; i++)
            if (scanf("%f", &x[i]) != 1)
                return 0;
        net_scores(x, scores);
        printf("%d", net_predict(x));
        for (int c = 0; c < NET_SCORES; c++)
            printf(" %.9g", (double)scores[c]);
        printf("\\n");
    }
}
"""


def run(header, X, folder):
    """Indices of classes, and scores, from a compiled header."""
    table = run_program(PROGRAM, header, X, folder)
    return table[:, 0].astype(int), table[:, 1:]


def run_program(text, header, X, folder):
    """The numbers that a program writes for the rows."""
    (folder / "net.h").write_text(header)
    (folder / "main.c").write_text(text)
    program = folder / "net"
    command = [COMPILER, *FLAGS, "-o", program, folder / "main.c", "-lm"]
    subprocess.run(command, check=True)
    rows = "\n".join(" ".join(f"{v:.9g}" for v in row) for row in X)
    answer = subprocess.run(
        [program], input=rows, text=True, capture_output=True, check=True
    )
    return np.array([line.split() for line in answer.stdout.splitlines()], float)


def check(model, X, folder):
    X = X.astype(np.float32)
    winners, scores = run(to_c(model, "net"), X, folder)
    rows = X.astype(float)
    wanted = model.decision_function(rows).reshape(len(X), -1)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-5 * scale)
    clear = np.abs(wanted[:, 0]) > 1e-4 * scale
    if wanted.shape[1] > 1:
        best = np.sort(wanted, axis=1)
        clear = best[:, -1] - best[:, -2] > 1e-4 * scale
    predicted = model.classes_[winners]
    np.testing.assert_array_equal(predicted[clear], model.predict(rows)[clear])


PROBABILITIES = """
#include <stdio.h>
#include "net.h"

int main(void)
{
    float x[NET_FEATURES], proba[NET_CLASSES];
    for (;;) {
        for (int i = 0; i < NET_FEATURES; i++)
            if (scanf("%f", &x[i]) != 1)
                return 0;
        net_proba(x, proba);
        for (int c = 0; c < NET_CLASSES; c++)
            printf(" %.9g", (double)proba[c]);
        printf("\\n");
    }
}
"""


MODELS = {
    "adaptive-groups": LLSVMClassifier(40, n_probes=2, random_state=0),
    "soft-groups": SAPLClassifier(
        40, n_neighbors=9, n_probes=1, metric="scale", max_iter=3, random_state=0
    ),
    "adaptive": LLSVMClassifier(12, random_state=0),
    "soft": LLSVMClassifier(12, coding="soft", n_neighbors=5, random_state=0),
    "inverse-distance": LLSVMClassifier(
        12, coding="inverse-distance", n_neighbors=4, random_state=0
    ),
    "constant": LLSVMClassifier(20, local_model="constant", random_state=0),
    "one-anchor": LLSVMClassifier(1, random_state=0),
    "sapl-per-anchor": SAPLClassifier(8, max_iter=5, random_state=0),
    "sapl-shared": SAPLClassifier(8, bandwidth="shared", max_iter=5, random_state=0),
    "du-per-anchor": DULLSVMClassifier(8, max_iter=5, random_state=0),
    "du-shared": DULLSVMClassifier(8, bandwidth="shared", max_iter=5, random_state=0),
    "sapl-scale": SAPLClassifier(8, metric="scale", max_iter=5, random_state=0),
    "du-linear": DULLSVMClassifier(
        8, metric="linear", n_dimensions=3, max_iter=5, random_state=0
    ),
    "mean": EnsembleClassifier(
        SAPLClassifier(6, metric="linear", max_iter=3), 3, random_state=0
    ),
    "ml3": ML3Classifier(4, max_iter=5, random_state=0),
    "ml3-max": ML3Classifier(4, p=1.0, max_iter=5, random_state=0),
    "ml3-power": ML3Classifier(4, p=1.2, max_iter=5, random_state=0),
    "ml3-square": ML3Classifier(4, p=2.0, max_iter=5, random_state=0),
}


@pytest.mark.in_turn
@needs_compiler
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_scores_and_classes_are_those_of_the_estimator(
    name, n_classes, blobs, tmp_path
):
    X, y, _ = blobs
    check(MODELS[name].fit(X, y % n_classes), X, tmp_path)


@needs_compiler
@pytest.mark.parametrize(
    "coding", [InverseDistanceCoding, AdaptiveCoding], ids=lambda c: c.__name__
)
def test_rows_on_anchors(coding, blobs, tmp_path):
    X, y, _ = blobs
    X = X.astype(np.float32)
    model = LLSVMClassifier(coding=coding(anchors=X[:9].copy())).fit(X, y)
    check(model, X[:20], tmp_path)


@needs_compiler
def test_pipeline_of_scalers(tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X * [1, 10, 100, 0.01] + [5, -300, 0, 1]
    scalers = MaxAbsScaler(), StandardScaler(), MinMaxScaler((-1, 2))
    pipe = make_pipeline(*scalers, LLSVMClassifier(6, random_state=0)).fit(X, y)
    check(pipe, X, tmp_path)


@needs_compiler
def test_names_of_classes(blobs, tmp_path):
    X, y, _ = blobs
    names = np.array(['say "a"', "b\\n", "ü@?", "d??/", "e"])
    model = LLSVMClassifier(5, random_state=0).fit(X, names[y])
    header = to_c(model, "net")
    assert '"say \\042a\\042"' in header
    check(model, X, tmp_path)
    integers = LLSVMClassifier(5, random_state=0).fit(X, y - 2)
    assert "long long net_classes[5] = {\n    -2LL, -1LL," in to_c(integers, "net")


@needs_compiler
def test_stack_is_what_the_header_says(blobs, tmp_path):
    X, y, _ = blobs
    header = to_c(MODELS["adaptive"].fit(X, y))
    assert "at most 68 bytes" in " ".join(header.replace(" * ", "").split())


def test_numbers_are_exact():
    from locallin.export.c import _number

    values = np.random.RandomState(0).normal(size=1000).astype(np.float32)
    for value in [*values, np.float32(1), np.float32(0), np.float32(1e-42)]:
        text = _number(value)
        assert np.float32(text.rstrip("f")) == value
        assert "." in text or "e" in text


@pytest.mark.in_turn
@needs_compiler
@pytest.mark.parametrize("settings", [{}, {"outliers": "extend", "scaling": None}])
@pytest.mark.parametrize("kind", [LLSVMClassifier, ML3Classifier])
def test_pipeline_with_an_encoder(kind, settings, blobs, tmp_path):
    X, y, _ = blobs
    X[::7, 2] = np.nan
    X[3] = np.nan
    steps = (
        StandardScaler(),
        PiecewiseLinearEncoder(5, strategy="tree", **settings),
        MinMaxScaler((-1, 1)),
        MaxAbsScaler(),
    )
    pipe = make_pipeline(*steps, kind(6, random_state=0)).fit(X, y)
    check(pipe, X, tmp_path)
    far = np.float32(100 * X + 1e5)  # between two of them no float has the middle
    pipe = make_pipeline(*steps[1:2], kind(6, random_state=0)).fit(far, y)
    check(pipe, far, tmp_path)


@needs_compiler
@pytest.mark.parametrize(
    ("space", "local"),
    [("input", "linear"), ("mapped", "linear"), ("mapped", "constant")],
)
def test_an_encoder_as_a_feature_map(space, local, blobs, tmp_path):
    X, y, _ = blobs
    model = LLSVMClassifier(
        6,
        feature_map=PiecewiseLinearEncoder(3),
        coding_space=space,
        local_model=local,
        random_state=0,
    )
    check(model.fit(X.astype(np.float32), y), X, tmp_path)


def test_what_cannot_be_written_is_refused(blobs):
    X, y, _ = blobs
    model = LLSVMClassifier(3, random_state=0).fit(X, y)
    for name in ("", "2a", "a-b", "ä"):
        with pytest.raises(ValueError, match="cannot begin a name in C"):
            to_c(model, name)
    with pytest.raises(TypeError, match="no AtlasClassifier"):
        to_c(AtlasClassifier(random_state=0).fit(X, y))
    with pytest.raises(TypeError, match="no Normalizer in a pipeline"):
        to_c(make_pipeline(Normalizer(), model).fit(X, y))
    mapped = LLSVMClassifier(3, feature_map=AdditiveChi2Sampler(), random_state=0)
    with pytest.raises(TypeError, match="PiecewiseLinearEncoder as a feature map"):
        to_c(mapped.fit(np.abs(X), y))
    model.coef_ = model.coef_ * 1e60
    with pytest.raises(ValueError, match="outside the range of C's float"):
        to_c(model)


class OwnCoding(InverseDistanceCoding):
    kind = None

    def encode(self, rows, n_jobs=None):
        usual = InverseDistanceCoding(20, anchors=self.anchors_)
        return usual.fit(self.anchors_).encode(rows, n_jobs)


def test_a_coding_of_ones_own_is_refused(moons):
    model = LLSVMClassifier(coding=OwnCoding(20, random_state=0)).fit(*moons)
    with pytest.raises(TypeError, match="OwnCoding is a coding that only Python"):
        to_c(model)


@pytest.mark.in_turn
@needs_compiler
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LLSVMClassifier(6, loss="logistic", class_weight={0: 3.0}, random_state=0),
        SAPLClassifier(6, loss="multinomial", max_iter=3, random_state=0),
        DULLSVMClassifier(6, max_iter=3, probability=True, random_state=0),
        ML3Classifier(4, max_iter=3, probability=True, random_state=0),
    ],
    ids=["logistic", "multinomial", "calibrated", "ml3"],
)
def test_probabilities(model, n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model.fit(X, y % n_classes)
    found = run_program(PROBABILITIES, to_c(model, "net"), X, tmp_path)
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-5)
    assert "_proba" not in to_c(LLSVMClassifier(3, random_state=0).fit(X, y))


@pytest.mark.parametrize(
    "outer", [TunedThresholdClassifierCV, FixedThresholdClassifier]
)
def test_thresholds_are_refused_with_a_remedy(outer, moons):
    model = outer(LLSVMClassifier(4, loss="logistic", random_state=0)).fit(*moons)
    with pytest.raises(TypeError, match="export its estimator_"):
        to_c(model)
    with pytest.raises(TypeError, match="export its estimator_"):
        to_c(make_pipeline(StandardScaler(), model).fit(*moons))
