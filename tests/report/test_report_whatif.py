"""The panel that answers back: what is in the page, and what it does in a browser."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_report import HOSTILE, Page, explanations
from test_report_browser import BROWSER, NAMES, opened, words
from test_report_model import table_of, unlike

import locallin.report._whatif as limits
from locallin import LLSVMClassifier, ML3Classifier, TableEncoder
from locallin.inspection import explain
from locallin.inspection.text import plain
from locallin.report import report

few = {"random_state": 0}


def in_browser(test):
    """A slow test, skipped where there is no browser."""
    reason = f"none of {', '.join(NAMES)} is installed"
    return pytest.mark.slow(pytest.mark.skipif(BROWSER is None, reason=reason)(test))


LEFT_OUT = "ask the model again is left out"


@pytest.fixture(scope="module")
def loans():
    X, y = table_of(400)
    y = np.where(y == "yes", "paid back", "late")
    clf = make_pipeline(TableEncoder(), LLSVMClassifier(8, loss="logistic", **few))
    return clf.fit(X, y), X, y


def test_columns_and_rows_in_the_page(loans):
    clf, X, y = loans
    html = report(clf, X, y)
    assert 'id="what-if"' in html
    assert LEFT_OUT not in html
    told = explanations(html)
    store = told["whatIf"]
    columns = dict(zip(X.columns, store["columns"], strict=True))
    assert columns["country"] is None
    assert store["classes"] == ["late", "paid back"]
    assert columns["age"]["whole"]
    assert [columns["age"]["low"], columns["age"]["high"]] == [X.age.min(), X.age.max()]
    assert not columns["age"]["missing"]
    assert columns["income"]["missing"]
    assert columns["since"]["kind"] == "date"
    assert sorted(columns["home"]["levels"]) == ["</script>", "own", "rent"]
    assert columns["member"]["tried"] == [0, 1]
    for row, cells in zip(told["rows"], store["rows"], strict=True):
        income = X.income.iloc[row["row"]]
        assert cells[0] == (None if np.isnan(income) else income)


def test_searches_are_opened(loans):
    clf, X, y = loans
    search = GridSearchCV(clf, {"llsvmclassifier__alpha": [1e-3]}, cv=2).fit(X, y)
    assert 'id="what-if"' in report(search, X, y)


def test_why_there_is_no_panel(blobs, loans, monkeypatch):
    X, y, _ = blobs
    for clf, why in (
        (ML3Classifier(2, max_iter=2, **few), "ML3Classifier has no local models at"),
        (make_pipeline(PCA(2), LLSVMClassifier(4, **few)), "PCA stands before"),
    ):
        html = report(clf.fit(X, y), X, y)
        assert f"{LEFT_OUT}: {why}" in html
        assert 'id="what-if"' not in html
        assert "whatIf" not in explanations(html)
    clf, X, y = loans
    own = FixedThresholdClassifier(clf, threshold=0.3, pos_label="late").fit(X, y)
    assert f"{LEFT_OUT}: FixedThresholdClassifier decides" in report(own, X, y)
    monkeypatch.setattr(limits, "_MOST_BYTES", 1000)
    assert "MB of the page, more than 0 MB" in report(clf, X, y)
    monkeypatch.setattr(limits, "_MOST_COLUMNS", 3)
    assert f"{LEFT_OUT}: 8 columns are too many" in report(clf, X, y)


def test_sparse_and_object_rows(blobs):
    X, y, _ = blobs
    clf = LLSVMClassifier(4, **few).fit(X, y)
    kept = explanations(report(clf, sparse.csr_matrix(X), y))["whatIf"]
    plain_rows = explanations(report(clf, X, y))["whatIf"]
    assert kept == plain_rows


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=120),
            HOSTILE[1]: rng.choice(np.array(HOSTILE, dtype=object), 120),
        }
    )
    y = np.array(HOSTILE[:3], dtype=object)[(X[HOSTILE[0]] > 0) + 0]
    clf = make_pipeline(TableEncoder(), LLSVMClassifier(5, **few))
    return clf.fit(X, y), X, y


def test_hostile_names_stay_text(hostile):
    clf, X, y = hostile
    html = report(clf, X, y)
    assert [tag for tag, _ in Page(html).attributes].count("script") == 2
    store = explanations(html)["whatIf"]
    assert [one["name"] for one in store["columns"]] == [plain(n) for n in X.columns]
    assert set(store["columns"][1]["levels"]) == {plain(level) for level in HOSTILE}
    for control in "\x00\x1b\u202e\u2066\u2028":
        assert control not in html


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("panel")


def panel_of(dom):
    start = dom.index('<section id="what-if"')
    return dom[start : dom.index("</section>", start)]


def run(html, script, folder, *options):
    """The page after a script, which it ends with."""
    path = folder / "page.html"
    end = html.rindex("</script>")
    path.write_text(html[:end] + script + html[end:], encoding="utf-8")
    dom, said = opened(path, "", folder / "profile", *options)
    assert said == []
    return dom


@in_browser
def test_answers_are_pythons(loans, folder):
    clf = loans[0]
    new, y = table_of(1000, seed=1)
    new, y = unlike(new), np.where(y == "yes", "paid back", "late")
    script = """
    const stored = document.getElementById("explanations").textContent;
    const all = JSON.parse(stored).whatIf;
    const made = localModel.read(all.model);
    const out = all.rows.map((row) => localModel.ask(made, row));
    const text = JSON.stringify(out.map((one) => [
      one.scores[0], one.probabilities[1], one.bias[0], ...one.contributions[0]]));
    document.body.replaceChildren(text);
    """
    html = report(clf, new, y, rows=None)
    dom = run(html, script, folder)
    found = np.array(json.loads(re.search(r"<body>(\[\[.*\]\])", dom, re.S)[1]))
    assert len(found) == 1000
    close = {"rtol": 0, "atol": 1e-5}
    assert_allclose(found[:, 0], clf.decision_function(new), **close)
    assert_allclose(found[:, 1], clf.predict_proba(new)[:, 1], **close)
    told = explain(clf, new)
    assert_allclose(found[:, 2], told.bias[:, 0], **close)
    kept = [3 + list(new.columns).index(name) for name in told.feature_names]
    assert_allclose(found[:, kept], told.contributions[:, 0], **close)


@in_browser
def test_a_change_is_answered_and_taken_back(loans, folder):
    clf, X, y = loans
    html = report(clf, X, y, rows=None)
    change = """
    location.hash = "#row=1";
    setTimeout(() => {
      const box = document.querySelector('[aria-label="age, as a number"]');
      box.value = "70";
      box.dispatchEvent(new Event("input"));
      const gap = document.querySelector('[aria-label="income is missing"]');
      gap.click();
      BACK
    }, 100);
    """
    moved = X.iloc[[1]].copy()
    moved["age"], moved["income"] = 70, np.nan
    reset = "document.getElementById('what-if-reset').click();"
    for back, row in (("", moved), (reset, X.iloc[[1]])):
        dom = run(html, change.replace("BACK", back), folder)
        panel = panel_of(dom)
        score = float(re.search(r'data-score="([^"]*)"', panel)[1])
        own = clf.decision_function(row)[0]
        own = own if clf.predict(X.iloc[[1]])[0] == "paid back" else -own
        assert score == pytest.approx(own, abs=1e-5)
        chance = clf.predict_proba(row).max()
        text = f"{clf.predict(row)[0]}, probability {100 * chance:.1f}%"
        assert text in words(panel)
        assert ("was " in words(panel)) == (not back)


@in_browser
def test_the_smallest_change_flips(loans, folder):
    clf, X, y = loans
    html = report(clf, X, y, rows=None)
    script = "document.getElementById('what-if-flip').click();"
    place = next(i for i in range(len(X)) if abs(clf.decision_function(X)[i]) < 1)
    script = f"location.hash = '#row={place}'; setTimeout(() => {{{script}}}, 100);"
    dom = run(html, script, folder)
    panel = panel_of(dom)
    assert "The smallest change that was found" in words(panel)
    other = {"late": "paid back", "paid back": "late"}[clf.predict(X)[place]]
    assert f'data-predicted="{other}"' in dom


@in_browser
def test_names_that_look_like_code(hostile, folder):
    clf, X, y = hostile
    html = report(clf, X, y)
    script = "document.getElementById('what-if-flip').click();"
    dom = run(html, script, folder)
    assert "<img" not in dom
    assert len(re.findall("<script", dom)) == 2
    assert "<img src=x onerror=alert(2)>" in words(panel_of(dom))


@in_browser
@pytest.mark.parametrize("width", [400, 1200])
def test_no_wider_than_the_window(width, loans, folder):
    clf, X, y = loans
    script = """const root = document.documentElement;
    document.title = `${root.scrollWidth} in ${root.clientWidth}`;"""
    dom = run(report(clf, X, y), script, folder, f"--window-size={width},900")
    wide, window = re.search(r"<title>(\d+) in (\d+)</title>", dom).groups()
    assert wide == window


@in_browser
def test_every_control_has_a_name(blobs, folder):
    X, y, _ = blobs
    clf = make_pipeline(StandardScaler(), LLSVMClassifier(5, **few)).fit(X, y)
    script = """
    const controls = "#what-if :is(input, select, button)";
    const nameless = [...document.querySelectorAll(controls)].filter(
      (one) => !(one.getAttribute("aria-label") || one.labels?.length
        || one.textContent.trim()));
    document.title = `${nameless.length} nameless`;
    """
    dom = run(report(clf, X, y), script, folder)
    assert "<title>0 nameless</title>" in dom
