"""What kind a file of a data set is, by its magic."""

from __future__ import annotations

import os

from graphzero.features import FeatureStore
from graphzero.graph import Graph
from graphzero.ids import IdDictionary


def is_features(path: str | os.PathLike[str]) -> bool:
    """Whether the file's magic is that of a feature file; any other is left to ``Graph`` to judge."""
    return _magic(path) in (b"GRAPHZGD", b"GZDATA26")


def is_ids(path: str | os.PathLike[str]) -> bool:
    """Whether the file's magic is that of an id dictionary."""
    return _magic(path) == b"GRAPHZGI"


def _magic(path: str | os.PathLike[str]) -> bytes:
    if not os.path.isfile(path):  # opening a pipe would wait for its writer
        return b""
    with open(path, "rb") as file:
        return file.read(8)


def open_file(path: str) -> FeatureStore | IdDictionary | Graph:
    """Map a file as what its magic says."""
    if is_features(path):
        return FeatureStore(path)
    return IdDictionary(path) if is_ids(path) else Graph(path)
