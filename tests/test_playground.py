"""The playground of the docs: its scripts compute what Python computes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

DOCS = Path(__file__).parent.parent / "docs"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
RUN = """
const fs = require("fs");
const [, folder, file, ...names] = process.argv;
const read = (name) => fs.readFileSync(folder + "/" + name, "utf8");
const text = names.map(read).join("\\n");
const asked = JSON.parse(fs.readFileSync(file, "utf8"));
const program = text.replaceAll('"use strict";', "") + asked.program;
process.stdout.write(JSON.stringify(new Function("asked", program)(asked)));
"""
FIT = """
const model = trainer.fit(asked.points, asked.labels, asked.settings);
const told = asked.points.map((point) => localModel.ask(model, point));
const [member] = model.members;
return {
  anchors: Array.from(member.anchors),
  bandwidth: member.bandwidth[0],
  locals: told.map((one) => one.locals),
  scores: told.map((one) => one.scores[0]),
  weights: told.map((one) => {
    const found = trainer.weights(model, one.locals);
    return [...found.coef[0], found.intercept[0]];
  }),
};
"""
ASK = """
const model = localModel.read(DIGITS.model);
return asked.rows.map((row) => {
  const told = localModel.ask(model, row);
  return {
    scores: told.scores,
    coef: trainer.weights(model, told.locals).coef.map((one) => Array.from(one)),
  };
});
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Scripts as the site has them, and the model of digits."""
    folder = tmp_path_factory.mktemp("playground")
    shutil.copytree(DOCS / "_static", folder / "_static")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        import _digits

        _digits.write(folder / "_static")
        found = _digits.model_of_digits()
        sys.modules.pop("_digits")
    return folder, found


def by_script(made, tmp_path, names, **asked):
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(asked))
    command = [NODE, "-e", RUN, made[0] / "_static", file, "local-model.js", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize(("anchors", "alpha"), [(1, 1e-3), (8, 1e-3), (24, 1e-2)])
def test_the_trainer_finds_the_least_of_a_convex_problem(
    made, tmp_path, anchors, alpha
):
    X, y = make_moons(120, noise=0.2, random_state=0)
    X = X / 2 - [0.25, 0.12]
    settings = {"anchors": anchors, "sharpness": 1.0, "alpha": alpha}
    found = by_script(
        made, tmp_path, ["trainer.js"],
        program=FIT, points=X.tolist(), labels=y.tolist(), settings=settings,
    )  # fmt: skip
    codes = np.zeros((len(X), anchors))
    for row, told in zip(codes, found["locals"], strict=True):
        for j, weight in told:
            row[j] = weight
    assert_allclose(codes.sum(axis=1), 1)
    assert len(found["anchors"]) == 2 * anchors
    seen = np.column_stack([X, np.ones(len(X))])
    units = seen / [0.2, 0.2, 1]  # those of the penalty
    expanded = (codes[:, :, None] * units[:, None]).reshape(len(X), -1)
    peer = LogisticRegression(
        C=1 / (alpha * len(X)), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(expanded, y)
    assert_allclose(found["scores"], peer.decision_function(expanded), atol=1e-3)
    assert_allclose((np.array(found["weights"]) * seen).sum(axis=1), found["scores"])


@needs_node
def test_the_coordinates_are_those_of_the_library(made, tmp_path):
    from locallin.coding import AdaptiveCoding

    X, y = make_moons(60, noise=0.2, random_state=0)
    found = by_script(
        made, tmp_path, ["trainer.js"], program=FIT, points=X.tolist(),
        labels=y.tolist(), settings={"anchors": 6, "sharpness": 1.5, "alpha": 1e-3},
    )  # fmt: skip
    anchors = np.reshape(found["anchors"], (6, 2))
    coding = AdaptiveCoding(anchors=anchors, mu=found["bandwidth"]).fit(X)
    wanted = coding.transform(X).toarray()
    for row, told in zip(wanted, found["locals"], strict=True):
        assert_allclose([row[j] for j, _ in told], [g for _, g in told], atol=1e-6)


@needs_node
def test_points_of_one_colour_make_no_model(made, tmp_path):
    program = "return trainer.fit([[0, 0], [1, 1]], [1, 1], {anchors: 2});"
    assert by_script(made, tmp_path, ["trainer.js"], program=program) is None


@needs_node
def test_the_model_of_digits(made, tmp_path):
    _, (clf, X, y) = made
    rows = X[:50] / 16
    assert clf.score(X / 16, y) > 0.9
    found = by_script(
        made, tmp_path, ["trainer.js", "digits.js"], program=ASK, rows=rows.tolist()
    )
    scores = [told["scores"] for told in found]
    assert_allclose(scores, clf.decision_function(rows), atol=1e-4)
    coef = [told["coef"] for told in found]
    assert_allclose(coef, clf.local_coef(rows), atol=1e-4)


def test_what_is_made_is_small(made):
    sizes = [path.stat().st_size for path in (made[0] / "_static").glob("*.js")]
    assert max(sizes) < 200_000


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(NAMES)} is installed")
def test_the_page_in_a_browser(made, tmp_path):
    folder, (clf, X, y) = made
    page = (DOCS / "playground.md").read_text()
    blocks = re.findall(r"^```\{raw\} html\n(.*?)^```", page, re.M | re.S)
    html = "<!doctype html><meta charset=utf-8><body>" + "\n".join(blocks)
    (folder / "page.html").write_text(html)
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--enable-logging=stderr", "--virtual-time-budget=5000",
        f"--user-data-dir={tmp_path}", "--dump-dom", (folder / "page.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    said = re.findall(r'data-part="said"[^>]*>([^<]*)<', done.stdout)
    assert said[0].startswith("120 points, 8 local models, ")
    zero = X[np.flatnonzero(y == 0)[:1]] / 16
    assert said[1].startswith(f"The model says {clf.predict(zero)[0]}, with ")
    assert done.stdout.count("<meter") == 10


def test_every_slider_has_a_name_of_its_own():
    """A label speaks for the first element that it can, here the number shown."""
    sliders = re.findall(
        r'<input type="range"[^>]*>', (DOCS / "playground.md").read_text()
    )
    assert len(sliders) == 3
    assert all('aria-label="' in slider for slider in sliders)
