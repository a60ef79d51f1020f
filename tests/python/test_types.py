"""Type checkers see every public name: tests/types/public_names.py asks for each, and make check asks both checkers."""

import pathlib
import re

import graphzero as gz
from graphzero import loaders

ROOT = pathlib.Path(__file__).parents[2]


def test_every_public_name_is_asked_for():
    asked = set(re.findall(r"\b(gz|loaders)\.(\w+)", (ROOT / "tests/types/public_names.py").read_text()))
    public = {("gz", name) for name in [*gz.__all__, "inference"]} | {("loaders", name) for name in loaders.__all__}
    assert not public - asked


def test_make_check_gives_them_to_mypy_and_pyright():
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert "mypy --strict tests/types" in recipe
    assert "pyright" in recipe
    assert 'include = ["tests/types"]' in (ROOT / "pyproject.toml").read_text()
