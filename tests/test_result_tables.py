"""Pages show the results that are committed."""

import pytest

from benchmarks import tables


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_pages_show_the_committed_results(page):
    text = page.read_text()
    assert tables.filled(text) == text, "run python -m benchmarks.tables"
