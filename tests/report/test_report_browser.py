"""Reports in a browser: the script runs, rows can be chosen, nothing goes wrong."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import LLSVMClassifier, TableEncoder
from locallin.report import compare, report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason=f"none of {', '.join(NAMES)} is installed"
    ),
]


def opened(path, fragment, folder, *options):
    """The page after its script has run, and what it said on the console."""
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--enable-logging=stderr", "--virtual-time-budget=5000",
        f"--user-data-dir={folder}", *options, "--dump-dom",
        path.as_uri() + fragment,
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, said


def panel(dom):
    return dom[dom.index('<div id="row"') : dom.index('id="explanations"')]


def words(html):
    return unescape(re.sub(r"<[^>]*>", " ", html)).replace("\u2212", "-")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def images(folder, digits):
    X, y, X_test, y_test = digits
    clf = LLSVMClassifier(10, random_state=0).fit(X, y)
    report(clf, X_test, y_test, path=folder / "digits.html", rows=None)
    return clf, X_test, y_test, folder / "digits.html"


def test_a_row_is_chosen_by_the_address(images, folder):
    clf, X, _, path = images
    scores = clf.decision_function(X[7:8])[0]
    dom, said = opened(path, "#row=7", folder / "profile")
    assert said == []
    shown = panel(dom)
    assert 'data-row="7"' in shown
    assert f"Row 7: predicted {scores.argmax()}" in words(shown)
    total = re.search(r'id="score"[^>]*>([^<]*)<', shown)[1].replace("\u2212", "-")
    assert float(total) == pytest.approx(scores.max(), rel=1e-3)
    adds = re.findall(r'<td class="num">([+\u2212]?[\d.]+)</td></tr>', shown)
    assert len(adds) == 14 + 5
    parts = [float(part.replace("\u2212", "-")) for part in adds[:14]]
    assert sum(parts) == pytest.approx(scores.max(), abs=0.01)
    assert shown.count("<canvas") == 3
    assert 'id="explained" hidden' not in dom
    rows = re.search('<select id="choose-row">(.*?)</select>', dom, re.S)[1]
    assert rows.count("<option") == len(X)


def test_the_first_row_shown_is_the_most_surprising(images, folder):
    clf, X, y, path = images
    scores = clf.decision_function(X)
    lead = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1).ravel()
    wrong = clf.predict(X) != y
    expected = np.flatnonzero(wrong)[lead[wrong].argmax()]
    dom, said = opened(path, "", folder / "profile")
    assert said == []
    assert f'data-row="{expected}"' in panel(dom)
    assert f"wrong, the label is {y[expected]}" in words(panel(dom))


def test_two_classes_with_names_that_look_like_code(folder):
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["<script>alert(1)</script>", "a & 'b'"])[y]
    names = [f"<img src=x onerror=alert({i})>" for i in range(X.shape[1])]
    clf = make_pipeline(StandardScaler(), LLSVMClassifier(8, random_state=0))
    path = folder / "tumours.html"
    clf.fit(X, labels)
    report(clf, X, labels, path=path, feature_names=names, rows=None)
    dom, said = opened(path, "#row=3", folder / "profile")
    assert said == []
    assert "<img" not in dom
    assert len(re.findall("<script", dom)) == 2
    shown = words(panel(dom))
    assert f"Row 3: predicted {clf.predict(X[3:4])[0]}" in shown
    assert "<img src=x onerror=alert(" in shown
    assert "the local model" in shown


def test_buttons_choose_rows(images, folder):
    """A click on a button of a copy of the page, whose script ends with it."""
    clf, X, _, path = images
    lead = np.diff(np.sort(clf.decision_function(X), axis=1)[:, -2:], axis=1).ravel()
    order = np.argsort(lead)
    click = "document.querySelector('[data-pick={}]').click();"
    for clicks, expected in (
        (click.format("clear"), order[-1]),
        (click.format("narrow"), order[0]),
        (2 * click.format("narrow"), order[1]),
        (click.format("narrow") + click.format("clear"), order[-1]),
        ("location.hash = '#row=5';", 5),
        ("document.querySelector('#row button:nth-of-type(2)').click();", None),
    ):
        copy = folder / "copy.html"
        html = path.read_text(encoding="utf-8")
        end = html.rindex("</script>")
        copy.write_text(html[:end] + clicks + html[end:], encoding="utf-8")
        dom, said = opened(copy, "#row=9", folder / "profile")
        assert said == []
        if expected is None:
            assert 'aria-pressed="true">Score of ' in panel(dom)
            assert "runner-up: what each column adds" in words(panel(dom))
            expected = 9
        assert f'data-row="{expected}"' in panel(dom)


LOOK = """{
const seen = (cells) => [...cells].filter(
  (cell) => getComputedStyle(cell).display !== "none").length;
document.title = JSON.stringify({
  tables: [...document.querySelectorAll("main table")]
    .filter((one) => one.tHead && one.tHead.offsetParent)
    .map((one) => [seen(one.tHead.rows[0].cells), seen(one.tBodies[0].rows[0].cells)]),
  invisible: [...document.querySelectorAll("polyline")]
    .filter((one) => getComputedStyle(one).stroke === "none").length,
});}"""


@pytest.mark.parametrize("width", [400, 1200])
def test_headers_stand_above_their_columns_and_all_lines_are_drawn(width, folder):
    X, y = load_breast_cancer(return_X_y=True)
    first, second = (
        make_pipeline(
            StandardScaler(), LLSVMClassifier(m, probability=True, random_state=0)
        ).fit(X[:300], y[:300])
        for m in (3, 8)
    )
    pages = report(second, X[300:], y[300:]), compare(first, second, X[300:], y[300:])
    for html in pages:
        path = folder / "looked_at.html"
        html = html.replace("default-src 'none'", "default-src 'unsafe-inline'")
        script = html.rindex("</body>")
        path.write_text(
            f"{html[:script]}<script>{LOOK}</script>{html[script:]}", "utf-8"
        )
        dom, _ = opened(path, "", folder / "profile", f"--window-size={width},900")
        found = json.loads(unescape(re.search("<title>(.*?)</title>", dom)[1]))
        assert found["tables"]
        assert all(above == below for above, below in found["tables"])
        assert found["invisible"] == 0


@pytest.fixture(scope="module")
def wordy(folder):
    """A page about columns with long names and long levels."""
    rng = np.random.RandomState(0)
    said = np.array(["called twice about the last bill", "asked for a discount, moved"])
    X = pd.DataFrame(
        {"income of the whole household": rng.rand(200), "notes": rng.choice(said, 200)}
    )
    y = (X["notes"] == said[0]) ^ (X.iloc[:, 0] > 0.5)
    clf = make_pipeline(TableEncoder(), LLSVMClassifier(3, random_state=0)).fit(X, y)
    return report(clf, X, y)


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("page", ["images", "wordy"])
def test_no_page_is_wider_than_its_window(page, width, request, folder):
    """In a frame, as windows have a smallest width."""
    html = request.getfixturevalue(page)
    html = html[3].read_text(encoding="utf-8") if page == "images" else html
    outer = folder / "frame.html"
    outer.write_text(
        f"""<meta charset="utf-8"><title></title><iframe width="{width}" height="900"
        srcdoc="{escape(html)}"></iframe><script>
        const frame = document.querySelector("iframe");
        frame.onload = () => {{
          const root = frame.contentDocument.documentElement;
          document.title = `${{root.scrollWidth}} in ${{root.clientWidth}}`;
        }};</script>""",
        encoding="utf-8",
    )
    dom, _ = opened(outer, "", folder / "profile", "--window-size=1400,1000")
    wide, window = map(int, re.search(r"<title>(\d+) in (\d+)</title>", dom).groups())
    assert wide == window
    assert window <= width
