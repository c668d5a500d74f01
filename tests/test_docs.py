"""What the README and the docs show works."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run_one_after_the_other(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
