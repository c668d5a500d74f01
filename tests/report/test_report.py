"""Reports: the page says what the model does, and needs nothing but itself."""

import json
import os
import pickle
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    precision_recall_fscore_support,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    LLSVMClassifierCV,
    LocallyLinearClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.inspection import counterfactual, explain, global_effects, regions
from locallin.inspection.text import number, plain, shown_value, signed
from locallin.report import Report, report
from locallin.report._curves import ticks
from locallin.report._data import N_PARTS, Evaluation
from locallin.report.build import build_report

few = {"max_iter": 5, "random_state": 0}
charts = Atlas(2, mdl=1.0, random_state=0)
ESTIMATORS = {
    "llsvm": LLSVMClassifier(8, random_state=0),
    "logistic": LLSVMClassifier(8, loss="logistic", random_state=0),
    "constant": LLSVMClassifier(8, local_model="constant", random_state=0),
    "cv": LLSVMClassifierCV(8, random_state=0),
    "sapl": SAPLClassifier(8, early_stopping=True, **few),
    "du": DULLSVMClassifier(8, **few),
    "ml3": ML3Classifier(4, **few),
    "atlas": AtlasClassifier(charts, kernel="linear", random_state=0),
    "rbf": AtlasClassifier(charts, random_state=0),
    "ovo": AtlasClassifier(charts, kernel="linear", multi_class="ovo", random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LLSVMClassifier(8, random_state=0)),
}
WEIGHTLESS = ("rbf", "ovo")
NASTY = """</script><script>alert("x")</script>&'"""


class Page(HTMLParser):
    """Elements of a page, whether they are closed, and tables as lines of cells."""

    EMPTY = {
        "meta", "link", "br", "img", "input", "line", "circle", "polyline", "polygon",
        "rect",
    }  # fmt: skip

    def __init__(self, html):
        super().__init__()
        self.attributes, self.open, self.tables = [], [], {}
        self._lines, self._caption = [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "table":
            self._lines, self._caption = [], ""
        elif tag == "tr":
            self._lines.append([])
        elif tag in ("td", "th"):
            self._lines[-1].append("")

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._lines

    def handle_data(self, data):
        if "caption" in self.open:
            self._caption += data
        elif "td" in self.open or "th" in self.open:
            self._lines[-1][-1] += data


def explanations(html):
    pattern = r'<script type="application/json" id="explanations">(.*?)</script>'
    return json.loads(re.search(pattern, html, re.S)[1])


def of_classes(blobs, n_classes):
    X, y, _ = blobs
    keep = y < n_classes
    return X[keep], y[keep]


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    clf = make_pipeline(StandardScaler(), LLSVMClassifier(8, random_state=0))
    return clf.fit(data.data[:300], y[:300]), data.data[300:], y[300:]


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator(name, n_classes, blobs):
    X, y = of_classes(blobs, n_classes)
    clf = clone(ESTIMATORS[name]).fit(X, y)
    html = report(clf, X, y)
    page = Page(html)
    assert f"{100 * clf.score(X, y):.1f}%" in html
    if name in WEIGHTLESS:
        assert "Predictions are not taken apart" in html
        assert 'id="explanations"' not in html
        return
    told = explanations(html)["rows"]
    rows = [row["row"] for row in told]
    scores = clf.decision_function(X).reshape(len(X), -1)[rows]
    if n_classes == 2:
        scores = np.column_stack([-scores, scores])
    for row, own in zip(told, scores, strict=True):
        assert row["predicted"] == str(own.argmax())
        assert own[int(row["runner_up"])] == np.sort(own)[-2]
        assert row["views"][0]["score"] == pytest.approx(own.max())
        assert len(row["views"]) >= (1 if n_classes == 2 else 3)
        for view in row["views"]:
            parts = [part for *_, part in view["terms"]]
            total = sum(parts) + view["bias"] + (view["others"] or [0, 0])[1]
            assert total == pytest.approx(view["score"], abs=1e-9)
            assert np.all(np.diff(np.abs(parts)) <= 0)
        assert ("probability" in row) == hasattr(clf, "predict_proba")
    assert any("Local models" in caption for caption in page.tables)


def test_the_lead_is_the_difference_of_two_scores(blobs):
    X, y = of_classes(blobs, 5)
    clf = clone(ESTIMATORS["llsvm"]).fit(X, y)
    for row in explanations(report(clf, X, y))["rows"]:
        own, other, lead = row["views"][:3]
        assert lead["score"] == pytest.approx(own["score"] - other["score"])
        assert lead["score"] == pytest.approx(row["margin"])
        assert lead["name"] == f"Lead of {row['predicted']} over {row['runner_up']}"


def test_figures_of_the_page_are_those_computed(blobs):
    X, y = of_classes(blobs, 5)
    clf = clone(ESTIMATORS["llsvm"]).fit(X, y)
    html = report(clf, X, y)
    predicted = clf.predict(X)
    tables = Page(html).tables
    low, high = interval_of(accuracy_score(y, predicted, normalize=False), len(y))
    assert f"95% interval {100 * low:.1f}% to {100 * high:.1f}%" in html
    lines = tables["Class by class"][1:-1]
    expected = precision_recall_fscore_support(y, predicted, zero_division=0)
    for i, line in enumerate(lines):
        shares = [f"{100 * column[i]:.1f}%" for column in expected[:3]]
        assert line == [str(i), *shares, str(expected[3][i])]
    found = tables["Rows by label (down) and prediction (across)"]
    cells = [[int(cell) for cell in line[1:]] for line in found[1:]]
    assert_array_equal(cells, confusion_matrix(y, predicted))
    lines = tables["Local models, those with the most rows first"][1:]
    for line, region in zip(lines, regions(clf, X, y), strict=True):
        assert line[:2] == [region.name, str(region.rows)]
        assert line[3] in (f"{100 * region.accuracy:.1f}%", "–")
        assert all(name in line[5] for name, _ in region.top)


def interval_of(right, n):
    truth = np.zeros(n, int)
    predicted = (np.arange(n) >= right).astype(int)
    return Evaluation([0, 1], 2, predicted, np.ones(n), truth).interval


def test_the_interval_is_wilsons():
    assert_allclose(interval_of(45, 50), [0.786, 0.957], atol=1e-3)
    share, n, z = 0.3, 40, 1.959963984540054
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    spread = share * (1 - share) / n + z**2 / (4 * n * n)
    half = z / (1 + z**2 / n) * np.sqrt(spread)
    assert_allclose(interval_of(12, 40), [middle - half, middle + half])
    assert interval_of(10, 10)[1] == pytest.approx(1)
    assert interval_of(0, 10)[0] == pytest.approx(0)


def test_values_and_changes_are_in_the_units_of_the_data(tumours):
    clf, X, y = tumours
    store = explanations(report(clf, X, y))
    assert store["side"] is None
    for row in store["rows"]:
        given = X.iloc[row["row"]]
        for name, value, _ in row["views"][0]["terms"]:
            assert value == given[name]
        change = row.get("change")
        if change is None:
            continue
        assert change["given_units"]
        assert change["from"] == given[change["feature"]]
        moved = X.iloc[[row["row"]]].copy()
        expected = counterfactual(clf, moved, X_reference=X)
        assert change["size"] == pytest.approx(expected.size[0])
        assert change["to"] == pytest.approx(expected.to[0])
        assert X[change["feature"]].min() <= change["to"] <= X[change["feature"]].max()
        moved[change["feature"]] = change["to"]
        assert clf.predict(moved)[0] == change["reached"]


def test_values_after_other_steps_are_those_of_the_classifier(tumours):
    _, X, y = tumours
    reduced = make_pipeline(PCA(3), LLSVMClassifier(8, random_state=0)).fit(X, y)
    row = explanations(report(reduced, X, y))["rows"][0]
    assert {term[0] for term in row["views"][0]["terms"]} == {"pca0", "pca1", "pca2"}
    assert not row["change"]["given_units"]
    nameless = make_pipeline(
        StandardScaler(), FunctionTransformer(np.abs), LLSVMClassifier(8)
    ).fit(X.to_numpy(), y)
    row = explanations(report(nameless, X.to_numpy(), y))["rows"][0]
    explained = explain(nameless, X.to_numpy()[[row["row"]]])
    for name, value, _ in row["views"][0]["terms"]:
        assert value == pytest.approx(explained.values[0, int(name[1:])])


def test_maps_and_constant_models_have_no_changes(blobs):
    X, y = of_classes(blobs, 3)
    mapped = LLSVMClassifier(
        5, feature_map=IntersectionSampler(sample_steps=2), random_state=0
    ).fit(np.abs(X), y)
    store = explanations(report(mapped, np.abs(X), y))
    assert store["noChanges"] is None
    assert {term[0] for term in store["rows"][0]["views"][0]["terms"]} == {
        f"x{i}" for i in range(6)
    }
    mixed = LLSVMClassifier(5, feature_map=PCA(3), random_state=0).fit(X, y)
    assert "mixes the columns" in explanations(report(mixed, X, y))["noChanges"]
    constant = clone(ESTIMATORS["constant"]).fit(X, y)
    store = explanations(report(constant, X, y))
    assert "no weights" in store["noChanges"]
    assert "change" not in store["rows"][0]


def test_everything_is_escaped(blobs):
    X, y = of_classes(blobs, 3)
    classes = np.array([NASTY, "a & b", "<b>c</b>"])[y]
    names = [NASTY + str(i) for i in range(6)]
    clf = clone(ESTIMATORS["llsvm"]).fit(X, classes)
    html = report(clf, X, classes, feature_names=names, title=NASTY)
    page = Page(html)
    assert "alert(" not in html.replace("alert(&quot;", "").replace('alert(\\"', "")
    assert [tag for tag, _ in page.attributes].count("script") == 2
    told = explanations(html)["rows"]
    assert told[0]["views"][0]["terms"][0][0] in names
    assert {row["predicted"] for row in told} == set(classes)
    assert [line[0] for line in page.tables["Class by class"][1:4]] == sorted(
        set(classes)
    )


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'; alert(3) //",
    "two\nlines\tand \x1b[31mred\x00 end",
    "\u202eright to left\u2066 \u2028",
    "<!-- ]]> &lt; $title {x} %s",
]


@pytest.fixture(scope="module")
def hostile():
    """A table whose names, levels, classes and index look like code."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=120),
            HOSTILE[1]: rng.choice(np.array(HOSTILE, dtype=object), 120),
            HOSTILE[3]: rng.normal(size=120),
            HOSTILE[4]: rng.choice(np.array([*HOSTILE[:2], None], dtype=object), 120),
        },
        index=[f"{HOSTILE[i % 6]}{i}" for i in range(120)],
    ).astype({HOSTILE[1]: object, HOSTILE[4]: object})
    place = 2 * (X[HOSTILE[0]] > 0) + (X[HOSTILE[1]] == HOSTILE[2])
    y = np.array(HOSTILE, dtype=object)[place.to_numpy()]
    steps = ColumnTransformer(
        [
            ("n", StandardScaler(), [HOSTILE[0], HOSTILE[3]]),
            ("w", OneHotEncoder(handle_unknown="ignore"), [HOSTILE[1], HOSTILE[4]]),
        ]
    )
    clf = make_pipeline(steps, LLSVMClassifier(5, random_state=0))
    return clf.fit(X, y), X, y


def test_hostile_names_stay_text(hostile):
    clf, X, y = hostile
    html = report(clf, X, y, title=HOSTILE[0] + "\ud800", rows=None)
    page = Page(html)
    assert [tag for tag, _ in page.attributes].count("script") == 2
    assert "img" not in {tag for tag, _ in page.attributes}
    for _, attributes in page.attributes:
        assert not any(name.startswith("on") for name in attributes)
    for control in "\x00\x1b\u202e\u2066\u2028":
        assert control not in html
    html.encode("utf-8")
    told = explanations(html)["rows"]
    assert [row["name"] for row in told] == [plain(name) for name in X.index]
    names = {term[0] for row in told for term in row["views"][0]["terms"]}
    assert names == {plain(name) for name in X.columns}
    levels = {
        term[1]
        for row in told
        for term in row["views"][0]["terms"]
        if term[0] == plain(HOSTILE[4])
    }
    assert levels == {*map(plain, HOSTILE[:2]), "missing"}
    table = page.tables["Mean absolute contribution over 120 rows"]
    assert {line[0] for line in table[1:]} == names


def test_hostile_names_in_notebooks_and_terminals(hostile):
    clf, X, y = hostile
    for shown in (
        explain(clf, X[:4]),
        counterfactual(clf, X[:4], X_reference=X),
        regions(clf, X, y),
        global_effects(clf, X),
    ):
        page = Page(shown._repr_html_())
        tags = {tag for tag, _ in page.attributes}
        assert tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        text = str(shown) + shown._repr_html_()
        for control in "\x00\x1b\u202e\u2066\u2028":
            assert control not in text


def test_a_report_in_a_notebook(tmp_path, moons):
    X, y = moons
    clf = LLSVMClassifier(5, random_state=0).fit(X, y)
    path = tmp_path / "page.html"
    made = report(clf, X, y, path=path)
    assert isinstance(made, Report)
    assert len(repr(made)) < 200
    assert made.path == str(path)
    assert made == path.read_text(encoding="utf-8")
    frame = Page(made._repr_html_()).attributes
    assert [tag for tag, _ in frame] == ["iframe"]
    assert frame[0][1]["srcdoc"] == made
    again = pickle.loads(pickle.dumps(made))
    assert (again, again.path) == (made, made.path)
    assert report(clf, X).path is None


def test_rows_are_called_by_the_index_of_the_frame(tumours):
    clf, X, y = tumours
    html = report(clf, X.set_index(X.index.map("patient {}".format)), y, rows=5)
    for row in explanations(html)["rows"]:
        assert row["name"] == f"patient {X.index[row['row']]}"
    alone = clone(clf).fit(X.to_numpy(), y)
    told = explanations(report(alone, X.to_numpy(), y, rows=5))["rows"]
    assert all(row["name"] == str(row["row"]) for row in told)


def test_a_table_of_numbers_and_words_in_its_own_columns():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "income": np.where(rng.rand(200) < 0.2, np.nan, rng.lognormal(8, 1, 200)),
            "home": rng.choice(["rent", "own", "free"], 200),
            "age": rng.randint(18, 80, 200),
        }
    )
    y = (X["home"] == "own") ^ (X["age"] > 50)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = ColumnTransformer(
        [("n", numbers, ["income", "age"]), ("w", OneHotEncoder(), ["home"])]
    )
    clf = make_pipeline(steps, LLSVMClassifier(6, random_state=0)).fit(X, y)
    html = report(clf, X, y, rows=None)
    assert "<pre>" not in html
    assert "ColumnTransformer(" not in html.split("<h2")[1]
    assert html.index('id="columns"') < html.index('id="accuracy"')
    changed = {"level": 0, "number": 0}
    for row in explanations(html)["rows"]:
        terms = {name: value for name, value, _ in row["views"][0]["terms"]}
        given = X.iloc[row["row"]]
        assert terms["home"] == given["home"]
        assert terms["age"] == given["age"]
        gap = np.isnan(given["income"])
        assert terms["income"] == ("missing" if gap else given["income"])
        change = row.get("change")
        if change and change["feature"] == "home":
            changed["level"] += 1
            assert change["to"] in {"rent", "own", "free"} - {change["from"]}
        elif change and change["feature"] == "age":
            changed["number"] += 1
            assert float(change["to"]).is_integer()
            assert 18 <= change["to"] < 80
    assert all(changed.values())
    assert {"home", "age", "income"} == {
        line[0]
        for line in Page(html).tables["Mean absolute contribution over 200 rows"][1:]
    }


def test_local_models_without_rows_are_left_out(blobs):
    X, y = of_classes(blobs, 3)
    clf = LLSVMClassifier(30, random_state=0).fit(X, y)
    few_rows = slice(0, 10)
    html = report(clf, X[few_rows], y[few_rows])
    lines = Page(html).tables["Local models, those with the most rows first"][1:]
    assert all(int(line[1]) > 0 for line in lines)
    assert f"{30 - len(lines)} local models have none of these rows" in html


@pytest.mark.parametrize("name", ["du", "ml3", "rbf"])
def test_nothing_comes_from_elsewhere(name, blobs):
    X, y = of_classes(blobs, 5)
    html = report(clone(ESTIMATORS[name]).fit(X, y), X, y)
    for tag, attributes in Page(html).attributes:
        for attribute in ("src", "href", "xlink:href", "action", "srcset"):
            assert attributes.get(attribute, "#").startswith("#"), tag
    for word in ("http://", "https://", "@import", "url(", "fetch(", "import("):
        assert word not in html


def test_the_page_can_be_read_without_eyes(blobs):
    X, y = of_classes(blobs, 5)
    html = report(clone(ESTIMATORS["sapl"]).fit(X, y), X, y)
    page = Page(html)
    tags = [tag for tag, _ in page.attributes]
    assert tags.count("h1") == 1
    assert tags.count("caption") == tags.count("table")
    assert 'lang="en"' in html
    drawings = [a for tag, a in page.attributes if tag == "svg"]
    assert len(drawings) == 3 + 6
    assert all(a["role"] == "img" and a["aria-label"] for a in drawings)
    ids = [a["id"] for _, a in page.attributes if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.attributes:
        for name in ("for", "aria-labelledby"):
            assert name not in attributes or attributes[name] in ids
        if attributes.get("href"):
            assert attributes["href"][1:] in ids


def test_histories(blobs):
    X, y = of_classes(blobs, 5)
    sapl = report(clone(ESTIMATORS["sapl"]).fit(X, y), X)
    for title in ("Objective", "Held-out accuracy", "Anchors per row"):
        assert f"<figcaption>{title}</figcaption>" in sapl
    assert "<figcaption>Energy</figcaption>" in report(
        clone(ESTIMATORS["rbf"]).fit(X, y), X
    )
    stream = LLSVMClassifier(8, solver="sgd", random_state=0)
    stream.partial_fit(X, y, classes=np.arange(5))
    Page(report(stream, X, y))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 26), (-3e-5, 1e-4), (99, 1e6)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 6
    assert low - 1e-9 <= found[0]
    assert found[-1] <= high + 1e-9
    assert_allclose(np.diff(found), found[1] - found[0])
    assert ticks(2, 2) == [2]


def test_rows_without_labels(blobs):
    X, y = of_classes(blobs, 5)
    clf = clone(ESTIMATORS["llsvm"]).fit(X, y)
    html = report(clf, X)
    for word in (">Accuracy<", "Confusions", 'data-pick="wrong"', "labelled rows"):
        assert word not in html
    assert all(row["label"] is None for row in explanations(html)["rows"])


def test_sparse_rows_give_the_same_page(blobs):
    X, y = of_classes(blobs, 5)
    clf = clone(ESTIMATORS["llsvm"]).fit(X, y)
    pages = [report(clf, layout(X), y) for layout in (np.asarray, sparse.csr_matrix)]
    for layout in (sparse.coo_array, sparse.csc_matrix):
        assert report(clf, layout(X), y) == pages[1]
    told = [explanations(html)["rows"] for html in pages]
    assert [row["row"] for row in told[0]] == [row["row"] for row in told[1]]
    for a, b in zip(*told, strict=True):
        assert a["views"][0]["score"] == pytest.approx(b["views"][0]["score"])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame, blobs):
    X, y = of_classes(blobs, 5)
    columns = ["age", "weight", "height", "pulse", "dose", "time"]
    table = frame(dict(zip(columns, X.T, strict=True)))
    clf = clone(ESTIMATORS["pipeline"]).fit(table, y)
    row = explanations(report(clf, table, pd.Series(y)))["rows"][0]
    assert {term[0] for term in row["views"][0]["terms"]} == set(columns)
    assert row["change"]["given_units"]


def test_searches(blobs):
    X, y = of_classes(blobs, 3)
    grid = {"llsvmclassifier__alpha": [0.01, 0.1]}
    search = GridSearchCV(clone(ESTIMATORS["pipeline"]), grid, cv=2).fit(X, y)
    table = Page(report(search, X, y)).tables["Parameters that are not the defaults"]
    chosen = {line[0]: line[1] for line in table[1:]}
    alpha = search.best_params_["llsvmclassifier__alpha"]
    assert chosen == {"n_anchors": "8", "random_state": "0", "alpha": repr(alpha)}


def test_labels_that_the_model_does_not_know(blobs):
    X, y = of_classes(blobs, 3)
    clf = clone(ESTIMATORS["llsvm"]).fit(X, y)
    other = np.where(np.arange(len(y)) % 10 == 0, 7, y)
    tables = Page(report(clf, X, other)).tables
    found = tables["Rows by label (down) and prediction (across)"]
    assert [line[0] for line in found[1:]] == ["0", "1", "2", "7"]
    assert [len(line) for line in found] == [4] * 5
    with pytest.raises(ValueError, match="y holds no class of the classifier: its"):
        report(clf, X, y + 10)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        report(clf, X, y[:-1])


def test_unlabelled_rows_of_an_atlas_do_not_count(blobs):
    X, y = of_classes(blobs, 3)
    some = np.where(np.arange(len(y)) % 2 == 0, -1, y)
    clf = clone(ESTIMATORS["atlas"]).fit(X, some)
    known = some != -1
    html, found = build_report(clf, X, some)
    assert found.evaluation.accuracy == clf.score(X[known], y[known])
    assert f"of <b>{known.sum()}</b> labelled rows" in html
    assert ">Accuracy<" not in report(clf, X, np.full(len(y), -1))


def test_wrong_and_uncertain_rows_are_among_those_explained(digits):
    X, y, X_test, y_test = digits
    clf = LLSVMClassifier(10, random_state=0).fit(X, y)
    html = report(clf, X_test, y_test, rows=20)
    assert html == report(clf, X_test, y_test, rows=20)
    told = explanations(html)["rows"]
    rows = [row["row"] for row in told]
    assert len(rows) == 20
    assert rows == sorted(set(rows))
    scores = np.sort(clf.decision_function(X_test), axis=1)
    margin = scores[:, -1] - scores[:, -2]
    assert set(np.argsort(margin)[:5]) <= set(rows)
    assert margin.argmax() in rows
    wrong = clf.predict(X_test) != y_test
    assert sum(row["wrong"] for row in told) >= min(6, wrong.sum())
    assert all(row["wrong"] == wrong[row["row"]] for row in told)
    assert len(explanations(report(clf, X_test, rows=None))["rows"]) == len(X_test)
    assert len(explanations(report(clf, X_test, rows=1))["rows"]) == 1


def test_digits_are_pictures(digits):
    X, y, X_test, y_test = digits
    clf = LLSVMClassifier(10, random_state=0).fit(X, y)
    store = explanations(report(clf, X_test, y_test, rows=5))
    assert store["side"] == 8
    assert len(store["rows"][0]["image"]) == 88
    names = [f"pixel {i}" for i in range(64)]
    html = report(clf, X_test, y_test, rows=5, feature_names=names)
    assert explanations(html)["side"] is None


def test_large_data_in_blocks(monkeypatch, digits):
    from locallin.report import _data, _rows

    X, y, X_test, y_test = digits
    clf = LLSVMClassifier(10, random_state=0).fit(X, y)
    whole, found = build_report(clf, X_test, y_test, rows=20)
    monkeypatch.setattr(_data, "_LARGEST_BLOCK", 7)
    monkeypatch.setattr(_rows, "_BLOCK_BYTES", 1 << 14)
    pieces, again = build_report(clf, X_test, y_test, rows=20)
    assert len(pieces) == pytest.approx(len(whole), rel=0.01)
    assert_array_equal(again.evaluation.predicted, found.evaluation.predicted)
    monkeypatch.setattr(_data, "_MOST_REGION_ROWS", 100)
    html, found = build_report(clf, X_test, y_test, rows=20)
    assert found.n_region_rows == sum(region.rows for region in found.regions) == 100
    assert "those with the most rows first, on 100 rows" in html


def test_many_classes_have_a_list_of_confusions():
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(30), 10)
    X = rng.normal(size=(300, 4)) + rng.normal(size=(30, 4))[y]
    clf = LLSVMClassifier(5, alpha=1.0, random_state=0).fit(X, y)
    lines = Page(report(clf, X, y)).tables["The most frequent confusions"][1:]
    counts = confusion_matrix(y, clf.predict(X))
    np.fill_diagonal(counts, 0)
    assert int(lines[0][2]) == counts.max()
    assert counts[int(lines[0][0]), int(lines[0][1])] == counts.max()


def test_the_file_is_replaced_at_the_end(monkeypatch, tmp_path, blobs):
    X, y = of_classes(blobs, 3)
    clf = clone(ESTIMATORS["llsvm"]).fit(X, y)
    path = tmp_path / "page.html"
    html = report(clf, X, y, path=path, title="Größe \ud800")
    assert path.read_text(encoding="utf-8") == html
    assert "<h1>Größe ?</h1>" in html

    def fail(*arguments):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        report(clf, X, path=str(path))
    assert path.read_text(encoding="utf-8") == html
    assert os.listdir(tmp_path) == ["page.html"]


def test_wrong_arguments(moons):
    X, y = moons
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    for rows in (0, 1.5, True):
        with pytest.raises(ValueError, match=f"rows={rows}: choose an integer"):
            report(clf, X, rows=rows)
    with pytest.raises(ValueError, match="feature_names has 3 names"):
        report(clf, X, feature_names=["a", "b", "c"])
    with pytest.raises(TypeError, match=r"report needs a classifier or .*Log"):
        report(LogisticRegression().fit(X, y), X)
    with pytest.raises(NotFittedError):
        report(LLSVMClassifier(), X)


@pytest.mark.parametrize("name", [*ESTIMATORS, "charts"])
def test_notebooks_show_estimators(name, blobs):
    X, y = of_classes(blobs, 3)
    clf = clone({**ESTIMATORS, "charts": charts}[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in (clf, clone(clf).fit(X, y)):
            html = estimator._repr_html_()
            kind = type(estimator).__name__
            assert kind in html
            assert estimator._repr_mimebundle_()["text/html"]


def test_iris_as_it_comes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = ML3Classifier(4, **few).fit(X, y)
    tables = Page(report(clf, X, y)).tables
    lines = tables["Local models, those with the most rows first"][1:]
    assert {line[0].split("/")[0] for line in lines} <= {"0", "1", "2"}


def test_the_top_is_in_plain_words(blobs):
    X, y = of_classes(blobs, 2)
    html = report(clone(ESTIMATORS["llsvm"]).fit(X, y), X, y)
    top = html[html.index("<header>") : html.index("</header>")]
    assert "<h1>Model report</h1>" in top
    assert f"8 local linear models, 2 classes, asked about {len(X)} rows" in top
    assert "Classifier" not in top
    named = report(clone(ESTIMATORS["llsvm"]).fit(X, y), X, pd.Series(y, name="<left>"))
    assert "<h1>Model report: &lt;left&gt;</h1>" in named


def test_a_model_that_chose_for_itself_says_what(blobs):
    """Alone and behind other steps; not what it is made of."""
    X, y = of_classes(blobs, 2)
    alone = LocallyLinearClassifier(random_state=0, time_limit=0.01).fit(X, y)
    behind = make_pipeline(StandardScaler(), alone).fit(X, y)
    for clf in (alone, behind):
        tables = Page(report(clf, X, y)).tables
        changed = {line[0] for line in tables["Parameters that are not the defaults"]}
        assert changed == {"Parameter", "random_state", "time_limit"}
        chosen = dict(tables["Chosen on held-out rows"][1:])
        assert chosen == {name: str(value) for name, value in alone.chosen_.items()}
        assert ["method", "LocallyLinearClassifier"] in tables["What fitting gave"]


def test_large_numbers_are_written_out():
    told = {21997.81: "21998", 9999.6: "10000", 187342.0: "187342", 0.123456: "0.1235"}
    assert {value: number(value) for value in told} == told
    assert (number(1e15), signed(-20000.4), number(np.nan)) == (
        "1e+15",
        "-20000",
        "nan",
    )
    assert shown_value(1234567.8) == "1234568"
    assert shown_value(21997.81) == "21997.8"


def test_parts_are_told_where_asked_for(moons, capsys):
    X, y = moons
    clf = LLSVMClassifier(5, random_state=0).fit(X, y)
    silent = report(clf, X, y, rows=3)
    assert capsys.readouterr().out == ""
    assert report(clf, X, y, rows=3, verbose=1) == silent
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[report] predicting 300 rows")
    assert len(lines) == N_PARTS + 1
