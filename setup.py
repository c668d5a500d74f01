"""What a package index shows: the README, without what leads into the clone."""

import re
from pathlib import Path

from setuptools import setup


def on_an_index(text: str) -> str:
    """Leave out what an index lacks: pictures, marks of tables, links to files."""
    text = re.sub(r"^(?:!\[.*\]\(.*\)|<!-- .* -->)\n\n", "", text, flags=re.M)
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


if __name__ == "__main__":
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(
        long_description=on_an_index(readme),
        long_description_content_type="text/markdown",
    )
