"""The model of a page: what its script computes is what Python computes."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from locallin import (
    DULLSVMClassifier,
    EnsembleClassifier,
    LLSVMClassifier,
    LocallyLinearClassifier,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
    TableEncoder,
)
from locallin.coding import SoftAssignmentCoding
from locallin.export.plain import count_bytes, packed, plain_model
from locallin.inspection import explain
from locallin.inspection.unwrap import split_pipeline

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
ASK = """
const fs = require("fs");
const script = fs.readFileSync(process.argv[1], "utf8");
const localModel = new Function(script + "; return localModel;")();
const { model, rows } = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const read = localModel.read(model);
process.stdout.write(JSON.stringify(rows.map((row) => localModel.ask(read, row))));
"""
few = {"random_state": 0}
TABLES = {
    "standard": TableEncoder(numbers="standard"),
    "robust": TableEncoder(
        numbers="robust", level_scaling="frequency", max_levels=2, dtype="float64"
    ),
    "piecewise": TableEncoder(),
    "means": TableEncoder(target_means="all", max_levels=2, random_state=0),
    "some": TableEncoder(ignore=["age", "since"], categorical=["floor"]),
}
soft = SoftAssignmentCoding(12, n_neighbors=5)
ON_TABLES = {
    "inverse": LLSVMClassifier(12, n_neighbors=4, coding="inverse-distance", **few),
    "soft": LLSVMClassifier(coding=soft, loss="logistic", **few),
    "sapl": SAPLClassifier(8, probability=True, **few),
    "du": DULLSVMClassifier(8, loss="multinomial", class_weight="balanced", **few),
    "mean": EnsembleClassifier(DULLSVMClassifier(6, probability=True), 2, **few),
}
bins = PiecewiseLinearEncoder(4)
ON_NUMBERS = {
    "groups": LLSVMClassifier(40, n_probes=2, **few),
    "soft-groups": SAPLClassifier(40, n_neighbors=9, n_probes=1, **few),
    "alone": LLSVMClassifier(8, **few),
    "scaled": make_pipeline(StandardScaler(), SAPLClassifier(8, **few)),
    "twice": make_pipeline(
        StandardScaler(), bins, MinMaxScaler(), DULLSVMClassifier(8, **few)
    ),
    "map": LLSVMClassifier(8, feature_map=bins, **few),
    "mapped": LLSVMClassifier(8, feature_map=bins, coding_space="mapped", **few),
    "constant": LLSVMClassifier(8, local_model="constant", **few),
}


def table_of(n, seed=0):
    """Numbers, levels, truth values and dates, each with gaps."""
    rng = np.random.RandomState(seed)
    hours = pd.to_timedelta(rng.randint(0, 24000, n), unit="h")
    made = pd.DataFrame(
        {
            "income": np.exp(rng.normal(size=n)) * 1000,
            "age": rng.randint(18, 80, n),
            "home": rng.choice(["rent", "own", "</script>"], n).astype(object),
            "job": pd.Categorical(rng.choice(list("abcdef"), n)),
            "floor": rng.randint(4, size=n),
            "member": rng.uniform(size=n) < 0.3,
            "since": pd.to_datetime("2019-03-01 00:30") + hours,
            "country": "NL",
        }
    )
    made.loc[::9, "income"] = np.nan
    made.loc[::11, "home"] = None
    made.loc[::13, "since"] = pd.NaT
    score = np.log(made.income.fillna(1)) - 6.5 + (made.home == "rent")
    return made, np.array(["no", "perhaps", "yes"])[np.digitize(score, [0, 1])]


def unlike(frame):
    """Rows with levels that were never seen, and values far out."""
    new = frame.copy()
    new.loc[::5, "home"] = "boat"
    new["job"] = new["job"].astype(object)
    new.loc[::7, "job"] = "z"
    new.loc[::3, "income"] *= 5
    new["since"] += pd.Timedelta(days=400)
    return new


@pytest.fixture(scope="module")
def tables():
    frame, y = table_of(400)
    return frame, y, unlike(table_of(1000, seed=1)[0])


def in_numbers(steps, X):
    if steps and isinstance(steps[0], TableEncoder):
        return steps[0].to_numbers(X)
    return np.asarray(X, dtype=float)


def answers(model, rows, folder):
    """What the script says of rows in numbers."""
    cells = [[None if np.isnan(v) else v for v in row] for row in rows.tolist()]
    given = folder / "given.json"
    given.write_text(json.dumps({"model": packed(model), "rows": cells}))
    script = str(files("locallin.report") / "model.js")
    done = subprocess.run(
        [NODE, "-e", ASK, script, str(given)],
        capture_output=True, encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def check(estimator, X, folder):
    """Scores, probabilities, contributions and weights, to 1e-5."""
    steps, classifier = split_pipeline(estimator)
    steps = [step for _, step in steps]
    model = plain_model(steps, classifier)
    assert count_bytes(model) > 0
    found = answers(model, in_numbers(steps, X), folder)
    scores = estimator.decision_function(X).reshape(len(X), -1)
    unit = max(1.0, np.abs(scores).max())
    close = {"rtol": 0, "atol": 1e-5 * unit}
    assert_allclose([one["scores"] for one in found], scores, **close)
    winners = classifier.classes_[[one["winner"] for one in found]]
    clear = np.abs(scores[:, 0] if scores.shape[1] == 1 else _lead(scores)) > 1e-5
    assert (winners == estimator.predict(X))[clear].all()
    if hasattr(estimator, "predict_proba"):
        chances = [one["probabilities"] for one in found]
        assert_allclose(chances, estimator.predict_proba(X), rtol=0, atol=1e-5)
    else:
        assert found[0]["probabilities"] is None
    for one in found:
        assert sum(weight for _, weight in one["locals"]) == pytest.approx(1)
    return found, close


def _lead(scores):
    return np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]


def check_reasons(estimator, X, found, close):
    told = explain(estimator, X)
    parts = np.array([one["contributions"] for one in found])
    names = [str(name) for name in getattr(X, "columns", range(X.shape[1]))]
    kept = [names.index(name.removeprefix("x")) for name in told.feature_names]
    assert_allclose(parts[:, :, kept], told.contributions, **close)
    assert_allclose(np.delete(parts, kept, axis=2), 0)
    assert_allclose([one["bias"] for one in found], told.bias, **close)


@pytest.mark.in_turn
@needs_node
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("name", "encoder"), list(zip(ON_TABLES, TABLES, strict=True)))
def test_tables(name, encoder, n_classes, tables, tmp_path):
    X, y, new = tables
    if n_classes == 2:
        y = np.where(y == "perhaps", "no", y)
    clf = make_pipeline(TABLES[encoder], ON_TABLES[name]).fit(X, y)
    found, close = check(clf, new, tmp_path)
    check_reasons(clf, new, found, close)


@needs_node
@pytest.mark.parametrize("n_members", [1, 2])
def test_the_one_to_reach_for(n_members, tables, tmp_path):
    X, y, new = tables
    clf = LocallyLinearClassifier(0, n_members=n_members, random_state=0).fit(X, y)
    check_reasons(clf, new, *check(clf, new, tmp_path))


@pytest.mark.in_turn
@needs_node
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("name", ON_NUMBERS)
def test_numbers(name, n_classes, blobs, tmp_path):
    X, y, _ = blobs
    X, y = X[y < n_classes], y[y < n_classes]
    clf = ON_NUMBERS[name].fit(X, y)
    found, close = check(clf, X, tmp_path)
    if name != "constant":
        check_reasons(clf, X, found, close)


@needs_node
def test_single_precision_and_gaps_behind_bins(blobs, tmp_path):
    X, y, _ = blobs
    X = X.astype(np.float32)
    X[::7, 0] = np.nan
    clf = make_pipeline(PiecewiseLinearEncoder(4), LLSVMClassifier(8, **few)).fit(X, y)
    check_reasons(clf, X, *check(clf, X, tmp_path))


def test_what_is_not_described_says_why(blobs):
    X, y, _ = blobs
    for clf, why in (
        (make_pipeline(PCA(2), LLSVMClassifier(4, **few)), "PCA stands before"),
        (ML3Classifier(2, max_iter=2, **few), "ML3Classifier has no"),
        (LLSVMClassifier(4, feature_map=PCA(2), **few), "see a PCA"),
        (EnsembleClassifier(ML3Classifier(2, max_iter=2), 2, **few), "ML3Classifier"),
    ):
        steps, classifier = split_pipeline(clf.fit(X, y))
        with pytest.raises(TypeError, match=why):
            plain_model([step for _, step in steps], classifier)
    clf = LLSVMClassifier(4, **few).fit(X, y)
    clf.coef_[0, 0, 0] = 1e60
    with pytest.raises(ValueError, match="single precision"):
        plain_model([], clf)


def test_rows_in_numbers(tables):
    X, y, new = tables
    encoder = TableEncoder(ignore=["age"]).fit(X, y)
    found = encoder.to_numbers(new)
    names = list(X.columns)
    assert_allclose(found[:, names.index("income")], new.income)
    assert not found[:, [names.index("age"), names.index("country")]].any()
    levels = list(encoder.plan().levels[names.index("home")].names)
    for cell, code in zip(new.home, found[:, names.index("home")], strict=True):
        if pd.isna(cell):
            assert np.isnan(code)
        else:
            assert code == (levels.index(cell) if cell in levels else len(levels))
    days = (new.since - pd.Timestamp(0)) / pd.Timedelta(days=1)
    assert_allclose(found[:, names.index("since")], days)
