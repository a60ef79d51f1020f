"""Pickles of earlier versions open."""

import importlib
import pickle
import sys

import pytest

import data_sets
import graphzero as gz
from graphzero._base import old_modules


@pytest.mark.parametrize("name", old_modules._NOW)
def test_a_module_is_found_under_its_old_name(name):
    if name.startswith(("loaders", "training")):
        data_sets.pyg()
    now = f"graphzero.{old_modules._NOW[name]}"
    assert importlib.import_module(f"graphzero.{name}") is sys.modules[now]
    assert sys.modules[now].__spec__.name == now


def test_a_class_of_an_old_pickle_is_the_one_of_today():
    assert pickle.loads(b"cgraphzero.edge_conversion\nConversionReport\n.") is gz.ConversionReport


def test_a_name_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="No module named 'graphzero.nonsense'"):
        importlib.import_module("graphzero.nonsense")
