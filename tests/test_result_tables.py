"""Pages show the results that are committed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import _markdown, tables
from benchmarks import _mixed_tables as mixed
from benchmarks.__main__ import BENCHMARKS
from benchmarks._common import RESULTS
from benchmarks._markdown import column, plus_minus, read
from benchmarks._statistics import average_ranks, compare, median_ratio

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_pages_show_the_committed_results(page):
    text = page.read_text()
    assert tables.filled(text) == text, "run python -m benchmarks.tables"


def said(page: str) -> str:
    """A page in one line, as a sentence may go over several."""
    return " ".join((ROOT / page).read_text().split())


def test_questions_have_the_figures_of_the_results():
    seconds = column("fit_seconds", "mixed")
    ratio = median_ratio(seconds["LocallyLinearClassifier"], seconds["LGBMClassifier"])
    assert f"took {ratio:.0f} times as long as LightGBM's" in said("docs/faq.md")
    errors = column("rmse", "regression")
    network, ours = errors["MLPRegressor"], errors["LocallyLinearRegressor"]
    assert all(network[name] > ours[name] for name in network)
    assert f"On {len(network)} regression tables" in said("docs/faq.md")
    assert f"on all {len(network)} " in said("docs/faq.md")


def test_the_first_screen_has_the_figures_of_the_results():
    page = said("README.md")
    one_row = read("serving")["tumours, 30 numbers"]["ONNX Runtime"]
    spent = one_row["one_row_microseconds"]["median"]
    assert f"reasons in {round(spent, -1):.0f} microseconds" in page
    fit = read("scaling")["memory of a fit on MNIST"]
    needed = fit["peak_beyond_input_bytes_arrays"] / 1e6
    assert f"needs {needed:.0f} MB beyond its input" in page
    stream = read("stream")["DU-LLSVM"]["8,000,000 rows"]
    assert f"has {stream['test_error']:.2f} % error on MNIST's test images" in page
    assert f"at {round(stream['rows_per_second'], -3):,.0f} rows per second" in page
    peers = read("peers")["mnist"]
    for name in ("DULLSVMClassifier", "SVC(C=10), intelex"):
        assert f"{peers[name]['test_error']:.2f} %" in page


def test_the_page_about_ebm_counts_right():
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"]
    ours, ebm = (
        column("auc", "domains")[method]
        for method in ("LocallyLinearClassifier", "ExplainableBoostingClassifier")
    )
    ahead = sum(ebm[name] > ours[name] for name in ebm)
    sentence = f"On {words[ahead]} of these {words[len(ebm)]} the EBM has the higher"
    assert sentence in said("docs/from_ebm.md")
    assert max(ebm[name] - ours[name] for name in ebm) == pytest.approx(0.01, abs=5e-3)
    assert f"behind by {ours['fraud'] - ebm['fraud']:.2f}" in said("docs/from_ebm.md")


class Recorded:
    """The folder of the results, and what was read from it."""

    def __init__(self):
        self.names = []

    def __truediv__(self, name: str) -> Path:
        self.names.append(Path(name).stem)
        return RESULTS / name


MARKS = [
    pytest.param(page, name, id=f"{page.name}, {name}")
    for page in tables.PAGES
    for _, name, _, _ in tables.PLACE.findall(page.read_text())
]


@pytest.mark.parametrize(("page", "table"), MARKS)
def test_a_page_says_how_its_tables_are_made(page, table, monkeypatch):
    monkeypatch.setattr(_markdown, "RESULTS", recorded := Recorded())
    tables.TABLES[table]()
    text = " ".join(page.read_text().split())
    assert any(
        part in command or "--only" not in command
        for benchmark, _, part in (name.partition("-") for name in recorded.names)
        for command in re.findall(rf"python -m benchmarks {benchmark}\b[^`]*", text)
    )


def test_make_bench_makes_everything():
    recipe = (ROOT / "Makefile").read_text().partition("\nbench:")[2]
    recipe = recipe.partition("for name in")[2].partition(";")[0]
    assert set(recipe.replace("\\", "").split()) == set(BENCHMARKS)


def test_figures_are_rounded_once():
    kept = {"test_errors": [1.0, 1.0101], "mean": 1.005, "deviation": 0.007}
    assert plus_minus(kept) == plus_minus(kept["test_errors"]) == "1.01 +- 0.01"
    assert plus_minus({"mean": 2.0, "deviation": 0.125}) == "2.00 +- 0.12"


def test_benchmarks_are_imported_where_the_system_has_no_limits():
    """Windows has no module ``resource``."""
    lines = (
        "import sys",
        "sys.modules['resource'] = None",
        "import benchmarks.papers.atlas",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=ROOT, check=True)


def in_auc_beside(peer: str) -> tuple[dict, dict]:
    """How the AUC of a slow peer on raw tables compares with ours, and the ranks."""
    both = mixed.of_both(*mixed.MEASURES["AUC"], peer)
    return compare(both[peer], both[mixed.OURS]), average_ranks(both)


def test_slow_peers_on_raw_tables_are_counted_right():
    catboost, ebm = (in_auc_beside(peer)[0] for peer in mixed.SLOW)
    assert (
        f"CatBoost is ahead of ours on {catboost['ahead']} of {catboost['sets']} "
        f"tables, EBM on {ebm['ahead']} of {ebm['sets']}"
    ) in said("README.md")
    beside, ranks = in_auc_beside(mixed.EBM)
    assert (
        f"ahead in AUC on {beside['ahead']} of {beside['sets']}: its average rank of "
        f"two is {ranks[mixed.EBM]}, ours {ranks[mixed.OURS]}, which may be chance "
        f"(Wilcoxon's p = {beside['p']:.2g})"
    ) in said("docs/from_ebm.md")
    assert beside["p"] > 0.05


def test_the_aim_of_encoding_is_told_as_it_is():
    page = said("docs/benchmarks.md")
    ratios = {
        name: entry["fit_transform_by_read_csv"]
        for name, entry in read("encoding").items()
    }
    met = " and ".join(name for name, ratio in ratios.items() if ratio <= 1)
    sentence = page[page.index("The aim is to encode") :].split(".")[0]
    assert f": {met} are there, " in sentence
    assert all(name in sentence for name in ratios)
