"""Cases that once ended badly, and a thousand new ones."""

import io
import json
import os
import pickle
import warnings
import zipfile
from collections import Counter

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from locallin import (
    AdaptiveCoding,
    AtlasClassifier,
    DULLSVMClassifier,
    EnsembleClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    LLSVMClassifierCV,
    ML3Classifier,
    SAPLClassifier,
    SoftAssignmentCoding,
)
from locallin.data import DataError, batches, read, write_predictions
from locallin.engine.invariants import InvalidModelError
from locallin.export import compress, load, save, trusted_types
from locallin.streams.state import LearningState

from . import cases, runner
from .model_files import rows


def changed(model, path, value):
    """A pickle of the model, with another value at a path such as coding_.anchors_."""
    model = pickle.loads(pickle.dumps(model))
    *parts, name = path.split(".")
    holder = model
    for part in parts:
        holder = vars(holder)[part] if not isinstance(holder, dict) else holder[part]
    if isinstance(holder, dict):
        holder[name] = value(holder[name])
    else:
        setattr(holder, name, value(getattr(holder, name)))
    return pickle.dumps(model)


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    return {
        "llsvm": LLSVMClassifier(5, coding="soft", random_state=0).fit(X, y),
        "sapl": SAPLClassifier(5, random_state=0).partial_fit(X, y, classes=[0, 1, 2]),
        "ml3": ML3Classifier(3, random_state=0).partial_fit(X, y, classes=[0, 1, 2]),
        "atlas": AtlasClassifier(random_state=0).fit(X, y),
        "linear": AtlasClassifier(kernel="linear", random_state=0).fit(X, y),
        "map": IntersectionSampler().fit(X),
    }


BROKEN = [
    ("llsvm", "coef_", lambda a: a[:, :, :-1].copy()),
    ("llsvm", "coef_", lambda a: a.astype("f2")),
    ("llsvm", "coef_", lambda a: np.asfortranarray(a)),
    ("llsvm", "coef_", lambda a: a * np.nan),
    ("llsvm", "coef_", lambda a: a.tolist()),
    ("llsvm", "intercept_", lambda a: a[:-1]),
    ("llsvm", "intercept_", lambda a: np.full_like(a, 1e300)),
    ("llsvm", "classes_", lambda a: a[::-1].copy()),
    ("llsvm", "classes_", lambda a: a[:2]),
    ("llsvm", "classes_", lambda a: np.array([0, "a", None], object)),
    ("llsvm", "n_features_in_", lambda n: n + 1),
    ("llsvm", "alpha_", lambda n: -1.0),
    ("llsvm", "loss", lambda n: "unknown"),
    ("llsvm", "coding_", lambda n: SoftAssignmentCoding(5)),
    ("llsvm", "coding_.anchors_", lambda a: np.concatenate([a, a])),
    ("llsvm", "coding_.n_neighbors_", lambda n: 10**6),
    ("llsvm", "coding_.bandwidth_", lambda n: float("nan")),
    ("sapl", "_learning.first_coef", lambda a: a[1:]),
    ("sapl", "_learning.plan", lambda a: a * 0),
    ("sapl", "_learning.importance", lambda a: np.append(a, a)),
    ("sapl", "coding_.bandwidth_", lambda a: a[:2]),
    ("ml3", "_learning.met", lambda a: a[:1]),
    ("ml3", "_learning.iterate_coef", lambda a: a[:, :1].copy()),
    ("ml3", "p_", lambda n: 0.0),
    ("ml3", "intercept_scaling_", lambda n: 1e-320),
    ("sapl", "intercept_scaling_", lambda n: 1e300),
    ("atlas", "support_rows_", lambda a: a + 10**6),
    ("atlas", "support_starts_", lambda a: a[::-1].copy()),
    ("atlas", "dual_coef_", lambda a: a[:1]),
    ("atlas", "atlas_.components_", lambda a: a[:, :, :-1].copy()),
    ("linear", "coef_", lambda a: a[:, :, :-1].copy()),
    ("linear", "intercept_scaling_", lambda n: 1e300),
    ("linear", "atlas_.n_nearest_", lambda n: 10**9),
    ("map", "sample_steps", lambda n: 10**12),
    ("map", "sample_interval_", lambda n: 1e300),
]


@pytest.mark.parametrize(("name", "path", "value"), BROKEN)
def test_attributes_that_do_not_fit_are_refused(fitted, name, path, value):
    broken = changed(fitted[name], path, value)
    with pytest.raises(InvalidModelError) as error:
        pickle.loads(broken)
    parts = path.split(".")
    # Of two arrays that contradict each other the second is named.
    names = [*parts, "coef_", "anchors_", "support_"]
    assert any(part in str(error.value) for part in names)


def test_what_is_sound_comes_back(fitted):
    X, _ = rows()
    for model in fitted.values():
        again = pickle.loads(pickle.dumps(model))
        method = "predict" if hasattr(model, "predict") else "transform"
        assert (getattr(again, method)(X) == getattr(model, method)(X)).all()


def test_a_model_without_its_arrays_is_not_fitted(fitted):
    model = pickle.loads(pickle.dumps(fitted["llsvm"]))
    del model.intercept_
    with pytest.raises(NotFittedError):
        pickle.loads(pickle.dumps(model)).predict(rows()[0])


def test_packed_arrays_that_do_not_fit_are_refused(fitted):
    small = compress(fitted["llsvm"], dtype="float16")
    small._packed["coef_"] = small._packed["coef_"][:, :, :1]
    with pytest.raises(InvalidModelError, match="coef_"):
        pickle.loads(pickle.dumps(small))
    small._packed["elsewhere"] = small._packed.pop("coef_")
    with pytest.raises(InvalidModelError, match="elsewhere"):
        pickle.loads(pickle.dumps(small))


def test_states_of_other_models_are_refused(fitted):
    X, y = rows()
    model = DULLSVMClassifier(4, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    state = model._get_state()
    other = LearningState({**state, "coef": state["coef"][:2]})
    with pytest.raises(ValueError, match="different models"):
        LearningState.average(state, [state, other], [0.5, 0.5])


def archive(path, **changes):
    """Write the members of a model file anew, some of them changed."""
    with zipfile.ZipFile(path) as source:
        members = {name: source.read(name) for name in source.namelist()}
    arrays = [name for name in members if name.endswith(".npy")]
    members = changes["change"](members, arrays)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as target:
        warnings.simplefilter("ignore")  # of two members with one name
        for name, content in members:
            target.writestr(name, content)


def huge(members, arrays):
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**3)}
    np.lib.format.write_array_header_1_0(header, shape)
    return {**members, arrays[0]: header.getvalue()}.items()


def of_a_class(members, arrays):
    schema = json.loads(members["schema.json"])
    schema["__loader__"], schema["__class__"] = "TypeNode", "LLSVMClassifier"
    schema["content"] = {
        "__class__": "LLSVMClassifier",
        "__module__": "locallin.methods.llsvm",
    }
    return {**members, "schema.json": json.dumps(schema)}.items()


def without_state(members, arrays):
    schema = json.loads(members["schema.json"])
    schema["content"] = None
    return {**members, "schema.json": json.dumps(schema)}.items()


@pytest.mark.parametrize(
    "change",
    [
        lambda members, arrays: [*members.items(), (arrays[0], b"again")],
        lambda members, arrays: {**members, arrays[0]: b"no array"}.items(),
        lambda members, arrays: {**members, "schema.json": b"[" * 10**5}.items(),
        lambda members, arrays: {**members, "schema.json": b"{}"}.items(),
        huge,
        of_a_class,
        without_state,
    ],
)
def test_archives_that_are_not_as_written_are_refused(fitted, tmp_path, change):
    pytest.importorskip("skops")
    path = tmp_path / "model.skops"
    save(fitted["llsvm"], path)
    archive(path, change=change)
    with pytest.raises(ValueError, match=r"model\.skops.*cannot be read"):
        load(path)


def test_other_members_are_not_looked_at(fitted, tmp_path):
    pytest.importorskip("skops")
    path = tmp_path / "model.skops"
    save(fitted["llsvm"], path)
    archive(path, change=lambda members, _: [*members.items(), ("../../x", b"x")])
    assert (load(path).predict(rows()[0]) == fitted["llsvm"].predict(rows()[0])).all()
    assert not (tmp_path.parent.parent / "x").exists()


def test_public_list_of_types_is_enough_for_skops(fitted, tmp_path):
    io = pytest.importorskip("skops.io")
    path = tmp_path / "model.skops"
    save(fitted["atlas"], path)
    model = io.load(path, trusted=trusted_types())
    assert (model.predict(rows()[0]) == fitted["atlas"].predict(rows()[0])).all()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("support_points_", lambda a: np.full_like(a, 1e300)),
        ("sigma_", lambda n: 1e-320),
    ],
)
def test_numbers_that_no_row_can_make_up_for_are_named(fitted, path, value):
    model = pickle.loads(changed(fitted["atlas"], path, value))
    with pytest.raises(ValueError, match="the model's own numbers are too"):
        model.decision_function(rows()[0])


def test_a_sigma_next_to_nothing_is_refused():
    with pytest.raises(ValueError, match=r"sigma=1e-320 is so small"):
        AtlasClassifier(sigma=1e-320, random_state=0).fit(*rows())


@pytest.mark.in_turn
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_class_without_weight_has_machines(kernel, multi_class):
    X, y = rows()
    model = AtlasClassifier(kernel=kernel, multi_class=multi_class, random_state=0)
    scores = model.fit(X, y, (y > 0).astype(float)).decision_function(X)
    assert np.isfinite(scores).all()
    assert (scores.argmax(axis=1) == y)[y > 0].all()


SPARSE = {
    "data": np.ones(2),
    "indices": np.array([0, 1], np.int32),
    "indptr": np.array([0, 1, 2], np.int32),
    "shape": np.array([2, 3]),
    "format": np.array(b"csr"),
}


@pytest.mark.parametrize(
    "broken",
    [
        {"indices": np.array([0, 10**6], np.int32)},
        {"indices": np.array([0, -1], np.int32)},
        {"indptr": np.array([0, 2, 1], np.int32)},
        {"indptr": np.array([0, 1, 10**6], np.int32)},
        {"format": np.array(b"csc"), "shape": np.array([10**12, 2])},
        {"format": np.array(b"dia")},
        {"shape": np.array([2.5, 3])},
        {"data": np.ones(2, complex)},
    ],
)
def test_sparse_files_that_do_not_fit_together(tmp_path, broken):
    path = tmp_path / "rows.npz"
    np.savez(path, **SPARSE)
    assert read(path).X.shape == (2, 3)
    np.savez(path, **SPARSE | {"data": np.ones(2, np.float16)})
    assert read(path).X.dtype == np.float32
    np.savez(path, **SPARSE | broken)
    with pytest.raises(DataError, match=r"rows\.npz"):
        read(path)


def test_columns_that_a_file_says_it_has_take_no_memory(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, **SPARSE | {"shape": np.array([2, 10**12])})
    assert read(path).X.shape == (2, 10**12)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 4), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 4",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 4), }",
        b"(((((((((((((((((((((((((((",
    ],
)
@pytest.mark.parametrize("name", ["rows.npy", "rows.npz", "rows.npy.gz"])
def test_headers_that_lie(tmp_path, header, name):
    import gzip

    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    content += bytes(32)
    path = tmp_path / name
    if name == "rows.npz":
        with zipfile.ZipFile(path, "w") as target:
            target.writestr("X.npy", content)
    else:
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(DataError, match=r"rows\.np"):
        list(batches(path))


def test_packed_files_are_unpacked_to_a_limit(tmp_path):
    import lzma

    path = tmp_path / "rows.npy.xz"
    path.write_bytes(lzma.compress(bytes(10**7)))
    with pytest.raises(DataError, match="times its size"):
        read(path, format="npy")


def test_classes_that_are_formulas_are_warned_of(tmp_path):
    X, y = rows()
    names = np.array(["=cmd()", "-1", "b"])
    model = LLSVMClassifier(3, random_state=0).fit(X, names[y])
    with pytest.warns(UserWarning, match="begins like a formula"):
        write_predictions(model, (X,), tmp_path / "labels.csv")
    assert set((tmp_path / "labels.csv").read_text().split()) <= set(names)
    write_predictions(model, (X,), tmp_path / "labels.parquet")
    names[0] = "+1"
    plain = LLSVMClassifier(3, random_state=0).fit(X, names[y])
    write_predictions(plain, (X,), tmp_path / "labels.csv")


def test_a_weight_next_to_nothing_is_nothing():
    X, y = rows()
    weights = np.ones(len(y))
    weights[:3] = 0
    wanted = LLSVMClassifier(5, random_state=0).fit(X, y, weights)
    weights[:3] = 1e-320
    found = LLSVMClassifier(5, random_state=0).fit(X, y, weights)
    assert (found.coef_ == wanted.coef_).all()


def test_truth_is_a_number_and_a_dict_is_no_array():
    X, y = rows()
    one = LLSVMClassifier(True, coding="soft", n_neighbors=True).fit(X, y)
    assert len(one.anchors_) == one.coding_.n_neighbors_ == 1
    assert ML3Classifier(True, max_iter=2).fit(X, y).coef_.shape[1] == 1
    member = SAPLClassifier(3, max_iter=1)
    assert len(EnsembleClassifier(member, True).fit(X, y).members_) == 1
    for parameters in ({"anchors": {}}, {"metric": {0: 1.0}}):
        name, value = next(iter(parameters.items()))
        with pytest.raises(TypeError, match=f"{name}={value} of .* is no array"):
            AdaptiveCoding(**parameters).fit(X)
    with pytest.raises(TypeError, match=r"alphas=.* is no array"):
        LLSVMClassifierCV({0: 1.0}).fit(X, y)


@pytest.mark.skipif(os.name != "posix", reason="waits for a pipe")
def test_a_crash_and_a_hang_are_findings(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_SECONDS", 0.01)
    worker = runner.Worker(tmp_path)
    problem, alive = worker.run("models by array", 0, 0)
    assert "hangs" in problem
    assert not alive
    assert cases.judge(_error(lambda: [][0])).startswith("IndexError")
    assert cases.judge(_error(lambda: float("x"))).startswith("ValueError")
    assert cases.judge(_error(lambda: load("none.skops"))) is None  # names the file


def _error(function):
    try:
        function()
    except Exception as error:
        return error


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="waits for a pipe")
def test_a_thousand_new_cases(tmp_path):
    pytest.importorskip("skops")
    cases.prepare(tmp_path)
    numbered = [(cases.target_of(number), 17, number) for number in range(1000)]
    done: Counter = Counter()
    found = list(runner.findings(tmp_path, numbered, 1800, done))
    assert not found
    assert len(done) == len(cases.TARGETS)


def test_names_in_an_arrow_file_that_are_no_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather

    path = tmp_path / "a.arrow"
    table = pyarrow.table({"abcd": [1.0, 2.0], "y": [0, 1]})
    feather.write_feather(table, path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"abcd", b"\xafbcd"))
    with pytest.raises(DataError, match=r"a\.arrow is not a whole Arrow file"):
        read(path)
