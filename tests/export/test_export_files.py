"""Files in skops' format, and pickles in a fresh process."""

import doctest
import os
import pickle
import subprocess
import sys
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from locallin import (
    AdaptiveCoding,
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    IntersectionSampler,
    InverseDistanceCoding,
    LLSVMClassifier,
    LLSVMClassifierCV,
    LocallyLinearClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
    SoftAssignmentCoding,
)
from locallin.export import compress, files, load, save


class Doubler(StandardScaler):
    """A transformer that nobody knows."""


CLASSIFIERS = {
    "llsvm": LLSVMClassifier(8, random_state=np.random.RandomState(0)),
    "llsvm-mapped": LLSVMClassifier(
        8, feature_map=IntersectionSampler(), random_state=0
    ),
    "llsvm-coding": LLSVMClassifier(coding=AdaptiveCoding(8, random_state=0)),
    "llsvm-groups": LLSVMClassifier(20, n_probes=2, random_state=0),
    "cv": LLSVMClassifierCV(
        n_anchors=6, alphas=2, cv=StratifiedKFold(2), random_state=0
    ),
    "sapl": SAPLClassifier(8, max_iter=5, random_state=0),
    "sapl-stream": SAPLClassifier(8, solver="sgd", max_iter=2, random_state=0),
    "du": DULLSVMClassifier(8, max_iter=5, random_state=0),
    "ml3": ML3Classifier(4, max_iter=5, random_state=0),
    "atlas": AtlasClassifier(random_state=0),
    "atlas-linear": AtlasClassifier(kernel="linear", random_state=0),
}
TRANSFORMERS = (
    AdaptiveCoding(8, random_state=0),
    SoftAssignmentCoding(8, n_neighbors=4, random_state=0),
    InverseDistanceCoding(8, n_neighbors=4, random_state=0),
    IntersectionSampler(),
    PiecewiseLinearEncoder(),
    Atlas(random_state=0),
)


@pytest.fixture
def file(tmp_path):
    pytest.importorskip("skops")
    return tmp_path / "model.skops"


def same(model, X, file, method="decision_function"):
    save(model, file)
    again = load(file)
    assert type(again) is type(model)
    wanted, found = getattr(model, method)(X), getattr(again, method)(X)
    difference = abs(found - wanted)
    assert difference.max() == 0


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_come_back_the_same(name, blobs, file):
    X, y, _ = blobs
    X = np.abs(X)
    model = CLASSIFIERS[name].fit(X, y)
    same(model, X, file)
    same(compress(model, dtype="float16"), X, file)


@pytest.mark.parametrize("model", TRANSFORMERS, ids=lambda m: type(m).__name__)
def test_transformers_come_back_the_same(model, blobs, file):
    X = np.abs(blobs[0])
    same(model.fit(X), X, file, "transform")


def test_a_pipeline_a_frozen_atlas_and_a_stream(blobs, file):
    X, y, _ = blobs
    pipe = make_pipeline(StandardScaler(), LLSVMClassifier(6, random_state=0))
    same(pipe.fit(X, y), X, file)
    atlas = FrozenEstimator(Atlas(random_state=0).fit(X))
    same(AtlasClassifier(atlas, random_state=0).fit(X, y), X, file)
    stream = LLSVMClassifier(6, solver="sgd", random_state=0)
    same(stream.partial_fit(X, y, classes=np.arange(5)), X, file)


def test_unknown_types_are_refused(blobs, file):
    X, y, _ = blobs
    pipe = make_pipeline(Doubler(), LLSVMClassifier(6, random_state=0)).fit(X, y)
    with pytest.raises(TypeError, match=r"holds .*Doubler, which load would not"):
        save(pipe, file)
    assert not file.exists()
    save(pipe, file, trusted=[Doubler])
    with pytest.raises(ValueError, match=r"holds .*Doubler, which are no types"):
        load(file)
    np.testing.assert_array_equal(
        load(file, trusted=[Doubler]).predict(X), pipe.predict(X)
    )


def test_damaged_and_foreign_files(blobs, file):
    X, y, _ = blobs
    model = LLSVMClassifier(6, random_state=0).fit(X, y)
    save(model, file)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 0xFF
    for content in (b"", whole[: len(whole) // 2], bytes(flipped), pickle.dumps(model)):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read: it is damaged"):
            load(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("other.txt", "nothing of ours")
    with pytest.raises(ValueError, match="cannot be read"):
        load(file)
    with pytest.raises(FileNotFoundError):
        load(file.with_suffix(".none"))


def test_pickles_load_in_a_fresh_process(blobs, tmp_path):
    X, y, _ = blobs
    model = LLSVMClassifier(6, random_state=0).fit(X, y)
    small = compress(model, dtype="float16")
    for i, each in enumerate((model, small)):
        joblib.dump((each, X, each.decision_function(X)), tmp_path / f"{i}.joblib")
    program = """
import sys, joblib
for path in sys.argv[1:]:
    model, X, wanted = joblib.load(path)
    assert (model.decision_function(X) == wanted).all()
"""
    paths = [str(tmp_path / f"{i}.joblib") for i in range(2)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program, *paths], check=True, env=environment)


def test_importing_the_package_imports_no_export():
    program = """
import sys, locallin
from locallin import LLSVMClassifier
assert "locallin.export" not in sys.modules
import locallin.export
assert not {"onnx", "skl2onnx", "onnxruntime", "skops"} & set(sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_missing_packages_are_named(monkeypatch, tmp_path):
    from locallin.export import to_onnx

    model = LLSVMClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    for name in ("skops", "skops.io", "skl2onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"skops is missing: .*'\.\[io\]'"):
        save(model, tmp_path / "model.skops")
    with pytest.raises(ImportError, match=r"skl2onnx is missing: .*'\.\[onnx\]'"):
        to_onnx(model)


def test_examples(file):
    for test in doctest.DocTestFinder().find(files):
        for example in test.examples:
            example.options.pop(doctest.SKIP, None)
        assert doctest.DocTestRunner().run(test).failed == 0


def test_pipelines_for_tables(file):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {"a": rng.normal(size=80), "b": rng.choice(["x", "y"], 80), "c": np.arange(80)}
    )
    X.loc[3, "a"] = np.nan
    y = (X["c"] > 40).to_numpy()
    columns = make_column_transformer(
        (
            make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (OneHotEncoder(handle_unknown="ignore"), ["b"]),
    )
    pipe = make_pipeline(columns, LLSVMClassifier(4, random_state=0))
    same(pipe.fit(X, y), X, file)
    calibrated = CalibratedClassifierCV(pipe, ensemble=False, cv=3).fit(X, y)
    same(calibrated, X, file, "predict_proba")
    chosen = TunedThresholdClassifierCV(calibrated, cv=2).fit(X, y)
    same(chosen, X, file, "predict_proba")
    same(LocallyLinearClassifier(0, random_state=0).fit(X, y), X, file)


def with_versions(file, told):
    """Rewrite a file as if other versions had written it."""
    content = {}
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            content[name] = archive.read(name)
    content["locallin.json"] = told
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in content.items():
            archive.writestr(name, part)


def test_versions_that_wrote_a_file(blobs, file):
    X, y, _ = blobs
    save(LLSVMClassifier(6, random_state=0).fit(X, y), file)
    load(file)  # without a word
    with_versions(file, '{"locallin": "7.3.1", "scikit-learn": "0.20.0"}')
    with pytest.warns(UserWarning, match=r"locallin 7\.3\.1 \(here .*scikit-learn 0\."):
        load(file)
    for told in ("[1]", "no JSON", '{"locallin": ', '{"other": "1"}', " " * 10_000):
        with_versions(file, told)
        load(file)


def test_versions_whose_bytes_are_damaged_tell_nothing(blobs, file):
    X, y, _ = blobs
    save(LLSVMClassifier(6, random_state=0).fit(X, y), file)
    with zipfile.ZipFile(file) as archive:
        told = archive.getinfo("locallin.json")
    content = bytearray(file.read_bytes())
    start = told.header_offset + 30 + len(told.filename)
    content[start : start + 20] = b"\xff" * 20
    file.write_bytes(content)
    load(file)


def test_a_file_that_cannot_work_names_its_versions(blobs, file):
    X, y, _ = blobs
    save(LLSVMClassifier(6, random_state=0).fit(X, y), file)
    with_versions(file, '{"locallin": "7.3.1"}')
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["schema.json"] = parts["schema.json"].replace(b'"coef_"', b'"weights_"')
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    with pytest.raises(ValueError, match=r"written by locallin 7\.3\.1"):
        load(file)


def test_types_that_are_trusted_are_named_once():
    names = files.trusted_types()
    assert len(set(names)) == len(names)
    assert "locallin.encoding.table.TableEncoder" in names
