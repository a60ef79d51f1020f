"""The examples in docstrings run."""

import doctest
import importlib.util
import pkgutil

import numpy as np
import pytest

import graphzero
from data_sets import pyg

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(graphzero.__path__, "graphzero.")
    if not module.name.endswith(("__main__", "._core"))
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module(name, tiny_gl, tiny_gd, tiny_dataset):
    if name.startswith(("graphzero.loaders.", "graphzero.train.", "graphzero.demo.")):
        pyg()
    if name == "graphzero.convert.tables.build":
        pytest.importorskip("torch")
    if name == "graphzero.loaders.lightning" and not any(
        map(importlib.util.find_spec, ("lightning", "pytorch_lightning"))
    ):
        pytest.skip("lightning is not installed")
    names = {"np": np, "tiny_gl": tiny_gl, "tiny_gd": tiny_gd, "tiny_dataset": tiny_dataset}
    result = doctest.testmod(importlib.import_module(name), extraglobs=names)
    assert result.failed == 0
