"""Recipes: what tables to make a data set of, in a TOML, YAML or JSON file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graphzero._files.settings_file import read_settings
from graphzero._files.storage import is_url, path_here

_SETTINGS = ("nodes", "edges", "on_missing", "memory", "metadata")


def read_recipe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of ``build_dataset()`` in a recipe. Its paths start from its own folder."""
    name = path_here(path)
    document = read_settings(name, "recipe")
    for setting in document:
        if setting not in _SETTINGS:
            raise ValueError(f"{name}: expected {', '.join(_SETTINGS)}, found {setting!r}")
    folder = os.path.dirname(os.path.abspath(name))
    return {
        setting: _placed(value, folder) if setting in ("nodes", "edges") else value
        for setting, value in document.items()
    }


def _placed(given: Any, folder: str) -> Any:
    """Return tables with paths that start from the folder of the recipe."""
    if isinstance(given, str):
        return _joined(folder, given)
    if isinstance(given, list):
        return [_joined(folder, path) if isinstance(path, str) else path for path in given]
    if not isinstance(given, Mapping):
        return given
    if "source" not in given:
        return {kind: _placed(table, folder) for kind, table in given.items()}
    placed = {**given, "source": _placed(given["source"], folder)}
    split = given.get("split")
    if isinstance(split, Mapping):
        placed["split"] = {name: _member_file(value, folder) for name, value in split.items()}
    return placed


def _joined(folder: str, path: str) -> str:
    return path if is_url(path) else os.path.join(folder, path)


def _member_file(value: Any, folder: str) -> Any:
    """Return the file that lists the members of a split; what is no file is a column or a share."""
    path = os.path.join(folder, value) if isinstance(value, str) else None
    return path if path is not None and os.path.isfile(path) else value
