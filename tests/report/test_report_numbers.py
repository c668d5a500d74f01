"""Reports about predicted numbers: figures, intervals, rows, and the panel."""

import json
import re
import subprocess
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_report import HOSTILE, Page, explanations
from test_report_model import NODE, answers, in_numbers, needs_node, table_of, unlike

from locallin import (
    DULLSVMRegressor,
    EnsembleRegressor,
    LLSVMRegressor,
    LocallyLinearRegressor,
    PiecewiseLinearEncoder,
    SAPLRegressor,
    TableEncoder,
)
from locallin.export.plain import plain_model
from locallin.inspection import explain, regions
from locallin.inspection.text import number, plain
from locallin.inspection.unwrap import split_pipeline
from locallin.report import report
from locallin.report.build import build_report

few = {"random_state": 0}


def rents(n, seed=0):
    frame, _ = table_of(n, seed)
    rng = np.random.RandomState(seed)
    y = 1e5 + 100 * np.log(frame.income.fillna(500)) + 90 * (frame.home == "rent")
    return frame, (y + 5 * rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def fitted():
    X, y = rents(500)
    reg = LocallyLinearRegressor(time_limit=3, random_state=0).fit(X, y)
    return reg, *rents(200, seed=1)


MEMBERS = {
    "inverse": LLSVMRegressor(12, n_neighbors=4, coding="inverse-distance", **few),
    "sapl": SAPLRegressor(8, **few),
    "du": DULLSVMRegressor(8, metric="linear", loss="huber", **few),
    "mean": EnsembleRegressor(DULLSVMRegressor(6), 2, **few),
    "mapped": LLSVMRegressor(6, feature_map=PiecewiseLinearEncoder(4), **few),
}


@needs_node
@pytest.mark.parametrize("name", MEMBERS)
def test_the_script_predicts_what_python_predicts(name, tmp_path):
    X, y = rents(400)
    encoder = TableEncoder(target_type="numbers")
    reg = make_pipeline(encoder, MEMBERS[name]).fit(X, y)
    new = unlike(rents(300, seed=1)[0])
    named, model = split_pipeline(reg)
    steps = [step for _, step in named]
    described = plain_model(steps, model)
    assert (described["classes"], described["scores"]) == (0, 1)
    found = answers(described, in_numbers(steps, new), tmp_path)
    told, scale = explain(reg, new), y.std()
    scores = np.array([answer["scores"][0] for answer in found])
    assert_allclose(scores, reg.predict(new), atol=2e-3 * scale, rtol=1e-6)
    unit = np.abs(y).max()
    assert np.abs(scores - reg.predict(new)).max() < 1e-5 * unit
    columns = list(X.columns)
    places = [columns.index(name) for name in told.feature_names]
    parts = np.array([answer["contributions"][0] for answer in found])[:, places]
    assert_allclose(parts, told.contributions[:, 0], atol=1e-5 * unit)


@needs_node
def test_the_page_has_intervals(fitted, tmp_path):
    reg, X, y = fitted
    store = explanations(report(reg, X, y))["whatIf"]
    coverage, below, above = store["interval"]
    ends = reg.predict_interval(X, coverage) - reg.predict(X)[:, None]
    assert_allclose(ends, [[below, above]] * len(X), atol=1e-6 * np.abs(y).max())
    assert store["classes"] == ["y"]


FLIP = """
const fs = require("fs");
const scripts = process.argv.slice(1, 3).map((path) => fs.readFileSync(path, "utf8"));
const [localModel, smallestFlip] =
  new Function(scripts.join("\\n") + "; return [localModel, smallestFlip];")();
const given = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
const { model, columns, rows, goal } = given;
const read = localModel.read(model);
const ask = (given, values) => {
  const found = localModel.ask(given, values);
  const above = found.scores[0] - goal;
  return { ...found, scores: [above], winner: Number(above >= 0) };
};
process.stdout.write(JSON.stringify(rows.map((row) => {
  const found = smallestFlip(read, columns, row, ask);
  if (found === null) return null;
  const cells = row.slice();
  for (const { column, to } of found.changes) cells[column] = to;
  return { size: found.size, before: ask(read, row).scores[0],
    after: ask(read, cells).scores[0] };
})));
"""


@needs_node
def test_a_goal_is_reached_by_the_panel(fitted, tmp_path):
    reg, X, y = fitted
    store = explanations(report(reg, X, y, rows=20))["whatIf"]
    given = tmp_path / "given.json"
    goal = float(np.median(y))
    given.write_text(json.dumps({**store, "goal": goal}))
    scripts = [
        str(files("locallin.report") / name) for name in ("model.js", "flips.js")
    ]
    done = subprocess.run(
        [NODE, "-e", FLIP, *scripts, str(given)],
        capture_output=True, encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    found = [one for one in json.loads(done.stdout) if one is not None]
    assert len(found) > 15
    for one in found:
        assert (one["before"] < 0) != (one["after"] < 0)


def test_figures_and_sections(fitted):
    reg, X, y = fitted
    html, data = build_report(reg, X, y, title="Rents")
    words = re.sub(r"<(style|script)[^>]*>.*?</\1>|<[^>]*>", " ", html, flags=re.S)
    assert Page(html).tables
    predicted = reg.predict(X)
    for name, value in (
        ("r2", r2_score(y, predicted)),
        ("rmse", root_mean_squared_error(y, predicted)),
        ("mae", mean_absolute_error(y, predicted)),
    ):
        assert data.evaluation.figures[name] == pytest.approx(value)
        low, high = data.evaluation.intervals[name]
        assert low < value < high
        assert number(value) in words
    headings = "What matters", "Errors", "Intervals", "Local models", "Single rows"
    places = [html.index(f">{heading}</h2>") for heading in headings]
    assert places == sorted(places)
    for absent in ("Confusions", "Probabilities", "NaN", "nan"):
        assert absent not in words
    assert "Residuals" in words
    assert html.count('class="dot"') == 2 * len(y)
    promised, share, low, high, width = data.evaluation.coverages[2]
    ends = reg.predict_interval(X, 0.9)
    inside = (y >= ends[:, 0]) & (y <= ends[:, 1])
    assert promised == 0.9
    assert share == inside.mean()
    assert low < share < high
    assert width == pytest.approx(np.ptp(ends[0]))


def test_rows_and_regions(fitted):
    reg, X, y = fitted
    html, data = build_report(reg, X, y, rows=30)
    told = explanations(html)
    assert told["numbers"]
    rows = {row["row"]: row for row in told["rows"]}
    assert len(rows) == 30
    errors = y - reg.predict(X)
    for place in np.argsort(-np.abs(errors))[:5]:
        assert rows[place]["error"] == pytest.approx(errors[place])
    assert np.argmax(reg.predict(X)) in rows
    row = rows[int(np.abs(errors).argmax())]
    (view,) = row["views"]
    total = view["bias"] + sum(term[2] for term in view["terms"])
    assert total == pytest.approx(view["score"], rel=1e-5)
    assert view["score"] == pytest.approx(row["value"], rel=1e-5)
    assert [region.r2 for region in data.regions][:3] == pytest.approx(
        [region.r2 for region in regions(reg, X, y)][:3], nan_ok=True
    )
    assert ">R2</th>" in html
    assert ">Mean</th>" in html


def test_without_numbers_and_with_gaps(fitted):
    reg, X, y = fitted
    html = report(reg, X)
    assert ">Errors</h2>" not in html
    assert ">Intervals</h2>" not in html
    assert 'data-pick="off"' not in html
    assert 'data-pick="high"' in html
    gaps = y.copy()
    gaps[::2] = np.nan
    html, data = build_report(reg, X, gaps)
    assert data.evaluation.n_labelled == 100
    assert data.n_region_rows == 100
    assert ">Errors</h2>" in html


def test_quantiles_have_their_loss():
    X, y = rents(300)
    X = X[["income", "age"]].fillna(0)
    reg = DULLSVMRegressor(4, loss="pinball", quantile=0.9, **few)
    model = make_pipeline(StandardScaler(), reg).fit(X, y)
    html, data = build_report(model, X, y)
    missing = y - model.predict(X)
    wanted = np.maximum(0.9 * missing, -0.1 * missing).mean()
    assert data.evaluation.figures["pinball"] == pytest.approx(wanted)
    assert "Pinball loss" in html
    assert ">Intervals</h2>" not in html


def test_wrapped_regressors(fitted):
    _, X, y = fitted
    numbers = X[["income", "age"]].fillna(0)
    inner = make_pipeline(StandardScaler(), LLSVMRegressor(4, **few))
    whole = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp)
    html = report(whole.fit(numbers, y), numbers, y)
    assert "TransformedTargetRegressor decides in the place of the model" in html
    assert "The model learned a transformed target" in html
    search = GridSearchCV(inner, {"llsvmregressor__alpha": [1e-3]}, cv=2)
    assert 'id="what-if"' in report(search.fit(numbers, y), numbers, y)
    both = clone(inner).fit(numbers, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="report shows one target, but LLSVMRegressor"):
        report(both, numbers)


def test_hostile_names_stay_text():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            HOSTILE[0]: rng.normal(size=120),
            HOSTILE[1]: rng.choice(np.array(HOSTILE, dtype=object), 120),
        }
    )
    reg = make_pipeline(TableEncoder(), LLSVMRegressor(5, **few))
    y = X[HOSTILE[0]].to_numpy()
    html = report(reg.fit(X, y), X, y, title=HOSTILE[2])
    assert [tag for tag, _ in Page(html).attributes].count("script") == 2
    assert "default-src 'none'" in html
    store = explanations(html)["whatIf"]
    assert [one["name"] for one in store["columns"]] == [plain(n) for n in X.columns]


def test_constant_y_and_few_rows():
    X = np.arange(12.0).reshape(6, 2)
    reg = LLSVMRegressor(2, **few).fit(X, np.full(6, 3.0))
    html, data = build_report(reg, X, np.full(6, 3.0))
    assert data.evaluation.figures["r2"] is None
    assert ">Errors</h2>" in html
    one = report(reg, X[:1], [3.0])
    assert ">Errors</h2>" in one
