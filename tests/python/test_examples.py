"""The examples run as they are, reach what they promise, and clean up."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

# What the last number behind a word must exceed. test_docs.py runs the demo.
BOUNDS = {"node2vec.py": ("accuracy", 0.9)}


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"demo.py", *BOUNDS}


@pytest.mark.parametrize("name", BOUNDS)
def test_example_runs_and_learns(name, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    shown = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        timeout=300,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    word, bound = BOUNDS[name]
    found = re.findall(rf"\b{word}\b\D*([\d.]+\d)", shown.stdout)
    assert found, shown.stdout
    assert float(found[-1]) > bound
    assert list(temporary.glob("graphzero-*")) == []
