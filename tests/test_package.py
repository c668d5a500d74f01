"""The package as a whole: imports, public names, caching."""

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import locallin

ROOT = Path(__file__).parent.parent


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    ).stdout


def test_public_names_are_there():
    for name in locallin.__all__:
        assert getattr(locallin, name)
        assert name in dir(locallin)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        locallin.nothing  # noqa: B018


def test_the_version_is_written_once_and_cited():
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {locallin.__version__}" in citation
    assert f'"{locallin.__version__}"' not in (ROOT / "pyproject.toml").read_text()
    recipe = (ROOT / "recipe" / "meta.yaml").read_text()
    assert f'{{% set version = "{locallin.__version__}" %}}' in recipe
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert f"\n## {locallin.__version__}" in changes


def test_the_recipe_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {f"python {project['requires-python']}"}
    wanted |= {need.replace(">=", " >=") for need in project["dependencies"]}
    recipe = (ROOT / "recipe" / "meta.yaml").read_text()
    block = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.M)[1]
    assert set(re.findall(r"- (.+)", block)) == wanted


def test_the_recipe_says_what_the_project_says():
    """As conda reads it: a template, and then YAML."""
    jinja2, yaml = map(pytest.importorskip, ("jinja2", "yaml"))
    source = (ROOT / "recipe" / "meta.yaml").read_text()
    recipe = yaml.safe_load(jinja2.Template(source).render(PYTHON="python"))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    assert recipe["package"]["name"] == project["name"]
    assert str(recipe["package"]["version"]) == locallin.__version__
    (backend,) = settings["build-system"]["requires"]
    assert backend.replace(">=", " >=") in recipe["requirements"]["host"]
    commands = [f"{name} = {home}" for name, home in project["scripts"].items()]
    assert recipe["build"]["entry_points"] == commands
    assert recipe["build"]["noarch"] == "python"
    assert recipe["about"]["license"] == project["license"]
    assert (ROOT / recipe["about"]["license_file"]).exists()
    assert (ROOT / "recipe" / recipe["source"]["path"]).samefile(ROOT)
    for module in recipe["test"]["imports"]:
        import_module(module)
    (program,) = (c for c in recipe["test"]["commands"] if c.startswith("python -c "))
    assert run(program.removeprefix('python -c "').removesuffix('"')).strip() == "[0]"


def test_type_checkers_are_told_to_read_the_annotations():
    assert Path(locallin.__file__).with_name("py.typed").exists()


def test_type_checkers_see_all_names():
    tree = ast.parse(Path(locallin.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    assert seen == locallin._HOME


def test_importing_compiles_nothing_and_changes_no_setting():
    program = """
import numba, numpy, threadpoolctl

def settings():
    pools = {i["filepath"]: i["num_threads"] for i in threadpoolctl.threadpool_info()}
    return numba.get_num_threads(), numpy.geterr(), pools

before = settings()
compiled = []
numba.core.event.register("numba:compile", type("L", (numba.core.event.Listener,), {
    "on_start": lambda self, event: compiled.append(event),
    "on_end": lambda self, event: None,
})())
import locallin
from locallin import LLSVMClassifier
after = settings()
assert before[:2] == after[:2]
assert before[2].items() <= after[2].items()
print(len(compiled))
"""
    assert run(program).strip() == "0"


def test_what_an_index_shows_leads_nowhere_that_it_has_not():
    on_an_index = runpy.run_path(str(ROOT / "setup.py"))["on_an_index"]
    shown = on_an_index((ROOT / "README.md").read_text())
    assert not re.search(r"\]\((?!https?:)|<!--", shown)
    assert "frequent questions, among them" in shown
    assert shown.count("```") == (ROOT / "README.md").read_text().count("```")
