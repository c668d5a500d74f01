"""Print the oldest versions that pyproject.toml allows, as pins for pip."""

import tomllib
from pathlib import Path

pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
for requirement in tomllib.loads(pyproject.read_text())["project"]["dependencies"]:
    print(requirement.replace(">=", "=="))
