"""ONNX graphs under onnxruntime against the estimators."""

import doctest

import numpy as np
import pytest
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    EnsembleClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    LLSVMClassifierCV,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
)
from locallin.coding import (
    AdaptiveCoding,
    InverseDistanceCoding,
    SoftAssignmentCoding,
)
from locallin.export import onnx as export

runtime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")


def session_of(model, **options):
    graph = export.to_onnx(model, **options).SerializeToString()
    return runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])


def run(session, X):
    return session.run(None, {"X": X.astype(np.float32)})


def close(found, wanted):
    __tracebackhide__ = True
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * scale)


def rounded(X):
    """Numbers that single precision has, in double."""
    return X.astype(np.float32).astype(float)


def check_classifier(model, X, **options):
    session = session_of(model, **options)
    assert [o.name for o in session.get_outputs()] == ["label", "scores"]
    X = rounded(X)
    labels, scores = run(session, X)
    wanted = model.decision_function(X).reshape(len(X), -1)
    assert scores.dtype == np.float32
    close(scores, wanted)
    np.testing.assert_array_equal(labels, model.predict(X))
    for i in range(3):
        label, score = run(session, X[i : i + 1])
        close(score, wanted[i : i + 1])
        assert label == labels[i]


CLASSIFIERS = {
    "inverse-groups": LLSVMClassifier(
        40, coding="inverse-distance", n_neighbors=9, n_probes=1, random_state=0
    ),
    "du-groups": DULLSVMClassifier(
        40, n_probes=2, metric="linear", n_dimensions=3, max_iter=3, random_state=0
    ),
    "adaptive": LLSVMClassifier(12, random_state=0),
    "soft": LLSVMClassifier(12, coding="soft", n_neighbors=5, random_state=0),
    "inverse-distance": LLSVMClassifier(
        12, coding="inverse-distance", n_neighbors=4, random_state=0
    ),
    "constant": LLSVMClassifier(20, local_model="constant", random_state=0),
    "one-anchor": LLSVMClassifier(1, random_state=0),
    "cv": LLSVMClassifierCV(n_anchors=6, alphas=2, cv=2, random_state=0),
    "sapl": SAPLClassifier(8, max_iter=5, random_state=0),
    "sapl-shared": SAPLClassifier(8, bandwidth="shared", max_iter=5, random_state=0),
    "du": DULLSVMClassifier(8, max_iter=5, random_state=0),
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
    "atlas-rbf": AtlasClassifier(random_state=0),
    "atlas-linear": AtlasClassifier(kernel="linear", random_state=0),
    "atlas-quadratic": AtlasClassifier(kernel="quadratic", random_state=0),
    "atlas-cross": AtlasClassifier(kernel="quadratic-cross", random_state=0),
    "atlas-hard": AtlasClassifier(kernel="linear", assignment="hard", random_state=0),
    "atlas-hard-raw": AtlasClassifier(
        assignment="hard", n_nearest=2, normalize=False, random_state=0
    ),
    "atlas-raw": AtlasClassifier(normalize=False, random_state=0),
    "atlas-ovo": AtlasClassifier(multi_class="ovo", random_state=0),
}


@pytest.mark.in_turn
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_classifiers(name, n_classes, blobs):
    X, y, _ = blobs
    model = CLASSIFIERS[name].fit(X, y % n_classes)
    check_classifier(model, X, raw_scores=hasattr(model, "predict_proba"))


@pytest.mark.parametrize("coding", [InverseDistanceCoding, AdaptiveCoding])
def test_rows_on_anchors(coding, blobs):
    X, y, _ = blobs
    X = rounded(X)
    model = LLSVMClassifier(coding=coding(anchors=X[:9].copy())).fit(X, y)
    check_classifier(model, X)


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "model",
    [
        LLSVMClassifier(6, loss="logistic", random_state=0),
        SAPLClassifier(6, loss="multinomial", max_iter=5, random_state=0),
        LLSVMClassifier(6, loss="logistic", class_weight={0: 3.0}, random_state=0),
        ML3Classifier(4, max_iter=5, probability=True, random_state=0),
        AtlasClassifier(probability=True, random_state=0),
        EnsembleClassifier(
            SAPLClassifier(6, max_iter=5, probability=True), 2, random_state=0
        ),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_probabilities_and_raw_scores(n_classes, model, blobs):
    X, y, _ = blobs
    X = rounded(X)
    model.fit(X, y % n_classes)
    session = session_of(model)
    assert [o.name for o in session.get_outputs()] == ["label", "probabilities"]
    labels, probabilities = run(session, X)
    close(probabilities, model.predict_proba(X))
    np.testing.assert_array_equal(labels, model.predict(X))
    check_classifier(model, X, raw_scores=True)


def test_in_a_pipeline_with_names_of_classes(blobs):
    X, y, _ = blobs
    X = 30 * X + 100
    names = np.array(["ä", "b", "c", "d", "e"])
    pipe = make_pipeline(StandardScaler(), LLSVMClassifier(8, random_state=0))
    pipe.fit(X, names[y])
    check_classifier(pipe, X)
    export.register()
    graph = skl2onnx.to_onnx(pipe, X[:1].astype(np.float32))
    assert [o.name for o in graph.graph.output] == ["label", "scores"]


@pytest.mark.in_turn
@pytest.mark.parametrize("space", ["input", "mapped"])
@pytest.mark.parametrize(
    "feature_map",
    [IntersectionSampler(), PiecewiseLinearEncoder(3), AdditiveChi2Sampler()],
)
def test_feature_maps_of_a_classifier(feature_map, space, blobs):
    X, y, _ = blobs
    X = rounded(np.abs(X))
    model = LLSVMClassifier(
        5, feature_map=feature_map, coding_space=space, random_state=0
    ).fit(X, y)
    if isinstance(feature_map, AdditiveChi2Sampler):
        with pytest.raises(TypeError, match="no converter for feature_map=Additive"):
            export.to_onnx(model)
    else:
        check_classifier(model, X)
    model.set_params(feature_map=MinMaxScaler()).fit(X, y)
    check_classifier(model, X)


TRANSFORMERS = {
    "adaptive": AdaptiveCoding(12, random_state=0),
    "soft": SoftAssignmentCoding(12, n_neighbors=5, random_state=0),
    "inverse-distance": InverseDistanceCoding(12, n_neighbors=4, random_state=0),
    "waves": IntersectionSampler(),
    "one-wave": IntersectionSampler(sample_steps=1),
    "bins": PiecewiseLinearEncoder(),
    "atlas": Atlas(random_state=0),
    "atlas-coordinates": Atlas(output="coordinates", random_state=0),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name, blobs):
    X = rounded(np.abs(blobs[0]))
    X[0] = 0
    model = TRANSFORMERS[name].fit(X)
    session = session_of(model)
    wanted = model.transform(X)
    wanted = wanted if isinstance(wanted, np.ndarray) else wanted.toarray()
    close(run(session, X)[0], wanted)
    close(run(session, X[:1])[0], wanted[:1])
    piped = make_pipeline(StandardScaler(with_mean=False), model).fit(X)
    assert run(session_of(piped), X)[0].shape == piped.transform(X).shape


@pytest.mark.parametrize("opset", [13, 15, 18])
def test_missing_values_behind_an_encoder(opset, blobs):
    X, y, _ = blobs
    X = rounded(X * 100 + 1e5)
    X[::7, 2] = np.nan
    X[3] = np.nan
    for settings in ({}, {"outliers": "extend", "strategy": "tree", "missing": "all"}):
        encoder = PiecewiseLinearEncoder(5, **settings)
        steps = encoder, LLSVMClassifier(6, random_state=0)
        check_classifier(make_pipeline(*steps).fit(X, y), X, target_opset=opset)


@pytest.mark.parametrize("opset", [13, 15, 18])
def test_older_operators(opset, blobs):
    X, y, _ = blobs
    for name in ("adaptive", "sapl", "ml3", "atlas-rbf"):
        check_classifier(CLASSIFIERS[name].fit(X, y), X, target_opset=opset)


def test_real_images(digits):
    X, y, X_test, _ = digits
    check_classifier(LLSVMClassifier(30, random_state=0).fit(X, y), X_test)


def test_what_cannot_be_converted_is_refused(blobs):
    X, y, _ = blobs
    model = LLSVMClassifier(3, random_state=0)
    with pytest.raises(ValueError, match="target_opset=9 is too old"):
        export.to_onnx(model.fit(X, y), target_opset=9)
    with pytest.raises(TypeError, match="integers or strings"):
        export.to_onnx(model.fit(X, y + 0.0))
    with pytest.raises(ValueError, match="a setting of this library's classifiers"):
        export.to_onnx(FunctionTransformer().fit(X), raw_scores=True)


def test_thresholds_are_refused_with_a_remedy(moons):
    model = LLSVMClassifier(4, loss="logistic", random_state=0)
    model = FixedThresholdClassifier(model).fit(*moons)
    with pytest.raises(TypeError, match="export its estimator_"):
        export.to_onnx(model)


def test_examples():
    for test in doctest.DocTestFinder().find(export):
        for example in test.examples:
            example.options.pop(doctest.SKIP, None)
        assert doctest.DocTestRunner().run(test).failed == 0
