"""What the README and the docs show works, and the site is complete."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
# Their code searches for settings, fits many models, or starts a cluster.
LONG = {
    *("README", "atlas", "choosing", "dask", "extending", "from_svc", "local"),
    *("probabilities", "regression", "serving", "start", "streams"),
}
MODULES = ("", ".coding", ".anchors", ".atlas", ".feature_maps", ".inspection")
MODULES += (
    ".encoding",
    ".base",
    ".report",
    ".export",
    ".data",
    ".dask",
    ".rivals",
    ".gram",
)
SITE = ("sphinx", "pydata_sphinx_theme", "myst_parser", "sphinx_gallery", "numpydoc")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG))
        for page in PAGES
        if "```python\n" in page.read_text()
    ],
    ids=lambda page: page.name,
)
def test_code_blocks_run_one_after_the_other(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A module of its own: classes that a page defines can be pickled.
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
        exec(compile(block, page.name, "exec"), vars(module))


def test_the_site_begins_with_the_example_of_the_readme():
    """There it is run; here it is not run again."""
    shown = re.compile(
        r"^```(?:python|py)\n(.*?)^```\n\n```text\n(.*?)^```", re.M | re.S
    )
    pages = [page.read_text() for page in (ROOT / "README.md", DOCS / "index.md")]
    first, second = (shown.search(page).groups() for page in pages)
    assert first == second


def test_extending_needs_no_private_name():
    page = (DOCS / "extending.md").read_text()
    names = set(re.findall(r"(?<![A-Za-z0-9_])_[a-zA-Z]\w*", page))
    assert not names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" not in target:
            found = page.parent / target if target else page
            assert found.exists(), target
            if place and found.suffix == ".md":
                assert place in anchors_of(found), f"{target}#{place}"


def anchors_of(page):
    """Names of a page's headings, as code hosts and the site make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {
        re.sub(r"[^\w\- ]", "", one).strip().lower().replace(" ", "-") for one in titles
    }


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_on_the_api_page(module):
    page = (DOCS / "api.md").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, re.M))
    mentioned = set(re.findall(r"`(?:locallin\.)?(\w+)`", page))
    assert set(import_module(f"locallin{module}").__all__) <= listed | mentioned


def test_every_page_is_in_a_table_of_contents():
    listed = {"index"}
    for page in DOCS.glob("*.md"):
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.M | re.S
        ):
            entries = (line for line in block.splitlines() if line[:1] not in ("", ":"))
            listed |= {re.sub(r".*<(.*)>", r"\1", entry) for entry in entries}
    assert {page.stem for page in DOCS.glob("*.md")} == listed - {"gallery/index"}


def test_every_example_begins_with_a_title():
    """The gallery takes it from the script's first lines."""
    for script in (ROOT / "examples").glob("*.py"):
        head = r'"""\n(.+)\n(=+)\n\n'
        found = re.match(head, script.read_text())
        # Not in the gallery: needs a package that is not ours.
        assert script.name == "beside_shap.py" or found, script.name
        assert found is None or len(found[1]) == len(found[2]), script.name


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(find_spec, SITE)), reason="the site needs pip install '.[docs]'"
)
def test_site_builds_without_a_warning_and_without_a_network(tmp_path):
    """In a copy, and without running the examples."""
    made = shutil.ignore_patterns("_build", "generated", "gallery", "__pycache__")
    for folder in ("docs", "examples", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=made)
    built = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"),
            *("-D", "plot_gallery=0", "-b", "html"),
            *(tmp_path / "docs", tmp_path / "html"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    for page in (tmp_path / "html").rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img)\b[^>]*>", page.read_text())
        assert not [tag for tag in loaded if "//" in tag], page.name


@pytest.mark.slow
def test_the_web_service_answers(tmp_path, monkeypatch):
    """The page's own lines: the blocks that run, then those of FastAPI."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "serving.md").read_text()
    module = ModuleType("page_service")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    app = re.search(r"^    from typing.*?(?=^\S)", page, re.M | re.S)[0]
    for block in (*blocks, dedent(app)):
        exec(compile(block, "serving.md", "exec"), vars(module))
    row = {"age": 31, "income": None, "home": "rent"}
    assert "/predict" in {route.path for route in module.app.routes}
    answer = json.loads(json.dumps(module.predict(row)))
    assert set(answer) == {"label", "probabilities", "set", "reasons"}
    assert answer["label"] in answer["set"]
    assert set(answer["reasons"]) == {"age", "income", "home"}
    frame = module.pd.DataFrame([row | {"income": float("nan")}])
    told = module.clf.predict_proba(frame)[0]
    assert list(answer["probabilities"].values()) == pytest.approx(list(told), abs=1e-5)


EXAMPLES = [p for p in (ROOT / "examples").glob("*.py") if p.stem != "beside_shap"]


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_notebooks_run_from_top_to_bottom(script, tmp_path):
    """Those that the gallery offers: the scripts, cut into cells."""
    for needed in ("sphinx_gallery", "nbclient", "ipykernel"):
        pytest.importorskip(needed, reason="needs pip install '.[docs]'")
    shutil.copy(script, tmp_path)
    convert = (
        "from sphinx_gallery.notebook import python_to_jupyter_cli as main; main()"
    )
    execute = "from nbclient.cli import main; main()"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    for program, name in ((convert, script.name), (execute, f"{script.stem}.ipynb")):
        ended = subprocess.run(
            [sys.executable, "-c", program, name],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
    # Nothing but the folder that the page names is left behind.
    made = {path.name for path in tmp_path.iterdir()}
    assert made <= {script.name, f"{script.stem}.ipynb", "demo"}


def test_the_paper_cites_what_its_list_holds():
    paper = (DOCS / "paper" / "paper.md").read_text()
    known = re.findall(
        r"^@\w+\{(\w+),", (DOCS / "paper" / "paper.bib").read_text(), re.M
    )
    assert set(re.findall(r"@([a-z]+\d{4})", paper)) == set(known)
