"""Several quantiles of one model: their figures, and pages about them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, mean_pinball_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_report import Page, explanations

from locallin import EnsembleRegressor, LLSVMRegressor
from locallin.inspection import explain
from locallin.inspection.quality import middle_of, number_figures, number_scores
from locallin.report import compare, report
from locallin.report.build import build_report
from locallin.report.compare import build_comparison

LEVELS = np.array([0.05, 0.25, 0.6, 0.95])


def model(levels, **more):
    settings = {"loss": "pinball", "random_state": 0, **more}
    return LLSVMRegressor(4, quantile=levels, **settings)


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(500, 2))
    y = 50 + X[:, 0] + (0.2 + np.abs(X[:, 1])) * rng.normal(size=500)
    many = make_pipeline(StandardScaler(), model(LEVELS)).fit(X[:250], y[:250])
    return many, X[250:], y[250:]


def test_figures(noisy):
    many, X, y = noisy
    found = many.predict(X)
    scores = number_scores(y, found, LEVELS)
    assert middle_of(LEVELS) == 2
    assert scores["mae"] == pytest.approx(mean_absolute_error(y, found[:, 2]))
    for column, level in zip(found.T, LEVELS, strict=True):
        wanted = mean_pinball_loss(y, column, alpha=level)
        assert scores[f"pinball_q{level:g}"] == pytest.approx(wanted)
    assert scores["crossing"] == 0
    inside = (y >= found[:, 0]) & (y <= found[:, -1])
    assert scores["interval_coverage"] == inside.mean()
    assert scores["interval_width"] == pytest.approx(np.ptp(found, axis=1).mean())
    crossed = found.copy()
    crossed[:50] = crossed[:50, ::-1]
    assert number_scores(y, crossed, LEVELS)["crossing"] == 50 / len(y)
    figures = number_figures(y, found, LEVELS)
    assert {name: figures[name] for name in scores} == scores
    for name in ("pinball_q0.05", "pinball", "interval_coverage", "mae"):
        low, high = figures["intervals"][name]
        assert 0 <= low <= scores[name] <= high
    # Losses may be larger than 1, and so may their intervals.
    _, high = number_figures(1e3 * y, 1e3 * found, LEVELS)["intervals"]["pinball_q0.6"]
    assert high > 1e3 * scores["pinball_q0.6"]


@pytest.mark.parametrize("levels", [[0.9], [0.1, 0.9]])
def test_few_levels(levels, noisy):
    _, X, y = noisy
    html, data = build_report(model(levels).fit(X, y), X, y)
    assert list(data.evaluation.ends) == ([] if len(levels) == 1 else [0.8])
    assert "Quantiles</h2>" in html


def test_a_report(noisy):
    many, X, y = noisy
    html, data = build_report(many, X, y, rows=6)
    found = many.predict(X)
    assert_allclose(data.evaluation.predicted, found[:, 2])
    assert list(data.evaluation.ends) == [0.35, 0.9]
    tables = Page(html).tables
    lines = tables["Quantiles of 250 rows"]
    assert [line[0] for line in lines[1:]] == ["0.05", "0.25", "0.6", "0.95"]
    below = f"{100 * np.mean(y <= found[:, 1]):.1f}"
    assert lines[2][1].startswith(below)
    assert "they cross in no row" in html
    assert "What is called predicted here is the quantile 0.6" in html
    assert [line[0] for line in tables["Intervals of 250 rows"][1:]] == [
        "35.0%",
        "90.0%",
    ]
    rows = explanations(html)["rows"]
    told = explain(many, X[[rows[0]["row"]]])
    assert rows[0]["value"] == pytest.approx(found[rows[0]["row"], 2])
    titles = [view["name"] for view in rows[0]["views"]]
    assert titles == ["Quantile 0.6", "Quantile 0.05", "Quantile 0.25", "Quantile 0.95"]
    for view, place in zip(rows[0]["views"], (2, 0, 1, 3), strict=True):
        assert view["score"] == pytest.approx(told.scores[0, place])
    assert "the panel answers with one number" in html
    assert "Quantiles</h2>" not in report(many, X)


def test_a_mean_of_such_models(noisy):
    _, X, y = noisy
    mean = EnsembleRegressor(model([0.1, 0.5, 0.9]), 2, random_state=0).fit(X, y)
    assert "Quantiles of 250 rows" in report(mean, X, y, rows=2)


def test_two_models(noisy):
    many, X, y = noisy
    other = model(LEVELS).fit(X, y + 2)
    html, data = build_comparison((many, other), (X, X), y, names=("a", "b"))
    figures = {name: (a, b, *between) for name, a, b, between in data.figures}
    assert figures["pinball_q0.05"][0] < figures["pinball_q0.05"][1]
    assert {"pinball", "interval_coverage", "interval_width"} <= figures.keys()
    lines = {line[0]: line for line in Page(html).tables["Figures of 250 rows"][1:]}
    assert lines["Pinball loss of quantile 0.05"][-1] == "a"
    assert lines["Rows between the outer quantiles"][-1] == "–"
    assert "Reasons of a" in html


def test_models_of_other_quantiles(noisy):
    many, X, y = noisy
    one = model(0.6).fit(X, y)
    _, data = build_comparison((many, one), (X, X), y)
    names = [name for name, *_ in data.figures]
    assert names == ["rmse", "mae", "r2", "pinball_q0.6"]
    _, data = build_comparison((Ridge().fit(X, y), many), (X, X), y)
    assert [name for name, *_ in data.figures] == ["rmse", "mae", "r2"]
    assert "Pinball" not in compare(Ridge().fit(X, y), many, X, y)
