"""The kinds of files there are, and how much of a run each takes."""

from importlib import import_module

# Modules of this folder with a class ``Target``: made with a folder of its own to write into, called with a random
# generator for each mutation; it returns the name of an outcome and raises if something is wrong.
SHARES = {
    "graphs": 20,
    "old_files": 6,
    "features": 14,
    "dictionaries": 10,
    "pipelines": 14,
    "datasets": 10,
    "arrays": 8,
    "tensors": 6,
    "layouts": 5,
    "texts": 5,
    "checkpoints": 2,
}


def make(kind, folder):
    """Write the originals of a kind, and return what tries one mutation of them."""
    return import_module(f"fuzzing.{kind}").Target(folder)
