"""Pages about two models on the same rows."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_report import HOSTILE, Page

from locallin import DULLSVMRegressor, LLSVMClassifier, LLSVMRegressor, TableEncoder
from locallin.inspection.text import plain
from locallin.report import Report, compare
from locallin.report.compare import build_comparison

few = {"random_state": 0}


def words(html):
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.S)
    return unescape(re.sub(r"<[^>]*>", " ", bare))


@pytest.fixture(scope="module")
def bent():
    X, y = make_moons(500, noise=0.15, random_state=0)
    y = np.array(["low", "high"])[y]
    line = LogisticRegression().fit(X[:200], y[:200])
    local = LLSVMClassifier(8, loss="logistic", **few).fit(X[:200], y[:200])
    return line, local, X[200:], y[200:]


def test_figures_are_side_by_side_with_paired_intervals(bent):
    line, local, X, y = bent
    html, data = build_comparison((line, local), (X, X), y)
    figures = {name: (a, b, *between) for name, a, b, between in data.figures}
    for name, metric in (
        ("accuracy", lambda m: accuracy_score(y, m.predict(X))),
        ("log_loss", lambda m: log_loss(y, m.predict_proba(X), labels=m.classes_)),
        ("auc", lambda m: roc_auc_score(y == "low", m.predict_proba(X)[:, 1])),
    ):
        first, second, low, high = figures[name]
        assert first == pytest.approx(metric(line))
        assert second == pytest.approx(metric(local))
        assert low < second - first < high
    assert figures["accuracy"][2] > 0
    lines = Page(html).tables[f"Figures of {len(y)} rows"]
    better = {line[0]: line[-1] for line in lines[1:]}
    assert better["Accuracy"] == "LLSVMClassifier"
    _, _, low, high = figures["log_loss"]
    open_question = low <= 0 <= high
    assert better["Log loss"] == (
        "undecided"
        if open_question
        else "LLSVMClassifier"
        if high < 0
        else "LogisticRegression"
    )
    # Pairs: an interval of models that are the same is a point.
    _, same = build_comparison((local, local), (X, X), y)
    assert {between for *_, between in same.figures} == {(0.0, 0.0)}
    assert same.n_differ == 0
    counts = data.right_and_wrong
    assert counts.sum() == len(y)
    assert counts[0].sum() == np.sum(line.predict(X) == y)
    assert "McNemar's exact test" in html


def test_rows_that_differ_come_first(bent):
    line, local, X, y = bent
    frame = pd.DataFrame(
        X, columns=["east", "north"], index=[f"r{i}" for i in range(300)]
    )
    line, local = (m.__class__(**m.get_params()) for m in (line, local))
    for model in (line, local):
        model.fit(frame, y)
    html, data = build_comparison((line, local), (frame, frame), y, rows=10)
    shown = data.rows_apart(10)
    differ = line.predict(frame) != local.predict(frame)
    assert data.n_differ == differ.sum() >= 10
    assert differ[shown].all()
    lines = Page(html).tables["Rows that are predicted differently"]
    assert len(lines) == 11
    assert lines[1][0] == f"r{shown[0]}"
    assert lines[0][-1] == "Reasons of LLSVMClassifier"
    assert re.match(r"(east|north) \S+ \([+-]", lines[1][-1])
    columns = Page(html).tables[
        "Share of what all columns add, in absolute value, over 300 rows"
    ]
    shares = [float(line[1].rstrip("%")) for line in columns[1:]]
    assert sum(shares) == pytest.approx(100, abs=0.2)


def test_one_file_without_a_script(bent, tmp_path):
    line, local, X, y = bent
    path = tmp_path / "page.html"
    page = compare(line, local, X, y, path=path, names=("straight", "bent"))
    assert isinstance(page, Report)
    assert path.read_text() == page
    assert page == compare(line, local, X, y, names=("straight", "bent"))
    tags = [tag for tag, _ in Page(page).attributes]
    assert "script" not in tags
    assert "script-src" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?://", page)
    assert "<h1>straight and bent</h1>" in page
    assert "nan" not in words(page).lower().replace("mcnemar", "")


def test_hostile_names_stay_text():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=120),
            HOSTILE[1]: rng.choice(np.array(HOSTILE, dtype=object), 120),
        },
        index=[HOSTILE[i % len(HOSTILE)] for i in range(120)],
    )
    y = np.array(HOSTILE[:2], dtype=object)[(X[HOSTILE[0]] > 0) + 0]
    clf = make_pipeline(TableEncoder(), LLSVMClassifier(5, **few)).fit(X, y)
    other = make_pipeline(TableEncoder(), LLSVMClassifier(1, **few))
    other.fit(X, np.roll(y, 7))
    page = compare(clf, other, X, y, names=HOSTILE[:2], title=HOSTILE[2])
    allowed = {tag for tag, _ in Page(compare(clf, other, X, y)).attributes}
    assert {tag for tag, _ in Page(page).attributes} <= allowed
    for control in "\x00\x1b\u202e\u2066\u2028":
        assert control not in page
    assert plain(HOSTILE[0]) in words(page)


def test_numbers():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=400)
    ridge = Ridge().fit(X[:200], y[:200])
    local = make_pipeline(StandardScaler(), DULLSVMRegressor(12, **few))
    local.fit(X[:200], y[:200])
    html, data = build_comparison((ridge, local), (X[200:], X[200:]), y[200:])
    figures = {name: (a, b, *between) for name, a, b, between in data.figures}
    assert figures["rmse"][1] < figures["rmse"][0]
    assert figures["rmse"][3] < 0 < figures["r2"][2]
    lines = Page(html).tables["Figures of 200 rows"]
    assert [line[-1] for line in lines[1:]] == ["Pipeline"] * 3
    apart = np.abs(ridge.predict(X[200:]) - local.predict(X[200:]))
    assert data.rows_apart(1)[0] == apart.argmax()
    assert "Residuals" in html
    assert ">How good they are<" not in compare(ridge, local, X)
    _, gaps = build_comparison(
        (ridge, local), (X, X), np.where(np.arange(400) < 100, np.nan, y)
    )
    assert gaps.n_known == 300


def test_models_that_cannot_be_compared(bent):
    line, local, X, y = bent
    reg = LLSVMRegressor(3, **few).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="two classifiers, or two regressors"):
        compare(local, reg, X)
    with pytest.raises(NotFittedError):
        compare(local, LLSVMClassifier(), X)
    both = LLSVMRegressor(3, **few).fit(X, X)
    with pytest.raises(ValueError, match="compare shows one target"):
        compare(both, both, X)
    with pytest.raises(ValueError, match="rows=0: choose"):
        compare(line, local, X, rows=0)
    with pytest.raises(ValueError, match="give one for each"):
        compare(line, local, X, names=("a",))
    # Labels that a model does not know are left out of the figures.
    strange = np.where(np.arange(len(y)) < 50, "other", y)
    _, data = build_comparison((line, local), (X, X), strange)
    assert data.n_known == len(y) - 50


def test_parts_are_told_where_asked_for(moons, capsys):
    X, y = moons
    models = [LLSVMClassifier(m, random_state=0).fit(X, y) for m in (2, 5)]
    silent = compare(*models, X, y, names=("few", "more"), rows=3)
    assert capsys.readouterr().out == ""
    assert compare(*models, X, y, names=("few", "more"), rows=3, verbose=1) == silent
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[compare] asking few about 300 rows")
    assert len(lines) == 4
