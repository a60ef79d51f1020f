"""Prints the requirements of a dependency group of pyproject.toml: pip learned --group only in 25.1."""

import pathlib
import re
import sys


def packages(name: str) -> list[str]:
    """Return the requirements of a group. Python 3.10 has no tomllib; a group is one line: name = ["a", "b"]."""
    text = pathlib.Path(__file__).parents[1].joinpath("pyproject.toml").read_text()
    groups = text.split("[dependency-groups]")[1].split("\n[")[0]
    line = re.search(rf"^{name} = \[(.*)\]$", groups, re.MULTILINE)
    if line is None:
        sys.exit(f"pyproject.toml has no dependency group {name!r}")
    return re.findall(r'"([^"]+)"', line[1])


if __name__ == "__main__":
    print(*packages(sys.argv[1]))
